"""Many runs on a Ray cluster, whose nodes share the storage that the study's folder is on.

A run is a Ray task that starts the same process as the local engine does. When a node is lost, Ray
tries the task again elsewhere; the run goes on from its newest checkpoint there, once the lease on
its folder is free or overdue.
"""

from __future__ import annotations

import logging
import os
import socket
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from deepcs.runs.loop import Stop
from deepcs.studies.experiment import StudyError
from deepcs.studies.job import Job, JobProcess

POLL_SECONDS = 0.25
KNOCK_SECONDS = 5.0


@dataclass(frozen=True)
class Cluster:
    """Where runs go, and what each is given."""

    address: str | None = None
    """auto, HOST:PORT, or None: a Ray of this machine alone"""
    cpus_per_run: float = 1.0
    gpus_per_run: float = 0.0
    retries: int = 10
    """times that a run is tried again after its node was lost"""

    def run_jobs(
        self,
        jobs: Sequence[Job],
        *,
        failed: Callable[[Job, str], None],
        show: Callable[[], None] = lambda: None,
        stop: Stop | None = None,
    ) -> None:
        """Do all jobs, as many at once as the cluster has room for; otherwise as the local one."""
        ray = _connect(self.address)
        stop = stop or Stop()
        try:
            task = ray.remote(_train).options(
                num_cpus=self.cpus_per_run, num_gpus=self.gpus_per_run, max_retries=self.retries
            )
            waiting = {task.remote(job.to_json(), os.getcwd()): job for job in jobs}
            told = False
            while waiting:
                if stop.signal is not None and not told:
                    told = True
                    for reference in waiting:
                        ray.cancel(reference)
                ended, _ = ray.wait(list(waiting), timeout=POLL_SECONDS)
                for reference in ended:
                    reason = _reason(ray, reference)
                    job = waiting.pop(reference)
                    if reason is not None:
                        failed(job, reason)
                show()
        finally:
            ray.shutdown()


def _connect(address: str | None) -> Any:
    try:
        import ray
    except ImportError as error:
        raise StudyError(
            "The engine ray needs Ray, which is not installed; install it with: "
            "pip install 'deepcs[cluster]'."
        ) from error
    try:
        if address not in (None, "auto"):
            _knock(str(address))
        ray.init(
            address=address or "local",
            include_dashboard=False,
            log_to_driver=False,
            logging_level=logging.ERROR,
        )
    except (OSError, ValueError) as error:
        raise StudyError(
            f"No Ray cluster answers at {address} ({error}); start one with ray start --head, and "
            "give auto or its HOST:PORT."
        ) from error
    return ray


def _knock(address: str) -> None:
    """Raise OSError or ValueError at once where nobody is; Ray itself tries for ten minutes."""
    host, _, port = address.rpartition(":")
    socket.create_connection((host, int(port)), KNOCK_SECONDS).close()


def _reason(ray: Any, reference: Any) -> str | None:
    """Why a task that has ended failed; None if it did not, or was told to stop."""
    try:
        reason: str | None = ray.get(reference)
    except ray.exceptions.TaskCancelledError:
        return None
    except ray.exceptions.RayTaskError as error:
        return str(error).strip().splitlines()[-1]
    except ray.exceptions.RayError as error:
        return f"lost with its node, too often ({type(error).__name__})"
    return reason


def _train(job: str, folder: str) -> str | None:
    """On a node: do the job in a process of its own; why it failed, if it did.

    folder: where the study was started, for `module:factory`; if this node has it.
    """
    wanted = Job.from_json(job)
    if not wanted.log.parent.is_dir():
        return (
            f"{os.uname().nodename} does not see {wanted.log.parent}; the study's folder must be "
            "on storage that all nodes share"
        )
    process = JobProcess(wanted, Path(folder) if Path(folder).is_dir() else None)
    try:
        while process.running:
            time.sleep(POLL_SECONDS)
    finally:
        process.hang_up()  # Ray cancels a task by an interrupt
        reason = process.failure()
    return reason
