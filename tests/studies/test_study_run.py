"""A study run, stopped, killed, failed and continued: real processes, real runs."""

from __future__ import annotations

import signal
from pathlib import Path

import psutil
import pytest
from study_process import StudyProcess, run_study
from trainee import assert_same_run

from deepcs.cli.studies import Status
from deepcs.runs.load import load_run
from deepcs.runs.train import train
from deepcs.studies.experiment import StudyError
from deepcs.studies.folder import StudyFolder
from deepcs.studies.status import last_row, run_statuses
from deepcs.studies.study import load_study

# Every checkpoint is a milestone, and so is kept.
HALLWAY = """
[[experiments]]
worlds = ["KeyHallway"]
treatments = ["deepcs", "plain"]
seeds = 1
steps = "12k"
settings = { actors = 4, log_every = 1000, checkpoint_every = 500, milestone_every = 500 }
"""
NAMES = ("KeyHallway-deepcs-paper-seed0", "KeyHallway-plain-paper-seed0")


def write_study(folder: Path, text: str) -> Path:
    file = folder / "mine.toml"
    file.write_text(text)
    return file


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The study as it is when nobody disturbs it."""
    folder = tmp_path_factory.mktemp("whole")
    with StudyProcess(write_study(folder, HALLWAY), folder / "out", "--at-once", "2") as study:
        code, said, complaint = study.finish()
    assert (code, complaint) == (0, "")
    assert "2 of 2 runs done" in said
    assert "deepcs study report" in said
    return folder / "out"


def changed(folder: Path) -> dict[Path, int]:
    """When each file was changed."""
    return {path: path.stat().st_mtime_ns for path in folder.rglob("*") if path.is_file()}


def test_runs_are_ordinary_ones_and_running_again_redoes_nothing(
    whole: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = whole.parent / "mine.toml"
    for run in load_study(file).runs:
        assert load_run(whole / "runs" / run.name).curve["step"][-1] == 12_000
    train(load_study(file).runs[0].config, tmp_path / "alone")
    assert_same_run(tmp_path / "alone", whole / "runs" / NAMES[0])
    before = changed(whole / "runs")
    assert run_study(file, whole) == 0
    assert "2 of 2 runs done" in capsys.readouterr().out
    assert changed(whole / "runs") == before


@pytest.mark.long
def test_a_killed_study_leaves_nothing_running_and_goes_on_from_its_checkpoints(
    whole: Path, tmp_path: Path
) -> None:
    file, out = write_study(tmp_path, HALLWAY), tmp_path / "out"
    with StudyProcess(file, out, "--at-once", "2") as study:
        study.wait_until(lambda: all(study.saved(name) for name in NAMES))
        jobs = study.jobs()
        assert len(jobs) == 2
        study.popen.kill()
        jobs[0].kill()  # the other one hears that its parent is gone
        _, alive = psutil.wait_procs(jobs, timeout=20)
        assert not alive
    statuses = run_statuses(StudyFolder(out), load_study(file).runs)
    assert [each.state for each in statuses] == ["waiting", "waiting"]
    assert all(0 < each.step < 12_000 for each in statuses)
    manifests = [
        out / "runs" / name / "checkpoints" / str(step) / "manifest.json"
        for name in NAMES
        for step in study.saved(name)
        if step % 500 == 0  # what it saved while it ended is not kept
    ]
    times = [path.stat().st_mtime_ns for path in manifests]
    assert run_study(file, out) == 0
    assert [path.stat().st_mtime_ns for path in manifests] == times
    for name in NAMES:
        assert_same_run(whole / "runs" / name, out / "runs" / name)


BREAKING = """
import pathlib, time, own_envs

class Breaking(own_envs.Freezable):
    def step(self, action):
        if self.all_played > 50 and not pathlib.Path("mended").exists():
            raise RuntimeError("the world broke")
        return super().step(action)

def make():
    return Breaking()

class Slow(own_envs.Freezable):
    def step(self, action):
        time.sleep(0.02)
        return super().step(action)

def slow():
    return Slow()
"""
FOUR_STATES = """
[[experiments]]
worlds = ["breaking:make"]
treatments = ["plain"]
seeds = 1
steps = 2000
settings = { checkpoint_every = 400 }

[[experiments]]
worlds = ["KeyHallway"]
treatments = ["plain"]
seeds = 1
steps = 1000

