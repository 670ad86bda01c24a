"""What is paid for novelty across all of training: a bonus that needs the whole batch.

Each shard has its own `Bonus` object, beside its agent. After a rollout it returns each step's
bonus, (T, N), and learns from the rollout, in step with the other shards. Like a learner's update,
`pay` is a generator: what it yields is added up over all shards, in their order, so that results
are the same for any number of processes. Its state has names, is in every checkpoint, and is the
same in all shards.

Each step of an actor is a visit to the tile, cell or frame that it ends in. Within a rollout,
visits are counted in order of time; those of all actors in the same step are counted together, so
the order of actors does not matter.
"""

from __future__ import annotations

import dataclasses
import importlib
from collections.abc import Generator
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from torch import Tensor

from deepcs.agents.agent import Vector
from deepcs.agents.visited import Visited as Visited
from deepcs.curiosity.novelty import Novelty

Arrays = dict[str, np.ndarray]
BONUSES = {
    "counts": "deepcs.agents.counting:Counts",
    "pseudo-counts": "deepcs.agents.density:PseudoCounts",
    "rnd": "deepcs.agents.rnd:RND",
}


@dataclass(frozen=True)
class Batch:
    """A bonus's shard, and what it must know of the run."""

    index: int
    """of the shard"""
    shards: int
    actors: range
    """the shard's, out of all"""
    all_actors: int
    seed: int
    """of the run"""
    frame: tuple[int, int] | None
    """height and width of frames"""
    vectors: dict[str, Tensor]
    """those that the bonus named, shared by all shards"""

    def all(self, own: np.ndarray) -> np.ndarray:
        """This shard's (T, N, …) among zeros for the others: (T, all actors, …), to be added up."""
        whole = np.zeros((len(own), self.all_actors, *own.shape[2:]), own.dtype)
        whole[:, self.actors.start : self.actors.stop] = own
        return whole

    def present(self, visited: Visited) -> Batch:
        """Of those actors alone that made these steps: the others only began a game."""
        if visited.actors is None:
            return self
        assert self.shards == 1
        count = len(visited.actors)
        return dataclasses.replace(self, actors=range(count), all_actors=count)


class Bonus:
    """One shard's part of a bonus; Counts (counting.py) is the one to read next."""

    name: ClassVar[str]
    """before the names of what it saves"""

    @classmethod
    def vectors(
        cls, novelty: Novelty, frame: tuple[int, int] | None, shards: int
    ) -> dict[str, Vector]:
        """What the shards share: weights, gradients, optimizer state."""
        return {}

    def __init__(self, novelty: Novelty, batch: Batch) -> None:
        self.novelty, self.batch = novelty, batch

    def initialise(self) -> None:
        """Fill the shared vectors of a new run; called once, in one shard."""

    def pay(self, visited: Visited) -> Generator[Any, Any, np.ndarray]:
        """What each step of the rollout is worth, float64 (T, N), and learn from it."""
        raise NotImplementedError

    def state(self) -> Arrays:
        """What a checkpoint must have beside the vectors, by name."""
        return {}

    def load(self, state: Arrays) -> None:
        """Restore a saved state."""


def find_bonus(name: str) -> type[Bonus]:
    """The bonus of that name."""
    module, _, kind = BONUSES[name].partition(":")
    found: type[Bonus] = getattr(importlib.import_module(module), kind)
    return found


def combine(novelty: Novelty, life: np.ndarray, across: np.ndarray) -> np.ndarray:
    """I, from what this lifetime pays and what is paid across training, arrays of one shape.

    Weights are factors in the sum, exponents in the product.
    """
    if novelty.combine == "across":
        return across
    a, b = novelty.life_weight, novelty.across_weight
    assert a is not None
    assert b is not None
    if novelty.combine == "product":
        product: np.ndarray = life**a * across**b
        return product
    return a * life + b * across


def run_alone(exchange: Generator[Any, Any, Any]) -> Any:
    """Drive a generator like `pay` where there is one shard: each sum is its only part."""
    total = None
    while True:
        try:
            total = exchange.send(total)
        except StopIteration as end:
            return end.value
