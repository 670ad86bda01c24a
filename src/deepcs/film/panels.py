"""What a frame of a recording shows, and where: the game, the plane, numbers, the map of rooms."""

from __future__ import annotations

import functools
import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import cv2
import matplotlib
import numpy as np
from PIL import Image, ImageDraw, ImageFont

from deepcs.curiosity.tiles import Room
from deepcs.film import pyramid
from deepcs.film.overlay import TINT

Color = tuple[int, int, int]  # red, green, blue
Number = tuple[str, str]  # what it is, as it stands in the frame
NOT_SEEN = "not seen by this agent"

# Okabe and Ito's colours, safe for the colour-blind, on a dark background.
GROUND: Color = (17, 19, 24)
PANEL: Color = (30, 33, 40)
LINE: Color = (66, 71, 82)
INK: Color = (238, 240, 244)
FAINT: Color = (146, 153, 166)
COLORS: dict[str, Color] = {"score": (86, 180, 233), "intrinsic": TINT}

MARGIN = 32
HEADER = 58  # pixels above the game
TALL = 630  # the game's height at most, three times the emulator's
BROAD = 848  # and its width at most, where it stands above the plane
SIDE = 336  # width of the plane and of all beside the game: four times 84
HEADING = 24  # from a heading to what it heads
GAP = 24
ROOM_WIDTH, ROOM_HEIGHT, ROOM_GAP = 34, 22, 4  # of a room on the map

FONTS = Path(matplotlib.get_data_path()) / "fonts" / "ttf"


@dataclass(frozen=True)
class Scene:
    """One moment of a game."""

    picture: np.ndarray
    """the game, scaled: uint8 (height, width, 3)"""
    plane: np.ndarray | None
    """the curiosity grid that the network sees: uint8 (height, width); None: it sees none"""
    numbers: Sequence[Number]
    """score and the like, in order"""
    room: Room = ()
    """where the player is"""
    rooms: Sequence[Room] = ()
    """rooms visited"""


@functools.lru_cache
def font(size: int, bold: bool) -> ImageFont.FreeTypeFont:
    """DejaVu Sans, as matplotlib ships it."""
    return ImageFont.truetype(FONTS / f"DejaVuSans{'-Bold' * bold}.ttf", size)


@functools.lru_cache(4096)
def lettering(text: str, size: int, color: Color, bold: bool, ground: Color) -> np.ndarray:
    """A line of text: uint8 (height, width, 3), as high as any of this size."""
    face = font(size, bold)
    ascent, descent = face.getmetrics()
    width = max(1, math.ceil(face.getlength(text)))
    image = Image.new("RGB", (width, ascent + descent), ground)
    ImageDraw.Draw(image).text((0, ascent), text, color, face, anchor="ls")
    return np.asarray(image)


