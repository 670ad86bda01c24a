"""All shards, in this process and in others, as one object with few methods.

It knows no algorithm: an update runs in all shards in parallel, what they yield is summed and sent
back to all, until they return.
"""

from __future__ import annotations

import functools
import mmap
import operator
import os
from collections import Counter
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch

from deepcs.agents.across import BatchNovelty
from deepcs.agents.agent import Moment
from deepcs.agents.networks import (
    ActorCritic,
    NetworkPlan,
    activation_bytes,
    plan_network,
    seen_bytes,
)
from deepcs.agents.rollout import FinishedGame
from deepcs.agents.shards import Part, ShardGroup, edges, size_in_bytes, vector_layout
from deepcs.agents.training import Training
from deepcs.curiosity.hiding import Seen
from deepcs.curiosity.tiles import Tile
from deepcs.envs.make import look_at
from deepcs.system import limits
from deepcs.system.limits import check_whole
from deepcs.system.process import Process, cores, shared_memory
from deepcs.system.snapshot import Snapshot

Arrays = dict[str, np.ndarray]


class DivergedError(RuntimeError):
    """What the learner computes is no longer finite."""

    def __init__(self, what: str, advice: str = "train anew with a smaller learning rate") -> None:
        super().__init__(what)
        self.advice = advice
        """what helps"""


@dataclass(frozen=True)
class Outcome:
    """The result of one update."""

    games: list[FinishedGame]
    """that ended in its rollout, in order of time, then of actor"""
    columns: dict[str, float]
    """what the agent logs of it"""


def check_workers(workers: int | None) -> None:
    """Raise ValueError if there cannot be this many."""
    if workers is not None:
        check_whole("{} workers", workers, 0, limits.WORKERS, " (0: chosen)")


