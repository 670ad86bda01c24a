"""Rank tests: by enumeration, and on either side of the limit up to which they are exact."""

from __future__ import annotations

from itertools import combinations
from math import comb

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from deepcs.analysis import rank_tests
from deepcs.analysis.rank_tests import MOST_EXACT, rank_test, smallest_p

unhurried = settings(deadline=None, max_examples=50)
values = st.lists(st.integers(0, 3).map(float), min_size=1, max_size=5).map(np.array)


def enumerated(ours: np.ndarray, theirs: np.ndarray) -> float:
    """p by going through all ways to divide the runs."""
    ranks = stats.rankdata(np.concatenate((ours, theirs)))
    sums = np.array([sum(each) for each in combinations(ranks, len(ours))])
    seen = ranks[: len(ours)].sum()
    return min(1.0, 2 * min((sums <= seen + 1e-9).mean(), (sums >= seen - 1e-9).mean()))


@unhurried
@given(values, values)
def test_p_is_that_of_all_divisions_and_neither_order_nor_scale_matters(
    ours: np.ndarray, theirs: np.ndarray
) -> None:
    u, p = rank_test(ours, theirs)
    assert p == pytest.approx(enumerated(ours, theirs))
    back, same = rank_test(theirs, ours)
    assert (u + back, same) == (len(ours) * len(theirs), pytest.approx(p))
    assert rank_test(7 * ours - 3, 7 * theirs - 3) == (u, p)


def test_few_high_runs_among_many_have_the_p_that_can_be_counted() -> None:
    # Three of 400 against 38 of 0: of comb(41, 3) = 10,660 divisions one is as far out, and a tail
    # counts twice. The normal approximation says 3.6e-10.
    _, p = rank_test(np.full(3, 400.0), np.zeros(38))
    assert p == smallest_p(3, 38) == pytest.approx(2 / 10_660)


def test_four_of_fifty_runs_that_score_are_no_finding() -> None:
    # All four on one side: comb(46, 21) of comb(50, 25) divisions. The approximation says 0.041.
    ours = np.array([1.0, 2, 3, 4] + 21 * [0])
    _, p = rank_test(ours, np.zeros(25))
    assert p == pytest.approx(2 * comb(46, 21) / comb(50, 25))
    assert p == pytest.approx(0.110, abs=5e-4)


def test_without_ties_it_is_scipys_exact_test() -> None:
    rng = np.random.default_rng(0)
    ours, theirs = rng.normal(0.3, 1, 60), rng.normal(size=70)
    expected = stats.mannwhitneyu(ours, theirs, method="exact")
    u, p = rank_test(ours, theirs)
    assert (u, p) == (expected.statistic, pytest.approx(expected.pvalue, rel=1e-9))


@unhurried
@given(
    st.integers(1, 6),
    st.integers(MOST_EXACT - 8, MOST_EXACT + 8),
    st.lists(st.integers(0, 2), min_size=1, max_size=6),
    st.integers(0, 2),
)
def test_on_either_side_of_the_limit_no_p_is_below_the_smallest(
    n: int, m: int, high: list[int], step: int
) -> None:
    ours = np.resize(np.array(high, np.float64) + 1, n)
    theirs = -step * np.arange(float(m))
    _, p = rank_test(ours, theirs)
    assert smallest_p(n, m) <= p <= 1
    assert rank_test(theirs, ours)[1] == pytest.approx(p)


def test_runs_that_are_all_equal_do_not_differ_above_the_limit() -> None:
    assert rank_test(np.zeros(MOST_EXACT), np.zeros(3))[1] == 1


def test_at_the_limit_the_two_kinds_of_p_agree(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(1)
    ours, theirs = rng.integers(0, 9, 100) + 1.0, rng.integers(0, 9, MOST_EXACT - 100) * 1.0
    exact = rank_test(ours, theirs)[1]
    monkeypatch.setattr(rank_tests, "MOST_EXACT", 10)
    assert rank_test(ours, theirs)[1] == pytest.approx(exact, rel=0.15)
