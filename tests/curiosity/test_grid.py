"""The curiosity grid: tiles, lives, and the plane that the network sees."""

from __future__ import annotations

import json
import math
from random import Random
from typing import Any

import cv2
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from deepcs import Bounds, CuriosityGrid, Position, game, games

SMALL = Bounds(10, 20, 50, 30)
positions = st.builds(
    Position,
    st.integers(10, 59),
    st.integers(20, 49),
    st.sampled_from([(1,), (2,), (3, 0)]),
)
walks = st.lists(positions, min_size=1, max_size=60)


def touched(grid: CuriosityGrid) -> set[tuple[tuple[int, ...], int, int]]:
    return {
        (room, int(row), int(column))
        for room in grid.rooms
        for row, column in np.argwhere(grid.entries(room) > 0)
    }


def test_tiles_are_counted_from_the_smallest_coordinate() -> None:
    grid = CuriosityGrid(Bounds(0, 134, 153, 122), tile=16)
    assert grid.tile_of(Position(77, 235)) == (6, 4)  # (235 - 134) // 16, 77 // 16
    assert grid.tile_of(Position(0, 134)) == (0, 0)


def test_a_partial_last_tile_is_a_tile() -> None:
    grid = CuriosityGrid(Bounds(0, 134, 153, 122), tile=16)
    assert (grid.columns, grid.rows) == (10, 8)  # 153 / 16 = 9.56, 122 / 16 = 7.6
    assert grid.tile_of(Position(152, 255)) == (7, 9)


def test_the_first_touch_is_new_and_a_return_is_not() -> None:
    grid = CuriosityGrid(SMALL, tile=10)
    here, there = Position(10, 20), Position(25, 20)
    assert [grid.visit(p) for p in (here, there, here, there)] == [True, True, False, False]


def test_each_room_has_a_grid_of_its_own() -> None:
    grid = CuriosityGrid(SMALL, tile=10)
    assert grid.visit(Position(10, 20, (1,)))
    assert grid.visit(Position(10, 20, (2,)))
    assert (grid.tiles, grid.rooms) == (2, ((1,), (2,)))


def test_standing_still_enters_a_tile_once_and_coming_back_enters_it_again() -> None:
    grid = CuriosityGrid(SMALL, tile=10)
    for x in (10, 11, 19, 25, 12):
        grid.visit(Position(x, 20))
    assert grid.entries(())[0].tolist() == [2, 1, 0, 0, 0]


def test_the_start_tile_is_touched_but_not_paid() -> None:
    grid = CuriosityGrid(SMALL, tile=10)
    assert grid.visit(Position(10, 20))
    assert (grid.tiles, grid.bonus()) == (1, 0.0)


def test_the_first_tile_of_a_new_room_is_paid() -> None:
    grid = CuriosityGrid(SMALL, tile=10)
    grid.visit(Position(10, 20, (1,)))
    grid.visit(Position(10, 20, (2,)))
    assert grid.bonus() == 1.0


def test_graded_bonus_falls_with_the_root_of_the_entries_of_a_tile() -> None:
    grid = CuriosityGrid(SMALL, tile=10)
    bonuses = []
    for x in (10, 20, 10, 20, 20, 10):  # the start tile's first entry is counted, not paid
        grid.visit(Position(x, 20))
        bonuses.append(grid.bonus(graded=True))
    assert bonuses == pytest.approx([0, 1, 1 / math.sqrt(2), 1 / math.sqrt(2), 0, 1 / math.sqrt(3)])


@given(walks)
def test_intrinsic_sum_of_a_life_is_tiles_touched_minus_the_start_tile(
    walk: list[Position],
) -> None:
    grid = CuriosityGrid(SMALL, tile=10)
    total = 0.0
    for position in walk:
        grid.visit(position)
        total += grid.bonus()
    assert total == grid.tiles - 1 == len(touched(grid)) - 1


@given(walks, st.randoms())
def test_order_of_visits_does_not_change_the_set_of_tiles(
    walk: list[Position], random: Random
) -> None:
    one, other = CuriosityGrid(SMALL, tile=7), CuriosityGrid(SMALL, tile=7)
    shuffled = random.sample(walk, len(walk))
    for position, another in zip(walk, shuffled, strict=True):
        one.visit(position)
        other.visit(another)
    assert touched(one) == touched(other)


