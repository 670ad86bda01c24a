"""The twelve games as data, and the small functions of those that need more than an address."""

from __future__ import annotations

import numpy as np
import pytest

import deepcs
from deepcs import Position, game, games

TWELVE = [
    "Alien",
    "Amidar",
    "Freeway",
    "Gravitar",
    "Kangaroo",
    "MontezumaRevenge",
    "Pitfall",
    "PrivateEye",
    "Seaquest",
    "Tutankham",
    "Venture",
    "WizardOfWor",
]


def ram(contents: dict[int, int]) -> np.ndarray:
    """128 bytes that are 0 but for these addresses."""
    memory = np.zeros(128, np.uint8)
    for address, value in contents.items():
        memory[address - 0x80] = value
    return memory


def test_there_are_twelve_games() -> None:
    assert sorted(games()) == TWELVE


@pytest.mark.parametrize(
    "spelling",
    [
        "MontezumaRevenge",
        "montezuma_revenge",
        "montezuma-revenge",
        "MONTEZUMA REVENGE",
        "Montezuma's Revenge",
        "ALE/MontezumaRevenge-v5",
        "MontezumaRevengeNoFrameskip-v4",
        "montezuma",
    ],
)
def test_a_game_answers_to_every_clear_spelling(spelling: str) -> None:
    assert game(spelling).name == "MontezumaRevenge"


@pytest.mark.parametrize(("given", "nearest"), [("pitfal2", "Pitfall"), ("sequest", "Seaquest")])
def test_an_unknown_game_names_the_nearest_and_all_twelve(given: str, nearest: str) -> None:
    with pytest.raises(ValueError, match=f"^Got game {given!r}") as caught:
        game(given)
    assert f"the nearest is {nearest}" in str(caught.value)
    assert all(name in str(caught.value) for name in TWELVE)


def test_a_beginning_that_fits_two_games_is_not_clear() -> None:
    with pytest.raises(ValueError, match=r"^Got game 'p', "):
        game("p")  # Pitfall, PrivateEye


def test_only_montezuma_has_a_tuned_weight() -> None:
    assert {name: game(name).weight for name in games() if game(name).weight != "equal"} == {
        "MontezumaRevenge": 0.25
    }


@pytest.mark.parametrize(
    ("name", "tiles"),
    [
        ("Alien", (8, 5)),
        ("Amidar", (8, 10)),
        ("Freeway", (1, 9)),
        ("Gravitar", (5, 5)),
        ("Kangaroo", (41, 8)),
        ("MontezumaRevenge", (10, 8)),
        ("Pitfall", (9, 5)),
        ("PrivateEye", (8, 7)),
        ("Seaquest", (8, 6)),
        ("Tutankham", (8, 13)),
        ("Venture", (10, 5)),
        ("WizardOfWor", (8, 7)),
    ],
)
def test_each_game_has_this_many_columns_and_rows_of_tiles(
    name: str, tiles: tuple[int, int]
) -> None:
    grid = game(name).grid()
    assert (grid.columns, grid.rows) == tiles


@pytest.mark.parametrize("name", games())
def test_up_in_raw_units_is_up_in_five_games_only(name: str) -> None:
    upward = {"Alien", "Freeway", "MontezumaRevenge", "PrivateEye", "WizardOfWor"}
    assert game(name).grid().y_up == (name in upward)


@pytest.mark.parametrize("name", games())
def test_ram_may_be_bytes_a_list_or_an_array_and_positions_are_plain_integers(name: str) -> None:
    memory = ram({address: 0x80 ^ address for address in range(0x80, 0x100)})
    located = game(name).locate(memory)
    assert located == game(name).locate(memory.tobytes()) == game(name).locate(memory.tolist())
    if located is not None:
        assert {type(value) for value in (located.x, located.y, *located.room)} == {int}


def test_montezuma_reads_x_y_and_the_room() -> None:
    memory = ram({0xAA: 77, 0xAB: 235, 0x83: 1})
    assert game("MontezumaRevenge").locate(memory) == Position(77, 235, (1,))


def test_alien_has_its_axes_put_right() -> None:
    memory = ram({0xB4: 60, 0xAD: 67, 0xDC: 1})
    assert game("Alien").locate(memory) == Position(60, 67, (1, 0))


@pytest.mark.parametrize(("flags", "on_board"), [(0, True), (1, True), (32, True), (192, False)])
def test_alien_is_off_the_board_at_game_over(flags: int, on_board: bool) -> None:
    located = game("Alien").locate(ram({0xB4: 60, 0xAD: 67, 0x80: flags}))
    assert (located is not None) == on_board


