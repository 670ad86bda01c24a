"""Reports of worlds that the paper has not: a game of one's own, an environment of one's own."""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path

import pytest
from generated import ROWS, STEPS, experiment, make_study, results_of, run_path, write_run

from deepcs.analysis import report
from deepcs.analysis.curve_figures import curve_figures
from deepcs.analysis.games_figure import games_figure
from deepcs.analysis.paper_table import published_table
from deepcs.analysis.report import make_report
from deepcs.analysis.result_tables import games_table, scores_table
from deepcs.curiosity import games
from deepcs.curiosity.game import Game, Screen, at
from deepcs.curiosity.tiles import Bounds
from deepcs.runs.train import train
from deepcs.studies.folder import StudyFolder
from deepcs.studies.study import read_study

HERO = Game(
    name="Hero",
    x=0x9B,
    y=0x9F,
    bounds=Bounds(0, 0, 160, 120),
    screen=Screen(1, 0, 1, 20),
    room=at(0x9C),
)


@pytest.fixture
def hero(monkeypatch: pytest.MonkeyPatch) -> str:
    """A thirteenth game, of which nothing is published."""
    known = vars(games).get("_registered", vars(games).get("_GAMES"))
    monkeypatch.setitem(known, HERO.name, HERO)
    return HERO.name


def test_a_game_of_ones_own_has_scores_and_no_published_ones(tmp_path: Path, hero: str) -> None:
    results = results_of(tmp_path, experiment(hero, ["deepcs", "plain"], 5))
    table = scores_table(results)
    human = [column.name for column in table.columns].index("human")
    assert [row[human] for row in table.rows] == [None, None]
    assert list(published_table(results)) == []
    assert list(games_figure(results)) == []
    (drawing,) = curve_figures(results.groups)
    assert drawing.paper == "Ours: not in the paper."
    (facts,) = games_table(results)
    assert facts.rows[0][:3] == ["Hero", "0x9B", "0x9F"]


def test_beside_a_game_of_the_papers_it_has_no_row_in_table_1(tmp_path: Path, hero: str) -> None:
    results = results_of(
        tmp_path, experiment("Freeway", ["deepcs"], 2), experiment(hero, ["deepcs"], 2)
    )
    (table,) = published_table(results)
    assert len(table.rows) == 13
    assert not any("Hero" in str(row[0]) for row in table.rows)


@pytest.mark.long
def test_the_report_of_a_game_of_ones_own_is_whole(tmp_path: Path, hero: str) -> None:
    swept = experiment(hero, ["deepcs"], 2, "sweep = { tile = [8] }")
    text = experiment(hero, ["deepcs", "plain", "no-grid"], 2, "agents = ['a2c', 'acktr']")
    study = read_study("made", "\n".join((text, swept)))
    StudyFolder(tmp_path).take(study)
    for run in study.runs:
        visits = Counter({((1,), 2, 3): 5, ((2,), 0, 0): 1})
        write_run(run_path(tmp_path, run), run.config, [5.0] * ROWS, ["1;2"], visits)
    page = make_report(tmp_path, games=3).read_text()
    for name in ("main", "controls", "acktr-against-a2c", "visits", "sweep-deepcs-tile"):
        assert f'id="hero-{name}"' in page
    assert "The paper's DeepCS" not in page


def test_a_maze_has_no_figure_of_the_papers(tmp_path: Path) -> None:
    make_study(tmp_path, experiment("KeyHallway", ["deepcs", "plain", "never-reset"], 2))
    page = make_report(tmp_path, games=0).read_text()
    assert "In the paper:" not in page
    assert set(re.findall(r'<p class="paper">(.*?)</p>', page)) == {"Ours: not in the paper."}


OWN = """
import gymnasium
import numpy as np
from deepcs import Bounds, CuriosityWrapper, Position


class Line(gymnasium.Env):
    observation_space = gymnasium.spaces.Box(0, 255, (1, 1, 8), np.uint8)
    action_space = gymnasium.spaces.Discrete(2)

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.at, self.played = 0, 0
        return self._see(), {}

    def step(self, action):
        self.at = min(max(self.at + 2 * int(action) - 1, 0), 7)
        self.played += 1
        return self._see(), float(self.at == 7), self.played == 20, False, {}

    def _see(self):
        seen = np.zeros((1, 1, 8), np.uint8)
        seen[0, 0, self.at] = 255
        return seen


def make(grid=True, lifetime="game"):
    return CuriosityWrapper(
        Line(), locate=lambda env, seen, info: Position(env.unwrapped.at, 0),
        bounds=Bounds(0, 0, 8, 1), tile=1, grid=grid, lifetime=lifetime,
    )
"""


def test_an_environment_of_ones_own_that_cannot_be_seen_has_a_report_without_pictures(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "line_world.py").write_text(OWN)
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(report, "VIDEO_STEPS", 20)
    settings = "settings = { actors = 4, log_every = 400 }"
    text = experiment("line_world:make", ["deepcs", "plain"], 1, settings)
    study = read_study("line", text.replace(str(STEPS), "800"))
    folder = StudyFolder(tmp_path / "study")
    folder.path.mkdir()
    folder.take(study)
    for run in study.runs:
        train(run.config, folder.run_path(run), workers=1)
    page = make_report(folder.path, games=2).read_text()
    for name in ("main", "visits", "distributions"):
        assert f'id="line-world-make-{name}"' in page
    assert page.count("No video: Line shows no picture;") == 2
    assert "-panel" not in page
    assert list((folder.report / "videos").iterdir()) == []