def pay(grid: CuriosityGrid, walk: list[Position]) -> list[float]:
    paid = []
    for position in walk:
        grid.visit(position)
        paid.append(grid.bonus())
    return paid


@given(walks)
def test_a_new_life_pays_the_same_again(walk: list[Position]) -> None:
    grid = CuriosityGrid(SMALL, tile=10)
    first = pay(grid, walk)
    grid.new_life()
    assert (grid.tiles, grid.rooms) == (0, ())
    assert pay(grid, walk) == first


@given(st.lists(walks, max_size=5))
def test_never_pays_no_tile_twice_through_all_games(all_games: list[list[Position]]) -> None:
    grid = CuriosityGrid(SMALL, tile=10, lifetime="never")
    paid = []
    for walk in all_games:
        grid.new_game()
        for position in walk:
            grid.visit(position)
            if grid.bonus():
                paid.append(grid.here)
        grid.lost_life()
    assert len(paid) == len(set(paid))


@pytest.mark.parametrize(
    ("lifetime", "after_lost_life", "after_new_game"),
    [("game", 1, 0), ("life", 0, 0), ("never", 1, 1)],
)
def test_lifetime_says_what_ends_a_life(
    lifetime: str, after_lost_life: int, after_new_game: int
) -> None:
    grid = CuriosityGrid(SMALL, lifetime=lifetime)  # type: ignore[arg-type]
    grid.visit(Position(10, 20))
    grid.lost_life()
    assert grid.tiles == after_lost_life
    grid.new_game()
    assert grid.tiles == after_new_game


