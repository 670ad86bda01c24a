"""Environments that are not ours: positions of any numbers, small images, rewards."""

from __future__ import annotations

import warnings
from typing import Any

import gymnasium
import numpy as np
import pytest
from walking import Walk, cell, walk

import deepcs
from deepcs import Bounds, CuriosityWrapper, Position

RIGHT, DOWN = 2, 1  # in FrozenLake
MOUNTAIN = Bounds(-1.2, -0.07, 1.8, 0.14)


def test_mountain_cars_position_and_velocity_are_tiles() -> None:
    env = CuriosityWrapper(
        gymnasium.make("MountainCar-v0"),
        locate=lambda env, observation, info: observation,
        bounds=MOUNTAIN,
        tile=(0.1, 0.01),
        clamp=False,
    )
    env.reset(seed=0)
    tiles = set()
    for step in range(150):
        (x, v), *_ = (env.step(2 * (step // 30 % 2))[0]["observation"],)
        tiles.add((int((v + 0.07) // 0.01), int((x + 1.2) // 0.1)))
    assert env.explorer.tiles >= len(tiles) > 15


def test_a_third_coordinate_is_tiled_and_goes_to_the_room() -> None:
    places = iter([(0.0, 0.0, 0.1), (0.0, 0.0, 0.4), (0.0, 0.0, 0.6), (0.0, 0.0, -0.1)])
    env = walk(locate=lambda *_: next(places), tile=(1, 1, 0.5))
    infos = [env.reset()[1], *(env.step(0)[4] for _ in range(3))]
    assert [info["room"] for info in infos] == [(0,), (0,), (1,), (-1,)]
    assert [info["intrinsic"] for info in infos] == [0.0, 0.0, 1.0, 1.0]


def test_coordinates_of_another_number_than_before_are_refused() -> None:
    places = iter([(0, 0), (0, 0, 0)])
    env = walk(locate=lambda *_: next(places))
    env.reset()
    with pytest.raises(ValueError, match=r"3 coordinates where it returned before 2; return as"):
        env.step(0)
    with pytest.raises(ValueError, match=r"2 coordinates where tile has sizes for 3; return as"):
        walk(tile=(1, 1, 1)).reset()


def test_a_locate_that_raises_is_named() -> None:
    with pytest.raises(ValueError, match=r"^locate raised KeyError \('x'\); fix it, or return"):
        walk(locate=lambda env, observation, info: info["x"]).reset()


@pytest.mark.parametrize("found", [np.array(3.0), np.array([]), 3, (), "here"])
def test_what_is_no_position_is_told_with_what_is(found: Any) -> None:
    with pytest.raises(ValueError, match=r"^locate returned .*; (return a deepcs|give finite num)"):
        walk(locate=lambda *_: found).reset()


@pytest.mark.parametrize("bounds", [None, Bounds(0, 0, 100, 1)])
def test_a_position_too_far_away_for_its_tiles_is_refused(bounds: Bounds | None) -> None:
    env = walk(locate=lambda *_: (1e308, 1.0), bounds=bounds, tile=0.01, grid=False)
    with pytest.raises(ValueError, match=r"^Got a position of 1e\+308 in tiles of 0\.01, too far"):
        env.reset()


def test_what_is_no_function_and_no_choice_is_refused_at_once() -> None:
    with pytest.raises(ValueError, match=r"^Got locate 5, which is no function; pass locate=f"):
        walk(locate=5)
    with pytest.raises(ValueError, match=r"^Got mix 'equal'; choose True or False"):
        walk(mix="equal")


def test_many_positions_outside_the_bounds_are_warned_of_once() -> None:
    env = walk(bounds=Bounds(0, 0, 100, 1), shape=(84, 84))
    env.reset()
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        for _ in range(600):
            env.step(0)
    (warning,) = caught
    assert str(warning.message).startswith("More than a tenth of the first 1,000 positions are out")
    assert "x from 0 to below 100 and y from 0 to below 1," in str(warning.message)


def test_frozen_lakes_goal_is_a_tile_that_pays() -> None:
    env = CuriosityWrapper(
        gymnasium.make("FrozenLake-v1", is_slippery=False),
        locate=lambda env, observation, info: Position(observation % 4, observation // 4),
        bounds=Bounds(0, 0, 4, 4),
        weight="sum:0.5",
    )
    env.reset(seed=0)
    for action in (DOWN, DOWN, RIGHT, RIGHT, DOWN):
        env.step(action)
    _, reward, terminated, _, info = env.step(RIGHT)
    assert (terminated, info["intrinsic"], info["tiles"], reward) == (True, 1.0, 7, 1.5)


def test_in_a_small_image_no_touched_tile_is_lost() -> None:
    env = walk(bounds=Bounds(0, 0, 25, 25))
    env.reset()
    for _ in range(24):
        observation, *_ = env.step(0)
    assert observation[0, :, 3].tolist() == [255] * 7
    assert np.count_nonzero(observation[1:, :, 3]) == 0


def test_an_image_too_small_for_the_grid_is_warned_of_and_the_plane_can_stand_beside_it() -> None:
    with pytest.warns(UserWarning, match=r"7x7 pixels for 100x100 tiles, about 204 in a pixel"):
        walk(bounds=Bounds(0, 0, 100, 100))
    large = Bounds(0, 0, 100, 100)
    env = CuriosityWrapper(Walk(), locate=cell, bounds=large, grid="beside", shape=(100, 100))
    observation, _ = env.reset()
    assert {name: part.shape for name, part in observation.items()} == {
        "observation": (7, 7, 3),
        "grid": (1, 100, 100),
    }
    assert observation in env.observation_space
    with pytest.raises(ValueError, match="Got grid 'above'; choose True, False or 'beside'"):
        walk(grid="above")


def mixed_walk(grid: bool = True) -> gymnasium.Env[Any, Any]:
    return walk(reward=1.0, weight="sum:0.5", grid=grid)


@pytest.mark.parametrize(("mix", "reward"), [(True, 1.5), (False, 1.0)])
def test_one_rule_says_which_reward_is_paid(mix: bool, reward: float) -> None:
    wrapped = walk(reward=1.0, weight="sum:0.5", mix=mix)
    wrapped.reset()
    assert wrapped.step(0)[1] == reward
    envs = deepcs.make_vec(f"{__name__}:mixed_walk", num_envs=2, workers=0, mix=mix)
    envs.reset()
    _, rewards, _, _, infos = envs.step(np.zeros(2, np.int64))
    assert rewards.tolist() == [reward] * 2
    assert (infos["game_reward"].tolist(), infos["intrinsic"].tolist()) == ([1.0] * 2, [1.0] * 2)


@pytest.mark.parametrize("mix", [True, False])
def test_a_maze_pays_alike_from_both_doors(mix: bool) -> None:
    maze = gymnasium.make("deepcs/KeyHallway-v0", mix=mix)
    maze.reset()
    envs = deepcs.make_vec("KeyHallway", num_envs=1, workers=0, mix=mix)
    envs.reset()
    _, reward, _, _, info = maze.step(1)
    assert envs.step(np.array([1]))[1] == reward == float(mix)
    assert (info["game_reward"], info["intrinsic"]) == (0.0, 1.0)
    assert gymnasium.make("deepcs/KeyHallway-v0").unwrapped.mix


def test_the_mix_of_a_world_of_ones_own_is_the_sum() -> None:
    cart = CuriosityWrapper(gymnasium.make("CartPole-v1"), locate=lambda *_: (0, 0))
    assert cart.weight == "sum:1"
    assert CuriosityWrapper(gymnasium.make("ALE/Pitfall-v5")).weight == "equal"
    pong = CuriosityWrapper(gymnasium.make("ALE/Pong-v5"), locate=lambda *_: (0, 0))
    assert pong.weight == "equal"


@pytest.mark.parametrize(
    ("reward", "sentence"), [(1.0, "hides the intrinsic reward"), (-3.0, None), (0.0, None)]
)
def test_a_mix_that_hides_curiosity_is_warned_of(reward: float, sentence: str | None) -> None:
    env = walk((84, 84), reward=reward, weight="equal")
    env.reset()
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        for _ in range(4_000):
            env.step(0)
    assert [sentence in str(each.message) for each in caught] == [True] * (sentence is not None)
