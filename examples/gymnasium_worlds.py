"""Gymnasium and MiniGrid environments with curiosity: deepcs train gymnasium_worlds:mountain_car

Each factory gives `deepcs train` what it needs: the environment, and where the player is in it.
`gymnasium_worlds.toml` is a study of some of them. Run both from this folder, with
`pip install minigrid`.
"""

import gymnasium
import minigrid  # noqa: F401  # registers its environments with Gymnasium
import numpy as np
from gymnasium.wrappers import RescaleObservation, TransformObservation

from deepcs import Bounds, CuriosityWrapper, Position

BRIGHTER = 25  # MiniGrid's codes go to 10, a network's pixels to 255


def mountain_car(grid=True, lifetime="game", render_mode=None):
    """Tiles of position and velocity; it pays -1 a step until the car is up the hill."""
    env = gymnasium.make("MountainCar-v0", render_mode=render_mode)
    return CuriosityWrapper(
        RescaleObservation(env, np.float32(-1), np.float32(1)),
        locate=lambda env, observation, info: env.unwrapped.state,
        bounds=Bounds(-1.2, -0.07, 1.8, 0.14),
        tile=(0.1, 0.01),
        shape=(14, 18),
        grid=grid,
        lifetime=lifetime,
    )


def mountain_car_continuous(grid=True, lifetime="game", render_mode=None):
    """The same with a force of -1 to 1, which costs."""
    return CuriosityWrapper(
        gymnasium.make("MountainCarContinuous-v0", render_mode=render_mode),
        locate=lambda env, observation, info: env.unwrapped.state,
        bounds=Bounds(-1.2, -0.07, 1.8, 0.14),
        tile=(0.1, 0.01),
        shape=(14, 18),
        grid=grid,
        lifetime=lifetime,
    )


def pendulum(grid=True, lifetime="game", render_mode=None):
    """Tiles of angle and angular velocity; the torque is a Box."""
    return CuriosityWrapper(
        gymnasium.make("Pendulum-v1", render_mode=render_mode),
        locate=lambda env, observation, info: (
            np.arctan2(observation[1], observation[0]),
            observation[2],
        ),
        bounds=Bounds(-np.pi, -8.0, 2 * np.pi, 16.0),
        tile=(np.pi / 10, 0.8),
        shape=(20, 20),
        grid=grid,
        lifetime=lifetime,
    )


def cart_pole(grid=True, lifetime="game", render_mode=None):
    """Tiles of the cart's position and the pole's angle."""
    return CuriosityWrapper(
        gymnasium.make("CartPole-v1", render_mode=render_mode),
        locate=lambda env, observation, info: (observation[0], observation[2]),
        bounds=Bounds(-2.4, -0.21, 4.8, 0.42),
        tile=(0.24, 0.021),
        shape=(20, 20),
        grid=grid,
        lifetime=lifetime,
    )


def frozen_lake(grid=True, lifetime="game", render_mode=None):
    """A Discrete observation, the cell, which is also the tile."""
    return CuriosityWrapper(
        gymnasium.make("FrozenLake-v1", render_mode=render_mode),
        locate=lambda env, observation, info: (observation % 4, observation // 4),
        bounds=Bounds(0, 0, 4, 4),
        shape=(4, 4),
        grid=grid,
        lifetime=lifetime,
    )


def taxi(grid=True, lifetime="game", render_mode=None):
    """A Discrete observation of 500 states; a room for each location of the passenger."""

    def locate(env, observation, info):
        row, column, passenger, _ = env.unwrapped.decode(observation)
        return Position(column, row, (passenger,))

    return CuriosityWrapper(
        gymnasium.make("Taxi-v4", render_mode=render_mode),
        locate=locate,
        bounds=Bounds(0, 0, 5, 5),
        shape=(5, 5),
        grid=grid,
        lifetime=lifetime,
    )


def multi_room(grid=True, lifetime="game", render_mode=None):
    """Four rooms in a row behind closed doors, different in each game."""
    return mini_grid("MiniGrid-MultiRoom-N4-S5-v1", grid, lifetime, render_mode)


def key_corridor(grid=True, lifetime="game", render_mode=None):
    """A locked room, and its key in another."""
    return mini_grid("MiniGrid-KeyCorridorS3R2-v0", grid, lifetime, render_mode)


def door_key(grid=True, lifetime="game", render_mode=None):
    """A key, a door, the goal behind it."""
    return mini_grid("MiniGrid-DoorKey-8x8-v0", grid, lifetime, render_mode)


def mini_grid(name, grid, lifetime, render_mode):
    """MiniGrid's observation, without its mission: the view of 7x7 cells and the direction."""
    env = gymnasium.make(name, render_mode=render_mode)
    return CuriosityWrapper(
        TransformObservation(env, brighter, env.observation_space),
        locate=lambda env, observation, info: Position(*env.unwrapped.agent_pos),
        bounds=Bounds(0, 0, env.unwrapped.width, env.unwrapped.height),
        shape=(min(env.unwrapped.height, 21), min(env.unwrapped.width, 21)),
        grid=grid,
        lifetime=lifetime,
    )


def brighter(observation):
    return {**observation, "image": observation["image"] * BRIGHTER}
