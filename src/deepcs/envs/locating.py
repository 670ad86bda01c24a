"""Where the player is, by the user's `locate`."""

from __future__ import annotations

import math
import operator
import warnings
from collections.abc import Callable
from typing import Any

import gymnasium
import numpy as np

from deepcs.curiosity.tiles import (
    Bounds,
    Position,
    TileSize,
    as_number,
    covers,
    extra_sizes,
    tile_index,
)
from deepcs.system.warning import DeepcsWarning

Env = gymnasium.Env[Any, Any]
Locate = Callable[[Env, Any, dict[str, Any]], Any]
"""(wrapped environment, observation, info) -> a Position, or plain numbers x, y and so on; None:
the player is off the board."""

HOW_TO_LOCATE = (
    "pass locate=f with f(env, observation, info) -> deepcs.Position or None, and "
    "bounds=deepcs.Bounds(...) (without bounds the grid grows as needed)"
)
WATCHED = 1_000  # positions among which those outside the bounds are counted
MANY = 0.1  # share of them that is worth a warning


class Locator:
    """Calls `locate`, and makes a Position of its result.

    Of plain numbers the first two are x and y. The third and those after it are tiled too, and
    their tiles' numbers are the room.
    """

    def __init__(self, locate: Locate, tile: TileSize, bounds: Bounds | None) -> None:
        if not callable(locate):
            raise ValueError(f"Got locate {locate!r}, which is no function; {HOW_TO_LOCATE}.")
        self.locate = locate
        self._tile, self._bounds = tile, bounds
        self._length = len(tile) if isinstance(tile, tuple) else None  # coordinates; None: unknown
        self._positions = 0  # of those that are watched
        self._outside = 0

    def find(self, env: Env, observation: Any, info: dict[str, Any]) -> Position | None:
        """Where the player is; raises ValueError for what is no position."""
        try:
            found = self.locate(env, observation, info)
        except Exception as error:
            raise ValueError(
                f"locate raised {type(error).__name__} ({error}); fix it, or return None while "
                "the player is off the board."
            ) from error
        if found is None:
            return None
        position = self._place(found) if isinstance(found, Position) else self._point(found)
        self._watch(position)
        return position

    def _place(self, found: Position) -> Position:
        try:
            room = tuple(operator.index(part) for part in found.room)
            x, y = as_number(found.x), as_number(found.y)
        except (TypeError, ValueError) as error:
            raise ValueError(_no_place(found)) from error
        if not (math.isfinite(x) and math.isfinite(y)):
            raise ValueError(_no_place(found))
        self._check_length(2, found)
        return Position(x, y, room)

    def _point(self, found: Any) -> Position:
        is_row = isinstance(found, np.ndarray) and found.ndim == 1
        if not (is_row or isinstance(found, (tuple, list))) or len(found) == 0:
            raise ValueError(
                f"locate returned {found!r}; return a deepcs.Position(x, y, room), plain numbers "
                "(x, y), or None while the player is off the board."
            )
        try:
            numbers = [as_number(part) for part in found]
        except (TypeError, ValueError) as error:
            raise ValueError(_no_place(found)) from error
        if not all(map(math.isfinite, numbers)):
            raise ValueError(_no_place(found))
        self._check_length(len(numbers), found)
        x, y, *others = (*numbers, 0) if len(numbers) == 1 else numbers
        sizes = extra_sizes(self._tile, len(numbers))
        room = (tile_index(z, 0, size) for z, size in zip(others, sizes, strict=True))
        return Position(x, y, tuple(room))

    def _check_length(self, length: int, found: Any) -> None:
        if self._length is None:
            self._length = length
        if length != self._length:
            before = "tile has sizes for" if isinstance(self._tile, tuple) else "it returned before"
            raise ValueError(
                f"locate returned {found!r}, {length} coordinates where {before} {self._length}; "
                "return as many each time."
            )

    def _watch(self, position: Position) -> None:
        """Warn once if many of the first positions are outside the bounds."""
        if self._bounds is None or self._positions >= WATCHED:
            return
        self._positions += 1
        self._outside += not covers(self._bounds, position)
        if self._outside > MANY * WATCHED:
            self._positions = WATCHED
            warnings.warn(
                f"More than a tenth of the first {WATCHED:,} positions are outside the bounds, "
                f"{self._bounds.words}, and were clamped to the edge; widen the bounds, or pass "
                "clamp=False to see the first of them.",
                DeepcsWarning,
                stacklevel=5,
            )


def _no_place(found: Any) -> str:
    return (
        f"locate returned {found!r}; give finite numbers x and y, and as the room a tuple of whole "
        "numbers."
    )
