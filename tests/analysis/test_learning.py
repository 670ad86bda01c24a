"""How soon single runs learn: known games in, known shares out."""

from __future__ import annotations

from pathlib import Path

import pytest
from generated import ROWS, write_run

from deepcs.analysis.learning import (
    EVALUATIONS,
    Stretch,
    evaluation_table,
    first_steps,
    learning_figure,
    learning_table,
    run_names,
    stretches,
    tuning_table,
    varied_settings,
)
from deepcs.runs.config import RunConfig
from deepcs.runs.load import load_run

GAMES = """\
100,0,0.0,1.0,2,100,1
900,0,100.0,2.0,2,100,1;2
1000,1,500.0,3.0,2,100,1
2300,0,400.0,8.0,2,100,1;2;1
"""


@pytest.fixture
def run(tmp_path: Path) -> Path:
    path = tmp_path / "mine"
    latest = [7.0 if row * 2_500 // ROWS <= 1_000 else 9.0 for row in range(1, ROWS + 1)]
    write_run(path, RunConfig("MontezumaRevenge", steps=2_500), latest)
    with (path / "games.csv").open("a") as file:
        file.write(GAMES)
    return path


def test_a_stretch_has_the_games_that_ended_in_it(run: Path) -> None:
    # From 1,001 to 2,000 no game ended; the last stretch reaches back over a whole length.
    assert [*stretches(load_run(run), 1_000)] == [
        Stretch(1_000, 3, 2 / 3, 1 / 3, 200.0, 500.0, 2.0, 7.0),
        Stretch(2_500, 1, 1.0, 1.0, 400.0, 400.0, 8.0, 9.0),
    ]


def test_the_table_has_a_row_a_stretch_and_the_figure_a_line_a_run(run: Path) -> None:
    assert [row[:2] for row in learning_table([run], 1_000, None).shown()] == [
        ["`mine`", "1,000"],
        ["`mine`", "2,500"],
    ]
    drawing = learning_figure([run])
    shares, scores = drawing.figure.axes
    assert [list(line.get_ydata()) for line in shares.get_lines()] == [[75.0]]
    assert [list(line.get_ydata()) for line in scores.get_lines()] == [[9.0]]


def test_where_every_game_has_points_only_scores_are_drawn(tmp_path: Path) -> None:
    run = tmp_path / "mine"
    write_run(run, RunConfig("Freeway", steps=2_500), [21.0] * ROWS)
    with (run / "games.csv").open("a") as file:
        file.write("900,0,20.0,2.0,2,100,1\n1000,1,22.0,3.0,2,100,1\n")
    figure = learning_figure([run]).figure
    (scores,) = figure.axes
    assert [list(line.get_ydata()) for line in scores.get_lines()] == [[21.0]]
    assert "left" not in figure.get_supxlabel()


def test_milestones_are_steps_and_what_was_not_reached_is_left_open(run: Path) -> None:
    (row,) = first_steps([run]).shown()
    # The key with the game of step 900, 400 points with that of step 1,000.
    assert row[:6] == ["`mine`", "900", "900", "1,000", "–", "–"]
    assert row[6] == "2,500"


def test_settings_that_runs_share_or_that_change_nothing_are_left_out(tmp_path: Path) -> None:
    first = RunConfig("MontezumaRevenge", steps=2_000)
    second = RunConfig("MontezumaRevenge", steps=1_000, seed=1, log_every=80, actors=8)
    runs = tmp_path / "mine", tmp_path / "yours"
    for run, config in zip(runs, (first, second), strict=True):
        write_run(run, config.resolved(), [0.0] * ROWS)
    table = varied_settings(runs)
    assert [column.name for column in table.columns] == ["run", "seed", "actors"]
    assert table.shown() == [["`mine`", "0", "16"], ["`yours`", "1", "8"]]


def test_the_settings_that_most_runs_have_count_as_unchanged(tmp_path: Path) -> None:
    changes: list[dict[str, int]] = [{}, {"actors": 8}, {"seed": 1}]
    runs = [tmp_path / str(number) for number in range(3)]
    for run, change in zip(runs, changes, strict=True):
        config = RunConfig("MontezumaRevenge", steps=2_500, **change).resolved()
        write_run(run, config, [0.0] * ROWS)
        with (run / "games.csv").open("a") as file:
            file.write(GAMES)
    rows = tuning_table(runs, 1_000).shown()
    assert [row[1:3] for row in rows] == [["nothing", "0"], ["nothing", "1"], ["actors 8", "0"]]
    assert rows[0][3:6] == ["2,560", "100 %", "100 %"]


def test_evaluations_have_a_row_a_checkpoint_in_order_of_steps(run: Path) -> None:
    head = "game,score,intrinsic,tiles,steps,rooms\n"
    played = "0,0.0,1.0,10,100,1\n1,400.0,1.0,20,300,1;2\n2,100.0,1.0,60,200,1\n"
    (run / EVALUATIONS.format(1_000)).write_text(f"{head}{played}")
    (run / EVALUATIONS.format("greedy-200")).write_text(f"{head}0,0.0,1.0,10,100,1\n")
    assert [row[1:] for row in evaluation_table([run]).shown()] == [
        ["200", "likeliest", "1", "0 %", "0 %", "0", "0", "0", "0", "0", "0", "10", "100"],
        ["1,000", "drawn", "3", "67 %", "33 %", "167", "0", "50", "100", "250", "400", "20", "200"],
    ]


def test_runs_are_named_in_words_without_what_all_of_them_share(run: Path) -> None:
    names = "montezuma-tuned-seed0", "montezuma-tuned-seed12", "montezuma-rate-value"
    paths = [Path("logs") / name for name in names]
    assert run_names(paths) == ["tuned, seed 0", "tuned, seed 12", "rate value"]
    assert run_names([Path("montezuma"), Path("montezuma-wide")]) == ["montezuma", "montezuma wide"]
    (label,) = (text.get_text() for text in learning_figure([run]).figure.legends[0].get_texts())
    assert label == "mine"


def test_the_figure_itself_says_what_it_shows(run: Path) -> None:
    told = learning_figure([run]).figure.get_supxlabel()
    assert "one run" in told
    assert "last 100,000 steps" in told
