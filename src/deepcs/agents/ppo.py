"""PPO: proximal policy optimisation (Schulman et al. 2017), with a value for each reward.

Each rollout is learned from for several epochs, in minibatches. The loss of a minibatch is
`-mean(min(r·A, clip(r)·A)) - entropy·mean(H) + value·Σ mean((V - R)²/2)`, where r is π(a) divided
by its value when the action was taken, and the sum is over the values. Advantages A are by
generalised advantage estimation (GAE, Schulman et al. 2016).

With two values, of the game's reward R and of the intrinsic reward I, each with its own
discount, the advantages are added with weights (Burda et al. 2019). K is how many values there are.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Generator
from dataclasses import dataclass
from math import sqrt
from typing import Any

import numpy as np
import torch
from torch import Tensor

from deepcs.agents.a2c import clip_scale, cut_values, explained_variance
from deepcs.agents.adam import Adam
from deepcs.agents.agent import Agent, Exchange, Moment, Shard, Vector
from deepcs.agents.gae import gae, normalised
from deepcs.agents.imitation import COLUMNS, SelfImitation, check_room
from deepcs.agents.networks import NetworkPlan
from deepcs.agents.policy import Categorical, Distribution
from deepcs.agents.ppo_settings import PPOSettings
from deepcs.agents.rollout import Rollout
from deepcs.agents.samples import SeenObservations, Shuffle


@dataclass(frozen=True)
class Samples:
    """What is learned from, of B samples."""

    actions: Tensor
    """(B, …)"""
    log_policy: Tensor
    """(B,): log π(a) when the action was taken"""
    advantages: Tensor
    """(B,)"""
    returns: Tensor
    """(B, K): what the values should be"""

    def take(self, which: Tensor) -> Samples:
        return Samples(
            self.actions[which],
            self.log_policy[which],
            self.advantages[which],
            self.returns[which],
        )


class PPO(Agent):
    """Several epochs of minibatches per rollout, each a clipped step of Adam."""

    name = "ppo"
    Settings = PPOSettings
    columns = (
        *("entropy", "policy_loss", "value_loss", "intrinsic_value_loss", "gradient_norm"),
        *("explained_variance", "intrinsic_explained_variance"),
        *("approximate_kl", "clip_fraction"),
        *COLUMNS,
    )

    @classmethod
    def check_division(cls, settings: PPOSettings, actors: int, shards: int) -> None:
        check_room("ppo", settings, actors)
        batch, minibatch = actors * settings.n_steps, settings.minibatch
        if batch % minibatch or minibatch % shards or actors % shards:
            raise ValueError(
                f"Got ppo.minibatch {minibatch} for {actors} actors × {settings.n_steps} steps in "
                f"{shards} shards; give one that divides {batch} samples, and a number of shards "
                "that divides both minibatch and actors."
            )

    @classmethod
    def kept_samples(cls, settings: PPOSettings, actors: int, shards: int) -> tuple[int, int]:
        return settings.minibatch // shards, 1

    @classmethod
    def vectors(cls, settings: PPOSettings, network: NetworkPlan, shards: int) -> dict[str, Vector]:
        if network.has_memory:
            raise ValueError(
                f"Got network {network.name!r}, which has memory, for ppo, which learns from steps "
                "in any order; choose one without, or another agent, such as a2c."
            )
        return {"mean": Vector(network.size), "mean_square": Vector(network.size)}

    def __init__(self, settings: PPOSettings, shard: Shard) -> None:
        super().__init__(settings, shard)
        samples = settings.n_steps * len(shard.actors)
        self._batch = shard.batch(settings.n_steps)
        self._now: PPOSettings = settings.at(0.0)
        """as they are in the update under way"""
        self._seen = SeenObservations(settings.n_steps, shard.network.block)
        self._shuffle = Shuffle(shard.seed, shard.index, samples)
        self._outputs: list[tuple[Tensor, Tensor]] = []
        """logits (N, actions) and values (N, K) of each step so far"""
        self._adam = Adam(
            shard.network.parameters,
            shard.vectors["mean"],
            shard.vectors["mean_square"],
            beta1=settings.adam_beta1,
            beta2=settings.adam_beta2,
            epsilon=settings.adam_epsilon,
        )
        self._imitation: SelfImitation | None = None
        if settings.imitation:
            discounts, _ = settings.of_streams(1)
            self._imitation = SelfImitation(self, self._seen, discounts[0])

    def act(self, moment: Moment, t: int, observations: Any) -> np.ndarray:
        if t == 0:
            self._outputs = []
        logits, values = self.network.evaluate(self._seen.write(t, observations))
        self._outputs.append((logits, values.reshape(len(logits), -1)))
        return self.draw(logits, moment, t)

    def update(self, rollout: Rollout, moment: Moment) -> Exchange:
        self._now = settings = self.settings.at(moment.progress)
        minibatch = settings.minibatch
        samples, explained = yield from self.estimate(rollout)
        step = moment.update * settings.epochs * (self._batch // minibatch)
        sums: Any = 0.0
        norms = 0.0
        for epoch in range(settings.epochs):
            order = self._shuffle(moment.update, epoch).to(rollout.actions.device)
            for chosen in torch.split(order, minibatch // self.shard.shards):
                losses = self.backward(chosen, samples.take(chosen))
                squared, losses = yield from self.add_up_gradients(losses)
                step += 1
                self._descend(step, moment, squared)
                sums, norms = sums + losses, norms + sqrt(squared)
                yield  # all weights are updated
        count = settings.epochs * (self._batch // minibatch)
        columns = {"gradient_norm": norms / count, **explained, **loss_columns(sums / count)}
        if self._imitation is not None:
            self._imitation.remember(rollout)
            # Adam's step count stays the same: the number of earlier imitation steps is not saved.
            descend = functools.partial(self._descend, step, moment)
            columns |= yield from self._imitation.learn(moment, descend)
        return columns

    def _descend(self, step: int, moment: Moment, squared: float) -> None:
        """Follow this shard's slice of the gradient, given its squared norm."""
        scale = clip_scale(squared, self.settings.max_gradient_norm)
        self._adam.step(step, self.gradient, moment.learning_rate, scale, self.shard.part)

    def remembered(self) -> dict[str, np.ndarray]:
        return {} if self._imitation is None else self._imitation.memory.to_arrays()

    def recall(self, arrays: dict[str, np.ndarray], *, games_go_on: bool) -> None:
        if self._imitation is not None:
            self._imitation.memory.from_arrays(arrays, games_go_on=games_go_on)

    def estimate(self, rollout: Rollout) -> Generator[Any, Any, tuple[Samples, dict[str, float]]]:
        """This shard's samples, and how well the values explained all shards' returns."""
        logits, values = map(torch.stack, zip(*self._outputs, strict=True))
        discounts, weights = map(values.new_tensor, self._now.of_streams(values.shape[2]))
        cut = cut_values(rollout, self.network)
        apart = gae(
            rollout.rewards.view_as(values),
            rollout.ends,
            values,
            self.network.evaluate(rollout.last)[1].view_as(values[0]),
            discounts,
            self.settings.gae_lambda,
            None if cut is None else cut.view_as(values),
        )
        returns, advantages = apart + values, apart @ weights
        # Of each column, the sum over all samples and that of the squares.
        numbers = torch.cat((advantages[..., None], returns, -apart), 2).flatten(0, 1).double()
        sums = yield torch.stack((numbers, numbers * numbers)).sum(1).cpu().numpy()
        if self.settings.normalise:
            advantages = normalised(advantages, sums[:, 0], self._batch)
        actions = rollout.actions.flatten(0, 1)
        samples = Samples(
            actions,
            self.policy.of(logits.flatten(0, 1)).log_policy(actions).flatten(),
            advantages.flatten(),
            returns.flatten(0, 1),
        )
        return samples, explained_columns(sums[:, 1:] / self._batch)

    def backward(self, chosen: Tensor, samples: Samples) -> np.ndarray:
        """Write the gradient of this shard's part of a minibatch; returns its part of the sums."""
        network = self.network
        network.forward(0, self._seen.take(chosen))
        d_logits, d_values, losses = loss_gradients(
            network.logits,
            network.values,
            samples,
            self._now,
            self._now.minibatch,
            self.policy.of,
        )
        network.backward(d_logits, d_values)
        return losses


