"""The games that ale-py can emulate, by Gymnasium's names."""

from __future__ import annotations

import functools
from pathlib import Path

from ale_py import roms
from ale_py.registration import rom_id_to_name

from deepcs.curiosity.game import Game, unlocated
from deepcs.curiosity.games import find_game, game_named, is_name, plain_name
from deepcs.system.spelling import the_nearest

FOR_TWO = ("combat", "joust", "maze_craze", "warlords")  # the emulator exits when they are loaded


@functools.cache
def rom_names() -> dict[str, str]:
    """ROMs by their games' names, for one player: {"MsPacman": "ms_pacman", ...}."""
    return {
        rom_id_to_name(rom): rom for rom in sorted(roms.get_all_rom_ids()) if rom not in FOR_TWO
    }


def rom_named(name: str) -> str | None:
    """The name of ale-py's game, as in Gymnasium, in whatever case and separators; or None."""
    return _by_plain_name().get(plain_name(name)) if is_name(name) else None


@functools.cache
def _by_plain_name() -> dict[str, str]:
    return {plain_name(known): known for known in rom_names()}


def no_such_rom(name: str) -> str:
    """The message for a name that is no game of ale-py's."""
    by_plain = _by_plain_name()
    return (
        f"Got game {name!r}, which ale-py cannot play alone; "
        f"{the_nearest(plain_name(name), by_plain)}name one of its {len(by_plain)} as Gymnasium "
        "does."
    )


def rom_path(name: str) -> Path:
    """Where ale-py has a game's ROM, by its name in Gymnasium; raises ValueError if it has none."""
    path = roms.get_rom_path(rom_names()[name]) if name in rom_names() else None
    if path is None:
        raise ValueError(no_such_rom(name))
    return path


def atari_game(name: str) -> Game | None:
    """The game of that name: a known one, or another of ale-py's, whose positions are unknown.

    None: it is no Atari game, or a `module:NAME` that nobody has allowed to be imported.
    """
    rom = None if ":" in name or game_named(name) else rom_named(name)
    # Asked before `find_game`, for which Atlantis may be the beginning of Atlantis2.
    return find_game(name) if rom is None else unlocated(rom)


def check_known(name: str) -> None:
    """Raise ValueError for a game of ale-py's whose positions nobody has added."""
    game = atari_game(name)
    if game is not None and not game.is_located:
        raise ValueError(
            f"Got {name!r}, which is a game of ale-py's but not known to deepcs; `deepcs "
            f"find-position {game.name}` helps to add it, by register_game or as module:NAME; or "
            "go by what its screen looks like, with place='pixels'."
        )
