"""Learning curves as in the paper: medians, quartiles, extremes, and bars beneath them where a
difference is significant."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.lines import Line2D

from deepcs.agents.table import PAPERS_AGENT
from deepcs.analysis.comparable import (
    comparable,
    recorded_words,
    same_units,
    unlike_words,
)
from deepcs.analysis.drawing import Drawing
from deepcs.analysis.groups import Group, common_steps, named
from deepcs.analysis.legibility import bend_axis, explain, hidden_words
from deepcs.analysis.paper_figures import (
    OURS,
    agents_in_paper,
    controls_in_paper,
    first_room_in_paper,
    main_in_paper,
)
from deepcs.analysis.published import TEN_GAMES
from deepcs.analysis.reference_lines import (
    ROOM,
    draw_lines,
    paper_references,
    paper_words,
    write_above,
)
from deepcs.analysis.scores import FIRST_ROOM as FIRST_ROOM_POINTS
from deepcs.analysis.scores import reached
from deepcs.analysis.significance_bars import (
    BARS,
    READING_BARS,
    TOO_FEW,
    can_differ,
    draw_bars,
)
from deepcs.analysis.statistics import Bands, Comparison, bands, compare
from deepcs.analysis.style import (
    Look,
    agent_name,
    file_name,
    from_zero,
    legend_above,
    new_figure,
    shorten_ticks,
    spaced,
    styled,
)
from deepcs.analysis.tables import Cell, Column, Table, probability_text, words

MARKS, MARK = 7, 4.5  # along a line, and their size in points
LINE = 140  # letters of what stands beneath a figure
MEASURES = {"score": "Game score", "intrinsic": "Intrinsic reward"}
Pair = tuple[Group, Group | None]
"""ours, and what it is compared with, if anything"""

STEP, N = Column("step"), Column("n")
BAND_COLUMNS = tuple(map(Column, ("median", "lower quartile", "upper quartile", "min", "max")))
P_COLUMNS = (
    *(Column("U"), Column("p", probability_text), Column("p corrected", probability_text)),
    *(Column("effect"), Column("smallest p", probability_text)),
)


def curve_figures(groups: Sequence[Group]) -> Iterator[Drawing]:
    """Every figure of learning curves that a world's groups allow."""
    agents = list(dict.fromkeys(group.config.agent for group in groups))
    for agent in agents:
        mine = [group for group in groups if group.config.agent == agent]
        yield from _agent_figures(mine, alone=len(agents) == 1)
    if len(agents) > 1:
        yield from _agents_figure(groups)
    if groups and groups[0].world == "MontezumaRevenge":
        for agent in agents:
            yield from _first_room_figure([g for g in groups if g.config.agent == agent])


def _agent_figures(groups: Sequence[Group], *, alone: bool) -> Iterator[Drawing]:
    """DeepCS against A2C, and against all other treatments, under one agent.

    alone: no other agent was tried, so that a single group has no figure but this.
    """
    world, agent = groups[0].world, groups[0].config.agent
    suffix = _suffix(agent)
    by_treatment = {group.config.treatment: group for group in groups}
    ours = by_treatment.get("deepcs", groups[0])
    others = [group for group in groups if group is not ours]
    plain = [group for group in others if group.config.treatment == "plain"]
    if plain:
        title = f"{spaced(world)}: {ours.label} against {plain[0].label}"
        name, pair = f"{file_name(world)}-main{suffix}", (ours, plain[0])
        yield draw_curves(name, title, [pair], paper=main_in_paper(pair))
    if len(others) > len(plain):
        title = f"{spaced(world)}: {ours.label} and its controls"
        pairs: list[Pair] = [(ours, other) for other in others]
        name = f"{file_name(world)}-controls{suffix}"
        yield draw_curves(name, title, pairs, paper=controls_in_paper(groups))
    if alone and not others and world not in TEN_GAMES:
        title = f"{spaced(world)}: {ours.label}"
        name = f"{file_name(world)}-main{suffix}"
        yield draw_curves(name, title, [(ours, None)], paper=main_in_paper([ours]))


def _suffix(agent: str) -> str:
    """What an agent's figures are told apart by; nothing for the paper's."""
    return "" if agent == PAPERS_AGENT else f"-{file_name(agent)}"


