"""Training that kills itself at a chosen system call, over and over, until it is done.

A parent with everything imported forks a child for each attempt; the child counts the calls that
change the disk and dies at one of them by SIGKILL: before it, after it, or half-way through a
write. What it leaves is what a power cut would leave, as far as one process can tell.
"""

from __future__ import annotations

import os
import signal
import stat
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import Any

from deepcs.runs.config import RunConfig
from deepcs.runs.progress import Silence
from deepcs.runs.train import train

CALLS = ("fsync", "rename", "replace", "mkdir", "rmdir", "unlink", "open")
LATEST = 50  # number of the latest call to die at: a checkpoint takes some thirty


@dataclass
class Placed:
    """Where to die."""

    countdown: int
    """calls that change the disk until then"""
    moment: str
    """before, after or half"""

    def around(self, call: Callable[..., Any]) -> Callable[..., Any]:
        def counted(*args: Any, **kwargs: Any) -> Any:
            self.countdown -= 1
            if self.countdown == 0 and self.moment == "before":
                die()
            result = call(*args, **kwargs)
            if self.countdown == 0 and self.moment == "after":
                die()
            return result

        return counted

    def halving(self, fsync: Callable[[int], None]) -> Callable[[int], None]:
        """os.fsync, before which half of what was written since the last one is taken back."""
        durable: dict[tuple[int, int], int] = {}

        def counted(descriptor: int) -> None:
            found = os.fstat(descriptor)
            file = found.st_dev, found.st_ino
            if self.countdown == 1 and stat.S_ISREG(found.st_mode):
                safe = durable.get(file, 0)
                os.truncate(descriptor, safe + (found.st_size - safe) // 2)
                die()
            fsync(descriptor)
            durable[file] = found.st_size

        return counted


def die() -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def attempt(config: RunConfig, out: Path, placed: Placed) -> bool:
    """Train in a child that dies where it is told; whether it got to the end before that."""
    child = os.fork()
    if child == 0:
        _train_and_die(config, out, placed)
    _, status = os.waitpid(child, 0)
    if os.WIFSIGNALED(status):
        assert os.WTERMSIG(status) == signal.SIGKILL
        return False
    assert os.WEXITSTATUS(status) == 0, f"a resume after a kill failed in {out}"
    return True


def _train_and_die(config: RunConfig, out: Path, placed: Placed) -> None:
    code = 1
    try:
        for name in CALLS:
            setattr(os, name, placed.around(getattr(os, name)))
        if placed.moment == "half":
            os.fsync = placed.halving(os.fsync)
        train(config, out, workers=1, display=Silence())
        code = 0
    except BaseException as error:
        print(f"{type(error).__name__}: {error}", flush=True)
    finally:
        os._exit(code)


def train_with_placed_kills(config: RunConfig, out: Path, rng: Random, most: int) -> int:
    """Train, killed at placed calls, at most so often; then to the end. Returns how often."""
    for kills in range(most):
        placed = Placed(rng.randint(1, LATEST), rng.choice(["before", "after", "half"]))
        if attempt(config, out, placed):
            return kills
    never = Placed(-1, "never")
    assert attempt(config, out, never)
    return most
