"""Cells replace tiles where there are no positions: frames that look alike, for example.

A cell is only a number. There is no map to draw, so the plane shows the network two other things:
how new this cell is, and how new the last cells were.
"""

from __future__ import annotations

import hashlib
import math
from collections import deque

import numpy as np

from deepcs.curiosity.fading import NOTHING, Fading
from deepcs.curiosity.lives import Lifetime, Lives, check_lifetime
from deepcs.system.snapshot import Snapshot, all_or_nothing, check_same, check_snapshot

NOWHERE = 0  # the number that no cell has
STRIPES = 14  # cells before this one that the plane shows
NEW = 255  # brightness of a cell that was never entered before


def cell_number(content: bytes) -> int:
    """A cell's number, from 1 to 2^63 - 1: a digest of what it looks like, or of where it is."""
    digest = hashlib.blake2b(content, digest_size=8).digest()
    return int.from_bytes(digest, "little") >> 1 or 1


class CellMemory(Lives):
    """Cells entered in this life.

    >>> cells = CellMemory()
    >>> cells.visit(7), cells.bonus()  # the first of a life: entered, not paid
    (True, 0.0)
    >>> cells.visit(8), cells.bonus()
    (True, 1.0)
    >>> cells.visit(7), cells.bonus(), round(cells.bonus(graded=True), 3)
    (False, 0.0, 0.707)
    """

    def __init__(self, *, lifetime: Lifetime = "game", half_life: float | None = None) -> None:
        """`half_life`: steps after which an entry counts half; None: visits do not fade."""
        self.lifetime = check_lifetime(lifetime)
        self.fading = None if half_life is None else Fading(half_life)
        self.new_life()

    def new_life(self) -> None:
        """Forget every cell: all are new again."""
        self._entries: dict[int, int] = {}
        self.here: int | None = None
        """The cell last entered in this life."""
        self._newness: deque[float] = deque(maxlen=1 + STRIPES)  # of the last cells, newest first
        self._forget()

    def visit(self, cell: int) -> bool:
        """Enter a cell, unless it is the one we are in; True if it was not entered in this life."""
        self._bonus_entries, self._worth = 0, NOTHING
        if cell == self.here:
            return False
        entries = self._entries[cell] = self._entries.get(cell, 0) + 1
        worth = None if self.fading is None else self.fading.enter(cell)
        self._newness.appendleft(1 / math.sqrt(entries) if worth is None else worth.graded)
        if self.here is not None:
            self._bonus_entries = entries
            self._worth = worth or NOTHING
        self.here = cell
        return entries == 1

    def plane(self, shape: tuple[int, int]) -> np.ndarray:
        """How new, as brightness: uint8 (height, width), 255 = entered for the first time, else
        255/√n at the n-th entry (with fading: 255·graded worth).

        The left third is this cell; to its right are stripes, the cell before it, the one before
        that, and so on.
        """
        height, width = shape
        own = max(1, width // 3)
        stripes = min(STRIPES, width - own)
        shades = np.zeros(1 + STRIPES, np.uint8)
        shades[: len(self._newness)] = [round(NEW * newness) for newness in self._newness]
        rest = width - own
        which = np.concatenate((np.zeros(own, np.int64), 1 + np.arange(rest) * stripes // rest))
        return np.tile(shades[which], (height, 1))

    def snapshot(self) -> Snapshot:
        """Everything this life has entered."""
        return {
            "kind": "cells",
            "settings": self._settings(),
            "cells": np.array(list(self._entries), np.int64),
            "entries": np.array(list(self._entries.values()), np.int64),
            "here": self.here,
            "newness": list(self._newness),
            **self._snapshot_of_fading(lambda cell: cell),
        }

    def _settings(self) -> Snapshot:
        return {"lifetime": self.lifetime, **self._fading_setting()}

    @all_or_nothing
    def restore(self, snapshot: Snapshot) -> None:
        """Return to the state that snapshot() saved, in a memory of the same settings."""
        keys = ("settings", "cells", "entries", "here", "newness", "bonus_entries")
        saved = check_snapshot(snapshot, "cells", keys)
        check_same(saved["settings"], self._settings(), "memory of cells")
        cells, entries = (np.asarray(saved[name], np.int64).tolist() for name in keys[1:3])
        self._entries = dict(zip(cells, entries, strict=True))
        self.here = None if saved["here"] is None else int(saved["here"])
        self._newness = deque(map(float, saved["newness"]), maxlen=1 + STRIPES)
        self._restore_fading(saved, int)
