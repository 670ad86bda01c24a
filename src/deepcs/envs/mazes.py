"""Two small worlds that make the paper's arguments for intra-life curiosity in minutes.

`deepcs/KeyHallway-v0`: what was explored too early matters later. `deepcs/CrossMaze-v0`: all
skills are needed in one life. Both are maps of a few letters, walked by one set of rules.
"""

from __future__ import annotations

import numpy as np

from deepcs.envs.maze import Maze


class KeyHallway(Maze):
    """A hallway whose far left end is a locked door; the key lies at the far right.

    The door opens, for the only reward, to whoever comes with the key. The key vanishes from the
    picture once taken, but the grid does not tell: a hallway explored too early stays explored.
    160 steps a game, where 30 are needed. Actions: LEFT, RIGHT, and UP and DOWN, which do nothing.

    Uniformly random play opened the door in 0.12 % of 50,000 games.
    """

    kind = "key hallway"
    layout = ("D.........@.........K",)
    items = "K"
    channels = ("player", "key", "door")
    actions = 4
    time_limit = 160

    def _solved(self) -> bool:
        return self._taken[0] and self._cell == self.map.places["D"]

    def _paint(self, image: np.ndarray) -> None:
        image[(2, *self.map.places["D"])] = 255
        if not self._taken[0]:
            image[(1, *self._items[0])] = 255


class CrossMaze(Maze):
    """Four branches, each with a skill of its own, and a token at the end of each.

    West is water: to swim a cell, UP then DOWN. East is rock: to climb one, RIGHT twice. North
    are gaps: to jump one, ACT then UP. South is earth: to dig one, ACT twice. The first cell of
    a branch is walked. The only reward is for all four tokens. 200 steps a game, where 40 are
    needed. Actions: LEFT, RIGHT, UP, DOWN, ACT.

    The picture's `halfway` is lit at the player's cell after the first half of a skill.

    Uniformly random play collected all four in none of 30,000 games, and three in one of them.
    """

    kind = "cross maze"
    layout = (
        "    G    ",
        "    g    ",
        "    g    ",
        "    .    ",
        "Www.@.rrR",
        "    .    ",
        "    e    ",
        "    e    ",
        "    E    ",
    )
    items = "WRGE"
    channels = ("player", "walls", "tokens", "halfway")
    actions = 5
    time_limit = 200

    def _solved(self) -> bool:
        return all(self._taken)

    def _paint(self, image: np.ndarray) -> None:
        image[1] = 255
        for cell in self.map.letters:
            image[(1, *cell)] = 0
        for (y, x), taken in zip(self._items, self._taken, strict=True):
            if not taken:
                image[2, y, x] = 255
        if self._halfway:
            image[(3, *self._cell)] = 255


MAZES: dict[str, type[Maze]] = {"KeyHallway": KeyHallway, "CrossMaze": CrossMaze}
