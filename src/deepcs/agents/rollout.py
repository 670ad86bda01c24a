"""A rollout: T steps of one shard's N actors, as the learner gets them.

Actors return R and I separately; they are mixed here, just before the learner, unless it has a
value for each.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import torch
from torch import Tensor

from deepcs.agents.networks import ActorCritic, Observations, as_tensors
from deepcs.agents.policy import policy_for
from deepcs.agents.visited import Visited
from deepcs.curiosity.cells import NOWHERE
from deepcs.curiosity.hiding import MixWatch
from deepcs.curiosity.reward import (
    Weight,
    clips_apart,
    is_apart,
    mix_rewards,
    separate_rewards,
    weight_at,
)
from deepcs.envs.pool import ActorPool
from deepcs.envs.seats import GameRecord
from deepcs.system.snapshot import Snapshot

Act = Callable[[int, Any], np.ndarray]
"""(step t of the rollout, observations) -> actions (N, …)"""


@dataclass(frozen=True)
class FinishedGame:
    """A game that ended in a rollout."""

    t: int
    """step of the rollout in which it ended"""
    actor: int
    """out of all"""
    record: GameRecord


@dataclass(frozen=True)
class Cut:
    """A truncated game, whose return is bootstrapped from the value of its last observation."""

    t: int
    seat: int
    """0 to N - 1"""
    observation: np.ndarray | dict[str, np.ndarray]
    memory: Tensor | None
    """(size,): the network's of that game; None: it has none"""


@dataclass(frozen=True)
class Rollout:
    """T steps of N actors; arrays are (T, N)."""

    actions: Tensor
    """int64; or (T, N, …), where actions are not Discrete: see policy.py"""
    rewards: Tensor
    """float32: R and I mixed, the learner's reward; or (T, N, 2): R, clipped or not, and I"""
    game_rewards: np.ndarray
    """float64: R alone, unclipped"""
    intrinsic: np.ndarray
    """float64: I alone, whether or not it is paid"""
    ends: Tensor
    """bool: nothing after this step counts for it"""
    cuts: list[Cut]
    last: Observations
    """what the actors see after the last step (N, …); the next step overwrites it"""
    games: list[FinishedGame]


@dataclass(frozen=True)
class RewardRules:
    """How rewards become returns."""

    weight: Weight
    """of the mix, which may change over the run; or that they stay apart, where the learner has a
    value for each"""
    paid: bool
    """the learner gets the intrinsic reward"""
    life_ends_return: bool
    """losing a life is an end"""
    bootstrap_cut: bool
    """a truncated game's return is bootstrapped from the value of its last observation"""

    @property
    def streams(self) -> int:
        """Rewards that the learner gets in a step, each with its own value."""
        return 2 if self.paid and is_apart(self.weight) else 1


