"""What each world looks like: a picture of its opening, for lists of games and agents."""

from __future__ import annotations

import threading

import numpy as np

from deepcs.curiosity.games import games
from deepcs.envs.mazes import MAZES
from deepcs.film.filmed import make_filmed
from deepcs.studio.players import encode

OPENING = 24  # steps, so that title screens and fading-in are over
SEED = 1


class WorldPictures:
    """PNGs of worlds that the package knows, drawn when first asked for."""

    def __init__(self) -> None:
        self._drawn: dict[str, bytes] = {}
        self._one_at_a_time = threading.Lock()

    def get(self, world: str) -> bytes | None:
        """None: not one of the package's worlds; the code of others is not run for a picture."""
        if world not in MAZES and world not in games():
            return None
        with self._one_at_a_time:
            if world not in self._drawn:
                self._drawn[world] = _opening(world)
            return self._drawn[world]


def _opening(world: str) -> bytes:
    env = make_filmed(world, {})
    env.reset(seed=SEED)
    for _ in range(0 if world in MAZES else OPENING):
        *_, terminated, truncated, _ = env.step(np.int64(0))
        if terminated or truncated:
            break
    picture = env.render()
    env.close()
    assert isinstance(picture, np.ndarray)
    return encode(picture)
