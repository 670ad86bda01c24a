"""`deepcs find-position GAME`: where the player's position is in the RAM of a new game."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import cv2
import numpy as np
import tyro
from rich import box
from rich.console import Console
from rich.table import Table

from deepcs.cli.main import WIDTH
from deepcs.curiosity.game import Game, at
from deepcs.curiosity.twelve import TWELVE
from deepcs.envs.find_position import ENOUGH, EXPLORATION, STATES, Found, find_position
from deepcs.envs.position_search import Candidate
from deepcs.envs.room_search import TIE
from deepcs.envs.screen import HEIGHT
from deepcs.film.position_picture import draw_positions
from deepcs.system.files import write_whole
from deepcs.system.outputs import check_output

DOUBTFUL = 0.4  # confidence below which the picture needs a second look
SHOWN = 4  # candidates of each kind
VALUES = 8  # of a room's byte that are printed


@dataclass(frozen=True)
class FindPosition:
    """Find the player's position in the RAM of one of ale-py's games.

    Plays, pushes every direction from the same states, writes to RAM, and compares the screens.
    Prints which bytes are x, y and the room, and the Game(...) to paste; takes under a minute.
    """

    name: Annotated[str, tyro.conf.Positional, tyro.conf.arg(metavar="GAME")]
    """one of ale-py's games, as Gymnasium names it"""
    out: Path | None = None
    """picture of the position over play; by default GAME-position.png in the current folder"""
    states: int = STATES
    """states of random play to push from; more find rarer moves"""
    exploration: int = EXPLORATION
    """steps of exploration afterwards; more see more rooms and a wider range"""
    seed: int = 0
    """of the random play; other seeds see other states"""

    def run(self) -> None:
        if self.out is not None:
            if self.out.suffix != ".png" or self.out.is_dir():
                raise ValueError(
                    f"Got --out {self.out}; give the name of a file that ends in .png."
                )
            _make_folder(self.out)
            check_output(self.out, "--out")
        console = Console() if sys.stdout.isatty() else Console(width=WIDTH)
        with console.status("") as status:
            found = find_position(
                self.name,
                states=self.states,
                exploration=self.exploration,
                seed=self.seed,
                say=status.update,
            )
        console.print(candidates_table(found))
        try:
            game = found.game()
        except ValueError as error:
            print(f"deepcs: {error}", file=sys.stderr)
            sys.exit(1)
        for note in notes(found):
            console.print(note, highlight=False)
        path = self.out or Path(f"{found.name}-position.png")
        _save(draw_positions(game, found.moments, _subtitle(found)), path)
        print(f"\nThe position over play: {path}\nTo paste, into a file my_games.py for example:\n")
        print(game_lines(game))
        print(f"\n{then(game, len(found.moments[0].picture))}")


def then(game: Game, rows: int) -> str:
    """What to do with the game, whose screen has that many rows."""
    if game.name in [each.name for each in TWELVE]:
        return f"{game.name} is one of the paper's: deepcs games {game.name} has verified facts."
    if rows != HEIGHT:
        return (
            f"Its screen is {rows} rows high, where deepcs train takes {HEIGHT}: wrap "
            f'gymnasium.make("ALE/{game.name}-v5") with deepcs.CuriosityWrapper.'
        )
    name = constant(game)
    return f"Then: deepcs games my_games:{name}, deepcs train my_games:{name}"


def _save(picture: np.ndarray, path: Path) -> None:
    _, png = cv2.imencode(".png", cv2.cvtColor(picture, cv2.COLOR_RGB2BGR))
    with _writing(path):
        write_whole(path, png.tobytes())


def _make_folder(path: Path) -> None:
    with _writing(path):
        path.parent.mkdir(parents=True, exist_ok=True)


@contextmanager
def _writing(path: Path) -> Iterator[None]:
    """Say in one sentence that a picture cannot be written."""
    try:
        yield
    except OSError as error:
        raise ValueError(
            f"{path} cannot be written ({error.strerror or error}); give --out in another folder."
        ) from error


