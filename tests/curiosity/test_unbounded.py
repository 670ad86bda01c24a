"""The grid without bounds: the same verbs, tiles found by hash, a map around the player."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from deepcs import Bounds, CuriosityGrid, Position, UnboundedGrid
from deepcs.curiosity.unbounded import VIEW

positions = st.builds(
    Position, st.integers(0, 40), st.integers(0, 40), st.sampled_from([(), (1,), (2, 3)])
)


@given(st.lists(positions, max_size=60), st.booleans())
def test_it_pays_as_a_bounded_grid_does(walk: list[Position], graded: bool) -> None:
    bounded, unbounded = CuriosityGrid(Bounds(0, 0, 41, 41), tile=4), UnboundedGrid(tile=4)
    for position in walk:
        assert bounded.visit(position) == unbounded.visit(position)
        assert bounded.bonus(graded) == unbounded.bonus(graded)
        assert (bounded.tiles, bounded.rooms, bounded.here) == (
            unbounded.tiles,
            unbounded.rooms,
            unbounded.here,
        )


def test_negative_coordinates_have_tiles_of_full_size() -> None:
    grid = UnboundedGrid(tile=4)
    assert [grid.visit(Position(x, 0)) for x in (0, -1, -4, -5)] == [True, True, False, True]


def test_plane_is_a_map_with_the_player_in_the_middle() -> None:
    grid = UnboundedGrid(tile=1)
    grid.visit(Position(100, 100))
    grid.visit(Position(101, 100))
    grid.visit(Position(101, 101))  # the player; before it one up, and one up and one left
    middle = VIEW // 2
    around = grid.plane((), (VIEW, VIEW))[middle - 1 : middle + 2, middle - 1 : middle + 2]
    assert (around // 255).tolist() == [[1, 1, 0], [0, 1, 0], [0, 0, 0]]


def test_plane_turns_where_y_grows_upward() -> None:
    grid = UnboundedGrid(tile=1, y_up=True)
    grid.visit(Position(0, 0))
    grid.visit(Position(0, 1))  # the player, one above where it came from
    middle = VIEW // 2
    column = grid.plane((), (VIEW, VIEW))[:, middle] // 255
    assert column[middle - 1 : middle + 2].tolist() == [0, 1, 1]


def test_tiles_out_of_view_and_of_other_rooms_are_not_on_the_plane() -> None:
    grid = UnboundedGrid(tile=1)
    grid.visit(Position(0, 0, (1,)))
    grid.visit(Position(VIEW // 2 + 1, 0, (1,)))
    grid.visit(Position(VIEW // 2 + 2, 0, (2,)))
    assert (grid.plane((2,), (VIEW, VIEW)) > 0).sum() == 1
    grid.visit(Position(VIEW // 2 + 1, 0, (1,)))
    assert (grid.plane((1,), (VIEW, VIEW)) > 0).sum() == 1


def test_a_small_plane_lights_a_pixel_for_any_tile_in_it() -> None:
    for x in range(1, VIEW // 2 + 1):
        grid = UnboundedGrid(tile=0.5)
        grid.visit(Position(x / 2, 0.0))
        grid.visit(Position(0.0, 0.0))
        assert (grid.plane((), (1, VIEW)) > 0).sum() == 2
        assert 1 <= (grid.plane((), (7, 7)) > 0).sum() <= 2


def test_a_tile_without_a_size_is_refused() -> None:
    with pytest.raises(ValueError, match=r"^Got a tile size of 0; "):
        UnboundedGrid(tile=0)
