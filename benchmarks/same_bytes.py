"""Whether two versions of deepcs train alike: weights and logs compared, number by number.

    python benchmarks/same_bytes.py OLD/src NEW/src OUT

Each version trains the same runs by its own command line. Compared are the weights, games.csv,
visits.npz, and the columns of curve.csv that both have, but for those of time.
"""

from __future__ import annotations

import csv
import itertools
import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import tyro
from safetensors.numpy import load_file

TIME_COLUMNS = ("steps_per_second", "seconds")


@dataclass(frozen=True)
class Settings:
    """Compare two versions."""

    old: tyro.conf.Positional[Path]
    """folder with the older package, usually src"""
    new: tyro.conf.Positional[Path]
    """folder with the newer package"""
    out: tyro.conf.Positional[Path]
    """folder for the runs; finished ones are not trained again"""
    worlds: tuple[str, ...] = ("KeyHallway", "Freeway", "MontezumaRevenge")
    agents: tuple[str, ...] = ("a2c", "acktr")
    protocols: tuple[str, ...] = ("paper", "machado")
    shards: tuple[int, ...] = (1, 2)
    steps: int = 20_000


def train(source: Path, out: Path, arguments: list[str]) -> None:
    if not (out / "done").exists():
        environment = {**os.environ, "PYTHONPATH": str(source.resolve())}
        command = [sys.executable, "-m", "deepcs", "train", *arguments, "--out", str(out)]
        subprocess.run(command, check=True, env=environment, stdout=subprocess.DEVNULL)
        (out / "done").touch()


def differences(old: Path, new: Path) -> list[str]:
    """What differs between two finished runs, by name."""
    found = []
    weights = [load_file(newest(run) / "weights.safetensors") for run in (old, new)]
    if weights[0].keys() != weights[1].keys() or any(
        not np.array_equal(weights[0][name], weights[1][name]) for name in weights[0]
    ):
        found.append("weights")
    if (old / "games.csv").read_bytes() != (new / "games.csv").read_bytes():
        found.append("games.csv")
    visits = [dict(np.load(run / "visits.npz")) for run in (old, new)]
    if any(not np.array_equal(visits[0][name], visits[1][name]) for name in visits[0]):
        found.append("visits.npz")
    curves = [list(csv.DictReader((run / "curve.csv").open())) for run in (old, new)]
    common = [name for name in curves[0][0] if name in curves[1][0] and name not in TIME_COLUMNS]
    for name in common:
        if [row[name] for row in curves[0]] != [row[name] for row in curves[1]]:
            found.append(f"curve.csv {name}")
    return found


def newest(run: Path) -> Path:
    return max((run / "checkpoints").iterdir(), key=lambda path: int(path.name))


def main(settings: Settings) -> None:
    different = 0
    for world, agent, protocol, shards in itertools.product(
        settings.worlds, settings.agents, settings.protocols, settings.shards
    ):
        name = f"{world}-{agent}-{protocol}-{shards}"
        arguments = [world, "--agent", agent, "--protocol", protocol, "--shards", str(shards)]
        arguments += ["--steps", str(settings.steps)]
        for side, source in (("old", settings.old), ("new", settings.new)):
            train(source, settings.out / side / name, arguments)
        found = differences(settings.out / "old" / name, settings.out / "new" / name)
        different += bool(found)
        games = len((settings.out / "new" / name / "games.csv").read_text().splitlines()) - 1
        print(f"{name:38} {games:5} games  {', '.join(found) or 'the same'}", flush=True)
    print(f"{different} of the runs differ")
    sys.exit(bool(different))


if __name__ == "__main__":
    main(tyro.cli(Settings))
