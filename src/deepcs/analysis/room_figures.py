"""MontezumaRevenge's pyramid of 24 rooms: which of them were entered, and how the first is left."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import matplotlib
from matplotlib.axes import Axes
from matplotlib.patches import Patch, Rectangle

from deepcs.analysis.drawing import Drawing
from deepcs.analysis.groups import Group, counted, named
from deepcs.analysis.legibility import explain
from deepcs.analysis.paper_figures import ROOMS, RUNS, WEST_RUNS
from deepcs.analysis.style import FAINT, HEAT, INK, legend_above, new_figure, styled
from deepcs.analysis.tables import Cell, Column, Table, share_text, words
from deepcs.curiosity.tiles import Room
from deepcs.film import pyramid

START = 1
WAYS = {"east": 2, "west": 0}
"""rooms beside the first, by the way that leads to them"""
OTHERWISE, NEVER = "another way", "never"
WAY_COLOURS = {"east": "#8c8c8c", "west": "#F0E442", OTHERWISE: "#4d4d4d", NEVER: "#efefef"}
GAP = 0.06  # between rooms, as a share of a room


@dataclass(frozen=True)
class Rooms:
    """How a group explored."""

    runs: int
    games: int
    runs_in: Counter[int]
    """runs that ever entered each room"""
    games_in: Counter[int]
    """games that entered each room"""
    most: int
    """most rooms in one game"""
    run_ways: Counter[str]
    """runs by the way that most of their games took out of the first room"""
    game_ways: Counter[str]


def explored(group: Group) -> Rooms:
    """Rooms entered and ways taken, from the games of all the group's runs."""
    runs_in: Counter[int] = Counter()
    games_in: Counter[int] = Counter()
    run_ways: Counter[str] = Counter()
    game_ways: Counter[str] = Counter()
    most = 0
    for run in group.runs:
        mine: Counter[int] = Counter()
        for order, games in run.room_orders.items():
            rooms = numbers(order)
            for room in rooms:
                mine[room] += games
            most = max(most, len(rooms))
        runs_in.update(mine.keys())
        games_in += mine
        ways = ways_out(run.room_orders)
        game_ways += ways
        run_ways[usual_way(ways)] += 1
    games = game_ways.total()
    return Rooms(len(group.runs), games, runs_in, games_in, most, run_ways, game_ways)


def numbers(order: Sequence[Room]) -> tuple[int, ...]:
    """Rooms in order of first entry, as numbers of the pyramid."""
    return tuple(room[0] for room in order if room and room[0] in pyramid.PLACES)


def ways_out(orders: Mapping[tuple[Room, ...], int]) -> Counter[str]:
    """Games by the way they took out of the first room; orders: rooms, and games that went so."""
    ways: Counter[str] = Counter()
    for order, games in orders.items():
        ways[way_out(numbers(order))] += games
    return ways


def usual_way(ways: Counter[str]) -> str:
    """The way that most of the games took that left the first room."""
    leaving = [way for way in ways if way != NEVER]
    return max(leaving, key=lambda way: ways[way], default=NEVER)


def way_out(rooms: Sequence[int]) -> str:
    """Which way a game left the first room, from its rooms in order of first entry."""
    if len(rooms) < 2:
        return NEVER
    return next((way for way, room in WAYS.items() if room == rooms[1]), OTHERWISE)


@styled
def draw_rooms(groups: Sequence[Group]) -> Drawing:
    """The pyramid once a group for its runs and once for their games, coloured by share."""
    figure = new_figure(0.4 + 1.5 * len(groups))
    panels = figure.subplots(len(groups), 2, squeeze=False)
    rows: list[list[Cell]] = []
    for (left, right), group in zip(panels, groups, strict=True):
        found = explored(group)
        for axes, entered, total, what in (
            (left, found.runs_in, found.runs, "runs"),
            (right, found.games_in, found.games, f"{found.games:,} games"),
        ):
            draw_pyramid(axes, {room: entered[room] / max(total, 1) for room in pyramid.PLACES})
            n = counted(len(group.runs), group.planned)
            axes.set_title(f"{group.label} · share of {f'runs, {n}' if what == 'runs' else what}")
        rows += [
            [group.label, room, found.runs_in[room], found.runs, found.games_in[room], found.games]
            for room in pyramid.PLACES
        ]
    explain(
        figure, "Per cent that entered the room; white: none did. Outlined: where a game begins."
    )
    names = "room", "runs that entered", "runs", "games that entered", "games"
    table = Table(
        "montezumarevenge-rooms", "Rooms entered", (words("group"), *map(Column, names)), rows
    )
    most = ", ".join(f"{group.label} {explored(group).most}" for group in groups)
    caption = (
        "The 24 rooms of the first level; a game begins in the outlined one. Numbers are per cent "
        "of the group's runs in which any game entered the room (left), and of all their games "
        f"(right); white rooms were never entered. Most rooms in a single game: {most}."
    )
    title = "Montezuma's Revenge: explored rooms"
    paper = f"Ours: where the paper's {ROOMS} shows two agents, this shows all runs and games."
    return Drawing("montezumarevenge-rooms", title, caption, figure, (table,), paper)


