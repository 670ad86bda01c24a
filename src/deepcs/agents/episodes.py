"""A shard's memory of its actors' best episodes, to be learned from again.

An episode is the steps of one return: up to the end of a game, or to the loss of a life where that
ends returns. Observations are kept compressed.
"""

from __future__ import annotations

import bisect
import itertools
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import torch
from torch import Tensor

from deepcs.agents.networks import Observations
from deepcs.agents.samples import SeenObservations

WINDOW = 512
"""steps of an episode under way that are kept up to its last reward, and as many since"""


@dataclass
class Steps:
    """Steps of an actor's episode under way, in order: those that led to its last reward so far,
    and the newest ones since.
    """

    observations: list[bytes] = field(default_factory=list)
    actions: list[Any] = field(default_factory=list)
    """numbers, or lists of them where actions are not Discrete"""
    rewards: list[float] = field(default_factory=list)
    rewarded: int = 0
    """how many of them led to the last reward: up to it"""
    score: float = 0.0
    """the sum of all rewards of the episode, also of steps that were dropped"""

    def __len__(self) -> int:
        return len(self.rewards)

    def append(self, observations: list[bytes], actions: list[Any], rewards: list[float]) -> None:
        self.score += sum(rewards)
        paid = [t for t, reward in enumerate(rewards) if reward]
        if paid:
            self.rewarded = len(self) + paid[-1] + 1
        self.observations += observations
        self.actions += actions
        self.rewards += rewards

    def shorten(self, most: int) -> None:
        """Keep at most so many steps up to the last reward, and as many since.

        If steps between the two are dropped, a later reward is more than `most` steps away from the
        earlier one, so that the next call drops all before the gap.
        """
        since = len(self) - self.rewarded
        self._drop(self.rewarded, self.rewarded + max(0, since - most))
        before = max(0, self.rewarded - most)
        self._drop(0, before)
        self.rewarded -= before

    def _drop(self, start: int, stop: int) -> None:
        for part in (self.observations, self.actions, self.rewards):
            del part[start:stop]


@dataclass(frozen=True)
class Episode:
    """A finished episode: those of its steps whose return is above 0."""

    score: float
    """the sum of all its rewards"""
    number: int
    """how many were kept before it"""
    observations: list[bytes]
    actions: list[Any]
    returns: list[float]
    """the discounted rewards from each step on, all above 0"""


