"""What the command `deepcs` calls first.

It stands outside of the package, whose import takes a good part of a second: Ctrl-C in that time,
when there is nothing to save yet, ends in a word and not in a traceback.
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
    """End at once: an exception would be another library's to swallow, as it is being imported."""
    os.write(2, b"deepcs: Interrupted.\n")
    os._exit(128 + number)
