"""Runs know what made them: other formats, other sources, and runs of deepcs 0.1."""

from __future__ import annotations

import json
import shutil
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import deepcs
from deepcs.agents.a2c import A2CSettings
from deepcs.runs.config import RunConfig
from deepcs.runs.errors import RunError
from deepcs.runs.evaluate import evaluate
from deepcs.runs.folder import RunFolder, digest_of
from deepcs.runs.load import load_run, read_curve
from deepcs.runs.logs import CsvLog
from deepcs.runs.progress import Silence
from deepcs.runs.saved_config import from_json, to_json
from deepcs.runs.train import resume, train
from deepcs.runs.trained import load_agent
from deepcs.runs.versions import source_digest

HALLWAY = RunConfig("KeyHallway", steps=400, actors=4, log_every=200)
OLD_STUDY = Path(__file__).parents[1] / "data" / "study-0.1"
OLD_RUNS = sorted((OLD_STUDY / "runs").iterdir())


class Listener(Silence):
    def __init__(self) -> None:
        self.said: list[str] = []

    def say(self, text: str) -> None:
        self.said.append(text)


def rewritten(run: Path, **changes: object) -> None:
    path = run / "config.json"
    content = {**json.loads(path.read_text()), **changes}
    del content["digest"]
    path.write_text(json.dumps(content | {"digest": digest_of(content)}))


def test_every_choice_is_frozen_into_the_config(tmp_path: Path) -> None:
    train(HALLWAY, tmp_path / "maze")
    saved = json.loads((tmp_path / "maze" / "config.json").read_text())
    assert saved["versions"]["deepcs"] == deepcs.__version__
    assert saved["versions"]["sources"] == source_digest()
    assert saved["config"]["network"] == "fast"
    assert saved["config"]["learner"]["n_steps"] == 5
    assert saved["config"]["tile"] == 1
    atari = RunConfig("montezuma_revenge", steps=1).resolved()
    assert (atari.tile, atari.weight, atari.max_frames) == (16, 0.25, 400_000)


def test_a_run_of_other_sources_goes_on_and_says_that_it_may_not_be_exact(tmp_path: Path) -> None:
    train(HALLWAY, tmp_path)
    saved = RunFolder(tmp_path).read_config()
    rewritten(tmp_path, versions={**saved.versions, "sources": "0" * 64})
    listener = Listener()
    assert resume(tmp_path, steps=800, display=listener) is None
    assert any("begun by other sources of deepcs" in said for said in listener.said)
    assert load_agent(tmp_path).step == 800
    train(HALLWAY, tmp_path / "same")
    listener = Listener()
    resume(tmp_path / "same", steps=800, display=listener)
    assert not any("other sources" in said for said in listener.said)


def test_a_format_of_the_future_is_refused_by_everyone(tmp_path: Path) -> None:
    train(HALLWAY, tmp_path)
    rewritten(tmp_path, format=3, versions={"deepcs": "9.9"})
    for use in (load_run, load_agent, resume):
        with pytest.raises(RunError, match=r"format 3, this deepcs reads .* 1 and 2; .*9\.9"):
            use(tmp_path)


@pytest.mark.parametrize("run", OLD_RUNS, ids=lambda run: run.name)
def test_a_run_of_version_0_1_is_read_and_played(run: Path) -> None:
    logs = load_run(run)
    assert logs.curve["step"].tolist() == [800, 1600]
    assert np.isfinite(logs.curve["entropy"]).all()
    assert len(logs.games["score"]) == 8
    assert np.isnan(read_curve(run, ["explained_variance"])["explained_variance"]).all()
    agent = load_agent(run)
    assert agent.step == 1600
    assert agent.config.learner == A2CSettings()
    assert agent.config.treatment == ("plain" if "-a2c-" in run.name else "deepcs")
    assert len(evaluate(agent, games=2, workers=0).games) == 2


def test_a_run_of_version_0_1_is_not_trained_on(tmp_path: Path) -> None:
    run = shutil.copytree(OLD_RUNS[0], tmp_path / "run")
    before = {path: path.read_bytes() for path in run.rglob("*") if path.is_file()}
    with pytest.raises(RunError, match=r"by deepcs 0\.1\.0 \(format 1\).* install that version"):
        resume(run)
    assert {path: path.read_bytes() for path in before} == before


def test_a_column_more_or_less_is_no_damage(tmp_path: Path) -> None:
    train(HALLWAY, tmp_path)
    curve = tmp_path / "curve.csv"
    curve.write_text("".join(f"{line},7\n" for line in curve.read_text().splitlines()))
    curve.write_text(curve.read_text().replace("seconds,7", "seconds,new", 1))
    assert load_run(tmp_path).curve["new"].tolist() == [7.0, 7.0]


def test_settings_that_learners_got_later_are_saved_only_where_they_have_an_effect() -> None:
    """So that a run from before them has the same identity, and goes on."""
    saved = to_json(HALLWAY.resolved())
    assert "imitation" not in saved["learner"]
    assert from_json(saved) == HALLWAY.resolved()
    imitating = replace(HALLWAY, learner=A2CSettings(imitation=1)).resolved()
    assert to_json(imitating)["learner"]["imitation_samples"] == 16_384
    assert from_json(to_json(imitating)) == imitating


def test_a_log_goes_on_with_the_columns_that_it_has(tmp_path: Path) -> None:
    log = CsvLog(tmp_path / "log.csv", ("a", "b"), None)
    log.append({"a": 1, "b": 2})
    stand = log.sync()
    log.close()
    later = CsvLog(tmp_path / "log.csv", ("a", "new", "b"), stand)
    later.append({"a": 3, "new": 4, "b": 5})
    later.close()
    assert (tmp_path / "log.csv").read_text() == "a,b\n1,2\n3,5\n"
