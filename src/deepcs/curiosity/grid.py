"""The curiosity grid: which tiles were touched (visited) in this life.

Each room of a game is divided into tiles, one grid per room. A tile's first touch in a life is new;
a new life makes every tile new again. The grid is also an image, the plane: a map, for the
network, of where the agent has been. How positions become tiles is in tiles.py.
"""

from __future__ import annotations

from typing import Protocol

import numpy as np

from deepcs.curiosity.fading import NOTHING, Fading
from deepcs.curiosity.lives import LIFETIMES as LIFETIMES
from deepcs.curiosity.lives import Lifetime as Lifetime
from deepcs.curiosity.lives import Lives as Lives
from deepcs.curiosity.lives import check_lifetime as check_lifetime
from deepcs.curiosity.tiles import (
    Bounds,
    Position,
    Room,
    Tile,
    TileSize,
    count_tiles,
    covers,
    pixel_tiles,
    pool_tiles,
    sizes,
    tile_from_json,
    tile_index,
    tile_size_to_json,
    tile_to_json,
)
from deepcs.system.snapshot import (
    Snapshot,
    SnapshotError,
    all_or_nothing,
    check_same,
    check_snapshot,
)

TOUCHED = 255  # brightness of a touched tile in the plane; untouched is 0


class Curiosity(Protocol):
    """What an environment needs of a grid, bounded or not."""

    centred: bool
    """the plane is centred on the player"""
    fading: Fading | None
    """None: visits do not fade"""
    tile: TileSize
    lifetime: Lifetime

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
        tile: TileSize = 16,
        *,
        lifetime: Lifetime = "game",
        y_up: bool = False,
        clamp: bool = True,
        half_life: float | None = None,
    ) -> None:
        """`tile`: raw units across, or (across, down). `y_up`: raw y grows upward on the screen.

        `clamp`: move outside positions to the edge. `half_life`: steps after which an entry counts
        half; None: visits do not fade.
        """
        self.bounds = bounds
        self.tile = tile
        self.sizes = sizes(tile)
        """units across and down of a tile"""
        self.lifetime = check_lifetime(lifetime)
        self.y_up = y_up
        self.clamp = clamp
        self.fading = None if half_life is None else Fading(half_life)
        self.columns, self.rows = count_tiles(bounds, self.sizes)
        self._pixels: dict[tuple[int, int], tuple[np.ndarray, np.ndarray]] = {}
        self.new_life()

    def new_life(self) -> None:
        """Forget every tile: all are new again."""
        self._entries: dict[Room, np.ndarray] = {}  # room -> int64 (rows, columns)
        self.tiles = 0
        """Tiles touched in this life, over all rooms."""
        self.here: Tile | None = None
        """The tile last visited in this life; the same object until another is entered."""
        self._forget()

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
        if not self.clamp and not covers(self.bounds, position):
            raise ValueError(
                f"Position ({position.x}, {position.y}) is outside the grid, which covers "
                f"{self.bounds.words}; widen the bounds or leave clamping on."
            )
        row = tile_index(position.y, self.bounds.y, self.sizes[1])
        column = tile_index(position.x, self.bounds.x, self.sizes[0])
        return min(max(row, 0), self.rows - 1), min(max(column, 0), self.columns - 1)

    def visit(self, position: Position) -> bool:
        """Touch the position's tile; True on its first touch in this life."""
        row, column = self.tile_of(position)
        here = (position.room, row, column)
        self._bonus_entries, self._worth = 0, NOTHING
        if here == self.here:
            return False
        worth = None if self.fading is None else self.fading.enter(here)
        starts = self.here is None
        self.here = here
        counts = self._entries.get(position.room)
        if counts is None:
            counts = self._entries[position.room] = np.zeros((self.rows, self.columns), np.int64)
        entries = int(counts[row, column]) + 1
        counts[row, column] = entries
        if not starts:
            self._bonus_entries = entries
            self._worth = worth or NOTHING
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
        """The room's touched tiles as a picture: uint8 (height, width), 255 = touched; where visits
        fade, darker the longer ago a tile was last entered.

        Drawn in raw units, so that a partial last tile is narrow, then nearest neighbour; where
        there are more tiles than pixels, a pixel is lit if any tile in it was touched. Up in the
        picture is up on the screen. `window`: first and last raw y shown (the part of a scrolling
        level that is on the screen); outside the level nothing is touched.
        """
        counts = self._entries.get(room)
        if counts is None:
            return np.zeros(shape, np.uint8)
        touched = (counts > 0).astype(np.uint8) * np.uint8(TOUCHED)
        if self.fading is not None:
            for (where, row, column), left in self.fading.shades():
                if where == room:
                    touched[row, column] = round(TOUCHED * left)
        rows, columns = self._pixel_tiles(shape)
        plane = pool_tiles(touched, columns, axis=1)
        if window is None:
            plane = pool_tiles(plane, rows, axis=0)
        else:
            plane = self._scrolled(plane, shape[0], window)
        return plane[::-1] if self.y_up else plane

    def _scrolled(self, rows: np.ndarray, height: int, window: tuple[int, int]) -> np.ndarray:
        """The part of the rows of tiles that a window shows, at a height in pixels."""
        first, last = window[0] - self.bounds.y, window[1] - self.bounds.y
        units = first + np.arange(height) * (last - first + 1) // height
        outside = (units < 0) | (units >= self.bounds.height)
        inside = np.clip(units, 0, self.bounds.height - 1) // self.sizes[1]
        picture: np.ndarray = rows.take(inside.astype(np.int64), axis=0)
        picture[outside] = 0
        return picture

    def _pixel_tiles(self, shape: tuple[int, int]) -> tuple[np.ndarray, np.ndarray]:
        """The first tile row that each pixel row shows, and the first column of each column."""
        found = self._pixels.get(shape)
        if found is None:
            found = self._pixels[shape] = (
                pixel_tiles(shape[0], self.bounds.height, self.sizes[1], self.rows),
                pixel_tiles(shape[1], self.bounds.width, self.sizes[0], self.columns),
            )
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
            **self._snapshot_of_fading(tile_to_json),
        }

    def _settings(self) -> Snapshot:
        return {
            "bounds": self.bounds.to_json(),
            "tile": tile_size_to_json(self.tile),
            "lifetime": self.lifetime,
            **self._fading_setting(),
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
        self._restore_fading(saved, tile_from_json)
