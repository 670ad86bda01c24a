"""The paper's figures by their own numbers, for every figure here that is made after one.

The main text has Figures 1 to 5. The supplement numbers its figures and its sections apart from
each other, both with an S: its section S3, for one, holds its Figure S2.
"""

from __future__ import annotations

from collections.abc import Sequence

from deepcs.agents.table import PAPERS_AGENT
from deepcs.analysis.groups import Group
from deepcs.analysis.published import TEN_GAMES, published

GRID = "Figure 1"
CURVES = "Figure 2"
ROOMS = "Figure 3"
SATURATION = "Figure 4"
CONTROLS = "Figure 5"
OTHER_GAMES = "Supporting Figure S1 (supplement, section S2)"
ACKTR = "Supporting Figure S2 (supplement, section S3)"
FIRST_ROOM = "Supporting Figure S3 (supplement, section S4)"
RESETS = "supplement, section S5, which has no figure"
BEST_POLICIES = "Supporting Figure S4 (supplement, section S6)"
POSITIONS = "the table in section S1 of its supplement"

FIGURE_2 = {"MontezumaRevenge": "top row", "Seaquest": "bottom row"}
FIGURE_5 = {"MontezumaRevenge": "left", "Seaquest": "right"}
OTHER_AGENT = ("MontezumaRevenge", "acktr")  # where the paper has another agent than A2C
RESET_TREATMENTS = ("never-reset", "life-reset")

OURS = "Ours: not in the paper."
DEEPCS_ALONE = "for DeepCS; the rest is ours"
SATURATION_FRAMES = 700  # after which Figure 4 has the grid nearly full
SATURATION_SCORE = 76_000  # that Figure 4 ends with
BEST_ROOMS = 15  # that the best agent of Figure 3 explores
WEST_RUNS, RUNS = 3, 25  # runs that leave the first room westward, and all (Figure 3)


def after(figure: str, part: str = "") -> str:
    """The sentence that stands with a figure which is made after one of the paper's.

    >>> after(CURVES, "top row")
    'In the paper: Figure 2, top row.'
    """
    return f"In the paper: {figure}{f', {part}' if part else ''}."


def main_in_paper(groups: Sequence[Group]) -> str:
    """What the paper has of DeepCS and A2C in this world."""
    first = groups[0]
    if (first.world, first.config.agent) == OTHER_AGENT:
        return f"Ours: the paper has ACKTR for DeepCS only, in {ACKTR}."
    if first.config.agent != PAPERS_AGENT:
        return OURS
    if first.world in FIGURE_2:
        missing = {"deepcs": "DeepCS", "plain": "A2C"}
        for group in groups:
            missing.pop(group.config.treatment, None)
        lacks = "".join(f", here without {label}" for label in missing.values())
        return after(CURVES, FIGURE_2[first.world] + lacks)
    if first.world in TEN_GAMES:
        return f"Ours: the paper has this game's score in {OTHER_GAMES}, without A2C."
    return OURS


def controls_in_paper(groups: Sequence[Group]) -> str:
    """What the paper has of the treatments in this world."""
    world, treatments = groups[0].world, {group.config.treatment for group in groups}
    if world not in FIGURE_5 or groups[0].config.agent != PAPERS_AGENT:
        return OURS
    told = []
    if treatments & {"no-grid", "no-intrinsic"}:
        told.append(after(CONTROLS, FIGURE_5[world]))
    resets = [group.label for group in groups if group.config.treatment in RESET_TREATMENTS]
    if resets:
        where = RESETS if world == "MontezumaRevenge" else "not in the paper for this game"
        told.append(f"{' and '.join(resets)}: {where}.")
    return " ".join(told) or OURS


def agents_in_paper(groups: Sequence[Group]) -> str:
    """What the paper has of treatments with another agent than A2C, in this world."""
    treatments = {group.config.treatment for group in groups}
    first = groups[0]
    if (first.world, first.config.agent) != OTHER_AGENT:
        return OURS
    if "deepcs" not in treatments:
        return OURS
    return after(ACKTR, DEEPCS_ALONE if len(treatments) > 1 else "")


def first_room_in_paper(groups: Sequence[Group]) -> str:
    """What the paper has of runs that leave Montezuma's first room, under these groups' agent."""
    if groups[0].config.agent == PAPERS_AGENT:
        return after(FIRST_ROOM)
    return f"Ours: the paper has it for A2C, in {FIRST_ROOM}."


def best_policies_in_paper(groups: Sequence[Group]) -> str:
    """What the paper has of the games of best policies, in this world."""
    first = groups[0]
    ours = [group.config.treatment == "deepcs" for group in groups]
    if published(first.world) is None or not any(ours):
        return OURS
    return after(BEST_POLICIES, "" if all(ours) else DEEPCS_ALONE)
