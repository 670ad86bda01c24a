"""The command line as a person meets it: real processes, what they print, and their exit codes."""

from __future__ import annotations

import subprocess
import sys
from importlib.metadata import version

import pytest

from deepcs import games
from deepcs.cli import main


def deepcs(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", "from deepcs.cli import main; main()", *arguments],
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
        (["games", "montezooma"], "deepcs: Got game 'montezooma', which is not one of the twelve;"),
        (["gmaes"], "deepcs: Got command 'gmaes'; choose one of train,"),
    ],
)
def test_bad_input_is_one_line_on_stderr_and_exit_code_2(arguments: list[str], begins: str) -> None:
    done = deepcs(*arguments)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith(begins)
    assert done.stderr.count("\n") == 1


def test_an_error_that_is_not_the_users_keeps_its_traceback(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("deepcs.games_table.print_games", lambda console: int("no number"))
    with pytest.raises(ValueError, match="invalid literal"):
        main(["games"])


def test_version_is_the_packages() -> None:
    done = deepcs("--version")
    assert (done.returncode, done.stdout) == (0, version("deepcs") + "\n")


def test_games_waits_for_no_heavy_import() -> None:
    loaded = subprocess.run(
        [
            sys.executable,
            "-c",
            "import sys; from deepcs.cli import main; main(['games']);"
            "print(sorted({'torch', 'matplotlib', 'scipy', 'tensorboard'} & set(sys.modules)))",
        ],
        capture_output=True,
        text=True,
        check=True,
    )
    assert loaded.stdout.splitlines()[-1] == "[]"
