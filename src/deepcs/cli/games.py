"""`deepcs games`: all known games as a table, and one in full with a drawing of its grid."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from typing import Annotated

import tyro
from rich import box
from rich.console import Console
from rich.table import Table
from rich.text import Text

from deepcs.cli.grid_drawing import draw_grid
from deepcs.cli.main import WIDTH
from deepcs.curiosity.game import Game, one_room
from deepcs.curiosity.games import game, game_named, games
from deepcs.curiosity.reward import intrinsic_scale
from deepcs.curiosity.twelve import TWELVE

ADDED = "*"  # marks a game that is not the paper's


@dataclass(frozen=True)
class Games:
    """The games: where the player's position is in RAM, what a room is, tiles and weights."""

    name: Annotated[str | None, tyro.conf.Positional, tyro.conf.arg(metavar="[NAME]")] = None
    """one game, in any clear spelling, or module:NAME of your own game; all if not given"""

    def run(self) -> None:
        console = Console() if sys.stdout.isatty() else Console(width=WIDTH)
        if self.name is None:
            print_games(console)
        else:
            print_game(console, self.name)


def print_games(console: Console) -> None:
    """The table of all games that are known."""
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, padding=(0, 1, 0, 0))
    table.add_column("game", style="bold", no_wrap=True)
    table.add_column("X", no_wrap=True)
    table.add_column("Y", no_wrap=True)
    table.add_column("room or level")
    for heading in ("origin", "grid", "tile", "tiles", "β"):
        table.add_column(heading, justify="right", no_wrap=True)
    for name in games():
        facts = game(name)
        grid = facts.grid()
        table.add_row(
            Text(name if facts in TWELVE else f"{name} {ADDED}"),
            _byte(facts.x, facts),
            _byte(facts.y, facts),
            Text(facts.room_in_words),
            f"{facts.bounds.x},{facts.bounds.y}",
            f"{facts.bounds.width}×{facts.bounds.height}",
            str(facts.tile),
            f"{grid.columns}×{grid.rows}",
            str(facts.weight),
        )
    console.print(table)
    console.print(
        "Origin, grid and tile are in RAM units; tiles are columns×rows of one room. "
        "β is the game reward's share: βR + (1−β)I; equal means clip(R + I). "
        "+n: the player's place in a table of sprites. `deepcs games NAME` tells all about one.",
        style="dim",
    )
    if len(games()) > len(TWELVE):
        console.print(f"{ADDED} Added by a user: not one of the paper's twelve.", style="dim")


def print_game(console: Console, name: str) -> None:
    """Everything about one game; an unknown name raises ValueError."""
    facts = _find(name)
    console.print(Text.assemble((facts.name, "bold"), (f"  ALE/{facts.name}-v5", "dim")))
    console.print()
    table = Table(box=None, show_header=False, pad_edge=False, padding=(0, 2, 0, 0))
    table.add_column(style="cyan", no_wrap=True)
    table.add_column()
    for label, words in _facts(facts):
        table.add_row(label, Text(words))
    console.print(table)
    console.print()
    if facts.differences:
        console.print("Differences from the paper", style="bold")
        differences = Table(box=box.SIMPLE_HEAD, pad_edge=False, padding=(0, 2, 0, 0))
        for heading in ("what", "paper", "here", "because"):
            differences.add_column(heading)
        for entry in facts.differences:
            cells = entry.what, entry.paper, entry.ours, entry.reason
            differences.add_row(*map(Text, cells))
        console.print(differences)
    if facts not in TWELVE:
        console.print("Added by a user: not one of the paper's twelve games.\n", style="bold")
    console.print("The grid of one room, up as on the screen", style="bold")
    console.print()
    console.print(draw_grid(facts))


def _find(name: str) -> Game:
    """The game of that name; for one of ale-py's that is unknown, the error says how to add it."""
    if game_named(name) is None:
        from deepcs.envs.roms import check_known  # loads the emulator, which is slow

        check_known(name)
    return game(name)


def _byte(address: int | None, facts: Game) -> str:
    if address is None:
        return "–"
    return f"0x{address:02X}{'+n' if facts.place else ''}"


def _facts(facts: Game) -> list[tuple[str, str]]:
    """Labels and sentences, in the order in which they are printed."""
    bounds, grid, tile = facts.bounds, facts.grid(), facts.tile
    up = "up" if grid.y_up else "down"
    partial = [
        f"the last {line} {left} {'unit' if left == 1 else 'units'} {extent}"
        for line, left, extent in (
            ("column", bounds.width % tile, "wide"),
            ("row", bounds.height % tile, "high"),
        )
        if left
    ]
    told = [
        (
            "x",
            "none: the player cannot move sideways"
            if facts.x is None
            else f"{_byte(facts.x, facts)}, grows to the right",
        ),
        (
            "y",
            "none: the player cannot move up or down"
            if facts.y is None
            else f"{_byte(facts.y, facts)}, grows {up} on the screen",
        ),
    ]
    if facts.place:
        told.append(("position", _docstring(facts.place)))
    told += [
        (
            "bounds",
            f"x {bounds.x} to {bounds.x + bounds.width - 1}, "
            f"y {bounds.y} to {bounds.y + bounds.height - 1}: "
            f"{bounds.width}×{bounds.height} RAM units",
        ),
        ("tile", "; ".join([f"{tile}×{tile} units", *partial])),
        (
            "tiles",
            f"{grid.columns}×{grid.rows} = {grid.columns * grid.rows} per room, "
            f"⌈{bounds.width}/{tile}⌉×⌈{bounds.height}/{tile}⌉",
        ),
        ("weight", _weight(facts)),
        ("room", facts.room_in_words),
        ("room change", _room_change(facts)),
        ("off the board", facts.off_board_is),
    ]
    if facts.window is not None:
        above, below = facts.window
        told.append(
            ("window", f"the level scrolls; the plane shows units y{above:+d} to y{below:+d}")
        )
    told.append(
        ("lives", "read from RAM, see below" if facts.lives else "as the emulator counts them")
    )
    return told


def _docstring(function: object) -> str:
    return " ".join((function.__doc__ or "").split())


def _weight(facts: Game) -> str:
    if facts.weight == "equal":
        return "equal: clip(R + I)"
    if isinstance(facts.weight, str):
        return f"{facts.weight}: R + {intrinsic_scale(facts.weight):g}·I, unclipped"
    return f"β = {facts.weight}: {facts.weight}·R + {1 - facts.weight:g}·I"


def _room_change(facts: Game) -> str:
    if facts.room is one_room:
        return "never"
    words = (
        "the byte changes long before the position does: positions wait for the jump"
        if facts.room_leads
        else "the first position after it is withheld, as it may still be the old room's"
    )
    if facts.room_wraps:
        words += "; the byte comes round again, so its changes are counted"
    return words
