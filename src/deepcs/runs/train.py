"""One training run: the loop, its logs, its checkpoints.

Everything that the loop carries from one update to the next is in the learner or in `Progress`,
and both are in every checkpoint: a run that was killed and resumed ends with the same bytes as
one that was not.
"""

from __future__ import annotations

import dataclasses
import math
import os
import signal
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack, closing, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from types import FrameType
from typing import Any

import numpy as np
from torch.utils.tensorboard import SummaryWriter

from deepcs.agents.a2c import learning_rate
from deepcs.envs.process import WorkerError
from deepcs.runs.checkpoint import (
    Checkpoint,
    clear_unfinished,
    newest_checkpoint,
    prune_checkpoints,
    save_checkpoint,
)
from deepcs.runs.config import RunConfig, versions
from deepcs.runs.folder import (
    CURVE_COLUMNS,
    GAMES_COLUMNS,
    CsvLog,
    RunError,
    RunFolder,
    Segment,
    VisitLog,
    room_text,
)
from deepcs.runs.learner import DivergedError, Learner, Rollout
from deepcs.runs.progress import Display, Silence, Status
from deepcs.runs.shard import look_at_world

KEPT = 2  # newest checkpoints that are kept beside the milestones
BEFORE_CONFIG = {"lock", ".config.json.new"}  # all that a run killed at its birth leaves
SPEED_SECONDS = 5.0  # over which the displayed speed is measured


