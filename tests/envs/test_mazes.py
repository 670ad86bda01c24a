"""The mazes: what is rewarded, what is new, and that a game can be frozen at any step."""

from __future__ import annotations

import itertools
import json
import warnings
from typing import Any

import gymnasium as gym
import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env
from hypothesis import given, settings
from hypothesis import strategies as st

from deepcs.envs.maze import Maze
from deepcs.envs.maze_map import ACT, DOWN, LEFT, RIGHT, UP
from deepcs.envs.mazes import MAZES, CrossMaze, KeyHallway
from deepcs.system.snapshot import SnapshotError, from_arrays, to_arrays

# Each branch: walk in, three cells by the skill, walk back.
WEST = [LEFT, *[UP, DOWN] * 3]
EAST = [RIGHT, *[RIGHT, RIGHT] * 3]
NORTH = [UP, *[ACT, UP] * 3]
SOUTH = [DOWN, *[ACT, ACT] * 3]
SOLUTIONS = {
    "KeyHallway": [RIGHT] * 10 + [LEFT] * 20,
    "CrossMaze": [*WEST, *[RIGHT] * 4, *EAST, *[LEFT] * 4, *NORTH, *[DOWN] * 4, *SOUTH],
}


def play(maze: Maze, actions: list[int]) -> list[tuple[Any, float, bool, bool, dict[str, Any]]]:
    """Take the actions, until the game ends."""
    steps = []
    for action in actions:
        steps.append(maze.step(action))
        if steps[-1][2] or steps[-1][3]:
            break
    return steps


def started(name: str, **options: Any) -> Maze:
    maze = MAZES[name](**options)
    maze.reset(seed=0)
    return maze


def randomly(maze: Maze, seed: int, steps: int) -> list[int]:
    return np.random.default_rng(seed).integers(0, maze.actions, steps).tolist()


@pytest.mark.parametrize("name", MAZES)
@pytest.mark.parametrize("options", [{}, {"compass": True}, {"grid": False, "tile": 3}])
def test_gymnasium_finds_no_fault(name: str, options: dict[str, Any]) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        env = gym.make(f"deepcs/{name}-v0", render_mode="rgb_array", **options)
        check_env(env.unwrapped)


@pytest.mark.parametrize("name", MAZES)
def test_a_solution_by_hand_is_rewarded_once_at_its_last_step(name: str) -> None:
    steps = play(started(name), SOLUTIONS[name])
    assert [step[1] for step in steps] == [0.0] * (len(SOLUTIONS[name]) - 1) + [1.0]
    assert steps[-1][2:4] == (True, False)
    assert [step[4]["score"] for step in steps[-2:]] == [0.0, 1.0]


def test_the_door_stays_shut_without_the_key() -> None:
    maze = started("KeyHallway")
    steps = play(maze, [LEFT] * 10)
    assert steps[-1][4]["position"].x == 0
    assert not any(step[1] or step[2] for step in steps)
    # The same way again, with the key.
    assert play(maze, [RIGHT] * 20 + [LEFT] * 20)[-1][1:3] == (1.0, True)


def test_three_tokens_are_not_enough() -> None:
    without_south = SOLUTIONS["CrossMaze"][: -len(SOUTH)]
    steps = play(started("CrossMaze"), without_south)
    assert not any(step[1] or step[2] for step in steps)


@pytest.mark.parametrize("way_in", [LEFT, RIGHT, UP, DOWN])
def test_a_branch_yields_to_its_own_skill_alone(way_in: int) -> None:
    skill = {LEFT: (UP, DOWN), RIGHT: (RIGHT, RIGHT), UP: (ACT, UP), DOWN: (ACT, ACT)}[way_in]
    maze = CrossMaze()
    advancing = []
    for pair in itertools.product(range(5), repeat=2):
        maze.reset()
        x, y, _ = play(maze, [way_in, *pair])[-1][4]["position"]
        if abs(x - 4) + abs(y - 4) > 1:
            advancing.append(pair)
    assert advancing == [skill]


def test_a_skill_interrupted_starts_over() -> None:
    maze = started("CrossMaze")
    steps = play(maze, [LEFT, UP, ACT, DOWN, UP, DOWN])
    assert [step[4]["position"].x for step in steps] == [3, 3, 3, 3, 3, 2]
    halfway = CrossMaze.channels.index("halfway")
    assert [step[0][halfway].any() for step in steps] == [False, True, False, False, True, False]


