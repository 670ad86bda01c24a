"""Self-imitation (Oh et al. 2018): learn again from what turned out better than expected.

The loss of samples drawn from the memory of the best episodes is
`mean(A·-log π(a)) + 0.01·mean(A²/2)` with A = max(0, R - V), R the discounted rewards to the
episode's end, and V the value: of the game's reward where the learner has two.
"""

from __future__ import annotations

from collections.abc import Callable, Generator
from typing import Any

import numpy as np
import torch
from numpy.random import Generator as RandomGenerator
from numpy.random import Philox
from torch import Tensor

from deepcs.agents.agent import Agent, Moment
from deepcs.agents.episodes import EpisodeMemory
from deepcs.agents.networks import NetworkPlan
from deepcs.agents.policy import Categorical, Distribution
from deepcs.agents.rollout import Rollout
from deepcs.agents.samples import SeenObservations

IMITATION_NOISE = 3  # Philox's second key; see SHUFFLE_NOISE
SAMPLES = 16_384  # that are remembered, unless another number is given
VALUE = 0.01  # weight of the value's part of the loss (Oh et al.)
COLUMNS = ("imitation_loss", "imitated", "remembered")


def check_imitation(agent: str, settings: Any) -> None:
    """Raise ValueError for settings of imitation that have no effect, or are invalid."""
    times, samples = settings.imitation, settings.imitation_samples
    if isinstance(times, bool) or not isinstance(times, int) or times < 0:
        raise ValueError(f"Got {agent}.imitation {times!r}; give a whole number from 0 up.")
    if samples is not None and not times:
        raise ValueError(
            f"Got {agent}.imitation_samples {samples!r}, which has no effect where "
            f"{agent}.imitation is 0; leave it out, or give {agent}.imitation too."
        )


def samples_of(settings: Any) -> int | None:
    """How many samples are remembered; None: none, as nothing is imitated."""
    return (settings.imitation_samples or SAMPLES) if settings.imitation else None


def check_room(agent: str, settings: Any, actors: int) -> None:
    """Raise ValueError if there is not a sample for each actor."""
    samples = samples_of(settings)
    if samples is not None and samples < actors:
        raise ValueError(
            f"Got {agent}.imitation_samples {samples} for {actors} actors; give {actors} or more."
        )


def refuse_memory(agent: str, network: NetworkPlan) -> None:
    """Raise ValueError for a network that needs the steps before a sample."""
    if network.has_memory:
        raise ValueError(
            f"Got {agent}.imitation for network {network.name!r}, which has memory; samples are "
            "drawn alone, so choose a network without, or leave imitation out."
        )


class SelfImitation:
    """One shard's part of it."""

    def __init__(self, agent: Agent, seen: SeenObservations, gamma: float) -> None:
        """seen: the rollout's observations, which the agent writes. gamma: of the first value."""
        settings, shard = agent.settings, agent.shard
        self._agent, self._times = agent, settings.imitation
        self._envs, self._steps = agent.kept_samples(settings, len(shard.actors), shard.shards)
        samples = samples_of(settings)
        assert samples is not None
        self.memory = EpisodeMemory(seen, len(shard.actors), samples // shard.shards, gamma)

    def remember(self, rollout: Rollout) -> None:
        """Add this shard's part of a rollout."""
        rewards = rollout.rewards.reshape(*rollout.ends.shape, -1)[..., 0]
        arrays = (each.cpu().numpy() for each in (rollout.actions, rewards, rollout.ends))
        self.memory.add(*arrays)

    def learn(
        self, moment: Moment, descend: Callable[[float], None]
    ) -> Generator[Any, Any, dict[str, float]]:
        """Some minibatches; `descend` follows this shard's slice of the gradient, given its squared
        norm. All weights must be up to date.
        """
        here = len(self.memory)
        holding, remembered = yield np.array([here > 0, here], np.int64)
        if not holding:
            return {"remembered": 0.0}
        sums: Any = 0.0
        for k in range(self._times):
            means = self._backward(moment.update, k, int(holding) * self._envs * self._steps)
            squared, means = yield from self._agent.add_up_gradients(means)
            descend(squared)
            sums = sums + means
            yield  # all weights are updated
        loss, better = sums / self._times
        return {"imitation_loss": loss, "imitated": better, "remembered": float(remembered)}

    def _backward(self, update: int, k: int, batch_total: int) -> np.ndarray:
        """Write the gradient of this shard's part of a minibatch; returns its part of the sums."""
        network, shard = self._agent.network, self._agent.shard
        if not len(self.memory):
            network.gradient.zero_()
            return np.zeros(2)
        key = np.array([shard.seed, IMITATION_NOISE], np.uint64)
        noise = RandomGenerator(Philox(key=key, counter=[0, update, k, shard.index]))
        drawn = self.memory.draw(noise.random(self._envs * self._steps))
        observations, actions, returns = drawn
        for t in range(self._steps):
            rows = slice(t * self._envs, (t + 1) * self._envs)
            if isinstance(observations, dict):
                network.forward(t, {name: part[rows] for name, part in observations.items()})
            else:
                network.forward(t, observations[rows])
        d_logits, d_values, means = imitation_gradients(
            network.logits,
            network.values,
            actions,
            returns,
            batch_total,
            self._agent.policy.of,
        )
        network.backward(d_logits, d_values)
        return means


def imitation_gradients(
    logits: Tensor,
    values: Tensor,
    actions: Tensor,
    returns: Tensor,
    batch_total: int,
    policy_of: Callable[[Tensor], Distribution] = Categorical,
) -> tuple[Tensor, Tensor, np.ndarray]:
    """The loss's gradient for `logits` (B, A), the policy's outputs, and `values` (B,) or (B, K),
    of which the first one counts, given actions and returns (B,).

    Means are over `batch_total` samples. policy_of: what the outputs mean. Last, float64 (2,): the
    loss, and the share of samples that were better than expected.
    """
    actions, returns = actions.to(logits.device), returns.to(logits)
    first = values if values.dim() == 1 else values[:, 0]
    gains = (returns - first).clamp_min(0)
    policy = policy_of(logits)
    d_logits = policy.gradient(actions, gains[:, None], 0.0).div_(batch_total)
    d_values = torch.zeros_like(values)
    d_first = d_values if values.dim() == 1 else d_values[:, 0]
    d_first.copy_(gains * (-VALUE / batch_total))  # d(A²/2) = -A
    losses = gains * (VALUE / 2 * gains - policy.log_policy(actions)[:, 0])
    sums = torch.stack((losses, (gains > 0).to(losses.dtype))).double().sum(1)
    return d_logits, d_values, sums.cpu().numpy() / batch_total
