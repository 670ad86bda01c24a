"""A run that is only timed: all that a normal run does, in a folder that is thrown away."""

from __future__ import annotations

import tempfile
import time
from pathlib import Path

from deepcs.runs.config import RunConfig
from deepcs.runs.folder import RunFolder
from deepcs.runs.learner import Learner
from deepcs.runs.loop import Logs, Run, Stop
from deepcs.runs.progress import Silence


class TimedTraining:
    """A run in a folder that is thrown away, with all that a normal run does."""

    def __init__(self, config: RunConfig, workers: int | None = None) -> None:
        config = config.resolved()
        self._temporary = tempfile.TemporaryDirectory()
        folder = RunFolder(Path(self._temporary.name))
        self._learner = Learner(config, workers)
        self._logs = Logs(folder, None)
        self._run = Run(folder, config, None, self._learner, self._logs, Stop(), Silence())

    def rate(self, seconds: float) -> float:
        """Train on for that long; steps per second."""
        run = self._run
        began, before = time.perf_counter(), run.progress.step
        while (spent := time.perf_counter() - began) < seconds:
            run.go_until(run.progress.step + run.config.update_steps)
        return (run.progress.step - before) / spent

    def close(self) -> None:
        self._learner.close()
        self._logs.close()
        self._temporary.cleanup()
