"""Which positions count: room bytes that lead the position, and level bytes that wrap."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from deepcs import Position, game
from deepcs.curiosity.game import PATIENCE, Tracker
from deepcs.system.snapshot import SnapshotError

samples = st.lists(
    st.one_of(
        st.none(),
        st.builds(
            Position, st.integers(20, 60), st.integers(20, 60), st.sampled_from([(0,), (1,), (2,)])
        ),
    ),
    max_size=40,
)


def track(name: str, *located: Position | None) -> list[Position | None]:
    tracker = Tracker(game(name))
    return [tracker.track(position) for position in located]


def test_positions_pass_while_the_room_stays() -> None:
    walk = [Position(x, 235, (1,)) for x in (77, 80, 84)]
    assert track("MontezumaRevenge", *walk) == walk


def test_one_sample_is_withheld_when_the_room_changes() -> None:
    # seen on the emulator: for one frame the room is new and x, y are still the old room's
    before, stale, after = (
        Position(149, 235, (1,)),
        Position(149, 235, (2,)),
        Position(1, 235, (2,)),
    )
    assert track("MontezumaRevenge", before, stale, after) == [before, None, after]


def test_the_first_position_of_a_game_counts() -> None:
    assert track("Venture", Position(68, 76, (8,))) == [Position(68, 76, (8,))]


def test_off_the_board_stays_off_the_board() -> None:
    assert track("Pitfall", None, None) == [None, None]


def test_a_room_changed_while_off_the_board_is_a_change_too() -> None:
    before, after = Position(20, 32, (196,)), Position(20, 32, (226,))
    assert track("Pitfall", before, None, after, after) == [before, None, None, after]


def test_where_the_room_leads_positions_wait_until_x_and_y_jump() -> None:
    on_map, stale, inside = Position(65, 64, (8,)), Position(64, 63, (1,)), Position(130, 61, (1,))
    assert track("Venture", on_map, *[stale] * 14, inside) == [on_map, *[None] * 14, inside]


def test_where_the_room_leads_walking_is_not_yet_a_jump() -> None:
    walk = [Position(65 + 8 * step, 64, (1,)) for step in range(4)]
    assert track("Venture", Position(65, 64, (8,)), *walk)[1:] == [None] * 4


def test_where_the_room_changes_with_the_jump_nothing_is_withheld() -> None:
    inside, on_map = Position(112, 43, (1,)), Position(65, 62, (8,))
    assert track("Venture", inside, on_map) == [inside, on_map]


def test_where_the_room_leads_leaving_the_board_ends_the_wait() -> None:
    old, stale, entered = Position(35, 98, (0,)), Position(35, 98, (1,)), Position(35, 96, (1,))
    assert track("WizardOfWor", old, stale, stale, None, entered) == [
        old,
        None,
        None,
        None,
        entered,
    ]


def test_a_wait_for_a_jump_that_never_comes_ends() -> None:
    stale = Position(64, 63, (1,))
    tracked = track("Venture", Position(65, 64, (8,)), *[stale] * (PATIENCE + 1))
    assert tracked[1:] == [*[None] * PATIENCE, stale]


def test_a_level_byte_that_comes_round_again_is_a_new_level() -> None:
    levels = [Position(30, 40, (level,)) for level in (2, 2, 3, 3, 0, 0, 1, 1, 2, 2)]
    rooms = [position and position.room for position in track("Amidar", *levels)]
    assert rooms == [(0,), (0,), None, (1,), None, (2,), None, (3,), None, (4,)]


def test_a_new_game_starts_at_its_first_level_again() -> None:
    tracker = Tracker(game("Kangaroo"))
    for stage in (0, 1, 1):
        tracker.track(Position(8, 18, (stage,)))
    tracker.reset()
    assert tracker.track(Position(8, 18, (0,))) == Position(8, 18, (0,))


@given(samples, samples, st.sampled_from(["MontezumaRevenge", "Amidar", "Venture", "WizardOfWor"]))
def test_a_restored_tracker_continues_identically(
    before: list[Position | None], after: list[Position | None], name: str
) -> None:
    one, other = Tracker(game(name)), Tracker(game(name))
    for position in before:
        one.track(position)
    other.restore(one.snapshot())
    assert [one.track(p) for p in after] == [other.track(p) for p in after]
    assert one.snapshot() == other.snapshot()


def test_a_foreign_or_truncated_snapshot_is_refused() -> None:
    tracker = Tracker(game("Venture"))
    with pytest.raises(SnapshotError, match=r"^Got a snapshot of kind 'grid' where 'tracker of V"):
        tracker.restore(game("Venture").grid().snapshot())
    with pytest.raises(SnapshotError, match="'tracker of Amidar' where 'tracker of Venture'"):
        tracker.restore(Tracker(game("Amidar")).snapshot())
    whole = tracker.snapshot()
    del whole["waiting"]
    with pytest.raises(
        SnapshotError, match="'tracker of Venture' is truncated: it lacks waiting; "
    ):
        tracker.restore(whole)