def loss_gradients(
    logits: Tensor,
    values: Tensor,
    samples: Samples,
    settings: PPOSettings,
    batch_total: int,
    policy_of: Callable[[Tensor], Distribution] = Categorical,
) -> tuple[Tensor, Tensor, np.ndarray]:
    """The loss's gradient for `logits` (B, A), the policy's outputs, and `values` (B,) or (B, K).

    Means are over `batch_total` samples: a shard that holds B of them gets its part of the sum.
    policy_of: what the outputs mean. Last, float64 (4 + K,): the means of -min(r·A, clip(r)·A), of
    the policy's entropy, of r - 1 - log r (an estimate of the KL divergence), of r clipped or not,
    and of each (V - R)²/2.
    """
    bonus = float(settings.entropy)  # a number here, not a schedule
    policy = policy_of(logits)
    advantages = samples.advantages[:, None]
    log_ratio = policy.log_policy(samples.actions) - samples.log_policy[:, None]
    ratio = log_ratio.exp()
    clipped = ratio.clamp(1 - settings.clip, 1 + settings.clip)
    gains, clipped_gains = ratio * advantages, clipped * advantages
    # d(-r·A) = -r·A·d(log π(a)), but 0 where the clipped one is less
    pulls = torch.where(clipped_gains < gains, 0.0, gains)
    d_logits = policy.gradient(samples.actions, pulls, bonus).div_(batch_total)
    errors = values.reshape(len(values), -1) - samples.returns
    d_values = (errors * (settings.value / batch_total)).view_as(values)
    terms = torch.cat(
        (
            -torch.minimum(gains, clipped_gains),
            policy.entropy,
            ratio - 1 - log_ratio,
            (clipped != ratio).to(ratio.dtype),
            errors * errors / 2,
        ),
        1,
    )
    return d_logits, d_values, terms.double().sum(0).cpu().numpy() / batch_total


def loss_columns(means: np.ndarray) -> dict[str, float]:
    """The columns, from the sums of `loss_gradients`."""
    policy, entropy, divergence, clipped, *of_values = map(float, means)
    return {
        "entropy": entropy,
        "policy_loss": policy,
        "approximate_kl": divergence,
        "clip_fraction": clipped,
        **dict(zip(("value_loss", "intrinsic_value_loss"), of_values, strict=False)),
    }


def explained_columns(means: np.ndarray) -> dict[str, float]:
    """Given (2, 2·K): the means of R and of V - R of each value, and of their squares."""
    count = means.shape[1] // 2
    returns, errors = means[:, :count].T, means[:, count:].T
    shares = [
        explained_variance(*map(float, (*of_returns, *of_errors)))
        for of_returns, of_errors in zip(returns, errors, strict=True)
    ]
    names = "explained_variance", "intrinsic_explained_variance"
    return dict(zip(names, shares, strict=False))
