"""A run or study that comes from elsewhere: it runs no code, and nothing is written outside."""

from __future__ import annotations

import dataclasses
import json
import os
import shutil
from pathlib import Path
from typing import Any

import pytest
from forging import change
from trainee import assert_same_run

from deepcs.agents.ppo_settings import PPOSettings
from deepcs.analysis.report import make_report
from deepcs.cli.main import main
from deepcs.runs.checkpoint import CheckpointError
from deepcs.runs.config import RunConfig
from deepcs.runs.errors import RunError
from deepcs.runs.folder import digest_of
from deepcs.runs.load import load_run
from deepcs.runs.train import resume, train
from deepcs.runs.trained import load_agent
from deepcs.runs.trust import CodeError, key_path
from deepcs.studies.folder import StudyFolder
from deepcs.system.files import UnsafePathError

HALLWAY = RunConfig("KeyHallway", steps=800, actors=2, log_every=100, checkpoint_every=200)
AT_ONCE = ("--at-once", "2")
STUDY = """
[[experiments]]
worlds = ["KeyHallway"]
treatments = ["deepcs", "plain"]
seeds = 1
steps = 400
settings = { actors = 2, checkpoint_every = 200, log_every = 100 }
"""


@pytest.fixture(autouse=True)
def _own_key(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))


