"""Milestones over seeds: Kaplan and Meier by hand, and what a figure of them shows."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import numpy as np
import pytest
from generated import ROWS, write_run

from deepcs.analysis.groups import Group, read_result
from deepcs.analysis.milestone_figures import APART, lifted, milestone_figures, reached
from deepcs.runs.config import RunConfig
from deepcs.runs.logs import GAMES_COLUMNS


def test_without_censoring_the_share_is_counted() -> None:
    found = reached([30, 10, 20, 40], [100] * 4)
    assert found.steps.tolist() == [10, 20, 30, 40]
    np.testing.assert_allclose(found.share, [0.25, 0.5, 0.75, 1])
    assert (found.median, len(found.ends)) == (20, 0)


def test_a_run_that_was_over_early_counts_until_then() -> None:
    found = reached([10, None, 30], [100, 20, 100])
    # 1/3 have it at 10; then one run leaves, and of the one that is left all have it at 30.
    at = dict(zip(found.steps.tolist(), found.share.tolist(), strict=True))
    assert (at[10], at[20], at[30]) == pytest.approx((1 / 3, 1 / 3, 1))


def test_nobody_got_there() -> None:
    found = reached([None, None], [100, 50])
    assert found.share.tolist() == [0, 0]
    assert np.isnan(found.median)


def test_the_figure_shows_what_was_reached_and_names_what_was_not(tmp_path: Path) -> None:
    config = RunConfig("MontezumaRevenge", steps=1000, shards=1, device="cpu").resolved()
    runs = []
    for seed in range(2):
        path = tmp_path / f"run{seed}"
        write_run(path, dataclasses.replace(config, seed=seed), [0.0] * ROWS)
        games = [",".join(GAMES_COLUMNS), "400,0,100.0,5.0,6,99,1"][: 2 - seed]
        (path / "games.csv").write_text("\n".join(games) + "\n")
        result = read_result(path, config)
        assert result is not None
        runs.append(result)
    (drawing,) = milestone_figures([Group(config, "", 2, tuple(runs))])
    assert drawing.data[0].rows[0][1:5] == ["first key", 2, 1, 400]
    assert "Never reached by any run: first exit of room 1" in drawing.caption
    assert [axes.get_title("left") for axes in drawing.figure.axes] == ["first key"]


def test_only_lines_that_lie_on_each_other_are_lifted() -> None:
    last = 100
    early, again = reached([10, 20], [100] * 2), reached([10, 21], [100] * 2)
    late, last_of_all = reached([60, 97], [100] * 2), reached([97, None], [100] * 2)
    assert lifted([early, late], last) == [0, 0]
    assert lifted([early, again, early], last) == [0, 1, 2]
    # 0 is where every line begins: it hides nothing there.
    assert lifted([late, last_of_all], last) == [0, 0]


def test_each_line_bears_the_marks_of_its_legend_and_a_lifted_one_is_named(
    tmp_path: Path,
) -> None:
    config = RunConfig("MontezumaRevenge", steps=1000, shards=1, device="cpu").resolved()
    groups = []
    for treatment in ("deepcs", "plain"):
        path = tmp_path / treatment
        mine = dataclasses.replace(config, treatment=treatment)
        write_run(path, mine, [0.0] * ROWS)
        games = [",".join(GAMES_COLUMNS), "400,0,100.0,5.0,6,99,1"]
        (path / "games.csv").write_text("\n".join(games) + "\n")
        result = read_result(path, mine)
        assert result is not None
        groups.append(Group(mine, "", 1, (result,)))
    (drawing,) = milestone_figures(groups)
    (axes,) = drawing.figure.axes
    marks = [line for line in axes.lines if line.get_marker() in "os"]
    assert [(line.get_marker(), line.get_color()) for line in marks] == [
        (group.look.marker, group.look.colour) for group in groups
    ]
    first, second = (np.asarray(line.get_xdata()) for line in marks)
    assert not set(first) & set(second)
    assert "the later in the legend is lifted" in drawing.figure.get_supxlabel()
    assert drawing.caption.endswith("Lifted here: A2C (first key).")


def test_what_is_lifted_in_one_panel_is_not_cut_off_by_the_limits_of_the_last(
    tmp_path: Path,
) -> None:
    config = RunConfig("MontezumaRevenge", steps=1000, shards=1, device="cpu").resolved()
    groups = []
    games = "100,0,400.0,5.0,6,99,1;2"
    for treatment in ("deepcs", "plain", "no-grid", "no-intrinsic"):
        path = tmp_path / treatment
        mine = dataclasses.replace(config, treatment=treatment)
        write_run(path, mine, [0.0] * ROWS)
        best = ["500,0,2500.0,5.0,6,99,1;2"] * (treatment == "deepcs")  # alone in the last panel
        (path / "games.csv").write_text("\n".join([",".join(GAMES_COLUMNS), games, *best]) + "\n")
        result = read_result(path, mine)
        assert result is not None
        groups.append(Group(mine, "", 1, (result,)))
    (drawing,) = milestone_figures(groups)
    first, *_, last = (axes for axes in drawing.figure.axes if axes.get_visible())
    assert len({line.get_color() for line in last.lines if line.get_marker() in "osD^"}) == 1
    highest = max(np.max(line.get_ydata()) for line in first.lines)
    assert highest == pytest.approx(1 + 3 * APART)
    assert first.get_ylim()[1] > highest
