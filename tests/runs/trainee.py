"""Training in a process of its own, to be killed at chosen moments, and what it leaves compared."""

from __future__ import annotations

import csv
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from random import Random
from typing import Any

from deepcs.runs.checkpoint import MANIFEST, checkpoint_steps
from deepcs.runs.config import RunConfig
from deepcs.runs.logs import TIME_COLUMNS
from deepcs.runs.saved_config import to_json
from deepcs.runs.train import train

TRAIN = """
import json, sys
from deepcs.runs.saved_config import from_json
from deepcs.runs.train import StoppedError, train
try:
    print(train(from_json(json.loads(sys.argv[1])), sys.argv[2], workers=int(sys.argv[3])))
except StoppedError as error:
    sys.exit(f"StoppedError: {error}")
"""
PATIENCE = 240.0  # seconds for anything to happen, on a machine with much else to do


class Trainee:
    """A process that trains, or goes on training, into a folder."""

    def __init__(
        self, config: RunConfig, out: Path, *, workers: int = 1, program: str = TRAIN
    ) -> None:
        self.checkpoints = out / "checkpoints"
        self.events = out / "tensorboard"
        self._event_files = len(list(self.events.glob("*")))
        self._newest = self._newest_step()
        settings = json.dumps(to_json(config))
        self.popen = subprocess.Popen(
            [sys.executable, "-c", program, settings, str(out), str(workers)],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            cwd=Path(__file__).parent,  # where module:factory of own_envs.py is found
            start_new_session=True,
        )

    def __enter__(self) -> Trainee:
        return self

    def __exit__(self, *_: object) -> None:
        self.popen.kill()
        self.popen.communicate()

    def _newest_step(self) -> int:
        return max(checkpoint_steps(self.checkpoints), default=-1)

    def begun(self) -> bool:
        """It has read its checkpoint and opened its logs."""
        return len(list(self.events.glob("*"))) > self._event_files

    def saved(self) -> bool:
        """It has written a checkpoint of its own."""
        return self._newest_step() > self._newest

    def saving(self) -> bool:
        """It is writing a checkpoint right now."""
        return self.begun() and any(self.checkpoints.glob(".*.new"))

    def wait_until(self, what: Callable[[], bool]) -> bool:
        """Wait until something is so; False if the process has ended before."""
        end = time.monotonic() + PATIENCE
        while not what():
            if self.popen.poll() is not None:
                return False
            assert time.monotonic() < end, "nothing happened"
            time.sleep(0.001)
        return True

    def kill(self) -> bool:
        """SIGKILL; False if it had ended already."""
        self.popen.kill()
        self.popen.communicate()
        return self.popen.returncode == -signal.SIGKILL

    def send(self, number: int, *, group: bool = False) -> None:
        os.kill(-self.popen.pid if group else self.popen.pid, number)

    def finish(self) -> tuple[int, str, str]:
        """Wait for its end: exit code, what it printed, what it complained of."""
        out, err = self.popen.communicate(timeout=PATIENCE)
        return self.popen.returncode, out.strip(), err.strip()


MOMENTS = {
    "at the start": (Trainee.begun, 0.3),
    "after a checkpoint": (Trainee.saved, 1.0),
    "while saving": (Trainee.saving, 0.02),
}
"""What to wait for before the kill, and up to how many seconds longer."""


def train_with_kills(
    config: RunConfig, out: Path, moments: list[str], rng: Random, workers: int = 1
) -> tuple[int, int]:
    """Train, killed at each of the moments in turn, then here to the end.

    Returns how many kills hit, and how many of them left a checkpoint half-written.
    """
    kills = halves = 0
    for moment in moments:
        event, longest = MOMENTS[moment]
        with Trainee(config, out, workers=workers) as trainee:
            if trainee.wait_until(lambda t=trainee, e=event: e(t)):
                time.sleep(rng.uniform(0, longest))
            kills += trainee.kill()
            halves += any(trainee.checkpoints.glob(".*.new"))
    time.sleep(1)  # TensorBoard orders its files by the second in which they were begun
    assert train(config, out, workers=workers) is None
    return kills, halves


def result_of(out: Path) -> dict[str, Any]:
    """All that must be the same of two runs, by name."""
    step = checkpoint_steps(out / "checkpoints")[-1]
    newest = out / "checkpoints" / str(step)
    result: dict[str, Any] = {"checkpoints": checkpoint_steps(out / "checkpoints")}
    parts = [p for p in newest.iterdir() if p.name not in ("state.json", MANIFEST)]
    result |= {part.name: part.read_bytes() for part in parts}
    state = json.loads((newest / "state.json").read_bytes())
    del state["state"]["progress"]["seconds"]
    del state["state"]["logs"]["curve"]  # bytes, of which time columns take more or fewer
    result["state.json"] = state
    for name in ("config.json", "games.csv", "visits.npz"):
        result[name] = (out / name).read_bytes()
    with (out / "curve.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    result["curve.csv"] = [
        {name: cell for name, cell in row.items() if name not in TIME_COLUMNS} for row in rows
    ]
    return result


def assert_same_run(one: Path, other: Path, *, but: tuple[str, ...] = ()) -> None:
    ours, theirs = result_of(one), result_of(other)
    different = [name for name in ours if name not in but and ours[name] != theirs[name]]
    assert not different, f"{one} and {other} differ in {', '.join(different)}"
