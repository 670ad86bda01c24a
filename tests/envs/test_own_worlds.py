"""Environments that are not ours: positions of any numbers, layouts, small images, rewards."""

from __future__ import annotations

import warnings
from typing import Any

import gymnasium
import numpy as np
import pytest
from gymnasium.spaces import Box, Dict, Discrete
from gymnasium.wrappers import TimeLimit, TransformObservation

import deepcs
from deepcs import Bounds, ChannelsFirst, CuriosityWrapper, Position
from deepcs.envs.layout import image_layout
from deepcs.envs.make import make_actor

RIGHT, DOWN = 2, 1  # in FrozenLake
MOUNTAIN = Bounds(-1.2, -0.07, 1.8, 0.14)


class Walk(gymnasium.Env[np.ndarray, int]):
    """A cell further right with every step, shown as an image that says nothing."""

    def __init__(self, shape: tuple[int, ...] = (7, 7, 3), reward: float = 0.0) -> None:
        self.observation_space = Box(0, 255, shape, np.uint8)
        self.action_space = Discrete(2)
        self.reward = reward
        self.x = 0
        self.shown = shape

    def _observe(self) -> np.ndarray:
        return np.full(self.shown, 9, np.uint8)

    def reset(self, *, seed: Any = None, options: Any = None) -> tuple[np.ndarray, dict[str, Any]]:
        super().reset(seed=seed)
        self.x = 0
        return self._observe(), {}

    def step(self, action: int) -> tuple[np.ndarray, float, bool, bool, dict[str, Any]]:
        self.x += 1
        return self._observe(), self.reward, False, False, {}


def cell(env: Any, observation: Any, info: Any) -> Position:
    return Position(env.unwrapped.x, 0)


def walk(shape: tuple[int, ...] = (7, 7, 3), reward: float = 0.0, **settings: Any) -> Any:
    return CuriosityWrapper(Walk(shape, reward), **{"locate": cell, **settings})


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


@pytest.mark.parametrize(
    ("shape", "layout"),
    [
        ((7, 7, 4), "HWC"),
        ((48, 48, 4), "HWC"),
        ((84, 84, 3), "HWC"),
        ((210, 160, 12), "HWC"),
        ((4, 84, 84), "CHW"),
        ((3, 9, 9), "CHW"),
        ((4, 1, 21), "CHW"),
        ((84, 84), "HW"),
    ],
)
def test_the_layout_of_an_image_is_recognised(shape: tuple[int, ...], layout: str) -> None:
    assert image_layout(shape) == layout


@pytest.mark.parametrize("shape", [(7, 7, 7), (20, 7, 7), (12, 9, 8), (7, 7, 8)])
def test_a_shape_that_may_be_either_asks_for_the_layout(shape: tuple[int, ...]) -> None:
    with pytest.raises(ValueError, match=r"may come first or last; say which: layout='HWC'"):
        walk(shape)
    assert walk(shape, layout="CHW").observation_space.shape == (shape[0] + 1, *shape[1:])
    assert walk(shape, layout="HWC").observation_space.shape == (*shape[:2], shape[2] + 1)
    with pytest.raises(ValueError, match=r"Got layout 'HW' for observations of shape"):
        walk(shape, layout="HW")


def grey(grid: bool = True) -> gymnasium.Env[Any, Any]:
    return walk((48, 48), grid=grid)


def colour(grid: bool = True) -> gymnasium.Env[Any, Any]:
    return walk((48, 48, 3), grid=grid)


def stated() -> gymnasium.Env[Any, Any]:
    return walk((7, 7, 7), layout="HWC")


def stated_inside() -> gymnasium.Env[Any, Any]:
    return CuriosityWrapper(ChannelsFirst(Walk((20, 7, 7)), "CHW"), locate=cell, layout="CHW")


def beside() -> gymnasium.Env[Any, Any]:
    return walk((48, 48, 3), grid="beside")


def unstated() -> gymnasium.Env[Any, Any]:
    return Walk((20, 7, 7))


def origin(*_: Any) -> Position:
    return Position(0, 0)


