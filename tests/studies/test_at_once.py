"""How many runs at a time: measured for real, once."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from deepcs.runs.config import RunConfig
from deepcs.studies.at_once import Measured, runs_at_once
from deepcs.system.process import cores


def test_the_fewest_that_come_close_to_the_fastest_are_best() -> None:
    assert Measured("", 2, {1: 500.0, 2: 980.0, 3: 1_000.0}).best == 2
    assert Measured("", 2, {1: 500.0, 2: 900.0, 3: 1_000.0}).best == 3
    assert Measured("", 4, {2: 1_000.0, 4: 1_000.0, 5: 900.0}).best == 2


@pytest.mark.long
def test_this_machine_is_measured_once(tmp_path: Path) -> None:
    cache = tmp_path / "at_once.json"
    measured = runs_at_once([RunConfig("KeyHallway", shards=1)], cache, seconds=0.3)
    assert list(measured.steps_per_second)[-2] == cores()
    assert all(speed > 100 for speed in measured.steps_per_second.values())
    assert json.loads(cache.read_bytes())["world"] == "KeyHallway"
    assert runs_at_once([RunConfig("Freeway", shards=1)], cache) == measured
