"""Worlds by name: the games, the mazes, and users' own games or environments."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import gymnasium
import numpy as np

from deepcs.curiosity.game import Game
from deepcs.curiosity.games import games, is_name, plain_name
from deepcs.curiosity.reward import UNCLIPPED, Weight, check_mix, check_weight
from deepcs.curiosity.tiles import check_whole_tile, sizes
from deepcs.envs.arrays import ArrayObservation
from deepcs.envs.atari import AtariActor
from deepcs.envs.layout import ChannelsFirst, check_dimensions, known_layouts
from deepcs.envs.maze import Maze
from deepcs.envs.mazes import MAZES
from deepcs.envs.pool import ActorPool
from deepcs.envs.protocol import protocol as find_protocol
from deepcs.envs.roms import atari_game, check_known
from deepcs.envs.seats import Env, Spaces, spaces_of_env
from deepcs.envs.wrapper import CuriosityWrapper
from deepcs.system import limits
from deepcs.system.importing import allow, load_object
from deepcs.system.limits import check_whole
from deepcs.system.spelling import the_nearest

NOVEL: dict[str, Any] = {"place": "position", "half_life": None, "frames": False}
"""Settings of an actor that only some treatments need, and what they are elsewhere."""
OWN = "module:factory of a function that returns a Gymnasium environment, or module:NAME of a Game"


def world_name(name: str) -> str:
    """The canonical name of a world; raises ValueError, naming the nearest, if unknown."""
    if ":" in name:
        return name
    found = atari_game(name)
    if found is not None:
        return found.name
    known = [*games(), *MAZES]
    by_plain = {plain_name(each): each for each in known}
    if is_name(name) and plain_name(name) in by_plain:
        return by_plain[plain_name(name)]
    raise ValueError(
        f"Got world {name!r}; {the_nearest(plain_name(name), by_plain)}choose from "
        f"{', '.join(known)}, or give {OWN}."
    )


def make_actor(world: str | Game, *, render_mode: str | None = None, **settings: Any) -> Env:
    """One actor; settings as in AtariActor, of which a maze takes those it has.

    A world named as module:name is imported: whoever makes a world runs its code.
    """
    name = world.name if isinstance(world, Game) else world_name(world)
    game = world if isinstance(world, Game) else _game_to_make(name)
    if game is not None:
        _check_settings(name, settings)
        by_position = settings.get("place", "position") == "position"
        if not game.is_located and by_position and settings.get("grid") != "none":
            check_known(name)
        return AtariActor(game, render_mode=render_mode, **settings)
    if ":" in name:
        return _make_own(name, render_mode, settings)
    check_not_ataris(name, settings)
    grid = settings.pop("grid", "plane")
    settings["tile"] = 1 if settings.get("tile") is None else check_whole_tile(settings["tile"])
    return MAZES[name](grid=grid == "plane", render_mode=render_mode, **settings)


def _game_to_make(name: str) -> Game | None:
    """The game of a world's canonical name; None: it is an environment, or a maze."""
    allow([name])
    return atari_game(name)


def check_not_ataris(world: str, settings: dict[str, Any]) -> None:
    """Take away, or refuse, the settings that only an Atari game can have."""
    find_protocol(settings.get("protocol", "paper"))
    for name, only in (("protocol", "paper"), ("max_frames", None)):
        value = settings.pop(name, only)
        if value != only:
            raise ValueError(
                f"Got {name} {value!r} for {world}, which is not an Atari game and cannot have it; "
                "leave it out."
            )
    if settings.get("grid", "plane") not in ("plane", "none"):
        raise ValueError(f"Got grid {settings['grid']!r}; {world} takes plane or none.")


def spaces_of(world: str, **settings: Any) -> Spaces:
    """What an actor of a world sees and does; settings as in make_actor."""
    env = make_actor(world, **settings)
    spaces = spaces_of_env(env)
    env.close()
    return spaces


def _make_own(path: str, render_mode: str | None, settings: dict[str, Any]) -> Env:
    """Call `module:factory` with those settings that it takes."""
    factory: Callable[..., Env] = load_object(path, OWN)
    if not callable(factory):
        raise ValueError(f"Got {path!r}, which is {factory!r}; give {OWN}.")
    name = path.partition(":")[2]
    _check_settings(path, settings)
    check_not_ataris(path, settings)
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


@dataclass(frozen=True)
class WorldFacts:
    """What must be known of a world before training."""

    spaces: Spaces
    weight: Weight
    """its default, of the reward mix"""
    unseen: tuple[str, ...]
    """parts of its observations that a network is not shown"""


