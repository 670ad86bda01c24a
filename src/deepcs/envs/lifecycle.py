"""When games start, lives are lost and positions count, for the curiosity wrapper."""

from __future__ import annotations

from typing import Any

import gymnasium
from ale_py import ALEInterface

from deepcs.curiosity.game import Game
from deepcs.curiosity.games import game_named

Env = gymnasium.Env[Any, Any]


class Lifecycle:
    """When games start, lives are lost, positions count: in an unknown environment."""

    def game_started(self, *, resetting: bool) -> bool:
        """Whether the reset() or step() just made started a game."""
        return resetting

    def life_lost(self, info: dict[str, Any]) -> bool:
        """Whether a life was lost since this was last asked, and the game goes on."""
        return bool(info.get("life_lost", False))

    def position_counts(self) -> bool:
        """Whether the position after a step can be trusted: also after the last of a game."""
        return True


class EmulatorLifecycle(Lifecycle):
    """The same in an ALE environment, read from the emulator, whatever wrappers do."""

    def __init__(self, env: Env, ale: ALEInterface) -> None:
        self.env = env.unwrapped
        self.ale = ale
        own = getattr(self.env, "game", None)
        self.game = own if isinstance(own, Game) else game_named(self.name)
        self._lives = 0
        self._game = (0, 0)  # first frame since the ROM was loaded, number
        self._generator = self.env.np_random

    @property
    def name(self) -> str:
        """The game's name, as the environment knows it."""
        name = getattr(self.env, "_game", None) or getattr(self.env, "game", None)
        if isinstance(name, str):
            return name
        return self.env.spec.id if self.env.spec else type(self.env).__name__

    def ram(self) -> bytes:
        ram: bytes = self.ale.getRAM().tobytes()
        return ram

    def game_started(self, *, resetting: bool) -> bool:
        # A new game begins at another frame. Seeding loads the ROM again, which sets the frames
        # to 0, but then the generator is another. Our own actor counts its games, as it starts
        # them from a kept state.
        frame = self.ale.getFrameNumber() - self.ale.getEpisodeFrameNumber()
        game = frame, getattr(self.env, "games_started", 0)
        generator = self.env.np_random
        started = game != self._game or generator is not self._generator
        self._game, self._generator = game, generator
        return started

    def life_lost(self, info: dict[str, Any]) -> bool:
        before = self._lives
        read = None if self.game is None else self.game.lives
        self._lives = self.ale.lives() if read is None else read(self.ram())
        return 0 < self._lives < before

    def position_counts(self) -> bool:
        # After game over, RAM may hold anything.
        return not self.ale.game_over(with_truncation=False)
