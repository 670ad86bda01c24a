"""`deepcs bench`: steps per second of training on this machine."""

from __future__ import annotations

import tempfile
import time
from pathlib import Path

from deepcs.runs.config import RunConfig, cores
from deepcs.runs.folder import RunFolder
from deepcs.runs.progress import Silence
from deepcs.runs.train import Run

WARM_UP_UPDATES = 10


def training_speed(config: RunConfig, workers: int | None = None) -> float:
    """Steps per second of a run with all that it does, after its first updates."""
    with tempfile.TemporaryDirectory() as folder:
        run = Run(
            RunFolder(Path(folder)), config.resolved(), None, workers=workers, display=Silence()
        )
        try:
            run.go_until(WARM_UP_UPDATES * run.config.update_steps)
            began, before = time.perf_counter(), run.progress.step
            run.go_until(run.config.steps)
            return (run.progress.step - before) / (time.perf_counter() - began)
        finally:
            run.close()


def bench(world: str, steps: int) -> None:
    """Print the speed of one run on all cores."""
    speed = training_speed(RunConfig(world, steps=steps))
    days = 160e6 / speed / 86_400
    print(f"{world}: {speed:,.0f} steps/s on {cores()} cores; the paper's 160M: {days:.1f} days")
