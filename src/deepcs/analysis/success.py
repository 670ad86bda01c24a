"""Treatments compared by the share of games that they solve: a table and a figure.

Of each run one number is kept: the share of games with a score above 0 among those that ended in
the last fifth of its steps. Tests are of ranks, each treatment against `deepcs`, corrected over the
treatments of a world and number of steps by Holm's procedure.
"""

from __future__ import annotations

import csv
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.axes import Axes

from deepcs.analysis.drawing import Drawing
from deepcs.analysis.intervals import median_interval
from deepcs.analysis.legibility import explain
from deepcs.analysis.rank_tests import rank_test, smallest_p
from deepcs.analysis.statistics import holm_where_possible
from deepcs.analysis.style import FAINT, new_figure, short, spaced, styled
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
ALPHA = 0.05
ROW = 0.26  # inches, of a treatment in the figure
NEAR = 6  # percentage points, within which circles would hide each other
READING = (
    "Circle: a run, or as many as its number says where they would hide each other. Line: their "
    "median. In brackets: runs."
)
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
    """As CSV, a row a run, in order of world, treatment, seed and steps."""
    with path.open("w", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(COLUMNS)
        for each in sorted(successes, key=lambda s: (s.world, s.treatment, s.seed, s.steps)):
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
    """The last one of each world, treatment, seed and number of steps."""
    return [*{(s.world, s.treatment, s.seed, s.steps): s for s in successes}.values()]


def families(successes: Iterable[Success]) -> dict[tuple[str, int], list[Success]]:
    """Those that are compared, by world and steps; of a world's, that with most runs first."""
    found: dict[tuple[str, int], list[Success]] = {}
    for each in successes:
        found.setdefault((each.world, each.steps), []).append(each)
    worlds = [*dict.fromkeys(world for world, _ in found)]
    order = sorted(found, key=lambda key: (worlds.index(key[0]), -len(found[key]), -key[1]))
    return {key: found[key] for key in order}


def by_treatment(family: Sequence[Success]) -> dict[str, np.ndarray]:
    """Shares solved, `deepcs` first, then by falling median."""
    names = dict.fromkeys(each.treatment for each in family)
    found = {name: np.array([s.solved for s in family if s.treatment == name]) for name in names}
    order = sorted(found, key=lambda name: (name != REFERENCE, -np.median(found[name]), name))
    return {name: found[name] for name in order}


def success_table(successes: Sequence[Success]) -> Table:
    """Median, its interval, and the test against `deepcs`, a row for each world and treatment."""
    rows: list[list[Cell]] = []
    for (world, steps), family in families(successes).items():
        found = by_treatment(family)
        tested = _tested(found)
        for name, shares in found.items():
            interval = median_interval(shares)
            span, middle = (interval.low, interval.high), float(np.median(shares))
            first: list[Cell] = [spaced(world), steps, f"`{name}`", len(shares), middle]
            rows.append([*first, span, interval.level, *tested.get(name, (None, None))])
    columns = (
        *(words("world"), Column("steps", count_text), words("treatment")),
        Column("n", count_text),
        Column("solved, median", share_text),
        Column("its interval", share_text),
        Column("covers", level_text),
        Column("p against deepcs, Holm", probability_text),
        Column("least p", probability_text),
    )
    note = (
        "Share of games solved among those that ended in the last fifth of a run. Runs of one "
        "world and number of steps are compared. p: rank tests, after Holm's correction over these "
        f"treatments, but for those with too few runs to ever reach {ALPHA}. least p: what so many "
        "runs allow at best, corrected."
    )
    return Table("novelty", "Kinds of novelty: games solved", columns, rows, note)


def _tested(found: Mapping[str, np.ndarray]) -> dict[str, tuple[float, float]]:
    """p of each treatment against `deepcs`, and the least that it could be, both corrected."""
    ours = found.get(REFERENCE)
    others = [name for name in found if name != REFERENCE]
    if ours is None:
        return {}
    p = np.array([rank_test(found[name], ours)[1] for name in others])
    least = np.array([smallest_p(len(found[name]), len(ours)) for name in others])
    corrected, lowest = (holm_where_possible(each, least, ALPHA) for each in (p, least))
    return dict(zip(others, zip(corrected.tolist(), lowest.tolist(), strict=True), strict=True))


@styled
def success_figure(successes: Sequence[Success]) -> Drawing:
    """The runs of each treatment and their median, a panel for each world."""
    shown: dict[str, tuple[int, dict[str, np.ndarray]]] = {}
    for (world, steps), family in families(successes).items():
        shown.setdefault(world, (steps, by_treatment(family)))
    rows = max(len(found) for _, found in shown.values())
    figure = new_figure(height=1.0 + ROW * rows)
    panels = figure.subplots(1, len(shown), squeeze=False)[0]
    for axes, (world, (steps, found)) in zip(panels, shown.items(), strict=True):
        for place, (name, shares) in enumerate(found.items()):
            _draw_runs(axes, place, 100 * shares, "#0072B2" if name == REFERENCE else FAINT)
        names = [f"{name} ({len(shares)})" for name, shares in found.items()]
        axes.set_yticks(range(len(found)), names)
        axes.tick_params(axis="y", length=0)
        axes.set_ylim(rows - 0.5, -0.5)  # rows of one height in all panels
        axes.set_xlim(-7, 107)
        axes.set_xlabel("games solved, %")
        axes.set_title(f"{spaced(world)}, {short(steps)} steps", loc="left")
    explain(figure, READING)
    caption = (
        "Games solved in the last fifth of each run. A circle is a run, or as many as its number "
        "says where they would hide each other, at their mean; a line the median; in brackets, how "
        "many runs there are. Of each world, the number of steps that most runs have."
    )
    name, title = "novelty-success", "Kinds of novelty, side by side"
    return Drawing(name, title, caption, figure, (success_table(successes),))


def _draw_runs(axes: Axes, place: int, percent: np.ndarray, colour: str) -> None:
    """A treatment's row: circles that count the runs which would hide each other."""
    middle = float(np.median(percent))
    axes.plot([middle] * 2, [place - 0.42, place + 0.42], color=colour, linewidth=1.6)
    for runs in _stacks(percent):
        where, number = float(np.mean(runs)), len(runs)
        style: dict[str, Any] = {"color": colour, "zorder": 3, "clip_on": False}
        axes.plot(where, place, "o", markersize=4 if number == 1 else 8.5, **style)
        if number > 1:
            about: dict[str, Any] = {"ha": "center", "va": "center_baseline", "zorder": 4}
            axes.text(where, place, str(number), color="white", fontsize=6, **about)


def _stacks(percent: np.ndarray) -> list[list[float]]:
    """Values in lists whose means, ascending, are not near each other: nearest joined first."""
    stacks = [[value] for value in np.sort(percent).tolist()]
    while len(stacks) > 1:
        gaps = np.diff([np.mean(stack) for stack in stacks])
        first = int(gaps.argmin())
        if gaps[first] >= NEAR:
            break
        stacks[first : first + 2] = [stacks[first] + stacks[first + 1]]
    return stacks
