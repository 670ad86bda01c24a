"""The games that are known: the paper's twelve, and those that users add.

A game is added by `register_game` in Python, by an installed package that declares it in the
entry point group `deepcs.games`, or without any registration as `module:NAME`, which names a Game
in a module.
"""

from __future__ import annotations

import functools
import re
import warnings
from importlib.metadata import entry_points

from deepcs.curiosity.game import Game
from deepcs.curiosity.twelve import TWELVE
from deepcs.system.first import do_first
from deepcs.system.importing import allow, is_allowed, load_object
from deepcs.system.spelling import the_nearest
from deepcs.system.warning import DeepcsWarning

ENTRY_POINTS = "deepcs.games"

_registered: dict[str, Game] = {}  # by this process's own code
_heard_of: dict[str, Game] = {}  # from the process that started this one


def register_game(game: Game, *, replace: bool = False) -> Game:
    """Make a game known by its name, here and in the worker processes of pools and runs.

    A name that is taken by another Game raises ValueError, unless it was registered too and
    `replace` is set; the paper's twelve always stay. Returns the game.
    """
    if not isinstance(game, Game):
        raise ValueError(f"Got {game!r} to register; give a deepcs.Game(...).")
    known = {plain_name(each.name): each for each in (*TWELVE, *_registered.values())}
    taken = known.get(plain_name(game.name))
    if taken is not None and taken != game:
        if taken in TWELVE:
            raise ValueError(
                f"Got a game named {game.name}, which is one of the paper's; hand yours over as an "
                "object, or as module:NAME, instead of registering it."
            )
        if not replace:
            raise ValueError(
                f"Got a game named {game.name}, but another of that name is registered; pass "
                "replace=True to put this one in its place."
            )
        del _registered[taken.name]
    if game not in TWELVE:
        _registered[game.name] = game
        do_first(f"game {plain_name(game.name)}", hear_of, game)
    return game


def hear_of(game: Game) -> None:
    """Take over a game that is registered in the process that started this one.

    What this process's own code registers takes precedence: a module that registers a game may be
    imported in both.
    """
    _heard_of[game.name] = game
    do_first(f"game {plain_name(game.name)}", hear_of, game)


@functools.cache
def _announced() -> dict[str, Game]:
    """The games of installed packages, with a warning for one that cannot be loaded."""
    found: dict[str, Game] = {}
    for entry in entry_points(group=ENTRY_POINTS):
        try:
            loaded = entry.load()
        except Exception as error:
            loaded = error
        if isinstance(loaded, Game):
            found[loaded.name] = loaded
        else:
            package = entry.dist.name if entry.dist else "a package"
            warnings.warn(
                f"{package} announces the game {entry.name} as {entry.value}, which is {loaded!r} "
                "and no deepcs.Game; fix or uninstall it.",
                DeepcsWarning,
                stacklevel=2,
            )
    return found


def _all() -> dict[str, Game]:
    """By name; the twelve come first, and of equal names only the one that takes precedence."""
    twelve = {each.name: each for each in TWELVE}
    others = {**_announced(), **_heard_of, **_registered}
    return {**twelve, **{name: others[name] for name in others if name not in twelve}}


def games() -> tuple[str, ...]:
    """The names of the games that are known: the paper's twelve, then those that users added."""
    return tuple(_all())


def plain_name(name: str) -> str:
    """A name without case, separators, prefix, version and possessive, which spellings vary."""
    name = re.sub(r"^(ALE|deepcs)/", "", name, flags=re.IGNORECASE)
    name = re.sub(r"((Deterministic|NoFrameskip)?-v\d+)$", "", name)
    return re.sub(r"[^a-z0-9]", "", name.lower().replace("'s", "").replace("’s", ""))


def is_name(text: str) -> bool:
    """Whether a text can be a game's name: module:NAME, a path or a formula cannot."""
    return re.fullmatch(r"((ALE|deepcs)/)?[\w\s'’.-]+", text, flags=re.IGNORECASE) is not None


def game_named(name: str) -> Game | None:
    """The game of exactly that name, whatever its case and separators, or None."""
    if not is_name(name):
        return None
    wanted = plain_name(name)
    for known in TWELVE:  # without searching installed packages
        if plain_name(known.name) == wanted:
            return known
    return next((each for each in _all().values() if plain_name(each.name) == wanted), None)


def find_game(name: str) -> Game | None:
    """The game of that name in any clear spelling, or that is named by `module:NAME`; or None.

    The latter is imported only if it is allowed: asking what a saved run's world is runs no code.
    """
    if ":" in name:
        return _own_game(name) if is_allowed(name) else None
    found = game_named(name)
    if found is not None:
        return found
    wanted = plain_name(name) if is_name(name) else ""
    if not wanted:
        return None
    begins = [each for each in _all().values() if plain_name(each.name).startswith(wanted)]
    return begins[0] if len(begins) == 1 else None


def _own_game(path: str) -> Game | None:
    """The Game that `module:NAME` names; None if it is something else, or cannot be loaded."""
    try:
        found = load_object(path, "module:NAME of a deepcs.Game")
    except ValueError:
        return None  # whoever makes a world of it says why
    return found if isinstance(found, Game) else None


def game(name: str) -> Game:
    """The game of that name, in any clear spelling: `montezuma_revenge`, `ALE/Pitfall-v5`.

    `module:NAME` is imported: it is the caller's own.

    >>> game("montezuma_revenge").tile
    16
    """
    allow([name])
    found = find_game(name)
    if found is not None:
        return found
    if ":" in name:
        wanted = "module:NAME of a deepcs.Game"
        raise ValueError(f"Got {name!r}, which is {load_object(name, wanted)!r}; give {wanted}.")
    by_plain = {plain_name(known): known for known in games()}
    raise ValueError(
        f"Got game {name!r}, which is not known; {the_nearest(plain_name(name), by_plain)}choose "
        f"from {', '.join(games())}, or add it with deepcs.register_game."
    )
