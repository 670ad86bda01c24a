"""Runs killed at placed system calls end with the same bytes as runs that were not."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from random import Random
from typing import Any

import pytest
from killing import train_with_placed_kills
from trainee import assert_same_run

from deepcs.agents.acktr import ACKTRSettings
from deepcs.runs.config import RunConfig
from deepcs.runs.train import train

HALLWAY = RunConfig(
    "KeyHallway",
    steps=1_600,
    actors=4,
    shards=2,
    log_every=100,
    checkpoint_every=80,
    milestone_every=600,
)
ACKTR = ACKTRSettings(n_steps=5, cold_updates=12, statistics_every=3, refresh_every=7)
LEARNERS: dict[str, dict[str, Any]] = {
    "a2c": {},
    "acktr": {"agent": "acktr", "learner": ACKTR},
    "never-reset": {"treatment": "never-reset", "graded": True},
}


@pytest.mark.parametrize("learner", LEARNERS)
def test_kills_at_placed_calls_change_nothing(learner: str, tmp_path: Path) -> None:
    config = replace(HALLWAY, steps=480, **LEARNERS[learner])
    train(config, tmp_path / "whole", workers=1)
    kills = train_with_placed_kills(config, tmp_path / "killed", Random(learner), most=15)
    assert kills >= 5
    assert_same_run(tmp_path / "whole", tmp_path / "killed")


@pytest.mark.long
@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("learner", LEARNERS)
def test_a_thousand_kills_at_placed_calls_change_nothing(
    learner: str, seed: int, tmp_path: Path
) -> None:
    config = replace(HALLWAY, seed=seed, **LEARNERS[learner])
    train(config, tmp_path / "whole", workers=1)
    rng = Random(f"{learner} {seed}")
    kills = 0
    while kills < 70:
        out = tmp_path / f"killed after {kills}"
        kills += train_with_placed_kills(config, out, rng, most=70 - kills)
        assert_same_run(tmp_path / "whole", out)
    print(f"{learner}, seed {seed}: {kills} kills")
