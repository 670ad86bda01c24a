"""The paper's Figure 3: rooms of Montezuma's Revenge that the best agent explores, and one that
goes west."""

from __future__ import annotations

import textwrap
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from matplotlib.axes import Axes
from matplotlib.colors import to_rgba
from matplotlib.patches import Patch

from deepcs.analysis.distributions import Best
from deepcs.analysis.drawing import Drawing
from deepcs.analysis.groups import Group, RunResult, named
from deepcs.analysis.paper_figures import BEST_ROOMS, ROOMS, RUNS, WEST_RUNS, after
from deepcs.analysis.room_figures import NEVER, draw_boxes, explored, numbers, way_out, ways_out
from deepcs.analysis.scores import final_score
from deepcs.analysis.style import FAINT, INK, legend_above, new_figure, styled
from deepcs.analysis.tables import Cell, Column, Table, words
from deepcs.curiosity.tiles import Room
from deepcs.film import pyramid

WEST, BEST = "An agent that goes west", "The best agent"
FILL = "#4d4d4d"
LETTERS = 46  # of a line beneath a map
PALE_FILL = 0.3  # opacity of rooms that other games entered
Orders = Mapping[tuple[Room, ...], int]
"""rooms in order of first entry, and how many games entered them so"""


@dataclass(frozen=True)
class AgentRooms:
    """Rooms that one agent entered, in some of its games."""

    run: RunResult
    widest: tuple[int, ...]
    """rooms of the game with the most, in order of first entry"""
    games_in: Counter[int]
    """games that entered each room"""
    games: int


def agent_rooms(run: RunResult, orders: Orders) -> AgentRooms:
    """The rooms that these games entered; of orders of equal length the most frequent is shown."""
    games_in: Counter[int] = Counter()
    widest: tuple[int, tuple[int, ...]] = 0, ()
    for order, games in sorted(orders.items()):
        rooms = numbers(order)
        games_in.update(dict.fromkeys(rooms, games))
        if (len(rooms), games) > (len(widest[1]), widest[0]):
            widest = games, rooms
    return AgentRooms(run, widest[1], games_in, sum(orders.values()))


def west_agent(group: Group) -> AgentRooms | None:
    """The run with most games that leave the first room westward, in those games; None: no run."""
    found = []
    for run in group.runs:
        ways = ways_out(run.room_orders)
        if ways["west"]:
            share = ways["west"] / (ways.total() - ways[NEVER])
            found.append((share, ways["west"], -run.config.seed, run))
    if not found:
        return None
    run = max(found, key=lambda entry: entry[:3])[-1]
    west = {o: games for o, games in run.room_orders.items() if way_out(numbers(o)) == "west"}
    return agent_rooms(run, west)


def best_agent(group: Group, best: Best | None) -> AgentRooms | None:
    """The best policy in the games it is shown by; if none was played, the run with the highest
    score at the end, in training. None: no run is finished."""
    if best is not None:
        return agent_rooms(best.run, Counter(game.rooms for game in best.evaluation.games))
    if not group.finished:
        return None
    run = max(
        group.finished,
        key=lambda run: (np.nan_to_num(final_score(run.steps, run.score)), -run.config.seed),
    )
    return agent_rooms(run, run.room_orders)


def agent_room_figures(groups: Sequence[Group], bests: Sequence[Best]) -> Iterator[Drawing]:
    """Figure 3, where DeepCS was run on MontezumaRevenge and has finished games."""
    ours = [
        group
        for group in groups
        if group.world == "MontezumaRevenge"
        and group.config.treatment == "deepcs"
        and any(run.room_orders for run in group.runs)
    ]
    if ours:
        yield draw_agents(ours, {best.group: best for best in bests})


