"""The paper's Table 1, with our scores beside it and what has to be said about them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from deepcs.agents.table import PAPERS_AGENT
from deepcs.analysis.groups import Results, tally
from deepcs.analysis.paper_figures import BEST_POLICIES, POSITIONS
from deepcs.analysis.published import METHODS, TABLE, reads_other_bytes
from deepcs.analysis.style import short, spaced
from deepcs.analysis.tables import Cell, Column, Table, number_text, words
from deepcs.curiosity.games import find_game

FRAMES = 4  # raw ones to a step
PAPER = METHODS[-1]
OTHER_BUDGET, RAM, OTHER_BYTES = "†", "‡", "§"


def other_bytes(worlds: Sequence[str]) -> str:
    """A sentence on those of the worlds whose tiles are not where the paper has them, if any."""
    found = [facts for world in worlds if (facts := find_game(world)) is not None]
    names = [spaced(facts.name) for facts in found if reads_other_bytes(facts)]
    if not names:
        return ""
    return (
        f"Position or room are read from other bytes of RAM than in the paper ({POSITIONS}), so "
        f"that other tiles are rewarded: {', '.join(names)}. What and why: deepcs games NAME."
    )


def _best_runs() -> str:
    """What the paper's best single runs are."""
    told = []
    for row in TABLE:
        if row.best is not None:
            more = f", {row.best.told}" if row.best.told else ""
            told.append(
                f"{spaced(row.game)} {number_text(row.best.points)} (DeepCS on {row.best.agent}"
                f"{more})"
            )
    return (
        "Its best run: the paper's best single runs, where the caption of its Table 1 names "
        f"one (see also its {BEST_POLICIES}): {'; '.join(told)}."
    )


def published_table(results: Results) -> Iterator[Table]:
    """The paper's Table 1 with columns of ours, if the study has any of its games."""
    with_deepcs = [
        group
        for group in results.groups
        if group.config.treatment == "deepcs" and not group.variant and len(group.final_scores())
    ]
    ours = {
        group.world: group
        for group in with_deepcs
        if group.config.agent == PAPERS_AGENT and group.world in {row.game for row in TABLE}
    }
    if not ours:
        return
    nothing: list[Cell] = [None] * 4
    rows: list[list[Cell]] = [["frames", *(short(m.frames) for m in METHODS), None, *nothing]]
    for row in TABLE:
        facts = find_game(row.game)
        mark = OTHER_BYTES if facts is not None and reads_other_bytes(facts) else ""
        cells: list[Cell] = [
            f"{row.label}{mark}",
            *(
                None if score is None else f"{'~' * score.approximate}{number_text(score.points)}"
                for score in row.scores
            ),
            None if row.best is None else number_text(row.best.points),
        ]
        group = ours.get(row.game)
        if group is None:
            rows.append([*cells, *nothing])
            continue
        scores, frames = group.final_scores(), FRAMES * group.config.steps
        best = max(float(g.final_scores().max()) for g in with_deepcs if g.world == row.game)
        budget = f"{short(frames)}{OTHER_BUDGET if frames != PAPER.frames else ''}"
        n = tally(len(scores), group.planned)
        rows.append([*cells, float(np.median(scores)), best, budget, n])
    columns = (
        words("game"),
        *(Column(f"{m.label}{RAM if m is PAPER else ''}") for m in METHODS),
        *(Column(f"its best run{RAM}"), Column(f"ours{RAM}"), Column(f"our best run{RAM}")),
        *(Column("our frames"), words("our runs")),
    )
    others = any(FRAMES * group.config.steps != PAPER.frames for group in ours.values())
    notes = [
        "Published scores as in the paper (~: read off a training curve). DeepCS, the paper's and "
        "ours: on A2C, median over runs at the end.",
        _best_runs(),
        "Our best run: the highest score at the end of any finished run of DeepCS, with any agent.",
        f"{RAM} Knows the player's position from the game's RAM, which the others do not.",
        f"{OTHER_BYTES} {other_bytes([row.game for row in TABLE])}",
    ]
    if others:
        notes.append(
            f"{OTHER_BUDGET} Another budget than the paper's {short(PAPER.frames)} frames: not "
            "comparable as it stands."
        )
    note = "\n".join(notes)
    yield Table("table-1", "The paper's Table 1, with ours beside it", columns, rows, note)
