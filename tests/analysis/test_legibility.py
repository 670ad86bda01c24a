"""Figures stay readable: a far run bends the axis, lines on each other are named."""

from __future__ import annotations

import numpy as np
import pytest
from matplotlib.figure import Figure

from deepcs.analysis.legibility import bend_axis, hidden, hidden_words
from deepcs.analysis.published import Score
from deepcs.analysis.reference_lines import DASHED, Reference, draw_lines
from deepcs.analysis.statistics import bands

NAN = np.nan


def test_one_run_far_up_bends_the_axis_where_the_others_end() -> None:
    axes = Figure().subplots()
    runs = np.array([[1000.0, 2000], [1500, 1900], [1200, 80_000]])
    assert bend_axis(axes, [bands(runs)]) == "the axis is logarithmic above 5k, as a run is far up"
    assert axes.get_yscale() == "symlog"
    low, high = axes.get_ylim()
    place = axes.transData.transform([(0, low), (0, 2000), (0, high)])[:, 1]
    assert (place[1] - place[0]) / (place[2] - place[0]) > 0.2  # the others are not flattened


def test_the_words_at_the_bend_lie_on_the_papers_line_and_beneath_the_curves() -> None:
    axes = Figure().subplots()
    bend_axis(axes, [bands(np.array([[1000.0, 2000], [1500, 1900], [1200, 80_000]]))])
    draw_lines(axes, [Reference("paper", Score(5200), DASHED)])
    (words,) = axes.texts
    line, curve = axes.lines[-1], axes.plot([0, 1])[0]
    assert line.get_zorder() < words.get_zorder() < curve.get_zorder()
    patch = words.get_bbox_patch()
    assert patch is not None
    assert patch.get_facecolor() == (1, 1, 1, 1)


@pytest.mark.parametrize(
    "runs",
    [
        [[1000.0, 2000], [1500, 1900], [1200, 9000]],
        [[0.0, 0], [0, 0], [0, 0]],
        [[-100.0, 5], [3, 5], [4, 90_000]],  # a logarithm would hide what is below 0
        [[NAN, NAN]],
    ],
)
def test_other_axes_stay_as_they_are(runs: list[list[float]]) -> None:
    axes = Figure().subplots()
    assert bend_axis(axes, [bands(np.array(runs))]) == ""
    assert axes.get_yscale() == "linear"


def test_a_line_on_another_is_named_and_one_apart_is_not() -> None:
    ramp = np.linspace(0, 100, 20)
    medians = {"DeepCS": ramp, "No grid": ramp + 0.2, "A2C": ramp * 0, "None": np.full(20, NAN)}
    assert hidden(medians) == [("No grid", "DeepCS")]
    assert hidden_words(medians) == "No grid lies beneath DeepCS"
    assert hidden_words({"A": ramp, "B": ramp + 5}) == ""
