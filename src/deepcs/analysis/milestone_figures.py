"""Milestones over seeds: the share of runs that have had their first game of a kind, by step."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from scipy import stats

from deepcs.analysis.curve_figures import MARK, MARKS, handle
from deepcs.analysis.drawing import Drawing
from deepcs.analysis.groups import Group, counted
from deepcs.analysis.legibility import explain
from deepcs.analysis.style import (
    FAINT,
    Look,
    file_name,
    legend_above,
    new_figure,
    shorten_ticks,
    spaced,
    styled,
)
from deepcs.analysis.tables import Cell, Column, Table, count_text, share_text, words
from deepcs.runs.milestones import milestones_of

ACROSS = 3
READING = (
    "A line steps up where a run ends its first such game; | is a run that was over without one. "
    "No line: no run got there."
)
LIFTED = (
    "Where lines would lie on each other, the later in the legend is lifted above where it is, by "
    "{} or more."
)
APART = 0.02  # between lines that would lie on each other: more than a line is wide
POINTS = 240  # at which lines are compared, and their marks placed
HIDDEN = 0.2  # of the steps above 0: the part of a line on another from which it is lifted


@dataclass(frozen=True)
class Reached:
    """Kaplan and Meier's estimate: the share of runs that have reached something, by step."""

    steps: np.ndarray
    """at which a run reached it or was over, ascending, (points,)"""
    share: np.ndarray
    """from that step on, (points,)"""
    ends: np.ndarray
    """steps at which runs were over without it, (runs that never reached it,)"""

    def at(self, steps: np.ndarray) -> np.ndarray:
        """The share that has reached it by each of these steps, (n,)."""
        place = np.searchsorted(self.steps, steps, side="right")
        found: np.ndarray = np.concatenate(([0.0], self.share))[place]
        return found

    @property
    def median(self) -> float:
        """The step by which half of the runs have reached it; NaN: they have not."""
        half = np.flatnonzero(self.share >= 0.5 - 1e-12)
        return float(self.steps[half[0]]) if len(half) else float("nan")


def reached(firsts: Sequence[int | None], ends: Sequence[int]) -> Reached:
    """From the step at which each run reached it (None: never), and at which each was over.

    A run that ended before it got there is censored at its end.
    """
    events = np.array([first for first in firsts if first is not None], np.float64)
    pairs = zip(firsts, ends, strict=True)
    censored = np.array([end for first, end in pairs if first is None], np.float64)
    found = stats.ecdf(stats.CensoredData(uncensored=events, right=censored))
    return Reached(found.cdf.quantiles, found.cdf.probabilities, np.sort(censored))


def milestone_figures(groups: Sequence[Group]) -> Iterator[Drawing]:
    """The milestones that any run of a world has reached, if any."""
    groups = [group for group in groups if group.runs]
    if not groups:
        return
    labels = [milestone.label for milestone in milestones_of(groups[0].world)]
    runs = [run for group in groups for run in group.runs]
    shown = [label for label in labels if any(run.milestones[label] is not None for run in runs)]
    if shown:
        yield draw_milestones(groups, shown, labels)


