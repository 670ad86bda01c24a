"""Policies for each kind of action, as learners and players use them.

A network gives each observation some numbers, its *outputs*. A `Policy` draws actions from them
and says what the environment is sent; its `Distribution` has what a loss needs: log π(a), the
entropy, and their gradient for the outputs, written by hand.

| action space  | outputs                        | an action, as learners see it                 |
| ------------- | ------------------------------ | --------------------------------------------- |
| Discrete      | logits (B, n)                  | int64 (B,), from 0 up                         |
| MultiDiscrete | logits (B, Σn), side by side   | int64 (B, choices), each from 0 up            |
| MultiBinary   | the same, each n = 2           | the same                                      |
| Box of floats | means (B, d), log stds (B, d)  | float32 (B, d), unclipped; the box is −1 to 1 |
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol

import gymnasium
import numpy as np
import torch
from numpy.typing import NDArray
from scipy.special import ndtri
from torch import Tensor

from deepcs.agents.noise import greedy, sample

HALF_LOG_2_PI = math.log(2 * math.pi) / 2
SMALLEST = 2.0**-54  # half the step between uniform numbers: 0 has no finite normal quantile


class Distribution(Protocol):
    """The policy for B observations, given the network's outputs for them."""

    @property
    def entropy(self) -> Tensor:
        """(B, 1), in nats"""

    def log_policy(self, actions: Tensor) -> Tensor:
        """log π(a), (B, 1)."""

    def gradient(self, actions: Tensor, pulls: Tensor, entropy: float) -> Tensor:
        """Of Σ -pull·log π(a) - entropy·H for the outputs (B, …); pulls: (B, 1), constant."""

    def divergence(self, new: Any) -> Tensor:
        """KL divergence from this one to a new one of the same kind, summed over all B."""


class Policy(Protocol):
    """How a world's actions follow from a network's outputs."""

    @property
    def outputs(self) -> int:
        """numbers that the network gives for an observation, beside its values"""

    @property
    def noise_shape(self) -> tuple[int, ...]:
        """of the uniform numbers that an action takes"""

    @property
    def action_shape(self) -> tuple[int, ...]:
        """of an action, as learners see it"""

    @property
    def dtype(self) -> type[np.generic]:
        """of an action, as learners see it"""

    @property
    def of(self) -> Callable[[Tensor], Distribution]:
        """the distribution that outputs (B, …) mean"""

    def sample(self, outputs: Tensor, uniforms: NDArray[np.float64]) -> np.ndarray:
        """Actions (N, …) drawn with these numbers in [0, 1), (N, *noise_shape)."""

    def greedy(self, outputs: Tensor) -> np.ndarray:
        """The likeliest actions (N, …)."""

    def sent(self, actions: np.ndarray) -> np.ndarray:
        """What environments are sent for actions (N, …)."""


class Categorical:
    """One of several actions, by logits (B, n)."""

    def __init__(self, logits: Tensor) -> None:
        self._log = torch.log_softmax(logits, 1)
        self._policy = self._log.exp()
        self._information = self._policy * self._log
        self.entropy = -self._information.sum(1, keepdim=True)

    def log_policy(self, actions: Tensor) -> Tensor:
        return self._log.gather(1, actions[:, None])

    def gradient(self, actions: Tensor, pulls: Tensor, entropy: float) -> Tensor:
        # d(-log π(a)) = π - onehot(a), d(-H) = π·(log π + H)
        result = entropy * self._information + self._policy * (pulls + entropy * self.entropy)
        return result.scatter_add_(1, actions[:, None], -pulls)

    def divergence(self, new: Categorical) -> Tensor:
        return (self._policy * (self._log - new._log)).sum()


class Choices:
    """Several independent choices, by logits (B, Σn)."""

    def __init__(self, logits: Tensor, sizes: tuple[int, ...]) -> None:
        self._parts = [Categorical(part) for part in torch.split(logits, list(sizes), 1)]
        self.entropy = torch.cat([part.entropy for part in self._parts], 1).sum(1, keepdim=True)

    def log_policy(self, actions: Tensor) -> Tensor:
        logs = [part.log_policy(actions[:, k]) for k, part in enumerate(self._parts)]
        return torch.cat(logs, 1).sum(1, keepdim=True)

    def gradient(self, actions: Tensor, pulls: Tensor, entropy: float) -> Tensor:
        parts = enumerate(self._parts)
        return torch.cat([part.gradient(actions[:, k], pulls, entropy) for k, part in parts], 1)

    def divergence(self, new: Choices) -> Tensor:
        pairs = zip(self._parts, new._parts, strict=True)
        return torch.stack([old.divergence(later) for old, later in pairs]).sum()


class Gaussian:
    """Independent normal numbers, by means and log standard deviations (B, d) each."""

    def __init__(self, outputs: Tensor) -> None:
        self._mean, self._log_std = outputs.chunk(2, 1)
        self._std = self._log_std.exp()
        self.entropy = (self._log_std + (0.5 + HALF_LOG_2_PI)).sum(1, keepdim=True)

    def log_policy(self, actions: Tensor) -> Tensor:
        units = (actions - self._mean) / self._std
        return -(units * units / 2 + self._log_std + HALF_LOG_2_PI).sum(1, keepdim=True)

    def gradient(self, actions: Tensor, pulls: Tensor, entropy: float) -> Tensor:
        # d log π(a) = z/σ for the mean and z² - 1 for log σ, with z = (a - μ)/σ; dH = 1 for log σ
        units = (actions - self._mean) / self._std
        return torch.cat((-pulls * units / self._std, pulls * (1 - units * units) - entropy), 1)

    def divergence(self, new: Gaussian) -> Tensor:
        moved = (self._mean - new._mean) / new._std
        ratio = self._std / new._std
        return ((ratio * ratio + moved * moved - 1) / 2 + new._log_std - self._log_std).sum()


