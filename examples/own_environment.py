"""Your own environment: deepcs train own_environment:make --steps 400k

A MiniGrid room with a wall between the agent and the goal; tiles are the agent's cells.
Run it from this folder, with `pip install minigrid`.
"""

import gymnasium
import numpy as np
from gymnasium.wrappers import TransformObservation
from minigrid.wrappers import FullyObsWrapper, ImgObsWrapper

from deepcs import Bounds, CuriosityWrapper, Position

SIDE = 9  # cells across and down
BRIGHTER = 25  # MiniGrid's codes go to 10, a network's pixels to 255


def locate(env, observation, info):
    """The agent's cell; every MiniGrid environment is one room."""
    return Position(*env.unwrapped.agent_pos)


def make(grid=True, lifetime="game", render_mode=None):
    """What `deepcs train` calls; treatments set `grid` and `lifetime`."""
    env = gymnasium.make("MiniGrid-SimpleCrossingS9N1-v0", render_mode=render_mode)
    env = ImgObsWrapper(FullyObsWrapper(env))
    channels_first = gymnasium.spaces.Box(0, 255, (3, SIDE, SIDE), np.uint8)
    env = TransformObservation(env, lambda o: o.transpose(2, 1, 0) * BRIGHTER, channels_first)
    bounds = Bounds(0, 0, SIDE, SIDE)
    return CuriosityWrapper(env, locate=locate, bounds=bounds, grid=grid, lifetime=lifetime)
