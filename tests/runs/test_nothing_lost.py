"""Nothing that was saved is lost, whatever was deleted, extended, filled or refused meanwhile."""

from __future__ import annotations

import json
import os
import resource
import shutil
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest
from trainee import assert_same_run

from deepcs.agents.a2c import A2CSettings
from deepcs.cli.main import main
from deepcs.runs.checkpoint import checkpoint_steps
from deepcs.runs.config import RunConfig
from deepcs.runs.errors import RunError
from deepcs.runs.folder import Segment
from deepcs.runs.load import load_run
from deepcs.runs.loop import Progress, segment_ends, total_at
from deepcs.runs.progress import Silence, Status
from deepcs.runs.train import StoppedError, resume, train
from deepcs.runs.trained import load_agent

HALLWAY = RunConfig("KeyHallway", steps=800, actors=4, log_every=100, checkpoint_every=200)


@pytest.mark.parametrize("again", ["resume", "train"])
def test_deleted_checkpoints_do_not_wipe_finished_logs(tmp_path: Path, again: str) -> None:
    train(HALLWAY, tmp_path / "run")
    before = {name: (tmp_path / "run" / name).read_bytes() for name in ("games.csv", "curve.csv")}
    shutil.rmtree(tmp_path / "run" / "checkpoints")
    with pytest.raises(RunError, match=r"checkpoints of .* are gone.*to begin anew"):
        resume(tmp_path / "run") if again == "resume" else train(HALLWAY, tmp_path / "run")
    for name, content in before.items():
        assert (tmp_path / "run" / name).read_bytes() == content


@pytest.mark.long
def test_a_study_does_not_begin_finished_runs_anew(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "s.toml").write_text(
        '[[experiments]]\nworlds = ["KeyHallway"]\ntreatments = ["deepcs", "plain"]\n'
        "seeds = 1\nsteps = 400\nsettings = { actors = 2, log_every = 100 }\n"
    )
    main(["study", "run", "s.toml", "--out", "s", "--at-once", "2"])
    gone, damaged = sorted((tmp_path / "s" / "runs").iterdir())
    logs = (gone / "curve.csv").read_bytes()
    shutil.rmtree(gone / "checkpoints")
    (weights,) = damaged.rglob("weights.safetensors")
    weights.write_bytes(b"damaged")  # a finished run without one whole checkpoint is not done
    with pytest.raises(SystemExit) as stop:
        main(["study", "run", "s.toml", "--out", "s", "--at-once", "2"])
    assert stop.value.code == 1
    said = capsys.readouterr().err
    assert "are gone" in said
    assert "is damaged" in said
    assert (gone / "curve.csv").read_bytes() == logs


def test_segments_decide_the_schedule_of_each_step() -> None:
    segments = [Segment(0, 1_000), Segment(1_000, 2_000), Segment(1_400, 3_000)]
    assert [total_at(segments, step) for step in (0, 999, 1_000, 1_399, 1_400, 2_999)] == [
        *(1_000, 1_000, 2_000, 2_000, 3_000, 3_000)
    ]
    assert segment_ends(segments) == {1_000, 3_000}  # 2,000 was never an end
    again = [*segments, Segment(800, 4_000)]  # it fell back to a checkpoint before them
    assert [total_at(again, step) for step in (799, 800, 1_400)] == [1_000, 4_000, 4_000]


def test_an_extended_run_that_falls_back_redoes_the_old_part_as_it_was(tmp_path: Path) -> None:
    """The old part ends between two rows of curve.csv and two checkpoints."""
    short = replace(HALLWAY, steps=740)
    for name in ("one", "other"):
        train(short, tmp_path / name)
        assert resume(tmp_path / name, steps=1_500) is None
    newest = checkpoint_steps(tmp_path / "other" / "checkpoints")
    train(short, tmp_path / "fallen")
    for step in newest:  # none of the extension, and not the one at which it began
        assert step > 740
    config = json.loads((tmp_path / "one" / "config.json").read_bytes())
    assert config["segments"] == [[0, 740], [740, 1_500]]
    shutil.copy(tmp_path / "one" / "config.json", tmp_path / "fallen" / "config.json")
    shutil.rmtree(tmp_path / "fallen" / "checkpoints" / "740")
    assert checkpoint_steps(tmp_path / "fallen" / "checkpoints") == [600]
    assert resume(tmp_path / "fallen") is None
    assert_same_run(tmp_path / "one", tmp_path / "fallen")


class LockTaken(Silence):
    """Deletes the lock once the run has begun, and lets another train there to the end."""

    def __init__(self, out: Path) -> None:
        self.out = out
        self.done = False

    def show(self, status: Status) -> None:
        if status.step == 300 and not self.done:
            self.done = True
            (self.out / "lock").unlink()
            assert train(HALLWAY, self.out) is None


