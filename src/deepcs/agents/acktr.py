"""ACKTR: the actor-critic update as a natural gradient step in a trust region (Wu et al. 2017).

The loss is A2C's. Its gradient is rotated into the eigenbases of the Fisher matrix's factors,
divided there, rotated back, scaled down so that the policy moves no further than the KL bound
allows, and applied with momentum. The shards share the work: each takes the statistics of its own
samples, some of the decompositions, some rows of each layer.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import sqrt
from typing import Literal

import numpy as np
import torch
from numpy.random import Generator, Philox
from torch import Tensor

from deepcs.agents.a2c import Loss, clip_scale, cut_values, loss_gradients, moved, returns
from deepcs.agents.agent import Agent, Exchange, Moment, Shard, Vector
from deepcs.agents.checks import check_numbers
from deepcs.agents.kfac import (
    Bases,
    Statistics,
    bases_numbers,
    factor_sides,
    statistics_numbers,
    trust_scale,
)
from deepcs.agents.layers import layers_of
from deepcs.agents.network import Network
from deepcs.agents.networks import NetworkPlan, is_fast_shape
from deepcs.agents.policy import DiscretePolicy
from deepcs.agents.rollout import Rollout

LARGE = 1_024  # rows of a factor, above which decompositions and rotations take long
FISHER_NOISE = 1  # Philox's second key: the actions' noise has 0


@dataclass(frozen=True)
class ACKTRSettings:
    """Baselines' defaults of May 2018; the paper sets only the number of actors."""

    n_steps: int = 20
    """steps of each actor between two updates (Baselines)"""
    gamma: float = 0.99
    """discount per step (Baselines)"""
    learning_rate: float = 0.25
    """length of the natural step at the start, before the trust region (Baselines)"""
    schedule: Literal["linear", "constant"] = "linear"
    """the learning rate over the run: linear to 0 (Baselines), or constant"""
    entropy: float = 0.01
    """weight of the policy's entropy, in nats, in the loss (Baselines)"""
    value: float = 0.5
    """weight of the value's half squared error in the loss (Baselines)"""
    value_fisher: float = 1.0
    """weight of the value's part in the Fisher matrix (Baselines)"""
    kl_clip: float = 0.001
    """bound of δᵀFδ of one step, twice the model of its KL divergence (Baselines)"""
    momentum: float = 0.9
    """momentum: decay per update of the sum of steps (Baselines)"""
    damping: float = 0.01
    """λ, added to the eigenvalues of the Fisher matrix (Baselines)"""
    decay: float = 0.99
    """decay per update of the factors' running means (Baselines)"""
    cold_updates: int = 10
    """first updates, by gradient descent with momentum, while statistics accumulate (Baselines)"""
    cold_max_gradient_norm: float = 0.5
    """global norm to which gradients are clipped in those updates (Baselines)"""
    statistics_every: int = 1
    """updates between collections of statistics (Baselines: 1)"""
    refresh_every: int = 10
    """updates between decompositions of the factors (Baselines: as soon as it can)"""
    refresh_large_every: int = 50
    """the same for factors of more than 1,024 rows, which take seconds"""
    tolerance: float = 0.01
    """share of the damping below which curvature in factors that large counts as none (ours)"""

    def check(self) -> None:
        whole = "n_steps", "cold_updates", "statistics_every", "refresh_every"
        check_numbers(
            "acktr",
            self,
            whole=(*whole, "refresh_large_every"),
            shares=("momentum", "decay", "tolerance"),
            least={"damping": 1e-9, "kl_clip": 1e-12},  # less: steps of any length, or none
            unbounded=("cold_max_gradient_norm",),
        )

    def is_cold(self, update: int) -> bool:
        return update < self.cold_updates

    def takes_statistics(self, update: int) -> bool:
        return self.is_cold(update) or update % self.statistics_every == 0

    def refreshes(self, update: int, side: int) -> bool:
        """Whether factors of this many rows are decomposed before this update."""
        every = self.refresh_large_every if side > LARGE else self.refresh_every
        return not self.is_cold(update) and (update - self.cold_updates) % every == 0


THRIFTY = ACKTRSettings(statistics_every=8, refresh_large_every=100)
"""Nearly twice as fast: curvature from every eighth update, the largest factor half as often."""


