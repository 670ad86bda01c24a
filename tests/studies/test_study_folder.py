"""A study's folder: whose it is, and how it may grow."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

from deepcs.cli.main import main
from deepcs.studies.experiment import StudyError
from deepcs.studies.folder import StudyFolder
from deepcs.studies.ray_engine import Cluster
from deepcs.studies.study import read_study

TEXT = """
[[experiments]]
worlds = ["KeyHallway"]
treatments = ["deepcs", "plain"]
seeds = 2
steps = 10_000
"""


@pytest.fixture
def folder(tmp_path: Path) -> StudyFolder:
    """A folder that holds the study of TEXT."""
    folder = StudyFolder(tmp_path / "out")
    folder.lock()
    folder.take(read_study("mine", TEXT))
    folder.unlock()
    return folder


def test_a_study_comes_back_from_its_folder(folder: StudyFolder) -> None:
    assert folder.read() == read_study("mine", TEXT)


def test_a_study_may_grow(folder: StudyFolder) -> None:
    grown = read_study("mine", TEXT.replace("seeds = 2", "seeds = 3").replace("10_000", "20_000"))
    folder.take(grown)
    assert folder.read() == grown


@pytest.mark.parametrize(
    ("name", "change", "words"),
    [
        ("other", ("", ""), "holds the study mine, not other; give another --out"),
        ("mine", ("seeds = 2", "seeds = 1"), "holds the run .*seed1, which mine no longer has"),
        ("mine", ("10_000", "5_000"), "with 10,000 steps, more than 5,040; give as many"),
        (
            "mine",
            ("10_000", "10_000\nsettings = { a2c.gamma = 0.9, tile = 2 }"),
            r"holds the run KeyHallway-deepcs-paper-seed0 with another tile, a2c\.gamma; change",
        ),
    ],
)
def test_a_study_may_not_change_otherwise(
    name: str, change: tuple[str, str], words: str, folder: StudyFolder
) -> None:
    with pytest.raises(StudyError, match=words):
        folder.take(read_study(name, TEXT.replace(*change)))
    assert folder.read() == read_study("mine", TEXT)


def test_a_study_of_ones_own_learner_may_grow_but_not_change_otherwise(tmp_path: Path) -> None:
    own = TEXT.replace("seeds = 2", 'agents = ["own_parts:Reinforce"]\nseeds = 2')
    folder = StudyFolder(tmp_path)
    folder.lock()
    folder.take(read_study("mine", own))
    folder.take(read_study("mine", own.replace("10_000", "20_000")))
    changed = own.replace("steps = 10_000", "steps = 20_000\nsettings = { reinforce.gamma = 0.9 }")
    with pytest.raises(StudyError, match=r"with another Reinforce\.gamma; change it back"):
        folder.take(read_study("mine", changed))


def test_two_cannot_run_one_study(folder: StudyFolder) -> None:
    folder.lock()
    with pytest.raises(StudyError, match=r"Another process is running the study in .*; wait for"):
        StudyFolder(folder.path).lock()
    folder.unlock()
    StudyFolder(folder.path).lock()


def test_a_folder_of_something_else_is_refused_and_left_alone(tmp_path: Path) -> None:
    (tmp_path / "thesis.tex").write_text("precious")
    with pytest.raises(StudyError, match=r"not a study's \(thesis\.tex\); give an empty or new"):
        StudyFolder(tmp_path).lock()
    assert [path.name for path in tmp_path.iterdir()] == ["thesis.tex"]
    with pytest.raises(StudyError, match=r"cannot be written .*; give another --out"):
        StudyFolder(tmp_path / "thesis.tex").lock()


@pytest.mark.parametrize("content", ["", "{", "[]", '{"format": 1}', '{"format": 1, "name": "x"}'])
def test_a_damaged_study_is_refused(content: str, folder: StudyFolder) -> None:
    (folder.path / "study.json").write_text(content)
    with pytest.raises(StudyError, match=r"study\.json is damaged .* delete that file and run"):
        folder.read()


def test_a_study_of_another_format_is_refused(folder: StudyFolder) -> None:
    path = folder.path / "study.json"
    path.write_text(json.dumps({**json.loads(path.read_text()), "format": 2}))
    with pytest.raises(StudyError, match="is of format 2, this deepcs reads 1; use the version"):
        folder.read()


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["run", "dmeo"], "Got study 'dmeo'; the nearest is demo: choose"),
        (["run", "demo", "--at-once", "0"], "Got --at-once 0; give a whole number from 1 up"),
        (["run", "demo", "--lease-seconds", "0"], "Got --lease-seconds 0.0; give more than 0"),
        (["run", "demo", "--cpus-per-run", "0"], "Got --cpus-per-run 0; give a whole number"),
        (["run", "demo", "--address", "auto"], "add --engine ray"),
        (["run", "demo", "--engine", "ray", "--at-once", "2"], "use --cpus-per-run there"),
        (["status", "demo"], "holds no study; begin one with deepcs study run"),
        (["stat", "demo"], "Got command 'study stat'; choose one of"),
    ],
)
def test_a_command_that_cannot_be_done_says_so_in_one_line(
    arguments: list[str],
    words: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(SystemExit) as exited:
        main(["study", *arguments])
    error = capsys.readouterr().err
    assert exited.value.code == 2
    assert words in error
    assert error.count("\n") == 1
    assert not list(tmp_path.iterdir())


def test_the_engine_ray_without_ray_says_what_to_install(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setitem(sys.modules, "ray", None)
    with pytest.raises(StudyError, match=r"is not installed; install it with: pip install 'deepcs"):
        Cluster().run_jobs([], failed=lambda job, reason: None)


def test_the_engine_ray_says_where_no_cluster_is() -> None:
    pytest.importorskip("ray")
    with pytest.raises(StudyError, match=r"No Ray cluster answers at 127\.0\.0\.1:1 \(.*refused"):
        Cluster("127.0.0.1:1").run_jobs([], failed=lambda job, reason: None)
