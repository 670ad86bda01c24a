"""`deepcs study ...` in processes of its own, to be stopped and killed."""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import psutil
from trainee import PATIENCE

from deepcs.cli.studies import Run
from deepcs.runs.checkpoint import checkpoint_steps


class StudyProcess:
    """A `deepcs study run` under way."""

    def __init__(self, file: Path, out: Path, *options: str) -> None:
        self.out = out
        self.popen = subprocess.Popen(
            [
                sys.executable,
                "-m",
                "deepcs",
                "study",
                "run",
                str(file),
                "--out",
                str(out),
                *options,
            ],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            cwd=file.parent,  # where module:factory of a test is found
        )

    def __enter__(self) -> StudyProcess:
        return self

    def __exit__(self, *_: object) -> None:
        jobs = self.jobs() if self.popen.poll() is None else []
        self.popen.kill()
        self.popen.communicate()
        for job in jobs:
            job.kill()

    def jobs(self) -> list[psutil.Process]:
        """The processes of its runs."""
        children = psutil.Process(self.popen.pid).children(recursive=True)
        return [child for child in children if "deepcs.studies.job" in child.cmdline()]

    def wait_until(self, what: Callable[[], bool]) -> None:
        end = time.monotonic() + PATIENCE
        while not what():
            assert self.popen.poll() is None, self.popen.communicate()
            assert time.monotonic() < end, "nothing happened"
            time.sleep(0.005)

    def saved(self, run: str) -> list[int]:
        """Steps of a run's checkpoints."""
        return checkpoint_steps(self.out / "runs" / run / "checkpoints")

    def finish(self) -> tuple[int, str, str]:
        """Wait for its end: exit code, what it printed, what it complained of."""
        out, err = self.popen.communicate(timeout=PATIENCE)
        return self.popen.returncode, out, err


def run_study(file: Path, out: Path, at_once: int = 2) -> int:
    """`deepcs study run` in this process: its exit code."""
    try:
        Run(str(file), out, at_once=at_once).run()
    except SystemExit as end:
        return int(end.code or 0)
    return 0
