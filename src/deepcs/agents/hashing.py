"""The learned code of deepcs-hash: an autoencoder of frames, trained during the run.

After #Exploration (Tang et al. 2017): the hidden layer is a sigmoid code with uniform noise added
while training, which drives it to 0 and 1; a penalty does the same. Rounded, it is the code of a
frame, whose SimHash is the cell's number (envs/pictures.py). Smaller than theirs: encoder and
decoder are one layer each instead of convolutions, on an image of 21x21 pixels, whose shades are
predicted as probabilities of white instead of by 64 classes.

Both see only how a picture differs from the running mean picture m: the encoder is given (x - m)/σ
and has no biases, the decoder's outputs are added to the logits of m. So each bit's sum is 0 on
average, and no bit can be the same for all frames; as a bit of (x, 1) with a decoder of its own
mean, all 64 soon were, and 400 random frames of any Atari game were one cell after 50 updates.

The loss of a batch is the mean over samples of `Σ over pixels of the cross-entropy + λ·mean over
bits of min(b², (1 - b)²)`, b being the code without noise, and λ proportional to the number of
pixels: with their λ, all small dark images get the same code.

Every `code_every` updates actors get the current encoder, and use it from their next game on, so
that no cell changes its number within a game.
"""

from __future__ import annotations

from collections.abc import Generator
from typing import Any

import numpy as np
import torch
from numpy.random import Generator as Draws
from numpy.random import Philox
from torch import Tensor
from torch.nn.functional import binary_cross_entropy_with_logits

from deepcs.agents.agent import Vector
from deepcs.agents.bonus import Arrays, Batch, Visited
from deepcs.agents.shared_weights import SharedWeights, shared_vectors
from deepcs.curiosity.novelty import Novelty
from deepcs.envs.pictures import code_shape, coded_picture

NOISE = 0.3  # uniform in ±this, added to the code (Tang et al.)
PENALTY = 10 / 52**2  # λ for each pixel: theirs was 10, of 52x52 (Tang et al.)
SAMPLES = 64  # of all actors in one step of Adam, about
FORGET = 0.01  # of the means of pictures with each step of Adam; all count alike before (ours)
LEAST_DEVIATION = 1 / 255  # of pixels, by which they are divided: one shade
DARKEST = 1 / 512  # of a mean pixel whose logit is taken: half a shade
NOISE_KEY, WEIGHTS_KEY = 3, 4  # Philox's second keys; those of the learners are 0 to 2


