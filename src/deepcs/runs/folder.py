"""A run's folder: its settings, its logs, its lock.

Logs are appended to as the run goes, and cut back to where a checkpoint left them on resume, so
that nothing stands twice and nothing is missing.
"""

from __future__ import annotations

import fcntl
import hashlib
import io
import json
import os
import re
import zlib
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any
from zipfile import BadZipFile

import numpy as np

from deepcs.agents.table import find_agent
from deepcs.curiosity.tiles import Room, Tile
from deepcs.runs.checkpoint import Checkpoint
from deepcs.runs.config import FORMAT, READABLE, RunConfig, from_json, to_json, versions
from deepcs.runs.lease import Lease, Terms, is_leased
from deepcs.runs.trust import is_signed, sign
from deepcs.system.files import create, delete_folder, holds_only, refuse_links, write_whole

GAMES_COLUMNS = ("step", "actor", "score", "intrinsic", "tiles", "steps", "rooms")
FIRST_COLUMNS = ("step", "score", "intrinsic", "tiles")
LAST_COLUMNS = ("learning_rate", "games", "steps_per_second", "seconds")
TIME_COLUMNS = ("steps_per_second", "seconds")  # differ from one execution to the next
SAVED = "saved"  # an empty file: the run has had a checkpoint
EVENTS = re.compile(r"events\.out\.tfevents\..*")
NOTHING = re.compile(r"(?!)")


def curve_columns(agent: str) -> tuple[str, ...]:
    """Columns of curve.csv: the run's, with the agent's own in between."""
    return (*FIRST_COLUMNS, *find_agent(agent).columns, *LAST_COLUMNS)


class RunError(ValueError):
    """A run folder that cannot be used as asked."""


class LockLostError(RuntimeError):
    """The lock on a run was taken away while it was held."""


@dataclass(frozen=True)
class Segment:
    """A stretch of a run under one total, which the schedules run over."""

    begins: int
    """step at which it was begun"""
    steps: int
    """total steps that the run was then to have"""


@dataclass(frozen=True)
class SavedRun:
    """What config.json holds."""

    config: RunConfig
    segments: tuple[Segment, ...]
    versions: dict[str, str]
    format: int
    settings: dict[str, Any]
    """the config as it stands in the file"""
    accepted: tuple[str, ...]
    """digests of other settings under which its checkpoints may have been saved"""
    trained_here: bool
    """this user trained it"""

    @property
    def identity(self) -> str:
        """A digest of the settings, but for the total of steps, which may grow."""
        return digest_of({key: value for key, value in self.settings.items() if key != "steps"})


def settings_digest(config: RunConfig) -> str:
    """The `identity` of a run with these settings."""
    settings = {key: value for key, value in to_json(config).items() if key != "steps"}
    return digest_of(json.loads(json.dumps(settings)))


