"""How often `deepcs find-position` is right: its best bytes against those of the twelve games.

A coordinate is right if its best candidate is the byte of the registry, with enough confidence to
be taken. Beside it: how far the found place on the screen is from the verified one, in pixels, in
the middle of the range; how much of the range was seen; and whether the verified room's byte, where
there is a single one and play saw more than one room, is the best candidate or alike to it.
"""

from __future__ import annotations

import time
from dataclasses import dataclass

import tyro
from rich import box
from rich.console import Console
from rich.table import Table

from deepcs.curiosity.game import Game, at
from deepcs.curiosity.twelve import TWELVE
from deepcs.envs.find_position import STATES, Found, find_position
from deepcs.envs.position_search import Candidate
from deepcs.envs.room_search import TIE


@dataclass(frozen=True)
class Settings:
    """Measure find-position on the paper's games."""

    states: int = STATES
    """states of random play to push from"""
    seed: int = 0
    """of the play"""


def coordinate(
    found: Candidate | None, address: int | None, indirect: bool
) -> tuple[str, bool | None]:
    """What to print, and whether it is right; None: there is no plain byte to be found."""
    words = "none" if found is None else f"0x{found.address:02X} {found.confidence:.0%}"
    if indirect:
        return f"{words}, a table's", None
    if address is None:
        return (f"{words}, rightly", None) if found is None else (f"{words}, wrongly", False)
    right = found is not None and found.address == address
    return (words, True) if right else (f"{words}, is 0x{address:02X}", False)


def pixels_off(game: Game, found: Found) -> str:
    """Pixels between the found and the verified middle of the sprite, across and down."""
    guess = found.game()
    middle = (
        game.bounds.x + (game.bounds.width - 1) / 2,
        0 if game.window else game.bounds.y + (game.bounds.height - 1) / 2,
    )
    here, there = guess.screen.pixel(*middle), game.screen.pixel(*middle)
    return ", ".join(f"{abs(a - b):.1f}" for a, b in zip(here, there, strict=True))


def share_seen(game: Game, found: Found) -> str:
    """Share of the verified range that was seen, across and down."""
    bounds, guess = game.bounds, found.game().bounds
    across, down = guess.width / bounds.width, guess.height / bounds.height
    return f"{across:.0%}, {down:.0%}"


def room(game: Game, found: Found) -> str:
    if not isinstance(game.room, at):
        return "–"
    if not found.rooms:
        return "one screen seen"
    (address,) = game.room.addresses
    best = found.rooms[0]
    if best.address == address:
        return "right"
    tied = [each for each in found.rooms if abs(each.confidence - best.confidence) <= TIE]
    rank = f"tied with {len(tied) - 1}" if address in [each.address for each in tied] else "wrong"
    return f"0x{best.address:02X}, {rank}"


def main(settings: Settings) -> None:
    table = Table(box=box.SIMPLE_HEAD)
    for heading in ("game", "x", "y", "pixels off", "range seen", "room", "seconds"):
        table.add_column(heading, no_wrap=True)
    both, plain = 0, 0
    for game in TWELVE:
        began = time.perf_counter()
        found = find_position(game.name, states=settings.states, seed=settings.seed)
        seconds = time.perf_counter() - began
        indirect = game.place is not None
        x, y = found.best
        (x_words, x_right), (y_words, y_right) = (
            coordinate(x, game.x, indirect),
            coordinate(y, game.y, indirect),
        )
        told = [right for right in (x_right, y_right) if right is not None]
        plain += bool(told)
        both += bool(told) and all(told)
        checked = (
            [pixels_off(game, found), share_seen(game, found)] if told and all(told) else [""] * 2
        )
        table.add_row(game.name, x_words, y_words, *checked, room(game, found), f"{seconds:.0f}")
    Console(width=130).print(table)
    print(f"{both} of {plain} games with plain bytes are right on every axis that they have.")


if __name__ == "__main__":
    main(tyro.cli(Settings))