class Shown(gymnasium.Env[Any, Any]):
    """Shows the same thing in every step."""

    action_space = Discrete(2)

    def __init__(self, space: gymnasium.Space[Any]) -> None:
        self.observation_space = space
        space.seed(0)
        self.shown = space.sample()

    def reset(self, *, seed: Any = None, options: Any = None) -> tuple[Any, dict[str, Any]]:
        super().reset(seed=seed)
        return self.shown, {}

    def step(self, action: Any) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        return self.shown, 0.0, False, False, {}


def stated_of_fractions() -> gymnasium.Env[Any, Any]:
    env = Shown(Box(0, 1, (7, 7, 4)))
    return CuriosityWrapper(env, locate=origin, layout="CHW", shape=(8, 8))


def stated_within() -> gymnasium.Env[Any, Any]:
    return TimeLimit(walk((7, 7, 4), layout="CHW"), 50)


def stated_last_beside() -> gymnasium.Env[Any, Any]:
    env = Walk((20, 7, 7))
    return CuriosityWrapper(env, locate=cell, layout="HWC", grid="beside", shape=(8, 8))


def stated_first_beside() -> gymnasium.Env[Any, Any]:
    env = Walk((7, 7, 20))
    return CuriosityWrapper(env, locate=cell, layout="CHW", grid="beside", shape=(8, 8))


def one_column() -> gymnasium.Env[Any, Any]:
    return CuriosityWrapper(Shown(Box(0, 1, (4,))), locate=origin, shape=(21, 1))


def turned_outside() -> gymnasium.Env[Any, Any]:
    """What is stated inside does not hold for what a wrapper makes of it."""
    inner = walk((7, 6, 4), layout="HWC", grid=False)
    space = Box(0, 255, (4, 7, 6), np.uint8)
    turned = TransformObservation(inner, lambda seen: np.moveaxis(seen, -1, 0), space)
    return TimeLimit(turned, 50)


def stated_in_a_dict() -> gymnasium.Env[Any, Any]:
    return ChannelsFirst(ambiguous_in_a_dict(), {"image": "HWC"})


def cells_of_a_stated_image() -> gymnasium.Env[Any, Any]:
    return CuriosityWrapper(stated_in_a_dict(), place="pixels", shape=(8, 8))


def ambiguous_in_a_dict() -> gymnasium.Env[Any, Any]:
    return Shown(Dict(image=Box(0, 255, (20, 7, 7), np.uint8)))


def stack_of_images() -> gymnasium.Env[Any, Any]:
    return walk((4, 48, 48, 3), layout=None, grid=False)


@pytest.mark.parametrize(
    ("factory", "shapes"),
    [
        ("stated_of_fractions", {"observation": (7, 7, 4), "grid": (1, 8, 8)}),
        ("stated_within", {"": (8, 7, 4)}),
        ("stated_last_beside", {"observation": (7, 20, 7), "grid": (1, 8, 8)}),
        ("stated_first_beside", {"observation": (7, 7, 20), "grid": (1, 8, 8)}),
        ("one_column", {"observation": (4,), "grid": (1, 21, 1)}),
        ("stated_in_a_dict", {"image": (7, 20, 7)}),
        ("cells_of_a_stated_image", {"image": (7, 20, 7), "grid": (1, 8, 8)}),
    ],
)
def test_a_stated_layout_holds_wherever_the_image_is_shown(
    factory: str, shapes: dict[str, tuple[int, ...]]
) -> None:
    env = make_actor(f"{__name__}:{factory}")
    observation, _ = env.reset()
    parts = observation if isinstance(observation, dict) else {"": observation}
    assert {name: part.shape for name, part in parts.items()} == shapes
    assert observation in env.observation_space


def test_a_stated_layout_does_not_hold_for_what_a_wrapper_outside_has_turned() -> None:
    env = make_actor(f"{__name__}:turned_outside", grid="none")
    assert env.reset()[0].shape == (4, 7, 6)


def test_in_a_dict_an_ambiguous_image_is_stated_by_channels_first_alone() -> None:
    with pytest.raises(ValueError, match=r"say which: wrap .*First\(env, {'image': 'HWC'}\)") as no:
        make_actor(f"{__name__}:ambiguous_in_a_dict")
    assert "CuriosityWrapper" not in str(no.value)


