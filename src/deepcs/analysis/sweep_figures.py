"""Sweeps: the score at the end of a run against the setting that was varied."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from deepcs.analysis.drawing import Drawing
from deepcs.analysis.groups import Group, counted
from deepcs.analysis.legibility import explain
from deepcs.analysis.paper_figures import OURS
from deepcs.analysis.style import (
    FAINT,
    INK,
    WIDTH,
    file_name,
    from_zero,
    legend_above,
    new_figure,
    shorten_ticks,
    spaced,
    styled,
)
from deepcs.analysis.tables import Cell, Column, Table, words
from deepcs.curiosity.games import find_game
from deepcs.runs.config import RunConfig
from deepcs.runs.saved_config import to_json

MARKERS = "osD^vP"
SPREAD = 0.6  # of the room between two values, for the series at one value


@dataclass(frozen=True)
class Swept:
    """A group of a sweep: its position on the axis, and its series."""

    group: Group
    value: str
    series: str
    """what else was varied; empty: nothing"""
    default: bool
    """the study's group outside the sweep, which has a value too"""


def sweep_figures(groups: Sequence[Group]) -> Iterator[Drawing]:
    """A figure for each set of settings that was swept, of all groups of a world."""
    sweeps: dict[tuple[str, str, tuple[str, ...]], list[Group]] = {}
    for group in groups:
        if group.variant:
            key = group.config.treatment, group.config.agent, tuple(_varied(group))
            sweeps.setdefault(key, []).append(group)
    for (treatment, agent, names), swept in sweeps.items():
        alike = [
            group
            for group in groups
            if (group.config.treatment, group.config.agent) == (treatment, agent)
            and not group.variant
        ]
        axis, points = arrange(swept, alike, names)
        points = [point for point in points if len(point.group.final_scores())]
        if points:
            yield draw_sweep(axis, points)


def _varied(group: Group) -> dict[str, str]:
    """The settings that a variant names: `tile=8, weight=0.5`."""
    return dict(part.split("=", 1) for part in group.variant.split(", "))


def setting(config: RunConfig, name: str) -> str:
    """A setting by its full name, such as a2c.schedule, as a variant writes it."""
    found: Any = to_json(config)
    for part in name.split("."):
        found = found[part]
    game = find_game(config.world)
    if name == "tile" and found is None and game is not None:
        found = game.tile
    return str(found)


def arrange(
    swept: Sequence[Group], alike: Sequence[Group], names: Sequence[str]
) -> tuple[str, list[Swept]]:
    """The setting on the axis, which is that with most values, and who stands where.

    alike: the same treatment outside the sweep; it has values of the settings too.
    """
    values = {group: _varied(group) for group in swept}
    axis = max(names, key=lambda name: len({varied[name] for varied in values.values()}))
    values |= {group: {name: setting(group.config, name) for name in names} for group in alike}
    points = [
        Swept(
            group,
            varied[axis],
            ", ".join(f"{name}={varied[name]}" for name in names if name != axis),
            group in alike,
        )
        for group, varied in values.items()
    ]
    return axis, sorted(points, key=lambda point: (point.series, _order(point.value)))


def _order(value: str) -> tuple[bool, float, str]:
    """Numbers by size, then words."""
    try:
        return False, float(value), value
    except ValueError:
        return True, 0.0, value


@styled
def draw_sweep(axis: str, points: Sequence[Swept]) -> Drawing:
    """Every run's final score, medians joined within a series, quartiles as bars."""
    first = points[0].group
    look, world = first.look, first.world
    values = sorted({point.value for point in points}, key=_order)
    series = list(dict.fromkeys(point.series for point in points))
    figure = new_figure(2.9, max(3.4, min(WIDTH, 1.2 + 0.75 * len(values))))
    axes = figure.subplots()
    handles, rows = [], []
    for i, name in enumerate(series):
        colour, marker = (look.colour, INK, FAINT)[i % 3], MARKERS[i % len(MARKERS)]
        members = [point for point in points if point.series == name]
        shift = SPREAD * ((i + 0.5) / len(series) - 0.5)
        places = [values.index(point.value) + shift for point in members]
        medians = []
        for place, point in zip(places, members, strict=True):
            scores = point.group.final_scores()
            low, median, high = (float(q) for q in np.percentile(scores, (25, 50, 75)))
            medians.append(median)
            axes.plot([place] * len(scores), scores, ".", color=colour, alpha=0.45, markersize=5)
            axes.plot([place, place], [low, high], color=colour, linewidth=3, alpha=0.5)
            row: list[Cell] = [name, point.value, len(scores), point.group.planned]
            rows.append([*row, median, low, high, str(point.default)])
        handles += axes.plot(places, medians, marker=marker, color=colour, linewidth=1, label=name)
    defaults = {point.value for point in points if point.default}
    axes.set_xticks(
        range(len(values)),
        [f"{value}\n(default)" if value in defaults else value for value in values],
    )
    axes.set_xlim(-0.5, len(values) - 0.5)
    axes.set_xlabel({"weight": "β, the game reward's share"}.get(axis, axis))
    axes.set_ylabel("score at the end")
    axes.grid(axis="y")
    shorten_ticks(axes, ["y"])
    from_zero(axes)
    axes.set_title(f"{spaced(world)} · {look.label}")
    if len(series) > 1:
        legend_above(figure, handles, columns=2)
    explain(figure, "Dots: runs. Marks: medians, joined. Thick: quartiles.")
    name = f"{file_name(world)}-sweep-{file_name(first.look.label)}-{file_name(axis)}"
    title = f"{spaced(world)}: {look.label} by {axis}"
    names = "n", "planned", "median", "lower quartile", "upper quartile"
    columns = words("series"), words(axis), *map(Column, names), words("default")
    n = ", ".join(
        f"{p.value} {counted(len(p.group.final_scores()), p.group.planned)}" for p in points
    )
    caption = (
        "Score at the end of each finished run (dots), their median (joined) and quartiles "
        f"(bars). {n}."
    )
    paper = OURS
    if axis == "weight" and world == "MontezumaRevenge":
        paper = "Ours: the paper tells of a coarse sweep of β (Methods) and shows none of it."
    return Drawing(name, title, caption, figure, (Table(name, title, columns, rows),), paper)
