"""Code that a folder names: the studio looks at it without importing anything."""

from __future__ import annotations

import dataclasses
import json
import shutil
import sys
from pathlib import Path

import pytest
from serving import page, serving

from deepcs.agents.ppo_settings import PPOSettings
from deepcs.runs.config import RunConfig
from deepcs.runs.folder import RunFolder, digest_of
from deepcs.runs.lease import Lease, Terms
from deepcs.runs.train import train

EVIL = """
from pathlib import Path
Path({mark!r}).touch()
from deepcs.envs.mazes import KeyHallway
def make(grid=True, tile=None, render_mode=None):
    return KeyHallway(grid=grid, tile=tile or 1, render_mode=render_mode)
"""


def name_code(run: Path, world: str) -> None:
    """A run's settings as somebody else would have them, with a world of their own."""
    saved = json.loads((run / "config.json").read_text())
    saved["accepted"] = [RunFolder(run).read_config().identity]
    saved["config"]["world"] = world
    saved.pop("signature", None)
    saved["digest"] = digest_of({key: saved[key] for key in saved if key != "digest"})
    (run / "config.json").write_text(json.dumps(saved))


@pytest.fixture
def mark(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """What the module evil_world leaves where it is imported."""
    mark = tmp_path / "was imported"
    (tmp_path / "evil_world.py").write_text(EVIL.format(mark=str(mark)))
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    return mark


@pytest.fixture(scope="module")
def of_preset(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run of preset maze."""
    out = tmp_path_factory.mktemp("preset") / "run"
    few = {"n_steps": 16, "minibatch": 32}
    train(RunConfig.from_preset("maze", "KeyHallway", actors=2, steps=64, learner=few), out)
    return out


@pytest.mark.parametrize("preset", [None, "maze"])
def test_a_foreign_run_is_imported_only_when_the_person_says_so(
    folder: Path, of_preset: Path, preset: str | None, mark: Path, tmp_path: Path
) -> None:
    run = tmp_path / "runs" / "foreign"
    shutil.copytree(of_preset if preset else folder / "deep" / "hall", run)
    name_code(run, "evil_world:make")
    assert RunFolder(run).read_config().config.preset == preset
    player = {"kind": "run", "name": "foreign"}
    with serving(run.parent) as studio:
        (told,) = studio.ask("overview")["runs"]
        assert told["code"] == ["evil_world:make"]
        studio.ask("run", "foreign")
        studio.ask("visits", "foreign")
        with page(studio) as opened:
            opened.say("open", players=[player], game=0, greedy=False)
            refused = opened.hear("refused", "cast")
            assert (refused["is"], refused["code"]) == ("refused", ["evil_world:make"])
            world = {"kind": "you", "name": "evil_world:make"}
            opened.say("open", players=[world], game=0, greedy=False)
            assert opened.hear("refused", "cast")["is"] == "refused"
            assert not mark.exists()
            opened.say("allow", run="foreign", code=refused["code"])
            opened.open(player)
            assert mark.exists()
            assert opened.step()[0]["step"] == 1
            mark.unlink()
            (tmp_path / "worse_world.py").write_text(EVIL.format(mark=str(mark)))
            name_code(run, "worse_world:make")  # the folder is another's now
            opened.say("open", players=[player], game=0, greedy=False)
            refused = opened.hear("refused", "cast")
            assert (refused["is"], refused["code"]) == ("refused", ["worse_world:make"])
            assert not mark.exists()
    assert "evil_world" not in sys.modules


@pytest.fixture
def gift(folder: Path, mark: Path, tmp_path: Path) -> Path:
    """A study whose second run, not begun yet, names code."""
    study = tmp_path / "root" / "study"
    shutil.copytree(folder / "study", study)
    return study


@pytest.mark.parametrize("preset", [None, "fast"])
@pytest.mark.parametrize("state", ["waiting", "running"])
def test_a_foreign_study_is_looked_at_without_its_code(
    gift: Path, mark: Path, preset: str | None, state: str
) -> None:
    saved = json.loads((gift / "study.json").read_text())
    learner = dataclasses.asdict(PPOSettings().resolved())
    of_preset = {"preset": preset, "agent": "ppo", "learner": learner} if preset else {}
    saved["runs"][1]["config"] |= {"world": "evil_world:make", **of_preset}
    (gift / "study.json").write_text(json.dumps(saved))
    lease = Lease(gift / "runs" / saved["runs"][1]["name"], Terms()) if state == "running" else None
    with serving(gift.parent) as studio:
        assert studio.ask("overview")["studies"] == [{"name": "study", "runs": 2}]
        told = studio.ask("study", "study")["runs"][1]
    if lease is not None:
        lease.release()
    assert (told["world"], told["state"]) == ("evil_world:make", state)
    assert not mark.exists()
    assert "evil_world" not in sys.modules
