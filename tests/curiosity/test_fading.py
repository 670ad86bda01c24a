"""Visits whose weight halves every h steps."""

from __future__ import annotations

import json
import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from deepcs.curiosity.cells import CellMemory
from deepcs.curiosity.explorer import Explorer
from deepcs.curiosity.fading import Fading
from deepcs.curiosity.grid import CuriosityGrid
from deepcs.curiosity.tiles import Bounds, Position
from deepcs.curiosity.unbounded import UnboundedGrid

walks = st.lists(st.integers(0, 4), max_size=60)


def corridor(half_life: float | None, *, graded: bool = False) -> Explorer:
    grid = CuriosityGrid(Bounds(0, 0, 5, 1), 1, lifetime="never", half_life=half_life)
    return Explorer(grid, graded=graded, shape=(1, 5))


def paid(one: Explorer, walk: list[int]) -> list[float]:
    one.start_game(Position(walk[0], 0))
    return [one.step(Position(x, 0)) for x in walk[1:]]


def test_a_touch_pays_what_is_gone_of_the_last_visit() -> None:
    # Half-life 2: both tiles are entered again 2 steps after, when half of the visit is gone.
    assert paid(corridor(2.0), [0, 1, 0, 1, 1, 2]) == pytest.approx([1, 0.5, 0.5, 0, 1])


def test_graded_pays_by_the_weight_of_all_visits() -> None:
    # Tile 0 is entered at steps 1, 3, 5: its weight is 1/2 at the second entry, at the third
    # (1/2 + 1)/2 = 3/4.
    expected = [1, 1 / math.sqrt(1.5), 1 / math.sqrt(1.5), 1 / math.sqrt(1.75)]
    assert paid(corridor(2.0, graded=True), [0, 1, 0, 1, 0]) == pytest.approx(expected)


def test_time_passes_off_the_board_too() -> None:
    one = corridor(1.0)
    paid(one, [0, 1])
    one.step(None)
    assert one.step(Position(0, 0)) == pytest.approx(1 - 2**-3)


def test_a_tile_ages_while_the_player_stays_on_it() -> None:
    one = corridor(100.0)
    paid(one, [0] * 301)
    assert one.plane[0, 0] == 32  # 255/2^3
    off, back = one.step(Position(1, 0)), one.step(Position(0, 0))
    assert (off, back) == pytest.approx((1, 1 - 2**-3.02))  # 0.877


def test_the_plane_fades() -> None:
    one = corridor(1.0)
    paid(one, [0, 1, 2])
    assert one.plane.tolist() == [[64, 128, 255, 0, 0]]


def test_the_start_of_the_next_game_is_not_paid_and_nothing_is_forgotten() -> None:
    one = corridor(1e9)
    assert paid(one, [0, 1]) == [1]
    assert paid(one, [0, 1]) == pytest.approx([0], abs=1e-8)


@given(walks, st.booleans())
def test_without_an_end_to_the_half_life_it_is_as_if_nothing_faded(
    walk: list[int], graded: bool
) -> None:
    walk = [0, *walk]
    endless, plain = corridor(1e15, graded=graded), corridor(None, graded=graded)
    assert paid(endless, walk) == pytest.approx(paid(plain, walk), abs=1e-9)


@given(walks, st.floats(0.1, 100), st.booleans())
def test_what_is_paid_lies_between_0_and_1(walk: list[int], half_life: float, graded: bool) -> None:
    assert all(0 <= worth <= 1 for worth in paid(corridor(half_life, graded=graded), [0, *walk]))


@given(walks, walks, st.booleans())
def test_a_restored_memory_goes_on_as_the_one_that_was_saved(
    before: list[int], after: list[int], graded: bool
) -> None:
    for fresh in (
        lambda: UnboundedGrid(1, lifetime="never", half_life=3.0),
        lambda: CuriosityGrid(Bounds(0, 0, 5, 1), 1, lifetime="never", half_life=3.0),
    ):
        one, other = (Explorer(fresh(), graded=graded, shape=(1, 5)) for _ in range(2))
        paid(one, [0, *before])
        other.restore(one.snapshot())
        for x in after:
            assert one.step(Position(x, 0)) == other.step(Position(x, 0))
            assert (one.plane == other.plane).all()
    cells, copy = (CellMemory(lifetime="never", half_life=3.0) for _ in range(2))
    for x in before:
        cells.visit(x + 1)
    copy.restore(cells.snapshot())
    for x in after:
        assert cells.visit(x + 1) == copy.visit(x + 1)
        assert cells.bonus(graded) == copy.bonus(graded)
    assert json.dumps(copy.snapshot()["newness"]) == json.dumps(cells.snapshot()["newness"])


@pytest.mark.parametrize("half_life", [0, -1, math.inf, math.nan, True, "5"])
def test_a_half_life_that_cannot_be_meant_is_refused(half_life: object) -> None:
    with pytest.raises(ValueError, match="give the steps, above 0"):
        Fading(half_life)  # type: ignore[arg-type]


def test_who_asks_for_a_lifetime_that_fades_is_told_how_to_get_it() -> None:
    with pytest.raises(ValueError, match=r"for visits that fade give 'never' and a half_life\.$"):
        CellMemory(lifetime="fading")  # type: ignore[arg-type]
