"""Many runs on this machine: one process each, as many at a time as there are cores.

A single run in one process on one core is the cheapest in core-seconds, so this is how many runs
finish soonest.
"""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from deepcs.envs.process import cores
from deepcs.runs.checkpoint import checkpoint_steps
from deepcs.runs.folder import RunFolder

POLL_SECONDS = 0.25


@dataclass(frozen=True)
class Job:
    """A run to be done: what `deepcs train` is called with."""

    world: str
    treatment: str
    steps: int
    out: Path
    seed: int = 0
    schedule: str = "linear"

    def command(self) -> list[str]:
        words = ["train", self.world, "--treatment", self.treatment, "--steps", str(self.steps)]
        words += ["--seed", str(self.seed), "--out", str(self.out), "--shards", "1"]
        words += ["--a2c.schedule", self.schedule]
        return [sys.executable, "-m", "deepcs", *words, "--workers", "1"]

    def steps_done(self) -> int:
        """Steps that its log shows, or its newest checkpoint."""
        saved = checkpoint_steps(RunFolder(self.out).checkpoints)
        try:
            last = (self.out / "curve.csv").read_text().rstrip().rpartition("\n")[2]
        except FileNotFoundError:
            last = ""
        logged = last.partition(",")[0]
        return max(int(logged) if logged.isdigit() else 0, saved[-1] if saved else 0)


class JobError(RuntimeError):
    """A run failed."""


def run_jobs(
    jobs: Sequence[Job], *, at_once: int | None = None, show: Callable[[], None] = lambda: None
) -> None:
    """Do all jobs; `show` is called now and then. A failure is raised after the others are done."""
    waiting = list(jobs)
    running: dict[Job, subprocess.Popen[str]] = {}
    failures: list[str] = []
    try:
        while waiting or running:
            while waiting and len(running) < (at_once or cores()):
                job = waiting.pop(0)
                running[job] = subprocess.Popen(
                    job.command(), stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True
                )
            time.sleep(POLL_SECONDS)
            for job, process in list(running.items()):
                if process.poll() is not None:
                    del running[job]
                    _, errors = process.communicate()
                    if process.returncode:
                        failures.append(f"{job.out}: {errors.strip() or process.returncode}")
            show()
    finally:
        for process in running.values():
            process.terminate()
        for process in running.values():
            process.wait()
    if failures:
        raise JobError("; ".join(failures))
