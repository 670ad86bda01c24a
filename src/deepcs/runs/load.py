"""The logs of a run, finished or not, as arrays."""

from __future__ import annotations

import gzip
import itertools
import zlib
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from deepcs.curiosity.tiles import Room
from deepcs.runs.config import RunConfig
from deepcs.runs.errors import RunError
from deepcs.runs.folder import RunFolder, Segment
from deepcs.runs.logs import GAMES_COLUMNS, VisitLog, parse_room, read_visits
from deepcs.runs.milestones import first_steps
from deepcs.system.files import read_file

CURVE_NEEDED = ("step", "score", "intrinsic", "seconds")


@dataclass(frozen=True)
class RunLogs:
    """A run's logs as arrays, one element a row."""

    config: RunConfig
    segments: tuple[Segment, ...]
    curve: dict[str, np.ndarray]
    """columns of curve.csv by name, float64; NaN where there was nothing yet"""
    games: dict[str, np.ndarray]
    """columns of games.csv but for the rooms, float64"""
    game_rooms: list[tuple[Room, ...]]
    """rooms of each game, in order of first entry"""
    visits: dict[str, np.ndarray]
    """columns of visits.npz: step, room (index into visit_rooms), row, column, entries"""
    visit_rooms: list[Room]

    @property
    def milestones(self) -> dict[str, int | None]:
        """The step at which the first game of each kind was over, by its label; None: not yet."""
        rooms = np.array([len(rooms) for rooms in self.game_rooms], np.int64)
        return first_steps(self.config.world, self.games["step"], self.games["score"], rooms)


def load_run(path: Path | str) -> RunLogs:
    """The logs of a run, whether it is finished or not."""
    folder = RunFolder(path)
    saved = folder.read_config()
    columns, games = _table(folder.path / "games.csv", GAMES_COLUMNS)
    visits: dict[str, np.ndarray] = {name: np.zeros(0, np.int64) for name in VisitLog.NAMES}
    visit_rooms: list[Room] = []
    if (folder.path / "visits.npz").is_file():
        visits, rooms_seen = read_visits(folder.path / "visits.npz")
        visit_rooms = [*map(parse_room, rooms_seen)]
    with _damage_named(folder.path):
        cells = _last_cells(games)
        known = {cell: _parse_rooms(cell) for cell in set(cells)}
        return RunLogs(
            saved.config,
            saved.segments,
            read_curve(folder.path),
            _numbers(games, columns[:-1], columns),
            [known[cell] for cell in cells],
            visits,
            visit_rooms,
        )


def read_curve(path: Path, names: Sequence[str] | None = None) -> dict[str, np.ndarray]:
    """Columns of a run's curve.csv alone, float64; NaN where there was nothing yet.

    names: those wanted, of which one that the run does not have is all NaN; None: all there are.
    """
    columns, rows = _table(path / "curve.csv", CURVE_NEEDED)
    with _damage_named(path):
        found = _numbers(rows, columns, columns)
        if not np.isfinite(found["step"]).all():
            raise ValueError("a step is no number")
    if names is None:
        return found
    return {name: found.get(name, np.full(len(rows), np.nan)) for name in names}


@dataclass(frozen=True)
class GamesSummary:
    """A summary of a run's games."""

    games: int
    best: float
    """the highest score of a game; NaN: none is over"""
    room_orders: Counter[tuple[Room, ...]]
    """games by the rooms they visited, in order of first entry"""
    milestones: dict[str, int | None]
    """the step at which the first game of each kind was over; None: not yet"""


def summarise_games(path: Path, world: str) -> GamesSummary:
    """The summary of a run's games.csv, of which no more is kept."""
    columns, rows = _table(path / "games.csv", GAMES_COLUMNS)
    with _damage_named(path):
        cells = _last_cells(rows)
        rooms = np.array([cell.count(b";") + 1 for cell in cells], np.int64)
        numbers = _numbers(rows, ("step", "score"), columns)
        return GamesSummary(
            len(rows),
            float(numbers["score"].max()) if rows else float("nan"),
            Counter({_parse_rooms(cell): count for cell, count in Counter(cells).items()}),
            first_steps(world, numbers["step"], numbers["score"], rooms),
        )


@contextmanager
def _damage_named(path: Path) -> Iterator[None]:
    """Turn the error of an unreadable CSV cell into a sentence about the run."""
    try:
        yield
    except RunError:
        raise
    except ValueError as error:
        raise RunError(
            f"The logs in {path} are damaged ({error}); restore them from a copy."
        ) from error


def _table(path: Path, needed: Sequence[str]) -> tuple[list[str], list[bytes]]:
    """A CSV's columns and its whole rows; a last row that is still being written is left out.

    needed: columns without which it is damaged; a file of a newer or older version may have more.
    A run that is just starting has no file yet, or an empty one: no rows. Logs that are kept may
    be compressed, as NAME.gz. Cells have no quotes; csv.reader, which handles them, takes several
    times as long for a hundred thousand rows.
    """
    compressed = path.with_name(f"{path.name}.gz")
    try:
        if compressed.is_file() and not path.is_file():
            content = gzip.decompress(read_file(compressed))
        else:
            content = read_file(path)
    except FileNotFoundError:
        content = b""
    except (OSError, EOFError, zlib.error) as error:
        raise RunError(f"{path} cannot be read ({error}); restore it from a copy.") from error
    whole, _, _ = content.rpartition(b"\n")
    if not whole:
        return list(needed), []
    header, *rows = whole.splitlines()
    columns = header.decode(errors="replace").split(",")
    widths = set(map(bytes.count, rows, itertools.repeat(b",")))
    if not set(needed) <= set(columns) or not widths <= {len(columns) - 1}:
        raise RunError(f"{path} is damaged; restore it from a copy.")
    return columns, rows


def _numbers(
    rows: list[bytes], names: Sequence[str], columns: Sequence[str]
) -> dict[str, np.ndarray]:
    """Some of the columns that rows have, by name."""
    cells = b",".join(rows).split(b",") if rows else []
    by_name = {name: cells[columns.index(name) :: len(columns)] for name in names}
    return {
        name: np.array([float(cell) if cell else np.nan for cell in column], np.float64)
        for name, column in by_name.items()
    }


def _last_cells(rows: list[bytes]) -> list[bytes]:
    return [last for _, _, last in map(bytes.rpartition, rows, itertools.repeat(b","))]


def _parse_rooms(cell: bytes) -> tuple[Room, ...]:
    return tuple(map(parse_room, cell.decode().split(";"))) if cell else ()
