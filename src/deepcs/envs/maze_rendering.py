"""Pictures of the mazes, for people."""

from __future__ import annotations

from dataclasses import dataclass

import cv2
import numpy as np

Color = tuple[int, int, int]  # red, green, blue

CELL = 16  # pixels across
FINE = 4  # drawn so many times larger, then shrunk: smooth edges
UNIT = CELL * FINE

WALL: Color = (40, 44, 56)
FLOOR: Color = (214, 212, 206)
GROUND: dict[str, Color] = {
    "w": (112, 166, 220),
    "r": (164, 160, 164),
    "g": (134, 184, 146),
    "e": (186, 146, 108),
}
TOUCHED: Color = (255, 216, 96)
TINT = 0.62  # share of TOUCHED in a touched tile
GOLD: Color = (236, 164, 12)
DARK: Color = (60, 44, 30)
WOOD: Color = (132, 80, 42)
PLAYER: Color = (206, 48, 72)
WHITE: Color = (255, 255, 255)


@dataclass(frozen=True)
class Scene:
    """What there is to draw."""

    layout: tuple[str, ...]
    """the map, as in `maze.Maze`"""
    touched: np.ndarray
    """bool (height, width)"""
    player: tuple[int, int]
    """row and column"""
    leaning: tuple[int, int]
    """(down, right) that the player leans, halfway to the next cell"""
    gone: tuple[tuple[int, int], ...]
    """cells whose item was taken"""
    solved: bool
    """the door stands open"""


class Brush:
    """Draws into one cell, in units of a cell from its upper left corner."""

    def __init__(self, canvas: np.ndarray, row: float, column: float) -> None:
        self.canvas = canvas
        self.row = row
        self.column = column

    def at(self, x: float, y: float) -> tuple[int, int]:
        return round((self.column + x) * UNIT), round((self.row + y) * UNIT)

    def box(self, x0: float, y0: float, x1: float, y1: float, color: Color) -> None:
        left, top = self.at(x0, y0)
        right, bottom = self.at(x1, y1)
        cv2.rectangle(self.canvas, (left, top), (right - 1, bottom - 1), color, cv2.FILLED)

    def disc(self, x: float, y: float, radius: float, color: Color) -> None:
        cv2.circle(self.canvas, self.at(x, y), round(radius * UNIT), color, cv2.FILLED)

    def ring(self, x: float, y: float, radius: float, color: Color) -> None:
        cv2.circle(self.canvas, self.at(x, y), round(radius * UNIT), color, round(0.1 * UNIT))

    def line(self, points: list[tuple[float, float]], width: float, color: Color) -> None:
        path = np.array([self.at(x, y) for x, y in points], np.int32)
        cv2.polylines(self.canvas, [path], False, color, round(width * UNIT))


def draw_scene(scene: Scene) -> np.ndarray:
    """The whole maze with a wall around it: uint8 (16 (rows + 2), 16 (columns + 2), 3)."""
    rows, columns = len(scene.layout), len(scene.layout[0])
    canvas = np.empty(((rows + 2) * UNIT, (columns + 2) * UNIT, 3), np.uint8)
    canvas[:] = WALL
    for row, line in enumerate(scene.layout):
        for column, letter in enumerate(line):
            if letter == " ":
                continue
            brush = Brush(canvas, row + 1, column + 1)
            draw_ground(brush, letter.lower(), bool(scene.touched[row, column]))
            if letter == "D":
                draw_door(brush, scene.solved)
            elif letter == "K":
                if (row, column) not in scene.gone:
                    draw_key(brush)
            elif letter.isupper() and (row, column) not in scene.gone:
                draw_token(brush)
    row, column = scene.player
    down, right = scene.leaning
    draw_player(Brush(canvas, row + 1 + down / 2, column + 1 + right / 2))
    if any(scene.layout[y][x] == "K" for y, x in scene.gone):
        draw_key(Brush(canvas, row, column + 1))  # carried overhead
    return cv2.resize(canvas, None, fx=1 / FINE, fy=1 / FINE, interpolation=cv2.INTER_AREA)


def draw_ground(brush: Brush, terrain: str, touched: bool) -> None:
    """A tile of floor or terrain, golden once touched."""
    base = np.array(GROUND.get(terrain, FLOOR), float)
    mixed = (1 - TINT) * base + TINT * np.array(TOUCHED) if touched else base
    brush.box(0.03, 0.03, 0.97, 0.97, _color(mixed))
    mark = _color(0.78 * mixed)
    if terrain == "w":
        for y in (0.32, 0.62):
            wave = [(0.15 + 0.07 * i, y + 0.07 * np.sin(i * np.pi / 2.5)) for i in range(11)]
            brush.line(wave, 0.07, mark)
    elif terrain == "r":
        brush.line([(0.14, 0.78), (0.42, 0.28), (0.6, 0.56), (0.7, 0.42), (0.88, 0.78)], 0.08, mark)
    elif terrain == "g":
        brush.box(0.03, 0.36, 0.97, 0.64, mark)
    elif terrain == "e":
        for x, y in ((0.25, 0.28), (0.66, 0.22), (0.46, 0.52), (0.2, 0.76), (0.76, 0.7)):
            brush.disc(x, y, 0.075, mark)


def draw_door(brush: Brush, is_open: bool) -> None:
    """A wooden door with a golden lock; open, a dark passage."""
    brush.box(0.03, 0.03, 0.97, 0.97, DARK)
    if not is_open:
        brush.box(0.12, 0.12, 0.88, 0.97, WOOD)
        brush.disc(0.68, 0.54, 0.12, GOLD)


def draw_key(brush: Brush) -> None:
    brush.ring(0.3, 0.5, 0.16, GOLD)
    brush.line([(0.46, 0.5), (0.86, 0.5), (0.86, 0.68)], 0.1, GOLD)
    brush.line([(0.68, 0.5), (0.68, 0.64)], 0.1, GOLD)


def draw_token(brush: Brush) -> None:
    brush.disc(0.5, 0.5, 0.3, DARK)
    brush.disc(0.5, 0.5, 0.24, GOLD)
    brush.disc(0.43, 0.43, 0.08, WHITE)


def draw_player(brush: Brush) -> None:
    brush.disc(0.5, 0.5, 0.42, WHITE)
    brush.disc(0.5, 0.5, 0.36, PLAYER)
    for x in (0.36, 0.64):
        brush.disc(x, 0.44, 0.11, WHITE)
        brush.disc(x, 0.46, 0.06, DARK)


def _color(values: np.ndarray) -> Color:
    red, green, blue = (int(value) for value in values)
    return red, green, blue
