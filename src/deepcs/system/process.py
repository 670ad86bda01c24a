"""A worker process, controlled by its parent over a pipe and sharing its memory.

Started as `python -m deepcs.system.process CONNECTION_FD MEMORY_FD`, so that nothing of the parent
is imported or forked: it works from a notebook and from a script without a main guard, and loads
torch only if its work needs it. It ends when its parent does, because its pipe then closes; the
memory is anonymous and freed when the last process that holds it has ended.
"""

from __future__ import annotations

import mmap
import os
import pickle
import select
import signal
import subprocess
import sys
import tempfile
import time
import traceback
import warnings
from collections.abc import Callable, Sequence
from multiprocessing.connection import Connection, Pipe
from typing import Any

from deepcs.system.first import first_calls
from deepcs.system.snapshot import SnapshotError
from deepcs.system.warning import DeepcsWarning, told_to

# How long to spin, polling for a message, before going to sleep: waking a sleeping core can take
# half a millisecond on a virtual machine. A spinning process yields the core to any that has work.
SPIN_SECONDS = 0.005
CLOSE_SECONDS = 5.0  # how long a process may take to end before it is killed
HUNG_UP = (EOFError, BrokenPipeError, ConnectionResetError)


def cores() -> int:
    """Cores that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


class WorkerError(RuntimeError):
    """A worker process died, or what it was asked to do failed."""

    def __init__(self, sentence: str, trace: str = "") -> None:
        super().__init__(sentence)
        self.trace = trace
        """the worker's traceback; empty: there was none"""


class Line:
    """A connection whose reader may spin for a while before it sleeps."""

    def __init__(self, connection: Connection[Any, Any], spins: bool) -> None:
        self._connection = connection
        self._spins = spins
        self._poll = select.poll()
        self._poll.register(connection.fileno(), select.POLLIN)
        self.fileno = connection.fileno
        self.send_bytes = connection.send_bytes
        self.close = connection.close

    def recv_bytes(self, spins: bool = False) -> bytes:
        """The next message; raises EOFError when the other side has ended."""
        until = time.monotonic() + SPIN_SECONDS
        spins = spins or self._spins
        while spins and not self.has_news() and time.monotonic() < until:
            os.sched_yield()
        return self._connection.recv_bytes()

    def has_news(self) -> bool:
        """Whether there is a message, or the other side has ended."""
        return bool(self._poll.poll(0))

    def send(self, message: Any) -> None:
        self.send_bytes(pickle.dumps(message))

    def recv(self) -> Any:
        return pickle.loads(self.recv_bytes())


