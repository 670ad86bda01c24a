"""A game that only this process has registered, trained in processes of its own."""

from __future__ import annotations

from pathlib import Path

import pytest

from deepcs import Bounds, Game, Screen, register_game
from deepcs.runs.config import RunConfig
from deepcs.runs.load import load_run
from deepcs.runs.train import train


@pytest.mark.long
def test_the_processes_of_a_run_know_a_registered_game(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("deepcs.curiosity.games._registered", {})
    monkeypatch.setattr("deepcs.system.first._calls", {})
    register_game(
        Game(
            name="Frostbite",
            x=0xE6,
            y=0xE4,
            bounds=Bounds(23, 22, 118, 110),
            screen=Screen(1, 3.5, 1, 38),
            on_board=lambda x, y, ram: y >= 22,
        )
    )
    config = RunConfig("frostbite", steps=40, actors=2, shards=2, max_frames=32, log_every=20)
    assert train(config, tmp_path / "run", workers=2) is None
    logs = load_run(tmp_path / "run")
    assert logs.config.world == "Frostbite"
    assert logs.games["tiles"].min() >= 1