def test_plane_shows_a_partial_last_tile_narrow() -> None:
    grid = CuriosityGrid(Bounds(0, 0, 5, 3), tile=2)  # columns of 2, 2, 1 units; rows of 2, 1
    grid.visit(Position(4, 0))
    assert (grid.plane((), (3, 5)) // 255).tolist() == [
        [0, 0, 0, 0, 1],
        [0, 0, 0, 0, 1],
        [0, 0, 0, 0, 0],
    ]
    grid.visit(Position(0, 2))
    assert (grid.plane((), (3, 5)) // 255).tolist()[2] == [1, 1, 0, 0, 0]


def test_plane_turns_so_that_up_is_up_on_the_screen() -> None:
    grid = CuriosityGrid(Bounds(0, 0, 5, 3), tile=2, y_up=True)
    grid.visit(Position(4, 0))
    assert (grid.plane((), (3, 5)) // 255).tolist() == [
        [0, 0, 0, 0, 0],
        [0, 0, 0, 0, 1],
        [0, 0, 0, 0, 1],
    ]


def test_plane_takes_the_nearest_unit_when_it_shrinks() -> None:
    # 4 pixels over 6 units show units 0, 1, 3, 4, which lie in tiles 0, 0, 1, 2
    grid = CuriosityGrid(Bounds(0, 0, 6, 6), tile=2)
    grid.visit(Position(2, 4))
    assert (grid.plane((), (4, 4)) // 255).tolist() == [
        [0, 0, 0, 0],
        [0, 0, 0, 0],
        [0, 0, 0, 0],
        [0, 0, 1, 0],
    ]


def test_plane_repeats_units_when_it_grows() -> None:
    grid = CuriosityGrid(Bounds(0, 0, 2, 1), tile=1)
    grid.visit(Position(1, 0))
    assert (grid.plane((), (2, 4)) // 255).tolist() == [[0, 0, 1, 1], [0, 0, 1, 1]]


@pytest.mark.parametrize("name", games())
def test_plane_agrees_with_opencv_on_a_drawing_in_raw_units(name: str) -> None:
    grid, bounds = game(name).grid(), game(name).bounds
    rng = np.random.default_rng(0)
    drawing = np.zeros((bounds.height, bounds.width), np.uint8)
    for x, y in zip(
        rng.integers(bounds.width, size=20), rng.integers(bounds.height, size=20), strict=True
    ):
        grid.visit(Position(bounds.x + int(x), bounds.y + int(y)))
        top, left = y // grid.tile * grid.tile, x // grid.tile * grid.tile
        drawing[top : top + grid.tile, left : left + grid.tile] = 255
    shrunk = cv2.resize(drawing, (84, 84), interpolation=cv2.INTER_NEAREST)
    if grid.y_up:
        shrunk = shrunk[::-1]
    np.testing.assert_array_equal(grid.plane(()), shrunk)


def test_plane_of_a_room_never_entered_is_empty() -> None:
    grid = CuriosityGrid(SMALL)
    grid.visit(Position(10, 20, (1,)))
    assert not grid.plane((2,)).any()


def test_plane_of_a_window_shows_only_its_units_and_nothing_outside_the_level() -> None:
    grid = CuriosityGrid(Bounds(0, 0, 2, 10), tile=2)
    grid.visit(Position(0, 0))
    window = grid.plane((), (6, 2), window=(-2, 3))  # units -2, -1, 0, 1, 2, 3
    assert (window[:, 0] // 255).tolist() == [0, 0, 1, 1, 0, 0]
    assert (grid.plane((), (6, 2), window=(4, 9)) == 0).all()


def test_window_of_a_level_that_grows_upward_is_turned_too() -> None:
    grid = CuriosityGrid(Bounds(0, 0, 2, 10), tile=2, y_up=True)
    grid.visit(Position(0, 0))
    window = grid.plane((), (6, 2), window=(-2, 3))
    assert (window[:, 0] // 255).tolist() == [0, 0, 1, 1, 0, 0]
    assert (grid.plane((), (4, 2), window=(0, 3))[:, 0] // 255).tolist() == [0, 0, 1, 1]


def test_tutankham_shows_15_units_above_and_19_below_the_player() -> None:
    facts = game("Tutankham")
    grid = facts.grid()
    for y in range(256):
        grid.visit(Position(4, y))
    assert facts.window == (-15, 19)
    # at y = 0, pixel i shows unit -15 + i * 35 // 84, which is in the level from i = 36 on
    first_column = grid.plane((), window=(-15, 19))[:, 0]
    assert first_column.tolist() == [0] * 36 + [255] * 48


@pytest.mark.parametrize("tile", [0, -16, float("nan"), (1, 0), (), "8", True])
def test_a_tile_without_a_size_is_refused(tile: Any) -> None:
    with pytest.raises(ValueError, match=r"^Got a tile size of .*; give .* above 0, .*\.$"):
        CuriosityGrid(SMALL, tile=tile)


def test_tiles_that_would_fill_the_memory_are_refused() -> None:
    with pytest.raises(ValueError, match=r"^Got bounds of 1.0x1.0 .*; give larger tiles\.$"):
        CuriosityGrid(Bounds(0.0, 0.0, 1.0, 1.0), tile=1e-6)


def test_an_unknown_lifetime_names_the_three() -> None:
    with pytest.raises(
        ValueError, match=r"^Got lifetime 'week'; choose one of game, life, never\.$"
    ):
        CuriosityGrid(SMALL, lifetime="week")  # type: ignore[arg-type]


def test_empty_bounds_are_refused() -> None:
    with pytest.raises(ValueError, match=r"^Got bounds of 0x5 units; "):
        Bounds(0, 0, 0, 5)


@pytest.mark.parametrize("width", [float("inf"), float("nan"), "9"])
def test_bounds_that_are_no_numbers_are_refused(width: object) -> None:
    with pytest.raises(ValueError, match=r"^Got bounds \(0, 0, .*; give .* finite numbers .*\.$"):
        Bounds(0, 0, width, 5)  # type: ignore[arg-type]


@pytest.mark.parametrize("position", [(9, 20), (60, 20), (10, 19), (10, 50)])
def test_a_position_outside_is_refused_when_clamping_is_off(position: tuple[int, int]) -> None:
    grid = CuriosityGrid(SMALL, clamp=False)
    with pytest.raises(
        ValueError, match=r"is outside the grid, which covers x from 10 to below 60 and"
    ):
        grid.visit(Position(*position))
    assert grid.tiles == 0


@pytest.mark.parametrize(
    ("position", "tile"), [((0, 0), (0, 0)), ((99, 20), (0, 4)), ((10, 255), (2, 0))]
)
def test_clamping_pulls_a_position_outside_to_the_nearest_tile(
    position: tuple[int, int], tile: tuple[int, int]
) -> None:
    assert CuriosityGrid(SMALL, tile=10).tile_of(Position(*position)) == tile


@pytest.mark.parametrize("kind", [np.uint8, np.int64])
def test_coordinates_may_be_numpy_numbers_and_stay_json(kind: type[np.integer[Any]]) -> None:
    grid = CuriosityGrid(Bounds(10, 10, 50, 50), 5)
    assert grid.tile_of(Position(kind(3), kind(44))) == (6, 0)  # type: ignore[arg-type]
    grid.visit(Position(kind(3), kind(44), (kind(2),)))  # type: ignore[arg-type]
    snapshot = grid.snapshot()
    del snapshot["entries"]
    assert json.loads(json.dumps(snapshot))["here"] == [[2], 6, 0]


def test_coordinates_between_whole_units_fall_into_the_tile_around_them() -> None:
    grid = CuriosityGrid(Bounds(0, 0, 9, 9), tile=2)
    assert grid.tile_of(Position(1.99, 8.5)) == (4, 0)
    assert grid.tile_of(Position(-0.5, 9.5)) == (4, 0)  # clamped


def test_mountain_car_has_tiles_of_its_own_units_on_each_axis() -> None:
    grid = CuriosityGrid(Bounds(-1.2, -0.07, 1.8, 0.14), tile=(0.1, 0.01), clamp=False)
    assert (grid.columns, grid.rows) == (18, 14)
    assert grid.tile_of(Position(-1.2, -0.07)) == (0, 0)
    assert grid.tile_of(Position(-0.55, 0.001)) == (7, 6)
    assert grid.tile_of(Position(0.6, 0.07)) == (13, 17)  # the far edges are inside
    with pytest.raises(ValueError, match=r"outside the grid, which covers x from -1\.2 to 0\.6 "):
        grid.tile_of(Position(0.61, 0.0))


def test_multiples_of_a_tile_size_are_in_tiles_of_their_own_despite_rounding() -> None:
    grid = CuriosityGrid(Bounds(0.0, 0.0, 1.1, 1.1), tile=0.1)
    assert (grid.columns, grid.rows) == (11, 11)
    assert [grid.tile_of(Position(k / 10, 0.0))[1] for k in range(11)] == [*range(11)]


def test_a_grid_of_fractions_comes_back_from_its_snapshot() -> None:
    def make() -> CuriosityGrid:
        return CuriosityGrid(Bounds(-1.2, -0.07, 1.8, 0.14), tile=(0.1, 0.01))

    grid, other = make(), make()
    for x in (-1.0, -0.5, 0.3):
        grid.visit(Position(x, 0.0))
    snapshot = grid.snapshot()
    assert json.loads(json.dumps(snapshot["settings"])) == snapshot["settings"]
    other.restore(snapshot)
    assert (other.tiles, other.here) == (3, grid.here)
    np.testing.assert_array_equal(other.plane(()), grid.plane(()))


def test_the_plane_of_a_grid_of_fractions_shows_every_tile() -> None:
    grid = CuriosityGrid(Bounds(-1.2, -0.07, 1.8, 0.14), tile=(0.1, 0.01))
    grid.visit(Position(0.6, -0.07))
    plane = grid.plane((), (14, 18)) // 255
    assert plane[0].tolist() == [0] * 17 + [1]
    assert plane.sum() == 1


def test_where_tiles_are_smaller_than_pixels_any_of_them_lights_its_pixel() -> None:
    for cell in range(25):
        grid = CuriosityGrid(Bounds(0, 0, 25, 25), tile=1)
        grid.visit(Position(cell, 24 - cell))
        assert np.count_nonzero(grid.plane((), (7, 7))) == 1
        assert np.count_nonzero(grid.plane((), (2, 1))) == 1


def test_a_narrow_last_tile_is_not_lost() -> None:
    grid = CuriosityGrid(Bounds(0, 0, 153, 10), tile=2)  # the 77th column is one unit wide
    grid.visit(Position(152, 0))
    assert grid.plane(())[0, -1] == 255


def test_bounds_in_whole_numbers_are_told_as_they_hold_for_fractions() -> None:
    grid = CuriosityGrid(Bounds(-1, -1, 2, 2), tile=1, clamp=False)
    grid.visit(Position(0.99, 0.5))
    with pytest.raises(ValueError, match=r"covers x from -1 to below 1 and y from -1 to below 1;"):
        grid.visit(Position(1.0, 0.5))
