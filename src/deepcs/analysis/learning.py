"""How soon single runs learn: their games, stretch by stretch of steps, as a table and a figure."""

from __future__ import annotations

import csv
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from deepcs.analysis.drawing import Drawing
from deepcs.analysis.legibility import explain
from deepcs.analysis.settings_tables import flat_settings
from deepcs.analysis.style import from_zero, legend_above, new_figure, shorten_ticks, spaced, styled
from deepcs.analysis.tables import Cell, Column, Table, count_text, share_text, words
from deepcs.runs.load import RunLogs, load_run

ROW, POINT = 200_000, 100_000  # steps of a row and of a point
ROWS_EVERY = 500_000  # steps from one row to the next
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#56B4E9", "#E69F00", "#7F7F7F", "#000000")
DASHES = ("-", "--", ":", "-.")
MARKERS, MARKS = "osD^vPX*", 6  # along a line, so that runs can be told apart in grey
COLUMNS = 4  # of the legend
ALWAYS = 0.9  # share of games with points above which it says nothing
EVALUATIONS = "evaluation-{}.csv"
"""Beside a run's logs: what `deepcs evaluate RUN --step STEP` wrote; with --greedy, greedy-STEP."""
GREEDY = "-greedy-"
OF_NO_EFFECT = ("steps", "log_every", "checkpoint_every", "milestone_every", "preset")
"""Settings that may differ without a difference in what is learned."""


@dataclass(frozen=True)
class Stretch:
    """The games that ended within some steps of a run."""

    end: int
    """its last step"""
    games: int
    with_points: float
    """share of them"""
    several_rooms: float
    """share of them"""
    mean: float
    best: float
    intrinsic: float
    """mean"""
    latest: float
    """mean score of each actor's latest game at its last step: long games count like short ones"""


def stretches(run: RunLogs, length: int, every: int | None = None) -> Iterator[Stretch]:
    """One every so many steps, and one before the last step; those without a game are left out.

    every: None: one after the other.
    """
    steps, scores, intrinsic = (run.games[name] for name in ("step", "score", "intrinsic"))
    several = np.array([len(rooms) > 1 for rooms in run.game_rooms])
    rows, latest = run.curve["step"], run.curve["score"]
    last = int(rows[-1])
    every = every or length
    for end in [*range(every, last, every), last]:
        within = (steps > end - length) & (steps <= end)
        if within.any():
            yield Stretch(
                end,
                int(within.sum()),
                float((scores[within] > 0).mean()),
                float(several[within].mean()),
                float(scores[within].mean()),
                float(scores[within].max()),
                float(intrinsic[within].mean()),
                float(latest[max(np.searchsorted(rows, end, side="right") - 1, 0)]),
            )


def learning_table(
    runs: Sequence[Path], length: int = ROW, every: int | None = ROWS_EVERY
) -> Table:
    """A row for each stretch of each run."""
    rows: list[list[Cell]] = [
        [f"`{path.name}`", *vars(each).values()]
        for path in runs
        for each in stretches(load_run(path), length, every)
    ]
    columns = (
        words("run"),
        Column("steps", count_text),
        Column("games", count_text),
        Column("with points", share_text),
        Column("several rooms", share_text),
        *map(Column, ("mean score", "best score", "mean intrinsic", "latest games")),
    )
    name, title = f"learning-{length}", f"Games that ended in the last {length:,} steps"
    note = (
        "latest games: mean score of each actor's latest game; the other columns have more "
        "short games than long ones, of which fewer end."
    )
    return Table(name, title, columns, rows, note)


def varied_settings(runs: Sequence[Path]) -> Table:
    """What the runs were given differently: a row a run, a column a setting."""
    settings = {}
    for path in runs:
        config = load_run(path).config
        settings[path.name] = {"world": config.world, "seed": str(config.seed)}
        settings[path.name] |= flat_settings(config)
    names = [name for each in settings.values() for name in each if name not in OF_NO_EFFECT]
    varied = [
        name
        for name in dict.fromkeys(names)
        if len({each.get(name) for each in settings.values()}) > 1
    ]
    rows = [[f"`{run}`", *(each.get(name) for name in varied)] for run, each in settings.items()]
    title = "Settings in which the runs differ"
    return Table("varied-settings", title, tuple(map(words, ("run", *varied))), rows)


def tuning_table(runs: Sequence[Path], length: int = 100_000) -> Table:
    """The last games of runs in which single settings were changed: a row a run.

    What counts as unchanged is what most of the runs have.
    """
    logs = [load_run(path) for path in runs]
    settings = [flat_settings(run.config) for run in logs]
    names = [name for name in settings[0] if name not in OF_NO_EFFECT]
    usual = {name: Counter(each.get(name) for each in settings) for name in names}
    rows: list[list[Cell]] = []
    for run, mine in zip(logs, settings, strict=True):
        most = {name: found.most_common(1)[0][0] for name, found in usual.items()}
        differ = [name for name in names if mine.get(name) != most[name]]
        changed = [f"{name} {mine[name]}" for name in differ if name in mine]
        if lacking := [name for name in differ if name not in mine]:
            changed.append(f"without {' and '.join(lacking)}")
        last = [*stretches(run, length)][-1]
        shown = last.end, last.with_points, last.several_rooms, last.mean, last.intrinsic
        speed = float(np.median(run.curve["steps_per_second"]))
        what = ", ".join(changed) or "nothing"
        rows.append([spaced(run.config.world), what, str(run.config.seed), *shown, speed])
    rows.sort(key=lambda row: (str(row[0]), str(row[1]) != "nothing", str(row[1]), str(row[2])))
    columns = (
        *map(words, ("world", "changed", "seed")),
        Column("steps", count_text),
        Column("with points", share_text),
        Column("several rooms", share_text),
        *map(Column, ("mean score", "mean intrinsic", "steps/s")),
    )
    title = f"One setting changed at a time: games of the last {length:,} steps"
    return Table("tuning", title, columns, rows, "steps/s: two runs at once, one core each.")


