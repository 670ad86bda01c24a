"""The curiosity grid drawn over the game: touched tiles where they are on the screen."""

from __future__ import annotations

from dataclasses import dataclass

import cv2
import numpy as np

from deepcs.curiosity.game import Game
from deepcs.curiosity.grid import CuriosityGrid
from deepcs.curiosity.tiles import Position

TINT = (240, 228, 66)  # Okabe and Ito's yellow: apart from the scenery of the paper's games
STRENGTH = 0.26  # share of the tint in a touched tile
STANDING = (255, 255, 255)  # outline of the tile that the player stands on
HEIGHT, WIDTH = 210, 160  # the emulator's screen


@dataclass(frozen=True)
class Box:
    """A rectangle in pixels, right and bottom excluded."""

    left: float
    top: float
    right: float
    bottom: float


def tile_box(game: Game, grid: CuriosityGrid, row: int, column: int, player_y: float) -> Box | None:
    """Where the middle of the player's sprite is on the screen while it stands on a tile.

    None: that is outside the screen. `player_y`: where a level that scrolls is scrolled to.
    """
    bounds, (across, down) = grid.bounds, grid.sizes
    first_x, first_y = bounds.x + column * across, bounds.y + row * down
    end_x = min(first_x + across, bounds.x + bounds.width)
    end_y = min(first_y + down, bounds.y + bounds.height)
    if game.window is not None:
        first_y = max(first_y - player_y, game.window[0])
        end_y = min(end_y - player_y, game.window[1] + 1)
        if first_y >= end_y:
            return None
    # A unit reaches half a unit to either side of the position that it stands for.
    left, one = game.screen.pixel(first_x - 0.5, first_y - 0.5)
    right, other = game.screen.pixel(end_x - 0.5, end_y - 0.5)
    top, bottom = sorted((one, other))
    box = Box(max(left, 0), max(top, 0), min(right, WIDTH), min(bottom, HEIGHT))
    return box if box.left < box.right and box.top < box.bottom else None


def draw_grid_over(picture: np.ndarray, game: Game, grid: CuriosityGrid, player: Position) -> None:
    """Tint and outline the touched tiles of the player's room.

    `picture`: uint8 (210 n, 160 n, 3), the screen n times as large; drawn into.
    """
    scale = len(picture) / HEIGHT
    standing = grid.tile_of(player)
    for row, column in np.argwhere(grid.entries(player.room)):
        box = tile_box(game, grid, int(row), int(column), player.y)
        if box is not None:
            _draw_tile(picture, box, scale, standing=(row, column) == standing)


def _draw_tile(picture: np.ndarray, box: Box, scale: float, *, standing: bool) -> None:
    left, top = round(box.left * scale), round(box.top * scale)
    right, bottom = round(box.right * scale), round(box.bottom * scale)
    inside = picture[top:bottom, left:right]
    inside[:] = np.rint((1 - STRENGTH) * inside + STRENGTH * np.array(TINT))
    color, thickness = (STANDING, 2) if standing else (TINT, 1)
    corners = (left + 1, top + 1), (right - 2, bottom - 2)
    cv2.rectangle(picture, *corners, color, thickness)
