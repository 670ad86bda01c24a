"""Confidence intervals for few runs: of a median and of an interquartile mean, with coverage.

`benchmarks/coverage.py` measures them; docs/report.md has its table.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from scipy import stats

LEVEL = 0.95


@dataclass(frozen=True)
class Interval:
    """An interval that covers the truth at least as often as `level`."""

    low: float
    high: float
    level: float
    """its coverage, which may be less than was asked for where runs are few"""


def median_interval(values: np.ndarray, level: float = LEVEL) -> Interval:
    """Of the median that runs (n,) were drawn from: between two of them, by the sign test.

    The k-th lowest and the k-th highest of n runs enclose it with probability 1 − 2·P(fewer than k
    of n coins show heads), whatever the distribution, and more often where runs tie. The narrowest
    that reaches the level is taken; of five runs or fewer it is from the lowest to the highest.

    >>> median_interval(np.array([3.0, 1.0, 2.0]))
    Interval(low=1.0, high=3.0, level=0.75)
    """
    _check(values)
    n, ordered = len(values), np.sort(values)
    k, covered = _place(n, level)
    return Interval(float(ordered[k - 1]), float(ordered[n - k]), covered)


@lru_cache(maxsize=256)
def _place(n: int, level: float) -> tuple[int, float]:
    """Of n runs: which from either end enclose the median, and how often."""
    outside = 2 * stats.binom.cdf(np.arange(n // 2 + 1) - 1, n, 0.5)  # of k = 0, 1, ...
    k = max(1, int(np.flatnonzero(1 - outside >= level - 1e-12)[-1]))
    return k, 0.0 if n == 1 else 1 - float(2 * stats.binom.cdf(k - 1, n, 0.5))


def trimmed_interval(values: np.ndarray, level: float = LEVEL) -> Interval | None:
    """Of the interquartile mean of runs (n,), by Student's t (Tukey and McLaughlin 1963).

    The spread is that of the winsorised runs, whose cut quarters equal the outermost that are kept;
    as many degrees of freedom as runs are kept, less one. None where fewer than three runs are, or
    all that are kept are equal, so that nothing is known of their spread.
    """
    _check(values)
    n, ordered = len(values), np.sort(values)
    cut = n // 4
    kept = ordered[cut : n - cut]
    if n < 3 or kept[0] == kept[-1]:
        return None
    spread = float(np.clip(ordered, kept[0], kept[-1]).std(ddof=1))
    half = _student(len(kept) - 1, level) * spread * math.sqrt(n) / len(kept)
    middle = float(kept.mean())
    return Interval(middle - half, middle + half, level)


@lru_cache(maxsize=256)
def _student(freedom: int, level: float) -> float:
    return float(stats.t.ppf((1 + level) / 2, freedom))


def _check(values: np.ndarray) -> None:
    if values.ndim != 1 or not len(values) or np.isnan(values).any():
        raise ValueError(
            f"Got values of shape {values.shape}; give (runs,), one run or more and no NaN."
        )