@styled
def draw_agents(groups: Sequence[Group], bests: Mapping[Group, Best]) -> Drawing:
    """A row a group: on the left an agent that goes west, on the right the best."""
    figure = new_figure(0.35 + 1.95 * len(groups))
    legend_above(
        figure,
        [
            Patch(facecolor=FILL, label="entered in its game with the most rooms"),
            Patch(facecolor=to_rgba(FILL, PALE_FILL), label="in others of its games"),
            Patch(facecolor="white", edgecolor="#bbbbbb", label="in none"),
        ],
    )
    panels = figure.subplots(len(groups), 2, squeeze=False)
    rows: list[list[Cell]] = []
    for (left, right), group in zip(panels, groups, strict=True):
        west, best = west_agent(group), best_agent(group, bests.get(group))
        played = bests.get(group) is not None
        _draw(left, group, WEST, west, _west_words(group, west))
        _draw(right, group, BEST, best, _best_words(best, played=played))
        for title, found in ((WEST, west), (BEST, best)):
            if found is not None:
                rows += _rows(group, title, found)
    names = "room", "in the game with the most", "games that entered", "games"
    columns = words("group"), words("agent"), words("run"), *map(Column, names)
    name = "montezumarevenge-best-and-west"
    title = "Montezuma's Revenge: rooms of the best agent, and of one that goes west"
    table = Table(name, title, columns, rows)
    caption = (
        "The 24 rooms of the first level by their numbers; a game begins in the outlined one. "
        "Left: of the runs with games in training that leave the first room westward, the one most "
        "given to it, in those games. Right: "
        + (
            "the best policy, in the games of its evaluation. "
            if bests
            else "the run with the highest score at the end, in its games in training. "
        )
        + f"The paper's best agent explores {BEST_ROOMS} rooms, and {WEST_RUNS} of its {RUNS} runs "
        f"go west. {' '.join(f'{named(group)}: {_west_runs(group)}' for group in groups)}"
    )
    return Drawing(name, title, caption, figure, (table,), after(ROOMS))


def _west_runs(group: Group) -> str:
    """How many runs go west."""
    ever = sum(
        any(way_out(numbers(order)) == "west" for order in run.room_orders) for run in group.runs
    )
    if not ever:
        return "no run ever went west."
    mostly = explored(group).run_ways["west"]
    return f"{ever} of the runs ever went west, {mostly} mostly."


def _west_words(group: Group, west: AgentRooms | None) -> str:
    games = explored(group).game_ways
    leaving = games.total() - games[NEVER]
    if west is None:
        if not leaving:
            return f"None: no game of {games.total():,} left the first room."
        return f"None: of {games.total():,} games, {leaving:,} left the first room, none westward."
    own = sum(n for o, n in west.run.room_orders.items() if way_out(numbers(o)) != NEVER)
    return (
        f"Seed {west.run.config.seed}: {_rooms(west)}. Of its games that leave the first room, "
        f"{west.games:,} of {own:,} go west."
    )


def _best_words(best: AgentRooms | None, *, played: bool) -> str:
    if best is None:
        return "None: no run is finished."
    games = f"{best.games:,} games{'' if played else ' in training'}"
    if len(best.games_in) < 2:
        return f"Seed {best.run.config.seed}: never left the first room in {games}."
    return f"Seed {best.run.config.seed}: {_rooms(best)}, {len(best.games_in)} in all of {games}."


def _rooms(found: AgentRooms) -> str:
    return f"{len(found.widest)} rooms in one game"


def _draw(axes: Axes, group: Group, title: str, found: AgentRooms | None, told: str) -> None:
    """The pyramid, filled where the agent was, and a sentence beneath it."""
    fills: dict[int, object] = {}
    inks: dict[int, str] = {}
    for room in pyramid.PLACES:
        in_widest = found is not None and room in found.widest
        entered = found is not None and found.games_in[room] > 0
        fills[room] = to_rgba(FILL, 1 if in_widest else PALE_FILL) if entered else "white"
        inks[room] = "white" if in_widest else INK if entered else "#aaaaaa"
    draw_boxes(axes, fills, {room: str(room) for room in pyramid.PLACES}, inks)
    axes.set_title(f"{title} · {group.label}")
    told = textwrap.fill(told, LETTERS)
    axes.text(0, -0.03, told, transform=axes.transAxes, color=FAINT, va="top")


def _rows(group: Group, title: str, found: AgentRooms) -> list[list[Cell]]:
    return [
        [
            *(group.label, title, found.run.name, room),
            *(int(room in found.widest), found.games_in[room], found.games),
        ]
        for room in pyramid.PLACES
    ]
