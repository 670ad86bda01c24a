"""A run that is only timed: a normal run, in a temporary folder."""

from __future__ import annotations

import tempfile
import time
from pathlib import Path

from deepcs.agents.replicas import Replicas
from deepcs.runs.config import RunConfig
from deepcs.runs.folder import RunFolder, Segment
from deepcs.runs.logs import curve_columns
from deepcs.runs.loop import Logs, Run, Stop
from deepcs.runs.progress import Silence


class TimedTraining:
    """A normal run in a temporary folder."""

    def __init__(self, config: RunConfig, workers: int | None = None) -> None:
        config = config.resolved()
        self._temporary = tempfile.TemporaryDirectory()
        folder = RunFolder(Path(self._temporary.name))
        config = config.fitted()
        self._replicas = Replicas(config.training(), workers)
        self._logs = Logs(folder, curve_columns(config.agent), None)
        segments = [Segment(0, config.steps)]
        self._run = Run(
            folder, config, segments, None, self._replicas, self._logs, Stop(), Silence()
        )

    def rate(self, seconds: float) -> float:
        """Train for that long; returns steps per second."""
        run = self._run
        began, before = time.perf_counter(), run.progress.step
        while (spent := time.perf_counter() - began) < seconds:
            run.go_until(run.progress.step + run.config.update_steps)
        return (run.progress.step - before) / spent

    def close(self) -> None:
        self._replicas.close()
        self._logs.close()
        self._temporary.cleanup()
