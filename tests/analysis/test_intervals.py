"""Intervals for few runs: levels by hand, Student's by SciPy, and what they cannot know."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from deepcs.analysis.intervals import median_interval, trimmed_interval

NINE = np.array([9.0, 1, 8, 2, 7, 3, 6, 4, 5])


@pytest.mark.parametrize(
    ("n", "level"), [(1, 0.0), (2, 0.5), (3, 0.75), (4, 0.875), (5, 0.9375), (6, 0.96875)]
)
def test_few_runs_span_the_median_as_often_as_coins_fall_on_both_sides(
    n: int, level: float
) -> None:
    found = median_interval(np.arange(n, dtype=float))
    assert (found.low, found.high, found.level) == (0, n - 1, pytest.approx(level))


def test_nine_runs_leave_out_the_outermost_two() -> None:
    found = median_interval(NINE)  # P(0 or 1 of 9 coins) = 10/512 on each side
    assert (found.low, found.high) == (2, 8)
    assert found.level == pytest.approx(1 - 20 / 512)


@pytest.mark.parametrize("n", [*range(6, 60)])
def test_from_six_runs_on_the_level_is_reached_and_no_narrower_pair_reaches_it(n: int) -> None:
    found = median_interval(np.arange(n, dtype=float))
    k = int(found.low) + 1
    assert found.level >= 0.95
    assert 1 - 2 * stats.binom.cdf(k, n, 0.5) < 0.95


def test_three_runs_have_students_interval() -> None:
    runs = np.array([1.0, 2.0, 6.0])
    found = trimmed_interval(runs)
    assert found is not None
    theirs = stats.ttest_1samp(runs, 0).confidence_interval(0.95)
    assert (found.low, found.high) == pytest.approx((theirs.low, theirs.high))


def test_one_far_run_of_nine_does_not_widen_the_trimmed_interval() -> None:
    far = np.where(NINE == 9, 80_000.0, NINE)
    assert trimmed_interval(far) == trimmed_interval(NINE)


@pytest.mark.parametrize("runs", [[1.0], [1.0, 2.0], [5.0, 5.0, 5.0], [0.0, 5, 5, 5, 9]])
def test_nothing_is_said_where_the_spread_is_unknown(runs: list[float]) -> None:
    assert trimmed_interval(np.array(runs)) is None


@pytest.mark.parametrize("values", [np.empty(0), np.ones((2, 2)), np.array([1.0, np.nan])])
def test_an_interval_of_nothing_is_refused(values: np.ndarray) -> None:
    for interval in (median_interval, trimmed_interval):
        with pytest.raises(ValueError, match=r"^Got values of shape .*; give \(runs,\)"):
            interval(values)
