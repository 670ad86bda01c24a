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


def runs(treatment: str, shares: list[float]) -> list[Success]:
    return [Success("KeyHallway", treatment, k, 1_000, 10, s) for k, s in enumerate(shares)]


ALL = [
    *runs("rnd", [0.0, 0.1, 0.0]),
    *runs("deepcs", [1.0, 0.9, 1.0]),
    *runs("hybrid", [0.9, 1.0, 1.0]),
]


def test_deepcs_comes_first_then_the_best() -> None:
    assert [*by_treatment(ALL, "KeyHallway")] == ["deepcs", "hybrid", "rnd"]


def test_each_treatment_is_tested_against_deepcs_and_corrected() -> None:
    shown = success_table(ALL).shown()
    assert [row[1:4] for row in shown] == [
        ["`deepcs`", "3", "100 %"],
        ["`hybrid`", "3", "100 %"],
        ["`rnd`", "3", "0 %"],
    ]
    # Three against three, all apart: p = 0.1, of two tests the smaller, so doubled.
    assert [row[-1] for row in shown] == ["–", "1.00", "0.20"]


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
    again = Success("KeyHallway", "rnd", 1, 2_000, 10, 0.5)
    assert set(newest([*ALL, again])) == {*ALL, again} - {ALL[1]}
