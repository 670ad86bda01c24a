"""The paper's ten additional games side by side, with what pseudo-counts reached as lines."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from matplotlib.axes import Axes
from matplotlib.lines import Line2D

from deepcs.analysis.curve_figures import (
    BAND_COLUMNS,
    STEP,
    draw_bands,
    lines_words,
    reading_words,
)
from deepcs.analysis.drawing import Drawing
from deepcs.analysis.groups import Group, Results, common_steps, tally
from deepcs.analysis.legibility import bend_axis, explain, hidden_words
from deepcs.analysis.paper_figures import OTHER_GAMES, after
from deepcs.analysis.published import METHODS, TEN_GAMES, Score, published
from deepcs.analysis.reference_lines import (
    DASH_DOTTED,
    DASHED,
    DOTTED,
    ROOM,
    Reference,
    draw_lines,
    write_above,
)
from deepcs.analysis.statistics import Bands, bands
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

ACROSS = 2  # three leave no room for the published scores above a panel
NOWHERE: tuple[list[float], list[float]] = ([], [])
OURS = " (not in the paper)"
BEST = "best run"
DASHES: dict[str, Any] = {"PC": DASHED, "PCn": DOTTED, BEST: DASH_DOTTED}
LEGEND = {"PC": "PC, published", "PCn": "PCn, published", BEST: "the paper's best run"}


def games_figure(results: Results) -> Iterator[Drawing]:
    """DeepCS, and A2C where it was run, on those of the ten games that the study has."""
    found = {
        world: [g for g in results.of(world) if g.config.treatment in ("deepcs", "plain")]
        for world in TEN_GAMES
    }
    found = {world: groups for world, groups in found.items() if groups}
    if found:
        yield draw_games(found)


@styled
def draw_games(games: dict[str, list[Group]]) -> Drawing:
    """A panel a game: score curves, and dashed lines at the published scores."""
    down = -(-len(games) // ACROSS)
    figure = new_figure(0.85 + 1.7 * down)
    found = {group.look.label: group for groups in games.values() for group in groups}
    lines: list[tuple[str, str, Any, float, str]] = [
        (
            label + OURS * (group.config.treatment == "plain"),
            group.look.colour,
            group.look.line,
            1.8,
            group.look.marker,
        )
        for label, group in found.items()
    ]
    references = {world: _references(world) for world in games}
    drawn = {reference.label for each in references.values() for reference in each}
    lines += [
        (LEGEND[name], FAINT, dash, 1.0, "") for name, dash in DASHES.items() if name in drawn
    ]
    legend_above(
        figure,
        [
            Line2D(*NOWHERE, color=c, linestyle=dash, linewidth=width, marker=mark, label=label)
            for label, c, dash, width, mark in lines
        ],
    )
    panels = list(figure.subplots(down, ACROSS, squeeze=False).flat)
    curves: list[list[Cell]] = []
    scores: list[list[Cell]] = []
    notes: list[str] = []
    for axes, (world, groups) in zip(panels, games.items(), strict=False):
        curves += _draw_game(axes, world, groups, notes)
        write_above(axes, draw_lines(axes, references[world]))
        scores += [[world, each.label, each.score.points] for each in references[world]]
    for axes in panels[len(games) :]:
        axes.set_visible(False)
    for axes in panels[: len(games)][-ACROSS:]:
        axes.set_xlabel("training steps")
    name, title = "other-games", "The paper's ten additional games"
    everyone = [group for groups in games.values() for group in groups]
    frames = {method.label: short(method.frames) for method in METHODS}
    caption = (
        f"Game score. {lines_words(everyone)} n: runs, in the legend's order. Dashed and dotted "
        "grey lines: the published scores of pseudo-counts "
        f"(PC, {frames['PC']} frames) and of their successor (PCn, {frames['PCn']} frames)"
        + (", and the paper's best single run where it names one" if BEST in drawn else "")
        + "; one far above what was reached here is only named, with an arrow."
    )
    plain = [label for label, group in found.items() if group.config.treatment == "plain"]
    if plain:
        be = "is" if len(plain) == 1 else "are"
        caption += f" {' and '.join(plain)} on these games {be} ours: the paper has DeepCS, PC and"
        caption += " PCn."
    caption = " ".join([caption, *notes])
    explain(
        figure, "\n".join([f"{reading_words(everyone)} n: runs, in the legend's order.", *notes])
    )
    columns = words("game"), words("group"), STEP, Column("n"), *BAND_COLUMNS
    published_columns = words("game"), words("method"), Column("score")
    data = (
        Table(name, title, columns, curves),
        Table(f"{name}-published", title, published_columns, scores),
    )
    return Drawing(name, title, caption, figure, data, after(OTHER_GAMES))


def _references(world: str) -> list[Reference]:
    """What is published about one of the ten games and drawn beside ours."""
    row = published(world)
    if row is None:
        return []
    scores = {"PC": row.pc, "PCn": row.pcn}
    if row.best is not None:
        scores[BEST] = Score(row.best.points)
    return [Reference(name, score, DASHES[name]) for name, score in scores.items()]


def _draw_game(
    axes: Axes, world: str, groups: Sequence[Group], notes: list[str]
) -> list[list[Cell]]:
    """The curves of one game; returns what they draw, and adds to the notes what is to be said."""
    steps = common_steps(groups)
    rows: list[list[Cell]] = []
    drawn: dict[str, Bands] = {}
    for group in reversed(groups):
        band = drawn[group.label] = bands(group.aligned("score", steps))
        draw_bands(axes, steps, band, group.look)
        columns = band.runs, band.median, band.low, band.high, band.least, band.most
        rows += [
            [world, group.label, int(step), *(number.item() for number in numbers)]
            for step, *numbers in zip(steps, *columns, strict=True)
        ]
    axes.set_xlim(0, steps[-1])
    axes.grid(axis="y")
    shorten_ticks(axes)
    from_zero(axes)
    axes.set_title(spaced(world), pad=ROOM)
    n = ", ".join(tally(len(group.runs), group.planned) for group in groups)
    look: dict[str, Any] = {"color": FAINT, "fontsize": 8, "fontweight": "normal"}
    axes.set_title(f"n = {n}", loc="right", pad=ROOM, **look)
    medians = {group.label: drawn[group.label].median for group in groups}
    told = [*filter(None, (bend_axis(axes, [*drawn.values()]), hidden_words(medians)))]
    notes += [f"{spaced(world)}: {'; '.join(told)}."] if told else []
    return rows