class CodeLearner:
    """One shard's part of the autoencoder; what it saves is the same in all shards."""

    name = "code"

    @classmethod
    def vectors(cls, novelty: Novelty, frame: tuple[int, int], shards: int) -> dict[str, Vector]:
        return shared_vectors(cls.name, autoencoder_size(novelty, frame), shards)

    def __init__(self, novelty: Novelty, batch: Batch) -> None:
        assert batch.frame is not None
        assert novelty.code_bits is not None
        assert novelty.code_learning_rate is not None
        self.batch, self._bits = batch, novelty.code_bits
        self._pixels = int(np.prod(code_shape(batch.frame)))
        self._every = novelty.code_every or 1
        self._weights = SharedWeights(
            self.name, batch.vectors, batch.index, batch.shards, novelty.code_learning_rate
        )
        self._updates = 0
        self._means = np.zeros((2, self._pixels))  # of pixels, in [0, 1], and of their squares

    def initialise(self) -> None:
        """Fresh weights, by the run's seed."""
        key = np.array([self.batch.seed, WEIGHTS_KEY], np.uint64)
        normal = Draws(Philox(key=key)).standard_normal(len(self._weights.parameters))
        scaled = normal / np.sqrt(self._pixels)
        self._weights.parameters.copy_(torch.from_numpy(scaled.astype(np.float32)))

    @property
    def code(self) -> np.ndarray:
        """The encoder as actors take it: float32 (bits, pixels + 1)."""
        return code_in(self._weights.parameters.cpu().numpy(), self._means, self._bits)

    def learn(self, visited: Visited) -> Generator[Any, Any, np.ndarray | None]:
        """A step of Adam on some of the rollout; returns the code if actors are to take it now."""
        frames, batch = visited.frames, self.batch
        assert frames is not None
        steps = min(len(frames), max(1, SAMPLES // batch.all_actors))
        chosen = frames[np.linspace(0, len(frames) - 1, steps).astype(np.int64)]
        pictures = coded_picture(chosen.reshape(-1, *frames.shape[2:]))
        total = steps * batch.all_actors
        sums = yield shade_sums(pictures)
        self._see(sums / total)
        mean, deviation = mean_and_deviation(self._means)
        device = self._weights.parameters.device
        inputs = (pictures, (pictures - mean) / deviation, logits_of(mean), self._noise(pictures))
        x, centred, usual, noise = (aligned(each).to(device) for each in inputs)
        weights = self._weights
        loss_gradient(weights.parameters, x, centred, usual, noise, total, weights.gradient)
        self._updates += 1
        yield from weights.step(self._updates)
        return self.code if self._updates % self._every == 0 else None

    def _see(self, shades: np.ndarray) -> None:
        """Go towards a batch's means; before 1/FORGET updates, all batches count alike."""
        means = shades / np.array([[255.0], [255.0**2]])
        self._means += max(1 / (self._updates + 1), FORGET) * (means - self._means)

    def _noise(self, pictures: np.ndarray) -> np.ndarray:
        key = np.array([self.batch.seed, NOISE_KEY], np.uint64)
        draws = Draws(Philox(key=key, counter=[0, self._updates, self.batch.index, 0]))
        return draws.uniform(-NOISE, NOISE, (len(pictures), self._bits))

    def state(self) -> Arrays:
        return {"updates": np.array([self._updates], np.int64), "means": self._means.copy()}

    def load(self, state: Arrays) -> None:
        self._updates = int(state["updates"][0])
        self._means = np.array(state["means"])


def aligned(array: np.ndarray) -> Tensor:
    """float32 in memory allocated by torch: rounding of products depends on alignment."""
    return torch.from_numpy(array.astype(np.float32)).clone()


def shade_sums(pictures: np.ndarray) -> np.ndarray:
    """Sums over pictures (B, pixels) and over their squares, int64 (2, pixels): in shades from 0 to
    255, so that they are exact, and the same for any division among shards.
    """
    shades = np.rint(pictures * 255).astype(np.int64)
    return np.stack((shades.sum(0), np.square(shades).sum(0)))


def mean_and_deviation(means: np.ndarray) -> tuple[np.ndarray, float]:
    """The mean picture (pixels,), and one standard deviation for all pixels."""
    mean, square = means
    variance = float((square - mean**2).mean())
    return mean, max(max(variance, 0.0) ** 0.5, LEAST_DEVIATION)


def logits_of(mean: np.ndarray) -> np.ndarray:
    """Of the mean picture, which the decoder's outputs are added to."""
    grey = mean.clip(DARKEST, 1 - DARKEST)
    logits: np.ndarray = np.log(grey / (1 - grey))
    return logits


def code_in(parameters: np.ndarray, means: np.ndarray, bits: int) -> np.ndarray:
    """The encoder in a flat vector of weights, with the mean picture folded into biases.

    Float32 (bits, pixels + 1), a copy. A bit is only the sign of its sum, so each row is divided by
    its largest weight, and the deviation left out.
    """
    mean, _ = means
    weights = parameters[: bits * len(mean)].reshape(bits, -1).astype(np.float64)
    weights /= np.maximum(np.abs(weights).max(1, keepdims=True), np.finfo(np.float32).tiny)
    biases = -(weights * mean).sum(1, keepdims=True)
    return np.concatenate((weights, biases), 1).astype(np.float32)


def autoencoder_size(novelty: Novelty, frame: tuple[int, int]) -> int:
    """Numbers in its flat vectors: the encoder's (bits, pixels), the decoder's (pixels, bits + 1),
    whose last column is its biases.
    """
    assert novelty.code_bits is not None
    pixels, bits = int(np.prod(code_shape(frame))), novelty.code_bits
    return bits * pixels + pixels * (bits + 1)


def loss_gradient(
    parameters: Tensor,
    pictures: Tensor,
    centred: Tensor,
    usual: Tensor,
    noise: Tensor,
    total: int,
    gradient: Tensor,
) -> float:
    """Write the loss's gradient, given pictures (B, pixels), the same with the mean picture taken
    away, that picture's logits (pixels,), and the code's noise (B, bits).

    Means are over `total` samples: a shard that holds B of them writes its part of the sum, and
    gets back its part of the loss.
    """
    bits, pixels = noise.shape[1], pictures.shape[1]
    size = bits * pixels
    encoder, decoder = parameters[:size].view(bits, -1), parameters[size:].view(pixels, -1)
    d_encoder, d_decoder = gradient[:size].view(bits, -1), gradient[size:].view(pixels, -1)
    code = torch.sigmoid(centred @ encoder.T)
    noisy = code + noise
    logits = noisy @ decoder[:, :-1].T + decoder[:, -1] + usual
    white = torch.sigmoid(logits)
    nearest = (code > 0.5).to(code.dtype)
    d_logits = (white - pictures) / total
    d_decoder[:, :-1] = d_logits.T @ noisy
    d_decoder[:, -1] = d_logits.sum(0)
    strength = PENALTY * pixels
    d_code = d_logits @ decoder[:, :-1] + (2 * strength / (total * bits)) * (code - nearest)
    d_encoder[:] = (d_code * code * (1 - code)).T @ centred
    crossed = binary_cross_entropy_with_logits(logits, pictures, reduction="sum")
    penalty = strength * (code - nearest).square().sum() / bits
    return float(crossed + penalty) / total
