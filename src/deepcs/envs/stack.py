"""What the network sees of an Atari game: four grey frames, and the plane of the curiosity grid."""

from __future__ import annotations

from typing import Literal, get_args

import numpy as np

from deepcs.envs.screen import NOTHING, PAIR, SIZE, STACK, push_frame

GridInput = Literal["plane", "stacked", "none"]
GRID_INPUTS: tuple[GridInput, ...] = get_args(GridInput)


class Stack:
    """One actor's observation, changed in place.

    `array` is uint8 (5, 84, 84): the frames, newest last, then the plane of the current room;
    (8, 84, 84) with grid `stacked`, which has the last four planes, (4, 84, 84) with `none`.
    """

    def __init__(self, grid: GridInput) -> None:
        if grid not in GRID_INPUTS:
            raise ValueError(f"Got grid {grid!r}; choose one of {', '.join(GRID_INPUTS)}.")
        self.grid = grid
        planes = {"none": STACK, "plane": STACK + 1, "stacked": 2 * STACK}[grid]
        self.array = np.zeros((planes, SIZE, SIZE), np.uint8)
        self.pair_shown = np.full(PAIR, NOTHING, np.uint8)
        """the screens that the newest frame shows: uint8 (2, 210, 160)"""
        self._plane_shown: np.ndarray | None = None
        self._attached = False

    def attach(self, array: np.ndarray) -> None:
        """Keep the observation in this array from now on."""
        array[:] = self.array
        self.array = array
        self._attached = True

    @property
    def frame(self) -> np.ndarray:
        """The newest frame: uint8 (84, 84)."""
        newest: np.ndarray = self.array[STACK - 1]
        return newest

    def clear(self) -> None:
        """No frame and no plane, as before a game."""
        self.array[:] = 0
        self.pair_shown[:] = NOTHING
        self._plane_shown = None

    def push(self, pair: np.ndarray) -> None:
        """Push the frame of a pair of screens, uint8 (2, 210, 160), as the newest."""
        push_frame(self.array, pair, self.pair_shown)

    def show_plane(self, plane: np.ndarray) -> None:
        """Show this plane as the newest."""
        stack = self.array
        if self.grid == "stacked":
            stack[STACK:-1] = stack[STACK + 1 :]
        if self.grid != "none" and plane is not self._plane_shown:
            stack[-1] = self._plane_shown = plane

    def shown(self) -> np.ndarray:
        """The observation to hand out: a copy, unless it is kept in another's array."""
        return self.array if self._attached else self.array.copy()

    def restore(self, array: np.ndarray) -> None:
        """Show what was saved."""
        self.array[:] = array
        self.pair_shown[:] = NOTHING
