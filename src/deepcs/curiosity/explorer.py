"""One actor's curiosity: positions in; intrinsic reward, plane and visits out."""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np

from deepcs.curiosity.grid import (
    Curiosity,
    Position,
    Room,
    Tile,
    tile_from_json,
    tile_to_json,
)
from deepcs.system.snapshot import Snapshot, all_or_nothing, check_same, check_snapshot


class Explorer:
    """Leads a grid through games and lives, and keeps what people want to see of it."""

    def __init__(
        self,
        grid: Curiosity,
        *,
        graded: bool = False,
        shape: tuple[int, int] = (84, 84),
        window: tuple[int, int] | None = None,
    ) -> None:
        """`window`: raw units above and below the player that the plane shows; None: the room."""
        self.grid = grid
        self.graded = graded
        self.shape = shape
        self.window = window
        self.position: Position | None = None
        self.intrinsic = 0.0
        self._room: Room = ()  # the room last visited, which the plane shows
        self._window_y = 0
        self._plane: np.ndarray | None = None
        self._visits: Counter[Tile] = Counter()

    def start_game(self, position: Position | None) -> None:
        """A true game start; the position, if on the board, is the start tile."""
        self.grid.new_game()
        self._room = ()
        self._plane = None
        self.step(position)
        self.intrinsic = 0.0

    def lose_life(self) -> None:
        """The player lost one of the game's lives."""
        self.grid.lost_life()
        self._plane = None

    def step(self, position: Position | None) -> float:
        """The agent took a step and stands here; returns the intrinsic reward I."""
        self.position = position
        if position is None:
            self.intrinsic = 0.0
            return 0.0
        if position.room != self._room:
            self._room = position.room
            self._plane = None
        grid = self.grid
        before = grid.here
        new = grid.visit(position)
        if self.window is not None and position.y != self._window_y:
            self._plane = None
            self._window_y = position.y
        if grid.here is before:
            self.intrinsic = 0.0
            return 0.0
        assert grid.here is not None
        self._visits[grid.here] += 1
        if new or grid.centred:
            self._plane = None
        self.intrinsic = grid.bonus(self.graded)
        return self.intrinsic

    @property
    def plane(self) -> np.ndarray:
        """The current room's map, as the network sees it: uint8 `shape`, 255 = touched."""
        if self._plane is None:
            window = None
            if self.window is not None:
                window = self._window_y + self.window[0], self._window_y + self.window[1]
            self._plane = self.grid.plane(self._room, self.shape, window)
        return self._plane

    def info(self) -> dict[str, Any]:
        """What a step's info says of curiosity."""
        return {
            "intrinsic": self.intrinsic,
            "position": self.position,
            "room": self._room,
            "tiles": self.grid.tiles,
            "rooms": len(self.grid.rooms),
        }

    def take_visits(self) -> Counter[Tile]:
        """How often each tile was entered since this was last asked."""
        visits, self._visits = self._visits, Counter()
        return visits

    def snapshot(self) -> Snapshot:
        return {
            "kind": "explorer",
            "settings": {"graded": self.graded},
            "grid": self.grid.snapshot(),
            "position": None
            if self.position is None
            else [*self.position[:2], [*self.position.room]],
            "intrinsic": self.intrinsic,
            "room": list(self._room),
            "window_y": self._window_y,
            "visits": [[tile_to_json(tile), n] for tile, n in self._visits.items()],
        }

    @all_or_nothing
    def restore(self, snapshot: Snapshot) -> None:
        keys = ("settings", "grid", "position", "intrinsic", "room", "window_y", "visits")
        saved = check_snapshot(snapshot, "explorer", keys)
        check_same(saved["settings"], {"graded": self.graded}, "explorer")
        self.grid.restore(saved["grid"])
        position = saved["position"]
        self.position = position and Position(position[0], position[1], tuple(position[2]))
        self.intrinsic = float(saved["intrinsic"])
        self._room = tuple(saved["room"])
        self._window_y = int(saved["window_y"])
        self._visits = Counter({tile_from_json(tile): int(n) for tile, n in saved["visits"]})
        self._plane = None
