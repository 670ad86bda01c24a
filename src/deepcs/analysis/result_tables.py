"""The tables of a report: scores at the end of the runs and their differences, games, cost."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from deepcs.analysis.comparable import comparable, recorded_words, same_units
from deepcs.analysis.groups import Group, Results, tally
from deepcs.analysis.intervals import median_interval, trimmed_interval
from deepcs.analysis.paper_figures import POSITIONS
from deepcs.analysis.paper_table import other_bytes
from deepcs.analysis.published import published
from deepcs.analysis.rank_tests import MOST_EXACT
from deepcs.analysis.scores import FINAL_WINDOW, human_normalised, possible_scores
from deepcs.analysis.significance_bars import ALPHA
from deepcs.analysis.statistics import compare, holm_where_possible, interquartile_mean
from deepcs.analysis.style import short, spaced
from deepcs.analysis.tables import (
    Cell,
    Column,
    Table,
    count_text,
    level_text,
    probability_text,
    share_text,
    words,
)
from deepcs.curiosity.games import find_game


def scores_table(results: Results) -> Table:
    """Every group at the end of its finished runs."""
    groups = [group for world in results.worlds for group in results.groups if group.world == world]
    ours = [g.config.treatment == "deepcs" and not g.variant for g in groups]
    columns = (
        *(words("world"), words("group"), words("n"), Column("steps", short)),
        *(Column("median"), Column("its interval"), Column("covers", level_text)),
        *(Column("quartiles"), Column("min, max")),
        *(Column("IQM"), Column("IQM 95 %"), Column("human", share_text)),
    )
    note = (
        f"A run's score is the mean of its curve over the last {share_text(FINAL_WINDOW)} of its "
        "steps; "
        "only finished runs count. Its interval holds the median that the runs were drawn from as "
        "often as the next column says, whatever their distribution: three runs allow 75 %, five "
        "94 %, six or more 95 %. IQM: interquartile mean, with Student's interval, which leans on "
        "the runs being about normal; none where the runs kept are all equal, and cut off where "
        "no score can be: below 0 and above 1 in mazes, below 0 in games of the paper that take no "
        "points away. human: the median where random play is 0 % and a human 100 %."
    )
    note += f"\n{other_bytes(results.worlds)}"
    rows = [_scores(group) for group in groups]
    strong = frozenset(np.flatnonzero(ours).tolist())
    return Table("scores", "Scores at the end", columns, rows, note.strip(), strong)


def differences_table(results: Results) -> Iterator[Table]:
    """DeepCS against each control at the end of the runs, and each variant of a sweep."""
    rows: list[list[Cell]] = []
    tested: dict[Group, None] = {}
    for world in results.worlds:
        groups = [g for g in results.groups if g.world == world and len(g.final_scores())]
        for family in families(groups):
            rows += _differences(family)
            tested |= dict.fromkeys(group for pair in family for group in pair)
    columns = (
        *(words("world"), words("measure"), words("group"), words("n"), words("against")),
        *(words("m"), Column("U"), Column("effect"), Column("p", probability_text)),
        *(Column("p, Holm", probability_text), Column("least p", probability_text)),
    )
    note = (
        "Two-tailed Mann–Whitney U tests of score and intrinsic reward at the end: DeepCS against "
        "each control of the same learner, budget and other settings, and the variants of a sweep "
        "against its first. p is exact, by counting all ways to divide the runs, for up to "
        f"{MOST_EXACT} runs; for more it is the normal approximation, but never below what so many "
        "runs allow. effect: probability that a run of the group is higher than one of the other, "
        "ties half. p, Holm: after Holm's correction over a world's tests of one measure, learner "
        "and budget that have runs enough to reach 0.05; a sweep is a family of its own. least p: "
        "what so many runs allow at best, corrected.\n"
        "Intrinsic reward is recorded whether or not it is paid. It is tested where both groups "
        "record the same, or tiles at 1 each that become new again at other times."
    )
    if units := recorded_words([*tested]):
        note += f" Recorded are: {units}."
    if rows:
        yield Table("differences", "Differences at the end", columns, rows, note)


def families(groups: Sequence[Group]) -> Iterator[list[tuple[Group, Group]]]:
    """Pairs that are tested together: (DeepCS, a control), or (a variant, the first of a sweep)."""
    sweeps: dict[tuple[str, str], list[Group]] = {}
    for group in groups:
        sweeps.setdefault((group.config.agent, group.config.treatment), []).append(group)
    whole = [group for group in groups if not group.variant]
    for ours in [group for group in whole if group.config.treatment == "deepcs"]:
        rivals = [g for g in whole if g is not ours and g.config.agent == ours.config.agent]
        yield [(ours, group) for group in rivals if comparable(ours, group)]
    for variants in sweeps.values():
        yield [(group, variants[0]) for group in variants[1:]]


def _differences(family: Sequence[tuple[Group, Group]]) -> Iterator[list[Cell]]:
    """A row per test; p corrected over the family's tests of one measure."""
    for measure in ("score", "intrinsic"):
        pairs = [pair for pair in family if measure == "score" or same_units(*pair)]
        tests = [
            compare(ours.final_scores(measure)[:, None], theirs.final_scores(measure)[:, None])
            for ours, theirs in pairs
        ]
        p, least = (np.array([getattr(t, name)[0] for t in tests]) for name in ("p", "smallest_p"))
        corrected, lowest = (holm_where_possible(each, least, ALPHA) for each in (p, least))
        for (ours, theirs), test, *after in zip(pairs, tests, corrected, lowest, strict=True):
            n, m = tally(int(test.n[0]), ours.planned), tally(int(test.m[0]), theirs.planned)
            who = [spaced(ours.world), measure, ours.label, n, theirs.label, m]
            yield [*who, *map(float, (test.u[0], test.effect[0], test.p[0], *after))]