def _agents_figure(groups: Sequence[Group]) -> Iterator[Drawing]:
    """The same treatments with another agent and with A2C beneath, a figure per agent."""
    found = {(group.config.treatment, group.config.agent): group for group in groups}
    others = dict.fromkeys(
        group.config.agent for group in groups if group.config.agent != PAPERS_AGENT
    )
    for other in others:
        pairs: list[Pair] = [
            (group, found[treatment, PAPERS_AGENT])
            for (treatment, agent), group in found.items()
            if agent == other and (treatment, PAPERS_AGENT) in found
        ]
        if pairs:
            world = groups[0].world
            title = f"{spaced(world)}: {agent_name(other)} against A2C"
            name = f"{file_name(world)}-{file_name(agent_name(other))}-against-a2c"
            paper = agents_in_paper([group for group, _ in pairs])
            yield draw_curves(name, title, pairs, paper=paper)


def _first_room_figure(groups: Sequence[Group]) -> Iterator[Drawing]:
    """Only runs that leave Montezuma's first room, of the treatments that are paid to."""
    kept, told = [], []
    for group in groups:
        if group.config.treatment_settings.paid:
            left = reached([run.score for run in group.runs])
            runs = [run for run, has_left in zip(group.runs, left, strict=True) if has_left]
            told.append(f"{len(runs)} of {len(group.runs)} runs of {group.label}")
            group = Group(group.config, group.variant, len(group.runs), tuple(runs))
        kept.append(group)
    ours = [group for group in kept if group.runs and group.config.treatment == "deepcs"]
    others = [group for group in kept if group.runs and group not in ours]
    if ours and others:
        lead = (
            f"Only runs whose curve reaches {FIRST_ROOM_POINTS} points at some time, which takes "
            f"leaving the first room: {', '.join(told)}. Treatments that are not paid are shown "
            "whole, and not tested: chosen runs against all runs would be no test."
        )
        agent = groups[0].config.agent
        title = "Montezuma's Revenge: runs that leave the first room"
        title += "" if agent == PAPERS_AGENT else f", {agent_name(agent)}"
        name = f"{file_name(groups[0].world)}-first-room{_suffix(agent)}"
        pairs: list[Pair] = [  # selected runs are not tested against unselected ones
            (ours[0], other) if other.config.treatment_settings.paid else (other, None)
            for other in others
        ]
        pairs.insert(0, (ours[0], None))
        yield draw_curves(name, title, pairs, lead, first_room_in_paper(groups))


@styled
def draw_curves(
    name: str, title: str, pairs: Sequence[Pair], lead: str = "", paper: str = OURS
) -> Drawing:
    """Score and intrinsic reward of all groups in `pairs`, with a row of bars for each pair that
    can be compared.

    lead: begins the caption. paper: what the paper has of it.
    """
    groups = list(dict.fromkeys(group for pair in pairs for group in pair if group is not None))
    meant = [(ours, theirs) for ours, theirs in pairs if theirs is not None]
    compared = [pair for pair in meant if comparable(*pair)]
    references = paper_references(groups)
    steps = common_steps(groups)
    bar_height = 0.24 * len(compared)
    units = recorded_words(groups)
    more = 0.18 * (len(groups) > 4) + 0.3 * bool(units) + 0.15 * bool(references)
    figure = new_figure(3.35 + bar_height + more)
    legend_above(figure, [handle(group) for group in groups], spaced(groups[0].world))
    panels = figure.subplots(
        *(1 + bool(compared), 2),
        sharex=True,
        squeeze=False,
        height_ratios=[2.2, bar_height] if compared else [1],
    )
    curves: list[list[Cell]] = []
    tests: list[list[Cell]] = []
    notes = [*filter(None, [unlike_words(meant)])]
    possible = False  # whether a bar could be drawn at all
    for panel, (measure, heading) in enumerate(MEASURES.items()):
        above = panels[0][panel]
        above.set_title(heading, pad=ROOM if references or units else None)
        above.set_xlim(0, steps[-1])
        above.grid(axis="y")
        values = {group: group.aligned(measure, steps) for group in groups}
        drawn: dict[str, Bands] = {}
        for group in reversed(groups):  # the first lies on top
            band = bands(values[group])
            draw_bands(above, steps, band, group.look)
            curves += curve_rows(heading, group, steps, band)
            drawn[group.label] = band
        shorten_ticks(above)
        from_zero(above)
        medians = {group.label: drawn[group.label].median for group in groups}
        told = [*filter(None, (bend_axis(above, [*drawn.values()]), hidden_words(medians)))]
        notes += [f"{heading}: {'; '.join(told)}."] if told else []
        if measure == "score":
            write_above(above, draw_lines(above, references))
        elif units:
            notes.append(f"{heading} is {units}.")
            other = any(not same_units(groups[0], group) for group in groups)
            write_above(above, "units differ" if other else "")
        comparisons = [
            compare(values[ours], values[theirs])
            if measure == "score" or same_units(ours, theirs)
            else None
            for ours, theirs in compared
        ]
        possible |= any(can_differ(test) for test in comparisons if test is not None)
        if compared:
            draw_bars(panels[1][panel], steps, compared, comparisons, labelled=panel == 0)
        for (ours, theirs), test in zip(compared, comparisons, strict=True):
            tests += [] if test is None else _test_rows(heading, ours, theirs, steps, test)
        panels[-1][panel].set_xlabel("training steps")
    data = [Table(name, title, (words("measure"), words("group"), STEP, N, *BAND_COLUMNS), curves)]
    if compared:
        columns = words("measure"), words("ours"), words("theirs"), STEP, N, Column("m")
        data.append(Table(f"{name}-significance", title, (*columns, *P_COLUMNS), tests))
    explain(figure, _reading(groups, compared if possible else [], notes))
    bars = (BARS if possible else TOO_FEW) if compared else ""
    parts = lead, counts_words(groups), lines_words(groups), *notes, paper_words(groups), bars
    return Drawing(name, title, " ".join(filter(None, parts)), figure, tuple(data), paper)