class StoppedError(RuntimeError):
    """The run cannot go on; what was saved is safe."""


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
        path, step, stood = folder.path, None, {"games": None, "curve": None}
        if checkpoint is not None:
            step, stood = checkpoint.step, checkpoint.state["logs"]
        self.visits = VisitLog(path / "visits.npz", step)
        self.games = CsvLog(path / "games.csv", GAMES_COLUMNS, stood["games"])
        self.curve = CsvLog(path / "curve.csv", CURVE_COLUMNS, stood["curve"])
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
            rate = learning_rate(config.a2c, progress.step, config.steps)
            rollout = self.learner.rollout(progress.step // config.update_steps)
            norm = self.learner.update(rate)
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
        save_checkpoint(self.folder.checkpoints, checkpoint)
        self.saved_step = progress.step
        prune_checkpoints(self.folder.checkpoints, progress.step, KEPT, self.config.milestone_every)


@contextmanager
def stopping_on_signals() -> Iterator[Stop]:
    """Ctrl-C and SIGTERM end the run after the update under way."""
    stop = Stop()
    if threading.current_thread() is not threading.main_thread():
        yield stop  # Python hands signals to the main thread only
        return

    def note(number: int, frame: FrameType | None) -> None:
        stop.signal = number

    before = {number: signal.signal(number, note) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield stop
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def train(
    config: RunConfig,
    out: Path | str,
    *,
    workers: int | None = None,
    display: Display | None = None,
) -> int | None:
    """Train into a folder; goes on where a run of the same settings stands.

    Returns the number of the signal that stopped it, or None when the run is finished. Raises
    ValueError (also RunError) for what cannot be done as asked, StoppedError when the run had to
    stop.
    """
    chosen_shards = config.shards
    config = config.resolved()
    folder = RunFolder(out)
    if not folder.holds_run:
        look_at_world(config)  # refuses what cannot be trained in before anything is written
        if folder.path.is_dir() and not BEFORE_CONFIG.issuperset(os.listdir(folder.path)):
            raise RunError(
                f"{folder.path} holds files that are not a run's; give an empty or new --out."
            )
        folder.lock()
        try:
            if not folder.holds_run:  # nobody was quicker
                folder.write_config(config, [Segment(0, config.steps)])
                return _execute(folder, config, workers, display or Silence())
        finally:
            folder.unlock()
    saved = folder.read_config()
    if chosen_shards == 0:  # not asked for: what was chosen where the run began stays
        config = dataclasses.replace(config, shards=saved.config.shards)
    if dataclasses.replace(saved.config, steps=config.steps) != config:
        different = [
            f"{f.name} {getattr(saved.config, f.name)!r}, not {getattr(config, f.name)!r}"
            for f in dataclasses.fields(config)
            if f.name != "steps" and getattr(saved.config, f.name) != getattr(config, f.name)
        ]
        raise RunError(
            f"{folder.path} holds a run of other settings ({'; '.join(different)}); "
            "give another --out."
        )
    return resume(folder.path, steps=config.steps, workers=workers, display=display)


def resume(
    path: Path | str,
    *,
    steps: int | None = None,
    workers: int | None = None,
    display: Display | None = None,
) -> int | None:
    """Go on with a run, exactly; `steps`: a new, larger total. Returns and raises as `train`."""
    if steps is not None and steps < 1:
        raise RunError(f"Got steps {steps}; give a whole number from 1 up.")
    folder = RunFolder(path)
    folder.read_config()  # refuses what is no run before a lock is left there
    folder.lock()
    try:
        return _resume(folder, steps, workers, display or Silence())
    finally:
        folder.unlock()


def _resume(
    folder: RunFolder, steps: int | None, workers: int | None, display: Display
) -> int | None:
    saved = folder.read_config()
    if saved.versions["deepcs"] != versions()["deepcs"]:
        raise RunError(
            f"{folder.path} was trained by deepcs {saved.versions['deepcs']}, this is "
            f"{versions()['deepcs']}; install that version to go on exactly."
        )
    config = saved.config.resolved()
    if steps is not None and config.whole_updates(steps) != config.steps:
        total = config.whole_updates(steps)
        checkpoint, _ = newest_checkpoint(folder.checkpoints)
        begins = 0 if checkpoint is None else checkpoint.step
        if total < begins:
            raise RunError(
                f"Got {steps} steps, but {folder.path} has {begins} already; give a larger total."
            )
        config = dataclasses.replace(config, steps=total)
        folder.write_config(config, [*saved.segments, Segment(begins, total)])
    return _execute(folder, config, workers, display)


def _execute(
    folder: RunFolder, config: RunConfig, workers: int | None, display: Display
) -> int | None:
    try:
        return _go_on(folder, config, workers, display)
    except DivergedError as error:
        again = "It would go the same way again: train anew with a smaller learning rate."
        raise StoppedError(_stopped(folder, str(error), again)) from error
    except WorkerError as error:
        raise StoppedError(_stopped(folder, str(error).rstrip("."))) from error
    except OSError as error:
        raise StoppedError(_stopped(folder, f"Could not write ({error})")) from error


def _go_on(
    folder: RunFolder, config: RunConfig, workers: int | None, display: Display
) -> int | None:
    with stopping_on_signals() as stop, ExitStack() as opened:
        opened.enter_context(closing(display))
        clear_unfinished(folder.checkpoints)
        checkpoint, damaged = newest_checkpoint(folder.checkpoints)
        for sentence in damaged:
            display.say(f"{sentence} Going on from the one before it.")
        if checkpoint is not None and checkpoint.step >= config.steps:
            display.say(f"{folder.path} is finished: {checkpoint.step:,} steps.")
            return None
        learner = opened.enter_context(closing(Learner(config, workers)))
        if checkpoint is not None and checkpoint.actors is None:
            display.say("This environment has no snapshot(): games under way start afresh.")
        elif not learner.freezable:
            display.say("This environment has no snapshot(): a resumed run will not be exact.")
        logs = opened.enter_context(closing(Logs(folder, checkpoint)))
        run = Run(folder, config, checkpoint, learner, logs, stop, display)
        try:
            run.go()
        except DivergedError as error:
            raise DivergedError(f"{error} at step {run.progress.step:,}") from error
        return stop.signal if run.progress.step < config.steps else None


def _stopped(folder: RunFolder, why: str, then: str = "") -> str:
    checkpoint, _ = newest_checkpoint(folder.checkpoints)
    safe = "nothing was saved yet"
    if checkpoint is not None:
        safe = f"the checkpoint of step {checkpoint.step:,} is safe"
    return f"{why}; {safe}. {then or f'Go on with: deepcs resume {folder.path}'}"
