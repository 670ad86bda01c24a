"""A shard's novelty that needs the batch: what is paid across training, and the learned code."""

from __future__ import annotations

from collections.abc import Generator
from typing import Any

import numpy as np

from deepcs.agents.agent import Vector
from deepcs.agents.bonus import Arrays, Batch, Bonus, Visited, combine, find_bonus
from deepcs.agents.hashing import CodeLearner
from deepcs.curiosity.novelty import Novelty

Frame = tuple[int, int]


def novelty_vectors(novelty: Novelty | None, frame: Frame | None, shards: int) -> dict[str, Vector]:
    """What its parts share, by name."""
    vectors: dict[str, Vector] = {}
    if novelty is not None and novelty.across not in (None, "none"):
        vectors |= find_bonus(str(novelty.across)).vectors(novelty, frame, shards)
    if novelty is not None and novelty.place == "hash":
        assert frame is not None
        vectors |= CodeLearner.vectors(novelty, frame, shards)
    return vectors


class BatchNovelty:
    """One shard's: what each step pays, and what is saved."""

    def __init__(self, novelty: Novelty, batch: Batch) -> None:
        self.novelty = novelty
        self.bonus: Bonus | None = None
        if novelty.across not in (None, "none"):
            self.bonus = find_bonus(str(novelty.across))(novelty, batch)
        self.code = CodeLearner(novelty, batch) if novelty.place == "hash" else None

    @property
    def _parts(self) -> list[Bonus | CodeLearner]:
        return [part for part in (self.bonus, self.code) if part is not None]

    def initialise(self) -> None:
        """Fill the shared vectors of a new run; called once, in one shard."""
        for part in self._parts:
            part.initialise()

    def pay(
        self, visited: Visited, life: np.ndarray
    ) -> Generator[Any, Any, tuple[np.ndarray, np.ndarray | None]]:
        """I of a rollout, (T, N), given what this lifetime pays, and the encoder that actors get
        now, if any.
        """
        paid, code = life, None
        if self.bonus is not None:
            across = yield from self.bonus.pay(visited)
            paid = combine(self.novelty, life, across)
        if self.code is not None:
            code = yield from self.code.learn(visited)
        return paid, code

    def state(self) -> Arrays:
        """By the part's name and its own: counts.cells."""
        return {
            f"{part.name}.{name}": array
            for part in self._parts
            for name, array in part.state().items()
        }

    def load(self, state: Arrays) -> None:
        for part in self._parts:
            begin = f"{part.name}."
            own = {
                n.removeprefix(begin): array for n, array in state.items() if n.startswith(begin)
            }
            part.load(own)
