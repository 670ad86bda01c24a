"""A game of one's own on the command line: shown, trained, evaluated, filmed, studied, reported."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from deepcs import register_game
from deepcs.cli.main import main
from deepcs.runs.config import RunConfig
from deepcs.runs.load import load_run
from deepcs.runs.train import train

MODULE = """\
from deepcs import Bounds, Game, Screen, at
HERO = Game(
    "Hero", 0x9B, 0x9F, Bounds(15, 0, 123, 140), Screen(1, 3.5, -1, 145), room=at(0x9C), weight=0.5
)
"""
STUDY = """\
[[experiments]]
worlds = ["cave_games:HERO"]
treatments = ["deepcs"]
seeds = 1
steps = 80
settings = { actors = 2, max_frames = 80, log_every = 40, checkpoint_every = 80 }
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "cave_games.py").write_text(MODULE)
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.delitem(sys.modules, "cave_games", raising=False)
    monkeypatch.setattr("deepcs.curiosity.games._registered", {})
    monkeypatch.setattr("deepcs.system.first._calls", {})
    return tmp_path


def test_a_game_with_neither_start_nor_differences_has_its_page(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    main(["games", "cave_games:HERO"])
    page = capsys.readouterr().out
    assert page.startswith("Hero  ALE/Hero-v5")
    assert "not one of the paper's twelve" in page
    assert "Differences" not in page
    assert "start tile" not in page
    assert "room 0x9C" in " ".join(page.split())


def test_the_table_marks_games_that_are_not_the_papers(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    from cave_games import HERO

    register_game(HERO)
    main(["games"])
    table = capsys.readouterr().out
    assert "Hero *" in table
    assert "Alien *" not in table
    assert "* Added by a user" in table


def test_a_game_that_nobody_added_is_told_how_to_be(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as exited:
        main(["games", "Hero"])
    error = capsys.readouterr().err
    assert (exited.value.code, error.count("\n")) == (2, 1)
    assert "`deepcs find-position Hero` helps to add it" in error


def test_a_run_of_a_registered_game_says_what_a_command_lacks(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    from cave_games import HERO

    register_game(HERO)
    train(RunConfig("Hero", steps=20, actors=2, shards=1, max_frames=80), "run", workers=1)
    monkeypatch.setattr("deepcs.curiosity.games._registered", {})
    for command in ("evaluate", "resume", "record"):
        with pytest.raises(SystemExit) as exited:
            main([command, "run"])
        error = capsys.readouterr().err
        assert (exited.value.code, error.count("\n")) == (2, 1)
        assert "a program that calls register_game first" in error
    assert load_run("run").config.world == "Hero"  # its logs need no game


def test_a_run_says_that_its_own_code_has_changed(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    settings = ["--actors", "2", "--shards", "1", "--max-frames", "80", "--workers", "1"]
    main(["train", "cave_games:HERO", "--steps", "20", "--out", "run", *settings])
    main(["evaluate", "run", "--games", "1", "--workers", "0"])
    assert "has changed" not in capsys.readouterr().err
    (folder / "cave_games.py").write_text(MODULE + "# another tile\n")
    main(["evaluate", "run", "--games", "1", "--workers", "0"])
    assert "cave_games has changed since run was begun" in capsys.readouterr().err
    main(["resume", "run", "--steps", "40", "--workers", "1"])
    assert "cave_games has changed since run was begun: it goes on" in capsys.readouterr().out


def test_a_run_of_it_trains_evaluates_and_is_filmed(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    settings = ["--actors", "2", "--shards", "1", "--max-frames", "80", "--workers", "1"]
    main(["train", "cave_games:HERO", "--steps", "20", "--out", "run", *settings])
    main(["evaluate", "run", "--games", "2", "--workers", "0"])
    main(["record", "run"])
    said = capsys.readouterr().out
    assert "cave_games:HERO, deepcs, a2c, 20 steps: 2 games" in said
    assert (folder / "run.mp4").stat().st_size > 1000


@pytest.mark.long
def test_a_study_of_it_runs_and_is_reported_without_published_scores(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (folder / "caves.toml").write_text(STUDY)
    main(["study", "run", "caves.toml", "--at-once", "1"])
    main(["study", "report", "caves.toml", "--games", "0", "--no-videos"])
    report = folder / "studies" / "caves" / "report"
    page = (report / "report.html").read_text()
    assert "HERO" in page
    assert "Table 1" not in page
    assert "0x9B" in (report / "tables" / "games.csv").read_text()
