"""Snapshots: exact at any point, through files, in another process, and never half believed."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from deepcs import Bounds, CuriosityGrid, Position, UnboundedGrid, game
from deepcs.curiosity.explorer import Explorer
from deepcs.curiosity.game import Tracker
from deepcs.system.snapshot import SnapshotError, check_snapshot, from_arrays, to_arrays

positions = st.builds(
    Position, st.integers(0, 49), st.integers(0, 49), st.sampled_from([(), (1,), (3, 2)])
)
walks = st.lists(positions, max_size=40)


def through_files(snapshot: Any) -> Any:
    """As a checkpoint keeps it: JSON text and arrays."""
    arrays, tree = to_arrays(snapshot)
    return from_arrays(arrays, json.loads(json.dumps(tree)))


@given(walks, walks, st.booleans())
def test_a_restored_grid_continues_identically(
    before: list[Position], after: list[Position], bounded: bool
) -> None:
    def make() -> CuriosityGrid | UnboundedGrid:
        return CuriosityGrid(Bounds(0, 0, 50, 50), 7) if bounded else UnboundedGrid(7)

    one, other = make(), make()
    for position in before:
        one.visit(position)
    other.restore(through_files(one.snapshot()))
    assert one.bonus(graded=True) == other.bonus(graded=True)
    for position in after:
        assert one.visit(position) == other.visit(position)
        assert one.bonus(graded=True) == other.bonus(graded=True)
        np.testing.assert_array_equal(one.plane(position.room), other.plane(position.room))
    assert (one.tiles, one.rooms, one.here) == (other.tiles, other.rooms, other.here)


@given(walks)
def test_a_snapshot_does_not_change_with_what_happens_after_it(walk: list[Position]) -> None:
    grid = CuriosityGrid(Bounds(0, 0, 50, 50), 7)
    grid.visit(Position(0, 0, (1,)))
    snapshot = grid.snapshot()
    other = CuriosityGrid(Bounds(0, 0, 50, 50), 7)
    other.restore(snapshot)
    for position in walk:
        grid.visit(position)
        other.visit(position)
    assert snapshot["entries"].sum() == 1


CONTINUE = """
import json, sys
import numpy as np
from deepcs import Position, game
from deepcs.curiosity.explorer import Explorer
from deepcs.system.snapshot import from_arrays
from deepcs.curiosity.game import Tracker

arrays = dict(np.load(sys.argv[1] + "/arrays.npz"))
saved = from_arrays(arrays, json.load(open(sys.argv[1] + "/tree.json")))
facts = game(saved["game"])
tracker, explorer = Tracker(facts), Explorer(facts.grid(), window=facts.window)
tracker.restore(saved["tracker"])
explorer.restore(saved["explorer"])
told = []
for x, y, room in json.loads(sys.argv[2]):
    told.append(explorer.step(tracker.track(Position(x, y, tuple(room)))))
    told.append(int(explorer.plane.sum()))
