"""Treatments side by side by the share of games that they solve."""

from __future__ import annotations

from pathlib import Path

import pytest

from deepcs.analysis.success import (
    Success,
    by_treatment,
    newest,
    read_successes,
    success_figure,
    success_of,
    success_table,
    write_successes,
)
from deepcs.runs.config import RunConfig
from deepcs.runs.train import train


def runs(treatment: str, shares: list[float], steps: int = 1_000) -> list[Success]:
    return [Success("KeyHallway", treatment, k, steps, 10, s) for k, s in enumerate(shares)]


ALL = [
    *runs("rnd", [0.0, 0.1, 0.0, 0.02]),
    *runs("deepcs", [1.0, 0.9, 1.0, 1.0]),
    *runs("hybrid", [0.9, 1.0, 1.0, 1.0]),
]


def test_deepcs_comes_first_then_the_best() -> None:
    assert [*by_treatment(ALL)] == ["deepcs", "hybrid", "rnd"]


def test_each_treatment_is_tested_against_deepcs_and_corrected() -> None:
    shown = success_table(ALL).shown()
    assert [row[1:5] for row in shown] == [
        ["1,000", "`deepcs`", "4", "100 %"],
        ["1,000", "`hybrid`", "4", "100 %"],
        ["1,000", "`rnd`", "4", "1 %"],
    ]
    # Four against four, all apart: p = 2/70, of two tests the smaller, so doubled.
    assert [row[-2:] for row in shown] == [["–", "–"], ["1.00", "0.057"], ["0.057", "0.057"]]


def test_a_treatment_of_too_few_runs_does_not_weaken_the_others() -> None:
    few = runs("counts", [0.0])  # one against four: its p is 0.4
    by_name = {row[2]: row[-2:] for row in success_table([*ALL, *few]).shown()}
    assert by_name["`rnd`"] == ["0.057", "0.057"]
    assert by_name["`counts`"] == ["0.80", "0.40"]  # after that of `rnd`


def test_runs_of_other_steps_have_rows_of_their_own_and_are_not_tested_with_these() -> None:
    longer = runs("rnd", [1.0] * 4, steps=2_000)
    assert newest([*ALL, *longer]) == [*ALL, *longer]
    table, drawing = success_table([*longer, *ALL]), success_figure([*longer, *ALL])
    assert table.shown()[:3] == success_table(ALL).shown()
    assert table.shown()[3][1:5] == ["2,000", "`rnd`", "4", "100 %"]
    assert table.shown()[3][-2:] == ["–", "–"]
    (axes,) = drawing.figure.axes
    assert axes.get_title("left") == "Key Hallway, 1k steps"
    labels = [label.get_text() for label in axes.get_yticklabels()]
    assert labels == ["deepcs (4)", "hybrid (4)", "rnd (4)"]


def test_runs_that_would_hide_each_other_are_counted() -> None:
    (axes,) = success_figure(ALL).figure.axes
    counts = [(round(text.get_position()[1]), text.get_text()) for text in axes.texts]
    assert counts == [(0, "3"), (1, "3"), (2, "3")]  # 0, 0 and 2 % are one circle
    single = [
        line for line in axes.lines if line.get_markersize() == 4 and len(line.get_xdata()) == 1
    ]
    assert [round(float(line.get_xdata()[0])) for line in single] == [90, 90, 10]


def test_what_is_written_is_read_again(tmp_path: Path) -> None:
    write_successes(tmp_path / "all.csv", ALL)
    assert sorted(map(str, read_successes(tmp_path / "all.csv"))) == sorted(map(str, ALL))


def test_the_figure_holds_the_numbers_that_it_draws() -> None:
    assert success_figure(ALL).data[0].rows == success_table(ALL).rows


def test_only_games_of_the_last_fifth_of_a_finished_run_count(tmp_path: Path) -> None:
    config = RunConfig("KeyHallway", steps=1_600, actors=2, shards=1, log_every=400)
    train(config, tmp_path / "run")
    found = success_of(tmp_path / "run")
    assert (found.steps, found.games) == (1_600, 2)  # of five games each actor's last
    games = (tmp_path / "run" / "curve.csv").read_text().splitlines()
    (tmp_path / "run" / "curve.csv").write_text("\n".join(games[:-1]) + "\n")
    with pytest.raises(ValueError, match="is not finished"):
        success_of(tmp_path / "run")


def test_a_run_that_is_done_again_replaces_itself_alone() -> None:
    again = Success("KeyHallway", "rnd", 1, 1_000, 12, 0.5)
    assert set(newest([*ALL, again])) == {*ALL, again} - {ALL[1]}
