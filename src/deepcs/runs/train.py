"""Starting, resuming and extending a run, and what becomes of it when it must stop."""

from __future__ import annotations

import dataclasses
import os
import signal
import threading
from collections.abc import Iterator
from contextlib import ExitStack, closing, contextmanager
from pathlib import Path
from types import FrameType

from deepcs.agents.replicas import DivergedError, Replicas, check_workers
from deepcs.runs.checkpoint import clear_unfinished, newest_checkpoint
from deepcs.runs.config import FORMAT, RunConfig, versions
from deepcs.runs.folder import RunError, RunFolder, SavedRun, Segment, curve_columns
from deepcs.runs.lease import Lease, LeaseLostError, Terms
from deepcs.runs.loop import Logs, Run, Stop
from deepcs.runs.progress import Display, Silence, Status
from deepcs.system import limits
from deepcs.system.limits import check_whole
from deepcs.system.process import WorkerError

BEFORE_CONFIG = {"lock", "lease", ".config.json.new"}  # all that a run killed at its birth leaves


class StoppedError(RuntimeError):
    """The run cannot go on; what was saved is safe."""


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
    lease: Terms | None = None,
) -> int | None:
    """Train into a folder; goes on where a run of the same settings stands.

    lease: hold the folder by a lease, also against other machines that share its storage.
    Returns the number of the signal that stopped it, or None when the run is finished. Raises
    ValueError (also RunError) for what cannot be done as asked, StoppedError when the run had to
    stop.
    """
    check_workers(workers)  # before anything is written, as all that can be refused
    chosen_shards = config.shards
    config = config.resolved()
    folder = RunFolder(out)
    if not folder.holds_run:
        config = config.fitted()  # refuses what cannot be trained in
        if folder.path.is_dir() and not BEFORE_CONFIG.issuperset(os.listdir(folder.path)):
            raise RunError(
                f"{folder.path} holds files that are not a run's; give an empty or new --out."
            )
        folder.lock(lease)
        try:
            if not folder.holds_run:  # nobody was quicker
                segments = [Segment(0, config.steps)]
                return _execute(folder, config, workers, display or Silence(), segments)
        finally:
            folder.unlock()
    begun = folder.read_config().config.resolved()
    # What was not asked for stays as it was chosen where the run began.
    if chosen_shards == 0:
        config = dataclasses.replace(config, shards=begun.shards)
    if config.network == "auto":
        config = dataclasses.replace(config, network=begun.network)
    if dataclasses.replace(begun, steps=config.steps) != config:
        different = [
            f"{f.name} {getattr(begun, f.name)!r}, not {getattr(config, f.name)!r}"
            for f in dataclasses.fields(config)
            if f.name != "steps" and getattr(begun, f.name) != getattr(config, f.name)
        ]
        raise RunError(
            f"{folder.path} holds a run of other settings ({'; '.join(different)}); "
            "give another --out."
        )
    return resume(folder.path, steps=config.steps, workers=workers, display=display, lease=lease)


def resume(
    path: Path | str,
    *,
    steps: int | None = None,
    workers: int | None = None,
    display: Display | None = None,
    lease: Terms | None = None,
) -> int | None:
    """Go on with a run, exactly; `steps`: a new, larger total. Returns and raises as `train`."""
    if steps is not None:
        check_whole("steps {}", steps, 1, limits.STEPS, refusal=RunError)
    check_workers(workers)
    folder = RunFolder(path)
    folder.read_config()  # refuses what is no run before a lock is left there
    folder.lock(lease)
    try:
        return _resume(folder, steps, workers, display or Silence())
    finally:
        folder.unlock()


def _resume(
    folder: RunFolder, steps: int | None, workers: int | None, display: Display
) -> int | None:
    saved = folder.read_config()
    _check_made_by(folder, saved, display)
    config, segments = saved.config.resolved(), None
    if steps is not None and config.whole_updates(steps) != config.steps:
        total = config.whole_updates(steps)
        checkpoint, _ = newest_checkpoint(folder.checkpoints)
        begins = 0 if checkpoint is None else checkpoint.step
        if total < begins:
            raise RunError(
                f"Got {steps} steps, but {folder.path} has {begins} already; give a larger total."
            )
        config = dataclasses.replace(config, steps=total)
        segments = [*saved.segments, Segment(begins, total)]
    return _execute(folder, config, workers, display, segments)


def _check_made_by(folder: RunFolder, saved: SavedRun, display: Display) -> None:
    """Refuse a run of another format; say it where other sources made the run."""
    ours = versions()
    if saved.format != FORMAT:
        raise RunError(
            f"{folder.path} was trained by deepcs {saved.versions['deepcs']} (format "
            f"{saved.format}), this is {ours['deepcs']} (format {FORMAT}); it can be evaluated, "
            "recorded and reported here, but to go on, install that version."
        )
    if saved.versions.get("sources") != ours["sources"]:
        display.say(
            f"{folder.path} was begun by other sources of deepcs ({saved.versions['deepcs']}) than "
            f"these ({ours['deepcs']}): it goes on, but not promised to the bit."
        )


def _execute(
    folder: RunFolder,
    config: RunConfig,
    workers: int | None,
    display: Display,
    segments: list[Segment] | None,
) -> int | None:
    """Train on; `segments`: those to be saved first, if they are new."""
    try:
        if segments is not None:
            folder.write_config(config, segments)
        return _go_on(folder, config, workers, display)
    except DivergedError as error:
        again = "It would go the same way again: train anew with a smaller learning rate."
        raise StoppedError(_stopped(folder, str(error), again)) from error
    except WorkerError as error:
        raise StoppedError(_stopped(folder, str(error).rstrip("."))) from error
    except LeaseLostError as error:
        raise StoppedError(f"{error}.") from error
    except OSError as error:
        if folder.lease is not None and folder.lease.lost:
            raise StoppedError(f"{folder.lease.loss}.") from error
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
        replicas = opened.enter_context(closing(Replicas(config.training(), workers)))
        if checkpoint is not None and checkpoint.actors is None:
            display.say("This environment has no snapshot(): games under way start afresh.")
        elif not replicas.freezable:
            display.say("This environment has no snapshot(): a resumed run will not be exact.")
        columns = curve_columns(config.agent)
        logs = opened.enter_context(closing(Logs(folder, columns, checkpoint)))
        if folder.lease is not None:
            display = Renewing(display, folder.lease)
        run = Run(folder, config, checkpoint, replicas, logs, stop, display)
        try:
            run.go()
        except DivergedError as error:
            raise DivergedError(f"{error} at step {run.progress.step:,}") from error
        return stop.signal if run.progress.step < config.steps else None


class Renewing:
    """A display that renews the lease with every update, or says that it is lost."""

    def __init__(self, display: Display, lease: Lease) -> None:
        self._lease = lease
        self._display = display
        self.say = display.say
        self.close = display.close

    def show(self, status: Status) -> None:
        self._lease.renew()
        self._display.show(status)


def _stopped(folder: RunFolder, why: str, then: str = "") -> str:
    checkpoint, _ = newest_checkpoint(folder.checkpoints)
    safe = "nothing was saved yet"
    if checkpoint is not None:
        safe = f"the checkpoint of step {checkpoint.step:,} is safe"
    return f"{why}; {safe}. {then or f'Go on with: deepcs resume {folder.path}'}"
