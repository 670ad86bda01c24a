"""Seats, the slots of a pool: actors stepped one by one, reset when a game ends, results in arrays.

The part of the pool that runs where the actors are: in the parent itself or in a worker process.
"""

from __future__ import annotations

import mmap
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, cast

import gymnasium
import numpy as np

from deepcs.curiosity.cells import NOWHERE
from deepcs.curiosity.tiles import Room, Tile
from deepcs.system.snapshot import Snapshot, SnapshotError, all_or_nothing, check_snapshot

Env = gymnasium.Env[Any, Any]
EnvFactory = Callable[[], Env]


@dataclass(frozen=True)
class Spaces:
    """What one actor sees and does."""

    observation: gymnasium.Space[Any]
    action: gymnasium.Space[Any]
    frame: tuple[int, int] | None = None
    """height and width of the frames in its infos; None: there are none"""
    cells: bool = True
    """whether its infos say which tile or cell each step led to"""


def spaces_of_env(env: Env) -> Spaces:
    """What an environment shows."""
    frame = env.get_wrapper_attr("frame_shape") if env.has_wrapper_attr("frame_shape") else None
    cells = not env.has_wrapper_attr("tells_cells") or env.get_wrapper_attr("tells_cells")
    return Spaces(env.observation_space, env.action_space, frame, cells)


@dataclass(frozen=True)
class GameRecord:
    """A finished game."""

    score: float
    """the game's own rewards, unclipped, summed"""
    intrinsic: float
    """intrinsic rewards, summed, whether or not they were paid"""
    tiles: int
    """tiles touched in the game, over all its lives"""
    steps: int
    """agent steps"""
    rooms: tuple[Room, ...]
    """rooms visited in the game, in order of first entry"""


@dataclass(frozen=True)
class Ended:
    """What a seat reports when its game has ended: the last step, before the reset."""

    seat: int
    observation: Any
    info: dict[str, Any]
    game: GameRecord


