"""Figure 3: rooms of the best agent and of one that goes west, or a sentence that there is none."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest
from generated import STEPS, make_group
from matplotlib.axes import Axes
from matplotlib.colors import to_rgba
from matplotlib.patches import Rectangle

from deepcs.analysis.agent_rooms import (
    FILL,
    PALE_FILL,
    agent_room_figures,
    best_agent,
    draw_agents,
    west_agent,
)
from deepcs.analysis.distributions import Best
from deepcs.analysis.groups import Group
from deepcs.curiosity.tiles import Room
from deepcs.envs.seats import GameRecord
from deepcs.runs.config import RunConfig
from deepcs.runs.evaluate import Evaluation

MONTEZUMA = RunConfig("MontezumaRevenge", steps=STEPS).resolved()
ORDERS = [
    ["1", "1;2;6;7", "1;2;6", "1;0"],  # of three that leave, one goes west
    ["1", "1", "1;0;4;3", "1;0", "1;0;9", "1;2"],  # of four, three
    ["1", "1;2"],
]


@pytest.fixture
def group(tmp_path: Path) -> Group:
    return make_group(tmp_path, MONTEZUMA, ORDERS, scores=[7.0, 5.0, 6.0])


def filled(axes: Axes) -> dict[float, set[int]]:
    """Rooms by how strongly they are filled."""
    boxes = {int(p.get_label()): p for p in axes.patches if isinstance(p, Rectangle)}
    assert len(boxes) == 24
    return {
        strength: {n for n, box in boxes.items() if box.get_facecolor() == to_rgba(FILL, strength)}
        for strength in (1, PALE_FILL)
    }


def told(axes: Axes) -> str:
    return axes.texts[-1].get_text().replace("\n", " ")


def evaluated(group: Group, run: int, orders: Sequence[Sequence[int]]) -> Best:
    """The best policy with games of these rooms."""

    def rooms(order: Sequence[int]) -> tuple[Room, ...]:
        return tuple((room,) for room in order)

    games = tuple(GameRecord(0.0, 0.0, 0, 1, rooms(order)) for order in orders)
    return Best(group, group.runs[run], len(group.runs), STEPS, "key", Evaluation(games))


def test_the_agent_that_goes_west_is_the_one_most_given_to_it_in_its_westward_games(
    group: Group,
) -> None:
    west = west_agent(group)
    assert west is not None
    assert west.run.config.seed == 1
    assert west.widest == (1, 0, 4, 3)
    assert west.games_in == {1: 3, 0: 3, 4: 1, 3: 1, 9: 1}
    assert west.games == 3


def test_the_best_agent_is_the_best_policy_in_its_evaluation(group: Group) -> None:
    best = best_agent(group, evaluated(group, 1, [[1], [1, 2, 6], [1, 2, 3], [1, 2, 6]]))
    assert best is not None
    assert best.run is group.runs[1]
    assert best.widest == (1, 2, 6)  # as wide as the other, and twice
    assert best.games_in == {1: 4, 2: 3, 6: 2, 3: 1}


def test_without_an_evaluation_the_best_agent_has_the_highest_score_at_the_end(
    group: Group,
) -> None:
    best = best_agent(group, None)
    assert best is not None
    assert best.run.config.seed == 0
    assert best.widest == (1, 2, 6, 7)


def test_rooms_are_filled_as_in_the_papers_figure_3_west_on_the_left(group: Group) -> None:
    drawing = draw_agents([group], {group: evaluated(group, 0, [[1, 2, 6], [1, 0]])})
    left, right = drawing.figure.axes
    assert left.get_title(loc="left").startswith("An agent that goes west")
    assert filled(left) == {1: {0, 1, 3, 4}, PALE_FILL: {9}}
    assert filled(right) == {1: {1, 2, 6}, PALE_FILL: {0}}
    assert told(left) == (
        "Seed 1: 4 rooms in one game. Of its games that leave the first room, 3 of 4 go west."
    )
    assert told(right) == "Seed 0: 3 rooms in one game, 4 in all of 2 games."
    assert drawing.paper == "In the paper: Figure 3."
    assert "The paper's best agent explores 15 rooms, and 3 of its 25 runs go west." in (
        drawing.caption
    )
    assert "DeepCS (n = 3): 2 of the runs ever went west, 1 mostly." in drawing.caption
    entered = {row[3] for row in drawing.data[0].rows if row[1] == "The best agent" and row[5]}
    assert entered == {0, 1, 2, 6}


def test_where_no_agent_went_west_or_left_the_first_room_the_figure_says_so(
    tmp_path: Path,
) -> None:
    stays = make_group(tmp_path / "stays", MONTEZUMA, [["1", "1"], ["1"]])
    left, right = draw_agents([stays], {}).figure.axes
    assert told(left) == "None: no game of 3 left the first room."
    assert filled(left) == {1: set(), PALE_FILL: set()}
    assert told(right) == "Seed 0: never left the first room in 2 games in training."
    assert filled(right) == {1: {1}, PALE_FILL: set()}
    east = make_group(tmp_path / "east", MONTEZUMA, [["1", "1;2"]])
    left, _ = draw_agents([east], {}).figure.axes
    assert told(left) == "None: of 2 games, 1 left the first room, none westward."


def test_figure_3_is_of_deepcs_in_montezumas_revenge_only(tmp_path: Path) -> None:
    plain = RunConfig("MontezumaRevenge", "plain", steps=STEPS).resolved()
    other = RunConfig("Seaquest", steps=STEPS).resolved()
    for name, config in (("plain", plain), ("other", other)):
        assert list(agent_room_figures([make_group(tmp_path / name, config, [["1"]])], [])) == []
    without_games = make_group(tmp_path / "none", MONTEZUMA, [[]])
    assert list(agent_room_figures([without_games], [])) == []