def test_a_second_trainer_let_in_by_a_deleted_lock_is_noticed(tmp_path: Path) -> None:
    with pytest.raises(StoppedError, match=r"lock was taken away .* written nothing since"):
        train(HALLWAY, tmp_path / "run", display=LockTaken(tmp_path / "run"))
    train(HALLWAY, tmp_path / "whole")
    assert_same_run(tmp_path / "whole", tmp_path / "run")


def test_a_checkpoint_left_by_a_kill_before_pruning_is_pruned(tmp_path: Path) -> None:
    train(HALLWAY, tmp_path / "run")
    checkpoints = tmp_path / "run" / "checkpoints"
    assert checkpoint_steps(checkpoints) == [600, 800]
    shutil.copytree(checkpoints / "600", checkpoints / "400")
    assert resume(tmp_path / "run") is None  # finished
    assert checkpoint_steps(checkpoints) == [600, 800]


def test_a_reader_that_leaves_stops_the_run_saved(tmp_path: Path) -> None:
    command = f"{sys.executable} -m deepcs.cli.main train KeyHallway --steps 1M --out {tmp_path}/r"
    runner = (
        "import sys; import deepcs.runs.progress as p; p.PLAIN_SECONDS = 0.0; "
        "from deepcs.cli.main import main; main(sys.argv[1:])"
    )
    train_command = [sys.executable, "-c", runner, *command.split()[3:]]
    training = subprocess.Popen(train_command, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    assert training.stdout is not None
    training.stdout.readline()
    training.stdout.close()  # as head does
    _, complaint = training.communicate(timeout=120)
    assert training.returncode == 128 + 13
    assert complaint.decode().startswith("Stopped and saved. Go on with: deepcs resume")
    assert checkpoint_steps(tmp_path / "r" / "checkpoints")


def test_a_refused_training_leaves_its_folder_free(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    absurd = A2CSettings(learning_rate=3e38, value=1e4, max_gradient_norm=float("inf"))
    with pytest.raises(StoppedError, match="finite at step 20; nothing was saved"):
        train(replace(HALLWAY, learner=absurd, checkpoint_every=20), tmp_path / "run")
    assert train(HALLWAY, tmp_path / "run") is None


def test_evaluate_says_that_it_plays_an_older_checkpoint(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    train(HALLWAY, tmp_path / "run")
    (tmp_path / "run" / "checkpoints" / "800" / "state.json").write_text("{}")
    with pytest.warns(UserWarning, match=r"is damaged .* step 600 instead"):
        load_agent(tmp_path / "run")
    main(["evaluate", "run", "--games", "2", "--workers", "0"])
    assert "Playing the one of step 600 instead." in capsys.readouterr().err


@pytest.mark.long
def test_a_full_disk_stops_runs_and_not_the_study(tmp_path: Path) -> None:
    (tmp_path / "s.toml").write_text(
        '[[experiments]]\nworlds = ["KeyHallway"]\ntreatments = ["deepcs"]\n'
        "seeds = 1\nsteps = 400\nsettings = { actors = 2, log_every = 100 }\n"
    )

    def no_room() -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (3_000, 3_000))

    study = [sys.executable, "-c", "from deepcs.cli.main import main; main()"]
    study += ["study", "run", "s.toml", "--out", "s", "--at-once", "1"]
    done = subprocess.run(
        study, cwd=tmp_path, preexec_fn=no_room, capture_output=True, text=True, check=False
    )
    assert done.returncode == 1, done.stderr
    assert "Traceback" not in done.stderr
    assert done.stderr.count("Could not write") == 1
    subprocess.run(study, cwd=tmp_path, check=True, capture_output=True)


def test_a_damaged_study_file_gives_advice_that_works(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "s.toml").write_text(
        '[[experiments]]\nworlds = ["KeyHallway"]\ntreatments = ["deepcs"]\n'
        "seeds = 1\nsteps = 400\nsettings = { actors = 2, log_every = 100 }\n"
    )
    main(["study", "run", "s.toml", "--out", "s", "--at-once", "1"])
    (run,) = (tmp_path / "s" / "runs").iterdir()
    before = load_run(run).curve["step"]
    (tmp_path / "s" / "study.json").write_text("{")
    with pytest.raises(SystemExit) as stop:
        main(["study", "run", "s.toml", "--out", "s", "--at-once", "1"])
    assert stop.value.code == 2
    assert "delete that file and run the study again" in capsys.readouterr().err
    os.unlink(tmp_path / "s" / "study.json")
    main(["study", "run", "s.toml", "--out", "s", "--at-once", "1"])
    assert list(load_run(run).curve["step"]) == list(before)


def test_means_do_not_depend_on_whose_game_was_over_first() -> None:
    # 0.1 + 0.2 + 0.3 is another float than 0.3 + 0.2 + 0.1; a resumed run has actors in order.
    latest = {actor: (0.0, 0.1 * (actor + 1), 1, 1) for actor in (2, 1, 0)}
    before = Progress(latest=latest)
    after = Progress.from_json(before.to_json())
    assert before.mean_latest(1) == after.mean_latest(1) == (0.1 + 0.2 + 0.1 * 3) / 3
