"""A run in a line, of generated folders."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from deepcs.runs.checkpoint import Checkpoint, save_checkpoint
from deepcs.runs.config import RunConfig
from deepcs.runs.folder import RunFolder, Segment
from deepcs.studio import summaries as summaries_module
from deepcs.studio.catalog import Catalog
from deepcs.studio.summaries import Summaries, Summary

CONFIG = RunConfig("KeyHallway", actors=2, steps=400).resolved()


def summed_up(root: Path) -> dict[str, Summary]:
    return {summary.name: summary for summary in Summaries(Catalog(root)).all()}


@pytest.fixture
def runs(tmp_path: Path) -> Path:
    """Two runs, each with a checkpoint of step 200, and with a row that was just logged."""
    for name in ("one", "other"):
        run = tmp_path / name
        run.mkdir()
        RunFolder(run).write_config(replace(CONFIG, seed=len(name)), [Segment(0, 400)])
        save_checkpoint(run / "checkpoints", Checkpoint(200, {}, {}, None, {}))
        (run / "curve.csv").write_text("step\n")
    return tmp_path


def test_a_run_whose_checkpoints_cannot_be_listed_hides_no_other(
    runs: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    closed, listed = runs / "one" / "checkpoints", Path.iterdir

    def iterdir(path: Path) -> Iterator[Path]:
        if path == closed:  # for root, no mode of a folder forbids that
            raise PermissionError(13, "Permission denied", str(path))
        return listed(path)

    monkeypatch.setattr(Path, "iterdir", iterdir)
    found = summed_up(runs)
    assert found["one"].problem == f"{closed} cannot be read (Permission denied)."
    assert (found["other"].problem, found["other"].checkpoints) == ("", (200,))


@pytest.mark.skipif(not summaries_module.LOCKS.exists(), reason="locks are not told here")
def test_where_locks_are_told_a_run_that_none_holds_has_stopped(runs: Path) -> None:
    assert summed_up(runs)["one"].state == "stopped"


def test_where_no_locks_are_told_a_run_trains_that_logged_in_the_last_minute(
    runs: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(summaries_module, "LOCKS", runs / "nothing")
    save_checkpoint(runs / "other" / "checkpoints", Checkpoint(400, {}, {}, None, {}))
    assert [each.state for each in summed_up(runs).values()] == ["training", "done"]
    before = time.time() - 61
    os.utime(runs / "one" / "curve.csv", (before, before))
    assert summed_up(runs)["one"].state == "stopped"
