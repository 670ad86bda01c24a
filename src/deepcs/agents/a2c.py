"""Advantage actor-critic: its settings, returns and the gradient of its loss.

The loss of a batch is `mean(A·-log π(a)) - entropy·mean(H) + value·mean((V - R)²/2)`, with the
advantage A = R - V held constant. T steps of N actors stand in the order t·N + n.
"""

from dataclasses import dataclass
from math import isfinite, sqrt
from typing import Literal, Protocol

import torch
from torch import Tensor


@dataclass(frozen=True)
class A2CSettings:
    """Baselines' defaults of May 2018."""

    steps: int = 5
    """steps of each actor between two updates (Baselines)"""
    gamma: float = 0.99
    """discount per step (Baselines)"""
    learning_rate: float = 7e-4
    """step size of RMSProp at the start (Baselines)"""
    schedule: Literal["linear", "constant"] = "linear"
    """the learning rate over the run: linear to 0, or constant (Baselines has both)"""
    entropy: float = 0.01
    """weight of the policy's entropy, in nats, in the loss (Baselines)"""
    value: float = 0.5
    """weight of the value's half squared error in the loss (Baselines until August 2018)"""
    max_gradient_norm: float = 0.5
    """Euclidean norm to which longer gradients are shortened (Baselines)"""
    rmsprop_decay: float = 0.99
    """decay per update of RMSProp's mean square (Baselines)"""
    rmsprop_epsilon: float = 1e-5
    """added to RMSProp's mean square, inside the root (Baselines)"""


class LossSettings(Protocol):
    """What the loss needs of a learner's settings."""

    @property
    def entropy(self) -> float: ...
    @property
    def value(self) -> float: ...


class RateSettings(Protocol):
    """What the schedule needs of a learner's settings."""

    @property
    def learning_rate(self) -> float: ...
    @property
    def schedule(self) -> str: ...


@dataclass(frozen=True)
class LossReport:
    """A shard's share of the batch's means: the shares of all shards add up to the batch's."""

    policy: float
    """mean of A·-log π(a)"""
    value: float
    """mean of (V - R)²/2, without its weight"""
    entropy: float
    """mean entropy of the policy, in nats"""

    @property
    def finite(self) -> bool:
        return isfinite(self.policy + self.value + self.entropy)


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
    | `final_values` | (T, N) | where a game was cut short: value of its last observation; an end |
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


def loss_gradients(
    logits: Tensor,
    values: Tensor,
    actions: Tensor,
    returns: Tensor,
    settings: LossSettings,
    batch_total: int,
) -> tuple[Tensor, Tensor, LossReport]:
    """The loss's gradient for `logits` (B, A) and `values` (B,), given actions and returns (B,).

    Means are over `batch_total` samples: a shard that holds B of them gets its part of the sum.
    """
    log_policy = torch.log_softmax(logits, 1)
    policy = log_policy.exp()
    information = policy * log_policy
    entropy = -information.sum(1, keepdim=True)
    errors = (values - returns)[:, None]
    chosen = actions[:, None]
    # d(A·-log π(a)) = A·(π - onehot(a)), with A = -errors; d(-H) = π·(log π + H)
    d_logits = settings.entropy * information - policy * (errors - settings.entropy * entropy)
    d_logits.scatter_add_(1, chosen, errors).div_(batch_total)
    d_values = errors[:, 0] * (settings.value / batch_total)
    policy_losses = errors * log_policy.gather(1, chosen)
    terms = torch.cat((policy_losses, errors * errors / 2, entropy), 1)
    return d_logits, d_values, LossReport(*(terms.sum(0) / batch_total).tolist())


def clip_scale(squared_norm: float, max_norm: float) -> float:
    """What to multiply a gradient by so that its norm is at most `max_norm`, as PyTorch does it."""
    return min(1.0, max_norm / (sqrt(squared_norm) + 1e-6))


def learning_rate(settings: RateSettings, step: int, total: int) -> float:
    """The learning rate after `step` of `total` steps."""
    if settings.schedule == "constant":
        return settings.learning_rate
    return settings.learning_rate * max(0.0, 1 - step / total)
