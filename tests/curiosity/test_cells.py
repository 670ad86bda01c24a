"""Places without a map."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from deepcs.curiosity.cells import CellMemory, cell_number
from deepcs.curiosity.explorer import Explorer
from deepcs.curiosity.tiles import Position
from deepcs.curiosity.unbounded import UnboundedGrid

cells = st.lists(st.integers(1, 5), max_size=40)


def walked(walk: list[int], graded: bool = False, **settings: object) -> list[float]:
    memory = CellMemory(**settings)  # type: ignore[arg-type]
    return [memory.bonus(graded) for cell in walk if [memory.visit(cell)]]


def test_a_first_touch_pays_1_and_the_first_of_a_life_nothing() -> None:
    assert walked([7, 7, 8, 7, 9, 8]) == [0, 0, 1, 0, 1, 0]


def test_graded_pays_by_entries() -> None:
    assert walked([7, 8, 7, 8, 8, 7], graded=True) == pytest.approx(
        [0, 1, 2**-0.5, 2**-0.5, 0, 3**-0.5]
    )


@pytest.mark.parametrize(
    ("lifetime", "after_life", "after_game"), [("game", 0, 1), ("life", 1, 1), ("never", 0, 0)]
)
def test_lifetimes_say_when_a_cell_is_new_again(
    lifetime: str, after_life: float, after_game: float
) -> None:
    one = Explorer(UnboundedGrid(), cells=CellMemory(lifetime=lifetime))  # type: ignore[arg-type]
    one.start_game(None, 1)
    assert one.step(None, 2) == 1
    one.lose_life()
    one.step(None, 1)
    assert one.step(None, 2) == after_life
    one.start_game(None, 1)
    assert one.step(None, 2) == after_game


def test_cells_pay_and_tiles_are_still_counted() -> None:
    one = Explorer(UnboundedGrid(1), cells=CellMemory())
    one.start_game(Position(0, 0), 1)
    assert one.step(Position(1, 0), 1) == 0  # another tile of the same cell
    assert one.step(Position(1, 0), 2) == 1  # another cell of the same tile
    assert (one.tiles, one.cell) == (2, 2)
    assert one.step(Position(2, 0), None) == 0  # a step that does not count
    assert one.cell == 0


def test_the_plane_shows_this_cell_at_the_left_and_the_last_ones_as_stripes() -> None:
    memory = CellMemory()
    for cell in (1, 2, 1, 3):  # newness 1, 1, 1/√2, 1
        memory.visit(cell)
    plane = memory.plane((2, 21))
    assert plane.shape == (2, 21)
    assert (plane[0] == plane[1]).all()
    assert plane[0].tolist() == [255] * 7 + [180, 255, 255] + [0] * 11


@given(cells, cells)
def test_a_restored_memory_goes_on_as_the_one_that_was_saved(
    before: list[int], after: list[int]
) -> None:
    one, other = CellMemory(), CellMemory()
    for cell in before:
        one.visit(cell)
    other.restore(one.snapshot())
    for cell in after:
        assert one.visit(cell) == other.visit(cell)
        assert one.bonus(True) == other.bonus(True)
        assert (one.plane((3, 40)) == other.plane((3, 40))).all()


@given(st.binary(max_size=20))
def test_numbers_of_cells_fit_a_signed_64_bit_column_and_are_never_0(content: bytes) -> None:
    assert 1 <= cell_number(content) <= np.iinfo(np.int64).max
