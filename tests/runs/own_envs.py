"""Environments as a user might bring them, for module:factory."""

from __future__ import annotations

from typing import Any

import gymnasium
import numpy as np

import deepcs

GAME = 7  # steps


class Counting(gymnasium.Env[np.ndarray, int]):
    """Shows how many steps of the game are played; pays action 1. It cannot be frozen.

    Its intrinsic reward is one of its own.
    """

    def __init__(self, poisoned_after: int | None = None) -> None:
        self.observation_space = gymnasium.spaces.Box(0, 10, (3,), np.float32)
        self.action_space = gymnasium.spaces.Discrete(2)
        self.poisoned_after = poisoned_after
        self.played = 0
        self.all_played = 0

    def _observe(self) -> np.ndarray:
        return np.full(3, self.played, np.float32)

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[np.ndarray, dict[str, Any]]:
        super().reset(seed=seed)
        self.played = 0
        return self._observe(), {"intrinsic": 0.0}

    def step(self, action: int) -> tuple[np.ndarray, float, bool, bool, dict[str, Any]]:
        self.played += 1
        self.all_played += 1
        observation = self._observe()
        if self.poisoned_after is not None and self.all_played > self.poisoned_after:
            observation[:] = np.nan
        info = {"intrinsic": float(self.played == 1)}
        return observation, float(action), self.played == GAME, False, info


class Freezable(Counting):
    """Frozen with what people put into snapshots: NumPy numbers, and arrays of them."""

    def snapshot(self) -> dict[str, Any]:
        return {"played": np.int64(self.played), "all": np.array(self.all_played)}

    def restore(self, snapshot: dict[str, Any]) -> None:
        self.played, self.all_played = int(snapshot["played"]), int(snapshot["all"])


class Unserialisable(Counting):
    def snapshot(self) -> dict[str, Any]:
        return {"seen": {self.played}}

    def restore(self, snapshot: dict[str, Any]) -> None:
        return


def shown() -> gymnasium.Env[Any, int]:
    """Its grid cannot be switched off."""
    return deepcs.CuriosityWrapper(
        Counting(), locate=lambda env, view, info: deepcs.Position(int(view[0]), 0)
    )


def counting() -> Counting:
    return Counting()


def freezable() -> Freezable:
    return Freezable()


def unserialisable() -> Unserialisable:
    return Unserialisable()


def poisoned() -> Counting:
    return Counting(poisoned_after=100)


def of_whole_numbers() -> Counting:
    """With actions that no policy here has."""
    env = Counting()
    env.action_space = gymnasium.spaces.Box(0, 9, (2,), np.int64)  # type: ignore[assignment]
    return env


def cart_pole() -> gymnasium.Env[Any, Any]:
    """Starts by its seed; games end when they do."""
    return gymnasium.make("CartPole-v1")


class Steered(gymnasium.Env[Any, Any]):
    """Goes about in a plane; shows something of every kind, and can be frozen."""

    def __init__(self, action_space: gymnasium.Space[Any]) -> None:
        spaces = gymnasium.spaces
        self.action_space = action_space
        self.observation_space = spaces.Dict(
            where=spaces.Box(-np.inf, np.inf, (2,), np.float64),
            map=spaces.Box(0, 255, (6, 6, 1), np.uint8),
            quarter=spaces.Discrete(4, start=1),
            inner=spaces.Dict(signs=spaces.MultiBinary(2), pair=spaces.MultiDiscrete([2, 3])),
            both=spaces.Tuple((spaces.Box(0, 9, (), np.int32), spaces.Box(0, 1, (2, 2)))),
            note=spaces.Text(5),
        )
        self.place = np.zeros(2)
        self.played = 0

    def _observe(self) -> dict[str, Any]:
        signs = (self.place > 0).astype(np.int8)
        seen = np.zeros((6, 6, 1), np.uint8)
        row, column = np.clip(np.floor(self.place) + 3, 0, 5).astype(int)
        seen[row, column] = 255
        return {
            "where": self.place.copy(),
            "map": seen,
            "quarter": np.int64(1 + signs[0] + 2 * signs[1]),
            "inner": {"signs": signs, "pair": np.array([signs[0], 2 * signs[1]])},
            "both": (np.array(self.played % 9, np.int32), np.full((2, 2), 0.5, np.float32)),
            "note": "here",
        }

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[dict[str, Any], dict[str, Any]]:
        super().reset(seed=seed)
        self.place, self.played = np.zeros(2), 0
        return self._observe(), {}

    def step(self, action: Any) -> tuple[dict[str, Any], float, bool, bool, dict[str, Any]]:
        assert self.action_space.contains(action), action
        self.place = self.place + np.asarray(action, np.float64).reshape(-1)[:2]
        self.played += 1
        return self._observe(), -float(np.abs(self.place).sum()), False, self.played == 12, {}

    def render(self) -> np.ndarray:
        return np.repeat(np.repeat(self._observe()["map"], 8, 0), 8, 1).repeat(3, 2)

    def snapshot(self) -> dict[str, Any]:
        return {"place": self.place.copy(), "played": self.played}

    def restore(self, snapshot: dict[str, Any]) -> None:
        self.place, self.played = snapshot["place"].copy(), int(snapshot["played"])


def steered(action_space: gymnasium.Space[Any], grid: bool) -> gymnasium.Env[Any, Any]:
    return deepcs.CuriosityWrapper(
        Steered(action_space),
        locate=lambda env, observation, info: env.unwrapped.place,
        grid=grid,
        shape=(9, 9),
    )


def box(grid: bool = True) -> gymnasium.Env[Any, Any]:
    return steered(gymnasium.spaces.Box(-2, 2, (2,)), grid)


def multi_discrete(grid: bool = True) -> gymnasium.Env[Any, Any]:
    return steered(gymnasium.spaces.MultiDiscrete([3, 3], start=[-1, -1]), grid)


def multi_binary(grid: bool = True) -> gymnasium.Env[Any, Any]:
    return steered(gymnasium.spaces.MultiBinary(2), grid)


def pair() -> Counting:
    """One array to see, two choices to make."""
    env = Counting()
    env.action_space = gymnasium.spaces.MultiDiscrete([2, 2])  # type: ignore[assignment]
    return env


class BareImage(gymnasium.Env[np.ndarray, int]):
    """A white column that moves by each action; nothing tells where it is."""

    observation_space = gymnasium.spaces.Box(0, 255, (6, 6), np.uint8)
    action_space = gymnasium.spaces.Discrete(2)

    def _seen(self) -> np.ndarray:
        seen = np.zeros((6, 6), np.uint8)
        seen[:, self.x % 6] = 255
        return seen

    def reset(self, **_: Any) -> tuple[np.ndarray, dict[str, Any]]:  # type: ignore[override]
        self.x = self.steps = 0
        return self._seen(), {}

    def step(self, action: int) -> Any:
        self.x, self.steps = self.x + 1 + int(action), self.steps + 1
        return self._seen(), 0.0, self.steps == 10, False, {}


def bare_image() -> BareImage:
    return BareImage()
