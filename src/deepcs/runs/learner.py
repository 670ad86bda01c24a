"""The learner: all shards, in this process and in others, as one thing with few verbs."""

from __future__ import annotations

import math
import mmap
import os
from collections import Counter
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch

from deepcs.agents.a2c import LossReport, clip_scale
from deepcs.agents.kfac import trust_scale
from deepcs.agents.network import Network
from deepcs.curiosity.grid import Tile
from deepcs.runs.config import RunConfig
from deepcs.runs.shard import FinishedGame, ShardGroup, edges, look_at_world, size_in_bytes
from deepcs.system.process import Process, cores, shared_memory
from deepcs.system.snapshot import Snapshot


class DivergedError(RuntimeError):
    """The loss or the gradient is no longer a finite number."""


@dataclass(frozen=True)
class Rollout:
    """T steps of all actors."""

    loss: LossReport
    games: list[FinishedGame]
    """in order of time, then of actor"""


def check_workers(workers: int | None) -> None:
    """Raise ValueError if there cannot be so many."""
    if workers is not None and workers < 0:
        raise ValueError(f"Got {workers} workers; give a whole number from 0 (chosen) up.")


class Learner:
    """Rolls out, updates, freezes and thaws.

    `workers` processes emulate: as many replicas, this process the first of them, up to the
    number of shards; beyond that each replica has several emulating for it. Results are the same
    for any number.
    """

    def __init__(self, config: RunConfig, workers: int | None = None) -> None:
        check_workers(workers)
        self.config = config
        world = look_at_world(config)
        workers = workers or min(config.shards, cores())
        replicas = min(workers, config.shards)
        pool_workers = workers // replicas if workers > replicas else 0
        if config.device != "cpu":
            pool_workers = workers
        shares = edges(config.shards, replicas)
        self._others: list[Process] = []
        memory = None
        try:
            if replicas > 1:
                memory_fd = shared_memory(size_in_bytes(config, world))
                try:
                    memory = mmap.mmap(memory_fd, 0)
                    looks = workers <= cores()
                    for k, share in enumerate(shares[1:], 1):
                        order = config, world, share, pool_workers
                        self._others.append(
                            Process(f"Replica {k}", memory_fd, looks, ShardGroup, *order)
                        )
                finally:
                    os.close(memory_fd)
            self._own = ShardGroup(memory, config, world, shares[0], pool_workers)
            for other in self._others:
                other.answer()
        except BaseException:
            self.close()
            raise

    @property
    def network(self) -> Network:
        return self._own.shards[0].network

    def initialise(self) -> None:
        """Fresh weights and optimizer, by the run's seed."""
        self.network.initialise(self.config.seed)
        self._own.vectors.optimizer.fill_(1.0 if self.config.agent == "a2c" else 0.0)

    def rollout(self, update: int) -> Rollout:
        """Play T steps of all actors; leaves each shard's gradient."""
        reports = [report for group in self._each("rollout", update) for report in group]
        losses = [report.loss for report in reports]
        loss = LossReport(
            sum(each.policy for each in losses),
            sum(each.value for each in losses),
            sum(each.entropy for each in losses),
        )
        if not loss.finite:
            raise DivergedError(f"The loss is no longer finite ({loss})")
        games = sorted(
            (game for report in reports for game in report.games), key=lambda g: (g.t, g.actor)
        )
        return Rollout(loss, games)

    def update(self, update: int, learning_rate: float) -> float:
        """Apply the batch's gradient as the agent does; returns its norm before any clipping."""
        squared = self._sum("add_up")
        if not math.isfinite(squared):
            raise DivergedError("The gradient is no longer finite")
        if self.config.agent == "a2c":
            scale = clip_scale(squared, self.config.a2c.max_gradient_norm)
        elif self.config.acktr.is_cold(update):
            scale = clip_scale(squared, self.config.acktr.cold_max_gradient_norm)
        else:
            scale = self._natural_gradient(update, learning_rate)
        self._each("apply", update, learning_rate, scale)
        return math.sqrt(squared)

    def _natural_gradient(self, update: int, learning_rate: float) -> float:
        """Work it out; returns how much of it the trust region allows."""
        self._each("refresh", update)
        self._each("rotate")
        product = self._sum("rotate_back")
        if not math.isfinite(product):
            raise DivergedError("The natural gradient is no longer finite")
        return trust_scale(product, learning_rate, self.config.acktr.kl_clip)

    def _sum(self, verb: str) -> float:
        total: float = sum(part for group in self._each(verb) for part in group)
        return total

    def weights(self) -> dict[str, np.ndarray]:
        """The network's weights by name."""
        return _arrays(self.network.named_parameters())

    def optimizer(self) -> dict[str, np.ndarray]:
        """The optimizer's whole state by name."""
        return _arrays(self._optimizer_state())

    def _optimizer_state(self) -> dict[str, torch.Tensor]:
        """RMSProp's mean squares, or ACKTR's momentum and curvature, as views."""
        vectors = self._own.vectors
        state = self.network.named(vectors.optimizer)
        return state if self.config.agent == "a2c" else {**state, "curvature": vectors.curvature}

    def load(self, weights: dict[str, np.ndarray], optimizer: dict[str, np.ndarray]) -> None:
        """Take over saved weights and optimizer."""
        _copy(weights, self.network.named_parameters())
        _copy(optimizer, self._optimizer_state())

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

    def _each(self, verb: str, *args: Any) -> list[Any]:
        """Do a verb of ShardGroup in every process at once; this one's result first."""
        for other in self._others:
            other.ask(verb, *args)
        own = getattr(self._own, verb)(*args)
        return [own, *(other.answer() for other in self._others)]

    def close(self) -> None:
        for other in self._others:
            other.close()
        if hasattr(self, "_own"):
            self._own.close()


def _arrays(named: dict[str, torch.Tensor]) -> dict[str, np.ndarray]:
    return {name: tensor.cpu().contiguous().numpy().copy() for name, tensor in named.items()}


def _copy(saved: dict[str, np.ndarray], named: dict[str, torch.Tensor]) -> None:
    for name, tensor in named.items():
        tensor.copy_(torch.from_numpy(saved[name]))