def look_at(world: str | Game, **settings: Any) -> WorldFacts:
    """Make an actor, inspect it and close it; settings as in make_actor."""
    env = make_actor(world, **settings)
    try:
        spaces = spaces_of_env(env)
        shown = (layer for layer in layers(env) if isinstance(layer, ArrayObservation))
        unseen = tuple(name for layer in shown for name in layer.unseen)
        return WorldFacts(spaces, _own_weight(env), unseen)
    finally:
        env.close()


def random_frames(world: str | Game, steps: int, seed: int, **settings: Any) -> list[np.ndarray]:
    """The grey frames of that many steps of random play; settings as in make_actor."""
    env = make_actor(world, **{**settings, "frames": True})
    try:
        env.action_space.seed(seed)
        _, info = env.reset(seed=seed)
        frames = [np.array(info["frame"])]
        while len(frames) < steps:
            _, _, terminated, truncated, info = env.step(env.action_space.sample())
            frames.append(np.array(info["frame"]))
            if terminated or truncated:
                env.reset()
        return frames
    finally:
        env.close()


def _own_weight(env: Env) -> Weight:
    inner = env.unwrapped
    if isinstance(inner, AtariActor):
        return inner.game.weight
    if isinstance(inner, Maze):
        return inner.weight
    return next((layer.weight for layer in curious_layers(env)), UNCLIPPED)


def is_curious(world: str | Game, **settings: Any) -> bool:
    """Whether its infos have `intrinsic`; settings as in make_actor."""
    env = make_actor(world, **settings)
    try:
        if env.has_wrapper_attr("explorer"):
            return True
        env.action_space.seed(0)
        _, at_reset = env.reset(seed=0)
        *_, after_step = env.step(env.action_space.sample())
        return "intrinsic" in at_reset or "intrinsic" in after_step
    finally:
        env.close()


def _check_settings(world: str, settings: dict[str, Any]) -> None:
    """Refuse settings that no actor has."""
    known = [*inspect.signature(AtariActor).parameters][1:]
    unknown = sorted(settings.keys() - set(known))
    if unknown:
        raise ValueError(
            f"Got settings {', '.join(unknown)} for {world}; choose from {', '.join(known)} "
            "(your own factory has its own settings)."
        )


def _call(factory: Callable[[], Env]) -> Env:
    """The environment that a function makes, for a pool."""
    env = factory()
    if not isinstance(env, gymnasium.Env):
        raise ValueError(f"The function returned {env!r}; return a Gymnasium environment.")
    return with_numbers(env)


def make_vec(
    world: str | Game | Callable[[], Env],
    *,
    num_envs: int = 16,
    seed: int = 0,
    workers: int | None = None,
    first_actor: int = 0,
    copy: bool = True,
    mix: bool = True,
    weight: Weight | None = None,
    **settings: Any,
) -> ActorPool:
    """A pool of actors in a world: a name, a Game, or a function that makes an environment.

    settings: as in AtariActor. workers: processes; None: one per core, 0: none. mix: rewards are R
    and I mixed; False: R alone. weight: of the mix, as in mix_rewards;
    None: the world's own. I and R alone are in the infos, as `intrinsic` and `game_reward`. An
    environment made by a function keeps its own reward: set mix and weight in its CuriosityWrapper.
    Observations that are not arrays become such, as in ArrayObservation.

    >>> envs = make_vec("MontezumaRevenge", num_envs=2, workers=0)
    >>> observations, infos = envs.reset()
    >>> observations.shape
    (2, 5, 84, 84)
    """
    check_whole("num_envs {}", num_envs, 1, limits.ACTORS)
    mix = check_mix(mix)
    if not isinstance(world, (str, Game)) and not callable(world):
        raise ValueError(
            f"Got {type(world).__name__} as the world; give a name, a deepcs.Game, or a function "
            "that makes an environment, such as lambda: gymnasium.make('CartPole-v1')."
        )
    if callable(world):
        asked = [*settings, *(["weight"] if weight is not None else []), *([] if mix else ["mix"])]
        if asked:
            them = "it" if len(asked) == 1 else "them"
            raise ValueError(f"Got {', '.join(asked)} beside a function; set {them} inside it.")
        factory = functools.partial(_call, world)
        mix = False
    else:
        known = world if isinstance(world, Game) else _game_to_make(world_name(world))
        # A worker gets the game itself: it may be known to this process alone.
        factory = functools.partial(make_actor, known or world, **settings)
        if mix and weight is None:
            weight = look_at(known or world, **settings).weight
        elif weight is not None:
            weight = check_weight(weight)
    return ActorPool(
        [factory] * num_envs,
        seed=seed,
        workers=workers,
        first_actor=first_actor,
        copy=copy,
        weight=weight if mix else None,
    )
