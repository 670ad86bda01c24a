"""A2C: advantage actor-critic, as in OpenAI Baselines (Mnih et al. 2016, without its asynchrony).

The loss of a batch is `mean(A·-log π(a)) - entropy·mean(H) + value·mean((V - R)²/2)`, with the
advantage A = R - V held constant. T steps of N actors are in the order t·N + n.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Generator
from dataclasses import dataclass, replace
from math import nan, sqrt
from typing import Any, Literal, Protocol

import numpy as np
import torch
from torch import Tensor

from deepcs.agents.agent import Agent, Exchange, Moment, Shard, Vector
from deepcs.agents.checks import check_numbers
from deepcs.agents.imitation import (
    COLUMNS,
    SelfImitation,
    check_imitation,
    check_room,
    refuse_memory,
    samples_of,
)
from deepcs.agents.networks import ActorCritic, NetworkPlan, as_tensors
from deepcs.agents.policy import Categorical, Distribution
from deepcs.agents.rollout import Rollout
from deepcs.agents.samples import SeenObservations


@dataclass(frozen=True)
class A2CSettings:
    """Baselines' defaults of May 2018."""

    n_steps: int = 5
    """steps of each actor between two updates (Baselines)"""
    gamma: float = 0.99
    """discount per step (Baselines)"""
    learning_rate: float = 7e-4
    """learning rate of RMSProp at the start (Baselines)"""
    schedule: Literal["linear", "constant"] = "linear"
    """the learning rate over the run: linear to 0, or constant (Baselines has both)"""
    entropy: float = 0.01
    """weight of the policy's entropy, in nats, in the loss (Baselines)"""
    value: float = 0.5
    """weight of the value's half squared error in the loss (Baselines until August 2018)"""
    max_gradient_norm: float = 0.5
    """global norm to which gradients are clipped (Baselines)"""
    rmsprop_decay: float = 0.99
    """decay per update of RMSProp's mean square (Baselines)"""
    rmsprop_epsilon: float = 1e-5
    """added to RMSProp's mean square, inside the root (Baselines)"""

    imitation: int = 0
    """batches of self-imitation per update, from the best episodes so far (Oh et al.: 4)"""
    imitation_samples: int | None = None
    """with imitation: steps of these episodes that are kept; None: 16,384"""

    def check(self) -> None:
        whole = ("n_steps", "imitation_samples")
        check_numbers("a2c", self, whole=whole, unbounded=("max_gradient_norm",))
        check_imitation("a2c", self)

    def resolved(self) -> A2CSettings:
        """With all defaults resolved."""
        return replace(self, imitation_samples=samples_of(self))


class A2C(Agent):
    """One update per rollout: a gradient of the rollout's loss, clipped, by RMSProp."""

    name = "a2c"
    Settings = A2CSettings
    columns = (
        *("entropy", "policy_loss", "value_loss", "gradient_norm"),
        *("explained_variance", "approximate_kl"),
        *COLUMNS,
    )

    @classmethod
    def check_division(cls, settings: A2CSettings, actors: int, shards: int) -> None:
        check_room("a2c", settings, actors)

    @classmethod
    def vectors(cls, settings: A2CSettings, network: NetworkPlan, shards: int) -> dict[str, Vector]:
        if settings.imitation:
            refuse_memory("a2c", network)
        return {"mean_square": Vector(network.size, start=1.0)}

    def __init__(self, settings: A2CSettings, shard: Shard) -> None:
        super().__init__(settings, shard)
        self._rmsprop = RMSProp(
            shard.network.parameters,
            decay=settings.rmsprop_decay,
            epsilon=settings.rmsprop_epsilon,
            mean_square=shard.vectors["mean_square"],
        )
        self._seen = SeenObservations(settings.n_steps, shard.network.block)
        self._imitation: SelfImitation | None = None
        if settings.imitation:
            self._imitation = SelfImitation(self, self._seen, settings.gamma)

    def act(self, moment: Moment, t: int, observations: Any) -> np.ndarray:
        if self._imitation is not None:
            observations = self._seen.write(t, observations)
        return super().act(moment, t, observations)

    def update(self, rollout: Rollout, moment: Moment) -> Exchange:
        settings, network, shard = self.settings, self.network, self.shard
        policy, values = network.evaluate(rollout.last)
        targets = returns(
            rollout.rewards, rollout.ends, values, settings.gamma, cut_values(rollout, network)
        ).flatten()
        d_logits, d_values, losses = loss_gradients(
            network.logits,
            network.values,
            rollout.actions.flatten(0, 1),
            targets,
            settings,
            shard.batch(settings.n_steps),
            self.policy.of,
        )
        network.backward(d_logits, d_values)
        squared, losses = yield from self.add_up_gradients(losses)
        self._descend(moment, squared)
        distance = yield from moved(self, rollout, policy, moment)
        columns = Loss(*losses).columns()
        columns |= {"gradient_norm": sqrt(squared), "approximate_kl": distance}
        if self._imitation is not None:
            yield  # all weights are updated
            self._imitation.remember(rollout)
            descend = functools.partial(self._descend, moment)
            columns |= yield from self._imitation.learn(moment, descend)
        return columns

    def _descend(self, moment: Moment, squared: float) -> None:
        """Follow this shard's slice of the gradient, given its squared norm."""
        scale = clip_scale(squared, self.settings.max_gradient_norm)
        self._rmsprop.step(self.gradient, moment.learning_rate, scale, self.shard.part)

    def remembered(self) -> dict[str, np.ndarray]:
        return {} if self._imitation is None else self._imitation.memory.to_arrays()

    def recall(self, arrays: dict[str, np.ndarray], *, games_go_on: bool) -> None:
        if self._imitation is not None:
            self._imitation.memory.from_arrays(arrays, games_go_on=games_go_on)