[[experiments]]
worlds = ["KeyHallway"]
treatments = ["deepcs"]
seeds = 1
steps = "100M"
settings = { log_every = 1000 }

[[experiments]]
worlds = ["breaking:slow"]
treatments = ["plain"]
seeds = 1
steps = 900
settings = { log_every = 100 }

[[experiments]]
worlds = ["KeyHallway"]
treatments = ["no-grid"]
seeds = 1
steps = 500
"""


RUNNING = ["KeyHallway-deepcs", "breaking-slow-plain"]


@pytest.fixture
def breaking(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A world that breaks until it is mended, where runs find it."""
    monkeypatch.setenv("PYTHONPATH", str(Path(__file__).parent.parent / "runs"))
    monkeypatch.chdir(tmp_path)
    (tmp_path / "breaking.py").write_text(BREAKING)


@pytest.mark.long
def test_a_failed_run_stops_no_other_and_all_states_are_told_while_another_process_runs(
    tmp_path: Path, breaking: None, capsys: pytest.CaptureFixture[str]
) -> None:
    file, out = write_study(tmp_path, FOUR_STATES), tmp_path / "out"
    # The longest first: one core has the run of 100M steps, the other one all others in turn.
    with StudyProcess(file, out, "--at-once", "2") as study:
        running = [out / "runs" / f"{name}-paper-seed0" for name in RUNNING]
        study.wait_until(lambda: all(last_row(run).step > 0 for run in running))
        Status(str(file), out).run()
        status = capsys.readouterr().out
        states = {line.split()[0]: line.split()[1] for line in status.splitlines() if " / " in line}
        assert states == {
            "breaking-make-plain-paper-seed0": "failed",
            "KeyHallway-plain-paper-seed0": "done",
            "KeyHallway-deepcs-paper-seed0": "running",
            "breaking-slow-plain-paper-seed0": "running",
            "KeyHallway-no-grid-paper-seed0": "waiting",
        }
        assert "failed: RuntimeError: the world broke" in status
        assert "1 of 5 runs done · 2 running · 1 waiting · 1 failed" in status

        with pytest.raises(StudyError, match=r"Another process is running the study in .*; wait"):
            run_study(file, out)

        study.popen.send_signal(signal.SIGINT)
        code, said, complaint = study.finish()
    assert code == 128 + signal.SIGINT
    again = f"Stopped and saved. Go on with: deepcs study run {file} --out {out} --at-once 2\n"
    assert again in said
    assert "breaking-make-plain-paper-seed0 failed: RuntimeError: the world broke" in complaint
    assert [len(study.saved(run.name)) for run in running] == [1, 1]  # as they stopped
    assert study.saved("breaking-make-plain-paper-seed0") == [
        400,
        800,
    ]  # 51 steps of 16 actors
    assert "Traceback" in (out / "logs" / "breaking-make-plain-paper-seed0.log").read_text()


@pytest.mark.long
def test_a_failed_run_makes_the_exit_code_1_and_goes_on_once_mended(
    tmp_path: Path, breaking: None, capsys: pytest.CaptureFixture[str]
) -> None:
    file, out = write_study(tmp_path, FOUR_STATES.split("\n\n")[0]), tmp_path / "out"
    assert run_study(file, out) == 1
    said, complaint = capsys.readouterr()
    assert "0 of 1 runs done · 1 failed" in said
    assert complaint.startswith("deepcs: breaking-make-plain-paper-seed0 failed: RuntimeError: the")
    (tmp_path / "mended").touch()
    assert run_study(file, out) == 0
    assert "1 of 1 runs done" in capsys.readouterr().out


@pytest.mark.long
def test_a_study_that_has_grown_goes_on_under_the_new_total(tmp_path: Path) -> None:
    one = HALLWAY.replace('"deepcs", "plain"', '"plain"').replace('"12k"', "2000")
    assert run_study(write_study(tmp_path, one), tmp_path / "out") == 0
    more = one.replace("2000", "3000").replace("seeds = 1", "seeds = [0, 4]")
    assert run_study(write_study(tmp_path, more), tmp_path / "out") == 0
    for seed, segments in ((0, [(0, 2_000), (2_000, 3_000)]), (4, [(0, 3_000)])):
        logs = load_run(tmp_path / "out" / "runs" / f"KeyHallway-plain-paper-seed{seed}")
        assert [(each.begins, each.steps) for each in logs.segments] == segments
        assert logs.curve["step"][-1] == 3_000
