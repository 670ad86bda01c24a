"""A curiosity grid without bounds: tiles are in a dict, rooms may be of any size."""

from __future__ import annotations

import numpy as np

from deepcs.curiosity.fading import NOTHING, Fading
from deepcs.curiosity.grid import TOUCHED
from deepcs.curiosity.lives import Lifetime, Lives, check_lifetime
from deepcs.curiosity.tiles import (
    Position,
    Room,
    Tile,
    TileSize,
    pixel_tiles,
    pool_tiles,
    sizes,
    tile_from_json,
    tile_index,
    tile_size_to_json,
    tile_to_json,
)
from deepcs.system.snapshot import Snapshot, all_or_nothing, check_same, check_snapshot

VIEW = 21  # tiles across the plane, the player's tile in the middle


class UnboundedGrid(Lives):
    """Tiles touched in this life, in a world whose size is not known.

    It has what an environment needs of a CuriosityGrid. With no bounds to draw in, the plane is a
    map of VIEW x VIEW tiles around the player.
    """

    centred = True

    def __init__(
        self,
        tile: TileSize = 16,
        *,
        lifetime: Lifetime = "game",
        y_up: bool = False,
        half_life: float | None = None,
    ) -> None:
        """`tile`, `y_up`, `half_life`: as in CuriosityGrid."""
        self.tile = tile
        self._sizes = sizes(tile)
        self.lifetime = check_lifetime(lifetime)
        self.y_up = y_up
        self.fading = None if half_life is None else Fading(half_life)
        self.new_life()

    def new_life(self) -> None:
        """Forget every tile: all are new again."""
        self._entries: dict[Tile, int] = {}
        self._rooms: dict[Room, None] = {}
        self.here: Tile | None = None
        """The tile last visited in this life; the same object until another is entered."""
        self._forget()

    @property
    def tiles(self) -> int:
        """Tiles touched in this life, over all rooms."""
        return len(self._entries)

    @property
    def rooms(self) -> tuple[Room, ...]:
        """Rooms entered in this life, in order of first entry."""
        return tuple(self._rooms)

    def visit(self, position: Position) -> bool:
        """Touch the position's tile; True on its first touch in this life."""
        row = tile_index(position.y, 0, self._sizes[1])
        here = (position.room, row, tile_index(position.x, 0, self._sizes[0]))
        self._bonus_entries, self._worth = 0, NOTHING
        if here == self.here:
            return False
        worth = None if self.fading is None else self.fading.enter(here)
        entries = self._entries.get(here, 0) + 1
        self._entries[here] = entries
        self._rooms[position.room] = None
        if self.here is not None:
            self._bonus_entries = entries
            self._worth = worth or NOTHING
        self.here = here
        return entries == 1

    def plane(
        self,
        room: Room,
        shape: tuple[int, int] = (84, 84),
        window: tuple[int, int] | None = None,
    ) -> np.ndarray:
        """Touched tiles around the player: uint8 (height, width), 255 = touched; where visits fade,
        darker the longer ago a tile was last entered.
        """
        touched = np.zeros((VIEW, VIEW), np.uint8)
        if self.here is not None:
            top, left = self.here[1] - VIEW // 2, self.here[2] - VIEW // 2
            shades = None if self.fading is None else dict(self.fading.shades())
            for y, x in np.ndindex(VIEW, VIEW):
                tile = room, top + y, left + x
                if tile in self._entries:
                    touched[y, x] = TOUCHED if shades is None else round(TOUCHED * shades[tile])
        if self.y_up:
            touched = touched[::-1]
        rows, columns = (pixel_tiles(pixels, VIEW, 1, VIEW) for pixels in shape)
        return pool_tiles(pool_tiles(touched, columns, axis=1), rows, axis=0)

    def snapshot(self) -> Snapshot:
        """Everything this life has touched, as JSON values."""
        return {
            "kind": "unbounded grid",
            "settings": self._settings(),
            "entries": [[tile_to_json(tile), n] for tile, n in self._entries.items()],
            "here": self.here and tile_to_json(self.here),
            **self._snapshot_of_fading(tile_to_json),
        }

    def _settings(self) -> Snapshot:
        return {
            "tile": tile_size_to_json(self.tile),
            "lifetime": self.lifetime,
            **self._fading_setting(),
        }

    @all_or_nothing
    def restore(self, snapshot: Snapshot) -> None:
        """Return to the state that snapshot() saved, on a grid of the same settings."""
        keys = ("settings", "entries", "here", "bonus_entries")
        saved = check_snapshot(snapshot, "unbounded grid", keys)
        check_same(saved["settings"], self._settings(), "grid")
        self._entries = {tile_from_json(tile): int(n) for tile, n in saved["entries"]}
        self._rooms = {room: None for room, _, _ in self._entries}
        self.here = saved["here"] and tile_from_json(saved["here"])
        self._restore_fading(saved, tile_from_json)