@dataclass(frozen=True)
class DiscretePolicy:
    """One of several actions."""

    outputs: int
    start: int = 0
    """the first action's number in the environment"""
    noise_shape = action_shape = ()
    dtype = np.int64
    of = Categorical

    def sample(self, outputs: Tensor, uniforms: NDArray[np.float64]) -> np.ndarray:
        return sample(outputs, uniforms)

    def greedy(self, outputs: Tensor) -> np.ndarray:
        return greedy(outputs)

    def sent(self, actions: np.ndarray) -> np.ndarray:
        return actions + self.start if self.start else actions


@dataclass(frozen=True)
class ChoicesPolicy:
    """MultiDiscrete or MultiBinary actions."""

    space: gymnasium.spaces.MultiDiscrete | gymnasium.spaces.MultiBinary
    sizes: tuple[int, ...]
    """how many there are to choose from, of each"""
    dtype = np.int64

    @property
    def outputs(self) -> int:
        return sum(self.sizes)

    @property
    def noise_shape(self) -> tuple[int, ...]:
        return (len(self.sizes),)

    @property
    def action_shape(self) -> tuple[int, ...]:
        return (len(self.sizes),)

    @property
    def of(self) -> Callable[[Tensor], Choices]:
        return functools.partial(Choices, sizes=self.sizes)

    def sample(self, outputs: Tensor, uniforms: NDArray[np.float64]) -> np.ndarray:
        parts = zip(torch.split(outputs, list(self.sizes), 1), uniforms.T, strict=True)
        return np.stack([sample(logits, numbers) for logits, numbers in parts], 1)

    def greedy(self, outputs: Tensor) -> np.ndarray:
        return np.stack([greedy(logits) for logits in torch.split(outputs, list(self.sizes), 1)], 1)

    def sent(self, actions: np.ndarray) -> np.ndarray:
        whole = actions.reshape(len(actions), *self.space.shape) + getattr(self.space, "start", 0)
        return whole.astype(self.space.dtype)


@dataclass(frozen=True)
class GaussianPolicy:
    """Box actions: normal numbers in units of the box, scaled to it and clipped to its bounds.

    A dimension with two bounds is scaled to −1 to 1, so that a standard deviation of 1, which the
    built-in network begins with, is half its range whatever the environment's units. A dimension
    with an open end is not scaled.
    """

    space: gymnasium.spaces.Box
    dtype = np.float32
    of = Gaussian

    @property
    def dimensions(self) -> int:
        return math.prod(self.space.shape)

    @property
    def outputs(self) -> int:
        return 2 * self.dimensions

    @property
    def noise_shape(self) -> tuple[int, ...]:
        return (self.dimensions,)

    @property
    def action_shape(self) -> tuple[int, ...]:
        return (self.dimensions,)

    def sample(self, outputs: Tensor, uniforms: NDArray[np.float64]) -> np.ndarray:
        means, log_stds = np.split(outputs.cpu().numpy().astype(np.float64), 2, 1)
        normal = ndtri(np.maximum(uniforms, SMALLEST))
        drawn: np.ndarray = (means + np.exp(log_stds) * normal).astype(np.float32)
        return drawn

    def greedy(self, outputs: Tensor) -> np.ndarray:
        means: np.ndarray = outputs[:, : self.dimensions].cpu().numpy()
        return means

    def sent(self, actions: np.ndarray) -> np.ndarray:
        low, high, center, reach = self._sides
        boxed = actions.reshape(len(actions), *self.space.shape) * reach + center
        clipped: np.ndarray = np.clip(boxed, low, high).astype(self.space.dtype)
        return clipped

    @functools.cached_property
    def _sides(self) -> tuple[np.ndarray, ...]:
        """Lowest, highest, middle and half length of the box's dimensions; of open ones 0 and 1."""
        low, high = self.space.low.astype(np.float64), self.space.high.astype(np.float64)
        bounded = np.isfinite(low) & np.isfinite(high)
        ends = np.where(bounded, low, -1), np.where(bounded, high, 1)
        return low, high, (ends[0] + ends[1]) / 2, (ends[1] - ends[0]) / 2


def policy_for(space: gymnasium.Space[Any]) -> Policy:
    """The policy over an action space; raises ValueError where there is none."""
    if isinstance(space, gymnasium.spaces.Discrete):
        return DiscretePolicy(int(space.n), int(space.start))
    if isinstance(space, gymnasium.spaces.MultiDiscrete):
        return ChoicesPolicy(space, tuple(map(int, space.nvec.flat)))
    if isinstance(space, gymnasium.spaces.MultiBinary):
        return ChoicesPolicy(space, (2,) * math.prod(space.shape))
    if isinstance(space, gymnasium.spaces.Box):
        is_float = np.dtype(space.dtype).kind == "f"
        if is_float and math.prod(space.shape) > 0:
            return GaussianPolicy(space)
    raise ValueError(
        f"Got actions {space}; training needs Discrete, MultiDiscrete, MultiBinary, or a Box of at "
        "least one float: wrap the environment with gymnasium.wrappers.TransformAction."
    )
