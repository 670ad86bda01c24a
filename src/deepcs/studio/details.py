"""A run in full: settings, curves, milestones, and where it has been."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from deepcs.curiosity.games import find_game
from deepcs.film import pyramid
from deepcs.runs.folder import SavedRun
from deepcs.runs.load import read_curve, summarise_games
from deepcs.runs.logs import read_visits
from deepcs.runs.milestones import first_steps, milestones_of
from deepcs.runs.saved_config import to_json
from deepcs.studio.summaries import finite

POINTS = 600  # of a curve
KEPT = 32  # runs whose curves are remembered
SLICES = 40  # of time, in the counts of visits
ACROSS = 256  # tiles of a room that are sent, in either direction
ROOMS = 24  # sent at most, those with most visits


def settings_of(saved: SavedRun) -> dict[str, str]:
    """Every setting as a text; the learner's own as learner.name."""
    flat: dict[str, str] = {}
    for name, value in to_json(saved.config).items():
        if isinstance(value, dict):
            flat |= {f"learner.{key}": str(each) for key, each in value.items()}
        else:
            flat[name] = str(value)
    return flat


Curves = dict[str, list[float | None]]


class CurveReader:
    """Curves of runs; a file that has not changed is not read again."""

    def __init__(self) -> None:
        self._read: dict[Path, tuple[tuple[int, int], Curves]] = {}

    def read(self, run: Path) -> Curves:
        """Columns of curve.csv by name, means of neighbouring rows where there are too many."""
        try:
            stat = (run / "curve.csv").stat()
        except OSError:
            return {}
        stamp = stat.st_mtime_ns, stat.st_size
        known = self._read.pop(run, None)
        if known is None or known[0] != stamp:
            columns = read_curve(run)
            known = stamp, {name: [*map(finite, _thinned(c))] for name, c in columns.items()}
        self._read[run] = known
        if len(self._read) > KEPT:
            del self._read[next(iter(self._read))]
        return known[1]


def _thinned(column: np.ndarray) -> np.ndarray:
    if len(column) <= POINTS:
        return column.round(6)
    edges = np.linspace(0, len(column), POINTS + 1).astype(int)
    known = ~np.isnan(column)
    sums = np.add.reduceat(np.where(known, column, 0.0), edges[:-1])
    with np.errstate(invalid="ignore", divide="ignore"):
        means: np.ndarray = sums / np.add.reduceat(known, edges[:-1])
    return means.round(6)


class FirstGames:
    """Reads a games.csv as it grows, and remembers the first game of each kind.

    A log that is kept as games.csv.gz grows no more, and is read once.
    """

    def __init__(self, run: Path, world: str) -> None:
        self._run = run
        self._path = run / "games.csv"
        self._world = world
        self._start()

    def _start(self) -> None:
        self._read, self._inode = 0, -1
        self._found: dict[str, int | None] = {m.label: None for m in milestones_of(self._world)}
        self._best = -np.inf
        self._games = 0

    def look(self) -> dict[str, Any]:
        """The milestones reached so far."""
        try:
            with self._path.open("rb") as file:
                self._go_on(file)
        except FileNotFoundError:
            self._look_compressed()
        except OSError:
            self._start()
        marks = [{"label": label, "step": step} for label, step in self._found.items()]
        return {"milestones": marks, "games": self._games, "best": finite(float(self._best))}

    def _look_compressed(self) -> None:
        try:
            inode = self._path.with_name("games.csv.gz").stat().st_ino
        except OSError:
            self._start()
            return
        if inode == self._inode:
            return
        self._start()
        summary = summarise_games(self._run, self._world)
        self._inode, self._games, self._found = inode, summary.games, summary.milestones
        self._best = summary.best

    def _go_on(self, file: Any) -> None:
        size = file.seek(0, 2)
        inode = self._path.stat().st_ino
        if inode != self._inode or size < self._read:  # a resumed run writes a new one
            self._start()
            self._inode = inode
        file.seek(self._read)
        whole, newline, _ = file.read().rpartition(b"\n")
        rows = [row for line in whole.splitlines() if (row := _game(line)) is not None]
        self._read += len(whole) + len(newline)
        if not rows:
            return
        steps, scores, rooms = map(np.array, zip(*rows, strict=True))
        self._games += len(rows)
        self._best = max(self._best, scores.max())
        for label, step in first_steps(self._world, steps, scores, rooms).items():
            if self._found[label] is None:
                self._found[label] = step


def _game(line: bytes) -> tuple[int, float, int] | None:
    """Step, score and number of rooms of a row; None: the heading, or damage."""
    cells = line.decode(errors="replace").split(",")
    try:
        return int(cells[0]), float(cells[2]), cells[-1].count(";") + 1
    except (ValueError, IndexError):
        return None


def visits_of(run: Path, saved: SavedRun) -> dict[str, Any]:
    """Entries of each tile in slices of the training, of the rooms that were visited most.

    `counts` of a room: [slice, row, column, entries] of each tile entered in a slice.
    """
    path = run / "visits.npz"
    if not path.is_file():
        return {"steps": [], "rooms": []}
    columns, names = read_visits(path)
    if not len(columns["step"]):
        return {"steps": [], "rooms": []}
    last = int(columns["step"][-1])
    width = max(1, -(-last // SLICES))
    slices = (columns["step"] - 1) // width
    totals = np.bincount(columns["room"], columns["entries"], len(names))
    chosen = sorted(np.argsort(-totals)[:ROOMS].tolist())
    extent = _extent(saved, columns)
    return {
        "steps": [min((k + 1) * width, last) for k in range(int(slices.max()) + 1)],
        **vars(extent),
        "map": [[room, *place] for room, place in pyramid.PLACES.items()]
        if saved.config.world == "MontezumaRevenge"
        else None,
        "rooms": [
            {"name": names[room], "counts": _counts(columns, slices, room, extent)}
            for room in chosen
        ],
    }


@dataclass(frozen=True)
class Extent:
    """The tiles of a room that are sent."""

    rows: int
    columns: int
    first_row: int = 0
    first_column: int = 0
    y_up: bool = False
    """the first row is the lowest"""


def _extent(saved: SavedRun, columns: dict[str, np.ndarray]) -> Extent:
    game = find_game(saved.config.world)
    if game is not None:
        grid = game.grid(saved.config.tile)
        return Extent(min(grid.rows, ACROSS), min(grid.columns, ACROSS), y_up=grid.y_up)
    row, column = int(columns["row"].min()), int(columns["column"].min())
    down = int(columns["row"].max()) - row + 1
    across = int(columns["column"].max()) - column + 1
    return Extent(min(down, ACROSS), min(across, ACROSS), row, column)


def _counts(
    columns: dict[str, np.ndarray], slices: np.ndarray, room: int, extent: Extent
) -> list[list[int]]:
    rows, across = columns["row"] - extent.first_row, columns["column"] - extent.first_column
    inside = (rows >= 0) & (rows < extent.rows) & (across >= 0) & (across < extent.columns)
    chosen = inside & (columns["room"] == room)
    keys = np.stack([slices[chosen], rows[chosen], across[chosen]])
    unique, where = np.unique(keys, axis=1, return_inverse=True)
    sums = np.bincount(where.ravel(), columns["entries"][chosen]).astype(int)
    told: list[list[int]] = np.vstack([unique, sums]).T.tolist()
    return told
