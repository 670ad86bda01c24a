"""One number a run: the end of its curve, the first room, the human scale."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from deepcs.analysis.scores import final_score, human_normalised, possible_scores, reached

NAN = float("nan")


def test_the_final_score_is_the_mean_of_the_last_fiftieth_of_the_steps() -> None:
    steps = np.array([500, 970, 980, 990, 1000])
    scores = np.array([0.0, 7.0, 10.0, 20.0, 60.0])
    assert final_score(steps, scores) == 30.0  # from step 980 on
    assert final_score(steps, scores, window=0) == 60.0
    assert final_score(steps, scores, window=1) == scores.mean()


def test_the_final_score_of_a_run_without_a_finished_game_is_unknown() -> None:
    assert np.isnan(final_score(np.array([1, 2]), np.array([NAN, NAN])))
    assert np.isnan(final_score(np.empty(0), np.empty(0)))
    assert final_score(np.array([1, 2]), np.array([NAN, 3.0]), window=1) == 3.0


@pytest.mark.parametrize("window", [-0.1, 1.5, NAN])
def test_a_window_that_is_no_share_is_refused(window: float) -> None:
    with pytest.raises(ValueError, match=r"^Got window .*; give a share of the steps"):
        final_score(np.array([1]), np.array([1.0]), window)


def test_steps_and_scores_of_unequal_length_are_refused() -> None:
    with pytest.raises(ValueError, match=r"^Got steps \(2,\) and scores \(1,\); "):
        final_score(np.array([1, 2]), np.array([1.0]))


def test_runs_that_never_left_the_first_room_are_told_from_those_that_once_did() -> None:
    runs = [
        np.array([NAN, 0.0, 400.0, 0.0]),  # once suffices, and 400 is not less than 400
        np.array([0.0, 399.9]),
        np.array([NAN]),
        np.array([]),
        np.array([2500.0]),
    ]
    assert reached(runs).tolist() == [True, False, False, False, True]
    assert reached(runs, threshold=2500).tolist() == [False, False, False, False, True]
    assert reached([]).dtype == bool


def test_the_mask_also_reads_a_matrix_of_runs() -> None:
    values = np.array([[0.0, 100.0], [NAN, 500.0]])
    assert values[reached(values)].tolist() == [[pytest.approx(NAN, nan_ok=True), 500.0]]


def test_random_play_is_zero_and_the_human_one_on_the_human_scale() -> None:
    scaled = human_normalised(np.array([[-229.4, 6463.7], [-186.0, 0.0]]), "pitfall")
    np.testing.assert_allclose(scaled, [[0, 1], [43.4 / 6693.1, 229.4 / 6693.1]])
    # Table 1's median of Montezuma: three quarters of the way
    assert human_normalised(np.array(3500.0), "MontezumaRevenge") == pytest.approx(
        0.73633, abs=1e-5
    )


@given(st.lists(st.floats(-1e5, 1e5), min_size=2, max_size=5))
def test_the_human_scale_keeps_the_order_of_scores(scores: list[float]) -> None:
    scaled = human_normalised(np.sort(scores), "Seaquest")
    assert np.all(np.diff(scaled) >= 0)


def test_the_human_scale_of_a_game_without_a_published_human_is_refused() -> None:
    with pytest.raises(ValueError, match=r"^Got game 'KeyHallway', of which no human score"):
        human_normalised(np.zeros(1), "KeyHallway")


@pytest.mark.parametrize(
    ("world", "limits"),
    [
        ("KeyHallway", (0, 1)),
        ("Freeway", (0, math.inf)),
        ("Pitfall", (-math.inf, math.inf)),
        ("Frostbite", (-math.inf, math.inf)),
        ("my_module:my_world", (-math.inf, math.inf)),
    ],
)
def test_scores_have_limits_where_they_are_known(world: str, limits: tuple[float, float]) -> None:
    assert possible_scores(world) == limits
