"""Studies whose runs never ran: their logs are written by hand, so that every answer is known."""

from __future__ import annotations

import dataclasses
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np

from deepcs.analysis.groups import Group, Results, collect, read_result
from deepcs.curiosity.tiles import Tile
from deepcs.runs.config import RunConfig
from deepcs.runs.folder import RunFolder, Segment
from deepcs.runs.logs import GAMES_COLUMNS, VisitLog, curve_columns
from deepcs.studies.experiment import StudyRun
from deepcs.studies.folder import StudyFolder
from deepcs.studies.study import Study, read_study

ROWS = 10
STEPS = 80_000
Scores = Callable[[RunConfig], Sequence[float]]


def experiment(world: str, treatments: Sequence[str], seeds: int, more: str = "") -> str:
    """A table of a study's file."""
    return (
        f'[[experiments]]\nworlds = ["{world}"]\ntreatments = {list(treatments)}\n'
        f"seeds = {seeds}\nsteps = {STEPS}\n{more}\n"
    )


def level(config: RunConfig) -> list[float]:
    """DeepCS rises to 1000 and some, all others stay at their seed."""
    top = 1000 if config.treatment == "deepcs" else 0
    return [top * (row + 1) / ROWS + config.seed for row in range(ROWS)]


def write_run(
    path: Path,
    config: RunConfig,
    scores: Sequence[float],
    orders: Sequence[str] = (),
    visits: Counter[Tile] | None = None,
) -> None:
    """A run's folder: a row of its curve for each score, a game for each order of rooms."""
    config = dataclasses.replace(config, device="cpu")
    path.mkdir(parents=True)
    RunFolder(path).write_config(config, [Segment(0, config.steps)])
    curve = [",".join(curve_columns("a2c"))]
    for row, score in enumerate(scores, 1):
        known = np.isfinite(score)
        cells: dict[str, object] = dict.fromkeys(curve_columns("a2c"), 1)
        cells |= {"step": row * config.steps // ROWS, "games": row, "seconds": 36 * row}
        cells |= {"score": score if known else "", "intrinsic": 2 * score if known else ""}
        curve.append(",".join(map(str, cells.values())))
    (path / "curve.csv").write_text("\n".join(curve) + "\n")
    games = [f"{i},0,0.0,1.0,2,100,{order}" for i, order in enumerate(orders)]
    (path / "games.csv").write_text("\n".join([",".join(GAMES_COLUMNS), *games]) + "\n")
    log = VisitLog(path / "visits.npz", None)
    log.append(config.steps, visits or Counter())
    log.write()


def make_group(
    folder: Path,
    config: RunConfig,
    orders: Sequence[Sequence[str]],
    visits: Sequence[Counter[Tile]] | None = None,
    scores: Sequence[float] | None = None,
) -> Group:
    """A group of a run for each list of its games' rooms; scores: one a run, at all its steps."""
    runs = []
    for seed, games in enumerate(orders):
        path = folder / f"run{seed}"
        curve = [scores[seed] if scores else 0.0] * ROWS
        mine = dataclasses.replace(config, seed=seed)
        write_run(path, mine, curve, games, visits[seed] if visits else None)
        result = read_result(path, config)
        assert result is not None
        runs.append(result)
    return Group(config, "", len(runs), tuple(runs))


def make_study(
    folder: Path, *experiments: str, scores: Scores = level, missing: Sequence[str] = ()
) -> Study:
    """A study's folder with all its runs finished, but for those that are missing."""
    study = read_study("made", "about = 'Made by hand.'\n" + "\n".join(experiments))
    folder.mkdir(parents=True, exist_ok=True)
    StudyFolder(folder).take(study)
    for run in study.runs:
        if run.name not in missing:
            write_run(run_path(folder, run), run.config, scores(run.config))
    return study


def run_path(folder: Path, run: StudyRun) -> Path:
    return StudyFolder(folder).run_path(run)


def results_of(folder: Path, *experiments: str, scores: Scores = level) -> Results:
    return collect(make_study(folder, *experiments, scores=scores), folder)


def group_of(results: Results, treatment: str, agent: str = "a2c") -> Group:
    """The group of a treatment in a study of one world."""
    (found,) = (
        group
        for group in results.groups
        if (group.config.treatment, group.config.agent) == (treatment, agent) and not group.variant
    )
    return found
