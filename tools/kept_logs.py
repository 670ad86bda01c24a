"""The logs of runs that are kept in docs/data: copied there without weights and maps."""

from __future__ import annotations

import gzip
import re
import shutil
from pathlib import Path

from deepcs.analysis.learning import EVALUATIONS

FILES = ("config.json", "curve.csv")  # of a run, as they are: no weights, no maps
GAMES = "games.csv"  # compressed
FOLDERS = (
    *("claims", "gymnasium", "learning", "tuning", "tuning-others"),
    *("precision", "ending", "novelty-atari"),
)
"""of logs in docs/data; each may have blocks of its own, and one of where its runs come from"""
LARGEST = 15_000_000  # bytes of all logs


def add(run: Path, folder: Path) -> None:
    """Copy a run's logs, in place of those that stand under its name."""
    missing = [name for name in (*FILES, GAMES) if not (run / name).is_file()]
    if missing:
        raise ValueError(f"{run} lacks {' and '.join(missing)}; give the folder of a run.")
    to = folder / run.name
    to.mkdir(parents=True, exist_ok=True)
    for name in FILES:
        shutil.copyfile(run / name, to / name)
    (to / f"{GAMES}.gz").write_bytes(gzip.compress((run / GAMES).read_bytes(), mtime=0))


def add_evaluation(path: Path, folder: Path) -> None:
    """Copy what `deepcs evaluate` wrote, RUN-STEP.csv or RUN-greedy-STEP.csv, to the run's logs."""
    found = re.fullmatch(r"(.+?)-((?:greedy-)?\d+)", path.stem)
    if found is None or not (folder / found[1] / "config.json").is_file():
        raise ValueError(
            f"Got {path}; name it RUN-STEP.csv or RUN-greedy-STEP.csv, after a run in {folder}."
        )
    shutil.copyfile(path, folder / found[1] / EVALUATIONS.format(found[2]))


def check_size(data: Path) -> None:
    size = sum(path.stat().st_size for path in data.rglob("*") if path.is_file())
    if size > LARGEST:
        raise ValueError(f"{data} has {size:,} bytes; keep it below {LARGEST:,}: take runs out.")