class FisherNoise:
    """Standard normal numbers for the value's part of the Fisher matrix, by update and actor."""

    def __init__(self, seed: int, steps: int, actors: int) -> None:
        self._key = np.array([seed, FISHER_NOISE], np.uint64)
        self._shape = steps, actors

    def __call__(self, update: int, actors: range) -> np.ndarray:
        """float32 (T, len(actors)), the same whichever process asks."""
        generator = Generator(Philox(key=self._key, counter=[0, update, 0, 0]))
        noise = generator.standard_normal(self._shape, np.float32)
        return noise[:, actors.start : actors.stop]


def fisher_gradients(
    logits: Tensor, actions: Tensor, noise: Tensor, value_fisher: float
) -> tuple[Tensor, Tensor]:
    """Each sample's gradient of its log-likelihood, for logits (B, A) and value (B,).

    The actions (B,) were drawn from the policy itself and the value's target is the value plus
    noise (B,) of variance 1, so that the covariance of these is the policy's Fisher matrix,
    whatever the returns. The value's likelihood is that of Baselines, -value_fisher·(V - target)²:
    its part is twice the Fisher matrix of a target that had this likelihood, whose variance is ½.
    """
    d_logits = -torch.softmax(logits, 1)
    d_logits.scatter_add_(1, actions[:, None], torch.ones_like(d_logits[:, :1]))
    return d_logits, 2 * value_fisher * noise