class LossSettings(Protocol):
    """What the loss needs of a learner's settings."""

    @property
    def entropy(self) -> float: ...
    @property
    def value(self) -> float: ...


@dataclass(frozen=True)
class Loss:
    """A batch's means; those of the shards' parts of the batch add up to the batch's."""

    policy: float
    """of A·-log π(a)"""
    value: float
    """of (V - R)²/2, without its weight"""
    entropy: float
    """of the policy's entropy, in nats"""
    returns: float
    """of R"""
    returns_squared: float
    """of R²"""
    errors: float
    """of V - R"""
    errors_squared: float
    """of (V - R)²"""

    @property
    def explained_variance(self) -> float:
        """Share of the returns' variance that the values explain; NaN if they have none."""
        return explained_variance(
            self.returns, self.returns_squared, self.errors, self.errors_squared
        )

    def columns(self) -> dict[str, float]:
        return {
            "entropy": self.entropy,
            "policy_loss": self.policy,
            "value_loss": self.value,
            "explained_variance": self.explained_variance,
        }


def explained_variance(
    returns: float, returns_squared: float, errors: float, errors_squared: float
) -> float:
    """Share of the returns' variance that the values explain, given means of R, R², V - R and
    (V - R)²; NaN if they have none.
    """
    variance = returns_squared - returns**2
    if variance <= 1e-6 * returns_squared:  # all alike: what is left is rounding
        return nan
    return 1 - (errors_squared - errors**2) / variance


def returns(
    rewards: Tensor,
    ends: Tensor,
    bootstrap: Tensor,
    gamma: float,
    final_values: Tensor | None = None,
) -> Tensor:
    """The discounted rewards from each step on, (T, N), up to an end or to the bootstrap.

    | argument       | shape  | meaning                                                          |
    | -------------- | ------ | ---------------------------------------------------------------- |
    | `rewards`      | (T, N) | of each step                                                     |
    | `ends`         | (T, N) | bool: nothing after this step counts                             |
    | `bootstrap`    | (N,)   | value of the observation after the last step                     |
    | `final_values` | (T, N) | where a game was truncated: value of its last observation; an end |
    |                |        | too. 0 elsewhere                                                 |
    """
    if final_values is not None:
        rewards = rewards + gamma * final_values
    discounts = gamma * (~ends).to(rewards.dtype)
    result = torch.empty_like(rewards)
    following = bootstrap
    for t in reversed(range(len(rewards))):
        following = torch.addcmul(rewards[t], discounts[t], following, out=result[t])
    return result


