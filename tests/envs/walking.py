"""An environment in which every step leads a cell further right."""

from __future__ import annotations

from typing import Any

import gymnasium
import numpy as np
from gymnasium.spaces import Box, Discrete

from deepcs import CuriosityWrapper, Position


class Walk(gymnasium.Env[np.ndarray, int]):
    """A cell further right with every step, shown as an image that says nothing."""

    def __init__(self, shape: tuple[int, ...] = (7, 7, 3), reward: float = 0.0) -> None:
        self.observation_space = Box(0, 255, shape, np.uint8)
        self.action_space = Discrete(2)
        self.reward = reward
        self.x = 0
        self.shown = shape

    def _observe(self) -> np.ndarray:
        return np.full(self.shown, 9, np.uint8)

    def reset(self, *, seed: Any = None, options: Any = None) -> tuple[np.ndarray, dict[str, Any]]:
        super().reset(seed=seed)
        self.x = 0
        return self._observe(), {}

    def step(self, action: int) -> tuple[np.ndarray, float, bool, bool, dict[str, Any]]:
        self.x += 1
        return self._observe(), self.reward, False, False, {}


def cell(env: Any, observation: Any, info: Any) -> Position:
    return Position(env.unwrapped.x, 0)


def walk(shape: tuple[int, ...] = (7, 7, 3), reward: float = 0.0, **settings: Any) -> Any:
    return CuriosityWrapper(Walk(shape, reward), **{"locate": cell, **settings})
