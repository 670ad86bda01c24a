"""Where a study's runs stand, read from their folders: right whoever runs them, and wherever."""

from __future__ import annotations

import math
import statistics
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from rich import box
from rich.table import Table
from rich.text import Text

from deepcs.runs.lease import holder
from deepcs.runs.logs import FIRST_COLUMNS, LAST_COLUMNS
from deepcs.runs.progress import duration, short_number
from deepcs.studies.experiment import StudyRun
from deepcs.studies.folder import StudyFolder

State = Literal["done", "running", "waiting", "failed"]
STYLES: dict[State, str] = {
    "done": "green",
    "running": "bold",
    "waiting": "dim",
    "failed": "red",
}
TAIL = 4096  # bytes that hold the last row of a curve.csv


@dataclass(frozen=True)
class RunStatus:
    """Where one run stands."""

    run: StudyRun
    state: State
    step: int
    score: float
    """each actor's latest game, averaged; NaN before the first has ended"""
    steps_per_second: float
    """when it last logged; NaN before that"""
    reason: str
    """why it failed; empty if it did not"""

    @property
    def seconds_left(self) -> float:
        """At its latest speed; NaN if that is unknown."""
        left = max(0, self.run.config.steps - self.step)
        return left / self.steps_per_second if self.steps_per_second else math.nan


def run_statuses(folder: StudyFolder, runs: Sequence[StudyRun]) -> list[RunStatus]:
    """The status of each run."""
    failures = folder.failures()
    return [_status_of(folder, run, failures.get(run.name, "")) for run in runs]


def _status_of(folder: StudyFolder, run: StudyRun, reason: str) -> RunStatus:
    path, saved = folder.run_path(run), folder.steps_saved(run)
    logged = last_row(path)
    state: State = "waiting"
    if saved >= run.config.steps:
        state = "done"
    elif holder(path) is not None:
        state = "running"
    elif reason:
        state = "failed"
    reason = reason if state == "failed" else ""
    # What was logged after the last checkpoint will be done again, unless the run still goes on.
    step = max(logged.step, saved) if state == "running" else saved
    return RunStatus(run, state, step, logged.score, logged.steps_per_second, reason)


@dataclass(frozen=True)
class LastRow:
    """What a run logged last."""

    step: int = 0
    score: float = math.nan
    steps_per_second: float = math.nan


def last_row(run: Path) -> LastRow:
    """The last whole row of a run's curve.csv; step 0 if there is none."""
    path = run / "curve.csv"
    try:
        with path.open("rb") as file:
            file.seek(-min(TAIL, path.stat().st_size), 2)
            rows = file.read().decode(errors="replace").split("\n")[:-1]
    except (FileNotFoundError, IsADirectoryError):
        return LastRow()
    cells = rows[-1].split(",") if rows else []
    if len(cells) < len(FIRST_COLUMNS) + len(LAST_COLUMNS):
        return LastRow()
    # What stands in between is the agent's own.
    score = cells[FIRST_COLUMNS.index("score")]
    speed = cells[LAST_COLUMNS.index("steps_per_second") - len(LAST_COLUMNS)]
    try:
        return LastRow(int(cells[0]), float(score or "nan"), float(speed))
    except ValueError:  # a damaged log: nothing is known, and whoever reads it all says so
        return LastRow()


def seconds_left(statuses: Sequence[RunStatus]) -> float:
    """Until all runs are done, at the speeds seen so far; NaN if there are none to go by."""
    speeds: dict[tuple[str, str], list[float]] = {}
    for each in statuses:
        if each.steps_per_second > 0:
            speeds.setdefault(_kind(each), []).append(each.steps_per_second)
    total, at_once = 0.0, 0
    for each in statuses:
        if each.state in ("running", "waiting"):
            if _kind(each) not in speeds:
                return math.nan
            left = each.run.config.steps - each.step
            total += left / statistics.median(speeds[_kind(each)])
            at_once += each.state == "running"
    return total / max(at_once, 1)


def _kind(status: RunStatus) -> tuple[str, str]:
    return status.run.config.world, status.run.config.agent


def summary(statuses: Sequence[RunStatus]) -> str:
    """The study in one line."""
    counts = {state: sum(each.state == state for each in statuses) for state in STYLES}
    parts = [f"{counts['done']} of {len(statuses)} runs done"]
    parts += [f"{counts[state]} {state}" for state in STYLES if state != "done" and counts[state]]
    if counts["running"]:
        parts.append(f"{duration(seconds_left(statuses))} left")
    return " · ".join(parts)


def status_table(title: str, statuses: Sequence[RunStatus], only: State | None = None) -> Table:
    """A row per run, or per run in one state."""
    table = Table(title=Text(title), caption=summary(statuses), box=box.SIMPLE_HEAD)
    table.add_column("run", overflow="fold")
    table.add_column("state")
    for name in ("steps", "score", "time left"):
        table.add_column(name, justify="right")
    for each in statuses:
        if only not in (None, each.state):
            continue
        table.add_row(
            Text(each.run.name),
            Text(each.state, STYLES[each.state]),
            f"{short_number(each.step)} / {short_number(each.run.config.steps)}",
            f"{each.score:,.4g}" if math.isfinite(each.score) else "",
            duration(each.seconds_left) if each.state == "running" else "",
        )
    return table
