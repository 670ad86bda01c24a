"""Statistics over runs: answers by hand, SciPy and rliable as witnesses, what changes nothing."""

from __future__ import annotations

import itertools
import warnings

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from rliable import metrics
from scipy import stats

from deepcs.analysis.statistics import (
    align,
    bands,
    compare,
    even_steps,
    holm,
    interquartile_mean,
)

NAN = np.nan
unhurried = settings(deadline=None, max_examples=30)


def matrices(runs: int | None = None, points: int = 4) -> st.SearchStrategy[np.ndarray]:
    """(runs, points) with many ties and holes."""
    rows = st.integers(1, 6) if runs is None else st.just(runs)
    cells = st.one_of(st.integers(-3, 3).map(float), st.just(NAN))
    return rows.flatmap(lambda n: arrays(np.float64, (n, points), elements=cells))


# The grid of steps


def test_steps_are_even_and_end_with_the_last() -> None:
    assert even_steps(1000, 4).tolist() == [250, 500, 750, 1000]
    grid = even_steps(160_000_000)
    assert (grid.dtype, len(grid), grid[0], grid[-1]) == (np.int64, 200, 800_000, 160_000_000)


@unhurried
@given(st.integers(1, 10**9), st.integers(1, 300))
def test_steps_never_repeat(last_step: int, points: int) -> None:
    grid = even_steps(last_step, min(points, last_step))
    assert grid[0] >= 1
    assert grid[-1] == last_step
    assert np.all(np.diff(grid) > 0)


@pytest.mark.parametrize(("last_step", "points"), [(100, 0), (100, 101), (0, 1)])
def test_more_points_than_steps_are_refused(last_step: int, points: int) -> None:
    with pytest.raises(ValueError, match=rf"^Got {points} points over {last_step} steps; give"):
        even_steps(last_step, points)


# Runs on a common grid


def test_runs_of_unequal_length_keep_their_last_value_and_are_not_extended() -> None:
    steps = [np.array([10, 20, 40]), np.array([25.0, 30.0]), np.array([])]
    values = [np.array([NAN, 2.0, 4.0]), np.array([7.0, 8.0]), np.array([])]
    aligned = align(steps, values, np.array([10, 20, 30, 40, 50]))
    nothing = [NAN] * 5
    np.testing.assert_array_equal(aligned, [[NAN, 2, 2, 4, NAN], [NAN, NAN, 8, NAN, NAN], nothing])


def test_a_hole_in_the_log_carries_the_value_before_it() -> None:
    aligned = align([np.array([1, 2, 3])], [np.array([5.0, NAN, NAN])], np.array([1, 2, 3, 4]))
    np.testing.assert_array_equal(aligned, [[5, 5, 5, NAN]])


def test_a_run_without_a_finished_game_has_no_value() -> None:
    aligned = align([np.array([1, 2])], [np.array([NAN, NAN])], np.array([1, 2]))
    assert np.isnan(aligned).all()


@unhurried
@given(st.data())
def test_alignment_never_looks_into_the_future(data: st.DataObject) -> None:
    steps = np.cumsum(data.draw(arrays(np.int64, st.integers(1, 12), elements=st.integers(1, 9))))
    cell = st.one_of(st.floats(-9, 9), st.just(NAN))
    values, others = (data.draw(arrays(np.float64, len(steps), elements=cell)) for _ in range(2))
    now = data.draw(st.integers(0, int(steps[-1])))
    changed = np.where(steps > now, others, values)
    grid = np.arange(now + 1)
    np.testing.assert_array_equal(align([steps], [values], grid), align([steps], [changed], grid))


@pytest.mark.parametrize(
    ("steps", "values", "message"),
    [([1, 2], [1.0], "one length"), ([2, 1], [1.0, 2.0], "ascending order")],
)
def test_logs_that_cannot_be_aligned_are_refused(
    steps: list[int], values: list[float], message: str
) -> None:
    with pytest.raises(ValueError, match=f"^Got steps .*run 0.* {message}"):
        align([np.array(steps)], [np.array(values)], np.array([1]))


# Medians, quartiles, extremes


def test_bands_of_four_runs_by_hand() -> None:
    values = np.array([[10, NAN, NAN], [1, 5, NAN], [3, NAN, NAN], [2, NAN, NAN]])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = bands(values)
    assert found.runs.tolist() == [4, 1, 0]
    for name, first in [
        *(("least", 1), ("low", 1.75), ("median", 2.5), ("high", 4.75), ("most", 10)),
    ]:
        np.testing.assert_array_equal(getattr(found, name), [first, 5, NAN], err_msg=name)


