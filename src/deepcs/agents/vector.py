"""Novelty across training around a vector environment of Gymnasium."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from gymnasium.vector import AutoresetMode, VectorEnv, VectorWrapper

from deepcs.agents.shared_novelty import SharedNovelty
from deepcs.curiosity.novelty import Across
from deepcs.curiosity.reward import UNCLIPPED, Weight
from deepcs.envs.parts import Info, final_infos


class NoveltyVectorWrapper(VectorWrapper[Any, Any, Any, Any, np.ndarray]):
    """Pays for what is new to all actors together, over all of training.

    The actors' infos must have `cell` (for counts) or `frame` (for pseudo-counts and rnd), as
    those of deepcs.CuriosityWrapper(env, frames=True) and of deepcs.make_vec(..., frames=True) do.
    Rewards are R and I mixed by `weight`; infos have `intrinsic`, that I, and `across`, its part
    across training. Around a VecEnv of Stable-Baselines3 use deepcs.VecNovelty.

    Any autoreset mode will do. A step that only begins a game, as in Gymnasium's mode NEXT_STEP, is
    no visit: it pays nothing, and nothing is learned from it.

    >>> import deepcs
    >>> envs = deepcs.make_vec("KeyHallway", num_envs=2, workers=0, mix=False)
    >>> envs = NoveltyVectorWrapper(envs, "counts")
    >>> _ = envs.reset(seed=0)
    >>> rewards = envs.step(np.array([1, 1]))[1]  # both enter the same tile in one step: N is 2
    >>> rewards.round(3).tolist()
    [0.707, 0.707]
    """

    def __init__(
        self,
        envs: VectorEnv[Any, Any, Any],
        across: Across = "counts",
        *,
        weight: Weight = UNCLIPPED,
        seed: int = 0,
        **settings: Any,
    ) -> None:
        """`across`: counts, pseudo-counts or rnd. `weight`: of the mix, as in CuriosityWrapper.
        `seed`: of RND's networks. `settings`: those of deepcs train --novelty.… that are for all
        actors together: combine="product" with what the actors' own curiosity pays, and the
        numbers of the parts, such as rnd_learning_rate.
        """
        if not isinstance(envs, VectorEnv):
            raise ValueError(
                f"Got {type(envs).__name__}; give a Gymnasium vector environment, or wrap a VecEnv "
                "of Stable-Baselines3 in deepcs.VecNovelty."
            )
        super().__init__(envs)
        self._shared = SharedNovelty(envs.num_envs, across, weight, seed, settings)
        self._mode = envs.metadata.get("autoreset_mode", AutoresetMode.NEXT_STEP)
        self._begins = np.zeros(envs.num_envs, np.bool_)  # whose next step only begins a game

    def reset(self, *, seed: Any = None, options: Info | None = None) -> tuple[Any, Info]:
        """Start a game in every actor, or in those of the option `reset_mask`; pays nothing."""
        mask = (options or {}).get("reset_mask")
        begun = np.ones(self.num_envs, np.bool_) if mask is None else np.array(mask)
        seen, infos = self.env.reset(seed=seed, options=options)
        self._begins[begun] = False
        return seen, infos

    def step(self, actions: Any) -> tuple[Any, np.ndarray, np.ndarray, np.ndarray, Info]:
        """Step all actors and mix their rewards."""
        observations, rewards, terminated, truncated, infos = self.env.step(actions)
        ended = np.logical_or(terminated, truncated)
        last = final_infos(infos, ended) if self._mode is AutoresetMode.SAME_STEP else {}
        self._shared.check_infos(infos)
        paid = self._shared.pay(
            self._of_step(infos, last, self._shared.needed),
            self._of_step(infos, last, "intrinsic", 0.0),
            self._of_step(infos, last, "game_reward", rewards),
            self._begins,
        )
        if self._mode is AutoresetMode.NEXT_STEP:
            self._begins = ended
        infos = {**infos, "intrinsic": paid.intrinsic, "across": paid.across}
        return observations, paid.reward, terminated, truncated, infos

    def _of_step(
        self, infos: Info, last: dict[int, Any], name: str, instead: Any = None
    ) -> np.ndarray:
        """The last step's infos of that name, also where a game ended in it."""
        if name not in infos:
            return np.broadcast_to(np.asarray(instead), (self.num_envs,))
        values = np.array(infos[name])
        for index, (_, info) in last.items():
            if name in info:
                values[index] = info[name]
        return values

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