def _scores(group: Group) -> list[Cell]:
    """World to human: the cells that need no comparison."""
    scores = group.final_scores()
    first: list[Cell] = [spaced(group.world), group.label, tally(len(scores), group.planned)]
    if not len(scores):
        return [*first, group.config.steps, *[None] * 8]
    least, low, median, high, most = (float(q) for q in np.percentile(scores, (0, 25, 50, 75, 100)))
    typical, middle = median_interval(scores), trimmed_interval(scores)
    human = None
    if published(group.world) is not None:
        human = float(human_normalised(np.array(median), group.world))
    around = (typical.low, typical.high), typical.level
    lowest, highest = possible_scores(group.world)
    within = None if middle is None else (max(middle.low, lowest), min(middle.high, highest))
    mean = float(interquartile_mean(scores)), within
    return [*first, group.config.steps, median, *around, (low, high), (least, most), *mean, human]


def games_table(results: Results) -> Iterator[Table]:
    """The player's position in RAM, tiles, rooms and weights of the study's games."""
    rows: list[list[Cell]] = []
    games = {world: facts for world in results.worlds if (facts := find_game(world)) is not None}
    for world, facts in games.items():
        groups = [group for group in results.groups if group.world == world]
        tiles = sorted({group.config.tile or facts.tile for group in groups})
        weights = sorted({str(group.config.weight) for group in groups})
        extra = "+n" if facts.place else ""
        rows.append(
            [
                spaced(world),
                *(None if a is None else f"0x{a:02X}{extra}" for a in (facts.x, facts.y)),
                facts.room_in_words,
                f"{facts.bounds.width}×{facts.bounds.height}",
                ", ".join(map(str, tiles)),
                ", ".join(weights),
            ]
        )
    if rows:
        names = ("game", "X", "Y", "room or level", "grid", "tile", "β")
        note = (
            "X, Y: RAM addresses of the player's position (+n: plus its place in a table of "
            "sprites). Grid and tile in RAM units. β: the game reward's share; equal: clip(R + I); "
            "none: R and I have a value each. "
            f"The paper's values: {POSITIONS}.\n{other_bytes([*games])}"
        )
        columns = tuple(words(name) for name in names)
        title = "Positions, rooms, tiles and weights"
        yield Table("games", title, columns, rows, note.strip())


def cost_table(results: Results) -> Table:
    """Steps, hours and core-hours that the runs took so far."""
    rows: list[list[Cell]] = []
    for group in results.groups:
        if group.runs:
            steps = sum(run.last_step for run in group.runs)
            hours = sum(run.seconds for run in group.runs) / 3600
            core_hours = sum(run.seconds * run.cores for run in group.runs) / 3600
            n = tally(len(group.finished), group.planned)
            rows.append([spaced(group.world), group.label, n, steps, hours, core_hours])
    totals = [sum(float(str(row[i])) for row in rows) for i in (3, 4, 5)]
    rows.append(["all", "", tally(results.finished, results.planned), *totals])
    columns = (
        *(words("world"), words("group"), words("finished"), Column("steps", count_text)),
        *(Column("wall hours"), Column("core-hours")),
    )
    note = (
        "Of all runs, finished or not, one after the other. Core-hours: wall hours times a run's "
        "gradient shards and torch threads, that is, the cores that it computes on."
    )
    return Table("cost", "Cost", columns, rows, note)