def test_a_stack_of_images_is_refused_with_what_to_do() -> None:
    with pytest.raises(
        ValueError, match=r"shape \(4, 48, 48, 3\), .*; stack the frames as channels"
    ):
        make_actor(f"{__name__}:stack_of_images", grid="none")


@pytest.mark.parametrize(
    ("factory", "grid", "shape"),
    [
        ("colour", "plane", (4, 48, 48)),
        ("colour", "none", (3, 48, 48)),
        ("grey", "plane", (2, 48, 48)),
        ("grey", "none", (1, 48, 48)),
        ("stated", "plane", (8, 7, 7)),
        ("stated_inside", "plane", (21, 7, 7)),
    ],
)
def test_a_factorys_images_are_shown_channels_first(
    factory: str, grid: str, shape: tuple[int, ...]
) -> None:
    env = make_actor(f"{__name__}:{factory}", grid=grid)
    observation, _ = env.reset()
    assert env.observation_space.shape == observation.shape == shape
    assert observation in env.observation_space


def test_images_in_a_dict_are_shown_channels_first() -> None:
    observation, _ = make_actor(f"{__name__}:beside").reset()
    assert observation["observation"].shape == (3, 48, 48)
    assert observation["grid"].shape == (1, 84, 84)
    with pytest.raises(ValueError, match="may come first or last"):
        make_actor(f"{__name__}:unstated")


def test_an_observation_that_changes_its_shape_is_refused() -> None:
    env = walk()
    env.reset()
    env.unwrapped.shown = (5, 7, 3)
    with pytest.raises(ValueError, match=r"uint8 \(5, 7, 3\) .* has uint8 \(7, 7, 3\); fix"):
        env.step(0)

    def shrinking() -> Walk:
        made = Walk()
        made.shown = (1, 7, 3)  # which NumPy would stretch
        return made

    with pytest.raises(ValueError, match=r"^Walk returned .* shape \(1, 7, 3\) where .*; fix"):
        deepcs.make_vec(shrinking, num_envs=1, workers=0).reset()


@pytest.mark.parametrize("settings", [{"grid": False}, {"grid": "beside"}, {}])
def test_an_image_that_is_not_of_bytes_is_refused_however_the_plane_is_shown(
    settings: dict[str, Any],
) -> None:
    env = CuriosityWrapper(Shown(Box(0, 255, (7, 7, 3), np.uint8)), locate=origin, **settings)
    env.reset()
    env.unwrapped.shown = np.zeros((7, 7, 3), np.float32)
    with pytest.raises(ValueError, match=r"of float32 \(7, 7, 3\) .* has uint8 \(7, 7, 3\); fix"):
        env.step(0)


@pytest.mark.parametrize("grid", [True, False])
def test_every_array_of_an_observation_has_the_shape_that_was_declared(grid: bool) -> None:
    env = CuriosityWrapper(Shown(Box(0, 1, (3,))), locate=origin, grid=grid)
    env.reset()
    env.unwrapped.shown = np.zeros(4, np.float32)
    with pytest.raises(
        ValueError, match=r"an observation of float32 \(4,\) .* float32 \(3,\); fix"
    ):
        env.step(0)
    inner = Dict(a=Box(0, 1, (3,)), b=Dict(c=Box(0, 1, (2,))), d=Discrete(2))
    env = CuriosityWrapper(Shown(inner), locate=origin, grid=grid)
    good, _ = env.reset()
    env.unwrapped.shown = {**good, "b": {"c": np.zeros((2, 1), np.float32)}}
    with pytest.raises(ValueError, match=r"an observation 'b/c' of float32 \(2, 1\) .*; fix"):
        env.step(0)
    env.unwrapped.shown = {"a": good["a"]}
    with pytest.raises(ValueError, match=r"an observation without 'b/c', which"):
        env.step(0)


@pytest.mark.parametrize("shape", [84, (8.0, 8), "ab", (8,), (0, 8), None])
def test_a_plane_that_has_no_height_and_width_is_refused(shape: Any) -> None:
    with pytest.raises(ValueError, match=r"^Got shape .*; give the plane's height and width in"):
        CuriosityWrapper(Walk(), locate=cell, shape=shape)


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
