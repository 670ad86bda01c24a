"""Novelty across training for other libraries: shared counts, pseudo-counts or RND for a vector
environment, paid by the same code as in `deepcs train`.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from gymnasium.vector import VectorEnv, VectorWrapper

from deepcs.agents.bonus import Batch, Visited, combine, find_bonus, run_alone
from deepcs.curiosity.novelty import ACROSS, Across, Novelty
from deepcs.curiosity.reward import UNCLIPPED, Weight, check_weight, mix_rewards
from deepcs.envs.parts import Info, final_infos


class NoveltyVectorWrapper(VectorWrapper[Any, Any, Any, Any, np.ndarray]):
    """Pays for what is new to all actors together, over all of training.

    The actors' infos must have `cell` (for counts) or `frame` (for pseudo-counts and rnd), as
    those of deepcs.CuriosityWrapper(env, frames=True) and of deepcs.make_vec(..., frames=True) do.
    Rewards are R and I mixed by `weight`; infos have `intrinsic`, that I, and `across`, its part
    across training. For Stable-Baselines3 wrap it with deepcs.to_sb3.

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
        `seed`: of RND's networks. `settings`: those of deepcs train --novelty.…, such as
        combine="product" with what the actors' own curiosity pays, or rnd_learning_rate.
        """
        super().__init__(envs)
        if across not in ACROSS or across == "none":
            allowed = ", ".join(name for name in ACROSS if name != "none")
            raise ValueError(f"Got across {across!r}; choose one of {allowed}.")
        choices = Novelty("position", "game", across, "across")
        self.novelty = Novelty(**settings).of_treatment(choices, sees=True)
        self.weight = check_weight(weight)
        self._needed = "cell" if across == "counts" else "frame"
        self._kind, self._seed = find_bonus(across), seed
        self._bonus: Any = None

    def step(self, actions: Any) -> tuple[Any, np.ndarray, np.ndarray, np.ndarray, Info]:
        """Step all actors and mix their rewards."""
        observations, rewards, terminated, truncated, infos = self.env.step(actions)
        last = final_infos(infos, np.logical_or(terminated, truncated))
        seen = self._of_step(infos, last, self._needed, None)
        own = self._of_step(infos, last, "intrinsic", 0.0).astype(np.float64)
        game = self._of_step(infos, last, "game_reward", rewards).astype(np.float64)
        if self._needed == "cell":
            visited = Visited(seen[None], None)
        else:
            visited = Visited(np.zeros((1, self.num_envs), np.int64), seen[None])
        across = run_alone(self._bonus_for(seen).pay(visited))[0]
        paid = combine(self.novelty, own, across)
        infos = {**infos, "intrinsic": paid, "across": across}
        return observations, mix_rewards(game, paid, self.weight), terminated, truncated, infos

    def _bonus_for(self, seen: np.ndarray) -> Any:
        """Made when first needed: before that, the size of frames is unknown."""
        if self._bonus is None:
            frame = tuple(seen.shape[1:]) or None
            sizes = self._kind.vectors(self.novelty, frame, 1)
            vectors = {name: torch.zeros(vector.size) for name, vector in sizes.items()}
            actors = range(self.num_envs)
            batch = Batch(0, 1, actors, len(actors), self._seed, frame, vectors)
            self._bonus = self._kind(self.novelty, batch)
            self._bonus.initialise()
        return self._bonus

    def _of_step(self, infos: Info, last: dict[int, Any], name: str, instead: Any) -> np.ndarray:
        """The last step's infos of that name, also where a game ended in it."""
        if name not in infos:
            if instead is None:
                raise ValueError(
                    f"Got infos without {name!r}, which {self.novelty.across} needs; wrap each "
                    "environment in deepcs.CuriosityWrapper(env, frames=True), or make them by "
                    "deepcs.make_vec(..., frames=True)."
                )
            return np.broadcast_to(np.asarray(instead), (self.num_envs,))
        values = np.array(infos[name])
        for index, (_, info) in last.items():
            if name in info:
                values[index] = info[name]
        return values

    def state(self) -> dict[str, np.ndarray]:
        """All that it has learned, by name, to be saved with your own checkpoints."""
        if self._bonus is None:
            return {}
        vectors = {n: v.numpy().copy() for n, v in self._bonus.batch.vectors.items()}
        return {**{f"vector {name}": v for name, v in vectors.items()}, **self._bonus.state()}

    def load(self, state: dict[str, np.ndarray], frame: tuple[int, int] | None = None) -> None:
        """Restore a saved state; `frame`: height and width of frames, where they are needed."""
        bonus = self._bonus_for(np.zeros((1, *(frame or ())), np.uint8))
        for name, vector in bonus.batch.vectors.items():
            vector.copy_(torch.from_numpy(state[f"vector {name}"]))
        bonus.load({n: array for n, array in state.items() if not n.startswith("vector ")})
