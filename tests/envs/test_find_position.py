"""Finding the player in RAM, on the real emulator, against bytes that are verified."""

from __future__ import annotations

import functools

import numpy as np
import pytest

from deepcs import game
from deepcs.curiosity.game import at, one_room
from deepcs.envs.experiments import Journey
from deepcs.envs.find_position import Found, find_position, value_range
from deepcs.envs.position_search import most_within
from deepcs.envs.room_search import room_candidates


@functools.cache
def found(name: str, seed: int = 0) -> Found:
    return find_position(name, states=24, exploration=400, seed=seed)


# Plain bytes; a player that turns, and is found by the screen alone; one that cannot go sideways.
@pytest.mark.parametrize("name", ["Seaquest", "Gravitar", "Freeway"])
def test_the_best_candidates_are_the_verified_bytes(name: str) -> None:
    ours, verified = found(name).game(), game(name)
    assert (ours.x, ours.y) == (verified.x, verified.y)


@pytest.mark.parametrize("name", ["Seaquest", "Gravitar", "Freeway"])
def test_the_middle_of_the_player_is_found_within_a_few_pixels(name: str) -> None:
    ours, verified = found(name).game().screen, game(name).screen
    for x, y in ((30, 40), (100, 90)):
        assert ours.pixel(0, y)[1] == pytest.approx(verified.pixel(0, y)[1], abs=3)
        if name != "Freeway":
            assert ours.pixel(x, y)[0] == pytest.approx(verified.pixel(x, y)[0], abs=3)


def test_a_shadow_copy_is_told_from_the_original_by_writing_to_it() -> None:
    best, copy = found("Gravitar").x[:2]
    assert (best.address, copy.address) == (0x9F, 0x9E)
    assert best.seen == pytest.approx(copy.seen, abs=0.05)
    assert (best.written > 0.7, copy.written) == (True, 0.0)


def test_range_and_start_are_the_verified_ones() -> None:
    seaquest = found("Seaquest").game()
    assert seaquest.start == game("Seaquest").start
    assert seaquest.bounds.x >= 21
    assert seaquest.bounds.y == 13
    assert seaquest.room is one_room


def test_a_rooms_byte_changes_with_the_whole_screen() -> None:
    eye = found("PrivateEye")  # whose car passes from street to street
    assert 0xDC in [room.address for room in eye.rooms]
    assert isinstance(eye.game().room, at)
    assert 0xBF not in [room.address for room in eye.rooms]


def test_the_same_seed_finds_the_same() -> None:
    again = find_position("Freeway", states=24, exploration=400, seed=0)
    assert (again.x, again.y, again.ranges) == (
        found("Freeway").x,
        found("Freeway").y,
        found("Freeway").ranges,
    )
    assert all(
        np.array_equal(one.picture, other.picture)
        for one, other in zip(again.moments, found("Freeway").moments, strict=True)
    )


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        ({"name": "Hiro"}, "Got game 'Hiro', which ale-py cannot play alone; the nearest .* Hero"),
        ({"name": "Hero", "states": 3}, "Got 3 states; give a whole number from 10 up"),
        ({"name": "Hero", "exploration": 3}, "Got 3 steps of exploration; give"),
        ({"name": "Hero", "seed": -1}, "Got seed -1; give a whole number from 0 up"),
    ],
)
def test_bad_input_is_refused_in_one_sentence(arguments: dict[str, object], complaint: str) -> None:
    with pytest.raises(ValueError, match=f"^{complaint}"):
        find_position(**arguments)  # type: ignore[arg-type]


def test_most_within_finds_where_values_gather() -> None:
    values = np.array([0.0, 50.0, 51.0, 53.0, 57.0, 90.0, np.nan])
    assert most_within(values) == (4, 52.0)  # 50 to 57 are within 4 of 53.5
    assert most_within(np.array([np.nan])) == (0, 0.0)


def test_a_value_off_the_board_is_no_part_of_the_range() -> None:
    seen = np.array([0] * 30 + [19, 25, 30, 41, 52])
    assert value_range(seen, np.array([25, 30] * 50 + [0])) == (19, 52)
    # two lanes, both obeyed in, belong to the board however far apart they are
    assert value_range(np.array([20, 80]), np.array([20, 80])) == (20, 80)


def test_of_bytes_that_change_with_screens_the_first_counts_like_rooms_do() -> None:
    rng = np.random.default_rng(0)
    room = np.arange(800) // 25 % 4
    screens = rng.integers(0, 256, (4, 21, 16)).astype(np.uint8)
    ram = np.zeros((800, 128), np.int16)
    ram[:, 5] = np.array([17, 240, 90, 33])[room]  # a pointer to the room's picture
    ram[:, 9] = room
    ram[:, 11] = np.arange(800) // 300  # lives: they change, but not with the screen
    begins = np.arange(800) % 100 == 0
    candidates = room_candidates(Journey(ram, screens[room], begins, []))
    assert [each.address for each in candidates] == [0x80 + 9, 0x80 + 5]
    assert candidates[0].values == (0, 1, 2, 3)


def test_a_byte_that_both_axes_push_is_the_coordinate_that_the_screen_shows() -> None:
    pong = found("Pong")  # where RIGHT moves the paddle up
    x, y = pong.best
    assert x is None
    assert y is not None
    assert y.address not in [each.address for each in pong.x]
