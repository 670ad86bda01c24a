"""The loop of one training run, its logs and its checkpoints.

Everything that the loop carries from one update to the next is in the replicas or in `Progress`,
and both are in every checkpoint: a run that was killed and resumed ends with the same bytes as
one that was not.
"""

from __future__ import annotations

import math
import time
from collections.abc import Sequence
from contextlib import closing
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from torch.utils.tensorboard import SummaryWriter

from deepcs.agents.agent import Moment
from deepcs.agents.replicas import DivergedError, Outcome, Replicas
from deepcs.agents.table import find_agent
from deepcs.curiosity.hiding import hidden
from deepcs.runs.checkpoint import (
    Checkpoint,
    prune_checkpoints,
    save_checkpoint,
)
from deepcs.runs.config import RunConfig
from deepcs.runs.folder import RunFolder, Segment, settings_digest
from deepcs.runs.logs import GAMES_COLUMNS, CsvLog, Stand, VisitLog, room_text, stands
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
    sums: dict[str, list[float]] = field(default_factory=dict)
    """column -> sum of the agent's numbers since the last row of curve.csv, and how many"""
    seconds: float = 0.0
    """time spent training"""

    def mean(self, column: str) -> float:
        """Of the agent's numbers since the last row; NaN if there were none."""
        total, count = self.sums.get(column, (0.0, 0))
        return total / count if count else math.nan

    def mean_latest(self, column: int) -> float:
        """Mean over the actors' latest games: 0 score, 1 intrinsic, 2 tiles."""
        if not self.latest:
            return math.nan
        # By actor, not by whose game was over first, which a resumed run does not know.
        return sum(self.latest[actor][column] for actor in sorted(self.latest)) / len(self.latest)

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

    def __init__(
        self,
        folder: RunFolder,
        columns: Sequence[str],
        checkpoint: Checkpoint | None,
        accept_changes: bool = False,
    ) -> None:
        """Continue from the logs' lengths at the checkpoint; None: start new logs.

        columns: of curve.csv. accept_changes: use logs that differ from what the checkpoint
        recorded.
        """
        path, last = folder.path, (folder.staging, accept_changes)
        stood: dict[str, Stand] = {}
        if checkpoint is not None:
            stood = stands(checkpoint.state)
        step = None if checkpoint is None else checkpoint.step
        self.visits = VisitLog(path / "visits.npz", step, stood.get("visits"), *last)
        self.games = CsvLog(path / "games.csv", GAMES_COLUMNS, stood.get("games"), *last)
        self.curve = CsvLog(path / "curve.csv", columns, stood.get("curve"), *last)
        self.tensorboard = SummaryWriter(str(folder.tensorboard), purge_step=(step or 0) + 1)

    def sync(self) -> dict[str, Any]:
        """Flush everything to disk; returns the logs' lengths."""
        logs = {"visits": self.visits.write(), "games": self.games.sync()}
        return {name: vars(each) for name, each in (*logs.items(), ("curve", self.curve.sync()))}

    def close(self) -> None:
        with closing(self.games), closing(self.curve), closing(self.tensorboard):
            pass  # close each, even if another cannot write its last rows


@dataclass
class Stop:
    """Whether the run was told to stop."""

    signal: int | None = None


def total_at(segments: Sequence[Segment], step: int) -> int:
    """The planned total of steps of the segment that trained from a step."""
    return [segment for segment in segments if segment.begins <= step][-1].steps


def segment_ends(segments: Sequence[Segment]) -> set[int]:
    """Steps at which the run had reached the total of an earlier segment."""
    following = [*(segment.begins for segment in segments[1:]), segments[-1].steps]
    pairs = zip(segments, following, strict=True)
    return {segment.steps for segment, begins in pairs if segment.steps == begins}


