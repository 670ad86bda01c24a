"""Worlds by name: the games, the mazes, and users' own games or environments."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import gymnasium
import numpy as np

from deepcs.curiosity.game import Game
from deepcs.curiosity.games import games, is_name, plain_name
from deepcs.curiosity.reward import UNCLIPPED, Weight, check_mix, check_weight
from deepcs.curiosity.tiles import check_whole_tile
from deepcs.envs.arrays import ArrayObservation
from deepcs.envs.atari import AtariActor
from deepcs.envs.maze import Maze
from deepcs.envs.mazes import MAZES
from deepcs.envs.own import OWN, curious_layers, layers, make_own, with_numbers
from deepcs.envs.pool import ActorPool
from deepcs.envs.protocol import protocol as find_protocol
from deepcs.envs.roms import atari_game, check_known, rom_names
from deepcs.envs.seats import Env, Spaces, spaces_of_env
from deepcs.system import limits
from deepcs.system.importing import allow
from deepcs.system.limits import check_whole
from deepcs.system.spelling import the_nearest


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
    every = {plain_name(each): each for each in (*rom_names(), *known)}
    raise ValueError(
        f"Got world {name!r}; {the_nearest(plain_name(name), every)}choose from "
        f"{', '.join(known)}, or another game of ale-py's for cells of pixels, which need no "
        f"positions (place or --novelty.place pixels), or give {OWN}."
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
        _check_settings(name, settings)
    check_not_ataris(name, settings)
    if ":" in name:
        return make_own(name, render_mode, settings)
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
