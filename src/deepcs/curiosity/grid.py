"""The curiosity grid: which tiles this life has touched.

The world of a game is cut into square tiles, one grid per room. Touching a tile for the first
time in a life is new; a new life makes every tile new again. The grid is also a picture, the
plane that the network sees: a map of where the agent has been.
"""

from __future__ import annotations

import math
import operator
from dataclasses import astuple, dataclass
from typing import Any, Literal, NamedTuple, Protocol, get_args

import numpy as np

from deepcs.system.limits import TILE, check_whole
from deepcs.system.snapshot import (
    Snapshot,
    SnapshotError,
    all_or_nothing,
    check_same,
    check_snapshot,
)

Room = tuple[int, ...]
Tile = tuple[Room, int, int]  # room, row, column
Lifetime = Literal["game", "life", "never"]
LIFETIMES: tuple[Lifetime, ...] = get_args(Lifetime)
TOUCHED = 255  # brightness of a touched tile in the plane; untouched is 0


class Position(NamedTuple):
    """Where the player stands: raw coordinates, and the room or level they belong to."""

    x: int
    y: int
    room: Room = ()


@dataclass(frozen=True)
class Bounds:
    """The rectangle of raw coordinates that a grid covers."""

    x: int
    """smallest x"""
    y: int
    """smallest y"""
    width: int
    """raw units across"""
    height: int
    """raw units down"""

    def __post_init__(self) -> None:
        numbers = astuple(self)
        if not all(isinstance(number, (int, np.integer)) for number in numbers):
            raise ValueError(
                f"Got bounds {numbers}; give x, y, width and height in whole raw units."
            )
        if self.width < 1 or self.height < 1:
            raise ValueError(
                f"Got bounds of {self.width}x{self.height} units; "
                "a grid needs a width and a height of at least 1."
            )


def check_tile(tile: int) -> int:
    """Return the tile size if it is usable, else raise ValueError."""
    whole: Any = tile
    number = int(whole) if isinstance(whole, np.integer) else whole
    check_whole("a tile size of {}", number, 1, TILE)
    return tile


def check_lifetime(lifetime: str) -> Lifetime:
    """Return the lifetime if it is one, else raise ValueError."""
    for known in LIFETIMES:
        if lifetime == known:
            return known
    raise ValueError(f"Got lifetime {lifetime!r}; choose one of {', '.join(LIFETIMES)}.")


def tile_to_json(tile: Tile) -> list[Any]:
    room, row, column = tile
    return [[int(part) for part in room], int(row), int(column)]


def tile_from_json(saved: list[Any]) -> Tile:
    room, row, column = saved
    return tuple(room), int(row), int(column)


class Curiosity(Protocol):
    """What an environment needs of a grid, bounded or not."""

    centred: bool
    """the plane moves with the player"""

    @property
    def tiles(self) -> int: ...
    @property
    def here(self) -> Tile | None: ...
    @property
    def rooms(self) -> tuple[Room, ...]: ...
    def visit(self, position: Position) -> bool: ...
    def bonus(self, graded: bool = False) -> float: ...
    def plane(
        self,
        room: Room,
        shape: tuple[int, int] = (84, 84),
        window: tuple[int, int] | None = None,
    ) -> np.ndarray: ...
    def new_life(self) -> None: ...
    def new_game(self) -> None: ...
    def lost_life(self) -> None: ...
    def snapshot(self) -> Snapshot: ...
    def restore(self, snapshot: Snapshot) -> None: ...


