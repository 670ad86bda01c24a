"""Runs from Python: logs as arrays, the agent to play with, evaluation."""

from __future__ import annotations

import csv
import gzip
import hashlib
import shutil
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from deepcs.runs.checkpoint import CheckpointError
from deepcs.runs.config import RunConfig
from deepcs.runs.errors import RunError
from deepcs.runs.evaluate import evaluate, save_evaluation
from deepcs.runs.folder import RunFolder, Segment
from deepcs.runs.load import load_run
from deepcs.runs.logs import TIME_COLUMNS
from deepcs.runs.train import train
from deepcs.runs.trained import load_agent

HALLWAY = RunConfig("KeyHallway", steps=4_000, actors=4, log_every=300, checkpoint_every=1_000)


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("run") / "run"
    train(HALLWAY, out)
    return out


def hashes(folder: Path) -> dict[str, str]:
    files = sorted(path for path in folder.rglob("*") if path.is_file())
    return {str(path): hashlib.sha256(path.read_bytes()).hexdigest() for path in files}


def test_arrays_equal_the_csvs(run: Path) -> None:
    logs = load_run(run)
    assert logs.config == HALLWAY.resolved().fitted()
    assert logs.segments == (Segment(0, 4_000),)
    for name, columns in (("curve.csv", logs.curve), ("games.csv", logs.games)):
        with (run / name).open(newline="") as file:
            rows = list(csv.DictReader(file))
        assert rows
        for column, array in columns.items():
            assert array.dtype == np.float64
            expected = [float(row[column]) if row[column] else np.nan for row in rows]
            np.testing.assert_array_equal(array, expected)
    assert logs.game_rooms == [((),)] * len(logs.games["step"])  # a maze is one nameless room
    assert logs.curve["step"].tolist() == [*range(300, 4_000, 300), 4_000]
    assert np.isnan(logs.curve["score"][0])  # no game has ended by step 300
    assert {*logs.curve} > {*TIME_COLUMNS}


def test_compressed_logs_are_read_as_they_were(run: Path, tmp_path: Path) -> None:
    shutil.copyfile(run / "config.json", tmp_path / "config.json")
    for name in ("curve.csv", "games.csv"):
        (tmp_path / f"{name}.gz").write_bytes(gzip.compress((run / name).read_bytes()))
    whole, kept = load_run(run), load_run(tmp_path)
    np.testing.assert_equal((kept.curve, kept.games), (whole.curve, whole.games))
    (tmp_path / "curve.csv.gz").write_bytes(b"\x1f\x8b\x08")
    with pytest.raises(RunError, match=r"curve.csv cannot be read \(.*\); restore it from a copy"):
        load_run(tmp_path)


def test_visits_count_every_entered_tile(run: Path) -> None:
    """Each game enters its start tile, and at least as many tiles as it paid for."""
    logs = load_run(run)
    assert logs.visit_rooms == [()]
    assert (logs.visits["entries"] > 0).all()
    assert set(logs.visits["step"]) <= set(logs.curve["step"])
    paid = logs.games["intrinsic"].sum() + len(logs.games["step"])
    assert logs.visits["entries"].sum() >= paid


def test_a_row_that_is_still_being_written_is_left_out(run: Path) -> None:
    whole = load_run(run)
    curve = (run / "curve.csv").read_bytes()
    try:
        for cut in (1, 5, 20):
            (run / "curve.csv").write_bytes(curve[:-cut])
            assert len(load_run(run).curve["step"]) == len(whole.curve["step"]) - 1
        (run / "curve.csv").write_bytes(curve[:10])  # not even a header
        assert len(load_run(run).curve["step"]) == 0
    finally:
        (run / "curve.csv").write_bytes(curve)


