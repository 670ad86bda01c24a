"""A game's grid drawn in characters: a checkerboard of tiles with raw coordinates at its edges."""

from __future__ import annotations

import math

import numpy as np
from rich.text import Text

from deepcs.curiosity.game import Game
from deepcs.curiosity.tiles import Position

WIDTH = 84  # characters across at most
HEIGHT = 52  # half lines at most: one character shows two, as block characters are half filled
COARSEST = 4  # characters across a tile at least, where that fits
LIGHT, DARK, START = 0, 1, 2
COLORS = {DARK: "grey42", START: "yellow"}
FULL = {LIGHT: (" ", ""), DARK: ("█", "grey42"), START: ("S", "black on yellow")}


def draw_grid(game: Game) -> Text:
    """The grid of one room, in at most WIDTH + 12 columns and HEIGHT / 2 + 5 lines."""
    grid, bounds = game.grid(), game.bounds
    across, down = _tile_size(game)
    column_edges = _edges(int(bounds.width), game.tile, across)
    row_edges = _edges(int(bounds.height), game.tile, down)

    # half lines x characters, row 0 the smallest raw y
    tiles = np.add.outer(np.arange(grid.rows), np.arange(grid.columns)) % 2
    if game.start is not None:
        tiles[grid.tile_of(Position(*game.start))] = START
    picture = np.repeat(np.repeat(tiles, np.diff(row_edges), axis=0), np.diff(column_edges), axis=1)
    if grid.y_up:
        picture = picture[::-1]
        row_edges = [row_edges[-1] - edge for edge in row_edges]

    labels = {  # a tile's smallest raw y, at its edge; and the largest of all
        (row_edges[row] - grid.y_up) // 2: bounds.y + row * game.tile for row in range(grid.rows)
    }
    labels[(row_edges[-1] - (not grid.y_up)) // 2] = bounds.y + bounds.height - 1
    lines = [_line(picture, line) for line in range((len(picture) + 1) // 2)]

    drawn = Text()
    drawn.append(f"{'y':>6} ┌{'─' * picture.shape[1]}┐\n", "dim")
    for index, line in enumerate(lines):
        drawn.append(f"{labels.get(index, ''):>6} │", "dim")
        drawn.append(line)
        drawn.append("│\n", "dim")
    drawn.append(f"{'':>6} └{'─' * picture.shape[1]}┘\n", "dim")
    drawn.append(_x_axis(game, column_edges), "dim")
    if game.start is not None:
        drawn.append("\n\n        S", "bold yellow")
        drawn.append(f" the start tile, touched but not paid: {game.start}")
    return drawn


def _tile_size(game: Game) -> tuple[int, int]:
    """Characters across and half lines down of a whole tile, near the screen's proportions."""
    grid, bounds, screen = game.grid(), game.bounds, game.screen
    across, down = abs(screen.x_scale), abs(screen.y_scale)
    zoom = min(WIDTH / (bounds.width * across), HEIGHT / (bounds.height * down)) * game.tile
    coarsest = min(COARSEST, WIDTH // grid.columns)
    return max(int(zoom * across), coarsest), int(zoom * down) // 2 * 2


def _edges(units: int, tile: int, size: int) -> list[int]:
    """Where tiles begin and the last one ends; a partial last tile is narrow, never nothing."""
    edges = [index * size for index in range(math.ceil(units / tile))]
    return [*edges, edges[-1] + max(1, round((units - (len(edges) - 1) * tile) / tile * size))]


def _line(picture: np.ndarray, line: int) -> Text:
    """Two half lines as one line of block characters."""
    upper = picture[2 * line]
    lower = picture[2 * line + 1] if 2 * line + 1 < len(picture) else np.full_like(upper, LIGHT)
    text = Text()
    for above, below in zip(upper.tolist(), lower.tolist(), strict=True):
        if above == below:
            text.append(*FULL[above])
        elif above == LIGHT:
            text.append("▄", COLORS[below])
        elif below == LIGHT:
            text.append("▀", COLORS[above])
        else:
            text.append("▀", f"{COLORS[above]} on {COLORS[below]}")
    return text


def _x_axis(game: Game, edges: list[int]) -> str:
    """Raw x under the left edge of each tile, where there is room, and under the last unit."""
    first, last = game.bounds.x, game.bounds.x + game.bounds.width - 1
    if game.x is None:
        return ""
    axis = " " * 8
    end = 8 + edges[-1] - 1
    for tile, edge in enumerate(edges[:-1]):
        label = str(first + tile * game.tile)
        if 8 + edge > len(axis) - (tile == 0) and 8 + edge + len(label) < end:
            axis = axis.ljust(8 + edge) + label
    return axis.ljust(end) + f"{last}  x"
