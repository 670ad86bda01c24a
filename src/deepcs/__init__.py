"""Deep Curiosity Search: reward what is new in this life.

Importing it makes the mazes known to Gymnasium: gymnasium.make("deepcs/KeyHallway-v0").
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

import gymnasium

from deepcs._version import __version__ as __version__
from deepcs.curiosity.game import Game, Screen, at
from deepcs.curiosity.games import game, games, register_game
from deepcs.curiosity.grid import Bounds, CuriosityGrid, Position
from deepcs.curiosity.unbounded import UnboundedGrid

if TYPE_CHECKING:
    from deepcs.envs.make import make_vec
    from deepcs.envs.wrapper import CuriosityWrapper
    from deepcs.runs.load import load_run
    from deepcs.runs.trained import load_agent

__all__ = [
    "Bounds",
    "CuriosityGrid",
    "CuriosityWrapper",
    "Game",
    "Position",
    "Screen",
    "UnboundedGrid",
    "at",
    "game",
    "games",
    "load_agent",
    "load_run",
    "make_vec",
    "register_game",
]

for _maze in ("KeyHallway", "CrossMaze"):
    gymnasium.register(f"deepcs/{_maze}-v0", entry_point=f"deepcs.envs.mazes:{_maze}")

# Loaded when first used: the grid waits for nothing heavy, worker processes load no torch.
_LATER = {
    "make_vec": "deepcs.envs.make",
    "CuriosityWrapper": "deepcs.envs.wrapper",
    "load_agent": "deepcs.runs.trained",
    "load_run": "deepcs.runs.load",
}


def __getattr__(name: str) -> Any:
    if name not in _LATER:
        raise AttributeError(f"module 'deepcs' has no attribute {name!r}")
    return getattr(importlib.import_module(_LATER[name]), name)
