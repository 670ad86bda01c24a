"""Draw the studio's pictures of games and mazes: src/deepcs/studio/page/world-NAME.png.

python tools/draw_worlds.py

They are files because a game takes the emulator up to a second to load.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np

import deepcs.studio
from deepcs.curiosity.games import games
from deepcs.envs.mazes import MAZES
from deepcs.film.filmed import make_filmed
from deepcs.studio.players import encode

PAGE = Path(deepcs.studio.__file__).parent / "page"
OPENING = 24  # steps, so that title screens are over


def opening(world: str) -> np.ndarray:
    """What a game looks like soon after its start; a maze, at its start."""
    env = make_filmed(world, {})
    env.reset(seed=1)
    for _ in range(0 if world in MAZES else OPENING):
        env.step(np.int64(0))
    picture = env.render()
    env.close()
    assert isinstance(picture, np.ndarray)
    return picture


def main() -> None:
    for world in (*games(), *MAZES):
        (PAGE / f"world-{world}.png").write_bytes(encode(opening(world)))
        print(world)


if __name__ == "__main__":
    main()
