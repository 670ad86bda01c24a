"""A report over logs as large as the paper's: how long it takes and how much memory.

Generates 2 groups of 25 runs of MontezumaRevenge with 160 million steps each: 20,000 rows of
curve.csv, 160,000 games, and a visits.npz of 2.4 million rows a run. Then makes the report in a
process of its own and prints its time and peak memory against the limits.
"""

from __future__ import annotations

import dataclasses
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import tyro

from deepcs.runs.folder import RunFolder, Segment
from deepcs.runs.logs import GAMES_COLUMNS, curve_columns
from deepcs.studies.experiment import StudyRun
from deepcs.studies.folder import StudyFolder
from deepcs.studies.study import read_study

SECONDS, GIGABYTES = 60.0, 2.0  # limits
STUDY = """
about = "Generated logs of the paper's size."
[[experiments]]
worlds = ["MontezumaRevenge"]
treatments = ["deepcs", "plain"]
seeds = {runs}
steps = "160M"
"""
PATH = (1, 2, 6, 7, 13, 12, 5, 11, 4, 10, 3, 9, 18, 19, 14)  # rooms, as a game may visit them
NOTHING_YET = {"score": "", "intrinsic": ""}  # no game is over
ROOMS, ROWS, COLUMNS = 6, 4, 5  # tiles that are entered in every interval
REPORT = """
import resource, sys
from deepcs.analysis.report import make_report
make_report(sys.argv[1], games=0, videos=False)
print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)
"""


@dataclass(frozen=True)
class Settings:
    """Benchmark the report."""

    runs: int = 25
    """runs a group"""
    rows: int = 20_000
    """rows of a curve.csv"""
    games: int = 160_000
    """rows of a games.csv"""
    out: Path | None = None
    """keep the generated study here; by default it is made in a temporary folder and deleted"""


def generate(settings: Settings, out: Path) -> None:
    """A study's folder with logs of runs that never were."""
    study = read_study("generated", STUDY.format(runs=settings.runs))
    folder = StudyFolder(out)
    folder.path.mkdir(parents=True, exist_ok=True)
    folder.take(study)
    visits = out / "visits.npz"
    write_visits(settings, visits)
    for number, run in enumerate(study.runs):
        path = folder.run_path(run)
        path.mkdir(parents=True, exist_ok=True)
        write_run(settings, path, run, np.random.default_rng(number))
        shutil.copyfile(visits, path / "visits.npz")
    visits.unlink()


def write_run(settings: Settings, path: Path, run: StudyRun, rng: np.random.Generator) -> None:
    """One run: settings, a curve that rises if it is DeepCS, and its games."""
    config = dataclasses.replace(run.config, device="cpu")
    RunFolder(path).write_config(config, [Segment(0, config.steps)])
    learns = config.treatment == "deepcs"
    steps = np.linspace(0, config.steps, settings.rows + 1)[1:].astype(int)
    progress = steps / config.steps
    score = learns * 3500 * progress**0.5 * rng.lognormal(0, 0.2, settings.rows)
    intrinsic = 20 + learns * 60 * progress + rng.normal(0, 2, settings.rows)
    with (path / "curve.csv").open("w") as file:
        file.write(",".join(curve_columns("a2c")) + "\n")
        for i in range(settings.rows):
            row: dict[str, object] = dict.fromkeys(curve_columns("a2c"), 0.3150989886780735)
            row |= {"step": steps[i], "games": 8 * i, "seconds": f"{steps[i] / 612.3:.2f}"}
            row |= {"score": score[i], "intrinsic": intrinsic[i]} if i > 2 else NOTHING_YET
            file.write(",".join(map(str, row.values())) + "\n")
    left = rng.geometric(0.3 if learns else 0.99, settings.games) - 1
    rooms = 1 + np.minimum(left, len(PATH) - 1)
    orders = [";".join(map(str, PATH[:length])) for length in range(len(PATH) + 1)]
    with (path / "games.csv").open("w") as file:
        file.write(",".join(GAMES_COLUMNS) + "\n")
        for i, length in enumerate(rooms.tolist()):
            numbers = f"{100.0 * length},{9.0 * length},{9 * length + 1},1000"
            file.write(f"{1000 * i + 960},{i % 16},{numbers},{orders[length]}\n")


def write_visits(settings: Settings, path: Path) -> None:
    """How often tiles were entered, as VisitLog writes it."""
    rng = np.random.default_rng(0)
    tiles = ROOMS * ROWS * COLUMNS
    room, row, column = np.indices((ROOMS, ROWS, COLUMNS)).reshape(3, tiles)
    step = np.repeat(np.arange(1, settings.rows + 1) * 8000, tiles)
    np.savez_compressed(
        path,
        rooms=np.array(PATH[:ROOMS], np.str_),
        step=step,
        room=np.tile(room, settings.rows),
        row=np.tile(row, settings.rows),
        column=np.tile(column, settings.rows),
        entries=rng.geometric(0.1, len(step)),
    )


def main(settings: Settings) -> None:
    with tempfile.TemporaryDirectory() as temporary:
        out = settings.out or Path(temporary) / "generated"
        if not (out / "study.json").is_file():
            began = time.monotonic()
            generate(settings, out)
            print(f"generated {2 * settings.runs} runs in {time.monotonic() - began:.0f} s")
        began = time.monotonic()
        done = subprocess.run(
            [sys.executable, "-c", REPORT, str(out)], capture_output=True, text=True, check=True
        )
        seconds, gigabytes = time.monotonic() - began, int(done.stdout.split()[-1]) / 2**20
        used = resource.getrusage(resource.RUSAGE_CHILDREN)
    for what, found, limit in (("s", seconds, SECONDS), ("GB peak", gigabytes, GIGABYTES)):
        verdict = "ok" if found <= limit else "TOO MUCH"
        print(f"{found:.1f} {what} of at most {limit:.0f}: {verdict}")
    print(f"{used.ru_utime + used.ru_stime:.1f} s of one core's time, whatever else ran beside it")


if __name__ == "__main__":
    main(tyro.cli(Settings))