def test_aliens_bonus_round_is_a_room_of_its_own() -> None:
    alien = game("Alien")
    level = alien.locate(ram({0xB4: 60, 0xAD: 67, 0xDC: 1}))
    bonus = alien.locate(ram({0xB4: 60, 0xAD: 67, 0xDC: 1, 0x80: 32}))
    assert level is not None
    assert bonus is not None
    assert level.room != bonus.room


@pytest.mark.parametrize("index", range(7))
def test_amidar_finds_the_player_in_a_table_of_seven_sprites(index: int) -> None:
    memory = ram({0xD7: index, 0xC2 + index: 30 + index, 0xBB + index: 40 + index, 0xD6: 11})
    assert game("Amidar").locate(memory) == Position(30 + index, 40 + index, (2,))


def test_amidar_is_off_the_board_at_reset_at_game_over_and_beyond_the_table() -> None:
    amidar = game("Amidar")
    assert amidar.locate(ram({})) is None
    assert amidar.locate(ram({0xD7: 5, 0xC2 + 5: 30, 0xBB + 5: 255})) is None
    assert amidar.locate(ram({0xD7: 255})) is None


def test_amidar_keeps_the_level_out_of_its_lives() -> None:
    lives = game("Amidar").lives
    assert lives is not None
    # the emulator counts 11, 15 and 3 in levels 1, 2 and 3, with no life lost
    assert len({lives(ram({0xD6: state})) for state in (11, 15, 3)}) == 1


@pytest.mark.parametrize(
    ("mode", "planet", "room"),
    [
        (2, 0, (2,)),
        (2, 128, (2,)),
        (2, 64, (2,)),
        (3, 0, (3, 0)),
        (3, 2, (3, 2)),
        (4, 128, (4,)),
        (5, 0, (5,)),
    ],
)
def test_gravitar_tells_planets_apart_and_nothing_by_flags(
    mode: int, planet: int, room: tuple[int, ...]
) -> None:
    memory = ram({0x9F: 70, 0xA0: 97, 0x81: mode, 0x82: planet})
    assert game("Gravitar").locate(memory) == Position(70, 97, room)


def test_gravitar_is_off_the_board_in_transitions() -> None:
    assert game("Gravitar").locate(ram({0x9F: 70, 0xA0: 97, 0x81: 1})) is None


@pytest.mark.parametrize(("y", "on_board"), [(20, False), (21, True), (86, True), (87, False)])
def test_pitfall_is_on_the_board_from_21_to_86(y: int, on_board: bool) -> None:
    located = game("Pitfall").locate(ram({0xE1: 20, 0xE9: y, 0x81: 196}))
    assert located == (Position(20, y, (196,)) if on_board else None)


@pytest.mark.parametrize(("y", "on_board"), [(0, True), (19, True), (20, False), (22, False)])
def test_kangaroo_is_off_the_board_when_it_falls(y: int, on_board: bool) -> None:
    assert (game("Kangaroo").locate(ram({0x91: 50, 0x90: y})) is not None) == on_board


def test_freeway_has_no_x_and_a_fresh_room_after_each_crossing() -> None:
    assert game("Freeway").locate(ram({0x8E: 6, 0xE7: 0x10})) == Position(0, 6, (0x10,))


def test_seaquest_is_one_room_and_off_the_board_at_game_over() -> None:
    assert game("Seaquest").locate(ram({0xC6: 76, 0xE1: 13})) == Position(76, 13, ())
    assert game("Seaquest").locate(ram({0xC6: 76, 0xE1: 0})) is None


def test_private_eyes_room_is_not_its_type_of_scenery() -> None:
    memory = ram({0xBF: 30, 0xE1: 0, 0xBE: 24, 0xDC: 2})
    assert game("PrivateEye").locate(memory) == Position(30, 0, (2,))


def test_tutankhams_level_is_not_the_stack_byte() -> None:
    memory = ram({0x87: 132, 0xC1: 0, 0xFB: 53, 0xBB: 1})
    assert game("Tutankham").locate(memory) == Position(132, 0, (1,))


def test_wizard_of_wor_is_off_the_board_while_no_player_is_in_the_maze() -> None:
    assert game("WizardOfWor").locate(ram({0x84: 1})) is None
    assert game("WizardOfWor").locate(ram({0x84: 1, 0xB7: 139, 0xAF: 18})) == Position(
        139, 18, (1,)
    )


@pytest.mark.parametrize("name", games())
def test_each_difference_from_the_paper_says_what_the_paper_has_and_why(name: str) -> None:
    assert game(name).differences
    for difference in game(name).differences:
        assert all((difference.what, difference.paper, difference.ours, difference.reason))
        assert difference.paper != difference.ours


def test_the_package_offers_the_idea_by_name() -> None:
    assert {"CuriosityGrid", "Position", "game", "games"} <= set(deepcs.__all__)