class Process:
    """The parent's end: call methods of the object that lives in the other process."""

    def __init__(
        self,
        name: str,
        memory_fd: int,
        spins: bool,
        build: Callable[..., Any],
        *args: Any,
        keep_open: Sequence[int] = (),
        advice: str = "start again, or resume from a checkpoint",
    ) -> None:
        """`build(memory, *args)` makes the object in the other process; name: for messages.

        spins: poll for answers for a while, for which there must be a core to spare. keep_open:
        file descriptors that stay open there, under the same numbers. advice: what to do if it
        dies.
        """
        import cloudpickle  # pickles functions of a notebook or a script by value

        self.name = name
        self.advice = advice
        ours, theirs = Pipe()
        self.line = Line(ours, spins)
        # One thread each: as many processes as cores run already.
        environment = {**os.environ, "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
        # Ctrl-C, and a SIGTERM to the whole group, are the parent's to handle: a child inherits
        # what is blocked here, so it ignores both from the start.
        before = signal.pthread_sigmask(signal.SIG_BLOCK, (signal.SIGINT, signal.SIGTERM))
        try:
            self.popen = subprocess.Popen(
                [
                    sys.executable,
                    "-P",  # nothing is imported from the current folder unasked
                    "-m",
                    "deepcs.system.process",
                    str(theirs.fileno()),
                    str(memory_fd),
                ],
                pass_fds=(theirs.fileno(), memory_fd, *keep_open),
                env=environment,
            )
        finally:
            signal.pthread_sigmask(signal.SIG_SETMASK, before)
        theirs.close()
        self._send(pickle.dumps(sys.path))
        self._send(cloudpickle.dumps((first_calls(), build, args)))

    def ask(self, verb: str, *args: Any) -> None:
        """Start a method call; `answer` waits for its result."""
        self._send(pickle.dumps((verb, args)))

    def answer(self, spins: bool = False) -> Any:
        """Wait for what was asked, spinning for a while if `spins`.

        Raises WorkerError if the process is dead or the call failed, and SnapshotError, after
        which the process is as it was, if a snapshot was refused.
        """
        try:
            message = self.line.recv_bytes(spins)
        except (EOFError, OSError) as error:
            raise self._dead() from error
        outcome, value = pickle.loads(message)
        if outcome == "warned":
            sentences, (outcome, value) = value
            for sentence in sentences:
                warnings.warn(sentence, DeepcsWarning, stacklevel=2)
        if outcome == "refused":
            raise SnapshotError(value)
        if outcome == "failed":
            raise WorkerError(f"{self.name} stopped: {value[0]}", value[1])
        return value

    def _send(self, message: bytes) -> None:
        try:
            self.line.send_bytes(message)
        except OSError as error:
            raise self._dead() from error

    def _dead(self) -> WorkerError:
        code = self._wait()
        killed = code < 0
        how = f"was killed by {signal.Signals(-code).name}" if killed else f"ended with code {code}"
        return WorkerError(f"{self.name}, process {self.popen.pid}, {how}; {self.advice}.")

    def _wait(self) -> int:
        try:
            return self.popen.wait(CLOSE_SECONDS)
        except subprocess.TimeoutExpired:
            self.popen.kill()
            return self.popen.wait()

    def close(self) -> None:
        """Close the pipe: the process ends by itself, or is killed."""
        self.line.close()
        self._wait()


def shared_memory(size: int) -> int:
    """File descriptor of anonymous memory that processes can share."""
    if hasattr(os, "memfd_create"):
        descriptor = os.memfd_create("deepcs-pool")
    else:
        with tempfile.TemporaryFile() as file:
            descriptor = os.dup(file.fileno())
    os.ftruncate(descriptor, size)
    return descriptor


def serve(connection: Line, memory_fd: int) -> None:
    """Build what the first messages ask for, then serve calls until the parent closes the pipe.

    Warnings of deepcs go to the parent with the next answer.
    """
    sentences: list[str] = []

    def reply(answer: tuple[str, Any]) -> None:
        connection.send(("warned", (sentences, answer)) if sentences else answer)
        sentences.clear()

    with told_to(sentences.append):
        _serve(connection, memory_fd, reply)


def _serve(connection: Line, memory_fd: int, reply: Callable[[tuple[str, Any]], None]) -> None:
    sys.path[:] = connection.recv()
    servant: Any = None
    try:
        first, build, args = connection.recv()
        for do, its_args in first:
            do(*its_args)
        servant = build(mmap.mmap(memory_fd, 0), *args)
        idle = getattr(servant, "idle", None)
        reply(("done", None))
        while True:
            verb, args = connection.recv()
            try:
                answer = "done", getattr(servant, verb)(*args)
            except SnapshotError as error:
                answer = "refused", str(error)
            reply(answer)
            if idle is not None:  # work to do until the parent calls
                idle(connection.has_news)
    except HUNG_UP:
        raise
    except Exception as error:
        *_, last = traceback.extract_tb(error.__traceback__)
        what = f"{type(error).__name__}: {error} ({last.filename}, line {last.lineno})"
        reply(("failed", (what, traceback.format_exc())))
    finally:
        if servant is not None:
            servant.close()


def main(connection_fd: int, memory_fd: int) -> None:
    try:
        serve(Line(Connection(connection_fd), spins=True), memory_fd)
    except HUNG_UP:
        return


if __name__ == "__main__":
    main(int(sys.argv[1]), int(sys.argv[2]))
