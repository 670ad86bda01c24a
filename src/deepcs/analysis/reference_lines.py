"""Published scores beside our curves: a line where it fits, else a name and an arrow."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from matplotlib.axes import Axes

from deepcs.analysis.groups import Group
from deepcs.analysis.published import METHODS, Score, published
from deepcs.analysis.style import FAINT, short

FAR = 2.0  # a score more than this many times above what was reached is named, not drawn
APART = 0.11  # of a panel's height, from one label to the next
DASHED, DOTTED, DASH_DOTTED = (0, (4, 2)), (0, (1.2, 1.2)), (0, (4, 1.5, 1, 1.5))


@dataclass(frozen=True)
class Reference:
    """A published score."""

    label: str
    """as it stands beside the line"""
    score: Score
    dash: Any
    """of its line, as matplotlib has it"""


def paper_references(groups: Sequence[Group]) -> list[Reference]:
    """The paper's own DeepCS on the world of these groups, if they have DeepCS and it has them."""
    row = published(groups[0].world)
    if row is None or all(group.config.treatment != "deepcs" for group in groups):
        return []
    references = [Reference("paper", row.deepcs, DASHED)]
    if row.best is not None:
        references.append(Reference("best run", Score(row.best.points), DASH_DOTTED))
    return references


def paper_words(groups: Sequence[Group]) -> str:
    """What the lines of `paper_references` are, for a caption; empty where there are none."""
    row = published(groups[0].world)
    if row is None or not paper_references(groups):
        return ""
    steps = short(METHODS[-1].frames / 4)
    text = f"The paper's DeepCS after {steps} steps: median {row.deepcs.points:,} (dashed)"
    if row.best is not None:
        text += f", best single run {row.best.points:,} (on {row.best.agent}; dash-dotted)"
    return f"{text}; ↑: far above the curves, so not drawn."


def draw_lines(axes: Axes, references: Sequence[Reference]) -> dict[Reference, float | None]:
    """A line at each score that is near; returns how high it lies in the panel, None: not drawn."""
    low, high = axes.get_ylim()
    near = [r.score.points for r in references if r.score.points <= max(high, 0) * FAR]
    low, high = min([low, *near]), max([high, *(1.05 * points for points in near)])
    axes.set_ylim(low, high)
    heights: dict[Reference, float | None] = dict.fromkeys(references)
    for reference in references:
        points = reference.score.points
        if points in near:
            axes.axhline(points, color=FAINT, linewidth=1, linestyle=reference.dash, zorder=1.5)
            heights[reference] = (points - low) / (high - low)
    return heights


def label_beside(axes: Axes, heights: Mapping[Reference, float | None]) -> None:
    """Name each line at its right end, without labels over each other."""
    below = 0.96 + APART  # clear of what stands above the panel
    for reference in sorted(heights, key=lambda each: -each.score.points):
        height = heights[reference]
        below = below - APART if height is None else min(height, below - APART)
        text = _text(reference, height)
        axes.text(1.02, below, text, color=FAINT, va="center", transform=axes.transAxes)


def label_above(axes: Axes, heights: Mapping[Reference, float | None]) -> None:
    """Name all lines in one row above the panel, at its right."""
    text = " · ".join(_text(reference, height) for reference, height in heights.items())
    write_above(axes, text)


def write_above(axes: Axes, text: str) -> None:
    """A remark above a panel, at its right."""
    axes.text(1, 1.03, text, color=FAINT, ha="right", va="bottom", transform=axes.transAxes)


def _text(reference: Reference, height: float | None) -> str:
    score = f"{'~' * reference.score.approximate}{reference.score.points:,}"
    return f"{reference.label} {score}{' ↑' * (height is None)}"
