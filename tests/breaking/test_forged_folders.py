"""Folders whose digests were forged, and files that are no files: one sentence, never silence."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import pytest
from forging import change, change_state

from deepcs.analysis.groups import read_result
from deepcs.analysis.report import make_report
from deepcs.cli.main import main
from deepcs.runs.checkpoint import newest_checkpoint
from deepcs.runs.config import RunConfig
from deepcs.runs.errors import RunError
from deepcs.runs.folder import RunFolder, identity_of
from deepcs.runs.train import resume, train
from deepcs.runs.trained import load_agent
from deepcs.runs.trust import CodeError
from deepcs.studies.folder import StudyFolder
from deepcs.studies.status import run_statuses

HALLWAY = RunConfig("KeyHallway", steps=400, actors=2, log_every=100, checkpoint_every=200)
STUDY = """
[[experiments]]
worlds = ["KeyHallway"]
treatments = ["deepcs"]
seeds = 1
steps = 400
settings = { actors = 2, checkpoint_every = 200, log_every = 100 }
"""
EVIL = """
from pathlib import Path
Path("was_here").touch()
"""


@pytest.fixture(autouse=True)
def _own_key(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("finished") / "run"
    train(HALLWAY, out)
    return out


@pytest.fixture
def run(finished: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    shutil.copytree(finished, tmp_path / "run")
    monkeypatch.chdir(tmp_path)
    return tmp_path / "run"


@pytest.fixture(scope="module")
def finished_study(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A study whose one run is done, beside its file."""
    folder = tmp_path_factory.mktemp("study")
    (folder / "study.toml").write_text(STUDY)
    arguments = [str(folder / "study.toml"), "--out", str(folder / "study"), "--at-once", "1"]
    main(["study", "run", *arguments])
    return folder


