"""Random network distillation (Burda et al. 2019): what the trained network cannot predict is new.

A fixed random network f and a trained one g see the newest frame; I is the mean squared difference
of their outputs, divided by the running standard deviation of its discounted sums. As published:
pixels are normalised by their running mean and deviation and clipped to ±5; the discounted sums
continue through the ends of games. Ours: the networks are smaller (half the filters, one hidden
layer more in g instead of two), and the first rollout replaces the random steps that initialise the
pixels' normalisation. A random quarter of the samples trains g, as in theirs; where it is empty, as
it often is in the wrappers, whose rollouts are one step, g stays as it is.
"""

from __future__ import annotations

from collections.abc import Generator
from math import prod
from typing import Any

import numpy as np
import torch
from numpy.random import Generator as Draws
from numpy.random import Philox
from torch import Tensor, nn

from deepcs.agents.agent import Vector
from deepcs.agents.bonus import Arrays, Batch, Bonus, Visited
from deepcs.agents.shared_weights import SharedWeights, flat_views, shared_vectors
from deepcs.curiosity.novelty import Novelty

CLIP = 5.0  # standard deviations of a pixel
BATCH = 256  # samples of all actors in one step of Adam, about
ONE_IN = 4  # samples that trains g
CHOICE_KEY = 5  # Philox's second key, of which samples they are
TARGET_SEED, PREDICTOR_SEED = 101, 102  # added to the run's


