"""`deepcs study run` and `deepcs study status`."""

from __future__ import annotations

import shlex
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Annotated, Literal

import tyro
from rich.console import Console
from rich.live import Live
from rich.text import Text

from deepcs.cli.ending import printable
from deepcs.cli.main import WIDTH
from deepcs.runs.lease import LEASE_SECONDS
from deepcs.runs.loop import Stop
from deepcs.runs.stopping import stopping_on_signals
from deepcs.studies.at_once import runs_at_once
from deepcs.studies.experiment import StudyError, StudyRun
from deepcs.studies.folder import StudyFolder
from deepcs.studies.job import Job
from deepcs.studies.local import run_jobs
from deepcs.studies.ray_engine import Cluster
from deepcs.studies.ray_nodes import Share
from deepcs.studies.status import (
    Watch,
    longest_first,
    pace_of,
    run_statuses,
    status_table,
    summary,
)
from deepcs.studies.study import Study, load_study, study_name
from deepcs.system import limits
from deepcs.system.limits import check_whole

StudyName = Annotated[str, tyro.conf.Positional, tyro.conf.arg(metavar="STUDY")]
LIVE_SECONDS = 2.0  # between readings of the runs' folders
PLAIN_SECONDS = 20.0  # between lines where there is no terminal


def study_folder(study: str, out: Path | None) -> StudyFolder:
    """The folder given, or studies/ and the study's name."""
    return StudyFolder(out or Path("studies") / study_name(study))


@dataclass(frozen=True)
class Run:
    """Run a study: all its runs that are not finished.

    Run it again to continue. A study may be extended in between, by more runs or more steps:
    finished runs then continue to the new total, as by deepcs resume --steps. Nothing else about it
    may change.
    """

    study: StudyName
    """demo, laptop, claims, novelty, novelty-atari, tuning, paper, or the path of a .toml file"""
    out: Path | None = None
    """folder of the study; by default studies/ and its name"""
    engine: Literal["local", "ray"] = "local"
    """local: this machine; ray: a Ray cluster whose nodes share the folder's storage"""
    at_once: int | None = None
    """local: runs at a time; None: the fastest number, measured in half a minute"""
    address: str | None = None
    """ray: auto, or HOST:PORT of the cluster; None: a Ray of this machine alone"""
    cpus_per_run: int = 1
    """ray: cores that a run is given"""
    gpus_per_run: float = 0.0
    """ray: GPUs that a run is given, or a share of one"""
    retries: int = 10
    """ray: times that a run is tried again after its node was lost"""
    lease_seconds: float = LEASE_SECONDS
    """a process that has not renewed its lease for this long may be replaced by another"""
    accept_changes: bool = False
    """continue although settings, logs or library versions have changed since they were saved"""

    def run(self) -> None:
        self._check()
        study, folder = load_study(self.study), study_folder(self.study, self.out)
        folder.lock()
        try:
            folder.take(study)
            with suppress(OSError):
                folder.write_failures({})
            unfinished = folder.unfinished(study)
            at_once = self.at_once or self._measured(study, folder, len(unfinished))
            with stopping_on_signals() as stop:  # until now there was nothing to save
                jobs = self._jobs(folder, unfinished)
                failures = self._run(study, folder, jobs, at_once, stop)
        finally:
            folder.unlock()
        self._finish(study, folder, failures, stop.signal)

    def _check(self) -> None:
        """Refuse options that the engine does not have."""
        if self.at_once is not None:
            check_whole("--at-once {}", self.at_once, 1, limits.WORKERS)
        check_whole("--cpus-per-run {}", self.cpus_per_run, 1, limits.WORKERS)
        check_whole("--retries {}", self.retries, 0, limits.RETRIES)
        if not 0 <= self.gpus_per_run <= limits.WORKERS:
            raise StudyError(
                f"Got --gpus-per-run {self.gpus_per_run}; give a number from 0 to "
                f"{limits.WORKERS:,}."
            )
        if not 0 < self.lease_seconds <= limits.SECONDS:
            raise StudyError(
                f"Got --lease-seconds {self.lease_seconds}; give more than 0, and "
                f"{limits.SECONDS:,} at most."
            )
        if self.engine == "ray" and self.at_once is not None:
            raise StudyError("Got --at-once with --engine ray; use --cpus-per-run there.")
        if self.engine == "local" and self.address is not None:
            raise StudyError("Got --address without a cluster; add --engine ray.")

    def _jobs(self, folder: StudyFolder, runs: Sequence[StudyRun]) -> list[Job]:
        """The jobs, in the order in which they are started."""
        statuses = run_statuses(folder, runs)
        return [
            Job(
                run.config,
                folder.run_path(run),
                folder.log_path(run),
                self.cpus_per_run if self.engine == "ray" else 1,
                self.lease_seconds,
                self.accept_changes,
            )
            for run in longest_first(statuses, pace_of(folder, statuses))
        ]

    def _run(
        self, study: Study, folder: StudyFolder, jobs: Sequence[Job], at_once: int, stop: Stop
    ) -> dict[str, str]:
        """Do it; returns why runs failed, by name."""
        failures: dict[str, str] = {}

        def failed(job: Job, reason: str) -> None:
            failures[job.out.name] = reason
            with suppress(OSError):  # a full disk stops no other run; the reason is said at the end
                folder.write_failures(failures)

        if self.engine == "ray":
            share = Share(self.cpus_per_run, self.gpus_per_run)
            cluster = Cluster(self.address, share, self.retries)
            with _showing(study, folder) as show:
                cluster.run_jobs(jobs, failed=failed, show=show, stop=stop)
        else:
            with _showing(study, folder) as show:
                run_jobs(jobs, failed=failed, show=show, stop=stop, at_once=at_once)
        return failures

    def _measured(self, study: Study, folder: StudyFolder, unfinished: int) -> int:
        """Runs at a time that make this machine fastest."""
        if unfinished < 2 or self.engine == "ray":
            return 1
        print("Measuring how many runs at a time are fastest here ...", flush=True)
        measured = runs_at_once([run.config for run in study.runs], folder.path / "at_once.json")
        print(measured, flush=True)
        return measured.best

    def _finish(
        self, study: Study, folder: StudyFolder, failures: dict[str, str], signal: int | None
    ) -> None:
        """Print the result and what to do next; exits with code 1 if a run failed."""
        statuses = run_statuses(folder, study.runs)
        print(f"{study.name}: {summary(statuses, pace_of(folder, statuses))}")
        for name, reason in failures.items():
            log = folder.path / "logs" / f"{name}.log"
            failed = f"{name} failed: {reason} (its log: {log})"
            print(f"deepcs: {printable(failed)}", file=sys.stderr)
        if signal is not None:
            print(f"Stopped and saved. Go on with: {self._command('run')}")
            sys.exit(128 + signal)
        if failures:
            sys.exit(1)
        report = self._command("report", only=("out",))
        print(f"Done: {folder.path}. See what it shows: {report}")

    def _command(self, verb: str, only: Sequence[str] = ()) -> str:
        """A command for this study, with all options that were given, or only these."""
        words = ["deepcs", "study", verb, self.study]
        for option in fields(self)[1:]:
            value = getattr(self, option.name)
            if value != option.default and (not only or option.name in only):
                name = "--" + option.name.replace("_", "-")
                words += [name] if value is True else [name, str(value)]
        return shlex.join(words)