class Run:
    """A run under way."""

    def __init__(
        self,
        folder: RunFolder,
        config: RunConfig,
        segments: Sequence[Segment],
        checkpoint: Checkpoint | None,
        replicas: Replicas,
        logs: Logs,
        stop: Stop,
        display: Display,
    ) -> None:
        self.folder = folder
        self.config = config
        self.segments = segments
        self.replicas = replicas
        self.logs = logs
        self.stop = stop
        self.display = display
        if checkpoint is None:
            self.progress = Progress()
            replicas.initialise()
        else:
            self.progress = Progress.from_json(checkpoint.state["progress"])
            games_go_on = checkpoint.actors is not None
            replicas.load(checkpoint.weights, checkpoint.learner, games_go_on=games_go_on)
            if checkpoint.actors is not None:
                replicas.restore(checkpoint.actors)
        self._is_watching = checkpoint is None  # whether the mix hides a reward
        self.identity = settings_digest(config)
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
        ends = segment_ends(self.segments)
        while progress.step < step and self.stop.signal is None:
            total = total_at(self.segments, progress.step)
            rate, share = config.learning_rate(progress.step, total), progress.step / total
            following = progress.step + config.update_steps
            logged = following % config.log_every == 0 or following in ends
            update = progress.step // config.update_steps
            self._record(self.replicas.update(Moment(update, rate, logged, share)))
            if logged:
                self._log(rate)
            if progress.step % config.checkpoint_every == 0:
                self.save()
            self._show()

    def _record(self, outcome: Outcome) -> None:
        config, progress = self.config, self.progress
        for game in outcome.games:
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
        for column, number in outcome.columns.items():
            if number == number:
                total, count = progress.sums.get(column, (0.0, 0))
                progress.sums[column] = [total + number, count + 1]
        progress.step += config.update_steps

    def _log(self, rate: float) -> None:
        progress = self.progress
        progress.seconds = time.monotonic() - self._began
        row: dict[str, float] = {
            "step": progress.step,
            "score": progress.mean_latest(0),
            "intrinsic": progress.mean_latest(1),
            "tiles": progress.mean_latest(2),
            **{column: progress.mean(column) for column in find_agent(self.config.agent).columns},
            "learning_rate": rate,
            "games": progress.games,
            "steps_per_second": round(self._steps_per_second(), 1),
            "seconds": round(progress.seconds, 2),
        }
        progress.sums = {}
        self.logs.curve.append({k: "" if v != v else v for k, v in row.items()})
        self.logs.curve.flush()
        self.logs.games.flush()
        self.logs.visits.append(progress.step, self.replicas.take_visits())
        for name, number in row.items():
            if name != "step" and number == number:
                self.logs.tensorboard.add_scalar(name, number, progress.step)
        if self._is_watching:
            self._warn_of_hidden_rewards()

    def _warn_of_hidden_rewards(self) -> None:
        """Say once, after the first steps, if the mix has hidden R or I in all of them."""
        self._is_watching = False
        assert self.config.weight is not None
        sentence = hidden(self.config.weight, self.replicas.rewards_seen())
        if sentence is not None:
            self.display.say(sentence)

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
        self.folder.check_lock()
        weights, vectors = self.replicas.weights(), self.replicas.vectors()
        if not all(np.isfinite(a).all() for a in (*weights.values(), *vectors.values())):
            raise DivergedError("The weights are no longer finite")
        progress.seconds = time.monotonic() - self._began
        logs = self.logs.sync()
        checkpoint = Checkpoint(
            progress.step,
            weights,
            vectors,
            self.replicas.actors() if self.replicas.freezable else None,
            {"progress": progress.to_json(), "logs": logs, "settings": self.identity},
        )
        checkpoints, staging = self.folder.checkpoints, self.folder.staging
        save_checkpoint(checkpoints, checkpoint, staging)
        self.folder.note_saved()
        self.saved_step = progress.step
        prune_checkpoints(checkpoints, progress.step, KEPT, self.config.milestone_every, staging)