class ACKTR(Agent):
    """One update per rollout: the natural gradient of A2C's loss, in a trust region."""

    name = "acktr"
    Settings = ACKTRSettings
    takes_half_precision = False  # its statistics are sums of many small squares
    columns = (
        *("entropy", "policy_loss", "value_loss", "gradient_norm"),
        *("explained_variance", "approximate_kl"),
    )

    @classmethod
    def vectors(
        cls, settings: ACKTRSettings, network: NetworkPlan, shards: int
    ) -> dict[str, Vector]:
        if not is_fast_shape(network.spaces.observation):
            raise ValueError(
                f"Got observations {network.spaces.observation} for acktr, which learns from one "
                "array of features or one image only; choose another agent: a2c or ppo."
            )
        if not isinstance(network.policy, DiscretePolicy):
            raise ValueError(
                f"Got actions {network.spaces.action} for acktr, which learns Discrete ones only; "
                "choose another agent, such as a2c or ppo."
            )
        if not network.is_fast:
            raise ValueError(
                f"Got network {network.name!r} for acktr, which needs the layers of the built-in "
                "one; choose the network fast or narrow, or another agent, such as a2c."
            )
        layers = layers_of(network.shape, network.actions, narrow=network.is_narrow)
        curvature = shards * statistics_numbers(layers) + bases_numbers(layers)
        return {
            "momentum": Vector(network.size),
            "curvature": Vector(curvature),  # statistics of each shard, then the bases
            "rotated": Vector(network.size, saved=False),  # the natural gradient's two halves
            "natural": Vector(network.size, saved=False),
        }

    def __init__(self, settings: ACKTRSettings, shard: Shard) -> None:
        super().__init__(settings, shard)
        assert isinstance(shard.network, Network)
        self.fast = shard.network
        layers, shards, index = self.fast.layers, shard.shards, shard.index
        curvature = shard.vectors["curvature"]
        of_shards = curvature[: shards * statistics_numbers(layers)].chunk(shards)
        self.statistics = [Statistics(layers, memory) for memory in of_shards]
        self.bases = Bases(layers, curvature[shards * statistics_numbers(layers) :])
        self._own = self.statistics[index]
        self._sides = factor_sides(layers)
        self._decomposes = deal(self._sides, shards)[index]
        self._rows = [part(layer.spec.out, shards, index) for layer in layers]
        self._momentum = shard.vectors["momentum"]
        self._gradients = self.fast.matrices(self.gradient)
        self._rotated = self.fast.matrices(shard.vectors["rotated"])
        self._naturals = self.fast.matrices(shard.vectors["natural"])
        self._fisher_noise = FisherNoise(shard.seed, settings.n_steps, shard.all_actors)

    def update(self, rollout: Rollout, moment: Moment) -> Exchange:
        settings, network = self.settings, self.fast
        update, rate = moment.update, moment.learning_rate
        policy, values = self.network.evaluate(rollout.last)
        targets = returns(
            rollout.rewards, rollout.ends, values, settings.gamma, cut_values(rollout, network)
        ).flatten()
        actions, batch = rollout.actions.flatten(), self.shard.batch(settings.n_steps)
        d_logits, d_values, losses = loss_gradients(
            network.logits, network.values, actions, targets, settings, batch
        )
        network.backward(d_logits, d_values)
        if settings.takes_statistics(update):
            drawn = torch.from_numpy(self._fisher_noise(update, self.actors).flatten())
            self.observe(update, actions, drawn.to(actions.device), batch)
        squared, losses = yield from self.add_up_gradients(losses)
        if settings.is_cold(update):
            scale = clip_scale(squared, settings.cold_max_gradient_norm)
            self.follow(self.gradient, rate, scale)
        else:
            self.refresh(update)
            yield  # all bases are fresh
            self.rotate()
            yield  # all rows are rotated
            product = yield self.rotate_back()
            if update == settings.cold_updates:
                self._momentum[self.shard.part].zero_()
            scale = trust_scale(product, rate, settings.kl_clip)
            self.follow(self.shard.vectors["natural"], rate * (1 - settings.momentum), scale)
        distance = yield from moved(self, rollout, policy, moment)
        columns = Loss(*losses).columns()
        return columns | {"gradient_norm": sqrt(squared), "approximate_kl": distance}

    def observe(self, update: int, actions: Tensor, noise: Tensor, batch: int) -> None:
        """Take the rollout's statistics: the first few averaged, then a moving average.

        Their decay per update is the same, however often they are taken. noise: (T·N,).
        """
        settings, network = self.settings, self.fast
        d_logits, d_values = fisher_gradients(network.logits, actions, noise, settings.value_fisher)
        gradients = network.output_gradients(d_logits, d_values)
        keep = settings.decay**settings.statistics_every
        new = 1 - keep
        if settings.is_cold(update):
            keep, new = 1.0, 1 / settings.cold_updates
        self._own.add(network.inputs, gradients, keep, new / batch)
        self._own.factors[-1][:-1, -1] = 0  # policy and value are separate layers

    def refresh(self, update: int) -> None:
        """Decompose those of this shard's factors whose turn it is."""
        for which in self._decomposes:
            if not self.settings.refreshes(update, self._sides[which]):
                continue
            factor = sum(statistics.factors[which] for statistics in self.statistics)
            assert isinstance(factor, Tensor)
            self.bases.refresh(which, factor)

    def rotate(self) -> None:
        """The first half of the natural gradient, in this shard's rows."""
        settings = self.settings
        rotated = self.bases.rotate(
            self._gradients, self._rows, settings.damping, settings.tolerance, LARGE
        )
        self._write(rotated, self._rotated)

    def rotate_back(self) -> float:
        """The second half, in this shard's rows; returns their Σ V·dW."""
        natural = self.bases.rotate_back(self._rotated, self._rows)
        self._write(natural, self._naturals)
        return sum(
            float((weight * d_weight[rows]).sum() + (bias * d_bias[rows]).sum())
            for (weight, bias), (d_weight, d_bias), rows in zip(
                natural, self._gradients, self._rows, strict=True
            )
        )

    def _write(
        self, parts: Sequence[tuple[Tensor, Tensor]], whole: Sequence[tuple[Tensor, Tensor]]
    ) -> None:
        for (weight, bias), (all_weight, all_bias), rows in zip(
            parts, whole, self._rows, strict=True
        ):
            all_weight[rows], all_bias[rows] = weight, bias

    def follow(self, direction: Tensor, rate: float, scale: float) -> None:
        """Step by scale times the direction, with momentum, in this shard's slice."""
        part = self.shard.part
        momentum = self._momentum[part]
        momentum.mul_(self.settings.momentum).add_(direction[part], alpha=scale)
        self.network.parameters[part].add_(momentum, alpha=-rate)


def part(total: int, parts: int, index: int) -> slice:
    """One of the parts of about equal length that range(total) is split into."""
    return slice(round(total * index / parts), round(total * (index + 1) / parts))


def deal(sides: Sequence[int], shards: int) -> list[list[int]]:
    """Which factors each shard decomposes: large ones and others, whose turns differ, each evenly.

    The largest first, to the shard with the least work.
    """
    shares: list[list[int]] = [[] for _ in range(shards)]
    order = sorted(range(len(sides)), key=lambda k: -sides[k])
    for large in (True, False):
        work = [0] * shards
        for which in (k for k in order if (sides[k] > LARGE) == large):
            shard = work.index(min(work))
            shares[shard].append(which)
            work[shard] += sides[which] ** 3
    return shares
