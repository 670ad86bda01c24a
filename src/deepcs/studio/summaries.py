"""A run in a line: what it is and its status, read without running any of its code."""

from __future__ import annotations

import math
import os
import re
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from deepcs.runs.checkpoint import checkpoint_steps
from deepcs.runs.errors import RunError
from deepcs.runs.folder import RunFolder, SavedRun
from deepcs.runs.lease import holder
from deepcs.runs.trust import code_of
from deepcs.studies.status import last_row
from deepcs.studio.catalog import Catalog, NotHereError

State = Literal["training", "done", "stopped"]
Held = set[tuple[int, int]]
LOGGED_SECONDS = 60.0  # since a row, that a run counts as training where locks are not told
LOCKS = Path("/proc/locks")  # which files are locked; reading it locks nothing


@dataclass(frozen=True)
class Summary:
    """A run, or why it cannot be read."""

    name: str
    """its path below the folder"""
    problem: str = ""
    world: str = ""
    treatment: str = ""
    learner: str = ""
    protocol: str = ""
    seed: int = 0
    steps: int = 0
    """that it is to have"""
    step: int = 0
    """that it has"""
    score: float | None = None
    """each actor's latest game, averaged"""
    steps_per_second: float | None = None
    state: State = "stopped"
    checkpoints: tuple[int, ...] = ()
    code: tuple[str, ...] = ()
    """what would be imported to play it, if this user did not train it"""


class Summaries:
    """Summaries of the runs below a folder; settings that have not changed are not read again."""

    def __init__(self, catalog: Catalog) -> None:
        self._catalog = catalog
        self._saved: dict[Path, tuple[tuple[int, int], SavedRun]] = {}

    def all(self) -> list[Summary]:
        held = held_files()
        return [self._of(name, held) for name in self._catalog.find().runs]

    def _of(self, name: str, held: Held | None) -> Summary:
        try:
            path = self._catalog.glance(name)
            return self._read(name, path, held)
        except (RunError, NotHereError) as error:
            return Summary(name, problem=str(error))
        except OSError as error:
            where, why = error.filename or name, error.strerror or error
            return Summary(name, problem=f"{where} cannot be read ({why}).")

    def one(self, name: str) -> Summary:
        return self._of(name, held_files())

    def saved(self, path: Path) -> SavedRun:
        """What a run's config.json holds."""
        try:
            stat = (path / "config.json").stat()
        except OSError as error:
            raise RunError(f"{path} cannot be read ({error.strerror}).") from error
        stamp = stat.st_mtime_ns, stat.st_size
        known = self._saved.get(path)
        if known is None or known[0] != stamp:
            known = self._saved[path] = stamp, RunFolder(path).read_config()
        return known[1]

    def _read(self, name: str, path: Path, held: Held | None) -> Summary:
        saved = self.saved(path)
        config, row = saved.config, last_row(path)
        checkpoints = checkpoint_steps(path / "checkpoints")
        step = max(row.step, checkpoints[-1] if checkpoints else 0)
        state: State = "stopped"
        if held is None and was_just_logged(path):
            state = "training"
        if checkpoints and checkpoints[-1] >= config.steps:
            state = "done"
        if is_held(path / "lock", held or set()) or holder(path) is not None:
            state = "training"
        return Summary(
            name,
            world=config.world,
            treatment=config.treatment,
            learner=config.agent_name,
            protocol=config.protocol,
            seed=config.seed,
            steps=config.steps,
            step=step,
            score=finite(row.score),
            steps_per_second=finite(row.steps_per_second),
            state=state,
            checkpoints=tuple(checkpoints),
            code=() if saved.trained_here else tuple(code_of(config)),
        )


def finite(number: float) -> float | None:
    """As JSON has it, which knows no NaN."""
    return float(number) if math.isfinite(number) else None


def held_files() -> Held | None:
    """Device and inode of every file that some process has locked; None: this system tells none."""
    try:
        lines = LOCKS.read_text().splitlines()
    except OSError:
        return None
    places = (re.search(r" FLOCK .* ([0-9a-f]+):([0-9a-f]+):(\d+) ", line) for line in lines)
    return {
        (os.makedev(int(place[1], 16), int(place[2], 16)), int(place[3]))
        for place in places
        if place is not None
    }


def was_just_logged(run: Path) -> bool:
    try:
        return time.time() - (run / "curve.csv").stat().st_mtime < LOGGED_SECONDS
    except OSError:
        return False


def is_held(lock: Path, held: Held) -> bool:
    try:
        stat = lock.lstat()
    except OSError:
        return False
    return (stat.st_dev, stat.st_ino) in held


def as_json(summary: Summary) -> dict[str, Any]:
    return {name: value for name, value in vars(summary).items() if value not in ("", None)}