def test_bands_without_runs_are_empty_not_an_error() -> None:
    found = bands(np.empty((0, 3)))
    assert found.runs.tolist() == [0, 0, 0]
    assert np.isnan(found.median).all()


@unhurried
@given(arrays(np.float64, (5, 3), elements=st.one_of(st.floats(-1e6, 1e6), st.just(NAN))))
def test_bands_are_in_order(values: np.ndarray) -> None:
    found = bands(values)
    some = found.runs > 0
    lines = [found.least, found.low, found.median, found.high, found.most]
    for below, above in itertools.pairwise(lines):
        assert np.all(below[some] <= above[some])
        assert np.isnan(below[~some]).all()


# Two treatments


def test_u_effect_and_p_with_ties_by_hand() -> None:
    found = compare(np.array([[3.0], [4.0], [4.0]]), np.array([[1.0], [4.0]]))
    assert found.u.tolist() == [4.0]  # 3 beats 1; each 4 beats 1 and ties with 4
    assert found.effect.tolist() == [4 / 6]
    # Ranks 1, 2, 4, 4, 4: of the ten ways to draw three, ours sum to 10 or more in four; both
    # tails count.
    assert found.p[0] == pytest.approx(2 * 4 / 10)
    assert found.smallest_p[0] == pytest.approx(2 / 10)
    assert (found.n.tolist(), found.m.tolist()) == ([3], [2])


@pytest.mark.parametrize(
    ("n", "m", "p"), [(3, 3, 0.1), (3, 25, 2 / 3276), (5, 5, 2 / 252), (1, 3, 0.5)]
)
def test_all_400_against_all_0(n: int, m: int, p: float) -> None:
    """Montezuma's normal case: everything is tied within the sides."""
    found = compare(np.full((n, 1), 400.0), np.zeros((m, 1)))
    assert found.p[0] == found.smallest_p[0] == pytest.approx(p)


def test_runs_that_are_all_equal_do_not_differ() -> None:
    found = compare(np.zeros((3, 1)), np.zeros((4, 1)))
    assert (found.p[0], found.corrected[0], found.effect[0]) == (1.0, 1.0, 0.5)


def test_a_side_without_runs_says_nothing_and_costs_no_correction() -> None:
    ours = np.array([[5.0, NAN], [6.0, NAN], [7.0, NAN]])
    found = compare(ours, np.array([[1.0, 1.0], [2.0, 2.0], [3.0, 3.0]]))
    assert (found.n.tolist(), found.m.tolist()) == ([3, 0], [3, 3])
    for values in (found.u, found.p, found.corrected, found.effect, found.smallest_p):
        assert np.isnan(values).tolist() == [False, True]
    assert found.corrected[0] == found.p[0]


def test_p_is_corrected_by_the_largest_difference_over_the_points() -> None:
    """Two points that always agree cost nothing; one that goes its own way does."""
    ours, theirs = (
        np.array([[4.0, 4.0], [5.0, 5.0], [6.0, 6.0]]),
        np.array([[1.0, 1.0]]).repeat(3, 0),
    )
    theirs = theirs + np.arange(3)[:, None] / 10
    assert compare(ours, theirs).corrected.tolist() == compare(ours, theirs).p.tolist()
    other = np.array([[4.0, 1.0], [5.0, 9.0], [6.0, 1.1]])
    found = compare(other, np.array([[1.0, 5.0], [2.0, 0.0], [3.0, 6.0]]))
    assert found.corrected[0] == pytest.approx(2 * found.p[0])  # another division is as large there
    assert np.all(found.corrected >= found.p)


def test_smallest_p_is_reached_by_complete_separation_and_never_passed() -> None:
    ours = np.array([[4.0, 1.0], [5.0, 3.0], [6.0, 6.0]])
    theirs = np.array([[1.0, 2.0], [2.0, 4.0], [3.0, 5.0]])
    found = compare(ours, theirs)
    assert found.p[0] == found.smallest_p[0] == pytest.approx(0.1)
    assert found.p[1] > found.smallest_p[1]


@unhurried
@given(matrices(), matrices())
def test_p_never_passes_below_the_smallest(ours: np.ndarray, theirs: np.ndarray) -> None:
    found = compare(ours, theirs)
    known = ~np.isnan(found.p)
    assert np.all(found.p[known] >= found.smallest_p[known] - 1e-12)
    assert np.all(found.corrected[known] >= found.p[known])


def rank_sum(a: np.ndarray, b: np.ndarray) -> float:
    return float(stats.rankdata(np.concatenate((a, b)))[: len(a)].sum())


