"""Kinds of novelty in one world: their scores together, the intrinsic reward of each by itself.

Tiles, cells of a picture and errors of a network are other units: on one axis their heights would
be compared, which says nothing.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from matplotlib.axes import Axes

from deepcs.analysis.comparable import recorded
from deepcs.analysis.curve_figures import (
    BAND_COLUMNS,
    STEP,
    N,
    counts_words,
    curve_rows,
    draw_bands,
    handle,
    lines_words,
    reading_words,
)
from deepcs.analysis.drawing import Drawing
from deepcs.analysis.groups import Group, common_steps
from deepcs.analysis.legibility import bend_axis, explain, hidden_words
from deepcs.analysis.reference_lines import (
    ROOM,
    draw_lines,
    paper_references,
    paper_words,
    write_above,
)
from deepcs.analysis.statistics import bands
from deepcs.analysis.style import (
    file_name,
    from_zero,
    legend_above,
    new_figure,
    shorten_ticks,
    spaced,
    styled,
)
from deepcs.analysis.tables import Cell, Table, words

SMALL = 7  # points: what is recorded has to fit above half of the figure
APART = "Right: the intrinsic reward of each kind, in its own unit and on its own axis: heights in "
APART += "one panel say nothing beside those in another."


def kinds_figure(groups: Sequence[Group]) -> Iterator[Drawing]:
    """The figure of a world's groups, if they record more than one kind of intrinsic reward."""
    kinds: dict[str, list[Group]] = {}
    for group in sorted(groups, key=lambda group: group.config.treatment != "deepcs"):
        kinds.setdefault(recorded(group.config), []).append(group)
    if len(kinds) > 1:
        yield draw_kinds(kinds)


@styled
def draw_kinds(kinds: dict[str, list[Group]]) -> Drawing:
    """The score of all on the left, on the right a panel for each thing that is recorded."""
    groups = [group for alike in kinds.values() for group in alike]
    world = groups[0].world
    references = paper_references(groups)
    figure = new_figure(1.1 + 0.85 * len(kinds))
    legend_above(figure, [handle(group) for group in groups], spaced(world))
    grid = figure.add_gridspec(len(kinds), 2)
    score = figure.add_subplot(grid[:, 0])
    score.set_title("Game score", pad=ROOM if references else None)
    curves, notes = _draw(score, "score", groups)
    write_above(score, draw_lines(score, references))
    for row, (what, alike) in enumerate(kinds.items()):
        axes = figure.add_subplot(grid[row, 1])
        axes.set_title(f"Intrinsic: {what}", fontsize=SMALL, fontweight="normal")
        found, told = _draw(axes, "intrinsic", alike)
        curves, notes = curves + found, notes + told
        axes.tick_params(labelbottom=row == len(kinds) - 1)
    for axes in (score, figure.axes[-1]):
        axes.set_xlabel("training steps")
    explain(figure, "\n".join([reading_words(groups), APART, *notes]))
    name, title = f"{file_name(world)}-kinds", f"{spaced(world)}: kinds of novelty"
    parts = counts_words(groups), lines_words(groups), APART, *notes, paper_words(groups)
    columns = words("measure"), words("group"), STEP, N, *BAND_COLUMNS
    data = Table(name, title, columns, curves)
    return Drawing(name, title, " ".join(filter(None, parts)), figure, (data,))


def _draw(axes: Axes, measure: str, groups: Sequence[Group]) -> tuple[list[list[Cell]], list[str]]:
    """The curves of one panel; returns what they draw, and what has to be said of them."""
    steps = common_steps(groups)
    drawn = {group: bands(group.aligned(measure, steps)) for group in groups}
    for group in reversed(groups):  # the first lies on top
        draw_bands(axes, steps, drawn[group], group.look)
    axes.set_xlim(0, max(group.config.steps for group in groups))
    axes.grid(axis="y")
    shorten_ticks(axes)
    from_zero(axes)
    if measure != "score":
        axes.locator_params(axis="y", nbins=3)
    medians = {group.label: band.median for group, band in drawn.items()}
    told = [*filter(None, (bend_axis(axes, [*drawn.values()]), hidden_words(medians)))]
    heading = axes.get_title("left")
    rows = [row for group, band in drawn.items() for row in curve_rows(heading, group, steps, band)]
    return rows, [f"{heading}: {'; '.join(told)}."] if told else []
