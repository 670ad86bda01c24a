"""The shards of one process, and the memory that all shards share.

A shard's computation never depends on the number of processes, so neither do the results.
"""

from __future__ import annotations

import functools
import mmap
from collections import Counter
from collections.abc import Generator
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor
from torch.utils import deterministic

from deepcs.agents.across import BatchNovelty, novelty_vectors
from deepcs.agents.agent import Moment, Shard, Vector
from deepcs.agents.bonus import Arrays, Batch
from deepcs.agents.networks import NetworkPlan
from deepcs.agents.rollout import Actors, FinishedGame
from deepcs.agents.training import Training
from deepcs.curiosity.hiding import Seen
from deepcs.curiosity.tiles import Tile
from deepcs.envs.make import make_vec
from deepcs.system.snapshot import Snapshot

Learning = Generator[Any, Any, tuple[list[FinishedGame], dict[str, float]]]
ALIGNMENT = 16  # numbers: vectors begin at multiples of 64 bytes


class SharedVectors:
    """The flat vectors that all shards share, in one block of memory."""

    def __init__(self, training: Training, plan: NetworkPlan, memory: mmap.mmap | None) -> None:
        """`memory`: shared by processes, of `size_in_bytes`; None: this process's own."""
        layout = vector_layout(training, plan)
        if memory is None:
            numbers = torch.zeros(size_in_bytes(training, plan) // 4, device=training.device)
        else:
            numbers = torch.from_numpy(np.frombuffer(memory, np.float32))
        self.by_name: dict[str, Tensor] = {}
        start = 0
        for name, vector in layout.items():
            self.by_name[name] = numbers[start : start + vector.size]
            start += padded(vector.size)
        self.parameters = self.by_name["parameters"]
        self.gradients = [self.by_name[gradient_name(k)] for k in range(training.shards)]


def of_shard(name: str, shard: int) -> str:
    return f"{name} {shard}"


def gradient_name(shard: int) -> str:
    return f"gradient {shard}"


def vector_layout(training: Training, plan: NetworkPlan) -> dict[str, Vector]:
    """All shared vectors, in order: weights, a gradient per shard, then the agent's own."""
    own = training.agent_type.vectors(training.settings, plan, training.shards)
    gradients = {gradient_name(k): Vector(plan.size, saved=False) for k in range(training.shards)}
    novel = novelty_vectors(training.novelty, plan.spaces.frame, training.shards)
    ours = {"parameters": Vector(plan.size, saved=False), **gradients}
    taken = own.keys() & (ours.keys() | novel.keys())
    if taken:
        raise ValueError(
            f"The agent {training.agent_type.name!r} has a vector {min(taken)!r}, which is a name "
            "of deepcs's own; rename it."
        )
    return {**ours, **own, **novel}


def padded(count: int) -> int:
    return -(-count // ALIGNMENT) * ALIGNMENT


def size_in_bytes(training: Training, plan: NetworkPlan) -> int:
    """Memory that SharedVectors take."""
    return 4 * sum(padded(vector.size) for vector in vector_layout(training, plan).values())


def edges(total: int, parts: int, multiple: int = 1) -> list[range]:
    """Split range(total) into parts of about equal length, at multiples of a number."""
    cuts = [round(total * k / parts / multiple) * multiple for k in range(parts)] + [total]
    return [range(cuts[k], cuts[k + 1]) for k in range(parts)]


@dataclass(frozen=True)
class Part:
    """What a shard yields in an update, or returns at its end."""

    value: Any
    """to be added up with the other shards'; once done: finished games, and what it logs"""
    done: bool = False


class LiveShard:
    """One shard at work: its actors, its network, its agent."""

    def __init__(
        self,
        training: Training,
        plan: NetworkPlan,
        index: int,
        vectors: SharedVectors,
        pool_workers: int,
    ) -> None:
        """`pool_workers`: processes that emulate for this shard; 0: it does so itself."""
        numbers = edges(training.actors, training.shards)[index]
        n_steps = training.settings.n_steps
        pool = make_vec(
            training.world,
            num_envs=len(numbers),
            seed=training.seed,
            workers=pool_workers,
            first_actor=numbers.start,
            copy=False,
            mix=False,
            **training.actor_settings,
        )
        agent = training.agent_type
        envs, steps = agent.kept_samples(training.settings, len(numbers), training.shards)
        self.network = plan.build(
            envs=envs,
            steps=steps,
            parameters=vectors.parameters,
            gradient=vectors.gradients[index],
            device=training.device,
            precision=training.precision,
        )
        part = edges(plan.size, training.shards, ALIGNMENT)[index]
        shard = Shard(
            index,
            training.shards,
            numbers,
            training.actors,
            training.seed,
            self.network,
            vectors.gradients,
            vectors.by_name,
            slice(part.start, part.stop),
        )
        self.agent = agent(training.settings, shard)
        self.actors = Actors(pool, numbers.start, n_steps, training.rules, training.device)
        self.numbers = numbers
        self._agent_name = training.agent
        self.novelty: BatchNovelty | None = None
        if training.novelty is not None:
            batch = Batch(
                index,
                training.shards,
                numbers,
                training.actors,
                training.seed,
                plan.spaces.frame,
                vectors.by_name,
            )
            self.novelty = BatchNovelty(training.novelty, batch)
        self._update: Learning | None = None

    def begin(self, moment: Moment) -> Part:
        """Play a rollout and begin the update; its first part."""
        self._update = self._learn(moment)
        return self.go_on(None)

    def _learn(self, moment: Moment) -> Learning:
        """Play, be paid, learn; returns the games that ended, and what is logged."""
        act = functools.partial(self.agent.act, moment)
        rollout = self.actors.play(act, self.network, moment.progress)
        if self.novelty is not None:
            intrinsic, code = yield from self.novelty.pay(self.actors.visited, rollout.intrinsic)
            rollout = self.actors.repaid(rollout, intrinsic)
            if code is not None:
                self.actors.pool.take_code(code)
        update = self.agent.update(rollout, moment)
        if not isinstance(update, Generator):
            raise ValueError(
                f"The update of {self._agent_name} returned {type(update).__name__}; write a "
                "generator: what it yields is added up over all shards, and a bare yield waits."
            )
        columns = yield from update
        self._check_columns(columns)
        return rollout.games, columns

    def _check_columns(self, columns: Any) -> None:
        """Refuse what curve.csv has no column for; columns may be left out of an update."""
        declared = self.agent.columns
        if not isinstance(columns, dict):
            raise ValueError(
                f"The update of {self._agent_name} ended with {type(columns).__name__}; return a "
                f"dict with numbers for its columns, {', '.join(declared)}."
            )
        unknown = [str(name) for name in columns if name not in declared]
        if unknown:
            raise ValueError(
                f"The update of {self._agent_name} returned {', '.join(unknown)}, but its columns "
                f"are {', '.join(declared) or 'none'}; make columns and what it returns the same."
            )

    def go_on(self, total: Any) -> Part:
        """Continue the update, given the sum of all shards' parts."""
        assert self._update is not None
        try:
            return Part(self._update.send(total))
        except StopIteration as end:
            self._update = None
            return Part(end.value, done=True)

    def snapshot(self) -> list[Snapshot]:
        """Of each actor, and what the network remembers of its game."""
        seats = self.actors.snapshot()
        memory = self.network.memory
        if memory is None:
            return seats
        rows = memory.detach().cpu().numpy().copy()
        return [{**seat, "memory": row} for seat, row in zip(seats, rows, strict=True)]

    def restore(self, seats: list[Snapshot]) -> None:
        """Restore this shard's actors, given the snapshots of all."""
        own = seats[self.numbers.start : self.numbers.stop]
        self.actors.restore(own)
        if self.network.memory is not None:
            rows = np.stack([seat["memory"] for seat in own])
            self.network.memory = torch.from_numpy(rows).to(self.network.memory.device)


class ShardGroup:
    """The shards of one process; its methods apply to each of them in turn."""

    def __init__(
        self,
        memory: mmap.mmap | None,
        training: Training,
        plan: NetworkPlan,
        indices: range,
        pool_workers: int,
    ) -> None:
        torch.set_num_threads(training.threads)
        # use_deterministic_algorithms(True) would import torch's compiler first: 2 s of CPU time.
        torch.set_deterministic_debug_mode("error")
        deterministic.fill_uninitialized_memory = False  # type: ignore[attr-defined]  # none is read
        torch.set_flush_denormal(True)  # mean squares of dead weights decay into slow denormals
        self.vectors = SharedVectors(training, plan, memory)
        self.shards = [LiveShard(training, plan, i, self.vectors, pool_workers) for i in indices]

    def begin(self, moment: Moment) -> list[Part]:
        return [shard.begin(moment) for shard in self.shards]

    def go_on(self, total: Any) -> list[Part]:
        return [shard.go_on(total) for shard in self.shards]

    def snapshot(self) -> list[Snapshot]:
        return [seat for shard in self.shards for seat in shard.snapshot()]

    def restore(self, seats: list[Snapshot]) -> None:
        for shard in self.shards:
            shard.restore(seats)

    def remembered(self) -> dict[str, np.ndarray]:
        """Of all agents, by the name that each gives it and its shard's number."""
        return {
            of_shard(name, shard.agent.shard.index): array
            for shard in self.shards
            for name, array in shard.agent.remembered().items()
        }

    def recall(self, arrays: dict[str, np.ndarray], games_go_on: bool) -> None:
        for shard in self.shards:
            index = shard.agent.shard.index
            names = shard.agent.remembered()
            own = {name: arrays[of_shard(name, index)] for name in names}
            shard.agent.recall(own, games_go_on=games_go_on)

    def load_novelty(self, state: Arrays) -> None:
        for shard in self.shards:
            if shard.novelty is not None:
                shard.novelty.load(state)

    def take_visits(self) -> Counter[Tile]:
        return sum((shard.actors.pool.take_visits() for shard in self.shards), Counter())

    def rewards_seen(self) -> list[Seen]:
        return [shard.actors.watch.seen for shard in self.shards]

    def not_finite(self) -> str | None:
        """As of Actors, in the first shard where something is not finite."""
        found = (shard.actors.not_finite() for shard in self.shards)
        return next((what for what in found if what is not None), None)

    def freezable(self) -> bool:
        return all(shard.actors.pool.freezable for shard in self.shards)

    def close(self) -> None:
        for shard in self.shards:
            shard.actors.pool.close()
        torch.set_flush_denormal(False)  # it holds for all arithmetic of the process
