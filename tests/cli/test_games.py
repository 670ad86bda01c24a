"""`deepcs games` and its drawing: complete, true to the emulator, and within 100 columns."""

from __future__ import annotations

import io
import re

import pytest
from ale_py import Action, ALEInterface, LoggerMode, roms
from rich.console import Console

from deepcs import Position, game, games
from deepcs.cli.games import print_game, print_games
from deepcs.cli.grid_drawing import draw_grid


def printed(name: str | None = None, width: int = 100) -> str:
    console = Console(file=io.StringIO(), width=width)
    if name is None:
        print_games(console)
    else:
        print_game(console, name)
    assert isinstance(console.file, io.StringIO)
    return console.file.getvalue()


def board(name: str) -> list[str]:
    """The drawing's lines between its side walls."""
    return re.findall("│(.*)│", draw_grid(game(name)).plain)


def test_the_table_has_bytes_origin_grid_tiles_and_weight() -> None:
    row = next(line for line in printed().splitlines() if "MontezumaRevenge" in line)
    for fact in ("0xAA", "0xAB", "0x83", "0,134", "153×122", "16", "10×8", "0.25"):
        assert fact in row


@pytest.mark.parametrize("name", games())
def test_a_games_page_fits_100_columns_and_tells_every_difference(name: str) -> None:
    page = printed(name)
    assert max(map(len, page.splitlines())) <= 100
    words = " ".join(page.split())
    for difference in game(name).differences:
        assert difference.what in words
        assert difference.reason.split()[0] in words


def test_amidars_page_says_how_the_player_is_found() -> None:
    assert "0xD7 is its index" in printed("Amidar")


def test_tutankhams_page_says_what_the_window_shows() -> None:
    assert "y-15 to y+19" in printed("Tutankham")


@pytest.mark.parametrize("name", games())
def test_a_drawing_fits_100_columns_and_33_lines(name: str) -> None:
    lines = draw_grid(game(name)).plain.splitlines()
    assert max(map(len, lines)) <= 100
    assert len(lines) <= 33


def test_a_partial_last_tile_is_drawn_narrower() -> None:
    # 153 units across: nine columns of 16, 6 characters each, and one of 9: 9 / 16 * 6 = 3.4
    assert {len(line) for line in board("MontezumaRevenge")} == {9 * 6 + 3}
    # 121 units across: forty columns of 3, 2 characters each, and one of 1: 1 / 3 * 2 = 0.7
    assert {len(line) for line in board("Kangaroo")} == {40 * 2 + 1}


@pytest.mark.parametrize(
    ("name", "line"), [("Freeway", -1), ("WizardOfWor", -1), ("Tutankham", 0), ("Pitfall", 0)]
)
def test_the_start_tile_is_drawn_where_the_screen_shows_it(name: str, line: int) -> None:
    assert "S" in board(name)[line]


def test_axes_carry_raw_coordinates_at_the_edges() -> None:
    lines = draw_grid(game("MontezumaRevenge")).plain.splitlines()
    assert lines[1].split()[0].startswith("255")  # up is up
    assert lines[len(board("MontezumaRevenge"))].split()[0].startswith("134")
    axis = next(line for line in lines if line.endswith("x"))
    assert (axis.split()[0], axis.split()[-2]) == ("0", "152")


@pytest.mark.parametrize("name", games())
def test_the_drawn_start_tile_is_where_the_emulator_puts_the_player(name: str) -> None:
    facts = game(name)
    ALEInterface.setLoggerMode(LoggerMode.Error)
    emulator = ALEInterface()
    emulator.setFloat("repeat_action_probability", 0.0)
    emulator.loadROM(roms.get_rom_path(facts.rom))
    emulator.reset_game()
    # Wizard of Wor's player waits for a direction; the others are there at once
    action = Action.UP if name == "WizardOfWor" else Action.NOOP
    while (position := facts.locate(emulator.getRAM())) is None:
        emulator.act(action)
        assert emulator.getEpisodeFrameNumber() < 400
    grid = facts.grid()
    assert facts.start is not None
    assert grid.tile_of(position) == grid.tile_of(Position(*facts.start))


def test_an_unknown_game_is_refused_before_anything_is_printed() -> None:
    console = Console(file=io.StringIO())
    with pytest.raises(ValueError, match=r"^Got 'Breakout', .* find-position Breakout"):
        print_game(console, "Breakout")
    assert isinstance(console.file, io.StringIO)
    assert console.file.getvalue() == ""
