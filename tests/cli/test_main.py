"""The command line as a person meets it: real processes, what they print, and their exit codes."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from deepcs import __version__, games
from deepcs.cli.main import main


def deepcs(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", "from deepcs.cli.main import main; main()", *arguments],
        capture_output=True,
        text=True,
        check=False,
    )


def test_games_prints_all_twelve_in_100_columns() -> None:
    done = deepcs("games")
    assert (done.returncode, done.stderr) == (0, "")
    assert all(name in done.stdout for name in games())
    assert max(map(len, done.stdout.splitlines())) <= 100


def test_games_with_a_name_prints_that_game() -> None:
    done = deepcs("games", "montezuma_revenge")
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith("MontezumaRevenge")
    assert "0xAA" in done.stdout


@pytest.mark.parametrize(
    ("arguments", "begins"),
    [
        (["games", "montezooma"], "deepcs: Got game 'montezooma', which is not known;"),
        (["gmaes"], "deepcs: Got command 'gmaes'; choose one of train,"),
    ],
)
def test_bad_input_is_one_line_on_stderr_and_exit_code_2(arguments: list[str], begins: str) -> None:
    done = deepcs(*arguments)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith(begins)
    assert done.stderr.count("\n") == 1


@pytest.mark.parametrize(
    ("arguments", "code"), [(["--help"], 0), (["study", "--help"], 0), ([], 2), (["study"], 2)]
)
def test_all_commands_are_shown_where_none_is_given(arguments: list[str], code: int) -> None:
    done = deepcs(*arguments)
    assert (done.returncode, done.stderr) == (code, "")
    assert "deepcs study status STUDY" in done.stdout
    assert ("deepcs train GAME" in done.stdout) == ("study" not in arguments)


@pytest.mark.parametrize("shown", [False, True])
def test_an_error_that_is_not_the_users_is_called_a_bug(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], shown: bool
) -> None:
    # Another test may have loaded a user's part from the package of this one.
    monkeypatch.setattr("deepcs.system.importing._own", set())
    monkeypatch.setattr("deepcs.cli.games.print_games", lambda console: int("no number"))
    monkeypatch.setenv("DEEPCS_TRACEBACK", "1" if shown else "")
    with pytest.raises(SystemExit) as exited:
        main(["games"])
    error = capsys.readouterr().err
    assert exited.value.code == 1
    assert "deepcs: This is a bug in deepcs" in error
    assert "ValueError: invalid literal" in error
    assert ("Traceback" in error) == shown


@pytest.mark.parametrize("arguments", [["--help"], ["train", "--help"], ["games"]])
def test_a_reader_that_leaves_early_is_no_error(arguments: list[str]) -> None:
    read, write = os.pipe()
    os.close(read)
    done = subprocess.run(
        [sys.executable, "-c", "from deepcs.cli.main import main; main()", *arguments],
        stdout=write,
        stderr=subprocess.PIPE,
        check=False,
    )
    os.close(write)
    assert (done.returncode, done.stderr) == (1, b"")


def test_version_is_the_packages() -> None:
    done = deepcs("--version")
    assert (done.returncode, done.stdout) == (0, f"{__version__}\n")


def test_games_waits_for_no_heavy_import() -> None:
    loaded = subprocess.run(
        [
            sys.executable,
            "-c",
            "import sys; from deepcs.cli.main import main; main(['games']);"
            "print(sorted({'torch', 'matplotlib', 'scipy', 'tensorboard'} & set(sys.modules)))",
        ],
        capture_output=True,
        text=True,
        check=True,
    )
    assert loaded.stdout.splitlines()[-1] == "[]"


def test_train_resume_evaluate_and_record_follow_each_other(tmp_path: Path) -> None:
    run = str(tmp_path / "run")
    done = deepcs("train", "key_hallway", "--steps", "4k", "--out", run)
    assert done.returncode == 0
    assert f"deepcs evaluate {run}" in done.stdout
    done = deepcs("resume", run, "--steps", "6001")
    assert done.returncode == 0
    done = deepcs("evaluate", run, "--games", "8", "--csv", str(tmp_path / "games.csv"))
    assert done.returncode == 0
    assert "6,080 steps: 8 games" in done.stdout
    assert len((tmp_path / "games.csv").read_text().splitlines()) == 9
    done = deepcs("record", run, "--out", str(tmp_path / "film.mp4"))
    assert done.returncode == 0
    assert (tmp_path / "film.mp4").stat().st_size > 1000
    assert ", 1 room, " in done.stdout


OUTSIDE = """\
import gymnasium
from deepcs import Bounds, CuriosityWrapper


def make_env(grid=True, lifetime="game"):
    return CuriosityWrapper(
        gymnasium.make("MountainCar-v0"),
        locate=lambda env, seen, info: seen,
        bounds=Bounds(5, 5, 1, 1),
        shape=(9, 9),
        grid=grid,
        lifetime=lifetime,
    )
"""


@pytest.mark.parametrize("workers", ["1", "2"])
def test_a_warning_is_one_sentence_whichever_processes_have_it(
    workers: str, tmp_path: Path
) -> None:
    (tmp_path / "outside.py").write_text(OUTSIDE)
    command = ["train", "outside:make_env", "--steps", "2k", "--out", "run"]
    command += ["--actors", "4", "--shards", "2", "--workers"]
    done = subprocess.run(
        [sys.executable, "-m", "deepcs", *command, workers],
        capture_output=True,
        text=True,
        cwd=tmp_path,
    )
    assert done.returncode == 0
    (line,) = done.stderr.splitlines()
    assert line.startswith("deepcs: More than a tenth of the first 1,000 positions are outside the")


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["train", "KeyHallway", "--steps", "0"], "Got steps 0"),
        (["train", "KeyHallway", "--workers", "-1"], "Got -1 workers"),
        (["train", "KeyHallway", "--treatment", "deep"], "the nearest is deepcs"),
        (["train", "KeyHallway", "--protocol", "x"], "choose one of paper, baselines, machado"),
        (["train", "KeyHalway"], "the nearest is KeyHallway"),
        (["resume", "nowhere"], "is not the folder of a run"),
        (["evaluate", "nowhere"], "is not the folder of a run"),
        (["record", "nowhere"], "is not the folder of a run"),
        (["bench", "--seconds", "0"], "Got 0.0 seconds"),
        (["studio", "nowhere"], "Got folder nowhere, which is not one"),
        (["studio", "--port", "99999"], "Got port 99999"),
        (["studio", "--host", "256.1.1.1", "--no-browser"], "Got host 256.1.1.1"),
        (["watch", "nobody"], "neither an agent of the package nor the folder of a run; see"),
        (["watch", "agents:nobody"], "Got 'agents:nobody', which is no agent of the package; see"),
        (["watch", "freway"], "the nearest is agents:Freeway: see deepcs agents"),
        (["watch", *"abcde"], "Got 5 names; at most 4"),
        (["watch", "nobody", "--step", "5"], "Got a step, which has no effect"),
        (["watch", "."], "Got ., which is a folder, but not of a run"),
        (["play", "Pong"], "Got 'Pong', which is a game of ale-py's but not known"),
        (["play", "Freeway", "--seed", "-1"], "Got seed -1"),
    ],
)
def test_a_command_that_cannot_be_done_says_so_in_one_line(
    arguments: list[str],
    words: str,
    capsys: pytest.CaptureFixture[str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(SystemExit) as exited:
        main(arguments)
    error = capsys.readouterr().err
    assert exited.value.code == 2
    assert words in error
    assert error.count("\n") == 1
    assert not list(tmp_path.iterdir())