def lines_words(groups: Sequence[Group]) -> str:
    """What the lines of `draw_bands` are, for a caption: no more than is drawn."""
    alone = [len(group.runs) == 1 for group in groups]
    if all(alone):
        return "Each line is one run."
    told = "Lines are medians over runs, shaded areas quartiles, dotted lines minima and maxima"
    return f"{told}; where n = 1, a line is that run." if any(alone) else f"{told}."


def reading_words(groups: Sequence[Group]) -> str:
    """The same, in short, for the figure itself."""
    alone = [len(group.runs) == 1 for group in groups]
    if all(alone):
        return "Line: one run."
    line = "median over runs, or the one run" if any(alone) else "median over runs"
    return f"Line: {line}. Area: quartiles. Dotted: lowest and highest run."


def _reading(
    groups: Sequence[Group], compared: Sequence[tuple[Group, Group]], notes: Sequence[str]
) -> str:
    """How to read a figure. compared: pairs that bars can stand for."""
    bars = ""
    if compared:
        first = {ours.label for ours, _ in compared}
        bars = READING_BARS.format(ours=first.pop() if len(first) == 1 else "the first")
    told = [line for note in notes for line in textwrap.wrap(note, LINE)]
    return "\n".join([reading_words(groups) + bars, *told])


def handle(group: Group) -> Line2D:
    """The group's entry in a legend, with its n."""
    look = group.look
    style: dict[str, Any] = {"color": look.colour, "linestyle": look.line, "marker": look.marker}
    return Line2D([], [], markersize=MARK, label=named(group), **style)


def draw_bands(axes: Axes, steps: np.ndarray, band: Bands, look: Look) -> None:
    """One group: the median's line, the quartiles' area, dotted extremes."""
    if band.runs.max(initial=0) > 1:  # of one run all of them are its line
        axes.fill_between(steps, band.low, band.high, color=look.colour, alpha=0.18, linewidth=0)
        for extreme in (band.least, band.most):
            axes.plot(steps, extreme, ":", color=look.colour, linewidth=0.9, alpha=0.9)
    apart = max(1, len(steps) // MARKS)
    begin = sum(map(ord, look.marker)) % apart  # not all lines at the same steps
    style: dict[str, Any] = {
        "color": look.colour,
        "marker": look.marker,
        "markevery": (begin, apart),
    }
    axes.plot(steps, band.median, look.line, markersize=MARK, label=look.label, **style)


def counts_words(groups: Sequence[Group]) -> str:
    """n of every group, and how many runs are still under way."""
    parts = []
    for group in groups:
        part = named(group)
        under_way = len(group.runs) - len(group.finished)
        parts.append(part[:-1] + f", {under_way} unfinished)" if under_way else part)
    return f"{', '.join(parts)}."


def curve_rows(heading: str, group: Group, steps: np.ndarray, band: Bands) -> list[list[Cell]]:
    columns = band.runs, band.median, band.low, band.high, band.least, band.most
    return [
        [heading, group.label, int(step), *(number.item() for number in numbers)]
        for step, *numbers in zip(steps, *columns, strict=True)
    ]


def _test_rows(
    heading: str, ours: Group, theirs: Group, steps: np.ndarray, test: Comparison
) -> list[list[Cell]]:
    columns = test.n, test.m, test.u, test.p, test.corrected, test.effect, test.smallest_p
    return [
        [heading, ours.label, theirs.label, int(step), *(number.item() for number in numbers)]
        for step, *numbers in zip(steps, *columns, strict=True)
    ]