def digest_of(content: Any) -> str:
    """SHA-256 of JSON values, however a file may lay them out."""
    text = json.dumps(content, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()


def room_text(room: Room) -> str:
    """A room in a CSV cell: its numbers joined by dots; the only room of a world is a dot."""
    return ".".join(map(str, room)) or "."


def parse_room(text: str) -> Room:
    """The room that `room_text` wrote."""
    return () if text == "." else tuple(int(part) for part in text.split("."))


def open_lock(folder: Path, refusal: type[ValueError]) -> IO[bytes]:
    """The file to lock a folder by, made if need be; refuses a folder that cannot be written."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        refuse_links(folder)
        flags = os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_NOFOLLOW | os.O_CLOEXEC
        return os.fdopen(os.open(folder / "lock", flags, 0o666), "ab")
    except OSError as error:
        raise refusal(f"{folder} cannot be written ({error}); give another --out.") from error


class RunFolder:
    """The files of one run."""

    def __init__(self, path: Path | str) -> None:
        self.path = Path(path)
        self.checkpoints = self.path / "checkpoints"
        self.tensorboard = self.path / "tensorboard"
        self._lock: IO[bytes] | None = None
        self.lease: Lease | None = None

    @property
    def staging(self) -> Path | None:
        """Where whoever holds the lease makes what is then renamed into place."""
        return None if self.lease is None else self.lease.staging

    @property
    def holds_run(self) -> bool:
        return (self.path / "config.json").is_file()

    def lock(self, terms: Terms | None = None) -> None:
        """Make this process the only one that trains here, until it ends, however it ends.

        terms: hold the folder by a lease, also against machines that share its storage. A folder
        that was ever held by one is always held by one.
        """
        file = open_lock(self.path, RunError)
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            if not is_leased(self.path):
                file.close()
                raise RunError(
                    f"Another process is training into {self.path}; "
                    "wait for it, stop it, or give another --out."
                ) from error
        except OSError:
            if terms is None:
                raise  # with a lease, storage that knows no file locks will do
        self._lock = file
        if terms is not None or is_leased(self.path):
            try:
                self.lease = Lease(self.path, terms or Terms())
            except BaseException:
                self.unlock()
                raise

    def check_lock(self) -> None:
        """Raise LockLostError if the lock's file is no longer the one that this process holds."""
        if self._lock is None:
            return
        held = os.fstat(self._lock.fileno())
        try:
            found = os.lstat(self.path / "lock")
        except FileNotFoundError:
            found = None
        if found is None or (found.st_dev, found.st_ino) != (held.st_dev, held.st_ino):
            raise LockLostError(
                f"The file {self.path / 'lock'} was taken away while this process held it, so "
                "another may be training there; this one has stopped and written nothing since"
            )

    def unlock(self) -> None:
        if self.lease is not None:
            self.lease.release()
            self.lease = None
        if self._lock is not None:
            self._lock.close()
            self._lock = None

    def forget(self) -> None:
        """Delete what a run that has saved nothing has written; only what it wrote."""
        for name in ("config.json", "games.csv", "curve.csv", "visits.npz"):
            (self.path / name).unlink(missing_ok=True)
        if holds_only(self.tensorboard, EVENTS):
            delete_folder(self.tensorboard, EVENTS)
        if holds_only(self.checkpoints, NOTHING):
            self.checkpoints.rmdir()

    @property
    def was_saved(self) -> bool:
        """Whether the run has ever had a checkpoint, even if it is gone."""
        return (self.path / SAVED).is_file()

    def note_saved(self) -> None:
        """Remember for good that there was a checkpoint."""
        if not self.was_saved:
            write_whole(self.path / SAVED, b"", self.staging)

    def write_config(
        self,
        config: RunConfig,
        segments: Sequence[Segment],
        before: SavedRun | None = None,
        accepted: Sequence[str] = (),
    ) -> None:
        """Write config.json; `before`: what it held, whose versions are kept, if it is extended."""
        settings = json.loads(json.dumps(to_json(config)))
        content = {
            "format": FORMAT,
            "config": settings,
            "segments": [[segment.begins, segment.steps] for segment in segments],
            "protocol": vars(config.protocol_settings),
            "treatment": vars(config.treatment_settings),
            "versions": versions() if before is None else before.versions,
            "accepted": list(accepted),
        }
        content["signature"] = sign(digest_of(settings))
        content["digest"] = digest_of(content)
        path = self.path / "config.json"
        write_whole(path, json.dumps(content, indent=2).encode(), self.staging)

    def read_config(self, *, accept_changes: bool = False) -> SavedRun:
        """What config.json holds; refuses a file that was changed, unless that is accepted."""
        path = self.path / "config.json"
        try:
            saved = json.loads(path.read_bytes())
        except FileNotFoundError as error:
            raise RunError(
                f"{self.path} is not the folder of a run: it has no config.json; "
                "give the folder that deepcs train wrote."
            ) from error
        except (OSError, ValueError, RecursionError) as error:
            raise RunError(
                f"{path} cannot be read ({error}); give the folder that deepcs train wrote."
            ) from error
        if not isinstance(saved, dict) or "format" not in saved:
            raise RunError(f"{path} is not a config of deepcs; give the folder of a run.")
        written_by = saved["versions"] if isinstance(saved.get("versions"), dict) else {}
        if saved["format"] not in READABLE:
            raise RunError(
                f"{self.path} is a run of format {saved['format']}, this deepcs reads formats "
                f"{' and '.join(map(str, READABLE))}; use the version that wrote it, "
                f"{written_by.get('deepcs', 'unknown')}."
            )
        content = {key: value for key, value in saved.items() if key != "digest"}
        changed = saved["format"] != 1 and saved.get("digest") != digest_of(content)
        if changed and not accept_changes:
            raise RunError(
                f"{path} was changed since deepcs wrote it; restore it from a copy, or take it as "
                f"it is now with: deepcs resume {self.path} --accept-changes"
            )
        try:
            config = from_json(saved["config"])
            config.check()
            segments = tuple(Segment(*map(int, pair)) for pair in saved["segments"])
            return SavedRun(
                config,
                segments,
                {"deepcs": written_by["deepcs"], **written_by},
                saved["format"],
                saved["config"],
                tuple(map(str, saved.get("accepted", []))),
                is_signed(digest_of(saved["config"]), saved.get("signature")),
            )
        except (KeyError, TypeError, ValueError, AttributeError, RecursionError) as error:
            raise RunError(
                f"{path} lacks or mistakes a setting ({error}); restore the file from a copy."
            ) from error


@dataclass(frozen=True)
class Stand:
    """Where a log stood when a checkpoint was saved."""

    bytes: int
    sha256: str
    """of these first bytes"""


def check_settings(
    folder: RunFolder,
    saved: SavedRun,
    identity: str,
    checkpoint: Checkpoint | None,
    accept_changes: bool,
) -> None:
    """Refuse a checkpoint that was saved under other settings than config.json now has.

    identity: of the settings as they are understood here; an agent's own may have changed since.
    """
    if saved.format == 1 or accept_changes:
        return
    known = {saved.identity, *saved.accepted}
    if identity not in known or (checkpoint and checkpoint.state.get("settings") not in known):
        raise RunError(
            f"The settings in {folder.path} are not those that its checkpoint was saved under; "
            "restore config.json from a copy, or go on with what it says by --accept-changes."
        )


class CsvLog:
    """A CSV file that grows by rows and can be cut back."""

    def __init__(
        self,
        path: Path,
        columns: Sequence[str],
        keep: Stand | None,
        staging: Path | None = None,
        accept_changes: bool = False,
    ) -> None:
        """`keep`: what to keep of a file that is there already; None: start anew.

        The log goes on in a new file, made in the staging folder: a former writer keeps the old.
        """
        self._columns = columns
        beside = (staging or path.parent) / f".{path.name}.new"
        kept = b""
        if keep is not None:
            try:
                kept = path.read_bytes()[: keep.bytes]
            except OSError as error:
                raise RunError(f"{path} cannot be read ({error}); restore it.") from error
            if len(kept) < keep.bytes:
                raise RunError(
                    f"{path} is shorter than its checkpoint remembers; restore it from a copy."
                )
            if hashlib.sha256(kept).hexdigest() != keep.sha256 and not accept_changes:
                raise RunError(
                    f"{path} is not what its checkpoint remembers; restore it from a copy, or go "
                    "on with it as it is by --accept-changes."
                )
        self._digest = hashlib.sha256(kept)
        self._file = os.fdopen(create(beside), "wb")
        self._file.write(kept)
        if keep is None:
            self._line(columns)
        self.sync()
        beside.replace(path)

    def _line(self, cells: Sequence[object]) -> None:
        line = (",".join(map(str, cells)) + "\n").encode()
        self._digest.update(line)
        self._file.write(line)

    def append(self, row: dict[str, object]) -> None:
        self._line([row[column] for column in self._columns])

    def sync(self) -> Stand:
        """Bring all rows to disk; returns where the file stands."""
        self._file.flush()
        os.fsync(self._file.fileno())
        return Stand(self._file.tell(), self._digest.hexdigest())

    def flush(self) -> None:
        self._file.flush()

    def close(self) -> None:
        self._file.close()


class VisitLog:
    """How often each tile was entered, per log interval: visits.npz.

    Rows in order of time: `step` (end of the interval), `room` (index into `rooms`), `row`,
    `column`, `entries`.
    """

    NAMES = ("step", "room", "row", "column", "entries")

    def __init__(
        self,
        path: Path,
        keep_until: int | None,
        keep: Stand | None = None,
        staging: Path | None = None,
        accept_changes: bool = False,
    ) -> None:
        """`keep_until`: keep rows up to this step, which then stand as `keep`; None: start anew."""
        self._path = path
        self._staging = staging
        self._rooms: dict[str, int] = {}
        self._rows: list[np.ndarray] = []  # int64 (n, 5) each
        if keep_until is not None:
            columns, rooms = read_visits(path)
            rows = np.stack([columns[name] for name in self.NAMES], 1)
            rows = rows[rows[:, 0] <= keep_until]
            self._rows = [rows]
            known = rows[:, 1].max(initial=-1) + 1  # rooms are numbered as they come
            self._rooms = {room: i for i, room in enumerate(rooms[:known])}
            if self._stand() != keep and not accept_changes:
                raise RunError(
                    f"{path} is not what its checkpoint remembers; restore it from a copy, or go "
                    "on with it as it is by --accept-changes."
                )

    def append(self, step: int, visits: Counter[Tile]) -> None:
        if visits:
            rows = [
                (step, self._rooms.setdefault(room_text(room), len(self._rooms)), y, x, n)
                for (room, y, x), n in sorted(visits.items())
            ]
            self._rows.append(np.array(rows, np.int64))

    def _all_rows(self) -> np.ndarray:
        rows = np.concatenate([np.zeros((0, 5), np.int64), *self._rows])
        self._rows = [rows]
        return rows

    def _stand(self) -> Stand:
        """Of the arrays' content: the file may hold later rows by the time it is asked for."""
        content = self._all_rows().tobytes() + ";".join(self._rooms).encode()
        return Stand(len(content), hashlib.sha256(content).hexdigest())

    def write(self) -> Stand:
        """Bring all rows to disk; returns where the log stands."""
        columns: dict[str, Any] = dict(zip(self.NAMES, self._all_rows().T, strict=True))
        buffer = io.BytesIO()
        np.savez_compressed(buffer, rooms=np.array(list(self._rooms), np.str_), **columns)
        write_whole(self._path, buffer.getvalue(), self._staging)
        return self._stand()


def read_visits(path: Path) -> tuple[dict[str, np.ndarray], list[str]]:
    """The columns of a visits.npz by name, and the texts of its rooms."""
    try:
        with np.load(path) as arrays:
            columns = {name: arrays[name] for name in VisitLog.NAMES}
            return columns, [str(room) for room in arrays["rooms"]]
    except (OSError, ValueError, KeyError, EOFError, BadZipFile, zlib.error) as error:
        raise RunError(f"{path} is damaged or missing; restore it from a copy.") from error
