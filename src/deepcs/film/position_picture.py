"""Screenshots with the player's found position drawn over them."""

from __future__ import annotations

import cv2
import numpy as np

from deepcs.curiosity.game import Game
from deepcs.envs.find_position import Moment
from deepcs.film.overlay import TINT
from deepcs.film.panels import FAINT, GROUND, LINE, write

ACROSS = 4
SIZE = 2  # times the emulator's screen
WIDTH = 160 * SIZE
MARGIN, HEADER, CAPTION = 20, 62, 28
RADIUS = 11 * SIZE  # of the ring around the player
CROSS = 3 * SIZE  # half the length of the cross at its middle


def draw_positions(game: Game, moments: tuple[Moment, ...], subtitle: str) -> np.ndarray:
    """A sheet of the moments, uint8 (height, width, 3), a cross where the game's bytes say."""
    across = min(ACROSS, len(moments))
    down = -(-len(moments) // across)
    height = len(moments[0].picture) * SIZE
    sheet = np.full(
        (
            HEADER + down * (height + CAPTION) + MARGIN,
            MARGIN + across * (WIDTH + MARGIN),
            3,
        ),
        GROUND,
        np.uint8,
    )
    write(sheet, game.name, MARGIN, 12, size=20, bold=True)
    write(sheet, subtitle, MARGIN, 38, size=13, color=FAINT)
    for i, moment in enumerate(moments):
        left = MARGIN + i % across * (WIDTH + MARGIN)
        top = HEADER + i // across * (height + CAPTION)
        picture = cv2.resize(moment.picture, (WIDTH, height), interpolation=cv2.INTER_NEAREST)
        write(sheet, mark(picture, game, moment.ram), left, top + height + 4, size=13)
        sheet[top : top + height, left : left + WIDTH] = picture
        cv2.rectangle(sheet, (left - 1, top - 1), (left + WIDTH, top + height), LINE)
    return sheet


def mark(picture: np.ndarray, game: Game, ram: np.ndarray) -> str:
    """Draw the position into an enlarged screen; returns it in words."""
    position = game.locate(ram.tolist())
    if position is None:
        return "off the board"
    # Where the level scrolls, the player stays at one row of the screen.
    y = 0 if game.window is not None else position.y
    column, row = (round((pixel + 0.5) * SIZE) for pixel in game.screen.pixel(position.x, y))
    cv2.circle(picture, (column, row), RADIUS, (0, 0, 0), 3, cv2.LINE_AA)  # under a bright ring
    cv2.circle(picture, (column, row), RADIUS, TINT, 1, cv2.LINE_AA)
    cv2.line(picture, (column - CROSS, row), (column + CROSS, row), TINT)
    cv2.line(picture, (column, row - CROSS), (column, row + CROSS), TINT)
    room = "".join(f" · room {number}" for number in position.room)
    return f"x {position.x} · y {position.y}{room}"
