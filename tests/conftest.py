"""What all tests share."""

from __future__ import annotations

import signal

# A shell starts background jobs with Ctrl-C ignored, which the processes that tests start inherit.
signal.signal(signal.SIGINT, signal.default_int_handler)