class PoolArrays:
    """What all seats of a pool write and read, in one block of memory that processes can share."""

    def __init__(self, seats: int, spaces: Spaces, memory: mmap.mmap | None) -> None:
        """`memory`: shared, of `PoolArrays.size` bytes; None: ordinary arrays."""
        self._memory = memory
        self.size = 0
        self.actions = self._array((seats, *action_shape(spaces.action)), spaces.action.dtype)
        self.rewards = self._array((seats,), np.float64)
        self.game_rewards = self._array((seats,), np.float64)
        self.intrinsic = self._array((seats,), np.float64)
        self.terminated = self._array((seats,), np.bool_)
        self.truncated = self._array((seats,), np.bool_)
        self.life_lost = self._array((seats,), np.bool_)
        self.tiles = self._array((seats,), np.int64)
        self.rooms = self._array((seats,), np.int64)
        self.scores = self._array((seats,), np.float64)
        self.cells = self._array((seats,), np.int64)
        self.frames = None
        if spaces.frame is not None:
            self.frames = self._array((seats, *spaces.frame), np.uint8)
        self.observations: dict[str, np.ndarray] = {
            name: self._array((seats, *box.shape), box.dtype)
            for name, box in observation_boxes(spaces.observation).items()
        }

    def _array(self, shape: tuple[int, ...], dtype: Any) -> np.ndarray:
        offset = -(-self.size // 64) * 64  # own cache lines
        length = int(np.prod(shape)) * np.dtype(dtype).itemsize
        self.size = offset + length
        if self._memory is None:
            return np.zeros(shape, dtype)
        raw = np.frombuffer(self._memory, np.uint8, length, offset)
        array: np.ndarray = raw.view(dtype).reshape(shape)
        return array


def action_shape(space: gymnasium.Space[Any]) -> tuple[int, ...]:
    """The shape of one action; raises ValueError where it is not an array of numbers."""
    spaces = gymnasium.spaces
    if isinstance(space, (spaces.Discrete, spaces.MultiDiscrete, spaces.MultiBinary, spaces.Box)):
        return space.shape or ()
    raise ValueError(
        f"Got action space {space}; the pool takes Discrete, MultiDiscrete, MultiBinary or Box: "
        "wrap the environment with gymnasium.wrappers.TransformAction."
    )


def observation_boxes(space: gymnasium.Space[Any]) -> dict[str, gymnasium.spaces.Box]:
    """The arrays that an observation is made of, by name; one without a name is ''."""
    if isinstance(space, gymnasium.spaces.Box):
        return {"": space}
    if isinstance(space, gymnasium.spaces.Dict):
        parts = dict(space.spaces)
        if all(isinstance(part, gymnasium.spaces.Box) for part in parts.values()):
            return cast(dict[str, gymnasium.spaces.Box], parts)
    raise ValueError(
        f"Got observation space {space}; the pool takes a Box, or a Dict of Boxes: "
        "wrap the environment with deepcs.ArrayObservation."
    )


class Seat:
    """One actor, the counters of its current game, and its row in the arrays."""

    def __init__(self, env: Env, index: int, arrays: PoolArrays) -> None:
        self.env = env
        self.index = index
        self.arrays = arrays
        self._shapes = {name: part.shape[1:] for name, part in arrays.observations.items()}
        self._attached = hasattr(env, "attach")
        if self._attached:
            # It writes directly to where we would copy.
            cast(Any, env).attach(arrays.observations[""][index])
        self._steps = 0
        self._score = 0.0
        self._intrinsic = 0.0

    def reset(self, seed: int | None, options: dict[str, Any] | None) -> None:
        self._begin(*self.env.reset(seed=seed, options=options))
        self.arrays.game_rewards[self.index] = self.arrays.intrinsic[self.index] = 0.0
        self.arrays.life_lost[self.index] = False

    def _begin(self, observation: Any, info: dict[str, Any]) -> None:
        self._steps, self._score, self._intrinsic = 0, 0.0, 0.0
        self._write(observation, info)

    def _write(self, observation: Any, info: dict[str, Any]) -> None:
        arrays, index = self.arrays, self.index
        if not self._attached:
            self._keep(observation if isinstance(observation, dict) else {"": observation})
        arrays.tiles[index] = info.get("tiles", 0)
        arrays.rooms[index] = info.get("rooms", 0)
        arrays.scores[index] = self._score

    def _keep(self, parts: dict[str, Any]) -> None:
        """Write the parts of an observation; raises ValueError where they do not fit."""
        given, wanted = {name: np.shape(part) for name, part in parts.items()}, self._shapes
        if given != wanted:
            raise ValueError(
                f"{type(self.env.unwrapped).__name__} returned an observation of shape "
                f"{given.get('', given)} where its observation_space has "
                f"{wanted.get('', wanted)}; fix the environment."
            )
        for name, part in parts.items():
            self.arrays.observations[name][self.index] = part

    def step(self) -> Ended | None:
        """Act; when the game ends, report it and start the next one in the same step."""
        arrays, index = self.arrays, self.index
        action = arrays.actions[index]
        if action.shape:
            action = action.copy()  # the environment may keep it
        observation, reward, terminated, truncated, info = self.env.step(action)
        intrinsic = info.get("intrinsic", 0.0)
        self._steps += 1
        game_reward = float(info.get("game_reward", reward))
        self._score += game_reward
        self._intrinsic += intrinsic
        arrays.rewards[index] = reward
        arrays.game_rewards[index] = game_reward
        arrays.intrinsic[index] = intrinsic
        arrays.life_lost[index] = info.get("life_lost", False)
        arrays.terminated[index] = terminated
        arrays.truncated[index] = truncated
        arrays.cells[index] = info.get("cell", NOWHERE)
        if arrays.frames is not None:
            arrays.frames[index] = info["frame"]
        if not (terminated or truncated):
            self._write(observation, info)
            return None
        if self._attached:
            observation = observation.copy()
        rooms = tuple(info.get("rooms_visited", ()))
        tiles = info.get("tiles", 0)
        record = GameRecord(self._score, self._intrinsic, tiles, self._steps, rooms)
        self._begin(*self.env.reset())
        return Ended(index, observation, info, record)

    def snapshot(self) -> Snapshot:
        return {
            "kind": "seat",
            "env": self._freezable().snapshot(),
            "steps": self._steps,
            "score": self._score,
            "intrinsic": self._intrinsic,
            "observation": {n: a[self.index].copy() for n, a in self.arrays.observations.items()},
            "tiles": int(self.arrays.tiles[self.index]),
            "rooms": int(self.arrays.rooms[self.index]),
        }

    def restore(self, snapshot: Snapshot) -> None:
        keys = ("env", "steps", "score", "intrinsic", "observation", "tiles", "rooms")
        saved = check_snapshot(snapshot, "seat", keys)
        self._freezable().restore(saved["env"])
        self._steps = int(saved["steps"])
        self._score = float(saved["score"])
        self._intrinsic = float(saved["intrinsic"])
        observation = saved["observation"]
        info = {"tiles": saved["tiles"], "rooms": saved["rooms"]}
        self._write(observation.get("", observation), info)

    def _freezable(self) -> Any:
        if not freezable(self.env):
            raise SnapshotError(
                f"{type(self.env.unwrapped).__name__} has no snapshot() and restore(), so it "
                "cannot be frozen; add both methods to the environment."
            )
        return _methods_of(self.env)

    def take_visits(self) -> Counter[Tile]:
        take = getattr(_methods_of(self.env), "take_visits", None)
        return take() if take is not None else Counter()


def _methods_of(env: Env) -> Any:
    """The outermost layer with snapshot() and restore(), else the innermost environment."""
    layer = env
    while not (hasattr(type(layer), "snapshot") and hasattr(type(layer), "restore")):
        if not isinstance(layer, gymnasium.Wrapper):
            return layer
        layer = layer.env
    return layer


def freezable(env: Env) -> bool:
    """Whether the environment has snapshot() and restore()."""
    layer = _methods_of(env)
    has_both = hasattr(layer, "snapshot") and hasattr(layer, "restore")
    return has_both and getattr(layer, "freezable", True)


def actor_seed(seed: int, actor: int) -> int:
    """The seed of one actor; runs with consecutive seeds share none."""
    return int(np.random.SeedSequence((seed, actor)).generate_state(1)[0])


class Seats:
    """A row of seats, stepped one after the other."""

    def __init__(self, factories: Sequence[EnvFactory], first: int, arrays: PoolArrays) -> None:
        """`first`: the index of the first seat in the arrays."""
        self.seats = [Seat(make(), first + i, arrays) for i, make in enumerate(factories)]

    def reset(
        self,
        seeds: Sequence[int | None],
        mask: Sequence[bool],
        options: dict[str, Any] | None,
    ) -> None:
        """Start a game where the mask says so."""
        for seat, seed, chosen in zip(self.seats, seeds, mask, strict=True):
            if chosen:
                seat.reset(seed, options)

    def step(self) -> list[Ended]:
        return [ended for seat in self.seats if (ended := seat.step()) is not None]

    def snapshot(self) -> list[Snapshot]:
        return [seat.snapshot() for seat in self.seats]

    @all_or_nothing
    def restore(self, snapshots: list[Snapshot]) -> None:
        for seat, snapshot in zip(self.seats, snapshots, strict=True):
            seat.restore(snapshot)

    def take_code(self, code: np.ndarray) -> None:
        for seat in self.seats:
            _methods_of(seat.env).take_code(code)

    def take_visits(self) -> Counter[Tile]:
        return sum((seat.take_visits() for seat in self.seats), Counter())

    def freezable(self) -> bool:
        return all(freezable(seat.env) for seat in self.seats)

    def close(self) -> None:
        for seat in self.seats:
            seat.env.close()
