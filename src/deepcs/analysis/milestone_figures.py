"""Milestones over seeds: the share of runs that have had their first game of a kind, by step."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from matplotlib.axes import Axes
from scipy import stats

from deepcs.analysis.curve_figures import handle
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
APART = 0.01  # between lines that would lie on each other


@dataclass(frozen=True)
class Reached:
    """Kaplan and Meier's estimate: the share of runs that have reached something, by step."""

    steps: np.ndarray
    """at which a run reached it or was over, ascending, (points,)"""
    share: np.ndarray
    """from that step on, (points,)"""
    ends: np.ndarray
    """steps at which runs were over without it, (runs that never reached it,)"""

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
    figure = new_figure(0.95 + 1.75 * down + 0.17 * (len(groups) // 4))
    legend_above(figure, [handle(group) for group in groups], spaced(world))
    panels = list(figure.subplots(down, across, squeeze=False, sharey=True).flat)
    for axes, label in zip(panels, shown, strict=False):
        there = [g for g in groups if any(run.milestones[label] is not None for run in g.runs)]
        for place, group in enumerate(there):
            draw_reached(axes, _of(group, label), group.look, last, APART * place)
        axes.set_title(label)
        axes.set_xlim(0, last)
        axes.set_ylim(-0.03, 1.05 + APART * len(groups))
        axes.set_yticks([0, 0.5, 1], [share_text(share) for share in (0, 0.5, 1)])
        axes.grid(axis="y")
        shorten_ticks(axes, ["x"])
    for axes in panels[len(shown) :]:
        axes.set_visible(False)
    for axes in panels[: len(shown)][-across:]:
        axes.set_xlabel("training steps")
    panels[0].set_ylabel("runs that reached it")
    explain(figure, READING)
    name, title = f"{file_name(world)}-milestones", f"{spaced(world)}: milestones"
    missing = [label for label in labels if label not in shown]
    never = f" Never reached by any run: {', '.join(missing)}." if missing else ""
    caption = (
        "Share of runs that have ended a game of each kind, by training step (Kaplan and Meier's "
        "estimate). A line steps up where a run has its first such game; a mark | is where a run "
        "was over without one, and is counted until there; a group without a line never got "
        "there. Each line is lifted by 1 % above the one before, so that none hides another. "
        f"{', '.join(f'{g.label} {counted(len(g.runs), g.planned)}' for g in groups)}.{never}"
    )
    return Drawing(name, title, caption, figure, (milestone_table(groups, name, title),))


def draw_reached(axes: Axes, found: Reached, look: Look, last: int, lift: float) -> None:
    """One group's steps up, and marks where runs were over."""
    steps = np.concatenate(([0.0], found.steps, [last]))
    share = np.concatenate(([0.0], found.share, found.share[-1:]))
    axes.step(steps, share + lift, look.line, where="post", color=look.colour, linewidth=1.6)
    if len(found.ends):
        at = np.searchsorted(found.steps, found.ends, side="right") - 1
        heights = np.where(at >= 0, found.share[np.maximum(at, 0)], 0.0)
        axes.plot(found.ends, heights + lift, "|", color=look.colour, markersize=6, clip_on=False)
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
