"""Kinds of novelty: one panel of scores, and for each unit of intrinsic reward one of its own."""

from __future__ import annotations

from pathlib import Path

from generated import ROWS, experiment, results_of

from deepcs.analysis.kinds_figure import kinds_figure


def test_no_two_units_share_an_axis(tmp_path: Path) -> None:
    both = experiment("Freeway", ["rnd", "plain", "deepcs", "hybrid"], 2)
    (drawing,) = kinds_figure(results_of(tmp_path, both).of("Freeway"))
    score, *others = drawing.figure.axes
    assert [axes.get_title("left") for axes in others] == [
        "Intrinsic: tiles new in this game",
        "Intrinsic: errors of RND's network",
        "Intrinsic: tiles new in this game × 1/√N of all visits in training",
    ]
    lines = [
        len(
            [
                line
                for line in axes.lines
                if len(line.get_xdata()) == ROWS and line.get_label()[0] != "_"
            ]
        )
        for axes in (score, *others)
    ]
    assert lines == [4, 2, 1, 1]
    assert not any(axes.get_shared_y_axes().joined(score, axes) for axes in others)
    assert "say nothing beside those in another" in drawing.caption
    assert drawing.data[0].rows[0][:4] == ["Game score", "DeepCS", 8000, 2]


def test_of_one_unit_there_is_no_such_figure(tmp_path: Path) -> None:
    both = experiment("Freeway", ["deepcs", "plain"], 2)
    assert [*kinds_figure(results_of(tmp_path, both).of("Freeway"))] == []