class EpisodeMemory:
    """The episodes with the highest scores; of equals the newest.

    It holds `samples` steps at most, and of each episode under way `WINDOW` at most up to its last
    reward, and as many since.
    """

    def __init__(self, seen: SeenObservations, actors: int, samples: int, gamma: float) -> None:
        """seen: of the rollout, for `actors` of this shard."""
        self._seen, self._samples, self._gamma = seen, samples, gamma
        self._under_way = [Steps() for _ in range(actors)]
        self._best: list[Episode] = []
        """worst first"""
        self._kept = 0

    def __len__(self) -> int:
        """Samples to draw from."""
        return sum(len(episode.actions) for episode in self._best)

    @property
    def scores(self) -> list[float]:
        """Of the episodes, worst first."""
        return [episode.score for episode in self._best]

    def add(self, actions: np.ndarray, rewards: np.ndarray, ends: np.ndarray) -> None:
        """A rollout, arrays (T, N), actions also (T, N, …), whose observations were seen."""
        for actor, steps in enumerate(self._under_way):
            begins = 0
            for t in map(int, np.flatnonzero(ends[:, actor])):
                stretch = slice(begins, t + 1)
                # What earned nothing is not worth compressing.
                if steps.rewarded or rewards[stretch, actor].any():
                    self._append(steps, actor, stretch, actions, rewards)
                    self._finish(steps)
                self._under_way[actor] = steps = Steps()
                begins = t + 1
            self._append(steps, actor, slice(begins, len(ends)), actions, rewards)

    def _append(
        self, steps: Steps, actor: int, stretch: slice, actions: np.ndarray, rewards: np.ndarray
    ) -> None:
        count = actions.shape[1]
        steps.append(
            [self._seen.pack(t * count + actor) for t in range(stretch.start, stretch.stop)],
            actions[stretch, actor].tolist(),
            [float(reward) for reward in rewards[stretch, actor]],
        )
        steps.shorten(min(WINDOW, self._samples))

    def _finish(self, steps: Steps) -> None:
        """Keep an episode if it is good enough."""
        returns = list(
            itertools.accumulate(
                reversed(steps.rewards[: steps.rewarded]),
                lambda after, reward: reward + self._gamma * after,
            )
        )[::-1]
        worth = [t for t, following in enumerate(returns) if following > 0]
        if not worth:
            return
        episode = Episode(
            steps.score,
            self._kept,
            [steps.observations[t] for t in worth],
            [steps.actions[t] for t in worth],
            [returns[t] for t in worth],
        )
        self._kept += 1
        bisect.insort(self._best, episode, key=lambda each: (each.score, each.number))
        left = len(self)
        while left > self._samples:
            left -= len(self._best.pop(0).actions)

    def draw(self, uniforms: np.ndarray) -> tuple[Observations, Tensor, Tensor]:
        """Samples by numbers in [0, 1): observations, actions (B, …) and returns (B,)."""
        ends = np.cumsum([len(episode.actions) for episode in self._best])
        chosen = (uniforms * ends[-1]).astype(np.int64)
        which = np.searchsorted(ends, chosen, side="right")
        found = [
            (self._best[k], int(sample - ends[k])) for k, sample in zip(which, chosen, strict=True)
        ]  # an index from the episode's end
        return (
            self._seen.unpack([episode.observations[i] for episode, i in found]),
            torch.tensor([episode.actions[i] for episode, i in found]),
            torch.tensor([episode.returns[i] for episode, i in found]),
        )

    def to_arrays(self) -> dict[str, np.ndarray]:
        """All that it holds, by name."""
        lists: list[Episode | Steps] = [*self._best, *self._under_way]
        packed = [each for steps in lists for each in steps.observations]
        numbers = [e.returns for e in self._best] + [steps.rewards for steps in self._under_way]
        return {
            "packed": np.frombuffer(b"".join(packed), np.uint8),
            "sizes": np.array([len(each) for each in packed], np.int64),
            "actions": np.array([a for steps in lists for a in steps.actions]),
            "numbers": np.array([x for each in numbers for x in each], np.float64),
            "lengths": np.array([len(steps.actions) for steps in lists], np.int64),
            "rewarded": np.array([steps.rewarded for steps in self._under_way], np.int64),
            "scores": np.array([steps.score for steps in lists], np.float64),
            "order": np.array([*(e.number for e in self._best), self._kept], np.int64),
        }

    def from_arrays(self, arrays: dict[str, np.ndarray], *, games_go_on: bool) -> None:
        """Hold what `to_arrays` gave; games_go_on: else what is under way ends here."""
        ends = np.cumsum(arrays["sizes"]).tolist()
        content = arrays["packed"].tobytes()
        edges = zip([0, *ends], ends, strict=False)
        packed = iter([content[begin:end] for begin, end in edges])
        actions, numbers = iter(arrays["actions"].tolist()), iter(arrays["numbers"].tolist())
        lists = [
            tuple(list(itertools.islice(each, length)) for each in (packed, actions, numbers))
            for length in arrays["lengths"].tolist()
        ]
        *order, self._kept = arrays["order"].tolist()
        scores = arrays["scores"].tolist()
        self._best = [
            Episode(score, number, *steps)
            for score, number, steps in zip(scores, order, lists, strict=False)
        ]
        begun = len(self._best)
        rest = zip(lists[begun:], arrays["rewarded"].tolist(), scores[begun:], strict=True)
        self._under_way = [
            Steps(observations, acted, rewards, rewarded, score) if games_go_on else Steps()
            for (observations, acted, rewards), rewarded, score in rest
        ]
