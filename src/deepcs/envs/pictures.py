"""From the screen to a cell: a small grey image, or a learned code of one.

A *frame* is the newest image, uint8 (height, width), grey.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Literal, Protocol

import cv2
import numpy as np

from deepcs.curiosity.cells import cell_number
from deepcs.curiosity.novelty import SIDE
from deepcs.envs.layout import Layout
from deepcs.system.limits import check_whole
from deepcs.system.snapshot import Snapshot, check_snapshot

TARGET = 0.125  # cells per frame, that a downscaling should give (Go-Explore)
SIZES = (3, 5, 7, 8, 11, 14, 16, 21, 28, 42)  # of sides, among which one is chosen
SHADES = (2, 4, 8, 16, 32)
FINENESS, WIDEST = 2**16, 2**10  # of the weights of a code, as whole numbers
CODE_SIDE = 21  # pixels across and down of the picture that is coded


class PlaceSettings(Protocol):
    """The settings of cells; Novelty has them."""

    @property
    def width(self) -> int | None: ...
    @property
    def height(self) -> int | None: ...
    @property
    def levels(self) -> int | None: ...


def grey_frame(image: np.ndarray, layout: Layout) -> np.ndarray:
    """The frame of an image: the mean of its channels."""
    if layout == "HW":
        return image
    channels = image if layout == "CHW" else np.moveaxis(image, -1, 0)
    if len(channels) == 1:
        return np.ascontiguousarray(channels[0])
    total: np.ndarray = channels.sum(0, dtype=np.uint32) // len(channels)
    return total.astype(np.uint8)


def shrink_frame(frame: np.ndarray, width: int, height: int, levels: int) -> np.ndarray:
    """A frame as a picture of so many pixels and shades of grey: uint8 (height, width)."""
    if frame.shape != (height, width):
        frame = cv2.resize(frame, (width, height), interpolation=cv2.INTER_AREA)
    small: np.ndarray = (frame.astype(np.uint16) * levels >> 8).astype(np.uint8)
    return small


@dataclass(frozen=True)
class Pixels:
    """A cell is all frames that give the same small image; by default Go-Explore's first."""

    width: int = 11
    """pixels across"""
    height: int = 8
    """pixels down"""
    levels: int = 8
    """shades of grey"""

    def __post_init__(self) -> None:
        for name, least, most in (("width", 1, SIDE), ("height", 1, SIDE), ("levels", 2, 256)):
            check_whole(f"{name} {{}} of a small picture", getattr(self, name), least, most)

    def __call__(self, frame: np.ndarray) -> int:
        """The number of a frame's cell."""
        return cell_number(shrink_frame(frame, self.width, self.height, self.levels).tobytes())


def code_shape(frame_shape: tuple[int, int]) -> tuple[int, int]:
    """Height and width of the picture that is coded."""
    return min(CODE_SIDE, frame_shape[0]), min(CODE_SIDE, frame_shape[1])


def coded_picture(frames: np.ndarray) -> np.ndarray:
    """The pictures that are coded, float32 (B, pixels) in [0, 1], of uint8 frames (B, h, w)."""
    height, width = code_shape(frames.shape[1:])
    small = np.stack([shrink_frame(frame, width, height, 256) for frame in frames])
    scaled: np.ndarray = small.reshape(len(frames), -1).astype(np.float32) / np.float32(255)
    return scaled


@dataclass(frozen=True)
class Hashed:
    """A cell is all frames whose learned code has the same hash; the code keeps training."""

    code_bits: int = 64
    hash_bits: int = 32


Place = Literal["position", "pixels"] | Pixels | Hashed | Callable[[np.ndarray], Any]
"""Where the player is: by position; by the frame's cell, as Pixels or Hashed define it; or by what
your own function returns for a frame, uint8 (height, width), such as bytes or a tuple."""


class HashPlace:
    """A cell is all frames whose learned code hashes to the same bits (SimHash, Charikar 2002).

    The code is `weights @ picture + biases > 0`; the hash is the signs of random projections.
    """

    def __init__(self, code: np.ndarray, frame_shape: tuple[int, int], hash_bits: int) -> None:
        """`code`: float32 (bits, pixels + 1), of which the last column is the biases."""
        self.code = np.asarray(code, np.float32)
        height, width = code_shape(frame_shape)
        if self.code.ndim != 2 or self.code.shape[1] != height * width + 1:
            raise ValueError(
                f"Got a code of shape {self.code.shape} for frames of {frame_shape}; give (bits, "
                f"{height * width + 1})."
            )
        self._size = height, width
        # Whole numbers, whose sums float64 holds exactly: rounding never flips a bit.
        whole = np.rint(np.clip(self.code, -WIDEST, WIDEST) * FINENESS).astype(np.float64)
        self._weights, self._biases = np.ascontiguousarray(whole[:, :-1]), whole[:, -1] * 255
        self._sums = hash_sums(len(self.code), hash_bits)

    def __call__(self, frame: np.ndarray) -> int:
        """The number of a frame's cell."""
        height, width = self._size
        picture = shrink_frame(frame, width, height, 256).ravel().astype(np.float64)
        bits = self._weights @ picture + self._biases > 0
        signs = self._sums @ np.where(bits, 1, -1) >= 0
        return cell_number(np.packbits(signs).tobytes())