def check_memory(training: Training, plan: NetworkPlan) -> None:
    """Raise ValueError if this machine cannot hold the samples of one update."""
    settings, shards = training.settings, training.shards
    envs, steps = training.agent_type.kept_samples(settings, -(-training.actors // shards), shards)
    needed = training.actors * int(settings.n_steps) * seen_bytes(plan)
    needed += shards * envs * steps * activation_bytes(plan)
    there = limits.machine_memory()
    if needed > there:
        raise ValueError(
            f"Got {training.actors:,} actors and {training.agent_type.name}.n_steps "
            f"{training.settings.n_steps:,}, which take {needed / 2**30:,.0f} GB for an update, "
            f"and this machine has {there / 2**30:,.0f} GB; give fewer."
        )


class Replicas:
    """Collects rollouts, updates, saves and restores.

    `workers` processes emulate: as many replicas, this process the first of them, up to the
    number of shards; beyond that each replica has several emulating for it. Results are the same
    for any number.
    """

    def __init__(self, training: Training, workers: int | None = None) -> None:
        check_workers(workers)
        self.training = training
        facts = look_at(training.world, **training.actor_settings)
        self.weight = facts.weight
        """the world's own, of the reward mix"""
        self.unseen = facts.unseen
        """parts of the observations that the network is not shown"""
        plan = plan_network(training.network, facts.spaces, training.rules.streams)
        check_memory(training, plan)
        self._layout = vector_layout(training, plan)
        workers = workers or min(training.shards, cores())
        replicas = min(workers, training.shards)
        pool_workers = workers // replicas if workers > replicas else 0
        if training.device != "cpu":
            pool_workers = workers
        shares = edges(training.shards, replicas)
        self._others: list[Process] = []
        memory = None
        try:
            if replicas > 1:
                memory_fd = shared_memory(size_in_bytes(training, plan))
                try:
                    memory = mmap.mmap(memory_fd, 0)
                    spins = workers <= cores()
                    for k, share in enumerate(shares[1:], 1):
                        order = training, plan, share, pool_workers
                        self._others.append(
                            Process(f"Replica {k}", memory_fd, spins, ShardGroup, *order)
                        )
                finally:
                    os.close(memory_fd)
            self._own = ShardGroup(memory, training, plan, shares[0], pool_workers)
            for other in self._others:
                other.answer()
        except BaseException:
            self.close()
            raise

    @property
    def network(self) -> ActorCritic:
        return self._own.shards[0].network

    def initialise(self) -> None:
        """Fresh weights, by the run's seed, and vectors."""
        self.network.initialise(self.training.seed)
        for name, vector in self._saved_vectors().items():
            vector.fill_(self._layout[name].start)
        if self._novelty is not None:
            self._novelty.initialise()

    def update(self, moment: Moment) -> Outcome:
        """Play a rollout with every actor and learn from it."""
        parts: list[Part] = [part for group in self._each("begin", moment) for part in group]
        while not any(part.done for part in parts):
            total = self._add_up([part.value for part in parts])
            parts = [part for group in self._each("go_on", total) for part in group]
        if not all(part.done for part in parts):
            raise RuntimeError(
                f"The shards of {self.training.agent} fell out of step: some ended their update "
                "while others yielded; what an update yields may depend on what all shards know "
                "alike only."
            )
        games = [game for part in parts for game in part.value[0]]
        games.sort(key=lambda game: (game.t, game.actor))
        return Outcome(games, parts[0].value[1])

    def _add_up(self, parts: list[Any]) -> Any:
        """As add_up; where the sum is not finite, the environment may have returned the cause."""
        try:
            return add_up(parts)
        except DivergedError as error:
            what = next((each for each in self._each("not_finite") if each is not None), None)
            if what is None:
                raise
            raise DivergedError(
                f"The environment returned {what} that is not finite",
                "fix the environment, and train anew",
            ) from error

    def weights(self) -> Arrays:
        """The network's weights by name."""
        return _arrays(self.network.named(self.network.parameters))

    def vectors(self) -> Arrays:
        """The agent's vectors that are saved, what else its shards remember, and the state of its
        bonuses, by name.
        """
        arrays = _arrays(self._saved_vectors())
        for remembered in self._each("remembered"):
            arrays |= remembered
        return arrays if self._novelty is None else arrays | self._novelty.state()

    @property
    def _novelty(self) -> BatchNovelty | None:
        """Of the first shard; the others' state is the same."""
        return self._own.shards[0].novelty

    def load(self, weights: Arrays, vectors: Arrays, *, games_go_on: bool = True) -> None:
        """Load saved weights and vectors. games_go_on: the actors will be restored too."""
        _copy(weights, self.network.named(self.network.parameters))
        _copy(vectors, self._saved_vectors())
        self._each("recall", vectors, games_go_on)
        self._each("load_novelty", vectors)

    def _saved_vectors(self) -> dict[str, torch.Tensor]:
        by_name = self._own.vectors.by_name
        return {name: by_name[name] for name, vector in self._layout.items() if vector.saved}

    @property
    def freezable(self) -> bool:
        return all(self._each("freezable"))

    def actors(self) -> list[Snapshot]:
        """Snapshots of all actors."""
        return [seat for group in self._each("snapshot") for seat in group]

    def restore(self, actors: list[Snapshot]) -> None:
        self._each("restore", actors)

    def take_visits(self) -> Counter[Tile]:
        return sum(self._each("take_visits"), Counter())

    def rewards_seen(self) -> list[Seen]:
        """What the first steps since the start had of R and I, in each shard."""
        return [seen for group in self._each("rewards_seen") for seen in group]

    def _each(self, verb: str, *args: Any) -> list[Any]:
        """Call a method of ShardGroup in every process in parallel; this process's result first."""
        for other in self._others:
            other.ask(verb, *args)
        own = getattr(self._own, verb)(*args)
        return [own, *(other.answer() for other in self._others)]

    def close(self) -> None:
        for other in self._others:
            other.close()
        if hasattr(self, "_own"):
            self._own.close()


def add_up(parts: list[Any]) -> Any:
    """The sum of all shards' parts, in their order; None where there is nothing to add."""
    if parts[0] is None:
        return None
    total = functools.reduce(operator.add, parts)
    if isinstance(total, (float, np.ndarray)) and not np.isfinite(total).all():
        raise DivergedError("The loss or the gradient is no longer finite")
    return total


def _arrays(named: dict[str, torch.Tensor]) -> Arrays:
    return {name: tensor.cpu().contiguous().numpy().copy() for name, tensor in named.items()}


def _copy(saved: Arrays, named: dict[str, torch.Tensor]) -> None:
    for name, tensor in named.items():
        tensor.copy_(torch.from_numpy(saved[name]))