class Lives:
    """When a life ends and what a visit pays: shared by the bounded and the unbounded grid."""

    lifetime: Lifetime
    _bonus_entries: int  # entries of the tile just entered; 0: nothing to pay

    def new_life(self) -> None:
        raise NotImplementedError

    def new_game(self) -> None:
        """A game starts: a new life, unless the lifetime is `never`."""
        if self.lifetime != "never":
            self.new_life()

    def lost_life(self) -> None:
        """The player lost one of the game's lives: a new life if the lifetime is `life`."""
        if self.lifetime == "life":
            self.new_life()

    def bonus(self, graded: bool = False) -> float:
        """Intrinsic reward I of the last visit.

        1 for a first touch, else 0; graded: 1/√n for the n-th entry of a tile. The start tile,
        the first of a life, is touched but not paid.
        """
        if graded:
            return 1 / math.sqrt(self._bonus_entries) if self._bonus_entries else 0.0
        return float(self._bonus_entries == 1)


class CuriosityGrid(Lives):
    """Tiles touched in this life, one grid of ceil(W/tile) x ceil(H/tile) tiles per room.

    >>> grid = CuriosityGrid(Bounds(0, 134, 153, 122), tile=16)
    >>> grid.visit(Position(77, 235, room=(1,))), grid.bonus()  # the start tile: touched, not paid
    (True, 0.0)
    >>> grid.visit(Position(80, 200, room=(1,))), grid.bonus()
    (True, 1.0)
    >>> grid.visit(Position(81, 200, room=(1,))), grid.tiles
    (False, 2)
    """

    centred = False

    def __init__(
        self,
        bounds: Bounds,
        tile: int = 16,
        *,
        lifetime: Lifetime = "game",
        y_up: bool = False,
        clamp: bool = True,
    ) -> None:
        """`y_up`: raw y grows upward on the screen. `clamp`: pull outside positions to the edge."""
        self.bounds = bounds
        self.tile = check_tile(tile)
        self.lifetime = check_lifetime(lifetime)
        self.y_up = y_up
        self.clamp = clamp
        self.columns = math.ceil(bounds.width / tile)
        self.rows = math.ceil(bounds.height / tile)
        self._pixels: dict[tuple[int, int], tuple[np.ndarray, np.ndarray]] = {}
        self.new_life()

    def new_life(self) -> None:
        """Forget every tile: all are new again."""
        self._entries: dict[Room, np.ndarray] = {}  # room -> int64 (rows, columns)
        self.tiles = 0
        """Tiles touched in this life, over all rooms."""
        self.here: Tile | None = None
        """The tile last visited in this life; the same object until another is entered."""
        self._bonus_entries = 0

    @property
    def rooms(self) -> tuple[Room, ...]:
        """Rooms entered in this life, in order of first entry."""
        return tuple(self._entries)

    def entries(self, room: Room) -> np.ndarray:
        """How often each tile of the room was entered in this life: int64 (rows, columns)."""
        counts = self._entries.get(room)
        if counts is None:
            return np.zeros((self.rows, self.columns), np.int64)
        return counts.copy()

    def tile_of(self, position: Position) -> tuple[int, int]:
        """(row, column) of the position's tile, counted from the bounds' smallest y and x."""
        x = operator.index(position.x) - self.bounds.x
        y = operator.index(position.y) - self.bounds.y
        if not (0 <= x < self.bounds.width and 0 <= y < self.bounds.height):
            if not self.clamp:
                raise ValueError(
                    f"Position ({position.x}, {position.y}) is outside the grid, which covers "
                    f"x {self.bounds.x}..{self.bounds.x + self.bounds.width - 1} and "
                    f"y {self.bounds.y}..{self.bounds.y + self.bounds.height - 1}; "
                    "widen the bounds or leave clamping on."
                )
            x = min(max(x, 0), self.bounds.width - 1)
            y = min(max(y, 0), self.bounds.height - 1)
        return y // self.tile, x // self.tile

    def visit(self, position: Position) -> bool:
        """Touch the position's tile; True on its first touch in this life."""
        row, column = self.tile_of(position)
        here = (position.room, row, column)
        self._bonus_entries = 0
        if here == self.here:
            return False
        starts = self.here is None
        self.here = here
        counts = self._entries.get(position.room)
        if counts is None:
            counts = self._entries[position.room] = np.zeros((self.rows, self.columns), np.int64)
        entries = int(counts[row, column]) + 1
        counts[row, column] = entries
        if not starts:
            self._bonus_entries = entries
        if entries > 1:
            return False
        self.tiles += 1
        return True

    def plane(
        self,
        room: Room,
        shape: tuple[int, int] = (84, 84),
        window: tuple[int, int] | None = None,
    ) -> np.ndarray:
        """The room's touched tiles as a picture: uint8 (height, width), 255 = touched.

        Drawn in raw units, so that a partial last tile is narrow, then nearest neighbour; up in
        the picture is up on the screen. `window`: first and last raw y shown (the part of a
        scrolling level that is on the screen); outside the level nothing is touched.
        """
        counts = self._entries.get(room)
        if counts is None:
            return np.zeros(shape, np.uint8)
        rows, columns = self._pixel_tiles(shape)
        if window is not None:
            first, last = window[0] - self.bounds.y, window[1] - self.bounds.y
            units = first + np.arange(shape[0]) * (last - first + 1) // shape[0]
            outside = (units < 0) | (units >= self.bounds.height)
            rows = np.clip(units, 0, self.bounds.height - 1) // self.tile
            if self.y_up:
                rows, outside = rows[::-1], outside[::-1]
        touched = (counts > 0).astype(np.uint8) * np.uint8(TOUCHED)
        plane = touched.take(columns, axis=1).take(rows, axis=0)
        if window is not None:
            plane[outside] = 0
        return plane

    def _pixel_tiles(self, shape: tuple[int, int]) -> tuple[np.ndarray, np.ndarray]:
        """Which tile row each pixel row shows, and which tile column each pixel column."""
        found = self._pixels.get(shape)
        if found is None:
            rows = np.arange(shape[0]) * self.bounds.height // shape[0] // self.tile
            columns = np.arange(shape[1]) * self.bounds.width // shape[1] // self.tile
            found = self._pixels[shape] = (rows[::-1] if self.y_up else rows), columns
        return found

    def snapshot(self) -> Snapshot:
        """Everything this life has touched, as arrays and JSON values."""
        return {
            "kind": "grid",
            "settings": self._settings(),
            "rooms": [[int(part) for part in room] for room in self._entries],
            "entries": np.array(list(self._entries.values()), np.int64).reshape(
                len(self._entries), self.rows, self.columns
            ),
            "here": self.here and tile_to_json(self.here),
            "bonus_entries": self._bonus_entries,
        }

    def _settings(self) -> Snapshot:
        return {
            "bounds": [int(number) for number in astuple(self.bounds)],
            "tile": int(self.tile),
            "lifetime": self.lifetime,
        }

    @all_or_nothing
    def restore(self, snapshot: Snapshot) -> None:
        """Return to the state that snapshot() saved, on a grid of the same settings."""
        keys = ("settings", "rooms", "entries", "here", "bonus_entries")
        saved = check_snapshot(snapshot, "grid", keys)
        check_same(saved["settings"], self._settings(), "grid")
        entries = np.asarray(saved["entries"], np.int64)
        if entries.shape != (len(saved["rooms"]), self.rows, self.columns):
            raise SnapshotError(
                f"The snapshot's counts are {entries.shape} (rooms, rows, columns), where "
                f"({len(saved['rooms'])}, {self.rows}, {self.columns}) are needed; use one that "
                "was saved whole."
            )
        self._entries = {
            tuple(room): counts.copy() for room, counts in zip(saved["rooms"], entries, strict=True)
        }
        self.tiles = int(np.count_nonzero(entries))
        self.here = saved["here"] and tile_from_json(saved["here"])
        if self.here is not None and not self._entries[self.here[0]][self.here[1:]]:
            raise SnapshotError(
                f"The snapshot's player stands on tile {self.here}, which it says was never "
                "touched; use one that was saved whole."
            )
        self._bonus_entries = int(saved["bonus_entries"])
