"""Deep Curiosity Search: reward what is new in this game.

Importing it makes the mazes known to Gymnasium: gymnasium.make("deepcs/KeyHallway-v0").
"""

from __future__ import annotations

import importlib
import importlib.util
from typing import TYPE_CHECKING, Any

import gymnasium

from deepcs._version import __version__ as __version__
from deepcs.curiosity.game import Game, Screen, at
from deepcs.curiosity.games import game, games, register_game
from deepcs.curiosity.grid import CuriosityGrid
from deepcs.curiosity.tiles import Bounds, Position
from deepcs.curiosity.unbounded import UnboundedGrid

if TYPE_CHECKING:
    from deepcs.agents.vec_novelty import VecNovelty as VecNovelty
    from deepcs.agents.vector import NoveltyVectorWrapper
    from deepcs.envs.arrays import ArrayObservation
    from deepcs.envs.layout import ChannelsFirst
    from deepcs.envs.make import make_vec
    from deepcs.envs.pictures import Pixels
    from deepcs.envs.sb3 import to_sb3
    from deepcs.envs.sb3_vec_env import VecCuriosity as VecCuriosity
    from deepcs.envs.vector import CuriosityVectorWrapper
    from deepcs.envs.wrapper import CuriosityWrapper
    from deepcs.runs.config import RunConfig
    from deepcs.runs.evaluate import evaluate
    from deepcs.runs.load import load_run
    from deepcs.runs.train import resume, train
    from deepcs.runs.trained import load_agent

__all__ = [
    "ArrayObservation",
    "Bounds",
    "ChannelsFirst",
    "CuriosityGrid",
    "CuriosityVectorWrapper",
    "CuriosityWrapper",
    "Game",
    "NoveltyVectorWrapper",
    "Pixels",
    "Position",
    "RunConfig",
    "Screen",
    "UnboundedGrid",
    "at",
    "evaluate",
    "game",
    "games",
    "load_agent",
    "load_run",
    "make_vec",
    "register_game",
    "resume",
    "to_sb3",
    "train",
]

for _maze in ("KeyHallway", "CrossMaze"):
    gymnasium.register(
        f"deepcs/{_maze}-v0", entry_point=f"deepcs.envs.mazes:{_maze}", kwargs={"mix": True}
    )

# Loaded when first used, so that the grid needs nothing heavy and worker processes load no torch.
_LATER = {
    "make_vec": "deepcs.envs.make",
    "ArrayObservation": "deepcs.envs.arrays",
    "ChannelsFirst": "deepcs.envs.layout",
    "CuriosityVectorWrapper": "deepcs.envs.vector",
    "CuriosityWrapper": "deepcs.envs.wrapper",
    "NoveltyVectorWrapper": "deepcs.agents.vector",
    "Pixels": "deepcs.envs.pictures",
    "RunConfig": "deepcs.runs.config",
    "evaluate": "deepcs.runs.evaluate",
    "load_agent": "deepcs.runs.trained",
    "load_run": "deepcs.runs.load",
    "resume": "deepcs.runs.train",
    "to_sb3": "deepcs.envs.sb3",
    "train": "deepcs.runs.train",
}
# Subclasses of Stable-Baselines3's, an extra; not in __all__, which must do without it.
_FOR_SB3 = {
    "VecCuriosity": "deepcs.envs.sb3_vec_env",
    "VecNovelty": "deepcs.agents.vec_novelty",
}


def __getattr__(name: str) -> Any:
    if name in _LATER:
        return getattr(importlib.import_module(_LATER[name]), name)
    if name not in _FOR_SB3:
        raise AttributeError(f"module 'deepcs' has no attribute {name!r}")
    try:
        return getattr(importlib.import_module(_FOR_SB3[name]), name)
    except ModuleNotFoundError as error:
        if not (error.name or "").startswith("stable_baselines3"):
            raise
        raise ImportError(
            f"deepcs.{name} needs Stable-Baselines3, which is not installed; pip install "
            "'deepcs[examples]' brings it."
        ) from error


def __dir__() -> list[str]:
    with_sb3 = _FOR_SB3 if importlib.util.find_spec("stable_baselines3") else ()
    return sorted({*globals(), *__all__, *with_sb3})
