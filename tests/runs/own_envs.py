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


def continuous() -> Counting:
    env = Counting()
    env.action_space = gymnasium.spaces.Box(-1, 1, (2,))  # type: ignore[assignment]
    return env


def cart_pole() -> gymnasium.Env[Any, Any]:
    """Starts by its seed; games end when they do."""
    return gymnasium.make("CartPole-v1")
