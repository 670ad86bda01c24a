"""Heat maps of where training went: how often each tile was entered."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from matplotlib.axes import Axes
from matplotlib.cm import ScalarMappable
from matplotlib.colors import LogNorm, Normalize
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle

from deepcs.analysis.drawing import Drawing
from deepcs.analysis.groups import Group, named
from deepcs.analysis.room_figures import draw_rooms, draw_ways_out
from deepcs.analysis.style import HEAT, WIDTH, file_name, new_figure, spaced, styled
from deepcs.analysis.tables import Cell, Column, Table, words
from deepcs.curiosity.games import find_game
from deepcs.curiosity.tiles import Room, Tile
from deepcs.film import pyramid
from deepcs.runs.logs import room_text

MOST_TICKS = 6  # of the scale
ROOMS_SHOWN = 4  # of worlds that have many
LEAST_SHARE = 1e-5  # of all entries: what the palest colour stands for, at least
DECADES = 1.5  # that the scale spans at least: nearly equal tiles shall look nearly equal
NARROWEST, BROADEST = 1.2, 9.0  # width by height of a map; beyond, tiles are drawn stretched
APART = 1.08  # from one room of the pyramid to the next, in rooms
Places = Mapping[Room, tuple[int, int]]
"""rooms of one map, and the row and column where each stands"""
PYRAMID: Places = {(room,): place for room, place in pyramid.PLACES.items()}


@dataclass(frozen=True)
class Extent:
    """The tiles of a room: their edges on the screen, from its first row and column."""

    columns: np.ndarray
    """ascending, one more than there are columns"""
    rows: np.ndarray
    y_up: bool = False
    first_row: int = 0
    first_column: int = 0

    @property
    def ratio(self) -> float:
        """Width by height."""
        return float(self.columns[-1] / self.rows[-1])


def extent_of(group: Group, tiles: Mapping[Tile, int]) -> Extent:
    """A game's rooms as its facts have them; of another world, what was seen of it."""
    game = find_game(group.world)
    if game is not None:
        grid, bounds, screen = game.grid(group.config.tile), game.bounds, game.screen
        columns = np.minimum(np.arange(grid.columns + 1) * grid.tile, bounds.width)
        rows = np.minimum(np.arange(grid.rows + 1) * grid.tile, bounds.height)
        return Extent(columns * abs(screen.x_scale), rows * abs(screen.y_scale), grid.y_up)
    rows_seen, columns_seen = {row for _, row, _ in tiles}, {column for *_, column in tiles}
    row, column = min(rows_seen), min(columns_seen)
    across, down = max(columns_seen) - column + 2, max(rows_seen) - row + 2
    return Extent(np.arange(across), np.arange(down), False, row, column)


def room_shares(visits: Counter[Tile], room: Room, extent: Extent) -> np.ndarray:
    """Each tile's share of all entries of the group, (rows, columns)."""
    shares = np.zeros((len(extent.rows) - 1, len(extent.columns) - 1))
    for (where, row, column), entries in visits.items():
        if where == room:
            shares[row - extent.first_row, column - extent.first_column] = entries
    return shares / visits.total()


def map_figures(groups: Sequence[Group]) -> Iterator[Drawing]:
    """Rooms and ways out of MontezumaRevenge, and a heat map of any world with visits."""
    if any(g.world == "MontezumaRevenge" and r.room_orders for g in groups for r in g.runs):
        yield draw_rooms(groups)
        yield draw_ways_out(groups)
    visited = [group for group in groups if any(run.visits for run in group.runs)]
    if visited:
        yield draw_visits(visited)