def random_code(code_bits: int, frame_shape: tuple[int, int]) -> np.ndarray:
    """The code until one is learned: fixed random projections of the pixels."""
    height, width = code_shape(frame_shape)
    normal = np.random.Generator(np.random.Philox(key=[code_bits, 1])).standard_normal
    code = normal((code_bits, height * width + 1), np.float32)
    code[:, -1] = 0
    return code


def hash_sums(code_bits: int, hash_bits: int) -> np.ndarray:
    """The fixed random projection of a code: int64 (hash_bits, code_bits)."""
    normal = np.random.Generator(np.random.Philox(key=code_bits)).standard_normal
    rounded: np.ndarray = np.rint(2**20 * normal((hash_bits, code_bits))).astype(np.int64)
    return rounded


def choose_cells(frames: Sequence[np.ndarray], settings: PlaceSettings) -> Pixels:
    """Width, height and levels for which frames fall into about the wanted number of cells.

    As in Go-Explore (Ecoffet et al. 2021): the best by H/√(1 + |n/T - 1|), where n is the number
    of cells, T an eighth of the number of frames, and H the entropy of the frames over the cells,
    divided by its largest, log n. Settings that are given are kept.
    """
    height, width = frames[0].shape
    sides = {
        "width": [settings.width] if settings.width else [s for s in (*SIZES, width) if s <= width],
        "height": [settings.height]
        if settings.height
        else [s for s in (*SIZES, height) if s <= height],
    }
    shades = [settings.levels] if settings.levels else SHADES
    best, chosen = -1.0, Pixels(1, 1, 2)
    for across in dict.fromkeys(sides["width"]):
        for down in dict.fromkeys(sides["height"]):
            if not settings.width and not settings.height and not _alike(across, down, frames[0]):
                continue
            small = [shrink_frame(frame, across, down, 256).astype(np.uint16) for frame in frames]
            for levels in shades:
                cells = Counter((picture * levels >> 8).tobytes() for picture in small)
                if (worth := _spread(list(cells.values()))) > best:
                    best, chosen = worth, Pixels(across, down, levels)
    return chosen


def _alike(width: int, height: int, frame: np.ndarray) -> bool:
    """Whether a small image is stretched by no more than double on one side."""
    stretch: float = (width * frame.shape[0]) / (height * frame.shape[1])
    return 0.5 <= stretch <= 2


def _spread(counts: list[int]) -> float:
    total, n = sum(counts), len(counts)
    if n == 1:
        return 0.0
    entropy = -sum(c / total * math.log(c / total) for c in counts) / math.log(n)
    return entropy / math.sqrt(1 + abs(n / (TARGET * total) - 1))


class CellFinder:
    """Which cell an actor is in; a learned code changes only where a game begins."""

    def __init__(self, place: Place, frame_shape: tuple[int, int]) -> None:
        height, width = frame_shape
        if place == "pixels":
            place = Pixels(min(Pixels.width, width), min(Pixels.height, height))
        if isinstance(place, Pixels) and (place.height > height or place.width > width):
            raise ValueError(
                f"Got {place} for frames of {width}x{height} pixels; give a smaller picture."
            )
        if not callable(place) and not isinstance(place, Hashed):
            raise ValueError(
                f"Got place {place!r}; choose 'position' or 'pixels', or give deepcs.Pixels(...) "
                "or a function of a frame."
            )
        self._place, self._shape = place, frame_shape
        self._next: np.ndarray | None = None  # code, from the next game on
        self._hash: HashPlace | None = None
        if isinstance(place, Hashed):
            self._take(random_code(place.code_bits, frame_shape))

    def _take(self, code: np.ndarray) -> None:
        assert isinstance(self._place, Hashed)
        self._hash = HashPlace(code, self._shape, self._place.hash_bits)

    def take_code(self, code: np.ndarray) -> None:
        """Use a code, float32 (code_bits, pixels + 1), from the next game on."""
        self._next = code

    def start_game(self) -> None:
        if self._next is not None:
            self._take(self._next)
            self._next = None

    def find(self, frame: np.ndarray) -> int:
        """The number of a frame's cell."""
        if self._hash is not None:
            return self._hash(frame)
        assert callable(self._place)
        found = self._place(frame)
        return found if isinstance(self._place, Pixels) else cell_number(repr(found).encode())

    def snapshot(self) -> Snapshot:
        if self._hash is None:
            return {"kind": "cell finder"}
        return {"kind": "cell finder", "code": self._hash.code, "next": self._next}

    def restore(self, snapshot: Snapshot) -> None:
        saved = check_snapshot(snapshot, "cell finder", ("code", "next") if self._hash else ())
        if self._hash is not None:
            self._take(saved["code"])
            self._next = saved["next"]