@settings(deadline=None, max_examples=10)
@given(matrices(), matrices())
def test_every_point_equals_scipys_permutations(ours: np.ndarray, theirs: np.ndarray) -> None:
    found = compare(ours, theirs)
    for point in range(ours.shape[1]):
        a, b = (side[~np.isnan(side[:, point]), point] for side in (ours, theirs))
        assert (found.n[point], found.m[point]) == (len(a), len(b))
        if len(a) and len(b):
            wins = np.sign(a[:, None] - b).mean() / 2 + 0.5
            assert found.effect[point] == pytest.approx(wins)
        if len(a) > 1 and len(b) > 1:
            alone = stats.permutation_test((a, b), rank_sum, n_resamples=np.inf)
            assert found.p[point] == pytest.approx(min(1, alone.pvalue))


def test_many_runs_take_the_normal_approximation() -> None:
    rng = np.random.default_rng(3)
    ours, theirs = rng.integers(0, 9, (2, 110, 1)).astype(float)
    alone = stats.mannwhitneyu(ours[:, 0], theirs[:, 0], method="asymptotic")
    found = compare(ours, theirs)
    assert (found.u[0], found.p[0]) == (alone.statistic, alone.pvalue)


@unhurried
@given(matrices(), matrices())
def test_changing_sides_mirrors_the_effect_and_keeps_p(
    ours: np.ndarray, theirs: np.ndarray
) -> None:
    one, other = compare(ours, theirs), compare(theirs, ours)
    np.testing.assert_array_equal(one.p, other.p)
    np.testing.assert_array_equal(one.corrected, other.corrected)
    known = ~np.isnan(one.p)
    np.testing.assert_allclose((one.effect + other.effect)[known], 1)


@unhurried
@given(matrices(runs=5), matrices(runs=4), st.permutations(range(5)), st.integers(-50, 50))
def test_neither_the_order_of_runs_nor_a_constant_on_both_sides_matters(
    ours: np.ndarray, theirs: np.ndarray, order: list[int], constant: int
) -> None:
    before, after = compare(ours, theirs), compare(ours[order] + constant, theirs + constant)
    for name in vars(before):
        np.testing.assert_array_equal(getattr(before, name), getattr(after, name), err_msg=name)
    shifted, plain = bands(ours[order] + constant), bands(ours)
    np.testing.assert_allclose(shifted.low, plain.low + constant)
    np.testing.assert_allclose(shifted.median, plain.median + constant)


def test_treatments_on_different_grids_are_refused() -> None:
    with pytest.raises(ValueError, match=r"^Got 3 points of ours and 4 of theirs; "):
        compare(np.zeros((2, 3)), np.zeros((2, 4)))
    with pytest.raises(ValueError, match=r"^Got values of shape \(3,\); give \(runs, points\)"):
        compare(np.zeros(3), np.zeros((2, 3)))


# Many points, one claim


def test_holm_by_hand() -> None:
    corrected = holm(np.array([0.04, NAN, 0.01, 0.03, 0.5]))
    np.testing.assert_allclose(corrected, [0.09, NAN, 0.04, 0.09, 0.5])  # 4, 3, 2, 1 times
    assert holm(np.array([0.6, 0.7])).tolist() == [1, 1]


@unhurried
@given(arrays(np.float64, st.integers(0, 20), elements=st.one_of(st.floats(0, 1), st.just(NAN))))
def test_holm_never_lowers_p_and_keeps_its_order(p: np.ndarray) -> None:
    corrected = holm(p)
    np.testing.assert_array_equal(np.isnan(corrected), np.isnan(p))
    known = ~np.isnan(p)
    assert np.all(p[known] <= corrected[known])
    assert np.all(corrected[known] <= 1)
    assert np.all(np.diff(corrected[known][np.argsort(p[known])]) >= 0)
    if known.any():  # the smallest is paid for all tests, as in Bonferroni's correction
        assert np.nanmin(corrected) == min(1, np.nanmin(p) * known.sum())


# Aggregates over games


def test_interquartile_mean_by_hand() -> None:
    column = np.array([100.0, 1, 2, 3, 4, 5, 6, -50])
    assert float(interquartile_mean(column)) == 3.5  # of 2, 3, 4, 5
    pair = np.stack((column, np.where(column == 3, NAN, column)), axis=1)
    np.testing.assert_array_equal(interquartile_mean(pair), [3.5, NAN])
    assert np.isnan(interquartile_mean(pair, axis=None))


@unhurried
@given(arrays(np.float64, (7, 3), elements=st.floats(-1e3, 1e3)))
def test_interquartile_mean_equals_rliables(scores: np.ndarray) -> None:
    assert float(interquartile_mean(scores, axis=None)) == metrics.aggregate_iqm(scores)
    alone = [metrics.aggregate_iqm(scores[:, [game]]) for game in range(3)]
    np.testing.assert_allclose(interquartile_mean(scores), alone, atol=1e-9)
