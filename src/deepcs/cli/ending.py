"""How a command fails: one sentence on stderr and an exit code.

2: the request is invalid. 1: something else went wrong. 130: Ctrl-C. 143: SIGTERM.
DEEPCS_TRACEBACK=1 shows the traceback.
"""

from __future__ import annotations

import _thread
import dis
import errno
import os
import signal
import sys
import threading
import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from types import FrameType
from typing import Any

from deepcs.system.importing import own_packages

BAD_INPUT = 2
FAILED = 1
INTERRUPTED = 128 + signal.SIGINT
SHOW = "DEEPCS_TRACEBACK"
LONGEST = 2_000  # characters of a sentence
AGAIN_SECONDS = 0.02  # until a Ctrl-C that Python swallowed is repeated
REMINDER_SECONDS = 3.0  # until one is repeated that has not ended the command or its cleanup
OF_THE_MACHINE = {  # no other input would have helped
    *(errno.ENOSPC, errno.EDQUOT, errno.EIO, errno.EROFS, errno.ESTALE),
    *(errno.ENOMEM, errno.EMFILE, errno.ENFILE, errno.EAGAIN),
}


@dataclass
class Interrupts:
    """Whether Ctrl-C was pressed."""

    noted: bool = False


@contextmanager
def noting_interrupts() -> Iterator[Interrupts]:
    """Ctrl-C raises KeyboardInterrupt, is recorded, and is repeated where Python swallows it.

    Some libraries turn the interrupt of their import into an error of another kind, or into
    nothing, and what is raised in a destructor or a callback is lost.
    """
    interrupts = Interrupts()
    if (
        threading.current_thread() is not threading.main_thread()
        or signal.getsignal(signal.SIGINT) is not signal.default_int_handler
    ):
        yield interrupts
        return

    reminders: list[threading.Timer] = []

    def remind(seconds: float) -> None:
        reminders.append(threading.Timer(seconds, _thread.interrupt_main))
        reminders[-1].daemon = True
        reminders[-1].start()

    def note(number: int, frame: FrameType | None) -> None:
        interrupts.noted = True
        remind(REMINDER_SECONDS)
        raise KeyboardInterrupt

    def repeat(lost: Any) -> None:
        if issubclass(lost.exc_type, KeyboardInterrupt):
            remind(AGAIN_SECONDS)
        else:
            before(lost)

    before, sys.unraisablehook = sys.unraisablehook, repeat
    signal.signal(signal.SIGINT, note)
    try:
        yield interrupts
    finally:
        for reminder in reminders:
            reminder.cancel()
        signal.signal(signal.SIGINT, signal.default_int_handler)
        sys.unraisablehook = before


@contextmanager
def ending_on_sigterm() -> Iterator[None]:
    """SIGTERM ends the command as an exception does: half-written files are removed."""

    def end(number: int, frame: FrameType | None) -> None:
        sys.exit(128 + number)

    before = signal.signal(signal.SIGTERM, end)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


def explain(error: Exception) -> tuple[int, str]:
    """The exit code and the sentence for an exception that ended a command."""
    kind = f"{type(error).__name__}: {error}".removesuffix(": ")
    if is_spoken(error):
        return BAD_INPUT if isinstance(error, ValueError) else FAILED, str(error)
    own = _own_frame(error)
    if own is not None:
        file, line = own
        return BAD_INPUT, f"Your own code failed in {file}, line {line} ({kind}); fix it there."
    if isinstance(error, OSError):
        what = f"{error.filename}: " if error.filename else ""
        code = FAILED if error.errno in OF_THE_MACHINE else BAD_INPUT
        return code, (
            f"Could not read or write ({what}{error.strerror or error}); give names of files and "
            "folders that can be, on a disk with room."
        )
    if isinstance(error, MemoryError):
        return FAILED, (
            f"There is not enough memory ({kind}); take fewer actors, steps per update or runs at "
            "once."
        )
    return FAILED, (
        f"This is a bug in deepcs, please report it: {kind} ({_place(error)}); with {SHOW}=1 "
        "the same command shows its traceback."
    )


def say(error: Exception, sentence: str) -> None:
    """Print a sentence on one line of stderr; after the traceback, where one is asked for."""
    if os.environ.get(SHOW) == "1":
        traceback.print_exception(error)
        for each in (error, error.__cause__):
            print(getattr(each, "trace", ""), file=sys.stderr)  # of a worker process
    print(f"deepcs: {printable(sentence)}", file=sys.stderr)


def printable(text: str) -> str:
    """On one line, without control characters, and of limited length."""
    line = "".join(c if c.isprintable() else ascii(c)[1:-1] for c in text)
    return line if len(line) <= LONGEST else f"{line[: LONGEST // 2]} … {line[-LONGEST // 2 :]}"


def is_spoken(error: BaseException) -> bool:
    """Whether our code raised it as a message to the user: a ValueError or one of our types."""
    *_, last = _frames(error)
    raised = last.tb_frame.f_code.co_code[last.tb_lasti] == dis.opmap["RAISE_VARARGS"]
    ours = type(error).__module__.split(".")[0] == "deepcs"
    return (
        raised and _package(last.tb_frame) == "deepcs" and (isinstance(error, ValueError) or ours)
    )


def _frames(error: BaseException) -> list[Any]:
    """The tracebacks of an exception, outermost first."""
    found: list[Any] = []
    each = error.__traceback__
    while each is not None:
        found.append(each)
        each = each.tb_next
    return found


def _package(frame: FrameType) -> str:
    return str(frame.f_globals.get("__name__", "")).split(".")[0]


def _own_frame(error: BaseException) -> tuple[str, int] | None:
    """File and line in the user's own code that an exception went through last."""
    for each in reversed(_frames(error)):
        if _package(each.tb_frame) in own_packages():
            return each.tb_frame.f_code.co_filename, each.tb_lineno
    return None


def _place(error: BaseException) -> str:
    *_, last = _frames(error)
    return f"{os.path.basename(last.tb_frame.f_code.co_filename)}, line {last.tb_lineno}"
