"""The loop of one training run, its logs and its checkpoints.

Everything that the loop carries from one update to the next is in the learner or in `Progress`,
and both are in every checkpoint: a run that was killed and resumed ends with the same bytes as
one that was not.
"""

from __future__ import annotations

import math
import time
from contextlib import closing
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from torch.utils.tensorboard import SummaryWriter

from deepcs.agents.a2c import learning_rate
from deepcs.runs.checkpoint import (
    Checkpoint,
    prune_checkpoints,
    save_checkpoint,
)
from deepcs.runs.config import RunConfig
from deepcs.runs.folder import (
    CURVE_COLUMNS,
    GAMES_COLUMNS,
    CsvLog,
    RunFolder,
    VisitLog,
    room_text,
)
from deepcs.runs.learner import DivergedError, Learner, Rollout
from deepcs.runs.progress import Display, Status

KEPT = 2  # newest checkpoints that are kept beside the milestones
SPEED_SECONDS = 5.0  # over which the displayed speed is measured


@dataclass
class Progress:
    """What the run has seen so far."""

    step: int = 0
    games: int = 0
    best: float = -math.inf
    latest: dict[int, tuple[float, float, int, int]] = field(default_factory=dict)
    """actor -> score, intrinsic, tiles, rooms of its latest finished game"""
    updates: int = 0
    """updates since the last row of curve.csv, over which the sums below run"""
    sums: list[float] = field(default_factory=lambda: [0.0] * 4)
    """entropy, policy loss, value loss, gradient norm"""
    seconds: float = 0.0
    """time spent training"""

    def mean_latest(self, column: int) -> float:
        """Mean over the actors' latest games: 0 score, 1 intrinsic, 2 tiles."""
        if not self.latest:
            return math.nan
        return sum(game[column] for game in self.latest.values()) / len(self.latest)

    def to_json(self) -> dict[str, Any]:
        latest = {str(actor): list(game) for actor, game in sorted(self.latest.items())}
        best = self.best if math.isfinite(self.best) else None
        return {**vars(self), "latest": latest, "best": best}

    @classmethod
    def from_json(cls, saved: dict[str, Any]) -> Progress:
        latest = {int(actor): tuple(game) for actor, game in saved["latest"].items()}
        best = -math.inf if saved["best"] is None else saved["best"]
        return cls(**{**saved, "latest": latest, "best": best})


class Logs:
    """games.csv, curve.csv, visits.npz and TensorBoard of one run."""

    def __init__(self, folder: RunFolder, checkpoint: Checkpoint | None) -> None:
        """Go on where the logs stood at the checkpoint; None: start anew."""
        path, staging = folder.path, folder.staging
        step, stood = None, {"games": None, "curve": None}
        if checkpoint is not None:
            step, stood = checkpoint.step, checkpoint.state["logs"]
        self.visits = VisitLog(path / "visits.npz", step, staging)
        self.games = CsvLog(path / "games.csv", GAMES_COLUMNS, stood["games"], staging)
        self.curve = CsvLog(path / "curve.csv", CURVE_COLUMNS, stood["curve"], staging)
        self.tensorboard = SummaryWriter(str(folder.tensorboard), purge_step=(step or 0) + 1)

    def sync(self) -> dict[str, int]:
        """Bring everything to disk; returns where the files stand."""
        self.visits.write()
        return {"games": self.games.sync(), "curve": self.curve.sync()}

    def close(self) -> None:
        with closing(self.games), closing(self.curve), closing(self.tensorboard):
            pass  # each, even if another cannot write its last rows


@dataclass
class Stop:
    """Whether the run was told to stop."""

    signal: int | None = None