@pytest.fixture
def study(finished_study: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> StudyFolder:
    """A copy of it in the current folder."""
    shutil.copytree(finished_study, tmp_path, dirs_exist_ok=True)
    monkeypatch.chdir(tmp_path)
    return StudyFolder("study")


def test_training_on_does_not_run_a_network_that_the_folder_names(run: Path) -> None:
    Path("evil.py").write_text(EVIL)
    change(run, network="evil:make")
    settings = json.loads((run / "config.json").read_bytes())["config"]
    for checkpoint in (run / "checkpoints").iterdir():
        change_state(checkpoint, lambda state: _under(state, identity_of(settings)))
    with pytest.raises(CodeError, match=r"would run code: evil:make; look at it first"):
        train(RunConfig(**{**vars(HALLWAY), "steps": 800}), run)
    assert not Path("was_here").exists()


def _under(state: dict[str, Any], settings: str) -> dict[str, Any]:
    return {**state, "state": {**state["state"], "settings": settings}}


def test_a_report_whose_games_are_kept_runs_no_code(study: StudyFolder) -> None:
    make_report(study.path, games=2, videos=False)
    Path("evil.py").write_text(EVIL)
    (path,) = (study.path / "runs").iterdir()
    change(path, world="evil:make")
    content = json.loads((study.path / "study.json").read_bytes())
    content["runs"][0]["config"]["world"] = "evil:make"
    (study.path / "study.json").write_text(json.dumps(content))
    make_report(study.path, games=2, videos=True)
    assert not Path("was_here").exists()


def test_nothing_is_imported_from_the_current_folder(run: Path) -> None:
    for name in ("numpy.py", "torch.py"):
        (run / name).write_text("from pathlib import Path\nPath('was_here').touch()\n")
    command = [str(Path(sys.executable).parent / "deepcs"), "evaluate", ".", "--games", "1"]
    subprocess.run([*command, "--workers", "1"], cwd=run, check=True, capture_output=True)
    assert not (run / "was_here").exists()


def test_what_is_no_ordinary_file_is_not_written_over(
    run: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    os.mkfifo("pipe.csv")
    with pytest.raises(SystemExit) as refused:
        main(["evaluate", "run", "--games", "1", "--csv", "pipe.csv"])
    assert refused.value.code == 2
    assert "pipe.csv, which is not an ordinary file" in capsys.readouterr().err
    assert Path("pipe.csv").is_fifo()


def test_a_planted_staging_file_is_not_written_through(run: Path) -> None:
    Path("elsewhere").mkdir()
    Path(".games.csv.new").symlink_to("elsewhere/file")
    main(["evaluate", "run", "--games", "1", "--csv", "games.csv", "--workers", "0"])
    assert Path("games.csv").is_file()
    assert not list(Path("elsewhere").iterdir())


@pytest.mark.parametrize("name", ["config.json", "checkpoints/400/manifest.json"])
def test_a_pipe_in_a_runs_file_is_told_and_not_waited_for(run: Path, name: str) -> None:
    (run / name).unlink()
    os.mkfifo(run / name)
    if name == "config.json":
        with pytest.raises(RunError, match="Not an ordinary file"):
            load_agent(run)
    else:
        with pytest.warns(UserWarning, match="Not an ordinary file"):
            assert load_agent(run).step == 200


@pytest.mark.parametrize(
    "name", ["study.json", "failures.json", "at_once.json", "runs/*/curve.csv"]
)
def test_a_pipe_in_a_studys_file_is_told_and_not_waited_for(
    study: StudyFolder, name: str, capsys: pytest.CaptureFixture[str]
) -> None:
    for path in list(study.path.glob(name)) or [study.path / name]:
        path.unlink(missing_ok=True)
        os.mkfifo(path)
    with pytest.raises(SystemExit) if name != "runs/*/curve.csv" else nullcontext():
        main(["study", "status", "study.toml", "--out", "study"])
    assert ("Not an ordinary file" in capsys.readouterr().err) == (name != "runs/*/curve.csv")


def test_a_finished_run_without_its_last_checkpoint_is_not_done(study: StudyFolder) -> None:
    (path,) = (study.path / "runs").iterdir()
    weights = path / "checkpoints" / "400" / "weights.safetensors"
    weights.write_bytes(weights.read_bytes()[:-1])
    (status,) = run_statuses(study, study.read().runs)
    assert status.state == "waiting"


def test_a_checkpoint_under_another_number_is_damaged(run: Path) -> None:
    shutil.rmtree(run / "checkpoints/400")
    shutil.copytree(run / "checkpoints/200", run / "checkpoints/400")
    checkpoint, damaged = newest_checkpoint(run / "checkpoints")
    assert checkpoint is not None
    assert checkpoint.step == 200
    assert "it is that of step 200" in damaged[0]


def test_an_older_format_switches_off_no_guard(run: Path) -> None:
    content = json.loads((run / "config.json").read_bytes())
    content["format"] = 1
    content["config"]["tile"] = 3
    (run / "config.json").write_text(json.dumps(content))
    with pytest.raises(RunError, match="was changed since deepcs wrote it"):
        load_agent(run)
    del content["digest"]
    (run / "config.json").write_text(json.dumps(content))
    with pytest.raises(RunError, match="are not those that its checkpoint was saved under"):
        load_agent(run)


@pytest.mark.parametrize("name", ["games.csv", "curve.csv", "visits.npz"])
def test_logs_of_a_finished_run_are_guarded(run: Path, name: str) -> None:
    content = bytearray((run / name).read_bytes())
    content[len(content) // 2] ^= 1
    (run / name).write_bytes(content)
    with pytest.raises(RunError, match=name):
        resume(run)
    with pytest.raises(RunError, match=name):
        read_result(run, HALLWAY)


def test_logs_that_a_checkpoint_must_stand_for_are_not_begun_anew(run: Path) -> None:
    before = (run / "games.csv").read_bytes()
    shutil.rmtree(run / "checkpoints")
    (run / "saved").unlink()
    with pytest.raises(RunError, match=r"The checkpoints of .* are gone"):
        resume(run)
    assert (run / "games.csv").read_bytes() == before


def test_a_study_with_an_agent_of_ones_own_is_reported(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("mine.py").write_text(
        "from deepcs.agents.a2c import A2C\nclass Mine(A2C): name = 'mine'\n"
    )
    monkeypatch.syspath_prepend(str(tmp_path))
    Path("study.toml").write_text(STUDY.replace("seeds", 'agents = ["mine:Mine"]\nseeds'))
    main(["study", "run", "study.toml", "--out", "study", "--at-once", "1"])
    main(["study", "report", "study.toml", "--out", "study", "--games", "2", "--no-videos"])
    assert Path("study/report/report.html").is_file()


@pytest.mark.parametrize(
    "edit",
    [
        lambda state: [],
        lambda state: b"no JSON",
        lambda state: b"[" * 100_000,
        lambda state: {**state, "state": 3},
        lambda state: {**state, "step": "x"},
        lambda state: {"step": 400},
    ],
)
def test_a_checkpoint_of_the_wrong_shape_is_damaged(run: Path, edit: Callable[[Any], Any]) -> None:
    change_state(run / "checkpoints/400", edit)
    checkpoint, damaged = newest_checkpoint(run / "checkpoints")
    assert checkpoint is not None
    assert (checkpoint.step, len(damaged)) == (200, 1)


@pytest.mark.parametrize(
    ("name", "value"), [("name", 5), ("about", None), ("about", "\ud800"), ("runs", [{}])]
)
def test_a_study_of_the_wrong_types_is_damaged(
    study: StudyFolder, name: str, value: object, capsys: pytest.CaptureFixture[str]
) -> None:
    content = json.loads((study.path / "study.json").read_bytes())
    (study.path / "study.json").write_text(json.dumps({**content, name: value}))
    for command in ("status", "report"):
        with pytest.raises(SystemExit) as refused:
            main(["study", command, "study.toml", "--out", "study"])
        assert refused.value.code == 2
        assert "study.json is damaged" in capsys.readouterr().err


def test_versions_that_are_no_text_are_refused(run: Path) -> None:
    content = json.loads((run / "config.json").read_bytes())
    content["versions"]["cpu"] = 5
    (run / "config.json").write_text(json.dumps(content))
    change(run)
    with pytest.raises(RunError, match="its versions are not all text"):
        RunFolder(run).read_config()


def test_a_step_that_is_no_number_is_named(run: Path) -> None:
    curve = (run / "curve.csv").read_text().replace("\n400,", "\n1e400,")
    (run / "curve.csv").write_text(curve)
    shutil.rmtree(run / "checkpoints")
    with pytest.raises(RunError, match="a step is no number"):
        read_result(run, HALLWAY)


@pytest.mark.parametrize("arguments", [["games"], ["--help"]])
def test_a_closed_output_is_no_bug(arguments: list[str]) -> None:
    command = f'exec "$0" -m deepcs {" ".join(arguments)} >&-'
    done = subprocess.run(["sh", "-c", command, sys.executable], capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")
