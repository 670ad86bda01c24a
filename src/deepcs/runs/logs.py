"""A run's logs: games.csv, curve.csv and visits.npz.

They are appended to during the run, and truncated on resume to their lengths at the checkpoint, so
that no row is repeated or missing.
"""

from __future__ import annotations

import hashlib
import io
import os
import warnings
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from deepcs.agents.table import FIRST_COLUMNS, LAST_COLUMNS, find_agent
from deepcs.curiosity.tiles import Room, Tile
from deepcs.runs.errors import RunError
from deepcs.system.files import create, read_file, write_whole

GAMES_COLUMNS = ("step", "actor", "score", "intrinsic", "tiles", "steps", "rooms")
TIME_COLUMNS = ("steps_per_second", "seconds")  # differ from one execution to the next


def curve_columns(agent: str) -> tuple[str, ...]:
    """Columns of curve.csv: the run's, with the agent's own in between."""
    return (*FIRST_COLUMNS, *find_agent(agent).columns, *LAST_COLUMNS)


def room_text(room: Room) -> str:
    """A room in a CSV cell: its numbers joined by dots; the only room of a world is a dot."""
    return ".".join(map(str, room)) or "."


def parse_room(text: str) -> Room:
    """The room that `room_text` wrote."""
    return () if text == "." else tuple(int(part) for part in text.split("."))


@dataclass(frozen=True)
class Stand:
    """The length of a log when a checkpoint was saved."""

    bytes: int
    sha256: str
    """of these first bytes"""


class CsvLog:
    """A CSV file that grows by rows and can be truncated."""

    def __init__(
        self,
        path: Path,
        columns: Sequence[str],
        keep: Stand | None,
        staging: Path | None = None,
        accept_changes: bool = False,
    ) -> None:
        """`keep`: what to keep of a file that is there already, with its columns, of which a later
        version may have more; None: start a new file.

        The log continues in a new file, made in the staging folder: a former owner keeps the old.
        """
        beside = (staging or path.parent) / f".{path.name}.new"
        kept = b"" if keep is None else read_kept(path, keep, accept_changes)
        header = kept.partition(b"\n")[0].decode(errors="replace")
        self._columns = header.split(",") if kept else columns
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
        self._line([row.get(column, "") for column in self._columns])

    def sync(self) -> Stand:
        """Flush all rows to disk; returns where the file stands."""
        self._file.flush()
        os.fsync(self._file.fileno())
        return Stand(self._file.tell(), self._digest.hexdigest())

    def flush(self) -> None:
        self._file.flush()

    def close(self) -> None:
        self._file.close()


def read_kept(path: Path, keep: Stand, accept_changes: bool = False) -> bytes:
    """What a CSV log held when a checkpoint was saved; refuses a log that is no longer that."""
    try:
        kept = read_file(path)[: keep.bytes]
    except OSError as error:
        raise RunError(f"{path} cannot be read ({error}); restore it.") from error
    if len(kept) < keep.bytes:
        raise RunError(f"{path} is shorter than its checkpoint remembers; restore it from a copy.")
    if hashlib.sha256(kept).hexdigest() != keep.sha256 and not accept_changes:
        raise RunError(
            f"{path} is not what its checkpoint remembers; restore it from a copy, or go on with "
            "it as it is by --accept-changes."
        )
    if accept_changes and not kept.startswith(b"step,"):
        raise RunError(f"{path} is damaged: it has no columns; restore it from a copy.")
    return kept


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
        """`keep_until`: keep rows up to this step, with digest `keep`; None: start a new file."""
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
        """Flush all rows to disk; returns where the log stands."""
        columns: dict[str, Any] = dict(zip(self.NAMES, self._all_rows().T, strict=True))
        buffer = io.BytesIO()
        np.savez_compressed(buffer, rooms=np.array(list(self._rooms), np.str_), **columns)
        write_whole(self._path, buffer.getvalue(), self._staging)
        return self._stand()


def stands(state: dict[str, Any]) -> dict[str, Stand]:
    """Where each log stood when a checkpoint with this state was saved."""
    return {name: Stand(**each) for name, each in state["logs"].items()}


def check_logs(run: Path, step: int, state: dict[str, Any]) -> None:
    """Raise RunError for logs that are not what a checkpoint, of this step and state, remembers."""
    stood = stands(state)
    for name in ("games", "curve"):
        read_kept(run / f"{name}.csv", stood[name])
    VisitLog(run / "visits.npz", step, stood["visits"])


def read_visits(path: Path) -> tuple[dict[str, np.ndarray], list[str]]:
    """The columns of a visits.npz by name, and the texts of its rooms."""
    try:
        with warnings.catch_warnings(), np.load(path) as arrays:
            warnings.simplefilter("error")
            columns = {name: arrays[name] for name in VisitLog.NAMES}
            rooms = arrays["rooms"]
        _check_visits(columns, rooms)
    except Exception as error:  # of damaged bytes, zipfile and NumPy raise nearly anything
        raise RunError(
            f"{path} is damaged or missing ({type(error).__name__}: {error}); restore it from a "
            "copy."
        ) from error
    return columns, [str(room) for room in rooms]


def _check_visits(columns: dict[str, np.ndarray], rooms: np.ndarray) -> None:
    """Raise ValueError for what no VisitLog writes."""
    lengths = {column.shape for column in columns.values()}
    kinds = {column.dtype for column in columns.values()}
    if kinds != {np.dtype(np.int64)} or len(lengths) != 1 or columns["step"].ndim != 1:
        raise ValueError("its columns are not whole numbers of one length")
    if rooms.dtype.kind != "U" or rooms.ndim != 1:
        raise ValueError("its rooms are not texts")
    for room in rooms:
        parse_room(str(room))
    if not len(columns["step"]):
        return
    if columns["room"].min() < 0 or columns["room"].max() >= len(rooms):
        raise ValueError("it has visits to rooms that it does not name")
    if columns["step"].min() < 1 or (np.diff(columns["step"]) < 0).any():
        raise ValueError("its steps are not in order")
    if columns["entries"].min() < 1:
        raise ValueError("it has tiles that were entered less than once")