@pytest.mark.parametrize("name", MAZES)
@pytest.mark.parametrize("tile", [1, 3])
def test_a_game_pays_for_every_tile_but_the_first(name: str, tile: int) -> None:
    maze = started(name, tile=tile)
    steps = play(maze, randomly(maze, seed=5, steps=maze.max_steps))
    assert steps[-1][3]
    touched = np.count_nonzero(maze.explorer.grid.entries(()))
    assert touched > 2
    assert sum(step[4]["intrinsic"] for step in steps) == touched - 1 == steps[-1][4]["tiles"] - 1


def test_the_grid_does_not_tell_whether_the_key_is_held() -> None:
    steps = play(started("KeyHallway"), [LEFT] * 10 + [RIGHT] * 20 + [LEFT] * 19)
    returning = [step[4] for step in steps[30:]]
    assert len(returning) == 19
    assert {info["intrinsic"] for info in returning} == {0.0}
    assert {info["room"] for info in returning} == {()}


@pytest.mark.parametrize(("lifetime", "paid"), [("game", 3.0), ("life", 3.0), ("never", 0.0)])
def test_a_new_game_pays_again_unless_life_never_ends(lifetime: str, paid: float) -> None:
    maze = started("KeyHallway", lifetime=lifetime)
    assert sum(step[4]["intrinsic"] for step in play(maze, [RIGHT] * 3)) == 3.0
    maze.reset()
    assert sum(step[4]["intrinsic"] for step in play(maze, [RIGHT] * 3)) == paid


def test_graded_curiosity_pays_for_returning() -> None:
    steps = play(started("KeyHallway", graded=True), [RIGHT, LEFT, RIGHT])
    assert [step[4]["intrinsic"] for step in steps] == pytest.approx([1, 0.5**0.5, 0.5**0.5])


def test_the_picture_shows_player_key_door_and_touched_tiles() -> None:
    maze = started("KeyHallway")
    seen = play(maze, [RIGHT] * 10 + [LEFT])[-1][0]
    assert seen.shape == (4, 1, 21)
    assert [np.flatnonzero(plane).tolist() for plane in seen] == [
        [19],
        [],  # the key was taken
        [0],
        list(range(10, 21)),
    ]


def test_without_the_grid_only_the_touched_tiles_are_missing() -> None:
    seen, blind = started("CrossMaze"), started("CrossMaze", grid=False)
    for action in WEST:
        with_grid, without = seen.step(action)[0], blind.step(action)[0]
        assert np.array_equal(with_grid[:-1], without)


def test_what_was_observed_stays_as_it_was() -> None:
    maze = started("KeyHallway")
    before = maze.step(RIGHT)[0]
    kept = before.copy()
    maze.step(RIGHT)
    assert np.array_equal(before, kept)


def test_the_terminal_step_has_no_position_and_names_the_rooms() -> None:
    steps = play(started("KeyHallway"), SOLUTIONS["KeyHallway"])
    assert steps[-1][4]["position"] is None
    assert steps[-1][4]["rooms_visited"] == ((),)
    assert "rooms_visited" not in steps[-2][4]


def test_the_time_limit_truncates_on_an_ordinary_step() -> None:
    steps = play(started("KeyHallway", max_steps=3), [RIGHT] * 5)
    assert len(steps) == 3
    assert steps[-1][2:4] == (False, True)
    assert steps[-1][4]["position"].x == 13
    assert steps[-1][4]["intrinsic"] == 1.0


def test_the_compass_points_to_the_nearest_untouched_tile() -> None:
    maze = started("KeyHallway", compass=True)
    steps = play(maze, [RIGHT, RIGHT, LEFT, LEFT, LEFT, *[RIGHT] * 11, *[LEFT] * 2])
    pointing = [step[0]["compass"].tolist() for step in steps]
    assert pointing[1] == [1, 0]  # at 12, with 10 to 12 touched
    assert pointing[3] == [-1, 0]  # back at 10: 9 is nearer than 13
    assert pointing[-1] == [-1, 0]  # nothing left but 8 and below


def test_the_compass_measures_by_the_way_to_walk_and_points_straight() -> None:
    maze = started("CrossMaze", compass=True)
    pointing = play(maze, WEST)[-1][0]["compass"]
    # From the end of the west branch, four cells in and one further: the east entrance.
    assert pointing.tolist() == [1, 0]
    pointing = play(maze, [*[RIGHT] * 5, LEFT, UP, DOWN, LEFT])[-1][0]["compass"]
    # One cell left of the middle, three entrances touched: the south's is one right, one down.
    assert pointing == pytest.approx([0.5**0.5, 0.5**0.5])


def test_the_compass_rests_when_all_is_touched() -> None:
    steps = play(started("KeyHallway", compass=True), [LEFT] * 10 + [RIGHT] * 20)
    assert steps[-2][0]["compass"].tolist() == [1, 0]
    assert steps[-1][0]["compass"].tolist() == [0, 0]