@contextmanager
def _showing(study: Study, folder: StudyFolder) -> Iterator[Callable[[], None]]:
    """A table of the running runs, redrawn in place; a line now and then elsewhere."""
    console = Console()
    following = [time.monotonic() + LIVE_SECONDS]
    watch = Watch(folder, study.runs)

    def due(seconds: float) -> bool:
        if time.monotonic() < following[0]:
            return False
        following[0] = time.monotonic() + seconds
        return True

    if not console.is_terminal:

        def say() -> None:
            if due(PLAIN_SECONDS):
                statuses = watch.look()
                print(f"{study.name}: {summary(statuses, pace_of(folder, statuses))}", flush=True)

        yield say
        return
    with Live(console=console, transient=True) as live:

        def draw() -> None:
            if due(LIVE_SECONDS):
                statuses = watch.look()
                pace = pace_of(folder, statuses)
                live.update(status_table(study.name, statuses, pace, "running"))

        yield draw


@dataclass(frozen=True)
class Status:
    """Show the status of a study's runs, also while another process runs it."""

    study: StudyName
    """demo, laptop, claims, novelty, novelty-atari, tuning, paper, or the path of a .toml file"""
    out: Path | None = None
    """folder of the study; by default studies/ and its name"""

    def run(self) -> None:
        folder = study_folder(self.study, self.out)
        study = folder.read()
        console = Console() if sys.stdout.isatty() else Console(width=WIDTH)
        statuses = run_statuses(folder, study.runs)
        console.print(status_table(study.name, statuses, pace_of(folder, statuses)))
        for each in statuses:
            if each.state == "failed":
                log = folder.log_path(each.run)
                failed = f"{each.run.name} failed: {printable(each.reason)} ({log})"
                console.print(Text(failed), soft_wrap=True)
