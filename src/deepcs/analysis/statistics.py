"""The paper's statistics over many runs: medians, quartiles and Mann-Whitney U at every step.

Everything is a pure function of arrays (runs, points), one row a run and one column a step of a
common steps; NaN stands where a run has no value.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy import stats

from deepcs.analysis.rank_tests import largest_test, rank_test, smallest_p

POINTS = 200  # steps at which runs are compared: as fine as a figure of the paper's size shows


def even_steps(last_step: int, points: int = POINTS) -> np.ndarray:
    """The common steps, int64 (points,): evenly spaced, the last of them `last_step`.

    >>> even_steps(1000, 4)
    array([ 250,  500,  750, 1000])
    """
    if not 1 <= points <= last_step:
        raise ValueError(
            f"Got {points} points over {last_step} steps; give from 1 to {last_step} points, "
            "or longer runs."
        )
    return np.arange(1, points + 1, dtype=np.int64) * last_step // points


def align(
    steps: Sequence[np.ndarray], values: Sequence[np.ndarray], common: np.ndarray
) -> np.ndarray:
    """Each run's last value at or before each of the common steps, float64 (runs, points).

    steps, values: an array (rows,) a run, steps ascending. NaN rows, logged before the first game
    was over, are skipped. A run is NaN before its first value and after its last row: a shorter
    run is not extended.
    """
    aligned = np.full((len(steps), len(common)), np.nan)
    for run, (logged, value) in enumerate(zip(steps, values, strict=True)):
        if logged.shape != value.shape or logged.ndim != 1:
            raise ValueError(
                f"Got steps {logged.shape} and values {value.shape} of run {run}; "
                "give two arrays of one length."
            )
        if np.any(np.diff(logged) < 0):
            raise ValueError(f"Got steps of run {run} that go back; give them in ascending order.")
        known = ~np.isnan(value)
        if not known.any():
            continue
        row = np.searchsorted(logged[known], common, side="right") - 1
        has_value = (row >= 0) & (common <= logged[-1])
        aligned[run, has_value] = value[known][row[has_value]]
    return aligned


@dataclass(frozen=True)
class Bands:
    """Many runs as the paper draws them; each array (points,), NaN where no run has a value."""

    median: np.ndarray
    """the solid line"""
    low: np.ndarray
    """lower quartile, where the shaded area begins"""
    high: np.ndarray
    """upper quartile, where it ends"""
    least: np.ndarray
    """minimum, the lower dotted line"""
    most: np.ndarray
    """maximum, the upper dotted line"""
    runs: np.ndarray
    """int64: runs that count at each point"""


def bands(values: np.ndarray) -> Bands:
    """Median, quartiles and extremes of (runs, points), over the runs that have a value.

    Between two runs, quartiles are interpolated linearly.
    """
    _check_matrix(values)
    runs = _counts(values)
    levels = np.full((5, values.shape[1]), np.nan)
    some = runs > 0
    if some.any():
        levels[:, some] = np.nanpercentile(values[:, some], (0, 25, 50, 75, 100), axis=0)
    least, low, median, high, most = levels
    return Bands(median, low, high, least, most, runs)


@dataclass(frozen=True)
class Comparison:
    """Two treatments, point by point; each array (points,).

    Where one side has no run, nothing can be said: all but the counts are NaN. Where all values
    of both sides are equal, p is 1 and the effect 0.5.
    """

    u: np.ndarray
    """Mann-Whitney U of our side: pairs in which ours is higher, ties half"""
    p: np.ndarray
    """two-tailed, of each point alone"""
    corrected: np.ndarray
    """p corrected over the points, by the largest difference anywhere"""
    effect: np.ndarray
    """U/(nm): probability that a run of ours is higher than one of theirs, ties half"""
    smallest_p: np.ndarray
    """the least p that this number of runs allows"""
    n: np.ndarray
    """int64: our runs at each point"""
    m: np.ndarray
    """int64: their runs at each point"""


def compare(ours: np.ndarray, theirs: np.ndarray) -> Comparison:
    """Two-tailed rank test at every point: ours (n, points) against theirs (m, points)."""
    _check_matrix(ours)
    _check_matrix(theirs)
    if ours.shape[1] != theirs.shape[1]:
        raise ValueError(
            f"Got {ours.shape[1]} points of ours and {theirs.shape[1]} of theirs; "
            "align both to the same steps."
        )
    n, m = _counts(ours), _counts(theirs)
    u, p, least = np.full((3, ours.shape[1]), np.nan)
    for point in np.flatnonzero((n > 0) & (m > 0)):
        here, there = ours[:, point], theirs[:, point]
        u[point], p[point] = rank_test(here[~np.isnan(here)], there[~np.isnan(there)])
        least[point] = smallest_p(int(n[point]), int(m[point]))
    corrected = p if len(p) == 1 else np.fmax(p, largest_test(ours, theirs))
    pairs = np.where(np.isnan(u), np.nan, n * m)
    return Comparison(u, p, corrected, u / pairs, least, n, m)


def holm(p: np.ndarray) -> np.ndarray:
    """Holm's step-down correction of p (tests,); NaN stays and does not count as a test.

    >>> holm(np.array([0.01, 0.04, 0.03])).tolist()
    [0.03, 0.06, 0.06]
    """
    corrected = np.full(p.shape, np.nan)
    tests = np.flatnonzero(~np.isnan(p))
    order = tests[np.argsort(p[tests])]
    scaled = p[order] * np.arange(len(order), 0, -1)
    corrected[order] = np.minimum(np.maximum.accumulate(scaled), 1)
    return corrected


def holm_where_possible(p: np.ndarray, least: np.ndarray, alpha: float) -> np.ndarray:
    """Holm's correction of p (tests,) over those that can reach alpha (Tarone 1990).

    least: the least p that each test's runs allow. A test that can never be found raises no false
    alarm: it counts for nothing in the correction of the others, but is itself corrected over them.
    """
    possible = ~np.isnan(p) & (least < alpha)
    corrected = holm(np.where(possible, p, np.nan))
    for test in np.flatnonzero(~np.isnan(p) & ~possible):
        corrected[test] = holm(np.array([p[test], *p[possible]]))[0]
    return corrected


def interquartile_mean(values: np.ndarray, axis: int | None = 0) -> np.ndarray:
    """Mean of the middle half along an axis, or of all values; NaN where one is NaN.

    A quarter of the values, rounded down, is cut off at each end (Agarwal et al. 2021).
    """
    mean = stats.trim_mean(values, 0.25, axis=axis)
    # SciPy before its NaN policies trims NaN away as if it were the highest value.
    return np.where(np.isnan(values).any(axis=axis), np.nan, mean)


def _counts(values: np.ndarray) -> np.ndarray:
    """Runs that have a value at each point, int64 (points,)."""
    counts: np.ndarray = np.count_nonzero(~np.isnan(values), axis=0).astype(np.int64)
    return counts


def _check_matrix(values: np.ndarray) -> None:
    if values.ndim != 2:
        raise ValueError(
            f"Got values of shape {values.shape}; give (runs, points), one column a point."
        )
