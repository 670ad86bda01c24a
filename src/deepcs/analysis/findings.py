"""The results, one sentence per world: medians, effect, p and budget."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from deepcs.agents.table import PAPERS_AGENT
from deepcs.analysis.comparable import comparable
from deepcs.analysis.groups import Group, Results, counted
from deepcs.analysis.published import METHODS, published
from deepcs.analysis.rank_tests import rank_test, smallest_p
from deepcs.analysis.significance_bars import ALPHA
from deepcs.analysis.style import short, spaced
from deepcs.analysis.tables import number_text, probability_text


def findings(results: Results) -> Iterator[str]:
    """DeepCS against plain A2C at the end of the runs, one sentence per world and agent."""
    for world in results.worlds:
        found = {(group.config.treatment, group.config.agent): group for group in results.of(world)}
        for agent in dict.fromkeys(agent for _, agent in found):
            pair = [found.get((treatment, agent)) for treatment in ("deepcs", "plain")]
            medians = []
            for group in pair:
                if group is not None and len(group.final_scores()):
                    n = counted(len(group.final_scores()), group.planned)
                    median = number_text(float(np.median(group.final_scores())))
                    medians.append(f"{group.label} {median} ({n})")
            ours, theirs = pair
            if len(medians) == 2 and ours is not None and theirs is not None:
                line = f"{spaced(world)}, {short(ours.config.steps)} steps: median score at the "
                line += f"end {' against '.join(medians)}{_difference(ours, theirs)}."
                yield line + _paper_has(world) * (agent == PAPERS_AGENT)


def _difference(ours: Group, theirs: Group) -> str:
    """Effect and p of two groups at the end, to be appended to their medians."""
    if ours.config.steps != theirs.config.steps:
        return f" (after {short(theirs.config.steps)} steps, so not tested)"
    if not comparable(ours, theirs):
        return " (with other settings, so not tested)"
    x, y = ours.final_scores(), theirs.final_scores()
    u, p = rank_test(x, y)
    least = smallest_p(len(x), len(y))
    few = f", of at best {probability_text(least)} with so few runs" if least >= ALPHA else ""
    effect = number_text(u / (len(x) * len(y)))
    return f"; effect {effect}, p = {probability_text(p)} alone{few}"


def _paper_has(world: str) -> str:
    """The paper's scores of DeepCS in this world, as a sentence to be appended."""
    row = published(world)
    if row is None:
        return ""
    best = f", best run {number_text(row.best.points)} (on {row.best.agent})" if row.best else ""
    steps = short(METHODS[-1].frames / 4)
    return f" The paper's DeepCS: {number_text(row.deepcs.points)}{best}, after {steps} steps."
