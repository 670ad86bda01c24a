"""Worlds by name: the games, the mazes, and anyone's own game or environment."""

from __future__ import annotations

import difflib
import functools
import inspect
from collections.abc import Callable
from typing import Any

import gymnasium

from deepcs.curiosity.game import Game
from deepcs.curiosity.games import find_game, games, is_name, plain_name
from deepcs.envs.atari import AtariActor
from deepcs.envs.mazes import MAZES
from deepcs.envs.pool import ActorPool
from deepcs.envs.protocol import protocol as find_protocol
from deepcs.envs.roms import check_known
from deepcs.envs.seats import Env, Spaces
from deepcs.envs.wrapper import CuriosityWrapper
from deepcs.system import limits
from deepcs.system.importing import load_object
from deepcs.system.limits import check_whole

OWN = "module:factory of a function that returns a Gymnasium environment, or module:NAME of a Game"


def world_name(name: str) -> str:
    """The one spelling of a world's name; raises ValueError, naming the nearest, if unknown."""
    if ":" in name:
        return name
    check_known(name)
    found = find_game(name)
    if found is not None:
        return found.name
    known = [*games(), *MAZES]
    by_plain = {plain_name(each): each for each in known}
    if is_name(name) and plain_name(name) in by_plain:
        return by_plain[plain_name(name)]
    nearest = by_plain[difflib.get_close_matches(plain_name(name), by_plain, 1, 0.0)[0]]
    raise ValueError(
        f"Got world {name!r}; the nearest is {nearest}: choose from {', '.join(known)}, or give "
        f"{OWN}."
    )


def make_actor(world: str | Game, *, render_mode: str | None = None, **settings: Any) -> Env:
    """One actor; settings as in AtariActor, of which a maze takes those it has."""
    name = world.name if isinstance(world, Game) else world_name(world)
    game = world if isinstance(world, Game) else find_game(name)
    if game is not None:
        _check_settings(name, settings)
        return AtariActor(game, render_mode=render_mode, **settings)
    if ":" in name:
        return _make_own(name, render_mode, settings)
    find_protocol(settings.pop("protocol", "paper"))  # what it says is Atari's; so are frames
    settings.pop("max_frames", None)
    grid = settings.pop("grid", "plane")
    if grid not in ("plane", "none"):
        raise ValueError(f"Got grid {grid!r}; a maze takes plane or none.")
    settings["tile"] = 1 if settings.get("tile") is None else settings["tile"]
    return MAZES[name](grid=grid == "plane", render_mode=render_mode, **settings)


def spaces_of(world: str, **settings: Any) -> Spaces:
    """What an actor of a world sees and does; settings as in make_actor."""
    env = make_actor(world, **settings)
    spaces = Spaces(env.observation_space, env.action_space)
    env.close()
    return spaces


def _make_own(path: str, render_mode: str | None, settings: dict[str, Any]) -> Env:
    """Call `module:factory` with those settings that it takes."""
    factory: Callable[..., Env] = load_object(path, OWN)
    if not callable(factory):
        raise ValueError(f"Got {path!r}, which is {factory!r}; give {OWN}.")
    name = path.partition(":")[2]
    _check_settings(path, settings)
    defaults: dict[str, Any] = {"lifetime": "game", "tile": None, "graded": False}
    wanted = {key: settings.get(key, default) for key, default in defaults.items()}
    try:
        taken = inspect.signature(factory).parameters
    except ValueError as error:  # what is written in C need not have one
        raise ValueError(f"Got {path!r}, which is {factory!r}; give {OWN}.") from error
    for key, value in wanted.items():
        if key not in taken and value != defaults[key]:
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
    layer = env
    while isinstance(layer, gymnasium.Wrapper):
        if isinstance(layer, CuriosityWrapper):
            layer.mix = False  # R and I leave a world apart; the learner mixes them
            if layer.grid and not wanted["grid"]:
                raise ValueError(
                    f"{path} shows the grid, which this treatment does not; add an argument to the "
                    f"factory and hand it to CuriosityWrapper: def {name}(grid=True)."
                )
        layer = layer.env
    return env


def _check_settings(world: str, settings: dict[str, Any]) -> None:
    """Refuse settings that no actor has."""
    known = [*inspect.signature(AtariActor).parameters][1:]
    unknown = sorted(settings.keys() - set(known))
    if unknown:
        raise ValueError(
            f"Got settings {', '.join(unknown)} for {world}; choose from {', '.join(known)} "
            "(rewards are mixed by the learner, and a factory of your own has its own settings)."
        )


def make_vec(
    world: str | Game | Callable[[], Env],
    *,
    num_envs: int = 16,
    seed: int = 0,
    workers: int | None = None,
    first_actor: int = 0,
    copy: bool = True,
    **settings: Any,
) -> ActorPool:
    """A pool of actors in a world: a name, a Game, or a function that makes an environment.

    settings: as in AtariActor. workers: processes; None: one per core, 0: none.

    >>> envs = make_vec("MontezumaRevenge", num_envs=2, workers=0)
    >>> observations, infos = envs.reset()
    >>> observations.shape
    (2, 5, 84, 84)
    """
    check_whole("num_envs {}", num_envs, 1, limits.ACTORS)
    if callable(world):
        if settings:
            raise ValueError(f"Got {', '.join(settings)} beside a function; set them inside it.")
        factory = world
    else:
        known = world if isinstance(world, Game) else find_game(world_name(world))
        # A worker gets the game itself: it may be known to this process alone.
        factory = functools.partial(make_actor, known or world, **settings)
    return ActorPool(
        [factory] * num_envs, seed=seed, workers=workers, first_actor=first_actor, copy=copy
    )
