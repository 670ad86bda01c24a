"""The paper's hallway argument, learned for real: about a minute on two cores."""

from __future__ import annotations

from pathlib import Path

from deepcs.demo import HALLWAY_STEPS, success
from deepcs.runs.load import load_run
from deepcs.studies.local import Job, run_jobs


def test_deepcs_learns_to_fetch_the_key_before_the_door_and_a2c_does_not(tmp_path: Path) -> None:
    jobs = [
        Job("KeyHallway", name, HALLWAY_STEPS, tmp_path / name, schedule="constant")
        for name in ("deepcs", "a2c")
    ]
    run_jobs(jobs)
    rates = {job.treatment: success(load_run(job.out)) for job in jobs}
    assert rates["deepcs"] > 0.90
    assert rates["a2c"] < 0.05
