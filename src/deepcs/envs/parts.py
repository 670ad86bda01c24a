"""The parts of a vector environment, one actor each, and curiosity for all of them.

A single actor of a vector environment cannot be wrapped. So a stand-in environment repeats what the
vector environment returned for that actor, and CuriosityWrapper wraps the stand-in.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, SupportsFloat

import gymnasium
import numpy as np
from gymnasium.vector.utils import batch_space, concatenate, create_empty_array, iterate

from deepcs.curiosity.explorer import Explorer
from deepcs.envs.locating import Locate
from deepcs.envs.wrapper import CuriosityWrapper

Info = dict[str, Any]
Step = tuple[Any, SupportsFloat, bool, bool, Info]


class StandIn(gymnasium.Env[Any, Any]):
    """One actor of a vector environment, as an environment that was stepped already."""

    def __init__(
        self,
        envs: Any,
        index: int,
        observation_space: gymnasium.Space[Any],
        action_space: gymnasium.Space[Any],
    ) -> None:
        self.envs = envs
        """the vector environment"""
        self.index = index
        """which of its actors this is"""
        self.observation_space = observation_space
        self.action_space = action_space
        self.began: tuple[Any, Info] = (None, {})
        """what its reset() returns"""
        self.stepped: Step = (None, 0.0, False, False, {})
        """what its step() returns"""

    def reset(self, *, seed: int | None = None, options: Info | None = None) -> tuple[Any, Info]:
        """What the vector environment returned where this actor's game began."""
        return self.began

    def step(self, action: Any) -> Step:
        """What the vector environment returned for this actor."""
        return self.stepped


class CuriousParts:
    """Curiosity of all actors of a vector environment: a CuriosityWrapper around each."""

    def __init__(
        self,
        envs: Any,
        count: int,
        spaces: tuple[gymnasium.Space[Any], gymnasium.Space[Any]],
        locate: Locate | None,
        settings: dict[str, Any],
    ) -> None:
        """`spaces`: of one actor's observations and actions. `settings`: of CuriosityWrapper."""
        self._inner_batch = batch_space(spaces[0], count)
        self._parts = [StandIn(envs, index, *spaces) for index in range(count)]
        self._curious = [CuriosityWrapper(part, locate=locate, **settings) for part in self._parts]
        self.observation_space = self._curious[0].observation_space
        """of one actor, with the plane"""

    @property
    def explorers(self) -> tuple[Explorer, ...]:
        """Each actor's curiosity: its grid, tiles and rooms."""
        return tuple(curious.explorer for curious in self._curious)

    def begin(self, index: int, observation: Any, info: Info) -> tuple[Any, Info]:
        """An actor's game began; returns what it is shown."""
        self._parts[index].began = observation, info
        return self._curious[index].reset()

    def step(self, index: int, stepped: Step) -> Step:
        """An actor made a step; returns what it is shown and paid."""
        self._parts[index].stepped = stepped
        return self._curious[index].step(None)

    def split(self, observations: Any) -> list[Any]:
        """The observation of each actor, without the plane."""
        return list(iterate(self._inner_batch, observations))

    def join(self, observations: Iterable[Any]) -> Any:
        """A batch of what the actors are shown."""
        shown = list(observations)
        empty: Any = create_empty_array(self.observation_space, len(shown))
        return concatenate(self.observation_space, shown, empty)


def split_infos(infos: Info, count: int) -> Iterator[Info]:
    """The infos of a vector environment, one for each actor: the keys whose mask is set for it.

    `final_info` and `final_obs`, of games that ended in the step, are left out.
    """
    own = {name: each for name, each in infos.items() if not name.startswith(("_", "final_"))}
    for index in range(count):
        yield _of_actor(own, infos, index)


def final_infos(infos: Info, ended: np.ndarray) -> dict[int, tuple[Any, Info]]:
    """The last observation and info of each game that ended in the step, by actor."""
    last = infos.get("final_info", {})
    return {
        int(index): (infos["final_obs"][index], _of_actor(last, last, int(index)))
        for index in np.flatnonzero(ended)
    }


def _of_actor(values: Info, masks: Info, index: int) -> Info:
    info: Info = {}
    for name, value in values.items():
        mask = masks.get(f"_{name}")
        if not name.startswith("_") and (mask is None or mask[index]):
            info[name] = _of_actor(value, value, index) if isinstance(value, dict) else value[index]
    return info