def first_steps(runs: Sequence[Path]) -> Table:
    """The step of each milestone, run by run, of runs of one game, and how long they took."""
    logs = [load_run(path) for path in runs]
    names = [*logs[0].milestones]
    rows: list[list[Cell]] = [
        [
            f"`{path.name}`",
            *(run.milestones[name] for name in names),
            int(run.curve["step"][-1]),
            float(run.curve["seconds"][-1]) / 3600,
        ]
        for path, run in zip(runs, logs, strict=True)
    ]
    counts = (Column(name, count_text) for name in (*names, "steps so far"))
    columns = words("run"), *counts, Column("hours")
    title = "Steps to the first game of each kind"
    note = "hours: on one core; other work beside some of the runs made them slower."
    return Table("first-steps", title, columns, rows, note)


def evaluation_table(runs: Sequence[Path]) -> Table:
    """The games of `deepcs evaluate`: a row for each evaluated checkpoint of each run."""
    rows: list[list[Cell]] = []
    for run in runs:
        for path in run.glob(EVALUATIONS.format("*")):
            with path.open(newline="") as lines:
                games = [*csv.DictReader(lines)]
            scores, tiles, steps = (
                np.array([float(game[name]) for game in games])
                for name in ("score", "tiles", "steps")
            )
            several = np.array([";" in game["rooms"] for game in games])
            spread = [scores.mean(), *np.quantile(scores, (0, 0.25, 0.5, 0.75, 1))]
            shares = float((scores > 0).mean()), float(several.mean())
            ends = float(np.median(tiles)), int(np.median(steps))
            step = int(path.stem.rpartition("-")[2])
            actions = "likeliest" if GREEDY in path.stem else "drawn"
            who: list[Cell] = [f"`{run.name}`", step, actions]
            rows.append([*who, len(games), *shares, *map(float, spread), *ends])
    rows.sort(key=lambda row: (str(row[0]), row[1], str(row[2])))
    columns = (
        words("run"),
        Column("at step", count_text),
        words("actions"),
        Column("games", count_text),
        Column("with points", share_text),
        Column("several rooms", share_text),
        *map(Column, ("mean score", "lowest", "quarter", "median", "three quarters", "highest")),
        Column("median tiles"),
        Column("median steps", count_text),
    )
    note = (
        "actions: drawn from the policy, or always the likeliest (--greedy). quarter: a quarter of "
        "the games scored that or less."
    )
    return Table("evaluations", "Games played by checkpoints", columns, rows, note)


@styled
def learning_figure(runs: Sequence[Path]) -> Drawing:
    """Scores of latest games along the steps of runs of one game; left of them the share of games
    with points, where some have none.
    """
    logs = [load_run(path) for path in runs]
    world = logs[0].config.world
    found = [[*stretches(run, POINT)] for run in logs]
    rare = any(each.with_points < ALWAYS for line in found for each in line)
    figure = new_figure(height=3.0 + 0.17 * (-(-len(runs) // COLUMNS)))
    panels = [figure.add_subplot(1, 1 + rare, 1 + place) for place in range(1 + rare)]
    for number, (line, name) in enumerate(zip(found, run_names(runs), strict=True)):
        ends = [each.end for each in line]
        every = max(1, len(ends) // MARKS)
        look: dict[str, Any] = {
            "color": COLOURS[number % len(COLOURS)],
            "linestyle": DASHES[number % len(DASHES)],
            "marker": MARKERS[number % len(MARKERS)],
            "markersize": 4,
            "markevery": (number % every, every),  # not all lines at the same steps
            "linewidth": 1.4,
        }
        panels[-1].plot(ends, [each.latest for each in line], label=name, **look)
        if rare:
            panels[0].plot(ends, [100 * each.with_points for each in line], **look)
    panels[0].set_title("Games with points, %")
    panels[-1].set_title("Score of latest games")
    for axes in panels:
        axes.set_xlabel("training steps")
        axes.grid(axis="y")
        shorten_ticks(axes)
        from_zero(axes)
    legend_above(figure, panels[-1].get_lines(), spaced(world), COLUMNS)
    told = "the mean of each actor's latest game."
    if rare:
        told = f"left, of the games that ended in the last {POINT:,} steps; right, {told}"
    explain(figure, f"Line: one run; {told}")
    title = f"{spaced(world)}: how soon single runs learn"
    name = f"{world.lower()}-learning"
    table = learning_table(runs, POINT, None)
    return Drawing(name, title, f"Each line is one run: {told}", figure, (table,))


def run_names(runs: Sequence[Path]) -> list[str]:
    """Their folders' names in words, without what all begin with: `bfloat16, seed 0`."""
    parts = [path.name.split("-") for path in runs]
    alike = 0
    while len(runs) > 1 and all(len(each) > alike + 1 for each in parts):
        if len({each[alike] for each in parts}) > 1:
            break
        alike += 1
    names = (" ".join(each[alike:]) for each in parts)
    return [re.sub(r" seed(\d+)$", r", seed \1", name) for name in names]