class Actors:
    """A shard's actors, what they see, and room for one rollout."""

    def __init__(
        self, pool: ActorPool, first: int, n_steps: int, rules: RewardRules, device: str
    ) -> None:
        """`pool`: with copy=False. `first`: the first actor's number, out of all."""
        self.pool = pool
        self._first, self._rules, self._device = first, rules, device
        self._policy = policy_for(pool.single_action_space)
        shape = n_steps, pool.num_envs
        self._actions = np.zeros((*shape, *self._policy.action_shape), self._policy.dtype)
        self._game_rewards = np.zeros(shape)
        self._intrinsic = np.zeros(shape)
        self._ends = np.zeros(shape, np.bool_)
        self._cells = np.zeros(shape, np.int64)
        self._frames: np.ndarray | None = None
        self._earned = np.zeros(pool.num_envs)  # I of the games under way, where it is paid late
        self._progress = 0.0
        self._saw_numbers = True  # all that was seen in the rollout was finite
        self.watch = MixWatch(weight_at(rules.weight, 0.0), paid=rules.paid)
        self._see(pool.reset()[0])

    def play(self, act: Act, network: ActorCritic, progress: float = 0.0) -> Rollout:
        """Play T steps; the network forgets the games that end. progress: as in Moment."""
        rules = self._rules
        games: list[FinishedGame] = []
        cuts: list[Cut] = []
        self._saw_numbers = True
        for t, actions in enumerate(self._actions):
            self._saw_numbers &= self._see_numbers()
            actions[:] = act(t, self.seen())
            sent = self._policy.sent(actions)
            _, rewards, terminated, truncated, infos = self.pool.step(sent)
            self._game_rewards[t], self._intrinsic[t] = rewards, infos["intrinsic"]
            self._cells[t] = infos.get("cell", NOWHERE)
            if "frame" in infos:
                self._keep_frames(t, infos["frame"])
            np.logical_or(terminated, truncated, out=self._ends[t])
            if "game" in infos:
                for seat in map(int, np.flatnonzero(infos["_game"])):
                    games.append(FinishedGame(t, self._first + seat, infos["game"][seat]))
                    if truncated[seat] and rules.bootstrap_cut:
                        memory = None if network.memory is None else network.memory[seat]
                        cuts.append(Cut(t, seat, infos["final_obs"][seat], memory))
                network.forget(self._on_device(self._ends[t].copy()))
            if rules.life_ends_return:
                self._ends[t] |= infos["life_lost"]
        self._progress = progress
        return Rollout(
            self._on_device(self._actions),
            self._rewards(self._intrinsic),
            self._game_rewards,
            self._intrinsic,
            self._on_device(self._ends),
            cuts,
            self.seen(),
            games,
        )

    def _rewards(self, intrinsic: np.ndarray) -> Tensor:
        """The learner's reward, from R and this I."""
        rules, both = self._rules, (self._game_rewards, intrinsic)
        if is_apart(rules.weight):
            paid = separate_rewards(*both, clip=clips_apart(rules.weight), paid=rules.paid)
        else:
            paid = mix_rewards(*both, weight_at(rules.weight, self._progress), paid=rules.paid)
            self.watch.look(*both, paid)
        return self._on_device(paid.astype(np.float32))

    def _keep_frames(self, t: int, frames: np.ndarray) -> None:
        if self._frames is None:
            self._frames = np.zeros((len(self._actions), *frames.shape), frames.dtype)
        self._frames[t] = frames

    @property
    def visited(self) -> Visited:
        """Where the actors were in the rollout just played."""
        return Visited(self._cells, self._frames)

    def repaid(self, rollout: Rollout, intrinsic: np.ndarray) -> Rollout:
        """The rollout with another I, (T, N), also in the records of its finished games."""
        ended = {(game.t, game.actor - self._first): game for game in rollout.games}
        games = []
        for t, paid in enumerate(intrinsic):
            self._earned += paid
            for seat in (seat for when, seat in ended if when == t):
                game = ended[t, seat]
                record = replace(game.record, intrinsic=float(self._earned[seat]))
                games.append(replace(game, record=record))
                self._earned[seat] = 0.0
        return replace(rollout, rewards=self._rewards(intrinsic), intrinsic=intrinsic, games=games)

    def not_finite(self) -> str | None:
        """What of the rollout just played is not finite, in words; None: nothing."""
        if not all(np.isfinite(each).all() for each in (self._game_rewards, self._intrinsic)):
            return "a reward"
        return None if self._saw_numbers and self._see_numbers() else "an observation"

    def _see_numbers(self) -> bool:
        """Whether all that the actors see now is finite; bytes always are."""
        return all(np.isfinite(part).all() for part in self._fractions)

    def seen(self) -> Observations:
        """What the actors see now, (N, …); every step of theirs overwrites it."""
        if isinstance(self._observations, dict):
            return {name: part.to(self._device) for name, part in self._observations.items()}
        return self._observations.to(self._device)

    def _see(self, observations: Any) -> None:
        """Views of these arrays, which every step of the pool overwrites."""
        self._observations: Observations = as_tensors(observations)
        parts = observations.values() if isinstance(observations, dict) else (observations,)
        self._fractions = [part for part in parts if part.dtype.kind == "f"]

    def _on_device(self, array: np.ndarray) -> Tensor:
        return torch.from_numpy(array).to(self._device)

    def snapshot(self) -> list[Snapshot]:
        seats: list[Snapshot] = self.pool.snapshot()["seats"]
        return [
            {**seat, "earned": earned}
            for seat, earned in zip(seats, self._earned.tolist(), strict=True)
        ]

    def restore(self, seats: list[Snapshot]) -> None:
        self._see(self.pool.restore({"kind": "pool", "seats": seats}))
        self._earned[:] = [seat.get("earned", 0.0) for seat in seats]
