"""One actor's curiosity through games and lives."""

from __future__ import annotations

from collections import Counter
from random import Random

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from deepcs import Bounds, CuriosityGrid, Position, UnboundedGrid, game
from deepcs.curiosity.explorer import Explorer
from deepcs.curiosity.grid import LIFETIMES, Curiosity, Lifetime

BOUNDS = Bounds(0, 0, 30, 30)
walks = st.lists(
    st.one_of(
        st.none(),
        st.builds(Position, st.integers(0, 29), st.integers(0, 29), st.sampled_from([(1,), (2,)])),
    ),
    max_size=40,
)


def crowded(seed: int) -> list[Position | None]:
    """A walk of few tiles and many steps, so that it returns to touched tiles."""
    random = Random(seed)
    return [Position(random.choice([5, 15]), random.choice([5, 6, 15])) for _ in range(12)]


def explorer(lifetime: Lifetime = "game", **settings: object) -> Explorer:
    return Explorer(CuriosityGrid(BOUNDS, 10, lifetime=lifetime), **settings)  # type: ignore[arg-type]


def test_the_first_position_on_the_board_is_the_start_tile() -> None:
    one = explorer()
    one.start_game(None)
    assert [one.step(p) for p in (None, Position(5, 5), Position(15, 5))] == [0.0, 0.0, 1.0]


@given(walks)
def test_intrinsic_sum_of_a_game_is_its_tiles_minus_the_start_tile(
    walk: list[Position | None],
) -> None:
    one = explorer()
    one.start_game(None)
    total = sum(one.step(position) for position in walk)
    assert total == max(one.grid.tiles - 1, 0)


def test_standing_off_the_board_pays_nothing_and_keeps_the_room() -> None:
    one = explorer()
    one.start_game(Position(5, 5, (1,)))
    one.step(Position(15, 5, (1,)))
    assert one.step(None) == 0.0
    assert one.info() == {
        "intrinsic": 0.0,
        "position": None,
        "room": (1,),
        "tiles": 2,
        "rooms": 1,
        "cell": 0,
    }


@pytest.mark.parametrize("lifetime", LIFETIMES)
def test_a_game_that_starts_off_the_board_shows_no_room_of_the_last(lifetime: Lifetime) -> None:
    explorer = Explorer(game("WizardOfWor").grid(lifetime=lifetime))
    explorer.start_game(Position(60, 60, (1,)))
    explorer.start_game(None)
    assert explorer.info()["room"] == ()
    assert not explorer.plane.any()
    explorer.step(Position(60, 60, (1,)))
    assert explorer.info()["room"] == (1,)
    assert explorer.plane.any()


def test_a_lost_life_makes_tiles_new_only_if_the_lifetime_is_a_life() -> None:
    paid = {}
    for lifetime in ("game", "life", "never"):
        one = explorer(lifetime)  # type: ignore[arg-type]
        one.start_game(Position(5, 5))
        one.step(Position(15, 5))
        one.lose_life()
        paid[lifetime] = one.step(Position(5, 5)) + one.step(Position(15, 5))
    assert paid == {"game": 0.0, "life": 1.0, "never": 0.0}


def test_never_pays_no_start_tile_of_a_later_game() -> None:
    one = explorer("never")
    one.start_game(Position(5, 5))
    one.start_game(Position(25, 25))
    assert (one.intrinsic, one.grid.tiles) == (0.0, 2)


@pytest.mark.parametrize("lifetime", LIFETIMES)
def test_tiles_and_rooms_are_those_of_the_game_whatever_the_lifetime(lifetime: Lifetime) -> None:
    one = explorer(lifetime)
    one.start_game(Position(5, 5, (2,)))
    one.step(Position(15, 5, (1,)))
    one.lose_life()
    assert (one.tiles, one.rooms) == (2, ((2,), (1,)))
    one.step(Position(15, 5, (1,)))
    one.step(Position(25, 5, (1,)))
    assert (one.tiles, one.rooms) == (3, ((2,), (1,)))
    one.start_game(Position(25, 5, (1,)))  # where the last game ended
    assert (one.tiles, one.rooms) == (1, ((1,),))
    one.start_game(None)
    assert (one.tiles, one.rooms) == (0, ())
    one.step(Position(25, 5, (1,)))
    one.step(Position(5, 5, (2,)))
    assert (one.tiles, one.rooms) == (2, ((1,), (2,)))
    assert (one.info()["tiles"], one.info()["rooms"]) == (2, 2)


def test_graded_pays_a_return_less() -> None:
    one = explorer(graded=True)
    one.start_game(Position(5, 5))
    assert [one.step(Position(x, 5)) for x in (15, 25, 15)] == pytest.approx([1, 1, 0.5**0.5])


@given(walks)
def test_the_plane_is_always_that_of_the_room_last_visited(walk: list[Position | None]) -> None:
    one = explorer()
    one.start_game(None)
    room: tuple[int, ...] = ()
    for position in walk:
        one.step(position)
        room = room if position is None else position.room
        np.testing.assert_array_equal(one.plane, one.grid.plane(room))


def test_the_plane_empties_when_a_life_ends() -> None:
    one = explorer("life")
    one.start_game(Position(5, 5))
    assert one.plane.any()
    one.lose_life()
    assert not one.plane.any()


def test_the_plane_without_bounds_follows_the_player_back_to_a_touched_tile() -> None:
    one = Explorer(UnboundedGrid(1), shape=(21, 21))
    one.start_game(Position(0, 0))
    one.step(Position(1, 0))
    assert np.flatnonzero(one.plane[10]).tolist() == [9, 10]
    one.step(Position(0, 0))
    assert np.flatnonzero(one.plane[10]).tolist() == [10, 11]


def test_the_window_moves_with_the_player_inside_a_tile() -> None:
    one = explorer(window=(-2, 3), shape=(6, 30))
    one.start_game(Position(5, 0))
    assert (one.plane[:, 5] // 255).tolist() == [0, 0, 1, 1, 1, 1]  # units -2 to 3
    one.step(Position(5, 8))
    assert (one.plane[:, 5] // 255).tolist() == [1, 1, 1, 1, 0, 0]  # units 6 to 11


def test_visits_count_entries_and_are_given_out_once() -> None:
    one = explorer()
    one.start_game(Position(5, 5))
    for x in (6, 15, 5):
        one.step(Position(x, 5))
    assert one.take_visits() == Counter({((), 0, 0): 2, ((), 0, 1): 1})
    assert one.take_visits() == Counter()


@given(
    st.one_of(walks, st.integers(0, 999).map(crowded)),
    walks,
    st.booleans(),
    st.booleans(),
    st.sampled_from(LIFETIMES),
)
def test_a_restored_explorer_continues_identically(
    before: list[Position | None],
    after: list[Position | None],
    bounded: bool,
    graded: bool,
    lifetime: Lifetime,
) -> None:
    def make() -> Explorer:
        grid: Curiosity = UnboundedGrid(10, lifetime=lifetime)
        if bounded:
            grid = CuriosityGrid(BOUNDS, 10, lifetime=lifetime)
        return Explorer(grid, graded=graded, shape=(21, 21), window=(-5, 5) if bounded else None)

    one, other = make(), make()
    one.start_game(None)
    for position in before:
        one.step(position)
        assert one.plane.shape == (21, 21)  # the plane is kept: it must not go stale
    one.lose_life()
    other.restore(one.snapshot())
    for position in [None, *after]:
        assert one.step(position) == other.step(position)
        assert (one.info(), one.rooms) == (other.info(), other.rooms)
        np.testing.assert_array_equal(one.plane, other.plane)
    assert one.take_visits() == other.take_visits()
