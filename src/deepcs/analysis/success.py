"""Treatments compared by the share of games that they solve: a table and a figure.

Of each run one number is kept: the share of games with a score above 0 among those that ended in
the last fifth of its steps. Tests are of ranks, each treatment against `deepcs`, corrected over all
treatments of a world by Holm's procedure.
"""

from __future__ import annotations

import csv
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from deepcs.analysis.drawing import Drawing
from deepcs.analysis.intervals import median_interval
from deepcs.analysis.rank_tests import rank_test
from deepcs.analysis.statistics import holm
from deepcs.analysis.style import new_figure, spaced, styled
from deepcs.analysis.tables import (
    Cell,
    Column,
    Table,
    count_text,
    level_text,
    probability_text,
    share_text,
    words,
)
from deepcs.runs.load import load_run

LAST = 0.2  # of the steps
REFERENCE = "deepcs"
COLUMNS = ("world", "treatment", "seed", "steps", "games", "solved")


@dataclass(frozen=True)
class Success:
    """One run."""

    world: str
    treatment: str
    seed: int
    steps: int
    games: int
    """that ended in its last fifth"""
    solved: float
    """share of them with a score above 0"""


def success_of(run: Path) -> Success:
    """Of a run that is finished; raises ValueError for another."""
    logs = load_run(run)
    config, games = logs.config, logs.games
    if not len(logs.curve["step"]) or logs.curve["step"][-1] < config.steps:
        raise ValueError(f"{run} is not finished; run it to its end.")
    late = games["score"][games["step"] > (1 - LAST) * config.steps]
    share = float((late > 0).mean()) if len(late) else 0.0
    return Success(config.world, config.treatment, config.seed, config.steps, len(late), share)


def write_successes(path: Path, successes: Iterable[Success]) -> None:
    """As CSV, a row a run, in order of world, treatment and seed."""
    with path.open("w", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(COLUMNS)
        for each in sorted(successes, key=lambda s: (s.world, s.treatment, s.seed)):
            writer.writerow([getattr(each, name) for name in COLUMNS])


def read_successes(path: Path) -> list[Success]:
    with path.open(newline="") as file:
        return [
            Success(
                row["world"],
                row["treatment"],
                int(row["seed"]),
                int(row["steps"]),
                int(row["games"]),
                float(row["solved"]),
            )
            for row in csv.DictReader(file)
        ]


def newest(successes: Iterable[Success]) -> list[Success]:
    """The last one of each world, treatment and seed."""
    return [*{(each.world, each.treatment, each.seed): each for each in successes}.values()]


def by_treatment(successes: Sequence[Success], world: str) -> dict[str, np.ndarray]:
    """Shares solved, `deepcs` first, then by falling median."""
    names = dict.fromkeys(each.treatment for each in successes if each.world == world)
    found = {
        name: np.array([s.solved for s in successes if (s.world, s.treatment) == (world, name)])
        for name in names
    }
    order = sorted(found, key=lambda name: (name != REFERENCE, -np.median(found[name]), name))
    return {name: found[name] for name in order}


def success_table(successes: Sequence[Success]) -> Table:
    """Median, its interval, and the test against `deepcs`, a row for each world and treatment."""
    rows: list[list[Cell]] = []
    for world in dict.fromkeys(each.world for each in successes):
        found = by_treatment(successes, world)
        ours = found.get(REFERENCE)
        others = [name for name in found if name != REFERENCE]
        tests = [np.nan if ours is None else rank_test(found[n], ours)[1] for n in others]
        corrected = dict(zip(others, holm(np.array(tests)), strict=True))
        for name, shares in found.items():
            interval = median_interval(shares)
            span = interval.low, interval.high
            middle, p = float(np.median(shares)), float(corrected.get(name, np.nan))
            rows.append([spaced(world), f"`{name}`", len(shares), middle, span, interval.level, p])
    columns = (
        words("world"),
        words("treatment"),
        Column("n", count_text),
        Column("solved, median", share_text),
        Column("its interval", share_text),
        Column("covers", level_text),
        Column("p against deepcs, Holm", probability_text),
    )
    steps = sorted({each.steps for each in successes})
    note = (
        f"{' and '.join(f'{n:,}' for n in steps)} steps; share of games solved among those that "
        "ended in the last fifth of a run."
    )
    return Table("novelty", "Kinds of novelty: games solved", columns, rows, note)


@styled
def success_figure(successes: Sequence[Success]) -> Drawing:
    """A point for each run, a bar for the median, a panel for each world."""
    worlds = list(dict.fromkeys(each.world for each in successes))
    figure = new_figure(height=3.4)
    panels = figure.subplots(1, len(worlds), squeeze=False)[0]
    for axes, world in zip(panels, worlds, strict=True):
        found = by_treatment(successes, world)
        for place, (name, shares) in enumerate(found.items()):
            colour = "#0072B2" if name == REFERENCE else "#7F7F7F"
            spread = place + 0.25 * np.linspace(-1, 1, len(shares)) * (len(shares) > 1)
            axes.plot(100 * np.sort(shares), spread, "o", color=colour, markersize=3, alpha=0.6)
            axes.plot([100 * np.median(shares)] * 2, [place - 0.35, place + 0.35], color=colour)
        axes.set_yticks(range(len(found)), [*found])
        axes.invert_yaxis()
        axes.set_xlim(-4, 104)
        axes.set_xlabel("games solved, %")
        axes.set_title(spaced(world), loc="left")
    n = len({each.seed for each in successes})
    caption = (
        f"Games solved in the last fifth of each run, up to {n} runs a treatment: a point is a "
        "run, a line their median."
    )
    name, title = "novelty-success", "Kinds of novelty, side by side"
    return Drawing(name, title, caption, figure, (success_table(successes),))