class RND(Bonus):
    """What is saved beside the weights: pixels' sums, returns' sums, each actor's return."""

    name = "rnd"

    @classmethod
    def vectors(
        cls, novelty: Novelty, frame: tuple[int, int] | None, shards: int
    ) -> dict[str, Vector]:
        assert frame is not None
        size = sum(
            each.numel() for each in make_network(frame, novelty, 1, deeper=True).parameters()
        )
        return shared_vectors(cls.name, size, shards)

    def __init__(self, novelty: Novelty, batch: Batch) -> None:
        super().__init__(novelty, batch)
        assert batch.frame is not None
        assert novelty.rnd_gamma is not None
        assert novelty.rnd_learning_rate is not None
        self._gamma = novelty.rnd_gamma
        self._target = make_network(batch.frame, novelty, batch.seed + TARGET_SEED)
        self._predictor = make_network(batch.frame, novelty, 0, deeper=True)
        self._weights = SharedWeights(
            self.name, batch.vectors, batch.index, batch.shards, novelty.rnd_learning_rate
        )
        self._device = self._weights.parameters.device
        self._target.to(self._device)
        flat_views(self._predictor, self._weights.parameters, self._weights.gradient)
        self._pixels = np.zeros((2, *batch.frame), np.int64)  # sums of values and of their squares
        self._frames = 0
        self._moments = np.zeros(3)  # of returns: how many, sum, sum of squares
        self._returns = np.zeros(batch.all_actors)
        self._step = 0  # parts of rollouts so far
        self._trained = 0  # those that trained g

    def initialise(self) -> None:
        assert self.batch.frame is not None
        seed = self.batch.seed + PREDICTOR_SEED
        fresh = make_network(self.batch.frame, self.novelty, seed, deeper=True)
        for each, drawn in zip(self._predictor.parameters(), fresh.parameters(), strict=True):
            each.data.copy_(drawn.data)

    def pay(self, visited: Visited) -> Generator[Any, Any, np.ndarray]:
        frames, batch = visited.frames, self.batch.present(visited)
        assert frames is not None
        steps, own = frames.shape[:2]
        flat = frames.reshape(-1, *frames.shape[2:])
        self._pixels += yield pixel_sums(flat)
        self._frames += steps * batch.all_actors
        errors = np.empty(len(flat))
        chunk = max(1, BATCH // batch.all_actors) * own
        for start in range(0, len(flat), chunk):  # so few that they stay in the processor's cache
            part = slice(start, start + chunk)
            seen = self._normalised(flat[part])
            with torch.no_grad():
                wanted = self._target(seen)
                errors[part] = squared(self._predictor(seen), wanted).cpu().numpy()
            chosen = self._chosen(
                range(start // own, min(start + chunk, len(flat)) // own), batch.all_actors
            )
            mine = chosen[:, batch.actors.start : batch.actors.stop].ravel()
            which = torch.from_numpy(np.flatnonzero(mine)).to(self._device)
            self._step += 1
            if total := int(chosen.sum()):
                self._learn(seen[which], wanted[which], total)
                self._trained += 1
                yield from self._weights.step(self._trained)
        everyone = yield batch.all(errors.reshape(steps, own))
        return errors.reshape(steps, own) / self._deviation(everyone, visited.actors)

    def _chosen(self, steps: range, actors: int) -> np.ndarray:
        """Which samples of all actors train g: bool (steps, actors)."""
        key = np.array([self.batch.seed, CHOICE_KEY], np.uint64)
        draws = Draws(Philox(key=key, counter=[0, self._step, 0, 0]))
        return draws.random((len(steps), actors)) < 1 / ONE_IN

    def _learn(self, seen: Tensor, wanted: Tensor, total: int) -> None:
        """Write the gradient of this shard's part of the loss, a mean over `total` samples."""
        self._weights.gradient.zero_()
        if len(seen):
            with torch.enable_grad():
                loss = squared(self._predictor(seen), wanted).sum() / total
                torch.autograd.backward(loss)

    def _normalised(self, frames: np.ndarray) -> Tensor:
        """float32 (B, 1, height, width)."""
        mean = self._pixels[0] / self._frames
        variance = self._pixels[1] / self._frames - mean**2
        deviation = np.sqrt(np.maximum(variance, 1.0))  # of pixels that never change: one shade
        shift, scale = (torch.from_numpy(x.astype(np.float32)) for x in (mean, 1 / deviation))
        seen = (torch.from_numpy(frames).float() - shift) * scale
        return seen.clamp_(-CLIP, CLIP)[:, None].to(self._device)

    def _deviation(self, everyone: np.ndarray, actors: np.ndarray | None = None) -> float:
        """Of all returns so far, after those of the rollout, (T, all actors, or these)."""
        own = slice(None) if actors is None else actors
        for errors in everyone:
            returns = self._returns[own] = self._gamma * self._returns[own] + errors
            self._moments += (len(returns), returns.sum(), np.square(returns).sum())
        count, total, squares = self._moments
        return float(np.sqrt(max(squares / count - (total / count) ** 2, 1e-12)))

    def state(self) -> Arrays:
        return {
            "pixels": self._pixels,
            "returns": self._returns.copy(),
            "moments": self._moments,
            "numbers": np.array([self._frames, self._step, self._trained], np.int64),
        }

    def load(self, state: Arrays) -> None:
        self._pixels = np.array(state["pixels"], np.int64)
        self._returns = np.array(state["returns"])
        self._moments = np.array(state["moments"])
        self._frames, self._step, *trained = map(int, state["numbers"])
        (self._trained,) = trained or [self._step]  # older states: every part trained g


def squared(given: Tensor, wanted: Tensor) -> Tensor:
    """The mean squared difference of each sample: (B,)."""
    return (given - wanted).square().mean(1)


def pixel_sums(frames: np.ndarray) -> np.ndarray:
    """Sums of uint8 frames (B, height, width) and of their squares, exactly: int64 (2, …)."""
    sums = np.zeros((2, *frames.shape[1:]), np.int64)
    for start in range(0, len(frames), BATCH):
        part = frames[start : start + BATCH].astype(np.uint16)  # 255² fits
        sums += part.sum(0, np.uint32), np.square(part).sum(0, np.uint32)
    return sums


def make_network(
    frame: tuple[int, int], novelty: Novelty, seed: int, *, deeper: bool = False
) -> nn.Sequential:
    """A random network for frames of that shape; deeper: the one that is trained.

    Orthogonal weights times √2, biases 0, as in Burda et al.
    """
    features = novelty.rnd_features
    assert features is not None
    layers: list[nn.Module] = []
    shape: tuple[int, ...] = (1, *frame)
    if min(frame) >= 36:
        for filters, kernel, stride in ((16, 8, 4), (32, 4, 2), (32, 3, 1)):
            layers += [nn.Conv2d(shape[0], filters, kernel, stride), nn.LeakyReLU()]
            sides = ((side - kernel) // stride + 1 for side in shape[1:])
            shape = (filters, *sides)
    else:
        layers += [nn.Flatten(), nn.Linear(prod(shape), 64), nn.LeakyReLU()]
        shape = (64,)
    layers.append(nn.Flatten())
    width = prod(shape)
    if deeper:
        layers += [nn.Linear(width, features), nn.ReLU()]
        width = features
    layers.append(nn.Linear(width, features))
    generator = torch.Generator().manual_seed(seed)
    for layer in layers:
        if isinstance(layer, (nn.Conv2d, nn.Linear)):
            nn.init.orthogonal_(layer.weight, 2**0.5, generator=generator)
            assert layer.bias is not None
            nn.init.zeros_(layer.bias)
    return nn.Sequential(*layers)
