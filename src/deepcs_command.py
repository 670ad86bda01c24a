"""The entry point of the command `deepcs`.

It is outside of the package, whose import takes a good part of a second: Ctrl-C in that time, when
there is nothing to save yet, ends with a word and not with a traceback.
"""

from __future__ import annotations

import os
import signal
from types import FrameType


def main() -> None:
    """Import deepcs, then do what the command line says."""
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:  # else it is ignored
        signal.signal(signal.SIGINT, _leave)
    from deepcs.cli.main import main as run

    if signal.getsignal(signal.SIGINT) is _leave:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    run()


def _leave(number: int, frame: FrameType | None) -> None:
    """Exit immediately: a library that is being imported could swallow an exception."""
    os.write(2, b"deepcs: Interrupted.\n")
    os._exit(128 + number)