def candidates_table(found: Found) -> Table:
    """The best candidates for x, y and the room."""
    table = Table(title=found.name, box=box.SIMPLE_HEAD, title_justify="left")
    table.add_column("")
    for heading in ("byte", "seen values", "pushed", "on screen", "written", "scale"):
        table.add_column(heading, justify="right", no_wrap=True)
    table.add_column("confidence", justify="right", style="bold")
    for axis, candidates in (("x", found.x), ("y", found.y)):
        for each in candidates[:SHOWN]:
            low, high = found.ranges[each.address]
            shares = (f"{share:.0%}" for share in (each.pushed, each.seen, each.written))
            scale = f"{each.scale:+g}" if each.scale else "?"
            table.add_row(
                *(axis, f"0x{each.address:02X}", f"{low} to {high}", *shares, scale),
                f"{each.confidence:.0%}",
            )
        if not candidates:
            table.add_row(axis, "none", *[""] * 6)
        table.add_section()
    for room in found.rooms[:SHOWN]:
        values = ", ".join(map(str, room.values[:VALUES])) + ", …" * (len(room.values) > VALUES)
        address = f"0x{room.address:02X}"
        table.add_row("room", address, values, "", "", "", "", f"{room.confidence:.0%}")
    if not found.rooms:
        table.add_row("room", "none", *[""] * 6)
    table.caption = (
        "pushed: states in which it follows the directions; on screen: differences that it tells "
        "the place of; written: writes that move the player; scale: pixels to a unit"
    )
    table.caption_justify = "left"
    return table


def notes(found: Found) -> list[str]:
    """Caveats, in sentences."""
    told = []
    x, y = found.best
    for axis, candidate, others, way in (
        ("x", x, found.x, "sideways"),
        ("y", y, found.y, "up or down"),
    ):
        if candidate is None:
            doubtful = f" with a confidence of {ENOUGH:.0%}" if others else ""
            told.append(
                f"No byte was found{doubtful} for {axis}: the player may not move {way}, or its "
                "place is kept in a table, in pieces, or scrolls."
            )
        elif candidate.confidence < DOUBTFUL:
            told.append(f"{axis} is doubtful ({candidate.confidence:.0%}): see the picture.")
        elif alike := _alike(candidate, others[1:]):
            told.append(f"{axis} may as well be {alike}: play so far cannot tell them apart.")
        if candidate is not None and not candidate.scale:
            told.append(
                f"How {axis} maps to the screen was not seen: the picture is right in {axis} only "
                "by chance, training does not depend on it."
            )
    if not found.rooms:
        told.append("Play saw one screen only: add room=at(0x..) if you know of others.")
    else:
        best = found.rooms[0]
        ties = [room for room in found.rooms[1:] if abs(room.confidence - best.confidence) <= TIE]
        if ties:
            named = ", ".join(f"0x{room.address:02X}" for room in ties[:SHOWN])
            more = f" or {len(ties) - SHOWN} more" if len(ties) > SHOWN else ""
            told.append(f"The room may as well be {named}{more}: they change with it.")
    return told


def _alike(best: Candidate, others: Sequence[Candidate]) -> str:
    alike = [each for each in others if best.confidence - each.confidence <= TIE]
    return ", ".join(f"0x{each.address:02X}" for each in alike)


def _subtitle(found: Found) -> str:
    parts = [
        f"{axis} 0x{each.address:02X}, confidence {each.confidence:.0%}"
        for axis, each in zip("xy", found.best, strict=True)
        if each is not None
    ]
    return " · ".join([*parts, *(f"room 0x{room.address:02X}" for room in found.rooms[:1])])


def constant(game: Game) -> str:
    """A name for the game in a module: MS_PACMAN."""
    return game.rom.upper()


def game_lines(game: Game) -> str:
    """Python that makes the game and, if it is not one of the paper's, registers it."""
    ours = game.name in [each.name for each in TWELVE]
    room = game.room if isinstance(game.room, at) else None
    names = ["Bounds", "Game", "Screen", *["at"] * (room is not None)]
    names += ["register_game"] * (not ours)
    bounds, screen = game.bounds, game.screen
    scales = (screen.x_scale, screen.x_offset, screen.y_scale, screen.y_offset)
    lines = [
        f"from deepcs import {', '.join(names)}",
        "",
        f"{constant(game)} = Game(",
        f'    name="{game.name}",',
        f"    x={_address(game.x)},",
        f"    y={_address(game.y)},",
        f"    bounds=Bounds({bounds.x}, {bounds.y}, {bounds.width}, {bounds.height}),",
        f"    screen=Screen({', '.join(f'{number:g}' for number in scales)}),",
    ]
    if room is not None:
        addresses = ", ".join(map(_address, room.addresses))
        lines += [f"    room=at({addresses}),", f'    room_is="{game.room_is}",']
    lines.append(f"    tile={game.tile},")
    if game.window is not None:
        lines.append(f"    window={game.window},")
    if game.start is not None:
        lines.append(f"    start={game.start},")
    lines.append(")")
    if not ours:
        lines.append(f"register_game({constant(game)})")
    return "\n".join(lines)


def _address(address: int | None) -> str:
    return "None" if address is None else f"0x{address:02X}"
