"""Progress of a run: a live line on a terminal, plain lines elsewhere."""

from __future__ import annotations

import math
import time
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Protocol

from rich.console import Console, RenderableType
from rich.progress import BarColumn, Progress, TextColumn
from rich.text import Text

PLAIN_SECONDS = 10.0  # between plain lines


@dataclass(frozen=True)
class Status:
    """A run's progress; scores, tiles and so on are of each actor's latest finished game."""

    step: int
    total: int
    steps_per_second: float
    score: float
    """mean; NaN before the first game has ended"""
    best: float
    intrinsic: float
    """mean"""
    tiles: float
    """mean"""
    rooms: int
    """most rooms in one game"""


class Display(Protocol):
    """Shows a run's status."""

    def show(self, status: Status) -> None: ...
    def say(self, text: str) -> None: ...
    def close(self) -> None: ...


def short_number(number: float) -> str:
    """1234567 as 1.23M."""
    for unit, name in ((1e9, "B"), (1e6, "M"), (1e3, "k")):
        if abs(number) >= unit:
            return f"{number / unit:.3g}{name}"
    return f"{number:.3g}"


def duration(seconds: float) -> str:
    """Seconds as 3d 04:05 or 1:02:03 or 2:03."""
    if not math.isfinite(seconds):
        return "?"
    minutes, rest = divmod(int(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    days, hours = divmod(hours, 24)
    if days:
        return f"{days}d {hours:02}:{minutes:02}"
    return f"{hours}:{minutes:02}:{rest:02}" if hours else f"{minutes}:{rest:02}"


def describe_way(status: Status) -> str:
    """How far the run is, and how long it will take."""
    left = (status.total - status.step) / max(status.steps_per_second, 1e-9)
    return f"{short_number(status.step)}/{short_number(status.total)} · {duration(left)} left"


def describe(status: Status) -> str:
    """Its speed and results so far."""
    parts = [f"{status.steps_per_second:,.0f} steps/s"]
    if math.isfinite(status.score):
        parts.append(f"score {status.score:,.4g} (best {status.best:,.4g})")
        parts.append(f"intrinsic {status.intrinsic:.1f}")
        parts.append(f"tiles {status.tiles:.1f}")
        parts.append(f"rooms {status.rooms}")
    else:
        parts.append("no game finished yet")
    return " · ".join(parts)


class TwoLines(Progress):
    """A bar, and below it a line of numbers, which would not fit beside it."""

    def get_renderables(self) -> Iterable[RenderableType]:
        yield self.make_tasks_table(self.tasks)
        yield from (Text(task.fields["numbers"]) for task in self.tasks)


class LiveDisplay:
    """A progress bar and a line of numbers that are redrawn in place."""

    def __init__(self, console: Console, name: str) -> None:
        self._progress = TwoLines(
            TextColumn("{task.description}", markup=False),
            BarColumn(bar_width=20),
            TextColumn("{task.fields[where]}"),
            console=console,
            refresh_per_second=4,
        )
        self._task = self._progress.add_task(name, total=1, where="starting", numbers="")

    def show(self, status: Status) -> None:
        self._progress.start()
        self._progress.update(
            self._task,
            total=status.total,
            completed=status.step,
            where=describe_way(status),
            numbers=describe(status),
        )

    def say(self, text: str) -> None:
        self._progress.console.print(Text(text), soft_wrap=True)

    def close(self) -> None:
        self._progress.stop()


class PlainDisplay:
    """A line now and then, for logs and pipes."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._next = time.monotonic() + PLAIN_SECONDS

    def show(self, status: Status) -> None:
        now = time.monotonic()
        if now >= self._next or status.step == status.total:
            self._next = now + PLAIN_SECONDS
            self.say(f"{self._name}: {describe_way(status)} · {describe(status)}")

    def say(self, text: str) -> None:
        print(text, flush=True)

    def close(self) -> None:
        return


class Silence:
    """Shows nothing."""

    def show(self, status: Status) -> None:
        return

    def say(self, text: str) -> None:
        return

    def close(self) -> None:
        return


def display_for(name: str) -> Display:
    """The display that fits where standard output goes."""
    console = Console()
    return LiveDisplay(console, name) if console.is_terminal else PlainDisplay(name)