def draw_pyramid(axes: Axes, shares: dict[int, float]) -> None:
    """Rooms as boxes coloured by a share from 0 to 1, which stands in them in per cent."""
    colours = matplotlib.colormaps[HEAT]
    texts = {r: share_text(s)[:-2] if s >= 0.005 else "<1" for r, s in shares.items() if s}
    draw_boxes(
        axes,
        {room: colours(share) if share else "white" for room, share in shares.items()},
        texts,
        {room: "white" if share > 0.6 else INK for room, share in shares.items()},
    )


def draw_boxes(
    axes: Axes, fills: Mapping[int, Any], texts: Mapping[int, str], inks: Mapping[int, str]
) -> None:
    """The pyramid, the first room outlined: colours of the rooms, and what stands in which."""
    for room, (row, column) in pyramid.PLACES.items():
        box = Rectangle(
            (column + GAP / 2, row + GAP / 2),
            *(1 - GAP, 1 - GAP),
            facecolor=fills[room],
            edgecolor=INK if room == START else "#bbbbbb",
            linewidth=1.6 if room == START else 0.6,
            label=str(room),
            zorder=2 if room == START else 1,
        )
        axes.add_patch(box)
        if room in texts:
            place = column + 0.5, row + 0.52
            axes.text(*place, texts[room], color=inks[room], ha="center", va="center", zorder=3)
    axes.set_xlim(0, pyramid.COLUMNS)
    axes.set_ylim(pyramid.ROWS, 0)
    axes.set_aspect(0.72)
    axes.axis("off")


@styled
def draw_ways_out(groups: Sequence[Group]) -> Drawing:
    """Stacked bars: by which way runs, and their games, leave the first room."""
    found = [explored(group) for group in groups]
    ways = [way for way in WAY_COLOURS if way != OTHERWISE or any(f.game_ways[way] for f in found)]
    figure = new_figure(1.1 + 0.3 * len(groups))
    legend_above(figure, [Patch(facecolor=WAY_COLOURS[w], edgecolor=FAINT, label=w) for w in ways])
    runs_axes, games_axes = figure.subplots(1, 2, sharey=True)
    rows: list[list[Cell]] = []
    for row, (group, rooms) in enumerate(zip(groups, found, strict=True)):
        for axes, counts in ((runs_axes, rooms.run_ways), (games_axes, rooms.game_ways)):
            left = 0.0
            for way in ways:
                share = counts[way] / max(counts.total(), 1)
                colour = WAY_COLOURS[way]
                axes.barh(row, share, 0.66, left, color=colour, edgecolor=FAINT, linewidth=0.6)
                if share >= (0.06 if axes is runs_axes else 0.13):  # where it fits
                    text = str(counts[way]) if axes is runs_axes else share_text(share)
                    ink = "white" if way == OTHERWISE else INK
                    axes.text(left + share / 2, row, text, color=ink, ha="center", va="center")
                left += share
        rows += [[group.label, w, rooms.run_ways[w], rooms.game_ways[w]] for w in WAY_COLOURS]
    for axes, title in ((runs_axes, "Runs"), (games_axes, "Games")):
        axes.set_title(title)
        axes.set_xlim(0, 1)
        axes.set_xticks([0, 0.5, 1], [share_text(share) for share in (0, 0.5, 1)])
        for label, place in zip(axes.get_xticklabels(), ("left", "center", "right"), strict=True):
            label.set_horizontalalignment(place)
        axes.tick_params(axis="y", length=0)
        axes.spines["left"].set_visible(False)
    runs_axes.set_yticks(range(len(groups)), [named(group) for group in groups])
    runs_axes.set_ylim(len(groups) - 0.5, -0.5)
    explain(figure, "Left: runs, by the way most of their leaving games took. Right: all games.")
    columns = words("group"), words("way"), Column("runs"), Column("games")
    table = Table("montezumarevenge-ways-out", "Ways out of the first room", columns, rows)
    caption = (
        "How the first room is left: by the share of runs, each counted by the way that most of "
        "its leaving games take (numbers are runs), and by the share of all games in training."
    )
    title = "Montezuma's Revenge: the way out of the first room"
    paper = f"Ours: the paper says with its {ROOMS} that {WEST_RUNS} of {RUNS} runs went west."
    return Drawing("montezumarevenge-ways-out", title, caption, figure, (table,), paper)
