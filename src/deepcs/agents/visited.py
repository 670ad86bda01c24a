"""Which tiles, cells or frames a rollout's actors visited."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class Visited:
    """Where a shard's N actors were in a rollout of T steps."""

    cells: np.ndarray
    """int64 (T, N): the number of the tile or cell that each step led to; 0: none that counts"""
    frames: np.ndarray | None
    """uint8 (T, N, height, width): what was seen there; None: no part needs it"""
    actors: np.ndarray | None = None
    """which of a single shard's actors these N are, int64; None: all, as in every training"""
