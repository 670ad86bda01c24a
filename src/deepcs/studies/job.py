"""One run in a separate process: `python -m deepcs.studies.job`, with its job on stdin.

The pipe stays open. When the parent closes it, on purpose or because it was killed, the run saves a
checkpoint and ends: no run outlives its study.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from deepcs.runs.checkpoint import CheckpointError
from deepcs.runs.config import RunConfig
from deepcs.runs.errors import RunError
from deepcs.runs.lease import LEASE_SECONDS, LeaseHeldError, Terms
from deepcs.runs.saved_config import from_json, to_json
from deepcs.runs.stopping import StoppedError
from deepcs.runs.train import train
from deepcs.system.files import UnsafePathError

# Messages for the user, not bugs.
SPOKEN = (StoppedError, RunError, CheckpointError, LeaseHeldError, UnsafePathError)
MARK = "deepcs: "  # before such a message
SHELTER = ("/bin/sh", "-c", '"$@"; exit $?', "sh")  # `exit` keeps it from becoming the command
PATIENCE = 2.0  # lease durations to wait for an owner that is alive: it may be about to end


@dataclass(frozen=True)
class Job:
    """A run to be done."""

    config: RunConfig
    out: Path
    log: Path
    """its output is appended here"""
    workers: int = 1
    """processes that emulate: with one run per core, no more than the run's own"""
    lease_seconds: float = LEASE_SECONDS
    accept_changes: bool = False

    def to_json(self) -> str:
        paths = {"out": str(self.out.absolute()), "log": str(self.log.absolute())}
        return json.dumps({**vars(self), **paths, "config": to_json(self.config)})

    @classmethod
    def from_json(cls, text: str) -> Job:
        saved = json.loads(text)
        config, out, log = from_json(saved["config"]), Path(saved["out"]), Path(saved["log"])
        return cls(**{**saved, "config": config, "out": out, "log": log})


class JobProcess:
    """A job under way."""

    def __init__(self, job: Job, folder: Path | None = None, *, sheltered: bool = False) -> None:
        """folder: to run in, where `module:factory` is found; None: the current one.

        sheltered: started by a shell, for a parent whose children are killed when it ends.
        """
        self._job = job
        job.log.parent.mkdir(parents=True, exist_ok=True)
        # The config sets threads: an engine's variables for its own processes do not apply.
        environment = {
            **os.environ,
            "OMP_NUM_THREADS": str(job.config.threads),
            "OPENBLAS_NUM_THREADS": "1",
        }
        command = [sys.executable, "-P", "-m", "deepcs.studies.job"]
        with job.log.open("ab") as log:
            self._log_began = log.tell()
            self._popen = subprocess.Popen(
                [*SHELTER, *command] if sheltered else command,
                stdin=subprocess.PIPE,
                stdout=log,
                stderr=log,
                env=environment,
                cwd=folder,
                start_new_session=True,  # Ctrl-C is for the parent, which then closes the pipe
            )
        self._hung_up = False
        assert self._popen.stdin is not None
        self._pipe = self._popen.stdin
        with suppress(BrokenPipeError):
            self._pipe.write(job.to_json().encode() + b"\n")
            self._pipe.flush()

    @property
    def running(self) -> bool:
        return self._popen.poll() is None

    def hang_up(self) -> None:
        """Close the pipe: it saves and ends."""
        self._hung_up = True
        with suppress(BrokenPipeError):
            self._pipe.close()

    def failure(self) -> str | None:
        """Wait for its end; why it failed, if it did: in one line."""
        code = self._popen.wait()
        self._pipe.close()
        if code == 0 or (self._hung_up and code in (128 + signal.SIGTERM, -signal.SIGTERM)):
            return None
        with self._job.log.open("rb") as log:
            log.seek(self._log_began)
            lines = log.read().decode(errors="replace").strip().splitlines()
        spoken = [line.removeprefix(MARK) for line in lines if line.startswith(MARK)]
        if spoken:
            return spoken[-1]
        if code in (128 + signal.SIGINT, 128 + signal.SIGTERM):
            return f"stopped by {signal.Signals(code - 128).name}, and saved"
        if code < 0 or code > 128:  # the latter is how a shell reports it
            return f"killed by {signal.Signals(-code if code < 0 else code - 128).name}"
        return lines[-1] if lines else f"ended with code {code}"


def _end_with_parent() -> None:
    while os.read(sys.stdin.fileno(), 1):
        pass
    os.kill(os.getpid(), signal.SIGTERM)


def main() -> None:
    """Do the job on stdin; exit code 0: finished, 128 + signal: stopped and saved, 1: failed."""
    job = Job.from_json(sys.stdin.buffer.readline().decode())
    threading.Thread(target=_end_with_parent, daemon=True).start()
    terms = Terms(job.lease_seconds, PATIENCE * job.lease_seconds)
    try:
        stopped_by = train(
            job.config,
            job.out,
            workers=job.workers,
            lease=terms,
            accept_changes=job.accept_changes,
        )
    except SPOKEN as error:
        print(getattr(error.__cause__, "trace", ""), file=sys.stderr)  # a worker's, for the log
        print(f"{MARK}{error}", file=sys.stderr)
        sys.exit(1)
    sys.exit(0 if stopped_by is None else 128 + stopped_by)


if __name__ == "__main__":
    main()
