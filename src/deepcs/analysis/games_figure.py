"""The paper's ten other games side by side, with what pseudo-counts reached as reference lines."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from matplotlib.axes import Axes
from matplotlib.lines import Line2D

from deepcs.analysis.curve_figures import BAND_COLUMNS, LINES, STEP, draw_bands
from deepcs.analysis.drawing import Drawing
from deepcs.analysis.groups import Group, Results, common_grid, counted
from deepcs.analysis.published import METHODS, TEN_GAMES, Score, published
from deepcs.analysis.statistics import bands
from deepcs.analysis.style import (
    FAINT,
    from_zero,
    legend_above,
    new_figure,
    short,
    shorten_ticks,
    spaced,
    styled,
)
from deepcs.analysis.tables import Cell, Column, Table, words

ACROSS = 3
FAR = 2.0  # a reference more than this many times above what was reached is named, not drawn
APART = 0.11  # of a panel's height, from one label to the next
REFERENCES: dict[str, Any] = {"PC": (0, (4, 2)), "PCn": (0, (1.2, 1.2))}
"""published methods that are drawn, and their dashes"""


def games_figure(results: Results) -> Iterator[Drawing]:
    """DeepCS, and A2C where it was run, on those of the ten games that the study has."""
    found = {
        world: [g for g in results.of(world) if g.config.treatment in ("deepcs", "a2c")]
        for world in TEN_GAMES
    }
    found = {world: groups for world, groups in found.items() if groups}
    if found:
        yield draw_games(found)


@styled
def draw_games(games: dict[str, list[Group]]) -> Drawing:
    """A panel a game: score curves, and dashed lines at the published scores."""
    down = -(-len(games) // ACROSS)
    figure = new_figure(0.65 + 1.8 * down)
    looks = {group.look.label: group.look for groups in games.values() for group in groups}
    lines: list[tuple[str, str, Any, float]] = [
        (look.label, look.colour, look.line, 1.8) for look in looks.values()
    ]
    lines += [(f"{name}, published", FAINT, dash, 1.0) for name, dash in REFERENCES.items()]
    legend_above(
        figure,
        [
            Line2D([], [], color=colour, linestyle=dash, linewidth=width, label=label)
            for label, colour, dash, width in lines
        ],
    )
    panels = list(figure.subplots(down, ACROSS, squeeze=False).flat)
    curves: list[list[Cell]] = []
    scores: list[list[Cell]] = []
    for axes, (world, groups) in zip(panels, games.items(), strict=False):
        curves += _draw_game(axes, world, groups)
        row = published(world)
        references = {"PC": row.pc, "PCn": row.pcn}
        draw_references(axes, references)
        scores += [[world, name, score.points] for name, score in references.items()]
    for axes in panels[len(games) :]:
        axes.set_visible(False)
    for axes in panels[: len(games)][-ACROSS:]:
        axes.set_xlabel("training steps")
    name, title = "other-games", "The other games"
    frames = {method.label: short(method.frames) for method in METHODS}
    caption = (
        f"Game score. {LINES} Dashed and dotted grey lines: the published scores of pseudo-counts "
        f"(PC, {frames['PC']} frames) and of their successor (PCn, {frames['PCn']} frames); one "
        "far above what was reached here is only named, with an arrow."
    )
    columns = words("game"), words("group"), STEP, Column("n"), *BAND_COLUMNS
    published_columns = words("game"), words("method"), Column("score")
    data = (
        Table(name, title, columns, curves),
        Table(f"{name}-published", title, published_columns, scores),
    )
    return Drawing(name, title, caption, figure, data)


def _draw_game(axes: Axes, world: str, groups: Sequence[Group]) -> list[list[Cell]]:
    """The curves of one game; returns what they draw."""
    grid = common_grid(groups)
    rows: list[list[Cell]] = []
    for group in reversed(groups):
        band = bands(group.aligned("score", grid))
        draw_bands(axes, grid, band, group.look)
        columns = band.runs, band.median, band.low, band.high, band.least, band.most
        rows += [
            [world, group.label, int(step), *(number.item() for number in numbers)]
            for step, *numbers in zip(grid, *columns, strict=True)
        ]
    axes.set_xlim(0, grid[-1])
    axes.grid(axis="y")
    shorten_ticks(axes)
    from_zero(axes)
    axes.set_title(spaced(world), pad=15)
    n = ", ".join(f"{group.label} {counted(len(group.runs), group.planned)}" for group in groups)
    axes.text(0, 1.02, n, transform=axes.transAxes, color=FAINT, va="bottom")
    return rows


def draw_references(axes: Axes, references: dict[str, Score]) -> None:
    """A line at each published score, named at its right end, without labels over each other."""
    low, high = axes.get_ylim()
    near = [score.points for score in references.values() if score.points <= max(high, 0) * FAR]
    low, high = min([low, *near]), max([high, *(1.05 * points for points in near)])
    axes.set_ylim(low, high)
    below = 1.0 + APART
    for name, score in sorted(references.items(), key=lambda item: -item[1].points):
        text = f"{name} {'~' if score.approximate else ''}{score.points:,}"
        if score.points in near:
            dash = REFERENCES[name]
            axes.axhline(score.points, color=FAINT, linewidth=1, linestyle=dash, zorder=1.5)
            below = min((score.points - low) / (high - low), below - APART)
        else:
            text, below = f"{text} ↑", below - APART
        axes.text(1.02, below, text, color=FAINT, va="center", transform=axes.transAxes)