def cut_values(rollout: Rollout, network: ActorCritic) -> Tensor | None:
    """Values (T, N) of the last observations of truncated games, 0 elsewhere."""
    if not rollout.cuts:
        return None
    values = torch.zeros_like(rollout.rewards)
    envs = rollout.rewards.shape[1]
    for cut in rollout.cuts:
        # In a batch of the usual size: another size would round differently.
        alike = as_tensors(repeated(cut.observation, envs))
        memory = None if cut.memory is None else cut.memory.expand(envs, -1)
        values[cut.t, cut.seat] = network.play(alike, memory)[1][0]
    return values


def repeated(observation: Any, times: int) -> Any:
    """A batch of the same observation."""
    if isinstance(observation, dict):
        return {name: repeated(part, times) for name, part in observation.items()}
    return np.repeat(observation[None], times, 0)


def loss_gradients(
    logits: Tensor,
    values: Tensor,
    actions: Tensor,
    returns: Tensor,
    settings: LossSettings,
    batch_total: int,
    policy_of: Callable[[Tensor], Distribution] = Categorical,
) -> tuple[Tensor, Tensor, np.ndarray]:
    """The loss's gradient for `logits` (B, A), the policy's outputs, and `values` (B,), given
    actions (B, …) and returns (B,).

    Means are over `batch_total` samples: a shard that holds B of them gets its part of the sum.
    policy_of: what the outputs mean. Last: the numbers of `Loss`, float64 (7,).
    """
    policy = policy_of(logits)
    errors = (values - returns)[:, None]
    # of A·-log π(a) - entropy·H, with A = -errors
    d_logits = policy.gradient(actions, -errors, settings.entropy).div_(batch_total)
    d_values = errors[:, 0] * (settings.value / batch_total)
    policy_losses = errors * policy.log_policy(actions)
    terms = torch.cat((policy_losses, errors * errors / 2, policy.entropy), 1).sum(0) / batch_total
    moments = torch.stack((returns, errors[:, 0])).double()
    moments = torch.stack((moments, moments * moments), 1).sum(2).flatten() / batch_total
    return d_logits, d_values, np.array(terms.tolist() + moments.tolist())


def moved(
    agent: Agent, rollout: Rollout, before: Tensor, moment: Moment
) -> Generator[Any, Any, float]:
    """Mean KL divergence from the policy before the update, outputs (N, A) for the last
    observations, to the one after it. It takes a forward pass, so it is computed only in updates
    that end a row of the log, and NaN in others.
    """
    if not moment.logged:
        return nan
    yield  # all weights are updated
    old, new = map(agent.policy.of, (before, agent.network.evaluate(rollout.last)[0]))
    divergence = float(old.divergence(new)) / agent.shard.all_actors
    total: float = yield divergence
    return total


def clip_scale(squared_norm: float, max_norm: float) -> float:
    """What to multiply a gradient by so that its norm is at most `max_norm`, as PyTorch does it."""
    return min(1.0, max_norm / (sqrt(squared_norm) + 1e-6))


class RMSProp:
    """RMSProp as TensorFlow has it, and so Baselines: PyTorch's differs in start and epsilon.

    `ms = decay·ms + (1 - decay)·g²; w -= rate·g / sqrt(ms + epsilon)`, with ms = 1 at first.

    The mean square `ms` is all its state: a flat vector beside the parameters, which the caller
    may hand in, filled, in shared memory for example.
    """

    def __init__(
        self,
        parameters: Tensor,
        *,
        decay: float,
        epsilon: float,
        mean_square: Tensor | None = None,
    ) -> None:
        self.parameters = parameters
        self.decay = decay
        self.epsilon = epsilon
        self.mean_square = torch.ones_like(parameters) if mean_square is None else mean_square
        self._root = torch.empty_like(parameters)

    def step(
        self, gradient: Tensor, learning_rate: float, scale: float = 1.0, part: slice = slice(None)
    ) -> None:
        """Update the `part` of the parameters with that part of scale·gradient (whole vectors)."""
        g, ms, root = gradient[part], self.mean_square[part], self._root[part]
        ms.mul_(self.decay).addcmul_(g, g, value=(1 - self.decay) * scale * scale)
        torch.add(ms, self.epsilon, out=root).rsqrt_()
        self.parameters[part].addcmul_(g, root, value=-learning_rate * scale)
