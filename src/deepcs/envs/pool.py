"""The pool: many actors in worker processes, as one Gymnasium VectorEnv.

Observations, rewards and actions live in memory that all processes share; a step costs each
worker one short message. The same seed gives the same trajectories whatever the number of
workers, and all actors can be frozen and thawed exactly.
"""

from __future__ import annotations

import itertools
import mmap
import os
import select
from collections import Counter
from collections.abc import Sequence
from typing import Any

import numpy as np
from gymnasium.vector import AutoresetMode, VectorEnv
from gymnasium.vector.utils import batch_space

from deepcs.curiosity.grid import Tile
from deepcs.curiosity.snapshot import Snapshot, SnapshotError, check_snapshot
from deepcs.envs.process import Process, WorkerError, cores, shared_memory
from deepcs.envs.seats import Ended, EnvFactory, PoolArrays, Seats, actor_seed, build_seats


class ActorPool(VectorEnv[Any, Any, Any]):
    """Environments side by side, each starting its next game in the step in which one ends.

    Infos hold, for every actor, arrays `intrinsic` and `life_lost` of the step taken, and `tiles`,
    `rooms` and `score` of the game under way; where a game ended also `final_obs`, `final_info`
    and `game`, its GameRecord.
    """

    metadata = {"autoreset_mode": AutoresetMode.SAME_STEP}  # noqa: RUF012

    def __init__(
        self,
        factories: Sequence[EnvFactory],
        *,
        seed: int = 0,
        workers: int | None = None,
        first_actor: int = 0,
        copy: bool = True,
    ) -> None:
        """Make the pool.

        seed: of the first reset without a seed. workers: processes; None: one per core, 0: none,
        the actors live here. first_actor: this pool's first actor's number, when it is a part of
        a larger one. copy: return copies; False: arrays that the next step overwrites.
        """
        if not factories:
            raise ValueError("Got no environments; a pool needs at least one actor.")
        if workers is not None and workers < 0:
            raise ValueError(f"Got {workers} workers; give 0 (in this process) or more.")
        workers = min(cores() if workers is None else workers, len(factories))
        sample = factories[0]()
        self.single_observation_space = sample.observation_space
        self.single_action_space = sample.action_space
        self.spec = sample.spec
        sample.close()
        self.num_envs = len(factories)
        self.observation_space = batch_space(self.single_observation_space, self.num_envs)
        self.action_space = batch_space(self.single_action_space, self.num_envs)
        self.first_actor = first_actor
        self.seed = seed
        self._copy = copy
        self._stepping = False
        self._started = False
        self._workers: list[Process] = []
        self._any_answer = select.poll()
        self._shares: list[slice] = []  # the seats of each worker
        self._here: Seats | None = None
        if workers == 0:
            self._arrays = PoolArrays(self.num_envs, self.single_observation_space, None)
            self._here = Seats(factories, 0, self._arrays)
        else:
            self._start_workers(factories, workers)

    def _start_workers(self, factories: Sequence[EnvFactory], workers: int) -> None:
        total, space = self.num_envs, self.single_observation_space
        memory_fd = shared_memory(PoolArrays(total, space, None).size)
        try:
            self._arrays = PoolArrays(total, space, mmap.mmap(memory_fd, 0))
            edges = [round(total * k / workers) for k in range(workers + 1)]
            for k, (first, end) in enumerate(itertools.pairwise(edges)):
                actors = range(self.first_actor + first, self.first_actor + end)
                name = f"Worker {k} (actors {actors[0]} to {actors[-1]})"
                order = list(factories[first:end]), first, total, space
                looks = workers < cores()
                self._workers.append(Process(name, memory_fd, looks, build_seats, *order))
                self._any_answer.register(self._workers[-1].line, select.POLLIN)
                self._shares.append(slice(first, end))
            for worker in self._workers:
                worker.answer()
        except BaseException:
            self.close()
            raise
        finally:
            os.close(memory_fd)

    def reset(
        self,
        *,
        seed: int | list[int | None] | None = None,
        options: dict[str, Any] | None = None,
    ) -> tuple[Any, dict[str, Any]]:
        """Start a game in every actor; a whole number seeds each by the number and its index."""
        self._check_idle("reset")
        if seed is None and not self._started:
            seed = self.seed
        if isinstance(seed, int):
            seeds: list[int | None] = [
                actor_seed(seed, self.first_actor + i) for i in range(self.num_envs)
            ]
        else:
            seeds = [None] * self.num_envs if seed is None else list(seed)
        self._each("reset", self._deal(seeds))
        self._started = True
        return self._observations(), self._infos([])

    def step_async(self, actions: np.ndarray) -> None:
        """Give every actor its action and let the workers go."""
        self._check_idle("step")
        self._arrays.actions[:] = actions
        for worker in self._workers:
            self._guard(worker.ask, "step")
        self._stepping = True

    def step_wait(self) -> tuple[Any, np.ndarray, np.ndarray, np.ndarray, dict[str, Any]]:
        """Wait for the step begun by step_async."""
        if not self._stepping:
            raise RuntimeError("step_wait() was called with no step under way; call step_async().")
        self._stepping = False
        if self._here is not None:
            ended = self._here.step()
        else:
            # Once one worker is done there is a core to spare, on which to wait awake.
            if len(self._workers) >= cores():
                self._any_answer.poll()
            answers = (self._guard(worker.answer, True) for worker in self._workers)
            ended = [end for answer in answers for end in answer]
        arrays = self._arrays
        results = arrays.rewards, arrays.terminated, arrays.truncated
        rewards, terminated, truncated = (a.copy() if self._copy else a for a in results)
        return self._observations(), rewards, terminated, truncated, self._infos(ended)

    def step(
        self, actions: np.ndarray
    ) -> tuple[Any, np.ndarray, np.ndarray, np.ndarray, dict[str, Any]]:
        """Step all actors and wait for them."""
        self.step_async(actions)
        return self.step_wait()

    def _observations(self) -> Any:
        parts = self._arrays.observations
        if self._copy:
            parts = {name: part.copy() for name, part in parts.items()}
        return parts.get("", parts)

    def _infos(self, ended: Sequence[Ended]) -> dict[str, Any]:
        arrays = self._arrays
        infos: dict[str, Any] = {
            "intrinsic": arrays.intrinsic,
            "life_lost": arrays.life_lost,
            "tiles": arrays.tiles,
            "rooms": arrays.rooms,
            "score": arrays.scores,
        }
        if self._copy:
            infos = {name: array.copy() for name, array in infos.items()}
        if ended:
            infos["final_info"] = {}
            for end in ended:
                last = {"final_obs": end.observation, "game": end.game}
                infos = self._add_info(infos, last, end.seat)
                infos["final_info"] = self._add_info(infos["final_info"], end.info, end.seat)
            infos["_final_info"] = infos["_final_obs"].copy()
        return infos

    def snapshot(self) -> Snapshot:
        """All actors, frozen; the number of workers is not part of it."""
        self._check_idle("snapshot")
        return {"kind": "pool", "seats": self._gather("snapshot")}

    def restore(self, snapshot: Snapshot) -> Any:
        """Thaw all actors, in a pool of as many; returns the observations to go on from."""
        self._check_idle("restore")
        seats = check_snapshot(snapshot, "pool", ("seats",))["seats"]
        if len(seats) != self.num_envs:
            raise SnapshotError(
                f"The snapshot holds {len(seats)} actors, this pool {self.num_envs}; "
                "restore it into a pool of as many."
            )
        self._each("restore", self._deal(seats))
        self._started = True
        return self._observations()

    def take_visits(self) -> Counter[Tile]:
        """How often each tile was entered, over all actors, since this was last asked."""
        self._check_idle("take_visits")
        return sum(self._each("take_visits"), Counter())

    @property
    def freezable(self) -> bool:
        """Whether every environment has snapshot() and restore()."""
        return all(self._each("freezable"))

    def _deal(self, items: Sequence[Any]) -> list[tuple[Any, ...]]:
        """One argument per worker: the items of its seats."""
        if self._here is not None:
            return [(items,)]
        return [(items[share],) for share in self._shares]

    def _each(self, verb: str, args: Sequence[tuple[Any, ...]] | None = None) -> list[Any]:
        """Do a verb of Seats everywhere at once."""
        if self._here is not None:
            return [getattr(self._here, verb)(*(args[0] if args else ()))]
        for k, worker in enumerate(self._workers):
            self._guard(worker.ask, verb, *(args[k] if args else ()))
        return [self._guard(worker.answer) for worker in self._workers]

    def _gather(self, verb: str) -> list[Any]:
        return [item for items in self._each(verb) for item in items]

    def _guard(self, call: Any, *args: Any) -> Any:
        """A failed worker takes the pool down: no orphans, no half-stepped actors."""
        try:
            return call(*args)
        except WorkerError:
            self.close()
            raise

    def _check_idle(self, verb: str) -> None:
        if self.closed:
            raise RuntimeError(f"{verb}() was called on a closed pool; make it again.")
        if self._stepping:
            raise RuntimeError(f"{verb}() was called while a step is under way; call step_wait().")

    def close_extras(self, **kwargs: Any) -> None:
        """Let all workers go."""
        for worker in self._workers:
            worker.close()
        if self._here is not None:
            self._here.close()
