"""Positions, and the tiles that they fall into: whole units, as in RAM, or any numbers."""

from __future__ import annotations

import math
import operator
from collections.abc import Sequence
from dataclasses import astuple, dataclass
from typing import Any, NamedTuple

import numpy as np

from deepcs.system.limits import TILE, check_whole

Room = tuple[int, ...]
Tile = tuple[Room, int, int]  # room, row, column
TileSize = float | tuple[float, ...]
"""units across and down, or one size for each coordinate"""
ROUNDING = 1e-9  # of a tile: 0.3 is the edge of a third tile of 0.1, not just before it
MOST_TILES = 10_000_000  # in a room: more would fill the memory


class Position(NamedTuple):
    """Where the player stands: raw coordinates, and the room or level they belong to."""

    x: float
    y: float
    room: Room = ()


@dataclass(frozen=True)
class Bounds:
    """The rectangle of raw coordinates that a grid covers, in whole numbers or fractions."""

    x: float
    """smallest x"""
    y: float
    """smallest y"""
    width: float
    """raw units across"""
    height: float
    """raw units down"""

    def __post_init__(self) -> None:
        numbers = astuple(self)
        if not all(_is_number(number) for number in numbers):
            raise ValueError(
                f"Got bounds {numbers}; give x, y, width and height as finite numbers of raw units."
            )
        if self.width <= 0 or self.height <= 0:
            raise ValueError(
                f"Got bounds of {self.width}x{self.height} units; "
                "a grid needs a width and a height above 0."
            )

    @property
    def is_whole(self) -> bool:
        """Whether all four are whole numbers, so that a width of 5 has 5 units: 0, 1, 2, 3, 4."""
        return all(isinstance(number, (int, np.integer)) for number in astuple(self))

    @property
    def words(self) -> str:
        """`x from 0 to below 19 and y from 0 to below 19`; fractions may lie on the far edge."""
        to = "to below" if self.is_whole else "to"
        right, bottom = round(self.x + self.width, 9), round(self.y + self.height, 9)
        return f"x from {self.x} {to} {right} and y from {self.y} {to} {bottom}"

    def to_json(self) -> list[float]:
        return [as_number(number) for number in astuple(self)]


def _is_number(value: object) -> bool:
    numbers = int, float, np.integer, np.floating
    return isinstance(value, numbers) and not isinstance(value, bool) and math.isfinite(value)


def as_number(value: Any) -> float:
    """A coordinate as an int, if its type is a whole number, else as a float."""
    try:
        return operator.index(value)
    except TypeError:
        return float(value)


def check_tile(tile: TileSize) -> TileSize:
    """Return the tile size if it is usable, else raise ValueError."""
    given: Any = tile
    parts = given if isinstance(given, (tuple, list)) else (given,)
    if not parts or not all(_is_number(part) and part > 0 for part in parts):
        raise ValueError(
            f"Got a tile size of {tile}; give a number of units above 0, or one for each "
            "coordinate, such as (0.1, 0.01)."
        )
    return tuple(parts) if len(parts) > 1 else parts[0]


def check_whole_tile(tile: TileSize) -> int:
    """Return the tile size if it is a whole number of units, else raise ValueError."""
    given: Any = tile
    number = int(given) if isinstance(given, np.integer) else given
    check_whole("a tile size of {}", number, 1, TILE)
    return int(number)


def sizes(tile: TileSize) -> tuple[float, float]:
    """Units across and down."""
    parts = check_tile(tile)
    if not isinstance(parts, tuple):
        parts = parts, parts
    across, down, *_ = (as_number(part) for part in parts)
    return across, down


def extra_sizes(tile: TileSize, coordinates: int) -> Sequence[float]:
    """The sizes along the third coordinate and those after it."""
    if isinstance(tile, tuple):
        return tile[2:]
    return (tile,) * (coordinates - 2)


def tile_index(coordinate: float, first: float, size: float) -> int:
    """Which tile a coordinate falls into, counted from the one that begins at `first`."""
    units = as_number(coordinate) - first
    if isinstance(units, int) and isinstance(size, int):
        return units // size
    try:
        return math.floor(units / size + ROUNDING)
    except OverflowError as error:
        raise ValueError(
            f"Got a position of {coordinate} in tiles of {size}, too far away for a tile's number; "
            "return positions within reach, or give larger tiles."
        ) from error


def count_tiles(bounds: Bounds, sizes: tuple[float, float]) -> tuple[int, int]:
    """Columns and rows; a partial last tile is one."""
    columns, rows = (
        max(1, math.ceil(length / size - ROUNDING))
        for length, size in zip((bounds.width, bounds.height), sizes, strict=True)
    )
    if columns * rows > MOST_TILES:
        raise ValueError(
            f"Got bounds of {bounds.width}x{bounds.height} units in tiles of {sizes[0]}x{sizes[1]},"
            f" which are {columns * rows:,} tiles a room, more than {MOST_TILES:,}; give larger "
            "tiles."
        )
    return columns, rows


def covers(bounds: Bounds, position: Position) -> bool:
    """Whether the bounds hold a position; fractions may lie on the far edge."""
    x, y = as_number(position.x) - bounds.x, as_number(position.y) - bounds.y
    if bounds.is_whole:
        return 0 <= x < bounds.width and 0 <= y < bounds.height
    edge = ROUNDING * max(bounds.width, bounds.height)
    return -edge <= x <= bounds.width + edge and -edge <= y <= bounds.height + edge


def pixel_tiles(pixels: int, length: float, size: float, tiles: int) -> np.ndarray:
    """The tile at the beginning of each of `pixels` pixels, which show a length of tiles."""
    pixel = np.arange(pixels)
    if isinstance(length, (int, np.integer)) and isinstance(size, int):
        starts: np.ndarray = pixel * length // pixels // size
    else:
        starts = np.floor(pixel * (length / pixels / size) + ROUNDING).astype(np.int64)
        starts = np.minimum(starts, tiles - 1)
    return starts


def pool_tiles(touched: np.ndarray, starts: np.ndarray, axis: int) -> np.ndarray:
    """The largest of the tiles in each pixel: from its first to before the next pixel's first."""
    pooled: np.ndarray = np.maximum.reduceat(touched, starts, axis)
    return pooled


def tile_size_to_json(tile: TileSize) -> Any:
    return [as_number(part) for part in tile] if isinstance(tile, tuple) else as_number(tile)


def tile_to_json(tile: Tile) -> list[Any]:
    room, row, column = tile
    return [[int(part) for part in room], int(row), int(column)]


def tile_from_json(saved: list[Any]) -> Tile:
    room, row, column = saved
    return tuple(room), int(row), int(column)
