"""Curiosity for Gymnasium's vector environments."""

from __future__ import annotations

from typing import Any

import numpy as np
from gymnasium.vector import AutoresetMode, VectorEnv, VectorWrapper
from gymnasium.vector.utils import batch_space

from deepcs.curiosity.explorer import Explorer
from deepcs.envs.locating import Locate
from deepcs.envs.parts import CuriousParts, Info, final_infos, split_infos

_NOTHING = object()
# In infos, also where a game ended:
OF_THE_STEP = ("intrinsic", "game_reward", "life_lost", "cell", "frame")


class CuriosityVectorWrapper(VectorWrapper[Any, Any, Any, Any, np.ndarray]):
    """CuriosityWrapper for a vector environment: a grid for each actor, the same rules.

    It is for vector environments that cannot be wrapped actor by actor; where they can, wrap each
    with CuriosityWrapper, whose `locate` then sees the actor itself. Here `locate(env, observation,
    info)` is given the actor's observation and info; `env.envs` is the vector environment and
    `env.index` the actor's number. The RAM of a known game is not read here: pass locate, or place.

    Any autoreset mode will do. Where a game ends and the next begins in the same step, infos hold
    `intrinsic`, `game_reward` and `life_lost` of the step, `tiles`, `rooms`, `room` and `position`
    of the new game, as those of deepcs.make_vec do, and `final_obs` and `final_info` have curiosity
    in them too.

    >>> import gymnasium
    >>> envs = gymnasium.make_vec("MountainCar-v0", num_envs=2, vectorization_mode="sync")
    >>> envs = CuriosityVectorWrapper(envs, locate=lambda env, seen, info: seen, tile=(0.1, 0.01))
    >>> observations, infos = envs.reset(seed=0)
    >>> observations["grid"].shape, infos["tiles"].tolist()
    ((2, 1, 84, 84), [1, 1])
    """

    def __init__(
        self, envs: VectorEnv[Any, Any, Any], *, locate: Locate | None = None, **settings: Any
    ) -> None:
        """`locate`: where an actor is. `settings`: the other settings of CuriosityWrapper."""
        super().__init__(envs)
        spaces = envs.single_observation_space, envs.single_action_space
        self._parts = CuriousParts(envs, envs.num_envs, spaces, locate, settings)
        self.single_observation_space = self._parts.observation_space
        self.observation_space = batch_space(self.single_observation_space, envs.num_envs)
        self._mode = envs.metadata.get("autoreset_mode", AutoresetMode.NEXT_STEP)
        self._ended = np.zeros(envs.num_envs, np.bool_)  # in the step before
        self._shown: list[Any] = [None] * envs.num_envs

    @property
    def explorers(self) -> tuple[Explorer, ...]:
        """Each actor's curiosity: its grid, tiles and rooms."""
        return self._parts.explorers

    def reset(self, *, seed: int | None = None, options: Info | None = None) -> tuple[Any, Info]:
        """Start a game in every actor, or in those of the option `reset_mask`."""
        mask = (options or {}).get("reset_mask")
        begins = np.ones(self.num_envs, np.bool_) if mask is None else np.array(mask)
        observations, infos = self.env.reset(seed=seed, options=options)
        seen, told = self._parts.split(observations), [*split_infos(infos, self.num_envs)]
        for index, bare in enumerate(told):
            if begins[index]:
                self._shown[index], info = self._parts.begin(index, seen[index], bare)
                infos = self._add_info(infos, _added(info, bare), index)
        self._ended[begins] = False
        return self._parts.join(self._shown), infos

    def step(self, actions: Any) -> tuple[Any, np.ndarray, np.ndarray, np.ndarray, Info]:
        """Step all actors and locate them."""
        observations, rewards, terminated, truncated, infos = self.env.step(actions)
        paid = np.array(rewards, np.float64)
        ended = np.logical_or(terminated, truncated)
        same_step = self._mode is AutoresetMode.SAME_STEP
        last = final_infos(infos, ended) if same_step else {}
        infos = {name: each for name, each in infos.items() if not _is_final(name)}
        seen, told = self._parts.split(observations), [*split_infos(infos, self.num_envs)]
        for index, bare in enumerate(told):
            here = seen[index], bare
            if self._ended[index] and not same_step:  # the step that only begins a game
                self._shown[index], info = self._parts.begin(index, *here)
            else:
                seen_last, info_last = last.get(index, here)
                outcome = rewards[index], bool(terminated[index]), bool(truncated[index])
                stepped = self._parts.step(index, (seen_last, *outcome, info_last))
                self._shown[index], paid[index], _, _, info = stepped
                if index in last:
                    final = {"final_obs": self._shown[index], "final_info": info}
                    infos = self._add_info(infos, final, index)
                    self._shown[index], begun = self._parts.begin(index, *here)
                    info = {**begun, **{n: info[n] for n in OF_THE_STEP if n in info}}
            infos = self._add_info(infos, _added(info, bare), index)
        self._ended = ended
        return self._parts.join(self._shown), paid, terminated, truncated, infos


def _added(info: Info, bare: Info) -> Info:
    """What curiosity adds to an actor's info."""
    return {name: each for name, each in info.items() if each is not bare.get(name, _NOTHING)}


def _is_final(name: str) -> bool:
    return name.lstrip("_") in ("final_obs", "final_info")