@pytest.mark.parametrize("name", MAZES)
def test_random_play_hardly_ever_succeeds(name: str) -> None:
    maze = MAZES[name](grid=False)
    won = 0
    for game in range(300):
        maze.reset()
        won += play(maze, randomly(maze, game, maze.max_steps))[-1][2]
    assert won < 3


def same(one: Any, other: Any) -> bool:
    if isinstance(one, dict):
        return one.keys() == other.keys() and all(same(one[key], other[key]) for key in one)
    if isinstance(one, np.ndarray):
        return np.array_equal(one, other)
    return bool(one == other)


@given(
    name=st.sampled_from(sorted(MAZES)),
    options=st.fixed_dictionaries(
        {
            "compass": st.booleans(),
            "graded": st.booleans(),
            "lifetime": st.sampled_from(["game", "never"]),
            "tile": st.integers(1, 4),
        }
    ),
    data=st.data(),
)
@settings(max_examples=50, deadline=None)
def test_a_restored_game_goes_on_as_if_nothing_had_happened(
    name: str, options: dict[str, Any], data: st.DataObject
) -> None:
    limit = {"max_steps": 40}
    maze = started(name, **options, **limit)
    actions = st.lists(st.integers(0, maze.actions - 1), max_size=60)
    for action in data.draw(actions):  # through game ends
        if any(maze.step(action)[2:4]):
            maze.reset()
    arrays, tree = to_arrays(maze.snapshot())
    other = started(name, **options, **limit)
    other.restore(from_arrays(arrays, json.loads(json.dumps(tree))))
    for action in data.draw(actions):
        here, there = maze.step(action), other.step(action)
        assert all(same(one, two) for one, two in zip(here, there, strict=True))
        if here[2] or here[3]:
            here, there = maze.reset(), other.reset()
            assert all(same(one, two) for one, two in zip(here, there, strict=True))
    assert maze.take_visits() == other.take_visits()
    assert maze.np_random.random() == other.np_random.random()


def test_a_snapshot_taken_after_the_end_still_asks_for_a_reset() -> None:
    over = started("KeyHallway")
    play(over, SOLUTIONS["KeyHallway"])
    maze = started("KeyHallway")
    maze.restore(over.snapshot())
    with pytest.raises(gym.error.ResetNeeded):
        maze.step(LEFT)


@pytest.mark.parametrize("missing", ["explorer", "cell", "halfway", "taken", "steps", "random"])
def test_a_truncated_snapshot_is_refused(missing: str) -> None:
    maze = started("CrossMaze")
    snapshot = maze.snapshot()
    del snapshot[missing]
    with pytest.raises(SnapshotError, match=missing):
        maze.restore(snapshot)


def test_a_foreign_snapshot_is_refused_and_changes_nothing() -> None:
    maze = started("KeyHallway")
    maze.step(RIGHT)
    before = maze.snapshot()
    foreign = [
        started("CrossMaze").snapshot(),
        started("KeyHallway", tile=4).snapshot(),
        maze.explorer.snapshot(),
        before | {"cell": [3, 3]},
    ]
    for snapshot in foreign:
        with pytest.raises(SnapshotError):
            maze.restore(snapshot)
        assert same(maze.snapshot(), before)


@pytest.mark.parametrize(("name", "shape"), [("KeyHallway", (48, 368)), ("CrossMaze", (176, 176))])
def test_a_picture_for_people_changes_as_the_player_walks(
    name: str, shape: tuple[int, int]
) -> None:
    maze = started(name, render_mode="rgb_array")
    before = maze.render()
    maze.step(RIGHT)
    after = maze.render()
    assert before is not None
    assert after is not None
    assert (before.shape, before.dtype) == ((*shape, 3), np.uint8)
    changed = (before != after).any(axis=(0, 2)).nonzero()[0]
    start = 16 * (11 if name == "KeyHallway" else 5)
    assert start <= changed.min()  # the start cell and the one to its right, and nothing else
    assert changed.max() < start + 32


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"render_mode": "human"}, "human"),
        ({"max_steps": 0}, "max_steps 0"),
        ({"lifetime": "always"}, "always"),
        ({"tile": 0}, "tile size of 0"),
    ],
)
def test_an_impossible_option_is_named(options: dict[str, Any], said: str) -> None:
    with pytest.raises(ValueError, match=said):
        KeyHallway(**options)


def test_an_impossible_action_is_named() -> None:
    with pytest.raises(ValueError, match="action 4; choose one from 0 to 3"):
        started("KeyHallway").step(ACT)
