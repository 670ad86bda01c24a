"""Published scores beside our curves: a line where it fits, else a name and an arrow."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from matplotlib.axes import Axes

from deepcs.analysis.groups import Group
from deepcs.analysis.published import METHODS, Score, published
from deepcs.analysis.style import FAINT, short

FAR = 2.0  # a score more than this many times above what was reached is named, not drawn
APART = 0.11  # of a panel's height of HEIGHT inches, from one label to the next
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
        references.append(Reference("its best run", Score(row.best.points), DASH_DOTTED))
    return references


def paper_words(groups: Sequence[Group]) -> str:
    """What the lines of `paper_references` are, for a caption; empty where there are none."""
    row = published(groups[0].world)
    if row is None or not paper_references(groups):
        return ""
    steps = short(METHODS[-1].frames / 4)
    text = f"Grey: the paper's DeepCS after {steps} steps, median {row.deepcs.points:,}"
    if row.best is not None:
        text += f", best single run {row.best.points:,} (on {row.best.agent})"
    return f"{text}; what is far above the curves is only named, with an arrow."


def draw_references(axes: Axes, references: Sequence[Reference], apart: float = APART) -> None:
    """A line at each score, named at its right end, without labels over each other.

    apart: from one label to the next, as a share of the panel's height.
    """
    if not references:
        return
    low, high = axes.get_ylim()
    near = [r.score.points for r in references if r.score.points <= max(high, 0) * FAR]
    low, high = min([low, *near]), max([high, *(1.05 * points for points in near)])
    axes.set_ylim(low, high)
    below = 1.0 + apart
    for reference in sorted(references, key=lambda r: -r.score.points):
        points = reference.score.points
        text = f"{reference.label} {'~' if reference.score.approximate else ''}{points:,}"
        if points in near:
            dash = reference.dash
            axes.axhline(points, color=FAINT, linewidth=1, linestyle=dash, zorder=1.5)
            below = min((points - low) / (high - low), below - apart)
        else:
            text, below = f"{text} ↑", below - apart
        axes.text(1.02, below, text, color=FAINT, va="center", transform=axes.transAxes)
