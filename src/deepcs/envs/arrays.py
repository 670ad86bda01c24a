"""Observations of any kind as arrays of numbers, as pools store them and networks take them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import gymnasium
import numpy as np
from gymnasium.spaces import Box, Dict, Discrete, MultiBinary, MultiDiscrete, Tuple

Space = gymnasium.Space[Any]
MOST = 100_000  # length of a one-hot vector: more would be most of the network
WITHIN = "/"  # between the names of a Dict in a Dict


@dataclass(frozen=True)
class Part:
    """An array, and how it is found in an observation."""

    space: Box
    encode: Callable[[Any], Any]
    """from the observation's part to the array"""
    path: tuple[Any, ...] = ()
    """keys and indices that lead to the part"""

    def of(self, observation: Any) -> Any:
        for step in self.path:
            observation = observation[step]
        return self.encode(observation)


class ArrayObservation(
    gymnasium.ObservationWrapper[Any, Any, Any], gymnasium.utils.RecordConstructorArgs
):
    """Returns observations as one array, or as a Dict of arrays.

    A Box stays as it is. Discrete and MultiDiscrete become one-hot vectors, MultiBinary a vector
    of 0 and 1, all float32. Nested Dicts become one, with names such as `outer/inner`, and a
    Tuple a Dict with names 0, 1 and so on. Text beside other parts, such as MiniGrid's mission, is
    left out: `unseen` has the names. `deepcs train` wraps your own environments with this, and says
    what it leaves out.

    >>> ArrayObservation(gymnasium.make("FrozenLake-v1")).observation_space
    Box(0.0, 1.0, (16,), float32)
    """

    def __init__(self, env: gymnasium.Env[Any, Any]) -> None:
        gymnasium.utils.RecordConstructorArgs.__init__(self)
        super().__init__(env)
        space = env.observation_space
        self.unseen: list[str] = []
        """names of the parts that are left out"""
        self._parts = _parts(space, (), self.unseen)
        if not self._parts:
            raise ValueError(
                f"Got observations {space}, in which there is nothing but text; turn it into "
                "numbers with gymnasium.wrappers.TransformObservation."
            )
        self._whole = not isinstance(space, (Dict, Tuple))
        named: dict[str, Space] = {name: part.space for name, part in self._parts.items()}
        self.observation_space = named[""] if self._whole else Dict(named)

    @property
    def changes(self) -> bool:
        """Whether observations differ from the environment's."""
        return self.observation_space != self.env.observation_space

    def observation(self, observation: Any) -> Any:
        """The observation as arrays."""
        if self._whole:
            return self._parts[""].of(observation)
        return {name: part.of(observation) for name, part in self._parts.items()}


def _parts(space: Space, path: tuple[Any, ...], unseen: list[str]) -> dict[str, Part]:
    """The arrays that a space becomes, by name; texts are named in `unseen`."""
    name = WITHIN.join(map(str, path))
    if isinstance(space, (Dict, Tuple)):
        inner = space.spaces.items() if isinstance(space, Dict) else enumerate(space.spaces)
        found: dict[str, Part] = {}
        for step, part in inner:
            found |= _parts(part, (*path, step), unseen)
        return found
    if isinstance(space, Box):
        return {name: Part(space, _as_it_is, path)}
    if isinstance(space, Discrete):
        return {name: _one_hot(space, np.array([space.n]), np.array([space.start]), path)}
    if isinstance(space, MultiDiscrete):
        return {name: _one_hot(space, space.nvec.flatten(), space.start.flatten(), path)}
    if isinstance(space, MultiBinary):
        ones = Box(0, 1, (int(np.prod(space.shape)),), np.float32)
        return {name: Part(ones, _as_floats, path)}
    if space.dtype is not None and space.dtype.kind == "U":
        unseen.append(name)
        return {}
    raise ValueError(
        f"Got observations {space}{f' in {name!r}' if name else ''}; deepcs takes Box, Discrete, "
        "MultiDiscrete, MultiBinary, and Dicts and Tuples of them: turn it into one of these with "
        "gymnasium.wrappers.TransformObservation."
    )


def _as_it_is(part: Any) -> Any:
    return part


def _as_floats(part: Any) -> np.ndarray:
    return np.asarray(part, np.float32).flatten()


def _one_hot(space: Space, sizes: np.ndarray, first: np.ndarray, path: tuple[Any, ...]) -> Part:
    """One entry for each value of each choice."""
    total = int(sizes.sum())
    if total > MOST:
        raise ValueError(
            f"Got observations {space}, which one-hot would be {total:,} numbers, more than "
            f"{MOST:,}; turn it into a Box with gymnasium.wrappers.TransformObservation."
        )
    begins = np.cumsum(sizes) - sizes

    def encode(part: Any) -> np.ndarray:
        places = np.asarray(part).reshape(-1)
        fits = places.shape == sizes.shape
        if not fits or ((places < first) | (places >= first + sizes)).any():
            raise ValueError(
                f"Got observation {part!r} from an environment whose observation_space has "
                f"{space}; fix the environment."
            )
        hot = np.zeros(total, np.float32)
        hot[begins + places - first] = 1
        return hot

    return Part(Box(0, 1, (total,), np.float32), encode, path)
