"""Environments of users' own: what `module:factory` returns, with curiosity, as arrays."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator
from typing import Any

import gymnasium

from deepcs.curiosity.tiles import sizes
from deepcs.envs.arrays import ArrayObservation
from deepcs.envs.layout import ChannelsFirst, check_dimensions, known_layouts
from deepcs.envs.seats import Env
from deepcs.envs.wrapper import CuriosityWrapper
from deepcs.system.importing import load_object

NOVEL: dict[str, Any] = {"place": "position", "half_life": None, "frames": False}
"""Settings of an actor that only some treatments need, and what they are elsewhere."""
OWN = "module:factory of a function that returns a Gymnasium environment, or module:NAME of a Game"


def make_own(path: str, render_mode: str | None, settings: dict[str, Any]) -> Env:
    """Call `module:factory` with those of an actor's settings that it takes."""
    factory: Callable[..., Env] = load_object(path, OWN)
    if not callable(factory):
        raise ValueError(f"Got {path!r}, which is {factory!r}; give {OWN}.")
    name = path.partition(":")[2]
    defaults: dict[str, Any] = {"lifetime": "game", "tile": None, "graded": False, **NOVEL}
    wanted = {key: settings.get(key, default) for key, default in defaults.items()}
    try:
        taken = inspect.signature(factory).parameters
    except ValueError as error:  # functions written in C may have none
        raise ValueError(f"Got {path!r}, which is {factory!r}; give {OWN}.") from error
    novel = {key: wanted[key] for key in NOVEL if key not in taken and wanted[key] != NOVEL[key]}
    for key, value in wanted.items():
        if key not in taken and key not in novel and value != defaults[key]:
            raise ValueError(
                f"{path} takes no argument {key!r}, which {key}={value!r} needs; "
                f"add it to the factory: def {name}({key}=...)."
            )
    wanted |= {"grid": settings.get("grid", "plane") != "none", "render_mode": render_mode}
    given = {key: value for key, value in wanted.items() if key in taken}
    needed = [
        key
        for key, parameter in taken.items()
        if key not in given
        and parameter.default is parameter.empty
        and parameter.kind not in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD)
    ]
    if needed:
        raise ValueError(
            f"{path} needs an argument {needed[0]!r}, which deepcs does not have; give it a "
            f"default: def {name}({needed[0]}=...)."
        )
    env = factory(**given)
    if not isinstance(env, gymnasium.Env):
        raise ValueError(f"{path} returned {env!r}; give {OWN}.")
    if novel:
        env = _made_novel(path, env, novel, wanted)
    for layer in curious_layers(env):
        layer.mix = False  # R and I leave a world separately; the learner mixes them
        if bool(layer.grid) != wanted["grid"]:
            shows, does = ("shows", "does not") if layer.grid else ("hides", "shows")
            raise ValueError(
                f"{path} {shows} the grid, which this treatment {does}; add an argument to the "
                f"factory and hand it to CuriosityWrapper: def {name}(grid=True)."
            )
        _check_handed_on(path, layer, wanted)
    return with_arrays(env)


def _check_handed_on(path: str, layer: CuriosityWrapper, wanted: dict[str, Any]) -> None:
    """Refuse a wrapper that has other settings than those that are recorded."""
    grid = layer.explorer.grid
    has: dict[str, Any] = {"lifetime": grid.lifetime, "graded": layer.explorer.graded}
    if wanted["tile"] is not None and sizes(grid.tile) != sizes(wanted["tile"]):
        has["tile"] = grid.tile
    for key, value in has.items():
        if value != wanted[key]:
            raise ValueError(
                f"{path} has {key} {value!r}, where this run has {wanted[key]!r}; take {key} as an "
                f"argument of the factory and hand it to CuriosityWrapper({key}={key})."
            )


def _made_novel(path: str, env: Env, novel: dict[str, Any], wanted: dict[str, Any]) -> Env:
    """Wrap an environment that has no curiosity, where its factory takes no such settings."""
    if any(True for _ in curious_layers(env)):
        key, value = next(iter(novel.items()))
        raise ValueError(
            f"{path} takes no argument {key!r}, which {key}={value!r} needs; add it to the factory "
            "and hand it to CuriosityWrapper."
        )
    keys = "lifetime", "graded", "grid", *NOVEL
    return CuriosityWrapper(env, mix=False, **{key: wanted[key] for key in keys})


def curious_layers(env: Env) -> Iterator[CuriosityWrapper]:
    """The CuriosityWrappers around an environment, outermost first."""
    return (layer for layer in layers(env) if isinstance(layer, CuriosityWrapper))


def layers(env: Env) -> Iterator[Env]:
    """An environment and all that it wraps, outermost first."""
    yield env
    while isinstance(env, gymnasium.Wrapper):
        env = env.env
        yield env


def with_arrays(env: Env) -> Env:
    """The environment with observations as networks take them: arrays, images channels first.

    Images that its factory has already transposed stay as they are.
    """
    layouts = known_layouts(env)
    shown = with_numbers(env)
    check_dimensions(shown.observation_space)
    if any(isinstance(layer, ChannelsFirst) for layer in layers(env)):
        return shown
    turned = ChannelsFirst(shown, layouts)
    return turned if turned.changes else shown


def with_numbers(env: Env) -> Env:
    """The environment with observations as arrays of numbers, as a pool keeps them."""
    arrays = ArrayObservation(env)
    return arrays if arrays.changes else env
