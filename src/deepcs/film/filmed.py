"""Worlds that can be rendered."""

from __future__ import annotations

from typing import Any

import numpy as np

from deepcs.curiosity.game import Game
from deepcs.envs.atari import AtariActor
from deepcs.envs.emulator import Emulator
from deepcs.envs.make import make_actor
from deepcs.envs.protocol import Protocol
from deepcs.envs.roms import atari_game
from deepcs.envs.seats import Env
from deepcs.system.importing import allow


class FilmedEmulator(Emulator):
    """Shows the maximum of the last two raw frames, as the network sees it.

    A sprite that flickers, drawn in every other raw frame, could otherwise be missing from the
    video, which has every fourth. Where none flickers, only the last frame is shown: a maximum
    would hide dark sprites that move on a bright background.
    """

    def begin(self) -> None:
        super().begin()
        self._before_last = self.ale.getScreenRGB()

    def frame(self, action: int, generator: np.random.Generator) -> int:
        self._before_last = self.ale.getScreenRGB()
        return super().frame(action, generator)

    def screen(self) -> np.ndarray:
        last = super().screen()
        return np.maximum(self._before_last, last) if self.game.flickers else last


class FilmedActor(AtariActor):
    """An actor to be looked at."""

    emulator_type = FilmedEmulator


class WatchedEmulator(FilmedEmulator):
    """Keeps a picture of every raw frame."""

    def __init__(self, game: Game, protocol: Protocol) -> None:
        super().__init__(game, protocol)
        self.reel: list[np.ndarray] = []

    def frame(self, action: int, generator: np.random.Generator) -> int:
        reward = super().frame(action, generator)
        self.reel.append(self.screen())
        return reward


class WatchedActor(AtariActor):
    """An actor with a picture of every raw frame of its latest step."""

    emulator_type = WatchedEmulator
    emulator: WatchedEmulator

    @property
    def reel(self) -> list[np.ndarray]:
        return self.emulator.reel

    def step(self, action: np.int64 | int) -> tuple[np.ndarray, float, bool, bool, dict[str, Any]]:
        self.emulator.reel.clear()
        return super().step(action)


def make_filmed(world: str, settings: dict[str, Any], actor: type[AtariActor] = FilmedActor) -> Env:
    """One actor to be rendered; its grid starts empty in every game. settings: as in make_actor.

    actor: what plays Atari games.
    """
    if settings.get("lifetime") == "never":
        settings = {**settings, "lifetime": "game"}
    allow([world])  # as in make_actor
    game = atari_game(world)
    if game is not None:
        return actor(game, render_mode="rgb_array", **settings)
    return make_actor(world, render_mode="rgb_array", **settings)
