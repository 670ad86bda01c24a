"""A curiosity grid without bounds: tiles are found by hash, rooms may be of any size."""

from __future__ import annotations

import numpy as np

from deepcs.curiosity.grid import (
    TOUCHED,
    Lifetime,
    Lives,
    Position,
    Room,
    Tile,
    check_lifetime,
    check_tile,
)
from deepcs.curiosity.snapshot import Snapshot, check_snapshot

VIEW = 21  # tiles across the plane, the player's tile in the middle


class UnboundedGrid(Lives):
    """Tiles touched in this life, in a world whose size is not known.

    Same verbs as CuriosityGrid. With no bounds to draw in, the plane is a map of VIEW x VIEW
    tiles around the player.
    """

    centred = True

    def __init__(self, tile: int = 16, *, lifetime: Lifetime = "game", y_up: bool = False) -> None:
        self.tile = check_tile(tile)
        self.lifetime = check_lifetime(lifetime)
        self.y_up = y_up
        self.new_life()

    def new_life(self) -> None:
        """Forget every tile: all are new again."""
        self._entries: dict[Tile, int] = {}
        self._rooms: dict[Room, None] = {}
        self.here: Tile | None = None
        """The tile last visited in this life; the same object until another is entered."""
        self._bonus_entries = 0

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
        here = (position.room, position.y // self.tile, position.x // self.tile)
        self._bonus_entries = 0
        if here == self.here:
            return False
        entries = self._entries.get(here, 0) + 1
        self._entries[here] = entries
        self._rooms[position.room] = None
        if self.here is not None:
            self._bonus_entries = entries
        self.here = here
        return entries == 1

    def plane(
        self,
        room: Room,
        shape: tuple[int, int] = (84, 84),
        window: tuple[int, int] | None = None,
    ) -> np.ndarray:
        """Touched tiles around the player: uint8 (height, width), 255 = touched."""
        touched = np.zeros((VIEW, VIEW), np.uint8)
        if self.here is not None:
            _, middle_row, middle_column = self.here
            for tile_room, row, column in self._entries:
                y, x = row - middle_row + VIEW // 2, column - middle_column + VIEW // 2
                if tile_room == room and 0 <= y < VIEW and 0 <= x < VIEW:
                    touched[y, x] = TOUCHED
        if self.y_up:
            touched = touched[::-1]
        rows = np.arange(shape[0]) * VIEW // shape[0]
        columns = np.arange(shape[1]) * VIEW // shape[1]
        plane: np.ndarray = touched[rows[:, None], columns]
        return plane

    def snapshot(self) -> Snapshot:
        """Everything this life has touched, as JSON values."""
        return {
            "kind": "unbounded grid",
            "entries": [[list(room), y, x, n] for (room, y, x), n in self._entries.items()],
            "here": None if self.here is None else [list(self.here[0]), *self.here[1:]],
            "bonus_entries": self._bonus_entries,
        }

    def restore(self, snapshot: Snapshot) -> None:
        """Return to the state that snapshot() saved."""
        saved = check_snapshot(snapshot, "unbounded grid", ("entries", "here", "bonus_entries"))
        self._entries = {(tuple(room), y, x): n for room, y, x, n in saved["entries"]}
        self._rooms = {room: None for room, _, _ in self._entries}
        here = saved["here"]
        self.here = None if here is None else (tuple(here[0]), here[1], here[2])
        self._bonus_entries = saved["bonus_entries"]
