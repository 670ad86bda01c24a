"""Ray clusters on loopback, and what runs on their nodes."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

import psutil

T = TypeVar("T")
TRIES = 5


def patiently(start: Callable[[], T]) -> T:
    """Start a node; Ray gives it 30 seconds, which a busy machine may miss."""
    for _ in range(TRIES - 1):
        try:
            return start()
        except Exception as error:
            if "timed out during startup" not in str(error):
                raise
    return start()


def node_processes(node: object) -> list[psutil.Process]:
    """A node's raylet and everything below it: its workers and the runs they started."""
    (raylet,) = node.all_processes["raylet"]  # type: ignore[attr-defined]
    parent = psutil.Process(raylet.process.pid)
    return [parent, *parent.children(recursive=True)]


def is_run(process: psutil.Process) -> bool:
    """Whether it is the process of a run, and not the shell that shelters it."""
    command = process.cmdline()
    return "deepcs.studies.job" in command and "sh" not in command


def epochs(run: Path) -> list[str]:
    """Which leases there are on a run."""
    return sorted(path.name for path in (run / "lease").glob("[0-9]*"))
