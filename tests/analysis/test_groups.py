"""Runs into groups: who counts, who is missing, what is kept of a run."""

from __future__ import annotations

import dataclasses
from collections import Counter
from pathlib import Path

import numpy as np
import pytest
from generated import ROWS, STEPS, experiment, group_of, level, make_study, results_of, run_path
from generated import write_run as write

from deepcs.analysis.groups import collect, common_steps, gather, named, total_visits
from deepcs.curiosity.novelty import Novelty
from deepcs.runs.config import RunConfig
from deepcs.runs.errors import RunError
from deepcs.runs.load import load_run, read_curve, summarise_games
from deepcs.runs.logs import VisitLog

PAIR = experiment("Freeway", ["deepcs", "plain"], 3)


def test_groups_hold_the_runs_that_differ_in_their_seed_alone(tmp_path: Path) -> None:
    sweep = experiment("Freeway", ["deepcs"], 2, "sweep = { tile = [10, 40] }")
    results = results_of(tmp_path, PAIR, sweep)
    names = [(group.label, len(group.runs), group.planned) for group in results.groups]
    assert names == [
        ("DeepCS", 3, 3),
        ("A2C", 3, 3),
        ("DeepCS, tile=10", 2, 2),
        ("DeepCS, tile=40", 2, 2),
    ]
    assert [group.label for group in results.of("Freeway")] == ["DeepCS", "A2C"]
    assert [run.config.seed for run in results.groups[0].runs] == [0, 1, 2]


def test_missing_unfinished_and_damaged_runs_are_told_apart(tmp_path: Path) -> None:
    study = make_study(tmp_path, experiment("Freeway", ["deepcs"], 5))
    whole, cut, unborn, damaged, begun = (run_path(tmp_path, run) for run in study.runs)
    curve = (cut / "curve.csv").read_bytes()
    (cut / "curve.csv").write_bytes(curve[:-5])  # the last row is still being written
    for path in unborn.iterdir():
        path.unlink()
    (damaged / "games.csv").write_text("no,games\n1,2\n")
    (begun / "curve.csv").unlink()
    results = collect(study, tmp_path)
    (group,) = results.groups
    assert [run.path for run in group.runs] == [whole, cut]
    assert [run.path for run in group.finished] == [whole]
    assert named(group) == "DeepCS (n = 2 of 5)"
    assert (results.finished, results.planned) == (1, 5)
    (problem,) = results.problems
    assert problem == f"{damaged / 'games.csv'} is damaged; restore it from a copy."


def test_a_study_without_a_finished_run_is_refused_in_one_sentence(tmp_path: Path) -> None:
    study = make_study(tmp_path, PAIR, scores=lambda config: level(config)[:-1])
    with pytest.raises(RunError, match=r"^No run of study made is finished in .*; finish some"):
        collect(study, tmp_path)


def test_final_scores_are_those_of_finished_runs_that_ended_a_game(tmp_path: Path) -> None:
    def scores(config: RunConfig) -> list[float]:
        if config.seed == 0:
            return [np.nan] * ROWS
        return level(config)[: ROWS - (config.seed == 1)]

    results = results_of(tmp_path, experiment("Freeway", ["deepcs"], 4), scores=scores)
    assert group_of(results, "deepcs").final_scores().tolist() == [1002, 1003]


def test_runs_are_compared_at_no_more_steps_than_they_logged(tmp_path: Path) -> None:
    steps = common_steps(results_of(tmp_path, PAIR).groups)
    assert steps.tolist() == [STEPS // ROWS * row for row in range(1, ROWS + 1)]


def test_visits_are_summed_over_all_intervals(tmp_path: Path) -> None:
    log = VisitLog(tmp_path / "visits.npz", None)
    log.append(100, Counter({((1,), 0, 2): 3, ((2,), 7, 9): 1}))
    log.append(200, Counter({((1,), 0, 2): 4, ((1,), -1, 2): 5}))
    log.write()
    assert total_visits(tmp_path / "visits.npz") == {
        ((1,), 0, 2): 7,
        ((2,), 7, 9): 1,
        ((1,), -1, 2): 5,
    }
    assert total_visits(tmp_path / "none.npz") == Counter()


def test_reading_a_part_of_the_logs_gives_what_reading_them_all_gives(tmp_path: Path) -> None:
    config = RunConfig("MontezumaRevenge", steps=STEPS).resolved()
    write(tmp_path / "run", config, [np.nan, 1, 2.5], ["1", "1;2", "1", "", "1;0;4"])
    logs = load_run(tmp_path / "run")
    curve = read_curve(tmp_path / "run")
    assert curve.keys() == logs.curve.keys()
    for name, column in curve.items():
        np.testing.assert_array_equal(column, logs.curve[name])
    summary = summarise_games(tmp_path / "run", logs.config.world)
    assert summary.room_orders == Counter(logs.game_rooms)
    assert summary.milestones == logs.milestones
    assert logs.game_rooms[4] == ((1,), (0,), (4,))


def test_seeds_that_chose_other_pictures_are_one_group_and_given_sizes_are_several(
    tmp_path: Path,
) -> None:
    config = RunConfig("Venture", treatment="deepcs-pixels", steps=1000, shards=1, device="cpu")
    for seed, width in ((0, 7), (1, 8), (2, 11)):
        novelty = Novelty(place="pixels", width=width, height=7, levels=16)
        mine = dataclasses.replace(config.resolved(), seed=seed, novelty=novelty)
        write(tmp_path / f"run{seed}", mine, [0.0] * ROWS)
    paths = sorted(tmp_path.iterdir())
    assert [len(group.runs) for group in gather(paths).groups] == [3]
    again = dataclasses.replace(mine, seed=0)
    write(tmp_path / "swept", again, [0.0] * ROWS)
    groups = gather([*paths, tmp_path / "swept"]).groups
    assert sorted(len(group.runs) for group in groups) == [1, 1, 2]
