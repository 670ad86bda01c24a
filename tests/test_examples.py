"""What lies in examples/ runs to its end, and the notebook's pictures are those of its code."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import nbformat
import pytest
from nbclient import NotebookClient

from deepcs.runs.load import load_run

EXAMPLES = Path(__file__).parents[1] / "examples"
TOUR = EXAMPLES / "tour.ipynb"


@pytest.mark.long
@pytest.mark.parametrize("example", ["sb3_ppo.py", "single_file_ppo.py"])
def test_an_example_compares_plain_and_curious(example: str) -> None:
    done = subprocess.run(
        [sys.executable, example, "8192"],
        cwd=EXAMPLES,
        capture_output=True,
        text=True,
        check=True,
        env={**os.environ, "OMP_NUM_THREADS": "1"},
    )
    plain, curious = done.stdout.splitlines()
    assert re.match(r"plain +[1-9]\d* games", plain)
    assert re.match(r"curious +[1-9]\d* games", curious)


def test_counts_shared_by_gymnasiums_actors_pay_less_and_less() -> None:
    done = subprocess.run(
        [sys.executable, "novelty_gymnasium.py"],
        cwd=EXAMPLES,
        capture_output=True,
        text=True,
        check=True,
    )
    first, last = map(float, re.findall(r"\d\.\d+", done.stdout))
    assert 0 < last < first / 2


@pytest.mark.long
@pytest.mark.parametrize(
    "example",
    [
        "KeyHallway --treatment no-grid --network lstm:make_network --a2c.n-steps 20",
        "own_environment:make",
    ],
)
def test_an_example_is_trained_by_its_command(example: str, tmp_path: Path) -> None:
    command = f"train {example} --steps 640 --seed 0 --out {tmp_path / 'run'}"
    subprocess.run(
        [sys.executable, "-m", "deepcs", *command.split()],
        cwd=EXAMPLES,
        capture_output=True,
        check=True,
        env={**os.environ, "OMP_NUM_THREADS": "1"},
    )
    assert load_run(tmp_path / "run").curve["step"][-1] == 640


@pytest.mark.long
def test_stable_baselines3_learns_from_rnd() -> None:
    program = "import novelty_sb3; novelty_sb3.main(steps=64, actors=2, n_steps=32)"
    done = subprocess.run(
        [sys.executable, "-c", program],
        cwd=EXAMPLES,
        capture_output=True,
        text=True,
        check=True,
        env={**os.environ, "OMP_NUM_THREADS": "1"},
    )
    assert "total_timesteps" in done.stdout


def test_the_tour_was_executed_in_order_and_is_small() -> None:
    tour = nbformat.read(TOUR, as_version=4)
    nbformat.validate(tour)
    cells = [cell for cell in tour.cells if cell.cell_type == "code"]
    assert [cell.execution_count for cell in cells] == [*range(1, len(cells) + 1)]
    kinds = [kind for cell in cells for out in cell.outputs for kind in out.get("data", ())]
    assert kinds.count("image/png") == 4
    assert TOUR.stat().st_size < 500_000
    assert not re.search(r"/(home|root|work)/", TOUR.read_text())


@pytest.mark.long
def test_the_tour_can_be_executed_and_says_again_what_it_says() -> None:
    tour = nbformat.read(TOUR, as_version=4)
    said = [
        str(out.text) for cell in tour.cells for out in cell.get("outputs", ()) if "text" in out
    ]
    NotebookClient(tour, timeout=600, kernel_name="python3").execute()
    again = [
        str(out.text) for cell in tour.cells for out in cell.get("outputs", ()) if "text" in out
    ]
    assert again == said
