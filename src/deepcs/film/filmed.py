"""Worlds that can be rendered."""

from __future__ import annotations

from typing import Any

import numpy as np

from deepcs.envs.atari import AtariActor
from deepcs.envs.make import make_actor
from deepcs.envs.roms import atari_game
from deepcs.envs.seats import Env


class FilmedActor(AtariActor):
    """Shows the maximum of the last two raw frames, as the network sees it.

    A sprite that flickers, drawn in every other raw frame, could otherwise be missing from the
    video, which has every fourth. Where none flickers, only the last frame is shown: a maximum
    would hide dark sprites that move on a bright background.
    """

    def _begin(self) -> None:
        super()._begin()
        self._before_last = self.ale.getScreenRGB()

    def _frame(self, action: int) -> int:
        self._before_last = self.ale.getScreenRGB()
        return super()._frame(action)

    def render(self) -> np.ndarray:
        last = super().render()
        return np.maximum(self._before_last, last) if self.game.flickers else last


def make_filmed(world: str, settings: dict[str, Any], actor: type[AtariActor] = FilmedActor) -> Env:
    """One actor to be rendered; its grid starts empty in every game. settings: as in make_actor.

    actor: what plays Atari games.
    """
    if settings.get("lifetime") == "never":
        settings = {**settings, "lifetime": "game"}
    game = atari_game(world)
    if game is not None:
        return actor(game, render_mode="rgb_array", **settings)
    return make_actor(world, render_mode="rgb_array", **settings)
