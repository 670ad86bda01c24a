"""The pool: many actors in worker processes, as one Gymnasium VectorEnv.

Observations, rewards and actions live in memory that all processes share; a step costs each
worker one short message. The same seed gives the same trajectories whatever the number of
workers, and all actors can be frozen and thawed exactly.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import gymnasium
import numpy as np
from gymnasium.vector import AutoresetMode, VectorEnv
from gymnasium.vector.utils import batch_space

from deepcs.curiosity.reward import Weight, mix_rewards
from deepcs.curiosity.tiles import Tile
from deepcs.envs.helping import leaves_frames
from deepcs.envs.seats import Ended, EnvFactory, PoolArrays, Seats, actor_seed, spaces_of_env
from deepcs.envs.workers import Workers
from deepcs.system import limits
from deepcs.system.limits import check_whole
from deepcs.system.process import cores
from deepcs.system.snapshot import Snapshot, SnapshotError, check_snapshot


class ActorPool(VectorEnv[Any, Any, Any]):
    """Environments side by side, each starting its next game in the step in which one ends.

    Infos hold, for every actor, arrays `intrinsic`, `game_reward` and `life_lost` of the step
    taken, `cell`, the number of the place that it led to (0: none that counts; left out where
    nothing tells where actors are), and, where actors are asked for it, `frame`; further `tiles`,
    `rooms` and `score` of the game under way; where a game ended also `final_obs`, `final_info` and
    `game`, its GameRecord.
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
        weight: Weight | None = None,
    ) -> None:
        """Make the pool.

        seed: of the first reset without a seed. workers: processes; None: one per core, 0: none,
        the actors live here. first_actor: this pool's first actor's number, when it is a part of
        a larger one. copy: return copies; False: arrays that the next step overwrites. weight: of
        R and I in the rewards, as in mix_rewards; None: rewards are the environments' own.
        """
        if not factories:
            raise ValueError("Got no environments; a pool needs at least one actor.")
        if workers is not None:
            check_whole("{} workers", workers, 0, limits.WORKERS, " (0: in this process)")
        check_whole("seed {}", seed, 0, limits.SEED)
        workers = min(cores() if workers is None else workers, len(factories))
        sample = factories[0]()
        self.single_observation_space = sample.observation_space
        self.single_action_space = sample.action_space
        self.spec = sample.spec
        self._spaces = spaces_of_env(sample)
        helping = workers > 1 and leaves_frames(sample)
        sample.close()
        self.num_envs = len(factories)
        self.observation_space = batch_space(self.single_observation_space, self.num_envs)
        self.action_space = batch_space(self.single_action_space, self.num_envs)
        self.first_actor = first_actor
        self.seed = seed
        self.weight = weight
        self.copy = copy
        self._stepping = False
        self._started = False
        self._workers: Workers | None = None
        self._here: Seats | None = None
        if workers == 0:
            self._arrays = PoolArrays(self.num_envs, self._spaces, None)
            self._here = Seats(factories, 0, self._arrays)
        else:
            self._workers = Workers(
                factories, self._spaces, workers, helping=helping, first_actor=first_actor
            )
            self._arrays = self._workers.arrays

    def reset(
        self,
        *,
        seed: int | Sequence[int | None] | None = None,
        options: dict[str, Any] | None = None,
    ) -> tuple[Any, dict[str, Any]]:
        """Start a game in every actor; a whole number seeds each by the number and its index.

        options: handed to every environment, but for `reset_mask`, bool (actors,), as Gymnasium
        has it: only these start a game, the others' games go on.
        """
        self._check_idle("reset")
        options = dict(options or {})
        mask = self._mask(options.pop("reset_mask", None))
        seeds, masks = self._deal(self._seeds(seed)), self._deal(mask)
        orders = zip(seeds, masks, strict=True)
        self._each("reset", [(*order, options or None) for order in orders])
        self._started = True
        return self._observations(), self._infos([])

    def _mask(self, mask: np.ndarray | None) -> list[bool]:
        """Which actors start a game."""
        if mask is None:
            return [True] * self.num_envs
        given = np.asarray(mask)
        if given.shape != (self.num_envs,) or given.dtype != np.bool_:
            raise ValueError(
                f"Got reset_mask {given.dtype} {given.shape}; give bool ({self.num_envs},), one "
                "for each actor."
            )
        if not self._started:
            raise gymnasium.error.ResetNeeded(
                "Got reset_mask before the first reset; start a game in every actor first."
            )
        chosen: list[bool] = given.tolist()
        return chosen

    def _seeds(self, seed: int | Sequence[int | None] | None) -> Sequence[int | None]:
        """One for each actor."""
        if seed is None and not self._started:
            seed = self.seed
        if seed is None:
            return [None] * self.num_envs
        if isinstance(seed, (int, np.integer)):
            return [actor_seed(int(seed), self.first_actor + i) for i in range(self.num_envs)]
        if len(seed) != self.num_envs:
            raise ValueError(
                f"Got {len(seed)} seeds for {self.num_envs} actors; give one each, or one number."
            )
        return seed

    def step_async(self, actions: np.ndarray) -> None:
        """Give every actor its action and let the workers go."""
        self._check_idle("step")
        if not self._started:
            raise gymnasium.error.ResetNeeded("No game has begun; call reset() first.")
        self._arrays.actions[:] = self._checked(actions)
        if self._workers is not None:
            with self._unfinished():
                self._workers.begin_step()
        self._stepping = True

    def _checked(self, actions: np.ndarray) -> np.ndarray:
        """The actions, if there is one that can be done for each actor."""
        given, wanted = np.asarray(actions), self._arrays.actions
        if given.shape != wanted.shape or not np.can_cast(given.dtype, wanted.dtype, "same_kind"):
            raise ValueError(
                f"Got actions {given.dtype} {given.shape}; give {wanted.dtype} {wanted.shape}, "
                "one for each actor."
            )
        space = self.single_action_space
        if isinstance(space, gymnasium.spaces.Discrete):
            last = space.start + space.n - 1
            if given.min() < space.start or given.max() > last:
                raise ValueError(
                    f"Got actions from {given.min()} to {given.max()}; choose from {space.start} "
                    f"to {last}."
                )
        return given

    def step_wait(self) -> tuple[Any, np.ndarray, np.ndarray, np.ndarray, dict[str, Any]]:
        """Wait for the step begun by step_async."""
        if not self._stepping:
            raise RuntimeError("step_wait() was called with no step under way; call step_async().")
        self._stepping = False
        ended = self._end_step()
        arrays = self._arrays
        results = arrays.rewards, arrays.terminated, arrays.truncated
        rewards, terminated, truncated = (a.copy() if self.copy else a for a in results)
        if self.weight is not None:
            rewards = mix_rewards(rewards, arrays.intrinsic, self.weight)
        return self._observations(), rewards, terminated, truncated, self._infos(ended)

    def _end_step(self) -> list[Ended]:
        if self._workers is None:
            assert self._here is not None
            return self._here.step()
        with self._unfinished():
            return self._workers.end_step()

    def step(
        self, actions: np.ndarray
    ) -> tuple[Any, np.ndarray, np.ndarray, np.ndarray, dict[str, Any]]:
        """Step all actors and wait for them."""
        self.step_async(actions)
        return self.step_wait()

    def _observations(self) -> Any:
        parts = self._arrays.observations
        if self.copy:
            parts = {name: part.copy() for name, part in parts.items()}
        return parts.get("", parts)

    def _infos(self, ended: Sequence[Ended]) -> dict[str, Any]:
        arrays = self._arrays
        infos: dict[str, Any] = {
            "intrinsic": arrays.intrinsic,
            "game_reward": arrays.game_rewards,
            "life_lost": arrays.life_lost,
            "tiles": arrays.tiles,
            "rooms": arrays.rooms,
            "score": arrays.scores,
        }
        if self._spaces.cells:
            infos["cell"] = arrays.cells
        if arrays.frames is not None:
            infos["frame"] = arrays.frames
        if self.copy:
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
        seats = [seat for seats in self._each("snapshot") for seat in seats]
        return {"kind": "pool", "seats": seats}

    def restore(self, snapshot: Snapshot) -> Any:
        """Thaw all actors, in a pool of as many; returns the observations to go on from.

        Where one of them refuses, with SnapshotError, all stay as they were.
        """
        self._check_idle("restore")
        seats = check_snapshot(snapshot, "pool", ("seats",))["seats"]
        if len(seats) != self.num_envs:
            raise SnapshotError(
                f"The snapshot holds {len(seats)} actors, this pool {self.num_envs}; "
                "restore it into a pool of as many."
            )
        before = self._each("snapshot") if self._started else None
        try:
            self._each("restore", [(some,) for some in self._deal(seats)])
        except SnapshotError:
            if before is not None:
                self._each("restore", [(some,) for some in before])
            raise
        self._started = True
        return self._observations()

    def take_visits(self) -> Counter[Tile]:
        """How often each tile was entered, over all actors, since this was last asked."""
        self._check_idle("take_visits")
        return sum(self._each("take_visits"), Counter())

    def take_code(self, code: np.ndarray) -> None:
        """Tell cells by this learned code, in each actor from its next game on."""
        self._check_idle("take_code")
        self._each("take_code", [(code,) for _ in self._deal([])])

    @property
    def freezable(self) -> bool:
        """Whether every environment has snapshot() and restore()."""
        self._check_idle("freezable")
        return all(self._each("freezable"))

    def _deal(self, items: Sequence[Any]) -> list[Sequence[Any]]:
        """The items of each worker's seats."""
        return [items] if self._workers is None else self._workers.deal(items)

    def _each(self, verb: str, args: Sequence[tuple[Any, ...]] | None = None) -> list[Any]:
        """Do a verb of Seats everywhere at once."""
        if self._workers is None:
            return [getattr(self._here, verb)(*(args[0] if args else ()))]
        with self._unfinished():
            answers = self._workers.do(verb, args)
        refusals = [answer for answer in answers if isinstance(answer, SnapshotError)]
        if refusals:
            raise refusals[-1]
        return answers

    @contextmanager
    def _unfinished(self) -> Iterator[None]:
        """What ends in here, a dead worker or Ctrl-C, leaves questions without answers.

        It takes the pool down: no orphans, no half-stepped actors, no answer to another question.
        """
        try:
            yield
        except BaseException:
            self.close()
            raise

    def _check_idle(self, verb: str) -> None:
        if self.closed:
            raise RuntimeError(f"{verb}() was called on a closed pool; make it again.")
        if self._stepping:
            raise RuntimeError(f"{verb}() was called while a step is under way; call step_wait().")

    def close_extras(self, **kwargs: Any) -> None:
        """Let all workers go, and the memory shared with them."""
        if self._workers is not None:
            self._workers.close()
        if self._here is not None:
            self._here.close()
        self._arrays = PoolArrays(0, self._spaces, None)
