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
from deepcs.agents.ppo import PPOSettings
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
    "ppo": {"agent": "ppo", "learner": PPOSettings(n_steps=5, epochs=2, minibatch=10)},
    "atari": {"world": "MontezumaRevenge", "max_frames": 60},  # games of 15 steps
    "never-reset": {"treatment": "never-reset", "graded": True},
}


def kill_often(config: RunConfig, tmp_path: Path, rng: Random, wanted: int) -> None:
    """Train again and again, killed so often in all; every run ends as the whole one does."""
    train(config, tmp_path / "whole", workers=1)
    kills = runs = 0
    while kills < wanted:
        out = tmp_path / f"killed {runs}"
        kills += train_with_placed_kills(config, out, rng, most=wanted - kills)
        runs += 1
        assert_same_run(tmp_path / "whole", out)
    print(f"{kills} kills in {runs} runs")


@pytest.mark.parametrize("learner", ["a2c", "acktr", "ppo"])
def test_kills_at_placed_calls_change_nothing(learner: str, tmp_path: Path) -> None:
    config = replace(HALLWAY, steps=480, **LEARNERS[learner])
    kill_often(config, tmp_path, Random(learner), wanted=8)


@pytest.mark.long
@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("learner", LEARNERS)
def test_a_thousand_kills_at_placed_calls_change_nothing(
    learner: str, seed: int, tmp_path: Path
) -> None:
    config = replace(HALLWAY, seed=seed, **LEARNERS[learner])
    kill_often(config, tmp_path, Random(f"{learner} {seed}"), wanted=70)
