"""The runs and studies below the studio's folder, by their path from there.

Nothing outside is ever read: a path has no `..`, and leads through no link.
"""

from __future__ import annotations

import os
import stat
import threading
import time
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from deepcs.system.files import UnsafePathError, refuse_links

DEEPEST = 6  # folders below
MOST_FOLDERS = 20_000  # looked into
SCAN_SECONDS = 2.0  # between scans
SUMMED_UP = ("config.json", "curve.csv", "lock", "lease", "checkpoints")  # of a run in a list
OF_A_STUDY = ("failures.json", "at_once.json", "runs", "report", "report/report.html")
OF_ITS_RUNS = ("curve.csv", "lease", "checkpoints")  # read for their status


class NotHereError(ValueError):
    """Something that is not below the folder."""


@dataclass(frozen=True)
class Found:
    """Paths below the folder, in order."""

    runs: tuple[str, ...]
    studies: tuple[str, ...]


class Catalog:
    """The runs and studies below a folder."""

    def __init__(self, root: Path) -> None:
        self.root = root.resolve()
        self._lock = threading.Lock()
        self._found = Found((), ())
        self._scanned = -SCAN_SECONDS

    def find(self) -> Found:
        """All of them; scanned again every few seconds."""
        with self._lock:
            if time.monotonic() - self._scanned >= SCAN_SECONDS:
                self._found = self._look()
                self._scanned = time.monotonic()
            return self._found

    def run(self, name: str) -> Path:
        """The folder of a run, which holds no link; raises NotHereError."""
        return _without_links(self._folder(name, "config.json"))

    def glance(self, name: str) -> Path:
        """The folder of a run of which only the files in SUMMED_UP will be read."""
        path = self._folder(name, "config.json")
        _refuse_strange(path, SUMMED_UP)
        return path

    def study(self, name: str) -> Path:
        """The folder of a study of which only study.json and OF_A_STUDY will be read."""
        path = self._folder(name, "study.json")
        _refuse_strange(path, OF_A_STUDY)
        return path

    def glance_at_runs(self, study: Path, runs: Iterable[str]) -> None:
        """Raise NotHereError unless OF_ITS_RUNS can be read of these runs of a study."""
        _refuse_strange(study / "runs", runs)
        for run in runs:
            _refuse_strange(study / "runs" / run, OF_ITS_RUNS)

    def _folder(self, name: str, mark: str) -> Path:
        path = self.below(name)
        if not _is(path / mark, stat.S_ISREG):
            raise NotHereError(f"There is no {name!r} below the studio's folder.")
        return path

    def below(self, name: str) -> Path:
        """A path that is below the folder and leads through no link; raises NotHereError."""
        parts = [] if name == "." else name.split("/")
        path = self.root
        for part in parts:
            path = path / part
            if part in ("", ".", "..") or "\0" in part or not _is_plain(path):
                raise NotHereError(f"There is no {name!r} below the studio's folder.")
        return path

    def name_of(self, path: Path) -> str:
        """The name of a folder below."""
        return path.relative_to(self.root).as_posix()

    def _look(self) -> Found:
        runs, studies = [], []
        for path, names in self._walk():
            if "study.json" in names:
                studies.append(self.name_of(path))
            elif "config.json" in names:
                runs.append(self.name_of(path))
        return Found(tuple(sorted(runs)), tuple(sorted(studies)))

    def _walk(self) -> Iterator[tuple[Path, set[str]]]:
        """Folders with the names of their ordinary files; runs have none below them."""
        waiting, looked = [(self.root, 0)], 0
        while waiting and looked < MOST_FOLDERS:
            folder, depth = waiting.pop()
            looked += 1
            try:
                entries = list(os.scandir(folder))
            except OSError:
                continue
            files = {e.name for e in entries if e.is_file(follow_symlinks=False)}
            yield folder, files
            if "config.json" in files and "study.json" not in files:
                continue
            for entry in entries:
                inside = entry.is_dir(follow_symlinks=False) and not entry.name.startswith(".")
                if inside and depth < DEEPEST:
                    waiting.append((folder / entry.name, depth + 1))


def _without_links(path: Path) -> Path:
    try:
        refuse_links(path)
    except UnsafePathError as error:
        raise NotHereError(str(error)) from error
    return path


def _refuse_strange(folder: Path, parts: Iterable[str]) -> None:
    """Raise NotHereError if one of these is there, and is a link or no ordinary file."""
    for part in parts:
        path = folder / part
        if not _is_plain(path) and os.path.lexists(path):
            raise NotHereError(f"{path} is a link or no ordinary file, which the studio leaves be.")


def _is(path: Path, kind: object) -> bool:
    try:
        mode = path.lstat().st_mode
    except (OSError, ValueError):
        return False
    return bool(kind(mode))  # type: ignore[operator]


def _is_plain(path: Path) -> bool:
    """A folder or an ordinary file, not a link."""
    return _is(path, stat.S_ISDIR) or _is(path, stat.S_ISREG)
