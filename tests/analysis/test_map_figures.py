"""Maps: rooms coloured by who entered them, ways out of the first, tiles by how often."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import matplotlib
import numpy as np
import pytest
from generated import STEPS, make_group
from matplotlib.colors import LogNorm
from matplotlib.patches import Rectangle

from deepcs.analysis.groups import Group
from deepcs.analysis.map_figures import draw_visits, extent_of, map_figures, room_shares
from deepcs.analysis.room_figures import draw_rooms, draw_ways_out, explored, way_out
from deepcs.analysis.style import HEAT
from deepcs.curiosity.tiles import Tile
from deepcs.film import pyramid
from deepcs.runs.config import RunConfig

MONTEZUMA = RunConfig("MontezumaRevenge", steps=STEPS).resolved()


@pytest.fixture
def group(tmp_path: Path) -> Group:
    return make_group(
        tmp_path,
        MONTEZUMA,
        [
            ["1", "1;2", "1;2;6", "1;0"],  # east twice, west once
            ["1", "1;0;4", "1", "1"],  # west
            ["1", "1"],  # never
        ],
    )


def test_rooms_are_counted_by_runs_and_by_games(group: Group) -> None:
    found = explored(group)
    assert (found.runs, found.games, found.most) == (3, 10, 3)
    assert found.runs_in == {1: 3, 2: 1, 6: 1, 0: 2, 4: 1}
    assert found.games_in == {1: 10, 2: 2, 6: 1, 0: 2, 4: 1}
    assert found.run_ways == {"east": 1, "west": 1, "never": 1}
    assert found.game_ways == {"east": 2, "west": 2, "never": 6}


def test_the_way_out_is_the_second_room() -> None:
    assert [way_out(rooms) for rooms in ([1], [1, 2], [1, 0, 2], [1, 7])] == [
        *("never", "east", "west", "another way"),
    ]


def test_the_pyramid_is_coloured_by_the_shares(group: Group) -> None:
    figure = draw_rooms([group]).figure
    by_run = dict.fromkeys(pyramid.PLACES, 0.0) | {1: 1.0, 2: 1 / 3, 6: 1 / 3, 0: 2 / 3, 4: 1 / 3}
    by_game = dict.fromkeys(pyramid.PLACES, 0.0) | {1: 1.0, 2: 0.2, 6: 0.1, 0: 0.2, 4: 0.1}
    for axes, shares in zip(figure.axes, (by_run, by_game), strict=True):
        boxes = {int(p.get_label()): p for p in axes.patches if isinstance(p, Rectangle)}
        assert boxes.keys() == pyramid.PLACES.keys()
        for room, box in boxes.items():
            expected = matplotlib.colormaps[HEAT](shares[room]) if shares[room] else (1, 1, 1, 1)
            assert box.get_facecolor() == pytest.approx(expected)
            row, column = pyramid.PLACES[room]
            assert (int(box.get_x()), int(box.get_y())) == (column, row)
    assert {text.get_text() for text in figure.axes[0].texts} == {"100", "33", "67"}


def test_bars_of_the_ways_out_are_as_long_as_their_shares(group: Group) -> None:
    runs, games = draw_ways_out([group]).figure.axes
    for axes, expected in ((runs, [1 / 3, 1 / 3, 1 / 3]), (games, [0.2, 0.2, 0.6])):
        assert [bar.get_width() for bar in axes.patches] == pytest.approx(expected)
    assert [text.get_text() for text in runs.texts] == ["1", "1", "1"]


def test_tiles_are_drawn_where_they_are_on_the_screen(tmp_path: Path) -> None:
    visits: Counter[Tile] = Counter({((1,), 0, 9): 30, ((1,), 7, 0): 60, ((2,), 3, 3): 10})
    group = make_group(tmp_path, MONTEZUMA, [["1;2"]], [visits])
    extent = extent_of(group, visits)
    assert extent.y_up
    assert (len(extent.rows) - 1, len(extent.columns) - 1) == (8, 10)
    shares = room_shares(visits, (1,), extent)
    assert shares[0, 9] == 0.3
    assert shares[7, 0] == 0.6
    assert shares.sum() == pytest.approx(0.9)

    drawing = draw_visits([group])
    first, second = drawing.figure.axes[0].collections  # rooms 1 and 2, in order of the pyramid
    drawn = np.asarray(first.get_array()).reshape(8, 10)
    assert drawn[7, 9] == 0.3  # raw y grows upward: row 0 is the lowest on the screen
    assert drawn[0, 0] == 0.6
    assert isinstance(first.norm, LogNorm)
    assert first.norm.vmax == 0.6
    corners = [mesh.get_coordinates()[0, 0] for mesh in (first, second)]
    assert corners[1][0] > corners[0][0]
    assert corners[1][1] == corners[0][1]  # side by side in the top row


def test_numbers_of_a_heat_map_are_kept(tmp_path: Path) -> None:
    config = RunConfig("KeyHallway", steps=STEPS).resolved()
    visits: list[Counter[Tile]] = [
        Counter({((), 0, 3): 1}),
        Counter({((), 0, 3): 2, ((), 0, 5): 1}),
    ]
    group = make_group(tmp_path, config, [["."], ["."]], visits)
    (drawing,) = map_figures([group])
    assert drawing.name == "keyhallway-visits"
    assert drawing.data[0].rows == [
        ["DeepCS", ".", 0, 3, 3, 0.75],
        ["DeepCS", ".", 0, 5, 1, 0.25],
    ]


def test_worlds_without_visits_have_no_map(tmp_path: Path) -> None:
    config = RunConfig("Seaquest", steps=STEPS).resolved()
    assert list(map_figures([make_group(tmp_path, config, [["."]])])) == []


def test_of_many_rooms_the_busiest_are_shown(tmp_path: Path) -> None:
    config = RunConfig("Alien", steps=STEPS).resolved()
    visits: Counter[Tile] = Counter({((level, 0), 1, 1): 10 - level for level in range(6)})
    group = make_group(tmp_path, config, [["0.0"]], [visits])
    drawing = draw_visits([group])
    titles = [axes.get_title(loc="left") for axes in drawing.figure.axes[:4]]
    assert titles == [f"DeepCS · room {level}.0" for level in range(4)]
    assert "The 4 busiest of 6 rooms" in drawing.caption
    assert len(drawing.data[0].rows) == 6
