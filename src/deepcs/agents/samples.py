"""A shard's samples of one rollout, to be learned from several times and in any order.

Of T steps of N actors, sample t·N + n is what actor n saw in step t.
"""

from __future__ import annotations

import zlib
from collections.abc import Sequence

import numpy as np
import torch
from numpy.random import Generator, Philox
from torch import Tensor

from deepcs.agents.folding import fold_into, folded_shape, unfolded
from deepcs.agents.layers import planes_first
from deepcs.agents.networks import Observations

SHUFFLE_NOISE = 2  # Philox's second key: the actions' noise has 0, the Fisher matrix's 1
WHOLE = ""  # the name of observations that are one array


class SeenObservations:
    """A rollout's observations, in their own type (uint8 for images).

    Images are channels last or, given `block`, folded: as the network reads them.
    """

    def __init__(self, n_steps: int, block: int | None = None) -> None:
        self._n_steps, self._block = n_steps, block
        self._parts: dict[str, Tensor] = {}

    def write(self, t: int, observations: Observations) -> Observations:
        """Keep step t's observations (N, …); returns what is kept."""
        given = observations if isinstance(observations, dict) else {WHOLE: observations}
        if not self._parts:
            self._parts = {name: self._room(part) for name, part in given.items()}
        kept = {}
        for name, part in given.items():
            rows = slice(t * len(part), (t + 1) * len(part))
            kept[name] = planes_first(self._parts[name][rows])
            if self._block is None:
                kept[name].copy_(part)
            else:
                fold_into(part, self._block, self._parts[name][rows])
        return kept.get(WHOLE, kept)

    def take(self, samples: Tensor) -> Observations:
        """Those of some samples, int64 (B,)."""
        taken = {
            name: planes_first(part.index_select(0, samples)) for name, part in self._parts.items()
        }
        return taken.get(WHOLE, taken)

    def pack(self, sample: int) -> bytes:
        """One sample's, compressed; images plane by plane and not folded, as planes are alike."""
        parts = (self._images(part[sample][None]) for part in self._parts.values())
        content = b"".join(part.contiguous().cpu().numpy().tobytes() for part in parts)
        return zlib.compress(content, 1)

    def unpack(self, packed: Sequence[bytes]) -> Observations:
        """Those of packed samples (B, …), of which the kind must have been written before."""
        contents = [zlib.decompress(each) for each in packed]
        taken, start = {}, 0
        for name, part in self._parts.items():
            like = self._images(part[:1])
            size = like.numel() * like.element_size()
            rows = bytearray().join(each[start : start + size] for each in contents)
            values = torch.frombuffer(rows, dtype=like.dtype).view(-1, *like.shape[1:])
            if self._block is not None:
                blocks = part.new_empty(len(contents), *part.shape[1:])
                fold_into(values, self._block, blocks)
                values = planes_first(blocks)
            taken[name], start = values.to(part.device), start + size
        return taken.get(WHOLE, taken)

    def _images(self, part: Tensor) -> Tensor:
        """What is kept of some samples, planes first and not folded."""
        return planes_first(part) if self._block is None else unfolded(part, self._block)

    def _room(self, part: Tensor) -> Tensor:
        shape = tuple(part.shape[1:])
        if self._block is not None:
            shape = folded_shape(shape, self._block)
        elif len(shape) == 3:
            shape = (*shape[1:], shape[0])
        return part.new_empty(self._n_steps * len(part), *shape)


class Shuffle:
    """The order in which a shard goes through its samples, by update and epoch."""

    def __init__(self, seed: int, shard: int, samples: int) -> None:
        self._key = np.array([seed, SHUFFLE_NOISE], np.uint64)
        self._shard, self._samples = shard, samples

    def __call__(self, update: int, epoch: int) -> Tensor:
        """A permutation, int64 (samples,); it depends on seed, update, epoch and shard alone."""
        counter = [0, update, epoch, self._shard]
        order = Generator(Philox(key=self._key, counter=counter)).permutation(self._samples)
        return torch.from_numpy(order)
