"""Pseudo-counts: how often a frame was seen, estimated from a density model of frames.

Bellemare et al. 2016 ask a density model for the probability ρ of a frame x, and for its recoding
probability ρ', the one after x is seen once more. Were ρ = N/n and ρ' = (N + 1)/(n + 1), the frame
would have been seen N = ρ(1 - ρ')/(ρ' - ρ) times: that is its pseudo-count.

Their model (CTS) predicts each pixel from those above and left of it. Ours is smaller: it
counts the shades of each pixel of a small image, whatever its neighbours show, so
ρ(x) = Π (c + α)/(n + αL), where c is how often this pixel had this one of L shades in n frames, and
α = 1/L (one imagined frame). So a new combination of shades that are each common at their pixels is
not recognised as new.
"""

from __future__ import annotations

from collections.abc import Generator
from typing import Any

import numpy as np

from deepcs.agents.bonus import Arrays, Batch, Bonus, Visited
from deepcs.curiosity.novelty import Novelty
from deepcs.envs.pictures import shrink_frame

LARGEST_GAIN = 700.0  # in logarithms: a pseudo-count of 1e-304 is as good as 0


class PixelDensity:
    """Shades of each pixel, counted.

    >>> model = PixelDensity(pixels=1, levels=2)
    >>> model.add(np.array([[0], [0], [0]]))
    >>> float(model.pseudo_counts(np.array([[0]]))[0])  # of one pixel, nearly the count: 3
    3.5
    """

    def __init__(self, pixels: int, levels: int) -> None:
        self.counts = np.zeros((pixels, levels), np.int64)
        self.frames = 0
        """n"""
        self._rows = np.arange(pixels)

    def pseudo_counts(self, pictures: np.ndarray) -> np.ndarray:
        """N of images (B, pixels) of whole shades, float64 (B,); nothing is learned."""
        alpha = 1 / self.counts.shape[1]
        seen = self.counts[self._rows, pictures] + alpha
        n = self.frames + 1.0  # αL is 1
        # In logarithms: the product over many pixels is far below the smallest number.
        log_after = np.log((seen + 1) / (n + 1)).sum(1)
        gain = np.minimum(log_after - np.log(seen / n).sum(1), LARGEST_GAIN)
        numbers: np.ndarray = -np.expm1(log_after) / np.expm1(gain)
        return numbers

    def add(self, pictures: np.ndarray) -> None:
        """Learn images (B, pixels)."""
        np.add.at(self.counts, (self._rows, pictures), 1)
        self.frames += len(pictures)


class PseudoCounts(Bonus):
    """1/√(1 + N), N by the model of all frames of earlier steps, of whichever actor."""

    name = "pseudo-counts"

    def __init__(self, novelty: Novelty, batch: Batch) -> None:
        super().__init__(novelty, batch)
        assert batch.frame is not None
        assert novelty.density_side is not None
        assert novelty.density_levels is not None
        height, width = (min(novelty.density_side, side) for side in batch.frame)
        self._size = width, height, novelty.density_levels
        self.model = PixelDensity(width * height, novelty.density_levels)

    def pay(self, visited: Visited) -> Generator[Any, Any, np.ndarray]:
        frames = visited.frames
        assert frames is not None
        small = [
            shrink_frame(f, *self._size).ravel() for f in frames.reshape(-1, *frames.shape[2:])
        ]
        own = np.stack(small).reshape(*frames.shape[:2], -1)
        everyone = yield self.batch.present(visited).all(own)
        worth = np.empty(frames.shape[:2])
        for t, pictures in enumerate(everyone):
            worth[t] = 1 / np.sqrt(1 + self.model.pseudo_counts(own[t]))
            self.model.add(pictures)
        return worth

    def state(self) -> Arrays:
        return {"shades": self.model.counts, "frames": np.array([self.model.frames], np.int64)}

    def load(self, state: Arrays) -> None:
        self.model.counts = np.array(state["shades"], np.int64)
        self.model.frames = int(state["frames"][0])
