"""Many runs on this machine: one process each, several at a time.

A single run in one process on one core costs the fewest core-seconds, so many runs finish soonest
this way.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence

from deepcs.runs.loop import Stop
from deepcs.studies.job import Job, JobProcess
from deepcs.system.process import cores

POLL_SECONDS = 0.25


def run_jobs(
    jobs: Sequence[Job],
    *,
    failed: Callable[[Job, str], None],
    show: Callable[[], None] = lambda: None,
    stop: Stop | None = None,
    at_once: int | None = None,
) -> None:
    """Do all jobs, `at_once` at a time (None: one per core).

    `failed` is called with why one failed, which stops no other; `show` is called now and then.
    Told to stop, or at an exception, running jobs save and end before this returns.
    """
    waiting = list(jobs)
    running: dict[Job, JobProcess] = {}
    stop = stop or Stop()
    try:
        while running or (waiting and stop.signal is None):
            while waiting and len(running) < (at_once or cores()) and stop.signal is None:
                job = waiting.pop(0)
                try:
                    running[job] = JobProcess(job)
                except OSError as error:  # a full disk, for one
                    failed(job, f"could not begin ({error})")
            if stop.signal is not None:
                for process in running.values():
                    process.hang_up()
            time.sleep(POLL_SECONDS)
            for job, process in list(running.items()):
                if not process.running:
                    del running[job]
                    reason = process.failure()
                    if reason is not None:
                        failed(job, reason)
            show()
    finally:
        for process in running.values():
            process.hang_up()
        for process in running.values():
            process.failure()
