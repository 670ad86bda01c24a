"""Novelty across training around a VecEnv of Stable-Baselines3, which importing this needs."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from stable_baselines3.common.vec_env import VecEnv, VecEnvWrapper
from stable_baselines3.common.vec_env.base_vec_env import VecEnvObs, VecEnvStepReturn

from deepcs.agents.shared_novelty import SharedNovelty
from deepcs.curiosity.novelty import Across
from deepcs.curiosity.reward import UNCLIPPED, Weight


class VecNovelty(VecEnvWrapper):
    """NoveltyVectorWrapper for a VecEnv of Stable-Baselines3: the same numbers for the same steps.

    The actors' infos must have `cell` (for counts) or `frame` (for pseudo-counts and rnd), as
    those of deepcs.CuriosityWrapper(env, frames=True), of deepcs.VecCuriosity(venv, frames=True)
    and of deepcs.to_sb3(deepcs.make_vec(..., frames=True)) do.

    >>> import deepcs
    >>> envs = deepcs.make_vec("KeyHallway", num_envs=2, workers=0, mix=False)
    >>> envs = VecNovelty(deepcs.to_sb3(envs), "counts")
    >>> _ = envs.reset()
    >>> rewards = envs.step(np.array([1, 1]))[1]  # both enter the same tile in one step: N is 2
    >>> [round(float(each), 3) for each in rewards]
    [0.707, 0.707]
    """

    def __init__(
        self,
        venv: VecEnv,
        across: Across = "counts",
        *,
        weight: Weight = UNCLIPPED,
        seed: int = 0,
        **settings: Any,
    ) -> None:
        """As NoveltyVectorWrapper's."""
        if not isinstance(venv, VecEnv):
            raise ValueError(
                f"Got {type(venv).__name__}; give a VecEnv of Stable-Baselines3, such as "
                "deepcs.to_sb3(...) makes of a Gymnasium vector environment."
            )
        super().__init__(venv)
        self._shared = SharedNovelty(venv.num_envs, across, weight, seed, settings)

    def reset(self) -> VecEnvObs:
        """Start a game in every actor, which pays nothing."""
        return self.venv.reset()

    def step_wait(self) -> VecEnvStepReturn:
        """Wait for the step, and mix the rewards."""
        observations, rewards, ended, infos = self.venv.step_wait()
        needed = self._shared.needed
        for info in infos:
            self._shared.check_infos(info)
        paid = self._shared.pay(
            np.array([info[needed] for info in infos]),
            np.array([info.get("intrinsic", 0.0) for info in infos]),
            np.array([info.get("game_reward", r) for info, r in zip(infos, rewards, strict=True)]),
        )
        told = [
            {**info, "intrinsic": float(each), "across": float(part)}
            for info, each, part in zip(infos, paid.intrinsic, paid.across, strict=True)
        ]
        return observations, paid.reward.astype(np.float32), ended, told

    def state(self) -> dict[str, np.ndarray]:
        """All that it has learned, by name, to be saved with your own checkpoints.

        These are arrays, also for np.savez(file, **envs.state()); empty before the first step.
        """
        return self._shared.state()

    def load(self, state: Mapping[str, np.ndarray]) -> None:
        """Restore a saved state, of the same kind of novelty with the same numbers; RND's also of
        the same seed and as many actors. An empty one forgets all.
        """
        self._shared.load(state)
