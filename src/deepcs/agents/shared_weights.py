"""A small network of a bonus: weights that all shards share, trained by Adam on added gradients."""

from __future__ import annotations

from collections.abc import Generator
from typing import Any

import torch
from torch import Tensor

from deepcs.agents.adam import Adam
from deepcs.agents.agent import Vector

BETA1, BETA2, EPSILON = 0.9, 0.999, 1e-8  # Kingma & Ba


def shared_vectors(name: str, size: int, shards: int) -> dict[str, Vector]:
    """Weights, a gradient per shard, and Adam's means."""
    gradients = {f"{name} gradient {k}": Vector(size, saved=False) for k in range(shards)}
    kept = ("parameters", "mean", "mean_square")
    return {**{f"{name}.{part}": Vector(size) for part in kept}, **gradients}


class SharedWeights:
    """One shard's view of them."""

    def __init__(
        self, name: str, vectors: dict[str, Tensor], index: int, shards: int, rate: float
    ) -> None:
        """`rate`: the learning rate."""
        self.parameters = vectors[f"{name}.parameters"]
        self._gradients = [vectors[f"{name} gradient {k}"] for k in range(shards)]
        self.gradient = self._gradients[index]
        """of this shard's samples: to be written before `step`"""
        size = len(self.parameters)
        self._part = slice(size * index // shards, size * (index + 1) // shards)
        means = vectors[f"{name}.mean"], vectors[f"{name}.mean_square"]
        self._adam = Adam(self.parameters, *means, beta1=BETA1, beta2=BETA2, epsilon=EPSILON)
        self._rate = rate

    def step(self, number: int) -> Generator[Any, Any, None]:
        """Add up all shards' gradients and take step `number`, from 1 up."""
        yield  # every gradient is written
        total = self._gradients[0]
        for other in self._gradients[1:]:
            total[self._part] += other[self._part]
        self._adam.step(number, total, self._rate, part=self._part)
        yield  # all weights are updated


def flat_views(module: torch.nn.Module, parameters: Tensor, gradient: Tensor) -> None:
    """Make a module's weights and gradients views of flat vectors."""
    start = 0
    for each in module.parameters():
        end = start + each.numel()
        each.data = parameters[start:end].view(each.shape)
        each.grad = gradient[start:end].view(each.shape)
        start = end
