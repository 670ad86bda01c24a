"""Images and other observations that are not ours: their layout, shape and kind."""

from __future__ import annotations

from typing import Any

import gymnasium
import numpy as np
import pytest
from gymnasium.spaces import Box, Dict, Discrete
from gymnasium.wrappers import TimeLimit, TransformObservation
from walking import Walk, cell, walk

import deepcs
from deepcs import ChannelsFirst, CuriosityWrapper, Position
from deepcs.envs.layout import image_layout
from deepcs.envs.make import make_actor


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
