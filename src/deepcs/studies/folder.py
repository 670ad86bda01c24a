"""A study's folder.

study.json        the study: every run with all its settings
runs/<run>/       ordinary run folders
logs/<run>.log    warnings and errors of each run
failures.json     why runs failed, the last time they were tried
at_once.json      this machine's speed with several runs at a time
report/           written by `deepcs study report`
lock              held by the process that runs the study, until it ends
"""

from __future__ import annotations

import fcntl
import json
import os
from pathlib import Path
from typing import IO, Any

from deepcs.runs.checkpoint import checkpoint_steps, is_whole
from deepcs.runs.folder import RunFolder, open_lock
from deepcs.runs.saved_config import from_json, to_json
from deepcs.studies.experiment import StudyError, StudyRun
from deepcs.studies.study import Study, differences
from deepcs.system.files import read_file, write_whole

FORMAT = 1
# All that is left of a study that was killed at its start, or whose damaged study.json was deleted.
BEFORE_STUDY = {"lock", ".study.json.new", "runs", "logs", "failures.json", "at_once.json"}
BEFORE_STUDY |= {"report"}


class StudyFolder:
    """The files of one study."""

    def __init__(self, path: Path | str) -> None:
        self.path = Path(path)
        self.report = self.path / "report"
        self._lock: IO[bytes] | None = None

    def run_path(self, run: StudyRun) -> Path:
        return self.path / "runs" / run.name

    def log_path(self, run: StudyRun) -> Path:
        return self.path / "logs" / f"{run.name}.log"

    def unfinished(self, study: Study) -> list[StudyRun]:
        """Runs that are not finished."""
        return [run for run in study.runs if not self.is_finished(run, self.steps_saved(run))]

    def is_finished(self, run: StudyRun, saved: int) -> bool:
        """Whether its newest checkpoint, of step `saved`, is of its last step, and undamaged."""
        checkpoints = RunFolder(self.run_path(run)).checkpoints
        return saved >= run.config.steps and is_whole(checkpoints, saved)

    def begun(self) -> set[str]:
        """Names of the runs that have a folder."""
        try:
            return set(os.listdir(self.path / "runs"))
        except FileNotFoundError:
            return set()

    def steps_saved(self, run: StudyRun) -> int:
        """Steps of the run's newest checkpoint."""
        steps = checkpoint_steps(RunFolder(self.run_path(run)).checkpoints)
        return steps[-1] if steps else 0

    def lock(self) -> None:
        """Make this process the only one that runs the study, until it ends, however it ends."""
        if self.path.is_dir() and not (self.path / "study.json").is_file():
            foreign = set(os.listdir(self.path)) - BEFORE_STUDY
            if foreign:
                raise StudyError(
                    f"{self.path} holds files that are not a study's ({min(foreign)}); "
                    "give an empty or new --out."
                )
        file = open_lock(self.path, StudyError)
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            file.close()
            raise StudyError(
                f"Another process is running the study in {self.path}; "
                "wait for it, stop it, or give another --out."
            ) from error
        except OSError:
            pass  # storage without file locks: the lease on each run is enough
        self._lock = file

    def unlock(self) -> None:
        if self._lock is not None:
            self._lock.close()
            self._lock = None

    def take(self, study: Study) -> None:
        """Make this the study's folder; a study already there may only have been extended."""
        if (self.path / "study.json").is_file():
            self._check_growth(self.read(), study)
        content = {
            "format": FORMAT,
            "name": study.name,
            "about": study.about,
            "runs": [
                {"name": run.name, "variant": run.variant, "config": to_json(run.config)}
                for run in study.runs
            ],
        }
        try:
            write_whole(self.path / "study.json", json.dumps(content, indent=1).encode())
            for name in ("runs", "logs"):
                (self.path / name).mkdir(exist_ok=True)
        except OSError as error:
            raise StudyError(
                f"{self.path} cannot be written ({error}); make room, or give another --out."
            ) from error

    def _check_growth(self, before: Study, now: Study) -> None:
        if before.name != now.name:
            raise StudyError(
                f"{self.path} holds the study {before.name}, not {now.name}; give another --out."
            )
        runs = {run.name: run for run in now.runs}
        for old in before.runs:
            if old.name not in runs:
                raise StudyError(
                    f"{self.path} holds the run {old.name}, which {now.name} no longer has; "
                    "put it back, or give another --out."
                )
            new = runs[old.name].config
            changed = [name for name in differences(old.config, new) if name != "steps"]
            if changed:
                raise StudyError(
                    f"{self.path} holds the run {old.name} with another {', '.join(changed)}; "
                    "change it back, or give another --out."
                )
            if new.steps < old.config.steps:
                raise StudyError(
                    f"{self.path} holds the run {old.name} with {old.config.steps:,} steps, more "
                    f"than {new.steps:,}; give as many, or another --out."
                )

    def read(self) -> Study:
        """The study that the folder holds."""
        path = self.path / "study.json"
        try:
            saved = json.loads(read_file(path))
            if saved["format"] != FORMAT:
                raise StudyError(
                    f"{path} is of format {saved['format']}, this deepcs reads {FORMAT}; "
                    "use the version that wrote it."
                )
            study = Study(saved["name"], saved["about"], tuple(map(_read_run, saved["runs"])))
            _check_text(study.name, study.about)
            return study
        except FileNotFoundError as error:
            raise StudyError(
                f"{self.path} holds no study; begin one with deepcs study run, or give its --out."
            ) from error
        except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
            if isinstance(error, StudyError):
                raise
            raise StudyError(
                f"{path} is damaged ({error}); restore it from a copy, or delete that file and run "
                "the study again: its runs stay as they are."
            ) from error

    def failures(self) -> dict[str, str]:
        """Why runs failed, by name, in the latest attempt."""
        path = self.path / "failures.json"
        try:
            found: Any = json.loads(read_file(path))
            if not isinstance(found, dict) or not all(isinstance(v, str) for v in found.values()):
                raise ValueError("it holds no sentences by name")
        except FileNotFoundError:
            return {}
        except (OSError, ValueError, RecursionError) as error:
            raise StudyError(
                f"{path} is damaged ({error}); delete it, as all it tells is why runs failed."
            ) from error
        return found

    def write_failures(self, failures: dict[str, str]) -> None:
        write_whole(self.path / "failures.json", json.dumps(failures, indent=1).encode())


def _read_run(saved: dict[str, Any]) -> StudyRun:
    """A run of study.json; raises ValueError, and other errors, for what no study writes."""
    run = StudyRun(saved["name"], from_json(saved["config"]), saved["variant"])
    _check_text(run.name, run.variant)
    run.config.check()
    return run


def _check_text(*texts: object) -> None:
    for text in texts:
        if not isinstance(text, str) or text != text.encode(errors="replace").decode():
            raise ValueError(f"{text!r} is no text")