def test_a_run_that_has_just_begun_has_empty_logs_and_no_agent(tmp_path: Path) -> None:
    folder = RunFolder(tmp_path)
    folder.write_config(HALLWAY.resolved(), [Segment(0, 4_000)])
    logs = load_run(tmp_path)
    assert len(logs.curve["score"]) == len(logs.games["score"]) == len(logs.visits["step"]) == 0
    with pytest.raises(CheckpointError, match="has no checkpoint yet; wait for its first"):
        load_agent(tmp_path)


def test_damaged_logs_are_refused(run: Path) -> None:
    curve = (run / "curve.csv").read_bytes()
    try:
        for damaged in (
            b"a,b\n1,2\n",
            curve.replace(b"4000,", b"4000,,"),
            curve.replace(b"\n300,", b"\n3x0,"),
        ):
            (run / "curve.csv").write_bytes(damaged)
            with pytest.raises(RunError, match="damaged"):
                load_run(run)
    finally:
        (run / "curve.csv").write_bytes(curve)


def test_a_loaded_agent_acts_by_its_policy(run: Path) -> None:
    agent = load_agent(run)
    assert agent.step == 4_000
    envs = agent.make_envs(64, seed=3, workers=0)
    observations, _ = envs.reset()
    envs.close()
    policy = agent.policy(observations)
    np.testing.assert_allclose(policy.sum(1), 1, rtol=1e-5)
    np.testing.assert_array_equal(agent.act(observations), policy.argmax(1))
    one, other = (agent.act(observations, np.random.default_rng(5)) for _ in range(2))
    np.testing.assert_array_equal(one, other)
    rng = np.random.default_rng(0)  # all see the same start: frequencies near the policy
    drawn = np.bincount(
        np.concatenate([agent.act(observations, rng) for _ in range(100)]), minlength=4
    )
    np.testing.assert_allclose(drawn / drawn.sum(), policy[0], atol=0.03)


def test_an_agent_of_an_earlier_step_is_another_agent(run: Path) -> None:
    early, late = load_agent(run, step=3_000), load_agent(run)
    assert (early.step, late.step) == (3_000, 4_000)
    envs = late.make_envs(1, seed=0, workers=0)
    observations, _ = envs.reset()
    envs.close()
    assert not np.array_equal(early.policy(observations), late.policy(observations))
    with pytest.raises(CheckpointError, match="no checkpoint of step 17; choose one of 3000, 4000"):
        load_agent(run, step=17)


def test_evaluation_repeats_for_a_seed_whatever_the_workers_and_touches_nothing(
    run: Path, tmp_path: Path
) -> None:
    before = hashes(run)
    agent = load_agent(run)
    one = evaluate(agent, games=20, seed=7, workers=0)
    assert len(one.games) == 20
    assert one == evaluate(agent, games=20, seed=7, workers=2)
    assert one != evaluate(agent, games=20, seed=8, workers=0)
    greedy = evaluate(agent, games=3, greedy=True, workers=0)
    assert greedy == evaluate(agent, games=3, greedy=True, workers=0)
    save_evaluation(tmp_path / "evaluation.csv", one)
    with (tmp_path / "evaluation.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert [float(row["score"]) for row in rows] == one.scores.tolist()
    assert [int(row["tiles"]) for row in rows] == one.tiles.tolist()
    assert hashes(run) == before
    with pytest.raises(ValueError, match="Got 0 games; give a whole number from 1 up"):
        evaluate(agent, games=0)


def test_a_never_reset_agent_is_evaluated_on_empty_grids(tmp_path: Path) -> None:
    train(replace(HALLWAY, treatment="never-reset", steps=20), tmp_path)
    envs = load_agent(tmp_path).make_envs(1, seed=0, workers=0)
    envs.reset()
    for _ in range(400):  # two and a half games
        _, _, _, _, infos = envs.step(np.array([1]))
    envs.close()
    assert infos["tiles"][0] == 11  # from the middle to the right end, again in the third game


def test_training_leaves_the_arithmetic_of_the_process_as_it_was(run: Path) -> None:
    """Training flushes subnormal numbers to zero, for speed; a notebook must not find that."""
    assert np.float64(5e-324) * 1.0 > 0