@pytest.fixture(scope="module")
def half(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run of 400 of its 800 steps."""
    out = tmp_path_factory.mktemp("half") / "run"
    train(RunConfig(**{**vars(HALLWAY), "steps": 400}), out)
    return out


@pytest.fixture(scope="module")
def finished_study(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A study of two runs, both done, beside its file."""
    folder = tmp_path_factory.mktemp("study")
    (folder / "study.toml").write_text(STUDY)
    main(["study", "run", str(folder / "study.toml"), "--out", str(folder / "study"), *AT_ONCE])
    return folder


@pytest.fixture
def study(finished_study: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A copy of it in the current folder."""
    shutil.copytree(finished_study, tmp_path, dirs_exist_ok=True)
    monkeypatch.chdir(tmp_path)
    return tmp_path / "study"


@pytest.fixture
def run(half: Path, tmp_path: Path) -> Path:
    shutil.copytree(half, tmp_path / "run")
    return tmp_path / "run"


EVIL = """
from pathlib import Path
Path("was_here").touch()
def make(): Path("was_called").touch()
"""


def of_preset(preset: str | None) -> dict[str, Any]:
    """Settings that make a run one of a preset; None: of none."""
    numbers = dataclasses.asdict(PPOSettings(n_steps=5).resolved())
    return {} if preset is None else {"preset": preset, "agent": "ppo", "learner": numbers}


PARTS = [("world", None), ("agent", None), ("network", None), ("world", "fast")]


@pytest.mark.parametrize(("part", "preset"), PARTS)
@pytest.mark.parametrize("name", ["run.evil:make", "os:abort", "signal:pause"])
@pytest.mark.parametrize("command", ["evaluate", "record", "resume"])
def test_a_foreign_run_runs_no_code(
    run: Path,
    part: str,
    preset: str | None,
    name: str,
    command: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(run.parent)
    (run / "evil.py").write_text(EVIL)
    change(run, **{**of_preset(preset), part: name})
    with pytest.raises(SystemExit) as stop:
        main([command, "run"])
    assert stop.value.code == 2
    said = capsys.readouterr().err
    assert f"would run code: {name}" in said
    assert "--allow-code" in said
    assert len(said.splitlines()) == 1
    assert not list(run.parent.glob("was_*"))


@pytest.mark.parametrize("preset", [None, "fast"])
def test_a_study_and_its_report_run_no_foreign_code(
    study: Path, tmp_path: Path, preset: str | None
) -> None:
    (tmp_path / "evil.py").write_text(EVIL)
    for path in (tmp_path / "study" / "runs").iterdir():
        change(path, world="evil:make", **of_preset(preset))
    content = json.loads((study / "study.json").read_text())
    for listed in content["runs"]:
        listed["config"] |= {"world": "evil:make", **of_preset(preset)}
    (study / "study.json").write_text(json.dumps(content))
    assert len(StudyFolder("study").read().runs) == 2
    said: list[str] = []
    page = make_report("study", games=2, videos=True, say=said.append)
    assert page.is_file()
    assert any("would run code: evil:make" in each for each in said)
    assert load_run(next((tmp_path / "study" / "runs").iterdir())).config.world == "evil:make"
    main(["study", "status", "study.toml", "--out", "study"])
    assert not list(tmp_path.glob("was_*"))


def test_code_runs_where_its_user_trained_it_and_where_it_is_allowed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(Path(__file__).parents[1] / "runs")
    config = RunConfig("own_envs:freezable", steps=80, actors=2, checkpoint_every=40)
    train(config, tmp_path / "run")
    assert load_agent(tmp_path / "run").step == 80
    shutil.copytree(tmp_path / "run", tmp_path / "moved")
    assert load_agent(tmp_path / "moved").step == 80  # it is still this user's
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "other"))  # another user
    with pytest.raises(CodeError, match="would run code: own_envs:freezable"):
        load_agent(tmp_path / "run")
    with pytest.raises(CodeError, match="--allow-code"):
        resume(tmp_path / "run", steps=160)
    with pytest.raises(CodeError, match="would run code: own_envs:freezable"):
        load_agent(tmp_path / "run", allow_code=["own_envs:another"])
    assert load_agent(tmp_path / "run", allow_code=["own_envs:freezable"]).step == 80
    assert load_agent(tmp_path / "run", allow_code=True).step == 80
    assert resume(tmp_path / "run", steps=160, allow_code=True) is None
    assert load_agent(tmp_path / "run").step == 160  # who trained on with it, trained it


def test_a_signature_is_for_its_settings_only(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(Path(__file__).parents[1] / "runs")
    config = RunConfig("own_envs:freezable", steps=80, actors=2, checkpoint_every=40)
    train(config, tmp_path / "run")
    change(tmp_path / "run", world="os:abort")
    with pytest.raises(CodeError, match="os:abort"):
        load_agent(tmp_path / "run")


def test_the_key_is_its_users_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(Path(__file__).parents[1] / "runs")
    train(RunConfig("own_envs:freezable", steps=40, actors=2), tmp_path / "run")
    assert key_path().stat().st_mode & 0o777 == 0o600
    assert tmp_path in key_path().parents


# Each of these, in a folder from elsewhere, is a link to something of the user's.
LINKED_FILES = [
    *("lock", "saved", "games.csv", ".games.csv.new", ".curve.csv.new", ".visits.npz.new"),
    *(".config.json.new", ".saved.new", "checkpoints/.600.new", "checkpoints/.200.old"),
    *("checkpoints/200/weights.safetensors", "tensorboard/events.out.tfevents.1"),
]
LINKED_FOLDERS = ["checkpoints", "checkpoints/600", "tensorboard", "lease", "lease/1", "lease/.a"]


@pytest.mark.parametrize("link", [*LINKED_FILES, *LINKED_FOLDERS])
@pytest.mark.parametrize("target", ["a file", "a folder", "nothing"])
def test_a_run_writes_and_deletes_through_no_link(
    run: Path, tmp_path: Path, link: str, target: str
) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "precious").write_text("precious")
    (outside / ".git").mkdir()
    (outside / ".git" / "config").write_text("precious")
    before = contents(outside)
    place = run / link
    place.parent.mkdir(exist_ok=True)
    if place.is_dir():
        shutil.rmtree(place)
    place.unlink(missing_ok=True)
    where = {"a file": outside / "precious", "a folder": outside, "nothing": outside / "new"}
    place.symlink_to(where[target])
    with pytest.raises((UnsafePathError, RunError, CheckpointError)):
        resume(run, steps=800)
    assert contents(outside) == before


def contents(folder: Path) -> dict[str, bytes]:
    return {str(path): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def test_hard_links_are_not_written_through(run: Path, tmp_path: Path) -> None:
    precious = tmp_path / "precious"
    precious.write_text("precious")
    for name in (".games.csv.new", ".curve.csv.new", ".visits.npz.new", ".config.json.new"):
        os.link(precious, run / name)
    assert resume(run, steps=800) is None
    assert precious.read_text() == "precious"


@pytest.mark.parametrize("link", ["report", "report/tables", "report/data", "runs", "logs"])
def test_a_study_empties_no_folder_elsewhere(study: Path, tmp_path: Path, link: str) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "precious.csv").write_text("precious")
    place = study / link
    if place.is_dir():
        shutil.rmtree(place)
    place.parent.mkdir(exist_ok=True)
    place.symlink_to(outside)
    for command in ("run", "report"):
        with pytest.raises(SystemExit) as stop:
            main(["study", command, "study.toml", "--out", "study"])
        assert stop.value.code == 2
    assert contents(outside) == {str(outside / "precious.csv"): b"precious"}


def test_a_report_deletes_only_what_a_report_wrote(study: Path, tmp_path: Path) -> None:
    report = study / "report"
    make_report("study", games=0, videos=False)
    (report / "tables" / "notes.csv").write_text("mine")
    (tmp_path / "outside.csv").write_text("mine")
    old = report / "figures" / "of-an-earlier-report.png"
    old.write_bytes(b"")
    names = json.loads((report / "written.json").read_bytes())
    forged = ["figures/of-an-earlier-report.png", "tables/../../../outside.csv", "../study.json", 7]
    (report / "written.json").write_text(json.dumps([*names, *forged]))
    make_report("study", games=0, videos=False)
    assert not old.exists()
    assert (report / "tables" / "notes.csv").read_text() == "mine"
    assert (tmp_path / "outside.csv").read_text() == "mine"
    assert (tmp_path / "study" / "study.json").is_file()


def test_checkpoints_delete_only_what_a_checkpoint_is_made_of(run: Path) -> None:
    notes = run / "checkpoints" / "200" / "notes.txt"
    notes.write_text("mine")
    stray = run / "checkpoints" / ".7.new"
    stray.mkdir()
    (stray / "thesis.tex").write_text("mine")
    (run / "checkpoints" / "300").write_text("mine, and a number")
    (run / "checkpoints" / "²").write_text("mine, and a digit")
    assert resume(run, steps=1_200) is None
    assert notes.read_text() == "mine"
    assert (stray / "thesis.tex").read_text() == "mine"
    assert (run / "checkpoints" / "300").read_text() == "mine, and a number"


def test_a_changed_setting_is_refused_or_accepted(run: Path, tmp_path: Path) -> None:
    numbers = json.loads((run / "config.json").read_bytes())["config"]["learner"]
    change(run, forge=False, learner=numbers | {"learning_rate": 100 * numbers["learning_rate"]})
    for refuses in (lambda: resume(run), lambda: load_agent(run), lambda: load_run(run)):
        with pytest.raises(RunError, match=r"config.json was changed since .*--accept-changes"):
            refuses()
    assert resume(run, steps=600, accept_changes=True) is None
    assert load_agent(run).step == 600
    assert load_agent(run, 400).step == 400  # saved before, and accepted with the change
    assert resume(run, steps=800) is None


def test_a_changed_setting_whose_digest_was_forged_does_not_fit_the_checkpoint(run: Path) -> None:
    numbers = json.loads((run / "config.json").read_bytes())["config"]["learner"]
    change(run, learner=numbers | {"learning_rate": 100 * numbers["learning_rate"]})
    with pytest.raises(RunError, match=r"not those that its checkpoint .*--accept-changes"):
        resume(run, steps=800)
    with pytest.raises(RunError, match="not those that its checkpoint was saved under"):
        load_agent(run)


@pytest.mark.parametrize("name", ["games.csv", "curve.csv", "visits.npz", "config.json"])
def test_another_runs_files_are_refused(run: Path, tmp_path: Path, name: str) -> None:
    other = RunConfig(**{**vars(HALLWAY), "seed": 5, "steps": 400})
    train(other, tmp_path / "other")
    shutil.copy(tmp_path / "other" / name, run / name)
    with pytest.raises(RunError, match="checkpoint"):
        resume(run, steps=800)


def test_another_runs_checkpoint_is_refused(run: Path, tmp_path: Path) -> None:
    train(RunConfig(**{**vars(HALLWAY), "seed": 5, "steps": 400}), tmp_path / "other")
    shutil.rmtree(run / "checkpoints")
    shutil.copytree(tmp_path / "other" / "checkpoints", run / "checkpoints")
    with pytest.raises(RunError, match="settings"):
        resume(run, steps=800)


def test_a_changed_cell_in_a_log_is_refused_or_accepted(run: Path) -> None:
    log = run / "games.csv"
    rows = log.read_bytes()
    log.write_bytes(rows.replace(b",0.0,", b",9.0,", 1))
    assert log.read_bytes() != rows
    with pytest.raises(RunError, match=r"games.csv is not what its checkpoint remembers"):
        resume(run, steps=800)
    assert resume(run, steps=800, accept_changes=True) is None
    assert b",9.0," in log.read_bytes()


def test_other_library_versions_are_refused_or_accepted(run: Path) -> None:
    path = run / "config.json"
    content = json.loads(path.read_bytes())
    content["versions"]["torch"] = "1.0"
    del content["digest"]
    path.write_text(json.dumps(content | {"digest": digest_of(content)}))
    with pytest.raises(RunError, match=r"other versions \(torch 1.0, here .*--accept-changes"):
        resume(run, steps=800)
    assert load_agent(run).step == 400
    assert resume(run, steps=600, accept_changes=True) is None
    assert resume(run, steps=800) is None  # with those that it has now


def test_accepting_changes_where_there_are_none_changes_nothing(run: Path, tmp_path: Path) -> None:
    shutil.copytree(run, tmp_path / "other")
    resume(run, steps=800)
    resume(tmp_path / "other", steps=800, accept_changes=True)
    assert_same_run(run, tmp_path / "other", but=("config.json",))
