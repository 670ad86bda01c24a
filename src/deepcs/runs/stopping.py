"""What ends a run before its time: signals, a reader that leaves, errors, and what they say."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

from deepcs.agents.replicas import DivergedError
from deepcs.runs.checkpoint import newest_checkpoint
from deepcs.runs.errors import LockLostError
from deepcs.runs.folder import RunFolder
from deepcs.runs.lease import Lease, LeaseLostError
from deepcs.runs.loop import Stop
from deepcs.runs.progress import Display, Status
from deepcs.system.process import WorkerError


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


@contextmanager
def in_sentences(folder: RunFolder) -> Iterator[None]:
    """What stops a run becomes a StoppedError that says what is safe."""
    try:
        yield
    except DivergedError as error:
        again = f"It would go the same way again: {error.advice}."
        raise StoppedError(_stopped(folder, str(error), again)) from error
    except WorkerError as error:
        raise StoppedError(_stopped(folder, str(error).rstrip("."))) from error
    except (LeaseLostError, LockLostError) as error:
        raise StoppedError(f"{error}.") from error
    except OSError as error:
        if folder.lease is not None and folder.lease.lost:
            raise StoppedError(f"{folder.lease.loss}.") from error
        raise StoppedError(_stopped(folder, f"Could not write ({error})")) from error


def _stopped(folder: RunFolder, why: str, then: str = "") -> str:
    checkpoint, _ = newest_checkpoint(folder.checkpoints)
    if checkpoint is None:
        return f"{why}; nothing was saved yet. {then or 'Begin again with the same command.'}"
    safe = f"the checkpoint of step {checkpoint.step:,} is safe"
    return f"{why}; {safe}. {then or f'Go on with: deepcs resume {folder.path}'}"


class Heard:
    """A display whose reader may leave, as in `deepcs train | head`; it then saves and ends."""

    def __init__(self, display: Display, stop: Stop) -> None:
        self._display = display
        self._stop = stop

    def show(self, status: Status) -> None:
        with self._leaving():
            self._display.show(status)

    def say(self, text: str) -> None:
        with self._leaving():
            self._display.say(text)

    def close(self) -> None:
        with self._leaving():
            self._display.close()

    @contextmanager
    def _leaving(self) -> Iterator[None]:
        try:
            yield
        except BrokenPipeError:
            self._stop.signal = signal.SIGPIPE


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