class Run:
    """A run under way."""

    def __init__(
        self,
        folder: RunFolder,
        config: RunConfig,
        checkpoint: Checkpoint | None,
        learner: Learner,
        logs: Logs,
        stop: Stop,
        display: Display,
    ) -> None:
        self.folder = folder
        self.config = config
        self.learner = learner
        self.logs = logs
        self.stop = stop
        self.display = display
        if checkpoint is None:
            self.progress = Progress()
            learner.initialise()
        else:
            self.progress = Progress.from_json(checkpoint.state["progress"])
            learner.load(checkpoint.weights, checkpoint.optimizer)
            if checkpoint.actors is not None:
                learner.restore(checkpoint.actors)
        self.saved_step: int | None = None if checkpoint is None else checkpoint.step
        self._began = time.monotonic() - self.progress.seconds
        self._speed = (time.monotonic(), self.progress.step, 0.0)

    def go(self) -> None:
        """Train until the last step or until told to stop, and save."""
        self.go_until(self.config.steps)
        self.save()

    def go_until(self, step: int) -> None:
        """Train up to a step, or until told to stop."""
        config, progress = self.config, self.progress
        while progress.step < step and self.stop.signal is None:
            rate = learning_rate(config.learner, progress.step, config.steps)
            update = progress.step // config.update_steps
            rollout = self.learner.rollout(update)
            norm = self.learner.update(update, rate)
            self._record(rollout, norm)
            if progress.step % config.log_every == 0 or progress.step == config.steps:
                self._log(rate)
            if progress.step % config.checkpoint_every == 0:
                self.save()
            self._show()

    def _record(self, rollout: Rollout, norm: float) -> None:
        config, progress = self.config, self.progress
        for game in rollout.games:
            record = game.record
            self.logs.games.append(
                {
                    "step": progress.step + (game.t + 1) * config.actors,
                    "actor": game.actor,
                    "score": record.score,
                    "intrinsic": record.intrinsic,
                    "tiles": record.tiles,
                    "steps": record.steps,
                    "rooms": ";".join(map(room_text, record.rooms)),
                }
            )
            rooms = len(record.rooms)
            progress.latest[game.actor] = (record.score, record.intrinsic, record.tiles, rooms)
            progress.best = max(progress.best, record.score)
            progress.games += 1
        loss = rollout.loss
        for i, number in enumerate((loss.entropy, loss.policy, loss.value, norm)):
            progress.sums[i] += number
        progress.updates += 1
        progress.step += config.update_steps

    def _log(self, rate: float) -> None:
        progress = self.progress
        progress.seconds = time.monotonic() - self._began
        entropy, policy, value, norm = (total / progress.updates for total in progress.sums)
        row: dict[str, float] = {
            "step": progress.step,
            "score": progress.mean_latest(0),
            "intrinsic": progress.mean_latest(1),
            "entropy": entropy,
            "policy_loss": policy,
            "value_loss": value,
            "gradient_norm": norm,
            "learning_rate": rate,
            "games": progress.games,
            "steps_per_second": round(self._steps_per_second(), 1),
            "seconds": round(progress.seconds, 2),
        }
        progress.updates, progress.sums = 0, [0.0] * 4
        self.logs.curve.append({k: "" if v != v else v for k, v in row.items()})
        self.logs.curve.flush()
        self.logs.games.flush()
        self.logs.visits.append(progress.step, self.learner.take_visits())
        for name, number in row.items():
            if name != "step" and number == number:
                self.logs.tensorboard.add_scalar(name, number, progress.step)

    def _steps_per_second(self) -> float:
        """Speed over the last seconds."""
        when, step, speed = self._speed
        now = time.monotonic()
        if now - when >= SPEED_SECONDS or speed == 0.0:
            speed = (self.progress.step - step) / max(now - when, 1e-9)
            if now - when >= SPEED_SECONDS:
                self._speed = (now, self.progress.step, speed)
        return speed

    def _show(self) -> None:
        progress = self.progress
        self.display.show(
            Status(
                step=progress.step,
                total=self.config.steps,
                steps_per_second=self._steps_per_second(),
                score=progress.mean_latest(0),
                best=progress.best,
                intrinsic=progress.mean_latest(1),
                tiles=progress.mean_latest(2),
                rooms=max((game[3] for game in progress.latest.values()), default=0),
            )
        )

    def save(self) -> None:
        """Write a checkpoint, unless this step has one; prune older ones."""
        progress = self.progress
        if progress.step == self.saved_step:
            return
        weights, optimizer = self.learner.weights(), self.learner.optimizer()
        if not all(np.isfinite(a).all() for a in (*weights.values(), *optimizer.values())):
            raise DivergedError("The weights are no longer finite")
        progress.seconds = time.monotonic() - self._began
        logs = self.logs.sync()
        checkpoint = Checkpoint(
            progress.step,
            weights,
            optimizer,
            self.learner.actors() if self.learner.freezable else None,
            {"progress": progress.to_json(), "logs": logs},
        )
        checkpoints, staging = self.folder.checkpoints, self.folder.staging
        save_checkpoint(checkpoints, checkpoint, staging)
        self.saved_step = progress.step
        prune_checkpoints(checkpoints, progress.step, KEPT, self.config.milestone_every, staging)
