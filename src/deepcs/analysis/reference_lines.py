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
MARGIN = 0.03  # of a panel's height, beneath the lowest line
ROOM = 15  # points between a heading and its panel, for a remark
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


def draw_lines(axes: Axes, references: Sequence[Reference]) -> str:
    """A line at each score that is near; returns all of them in words, an arrow at the others."""
    low, high = axes.get_ylim()
    near = [r.score.points for r in references if r.score.points <= max(high, 0) * FAR]
    high = max([high, *(1.05 * points for points in near)])
    low = min([low, *(points - MARGIN * (high - points) for points in near if points < 0)])
    axes.set_ylim(low, high)
    for reference in references:
        points = reference.score.points
        if points in near:
            axes.axhline(points, color=FAINT, linewidth=1, linestyle=reference.dash, zorder=1.5)
    return " · ".join(_text(each, each.score.points in near) for each in references)


def write_above(axes: Axes, text: str) -> None:
    """A remark between a panel and its heading, which needs a `pad` of ROOM."""
    axes.text(0, 1.02, text, color=FAINT, va="bottom", transform=axes.transAxes)


def _text(reference: Reference, drawn: bool) -> str:
    points = f"{reference.score.points:,}".replace("-", "−")
    score = f"{'~' * reference.score.approximate}{points}"
    return f"{reference.label} {score}{'' if drawn else ' ↑'}"
