"""Two groups of runs compared by ranks: exact where all ways to divide them can be counted.

All of it rests on one idea: if the treatment made no difference, every way to divide the runs into
groups of these sizes would be as likely as the one that was observed.
"""

from __future__ import annotations

from functools import lru_cache
from itertools import combinations
from math import comb

import numpy as np
from scipy import stats

MOST_EXACT = 200  # runs of both groups up to which p is exact: at most a fifth of a second
MOST_DIVISIONS = 5_000  # ways to divide the runs that are tried along a curve
SEED = 0


def rank_test(ours: np.ndarray, theirs: np.ndarray) -> tuple[float, float]:
    """Mann-Whitney U of ours (n,) against theirs (m,), ties half, and its two-tailed p.

    p is twice the smaller tail, at most 1: exact, ties and all, for up to MOST_EXACT runs; for
    more the normal approximation, corrected for ties and continuity. It is never below
    `smallest_p`, which far out the approximation would be.

    >>> rank_test(np.array([400.0] * 3), np.array([0.0] * 3))
    (9.0, 0.1)
    """
    n, m = len(ours), len(theirs)
    ranks = stats.rankdata(np.concatenate((ours, theirs)))
    u = float(ranks[:n].sum()) - n * (n + 1) / 2
    if n + m > MOST_EXACT:
        test = stats.mannwhitneyu(ours, theirs, method="asymptotic", use_continuity=True)
        p = float(np.nan_to_num(test.pvalue, nan=1.0))  # NaN: all are equal
        return u, max(p, smallest_p(n, m))
    places = _whole_places(ranks)
    few = places[:n] if n <= m else places[n:]
    below, above = _tails(len(few), tuple(np.sort(places).tolist()))
    p = min(1.0, 2 * float(min(below[few.sum()], above[few.sum()])))
    return u, max(p, smallest_p(n, m))


def smallest_p(n: int, m: int) -> float:
    """The least p possible: if every run of ours were above every one of theirs."""
    return min(1.0, 2 / comb(n + m, n))


def _whole_places(ranks: np.ndarray) -> np.ndarray:
    """Ranks, whose ties are halves, as whole numbers from 0 that are as small as can be."""
    doubled = np.rint(2 * ranks).astype(np.int64)
    doubled -= doubled.min()
    whole: np.ndarray = doubled // max(1, int(np.gcd.reduce(doubled)))
    return whole


@lru_cache(maxsize=128)
def _tails(n: int, places: tuple[int, ...]) -> tuple[np.ndarray, np.ndarray]:
    """Of n runs drawn from all, ascending: P(sum of places is at most s), and at least s."""
    ordered = np.array(places)
    ways = np.zeros((n + 1, int(ordered[len(ordered) - n :].sum()) + 1))  # by how many, and sum
    ways[0, 0] = 1.0
    for before, place in enumerate(places):
        # Only counts that can still become n, and sums that so many runs before can have.
        most, least = min(before, n - 1), max(0, n - len(places) + before)
        sums = min(int(ordered[before - most : before].sum()) + 1, ways.shape[1] - place)
        ways[least + 1 : most + 2, place : place + sums] += ways[least : most + 1, :sums].copy()
    share = ways[n] / ways[n].sum()
    return np.cumsum(share), np.cumsum(share[::-1])[::-1]


def largest_test(ours: np.ndarray, theirs: np.ndarray) -> np.ndarray:
    """p of each point (points,), corrected over all points of two sets of curves (runs, points).

    Whole runs change sides, so that what is alike at neighbouring points stays alike. A point's p
    is how often the largest standardised difference anywhere is at least the one seen here
    (Westfall and Young 1993). NaN where a side has no run.
    """
    runs = np.concatenate((ours, theirs))
    known = ~np.isnan(runs)
    ranks = np.nan_to_num(stats.rankdata(runs, axis=0, nan_policy="omit"))
    spread = _spread(runs)
    divisions = _divisions(len(ours), len(runs))
    compared = known[: len(ours)].any(0) & known[len(ours) :].any(0)
    found = _standardised(divisions, known, ranks, spread) * compared
    observed, largest = found[0], found.max(axis=1)
    corrected = (largest[:, None] >= observed - 1e-9).mean(axis=0)
    return np.where(compared, corrected, np.nan)


@lru_cache(maxsize=16)
def _divisions(n: int, total: int) -> np.ndarray:
    """Who is ours, bool (ways, runs): as observed first; then all other ways, or some at random."""
    if comb(total, n) <= MOST_DIVISIONS:
        chosen = [list(each) for each in combinations(range(total), n)]
    else:
        rng = np.random.default_rng(SEED)
        others = (rng.permutation(total)[:n].tolist() for _ in range(MOST_DIVISIONS - 1))
        chosen = [list(range(n)), *others]
    ours = np.zeros((len(chosen), total), np.bool_)
    for row, each in zip(ours, chosen, strict=True):
        row[each] = True
    return ours


def _spread(runs: np.ndarray) -> np.ndarray:
    """Of ranks at each point: the tie-corrected factor of U's variance, (N + 1 - ties) / 12."""
    spread = np.zeros(runs.shape[1])
    for point, values in enumerate(runs.T):
        values = values[~np.isnan(values)]
        total = len(values)
        if total > 1:
            counts = np.unique(values, return_counts=True)[1]
            ties = float((counts.astype(np.float64) ** 3 - counts).sum())
            spread[point] = (total + 1 - ties / (total * (total - 1))) / 12
    return spread


def _standardised(
    divisions: np.ndarray, known: np.ndarray, ranks: np.ndarray, spread: np.ndarray
) -> np.ndarray:
    """|U - its mean| over its standard deviation, (ways, points); 0 where nothing can be said."""
    member = divisions.astype(np.float64)
    n = member @ known
    m = known.sum(0) - n
    u = member @ ranks - n * (n + 1) / 2
    variance = n * m * spread
    distance = np.abs(u - n * m / 2)
    found: np.ndarray = np.zeros_like(u)
    np.divide(distance, np.sqrt(variance), out=found, where=variance > 1e-12)
    return found
