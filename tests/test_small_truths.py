"""What is said on the way is so: help texts, captions, names, lines and logs."""

from __future__ import annotations

import io
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from rich.console import Console
from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

import deepcs
from deepcs.analysis.groups import common_steps
from deepcs.cli.main import main
from deepcs.envs.mazes import KeyHallway
from deepcs.film.record import Camera, Tally
from deepcs.runs.config import RunConfig
from deepcs.runs.progress import LiveDisplay, Status
from deepcs.runs.train import train
from deepcs.system.importing import allow, load_object


def test_the_help_of_evaluate_names_the_file_that_is_written(
    capsys: pytest.CaptureFixture[str],
) -> None:
    with pytest.raises(SystemExit):
        main(["evaluate", "--help"])
    assert "RUN-evaluation.csv" in "".join(capsys.readouterr().out.split())


@pytest.mark.parametrize("grid", [True, False])
def test_a_film_shows_the_plane_only_where_the_network_sees_it(grid: bool) -> None:
    env = KeyHallway(grid=grid, render_mode="rgb_array")
    _, info = env.reset()
    agent: Any = SimpleNamespace(config=RunConfig("KeyHallway"), step=1)
    assert (Camera(agent, env, info)._look(Tally(), info).plane is not None) == grid


def test_all_public_names_are_in_the_package() -> None:
    assert set(deepcs.__all__) <= set(dir(deepcs))
    assert all(getattr(deepcs, name) is not None for name in deepcs.__all__)


def test_no_name_is_the_nearest_of_one_that_is_like_none() -> None:
    with pytest.raises(ValueError, match="'MountainCar', which is not known; choose from Alien"):
        deepcs.game("MountainCar")
    with pytest.raises(ValueError, match="the nearest is Freeway: choose from Alien"):
        deepcs.game("Freewy")


def test_a_missing_module_is_said_with_where_it_was_looked_for() -> None:
    allow(["nowhere:make", "nowhere.deep:make"])
    with pytest.raises(ValueError, match=rf"No module named 'nowhere' in {Path.cwd()} or among"):
        load_object("nowhere:make", "a thing")
    with pytest.raises(ValueError, match=r"No module named 'nowhere'.* in .*; give a thing"):
        load_object("nowhere.deep:make", "a thing")


def test_at_100_columns_no_number_of_the_progress_is_cut() -> None:
    out = io.StringIO()
    display = LiveDisplay(Console(file=out, width=100, force_terminal=True), "M" * 40)
    display.show(Status(1_234_567, 160_000_000, 3456.7, 1234.5, 12345.6, 12.3, 34.5, 12))
    display.close()
    shown = out.getvalue()
    assert "…" not in shown
    for part in ("1.23M/160M", "3,457 steps/s", "left", "best 1.235e+04", "tiles 34.5", "rooms 12"):
        assert part in shown


def test_tiles_are_in_tensorboard(tmp_path: Path) -> None:
    train(RunConfig("KeyHallway", steps=400, actors=2), tmp_path / "run", workers=1)
    events = EventAccumulator(str(tmp_path / "run" / "tensorboard"))
    events.Reload()
    assert [event.step for event in events.Scalars("tiles")] == [400]


def test_a_short_study_is_compared_at_every_row_that_was_logged() -> None:
    rows = np.array([8000.0, 16000.0, 20000.0])
    run = SimpleNamespace(steps=rows, last_step=20000)
    group: Any = SimpleNamespace(runs=(run,), config=SimpleNamespace(steps=20_000))
    assert common_steps([group]).tolist() == rows.tolist()
