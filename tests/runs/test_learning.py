"""The paper's hallway argument, learned for real: about a minute on two cores."""

from __future__ import annotations

from pathlib import Path

import pytest

from deepcs.agents.acktr import ACKTRSettings
from deepcs.agents.ppo import PPOSettings
from deepcs.cli.demo import hallway_job, success
from deepcs.runs.config import RunConfig
from deepcs.runs.load import load_run
from deepcs.runs.train import train
from deepcs.studies.local import run_jobs


@pytest.mark.long
def test_deepcs_learns_to_fetch_the_key_before_the_door_and_a2c_does_not(tmp_path: Path) -> None:
    jobs = [hallway_job(name, tmp_path / name) for name in ("deepcs", "plain")]
    run_jobs(jobs, failed=lambda job, reason: pytest.fail(f"{job.out}: {reason}"))
    rates = {job.config.treatment: success(load_run(job.out)) for job in jobs}
    assert rates["deepcs"] > 0.90
    assert rates["plain"] < 0.05


@pytest.mark.long
def test_acktr_learns_it_in_half_the_steps(tmp_path: Path) -> None:
    constant = ACKTRSettings(schedule="constant")
    config = RunConfig("KeyHallway", agent="acktr", steps=250_000, learner=constant, shards=1)
    train(config, tmp_path)
    assert success(load_run(tmp_path)) > 0.90


@pytest.mark.long
def test_ppo_learns_it_in_half_the_steps_too(tmp_path: Path) -> None:
    faster = PPOSettings(learning_rate=1e-3, schedule="linear")
    train(RunConfig("KeyHallway", agent="ppo", steps=250_000, learner=faster), tmp_path)
    assert success(load_run(tmp_path)) > 0.90