def write(
    canvas: np.ndarray,
    text: str,
    x: int,
    y: int,
    *,
    size: int = 15,
    color: Color = INK,
    bold: bool = False,
    ground: Color = GROUND,
    align: Literal["left", "centre", "right"] = "left",
) -> None:
    """Put text on the canvas: y is its top, x its left, middle or right; cut off at the edge."""
    letters = lettering(text, size, color, bold, ground)
    height, width = letters.shape[:2]
    x = max(0, x - {"left": 0, "centre": width // 2, "right": width}[align])
    place = canvas[y : y + height, x : x + width]
    place[:] = letters[: place.shape[0], : place.shape[1]]


def enlarge(picture: np.ndarray, limit: float) -> np.ndarray:
    """The picture, pixels kept square and sharp, as many whole times larger as `limit` allows."""
    factor = int(limit) if limit >= 1 else limit
    smooth = cv2.INTER_NEAREST if limit >= 1 else cv2.INTER_AREA
    return cv2.resize(picture, None, fx=factor, fy=factor, interpolation=smooth)


def enlarge_game(picture: np.ndarray) -> np.ndarray:
    """The game's picture at the size it has in the frame."""
    height, width = picture.shape[:2]
    return enlarge(picture, BROAD / width if is_broad(picture) else TALL / height)


def is_broad(picture: np.ndarray) -> bool:
    """A game that is much wider than high is drawn above the plane instead of beside it."""
    return bool(picture.shape[1] > 2 * picture.shape[0])


class Composition:
    """The layout of frames; `draw` makes them, all of one size, even in both directions."""

    def __init__(self, title: str, subtitle: str, first: Scene, *, room_map: bool = False) -> None:
        """`first`: any scene of the game to be shown. `room_map`: MontezumaRevenge's pyramid."""
        self.room_map = room_map
        self.broad = is_broad(first.picture)
        height, width = first.picture.shape[:2]
        rows, columns = (1, 1) if first.plane is None else first.plane.shape
        beside = width if self.broad else SIDE
        zoom = beside / max(rows, columns)
        self.plane_size = round(columns * zoom), max(ROOM_HEIGHT, round(rows * zoom))
        if self.broad:
            if first.plane is None:
                self.plane_size = beside, ROOM_HEIGHT * 2
            self.left, plane_top = MARGIN, HEADER + height + GAP
        else:
            self.left, plane_top = MARGIN + width + MARGIN, HEADER
        self.plane_top = plane_top + HEADING
        self.numbers_top = self.plane_top + self.plane_size[1] + GAP
        self.columns = len(first.numbers) if self.broad else 2 if room_map else 1
        self.pitch = 40 if self.columns == 1 else 33  # from one number to that below it
        self.beside = beside

        right = self.left + beside
        below = 52 if self.broad else -(-len(first.numbers) // self.columns) * self.pitch
        bottom = max(HEADER + (TALL if room_map else height), self.numbers_top + below)
        size = -(-(bottom + MARGIN) // 2) * 2, -(-(right + MARGIN) // 2) * 2
        self._background = np.empty((*size, 3), np.uint8)
        self._background[:] = GROUND
        write(self._background, title, MARGIN, 16, size=23, bold=True)
        write(self._background, subtitle, right, 23, color=FAINT, align="right")
        heading = "the curiosity grid" + (first.plane is not None) * ", as the network sees it"
        write(self._background, heading, self.left, plane_top, size=14, color=FAINT)

    @property
    def size(self) -> tuple[int, int]:
        """Width and height in pixels."""
        return self._background.shape[1], self._background.shape[0]

    def draw(self, scene: Scene) -> np.ndarray:
        """One frame: uint8 (height, width, 3)."""
        canvas = self._background.copy()
        height, width = scene.picture.shape[:2]
        canvas[HEADER : HEADER + height, MARGIN : MARGIN + width] = scene.picture
        self._draw_plane(canvas, scene.plane)
        if self.broad:
            self._draw_row(canvas, scene.numbers)
        else:
            self._draw_table(canvas, scene.numbers)
        if self.room_map:
            self._draw_rooms(canvas, scene)
        return canvas

    def _draw_plane(self, canvas: np.ndarray, plane: np.ndarray | None) -> None:
        width, height = self.plane_size
        left, top = self.left, self.plane_top
        place = canvas[top : top + height, left : left + width]
        if plane is None:
            place[:] = PANEL
            middle = left + width // 2, top + height // 2 - 10
            write(canvas, NOT_SEEN, *middle, color=FAINT, ground=PANEL, align="centre")
        else:
            seen = cv2.resize(plane, self.plane_size, interpolation=cv2.INTER_NEAREST)
            place[:] = seen[:, :, None]
        corner = left + width, top + height
        cv2.rectangle(canvas, (left - 1, top - 1), corner, LINE, 1)

    def _draw_table(self, canvas: np.ndarray, numbers: Sequence[Number]) -> None:
        """Names on the left, numbers on the right, in one column or two."""
        rows = -(-len(numbers) // self.columns)
        size = 19 if self.columns == 1 else 16
        width = (self.beside - MARGIN * (self.columns - 1)) // self.columns
        for i, (name, number) in enumerate(numbers):
            left = self.left + i // rows * (width + MARGIN)
            top = self.numbers_top + i % rows * self.pitch
            color = COLORS.get(name, INK)
            write(canvas, name, left, top + size // 8, size=size - 2, color=FAINT)
            write(
                canvas, number, left + width, top, size=size, color=color, bold=True, align="right"
            )
            line = top + round(1.55 * size)
            canvas[line, left : left + width] = PANEL

    def _draw_row(self, canvas: np.ndarray, numbers: Sequence[Number]) -> None:
        """Names above numbers, side by side."""
        for i, (name, number) in enumerate(numbers):
            left = self.left + i * self.beside // self.columns
            color = COLORS.get(name, INK)
            write(canvas, name, left, self.numbers_top, size=14, color=FAINT)
            write(canvas, number, left, self.numbers_top + 22, size=20, color=color, bold=True)

    def _draw_rooms(self, canvas: np.ndarray, scene: Scene) -> None:
        """The pyramid: rooms visited are filled, the player's is outlined."""
        pitch = ROOM_WIDTH + ROOM_GAP, ROOM_HEIGHT + ROOM_GAP
        left = self.left + (self.beside - pyramid.COLUMNS * pitch[0] + ROOM_GAP) // 2
        top = HEADER + TALL - pyramid.ROWS * pitch[1] + ROOM_GAP
        write(canvas, "rooms visited", self.left, top - HEADING, size=14, color=FAINT)
        for room, (row, column) in pyramid.PLACES.items():
            x, y = left + column * pitch[0], top + row * pitch[1]
            ground, ink = (TINT, GROUND) if (room,) in scene.rooms else (PANEL, LINE)
            canvas[y : y + ROOM_HEIGHT, x : x + ROOM_WIDTH] = ground
            middle = x + ROOM_WIDTH // 2, y + 3
            write(canvas, str(room), *middle, size=13, color=ink, ground=ground, align="centre")
            if scene.room == (room,):
                corner = x + ROOM_WIDTH, y + ROOM_HEIGHT
                cv2.rectangle(canvas, (x - 1, y - 1), corner, INK, 2)
