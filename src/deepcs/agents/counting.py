"""Counts: 1/√N for a tile or cell that all actors together have visited N times in this run."""

from __future__ import annotations

from collections import Counter
from collections.abc import Generator
from typing import Any

import numpy as np

from deepcs.agents.bonus import Arrays, Batch, Bonus, Visited
from deepcs.curiosity.cells import NOWHERE
from deepcs.curiosity.novelty import Novelty


class Counts(Bonus):
    """Tabular counts, shared by all actors.

    N counts every visit up to this step, those of this step included, of whichever actor.
    """

    name = "counts"

    def __init__(self, novelty: Novelty, batch: Batch) -> None:
        super().__init__(novelty, batch)
        self.counts: Counter[int] = Counter()
        """cell -> visits"""

    def pay(self, visited: Visited) -> Generator[Any, Any, np.ndarray]:
        batch = self.batch.present(visited)
        cells = yield batch.all(visited.cells)
        counts = self.counts
        own = slice(batch.actors.start, batch.actors.stop)
        numbers = np.zeros(visited.cells.shape)
        for t, row in enumerate(cells.tolist()):
            counts.update(row)
            numbers[t] = [counts[cell] for cell in row[own]]
        del counts[NOWHERE]
        worth: np.ndarray = np.where(visited.cells == NOWHERE, 0.0, 1 / np.sqrt(numbers))
        return worth

    def state(self) -> Arrays:
        cells = np.array(sorted(self.counts), np.int64)
        visits = np.array([self.counts[cell] for cell in cells.tolist()], np.int64)
        return {"cells": cells, "visits": visits}

    def load(self, state: Arrays) -> None:
        cells, visits = state["cells"].tolist(), state["visits"].tolist()
        self.counts = Counter(dict(zip(cells, visits, strict=True)))