@styled
def draw_milestones(
    groups: Sequence[Group], shown: Sequence[str], labels: Sequence[str]
) -> Drawing:
    """A panel per milestone; labels: all there are, of which some were never reached."""
    world, last = groups[0].world, max(group.config.steps for group in groups)
    down, across = -(-len(shown) // ACROSS), min(ACROSS, len(shown))
    figure = new_figure(1.05 + max(2.2, 1.75 * down) + 0.17 * (len(groups) // 4))
    legend_above(figure, [handle(group) for group in groups], spaced(world))
    panels = list(figure.subplots(down, across, squeeze=False, sharey=True).flat)
    told: list[str] = []
    top = 0
    for axes, label in zip(panels, shown, strict=False):
        there = [g for g in groups if any(run.milestones[label] is not None for run in g.runs)]
        found = [_of(group, label) for group in there]
        levels = lifted(found, last)
        for group, line, level in zip(there, found, levels, strict=True):
            mark = groups.index(group) / len(groups)
            draw_reached(axes, line, group.look, last, APART * level, mark)
        names = [g.label for g, level in zip(there, levels, strict=True) if level]
        told += [f"{' and '.join(names)} ({label})"] if names else []
        top = max(top, *levels)
        axes.set_title(label)
        axes.set_xlim(0, last)
        axes.set_yticks([0, 0.5, 1], [share_text(share) for share in (0, 0.5, 1)])
        axes.grid(axis="y")
        shorten_ticks(axes, ["x"])
    panels[0].set_ylim(-0.03, 1.05 + APART * top)  # of all panels, which share it
    for axes in panels[len(shown) :]:
        axes.set_visible(False)
    for axes in panels[: len(shown)][-across:]:
        axes.set_xlabel("training steps")
    panels[0].set_ylabel("runs that reached it")
    lifting = LIFTED.format(share_text(APART)) if told else ""
    explain(figure, f"{READING}\n{lifting}".strip())
    name, title = f"{file_name(world)}-milestones", f"{spaced(world)}: milestones"
    missing = [label for label in labels if label not in shown]
    never = f" Never reached by any run: {', '.join(missing)}." if missing else ""
    caption = (
        "Share of runs that have ended a game of each kind, by training step (Kaplan and Meier's "
        "estimate). A line steps up where a run has its first such game; a mark | is where a run "
        "was over without one, and is counted until there; a group without a line never got "
        "there. "
        f"{', '.join(f'{g.label} {counted(len(g.runs), g.planned)}' for g in groups)}.{never}"
    )
    if told:
        caption += f" {lifting} Lifted here: {'; '.join(told)}."
    return Drawing(name, title, caption, figure, (milestone_table(groups, name, title),))


def lifted(found: Sequence[Reached], last: int) -> list[int]:
    """How many places each line is lifted, so that none lies on one before it for long."""
    grid = np.linspace(0, last, POINTS)
    levels: list[int] = []
    drawn: list[np.ndarray] = []
    for each in found:
        share = each.at(grid)
        level = 0
        while any(_hides(share + APART * level, other, share > 0) for other in drawn):
            level += 1
        levels.append(level)
        drawn.append(share + APART * level)
    return levels


def _hides(line: np.ndarray, other: np.ndarray, above: np.ndarray) -> bool:
    """Whether two lines lie on each other along much of where the first is above 0."""
    near = np.abs(line - other) < APART / 2
    return bool(above.any()) and float(near[above].mean()) > HIDDEN


def draw_reached(
    axes: Axes, found: Reached, look: Look, last: int, lift: float, mark: float
) -> None:
    """One group's steps up, with its marks, and where runs were over.

    mark: 0 to 1: where between two marks its first stands, so that groups' marks stand apart.
    """
    steps = np.concatenate(([0.0], found.steps, [last]))
    share = np.concatenate(([0.0], found.share, found.share[-1:]))
    axes.step(steps, share + lift, look.line, where="post", color=look.colour, linewidth=1.6)
    places = last * (np.arange(MARKS) + 0.15 + 0.8 * mark) / MARKS
    style: dict[str, Any] = {"color": look.colour, "markersize": MARK, "clip_on": False}
    axes.plot(places, found.at(places) + lift, look.marker or "None", linestyle="None", **style)
    if len(found.ends):
        axes.plot(found.ends, found.at(found.ends) + lift, "|", **{**style, "markersize": 8})
    axes.axhline(0, color=FAINT, linewidth=0.5, zorder=0)


def milestone_table(groups: Sequence[Group], name: str, title: str) -> Table:
    """How many runs reached each milestone, and by which step half of them had."""
    rows: list[list[Cell]] = []
    for group in groups:
        for milestone in milestones_of(group.world):
            firsts = [run.milestones[milestone.label] for run in group.runs]
            found = [first for first in firsts if first is not None]
            cells: list[Cell] = [group.label, milestone.label, len(firsts), len(found)]
            steps: list[Cell] = [min(found, default=None), _of(group, milestone.label).median]
            rows.append([*cells, *steps])
    columns = (
        *(words("group"), words("milestone"), Column("n"), Column("reached")),
        *(Column("first run", count_text), Column("half of the runs", count_text)),
    )
    note = (
        "Steps at which the first game of each kind was over: in the first run to get there, and "
        "by which half of the runs had (Kaplan and Meier; – where they had not)."
    )
    return Table(name, title, columns, rows, note)


def _of(group: Group, label: str) -> Reached:
    firsts = [run.milestones[label] for run in group.runs]
    return reached(firsts, [run.last_step for run in group.runs])
