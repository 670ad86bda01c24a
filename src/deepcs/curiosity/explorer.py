"""One actor's curiosity: positions in; intrinsic reward, plane, visits and the game's tiles out."""

from __future__ import annotations

import json
from collections import Counter
from typing import Any

import numpy as np

from deepcs.curiosity.cells import NOWHERE, CellMemory, cell_number
from deepcs.curiosity.grid import Curiosity
from deepcs.curiosity.tiles import Position, Room, Tile, tile_from_json, tile_to_json
from deepcs.system.snapshot import Snapshot, all_or_nothing, check_same, check_snapshot

STATE = ("grid", "position", "intrinsic", "room", "window_y", "visits", "game_tiles")


class Explorer:
    """Updates a grid through games and lives, and keeps what logs and videos show of it.

    The grid is reset by its lifetime; the tiles and rooms counted here are always those of the
    game, over all its lives. Where cells are used, they pay and are shown instead of the grid,
    which then only counts.
    """

    def __init__(
        self,
        grid: Curiosity,
        *,
        graded: bool = False,
        shape: tuple[int, int] = (84, 84),
        window: tuple[int, int] | None = None,
        cells: CellMemory | None = None,
    ) -> None:
        """`window`: raw units above and below the player that the plane shows; None: the room.

        cells: what pays and is shown instead of the grid; None: the grid.
        """
        self.grid = grid
        self.cells = cells
        self.graded = graded
        self.shape = shape
        self.window = window
        self.position: Position | None = None
        self.cell = NOWHERE
        """The number of the cell or tile where the last step ended; 0: none that counts."""
        self._numbers: dict[Tile, int] = {}  # of tiles, as cells have
        self.intrinsic = 0.0
        self._room: Room = ()  # the room last visited, which the plane shows
        self._window_y = 0
        self._plane: np.ndarray | None = None
        self._visits: Counter[Tile] = Counter()
        self._tiles: dict[Tile, None] = {}  # touched in this game, in order of first touch
        self._rooms: dict[Room, None] = {}

    @property
    def tiles(self) -> int:
        """Tiles touched in this game, whatever the grid's lifetime."""
        return len(self._tiles)

    @property
    def rooms(self) -> tuple[Room, ...]:
        """Rooms entered in this game, in order of first entry, whatever the grid's lifetime."""
        return tuple(self._rooms)

    def start_game(self, position: Position | None, cell: int | None = None) -> None:
        """A game starts; the position, if on the board, is the start tile."""
        self.grid.new_game()
        if self.cells is not None:
            self.cells.new_game()
        self._tiles, self._rooms = {}, {}
        self._room = ()
        self._plane = None
        self.step(position, cell)
        self.intrinsic = 0.0

    def lose_life(self) -> None:
        """The player lost one of the game's lives."""
        self.grid.lost_life()
        if self.cells is not None:
            self.cells.lost_life()
        self._plane = None

    def step(self, position: Position | None, cell: int | None = None) -> float:
        """The agent took a step and stands here; returns the intrinsic reward I.

        cell: the number of the cell, where cells are used; None: this step does not count.
        """
        if self.grid.fading is not None:
            self.grid.fading.step += 1
            self._plane = None
        self.intrinsic = self._visit(position)
        if self.cells is None:
            self.cell = NOWHERE if position is None else self._number(self.grid.here)
        else:
            self.cell = NOWHERE if cell is None else cell
            self.intrinsic = self._enter(cell)
        return self.intrinsic

    def _visit(self, position: Position | None) -> float:
        """Visit a position's tile; what that pays."""
        self.position = position
        if position is None:
            return 0.0
        if position.room != self._room:
            self._room = position.room
            self._plane = None
        grid = self.grid
        before = grid.here
        new = grid.visit(position)
        if self.window is not None and position.y != self._window_y:
            self._plane = None
            self._window_y = int(position.y)
        here = grid.here
        assert here is not None
        if here is before:
            if not self._tiles:  # a grid that outlives games: this one starts where the last ended
                self._touch(here)
            return 0.0
        self._visits[here] += 1
        self._touch(here)
        if new or grid.centred:
            self._plane = None
        return grid.bonus(self.graded)

    def _enter(self, cell: int | None) -> float:
        """Enter a cell; what that pays."""
        assert self.cells is not None
        if self.cells.fading is not None:
            self.cells.fading.step += 1
        if cell is None:
            return 0.0
        before = self.cells.here
        self.cells.visit(cell)
        if self.cells.here != before:
            self._plane = None
        return self.cells.bonus(self.graded)

    def _number(self, tile: Tile | None) -> int:
        assert tile is not None
        number = self._numbers.get(tile)
        if number is None:
            number = cell_number(json.dumps(tile_to_json(tile)).encode())
            self._numbers[tile] = number
        return number

    def _touch(self, tile: Tile) -> None:
        self._tiles[tile] = None
        self._rooms[tile[0]] = None

    @property
    def plane(self) -> np.ndarray:
        """The current room's map, as the network sees it: uint8 `shape`, 255 = touched.

        Where cells are used: how new this one is and the last ones were.
        """
        if self._plane is None and self.cells is not None:
            self._plane = self.cells.plane(self.shape)
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
            "tiles": len(self._tiles),
            "rooms": len(self._rooms),
            "cell": self.cell,
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
            "game_tiles": [tile_to_json(tile) for tile in self._tiles],
            **({} if self.cells is None else {"cells": self.cells.snapshot()}),
        }

    @all_or_nothing
    def restore(self, snapshot: Snapshot) -> None:
        saved = check_snapshot(snapshot, "explorer", ("settings", *STATE))
        check_same(saved["settings"], {"graded": self.graded}, "explorer")
        self.grid.restore(saved["grid"])
        if self.cells is not None:
            self.cells.restore(saved["cells"])
        position = saved["position"]
        self.position = position and Position(position[0], position[1], tuple(position[2]))
        self.intrinsic = float(saved["intrinsic"])
        self._room = tuple(saved["room"])
        self._window_y = int(saved["window_y"])
        self._visits = Counter({tile_from_json(tile): int(n) for tile, n in saved["visits"]})
        self._tiles = dict.fromkeys(tile_from_json(tile) for tile in saved["game_tiles"])
        self._rooms = dict.fromkeys(room for room, _, _ in self._tiles)
        self._plane = None
