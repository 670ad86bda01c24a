"""The status of a study's runs, read from their folders, whichever process or machine runs them."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from rich import box
from rich.table import Table
from rich.text import Text

from deepcs.agents.table import FIRST_COLUMNS, LAST_COLUMNS
from deepcs.runs.lease import holder, lease_changed
from deepcs.runs.progress import duration, short_number
from deepcs.studies.experiment import StudyRun
from deepcs.studies.folder import StudyFolder
from deepcs.studies.pace import Pace, read_measured
from deepcs.system.files import read_file

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
    """The status of one run."""

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


@dataclass(frozen=True)
class Facts:
    """What is read from a run's folder."""

    saved: int
    """step of the newest checkpoint"""
    logged: LastRow
    held: bool
    """a process trains it"""
    lease: int
    """when its lease last changed hands, in nanoseconds; 0: it never had one"""
    finished: bool
    """it has an undamaged checkpoint of its last step"""


class Watch:
    """Reads the status of a study's runs repeatedly, and only what can have changed.

    A finished run stays so. A run that no process holds stays as it is until its lease's folder
    changes, which one stat() shows; one that is not in the list of folders has not begun. So only
    the runs that are being trained are read each time.
    """

    def __init__(self, folder: StudyFolder, runs: Sequence[StudyRun]) -> None:
        self._folder = folder
        self._runs = runs
        self._known: dict[str, Facts] = {}

    def look(self) -> list[RunStatus]:
        """The status of each run."""
        failures = self._folder.failures()
        begun = self._folder.begun()
        return [
            self._status(run, run.name in begun, failures.get(run.name, "")) for run in self._runs
        ]

    def _status(self, run: StudyRun, begun: bool, reason: str) -> RunStatus:
        facts = self._facts(run) if begun else Facts(0, LastRow(), False, 0, False)
        state: State = "waiting"
        if facts.finished:
            state = "done"
        elif facts.held:
            state = "running"
        elif reason:
            state = "failed"
        reason = reason if state == "failed" else ""
        # What was logged after the last checkpoint is repeated, unless the run is still training.
        step = max(facts.logged.step, facts.saved) if state == "running" else facts.saved
        return RunStatus(
            run, state, step, facts.logged.score, facts.logged.steps_per_second, reason
        )

    def _facts(self, run: StudyRun) -> Facts:
        path, known = self._folder.run_path(run), self._known.get(run.name)
        if known is not None and not known.held and known.finished:
            return known
        lease = lease_changed(path)
        if known is not None and not known.held and known.lease == lease:
            return known
        held = holder(path) is not None  # first: what it saves as it ends is then seen
        saved = self._folder.steps_saved(run)
        finished = self._folder.is_finished(run, saved)
        facts = Facts(saved, last_row(path), held, lease, finished)
        self._known[run.name] = facts
        return facts


def run_statuses(folder: StudyFolder, runs: Sequence[StudyRun]) -> list[RunStatus]:
    """The status of each run, read once."""
    return Watch(folder, runs).look()


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
        rows = read_file(path, TAIL).decode(errors="replace").split("\n")[:-1]
    except OSError:
        return LastRow()
    cells = rows[-1].split(",") if rows else []
    if len(cells) < len(FIRST_COLUMNS) + len(LAST_COLUMNS):
        return LastRow()
    # The columns in between are the agent's.
    score = cells[FIRST_COLUMNS.index("score")]
    speed = cells[LAST_COLUMNS.index("steps_per_second") - len(LAST_COLUMNS)]
    try:
        return LastRow(int(cells[0]), float(score or "nan"), float(speed))
    except ValueError:  # a damaged log: nothing is known; loading the whole log reports it
        return LastRow()


def pace_of(folder: StudyFolder, statuses: Sequence[RunStatus]) -> Pace:
    """The speeds that these runs logged, and that the machine was measured to have."""
    seen = [(each.run.config, each.steps_per_second) for each in statuses]
    measured = read_measured(folder.path / "at_once.json")
    return Pace([(config, speed) for config, speed in seen if speed > 0], measured)


def seconds_left(statuses: Sequence[RunStatus], pace: Pace) -> float:
    """Until all runs are done, with as many in parallel as now; NaN if no speed is known."""
    lefts = [_run_left(each, pace) for each in statuses if each.state in ("running", "waiting")]
    at_once = sum(each.state == "running" for each in statuses)
    return max(sum(lefts) / max(at_once, 1), max(lefts, default=0.0))


def _run_left(status: RunStatus, pace: Pace) -> float:
    """Of one run: at its own speed, once it has logged."""
    config, left = status.run.config, status.seconds_left
    return left if math.isfinite(left) else pace.seconds(config, config.steps - status.step)


def longest_first(statuses: Sequence[RunStatus], pace: Pace) -> list[StudyRun]:
    """The runs in order of remaining time, longest first, so that none is left over at the end.

    Where no speed is known, by their steps; of equals in the study's order.
    """

    def left(status: RunStatus) -> float:
        steps = status.run.config.steps - status.step
        seconds = pace.seconds(status.run.config, steps)
        return seconds if math.isfinite(seconds) else steps

    return [status.run for status in sorted(statuses, key=left, reverse=True)]


def summary(statuses: Sequence[RunStatus], pace: Pace) -> str:
    """The study in one line."""
    counts = {state: sum(each.state == state for each in statuses) for state in STYLES}
    parts = [f"{counts['done']} of {len(statuses)} runs done"]
    parts += [f"{counts[state]} {state}" for state in STYLES if state != "done" and counts[state]]
    if counts["running"]:
        parts.append(f"{duration(seconds_left(statuses, pace))} left")
    return " · ".join(parts)


def status_table(
    title: str, statuses: Sequence[RunStatus], pace: Pace, only: State | None = None
) -> Table:
    """A row per run, or per run in one state."""
    table = Table(title=Text(title), caption=summary(statuses, pace), box=box.SIMPLE_HEAD)
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
            duration(_run_left(each, pace)) if each.state == "running" else "",
        )
    return table
