"""The package as a stranger gets it: one wheel, nothing of the checkout around it."""

from __future__ import annotations

import csv
import json
import os
import shutil
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from deepcs import __version__

ROOT = Path(__file__).parents[1]
NOT_SOURCE = shutil.ignore_patterns("__pycache__", "*.egg-info")
QUIET = "--quiet", "--disable-pip-version-check"


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Built from a copy: a build folder left in the checkout would add modules long deleted."""
    folder = tmp_path_factory.mktemp("wheel")
    for name in ("pyproject.toml", "README.md", "LICENSE"):
        shutil.copy(ROOT / name, folder)
    shutil.copytree(ROOT / "src", folder / "src", ignore=NOT_SOURCE)
    build = ("-m", "pip", "wheel", *QUIET, "--no-deps", "--no-build-isolation", ".")
    subprocess.run([sys.executable, *build], cwd=folder, env=clean(), check=True)
    return next(folder.glob("*.whl"))


@pytest.fixture
def empty() -> Iterator[Path]:
    """Removed at once: pytest keeps its own folders, and this one grows to a gigabyte."""
    with tempfile.TemporaryDirectory() as folder:
        yield Path(folder)


def clean() -> dict[str, str]:
    """This process's environment without what would let the checkout be found."""
    return {name: text for name, text in os.environ.items() if not name.startswith("PYTHON")}


def test_the_wheel_holds_every_file_of_the_package_and_nothing_else(wheel: Path) -> None:
    source = ROOT / "src"
    files = {path for path in source.glob("deepcs/**/*") if path.is_file()}
    files.add(source / "deepcs_command.py")
    expected = {path.relative_to(source).as_posix() for path in files if path.suffix != ".pyc"}
    with zipfile.ZipFile(wheel) as opened:
        held = {name for name in opened.namelist() if ".dist-info/" not in name}
    assert held == expected
    assert {"deepcs/py.typed", "deepcs/studies/demo.toml"} <= held


def test_the_wheel_says_the_packages_version_and_installs_its_command(wheel: Path) -> None:
    assert wheel.name == f"deepcs-{__version__}-py3-none-any.whl"
    with zipfile.ZipFile(wheel) as opened:
        commands = opened.read(f"deepcs-{__version__}.dist-info/entry_points.txt").decode()
    assert "deepcs = deepcs_command:main" in commands


@pytest.mark.long
def test_the_wheel_alone_trains_the_hallway_in_an_empty_environment(
    wheel: Path, empty: Path
) -> None:
    def run(*command: object) -> str:
        arguments = [str(word) for word in command]
        done = subprocess.run(
            arguments, cwd=here, env=clean(), capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, done.stderr
        return done.stdout

    here = empty / "here"
    here.mkdir()
    scripts = empty / "venv" / "bin"
    run(sys.executable, "-m", "venv", empty / "venv")
    python = scripts / "python"
    run(python, "-m", "pip", "install", *QUIET, "--constraint", ROOT / "constraints.txt", wheel)
    assert Path(run(python, "-c", "import deepcs; print(deepcs.__file__)")).is_relative_to(empty)
    assert run(scripts / "deepcs", "--version") == f"{__version__}\n"

    run(scripts / "deepcs", "train", "KeyHallway", "--steps", "20k")
    assert [path.name for path in here.iterdir()] == ["runs"]
    made = here / "runs" / "KeyHallway-deepcs-paper-seed0"
    saved = json.loads((made / "config.json").read_text())
    assert saved["versions"]["deepcs"] == __version__
    assert saved["config"]["steps"] == 20_000
    with (made / "curve.csv").open(newline="") as lines:
        assert [int(row["step"]) for row in csv.DictReader(lines)] == [8_000, 16_000, 20_000]
    assert len((made / "games.csv").read_text().splitlines()) > 16
    assert list((made / "checkpoints").glob("*20000/manifest.json"))