print(json.dumps(told))
"""


@pytest.mark.parametrize("name", ["MontezumaRevenge", "Amidar", "Tutankham", "Venture"])
def test_a_fresh_process_continues_identically(name: str, tmp_path: Path) -> None:
    facts, rng = game(name), np.random.default_rng(0)
    bounds = facts.bounds
    walk = [
        Position(
            int(rng.integers(bounds.x, bounds.x + bounds.width)),
            int(rng.integers(bounds.y, bounds.y + bounds.height)),
            (step // 9 % 4,),
        )
        for step in range(80)
    ]
    tracker, explorer = Tracker(facts), Explorer(facts.grid(), window=facts.window)
    explorer.start_game(tracker.track(walk[0]))
    for position in walk[1:41]:
        explorer.step(tracker.track(position))
    arrays, tree = to_arrays(
        {"game": name, "tracker": tracker.snapshot(), "explorer": explorer.snapshot()}
    )
    np.savez(tmp_path / "arrays.npz", **arrays)  # type: ignore[arg-type]
    (tmp_path / "tree.json").write_text(json.dumps(tree))

    told: list[float] = []
    for position in walk[41:]:
        told.append(explorer.step(tracker.track(position)))
        told.append(int(explorer.plane.sum()))
    rest = json.dumps([[p.x, p.y, list(p.room)] for p in walk[41:]])
    output = subprocess.run(
        [sys.executable, "-c", CONTINUE, str(tmp_path), rest],
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    assert json.loads(output) == told
    assert sum(told[::2]) > 0


def test_a_tree_is_split_into_arrays_by_path_and_json() -> None:
    tree = {"a": np.arange(3), "b": [{"c": np.zeros(2)}, 1, "x", None], "d": (True, 2.5)}
    arrays, rest = to_arrays(tree)
    assert sorted(arrays) == ["/a", "/b/0/c"]
    assert json.loads(json.dumps(rest)) == {
        "a": {"array": "/a"},
        "b": [{"c": {"array": "/b/0/c"}}, 1, "x", None],
        "d": [True, 2.5],
    }
    back = from_arrays(arrays, rest)
    assert back["a"].tolist() == [0, 1, 2]
    assert back["b"][1:] == [1, "x", None]


@pytest.mark.parametrize("thing", [None, [], "grid", 3])
def test_what_is_not_a_snapshot_is_refused(thing: object) -> None:
    with pytest.raises(SnapshotError, match=rf"^Got {type(thing).__name__} where a snapshot of"):
        CuriosityGrid(Bounds(0, 0, 9, 9)).restore(thing)  # type: ignore[arg-type]


def test_a_snapshot_of_another_kind_is_refused() -> None:
    with pytest.raises(SnapshotError, match=r"^Got a snapshot of kind 'unbounded grid' where"):
        CuriosityGrid(Bounds(0, 0, 9, 9)).restore(UnboundedGrid().snapshot())
    with pytest.raises(
        SnapshotError, match=r"^Got a snapshot of kind None where 'tracker of Alien'"
    ):
        Tracker(game("Alien")).restore({})


@pytest.mark.parametrize("key", ["settings", "rooms", "entries", "here", "bonus_entries"])
def test_a_truncated_snapshot_names_what_it_lacks(key: str) -> None:
    snapshot = CuriosityGrid(Bounds(0, 0, 9, 9)).snapshot()
    del snapshot[key]
    with pytest.raises(SnapshotError, match=rf"^The snapshot of kind 'grid' is truncated: .*{key}"):
        CuriosityGrid(Bounds(0, 0, 9, 9)).restore(snapshot)


def test_a_grid_of_another_size_is_refused() -> None:
    grid = game("MontezumaRevenge").grid()
    grid.visit(Position(77, 235, (1,)))
    with pytest.raises(
        SnapshotError, match=r"^The snapshot's grid has tile 16, this one 8; restore it where"
    ):
        game("MontezumaRevenge").grid(tile=8).restore(grid.snapshot())


def test_entries_cut_short_are_refused() -> None:
    grid = CuriosityGrid(Bounds(0, 0, 9, 9), 2)
    grid.visit(Position(0, 0))
    snapshot = grid.snapshot()
    snapshot["entries"] = snapshot["entries"][:, :-1]
    with pytest.raises(SnapshotError, match=r"^The snapshot's counts are \(1, 4, 5\) "):
        grid.restore(snapshot)


def test_arrays_that_are_missing_are_named() -> None:
    arrays, tree = to_arrays({"entries": np.zeros(3)})
    arrays.clear()
    with pytest.raises(SnapshotError, match=r"^The snapshot lacks its array '/entries'; "):
        from_arrays(arrays, tree)


def test_grids_of_the_same_shape_but_of_other_games_or_lifetimes_are_refused() -> None:
    wizard = game("WizardOfWor").grid()
    spy = game("PrivateEye").grid()
    assert (wizard.rows, wizard.columns) == (spy.rows, spy.columns)
    with pytest.raises(SnapshotError, match=r"^The snapshot's grid has bounds "):
        spy.restore(wizard.snapshot())
    with pytest.raises(SnapshotError, match=r"has lifetime 'game', this one 'never'"):
        game("PrivateEye").grid(lifetime="never").restore(spy.snapshot())
    with pytest.raises(SnapshotError, match=r"has graded True, this one False"):
        Explorer(spy).restore(Explorer(spy, graded=True).snapshot())


@pytest.mark.parametrize(
    ("path", "value", "words"),
    [
        (("grid", "entries"), None, "TypeError"),
        (("grid", "here"), [[0, 0], 99, 99], "IndexError"),
        (("grid", "here"), [[0, 0], 0, 0], "never touched"),
        (("grid", "here"), [1], "ValueError"),
        (("position",), [1], "IndexError"),
        (("visits",), [[1]], "ValueError"),
    ],
)
def test_a_refused_snapshot_changes_nothing(
    path: tuple[str, ...], value: object, words: str
) -> None:
    other = Explorer(game("Alien").grid())
    other.start_game(Position(60, 67, (0, 0)))
    other.step(Position(80, 67, (0, 0)))
    broken = node = other.snapshot()
    for key in path[:-1]:
        node = node[key]
    node[path[-1]] = value
    one = Explorer(game("Alien").grid())
    one.start_game(Position(60, 67, (0, 0)))
    before = one.snapshot()
    with pytest.raises(SnapshotError, match=words) as raised:
        one.restore(broken)
    assert "\n" not in str(raised.value)
    assert repr(one.snapshot()) == repr(before)


def test_a_whole_snapshot_passes_the_check() -> None:
    whole = {"kind": "thing", "a": 1, "b": 2}
    assert check_snapshot(whole, "thing", ("a", "b")) is whole
