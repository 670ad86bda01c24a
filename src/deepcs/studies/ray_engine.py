"""Many runs on a Ray cluster, whose nodes share the storage that the study's folder is on.

A run is a Ray task that starts the same process as the local engine does. When a node is lost, Ray
tries the task again elsewhere; the run goes on from its newest checkpoint there, once the lease on
its folder is free or overdue. When the driver is lost, Ray ends its tasks, and each run,
whose task closes its pipe, saves and ends.
"""

from __future__ import annotations

import os
import signal
import sys
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from deepcs.runs.loop import Stop
from deepcs.studies.job import Job, JobProcess
from deepcs.studies.ray_nodes import (
    RoomWatch,
    Share,
    check_nodes,
    connect,
    mismatch,
    not_shared,
    this_deepcs,
)

POLL_SECONDS = 0.25


@dataclass(frozen=True)
class Cluster:
    """The cluster, and the resources of each run."""

    address: str | None = None
    """auto, HOST:PORT, or None: a Ray of this machine alone"""
    share: Share = field(default_factory=Share)
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
        """Do all jobs, as many in parallel as the cluster has room for; see `local.run_jobs`."""
        stop = stop or Stop()
        try:
            ray = connect(self.address)
        except SystemExit:  # Ray's answer to SIGTERM while it connects
            stop.signal = signal.SIGTERM
            return
        waiting: dict[Any, Job] = {}
        try:
            if jobs:
                check_nodes(ray, self.share, jobs[0].log.parent.absolute(), stop)
            task = ray.remote(_train).options(
                num_cpus=self.share.cpus, num_gpus=self.share.gpus, max_retries=self.retries
            )
            if stop.signal is None:
                folder, ours = os.getcwd(), this_deepcs()
                waiting = {task.remote(job.to_json(), folder, ours): job for job in jobs}
            told, room = False, RoomWatch(ray, self.share)
            while waiting:
                if stop.signal is not None and not told:
                    told = True
                    _cancel(ray, waiting)
                ended, _ = ray.wait(list(waiting), timeout=POLL_SECONDS)
                for reference in ended:
                    reason = _reason(ray, reference)
                    job = waiting.pop(reference)
                    if reason is not None:
                        failed(job, reason)
                show()
                if (lacking := room.look()) is not None:
                    print(f"deepcs: {lacking}", file=sys.stderr, flush=True)
        finally:
            if waiting:  # an exception: let them save
                _cancel(ray, waiting)
                ray.wait(list(waiting), num_returns=len(waiting))
            ray.shutdown()


def _cancel(ray: Any, references: Iterable[Any]) -> None:
    """Let tasks end: those under way save first."""
    for reference in references:
        ray.cancel(reference)


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


def _train(job: str, folder: str, theirs: tuple[str, str]) -> str | None:
    """On a node: do the job in a separate process; why it failed, if it did.

    folder: where the study was started, for `module:factory`; if this node has it. theirs: the
    deepcs there; a node that joined after the check of the others may have another.
    """
    name = f"The node {os.uname().nodename}"
    complaint = mismatch(name, this_deepcs(), theirs)
    if complaint is not None:
        return complaint
    wanted = Job.from_json(job)
    if not wanted.log.parent.is_dir():
        return not_shared(name, wanted.log.parent)
    # A Ray worker that ends kills its children. So this run is a grandchild, which is not killed,
    # and which saves when its pipe is closed.
    here = Path(folder) if Path(folder).is_dir() else None
    process = JobProcess(wanted, here, sheltered=True)
    try:
        while process.running:
            time.sleep(POLL_SECONDS)
    finally:
        process.hang_up()  # Ray cancels a task by an interrupt
        reason = process.failure()
    return reason