@styled
def draw_visits(groups: Sequence[Group]) -> Drawing:
    """Where the groups have been, with one scale of colour for all."""
    world = groups[0].world
    visits = {group: sum((run.visits for run in group.runs), Counter[Tile]()) for group in groups}
    extents = {group: extent_of(group, visits[group]) for group in groups}
    ratio = extents[groups[0]].ratio
    maps, across = _maps(world, visits, ratio)
    if world == "MontezumaRevenge":
        ratio *= pyramid.COLUMNS / pyramid.ROWS
    ratio = min(max(ratio, NARROWEST), BROADEST)
    down = -(-len(maps) // across)
    figure = new_figure(0.3 + down * ((WIDTH - 0.9) / across / ratio + 0.35))
    panels = list(figure.subplots(down, across, squeeze=False).flat)
    scale = _scale([n / visits[group].total() for group in groups for n in visits[group].values()])
    for axes, (group, title, places) in zip(panels, maps, strict=False):
        draw_map(axes, visits[group], places, extents[group], scale)
        axes.set_box_aspect(1 / ratio)
        axes.set_title(title)
    for axes in panels[len(maps) :]:
        axes.set_visible(False)
    _draw_scale(figure, panels, scale)
    rows: list[list[Cell]] = [
        [group.label, room_text(room), row, column, entries, entries / visits[group].total()]
        for group in groups
        for (room, row, column), entries in sorted(visits[group].items())
    ]
    names = "row", "column", "entries", "share"
    name, title = f"{file_name(world)}-visits", f"{spaced(world)}: where training went"
    table = Table(name, title, (words("group"), words("room"), *map(Column, names)), rows)
    n = ", ".join(named(group) for group in groups)
    caption = (
        f"How often each tile was entered over all of training, on a logarithmic scale; white: "
        f"never. {_which_rooms(world, visits)}{n}."
    )
    return Drawing(name, title, caption, figure, (table,))


def _scale(shares: Sequence[float]) -> LogNorm:
    """Colours for the shares: logarithmic, over some decades at least."""
    most = max(shares)
    return LogNorm(min(max(min(shares), LEAST_SHARE), most / 10**DECADES), most, clip=True)


def _draw_scale(figure: Figure, panels: Sequence[Axes], scale: LogNorm) -> None:
    """The bar of colours beside all maps, with ticks at 1, 2 and 5, or at 1 where that is many."""
    bar = figure.colorbar(ScalarMappable(scale, HEAT), ax=panels, fraction=0.03, pad=0.02)
    assert scale.vmin is not None
    assert scale.vmax is not None
    for multiples in ((1, 2, 5), (1,)):
        ticks = [m * 10.0**-power for power in range(6) for m in multiples]
        ticks = [tick for tick in ticks if scale.vmin <= tick <= scale.vmax]
        if len(ticks) <= MOST_TICKS:
            break
    bar.minorticks_off()
    bar.set_ticks(ticks, labels=[f"{100 * tick:g} %" for tick in ticks])
    bar.set_label("share of the group's tile entries")


def _busiest(visits: Mapping[Group, Counter[Tile]]) -> list[Room]:
    """Rooms by how often their tiles were entered in all groups together."""
    entries: Counter[Room] = Counter()
    for (room, _, _), count in (item for tiles in visits.values() for item in tiles.items()):
        entries[room] += count
    return [room for room, _ in entries.most_common()]


def _which_rooms(world: str, visits: Mapping[Group, Counter[Tile]]) -> str:
    if world == "MontezumaRevenge":
        return "Rooms stand as in the pyramid. "
    rooms = len(_busiest(visits))
    return f"The {ROOMS_SHOWN} busiest of {rooms} rooms. " if rooms > ROOMS_SHOWN else ""


def _maps(
    world: str, visits: Mapping[Group, Counter[Tile]], ratio: float
) -> tuple[list[tuple[Group, str, Places]], int]:
    """The maps to draw, each with its title, and how many stand side by side."""
    if world == "MontezumaRevenge":
        return [(group, group.label, PYRAMID) for group in visits], 1 + (len(visits) > 2)
    rooms = _busiest(visits)[:ROOMS_SHOWN]
    maps: list[tuple[Group, str, Places]] = [
        (
            group,
            group.label + (f" · room {room_text(room)}" if len(rooms) > 1 else ""),
            {room: (0, 0)},
        )
        for group in visits
        for room in rooms
    ]
    side_by_side = len(rooms) if len(rooms) > 1 else min(len(visits), ROOMS_SHOWN)
    return maps, side_by_side if ratio < 3 else 1


def draw_map(
    axes: Axes, visits: Counter[Tile], places: Places, extent: Extent, scale: Normalize
) -> None:
    """Rooms in their places, tiles coloured by their share of all entries."""
    width, height = extent.columns[-1], extent.rows[-1]
    for room, (down, across) in places.items():
        shares = room_shares(visits, room, extent)
        left, top = across * APART * width, down * APART * height
        rows = extent.rows
        if extent.y_up:
            shares, rows = shares[::-1], height - rows[::-1]
        outline = Rectangle((left, top), width, height, facecolor="white", edgecolor="#bbbbbb")
        axes.add_patch(outline)
        if shares.any():
            axes.pcolormesh(
                *(left + extent.columns, top + rows, np.ma.masked_equal(shares, 0)),
                cmap=HEAT,
                norm=scale,
                rasterized=True,
                zorder=1,
            )
    downs, acrosses = zip(*places.values(), strict=True)
    axes.set_xlim(-0.02 * width, (max(acrosses) * APART + 1.02) * width)
    axes.set_ylim((max(downs) * APART + 1.02) * height, -0.02 * height)
    axes.axis("off")
