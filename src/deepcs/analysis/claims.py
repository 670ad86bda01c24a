"""What the paper claims, in our words, as data: who is compared with whom, by what, and where it
says so. `ledger.py` compares them with runs."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from typing import Literal

from deepcs.analysis.paper_figures import (
    ACKTR,
    BEST_POLICIES,
    BEST_ROOMS,
    CONTROLS,
    CURVES,
    FIRST_ROOM,
    RESETS,
    ROOMS,
    SATURATION_SCORE,
)
from deepcs.analysis.published import METHODS, TABLE

PAPER_STEPS = METHODS[-1].frames // 4
RUNS, FEWER_RUNS = 25, 10  # of the paper: its main experiments, its ten additional games
Expected = Literal["higher", "lower", "alike", "differs", "nothing", "reaches"]
Measure = Literal[
    "score", "intrinsic", "left room 1", "score of runs that left", "went west", "most rooms"
]
"""of a finished run. left room 1: its curve ever has the points that this takes (supplement,
section S4). score of runs that left: its score, if it did. went west: most of its games that leave
the first room do so westward. most rooms: of one game."""


@dataclass(frozen=True)
class Claim:
    """One comparison that the paper makes, or one figure that it reaches."""

    number: str
    """of its question, and a letter where there are several: a question's are corrected together"""
    sentence: str
    where: str
    """in the paper, or that it is ours"""
    world: str
    ours: str
    """a treatment"""
    theirs: str | None
    """the treatment that it is compared with; None: with `value`"""
    expected: Expected
    """of `ours`, against `theirs`"""
    measure: Measure = "score"
    value: float = 0.0
    """that a run reaches"""
    agents: tuple[str, str] | None = None
    """the two learners; None: any, the same on both sides"""
    paper_runs: int | None = RUNS
    """a group; None: the paper ran nothing like it"""
    at_the_end: bool = False
    """it is about the end of training alone: fewer steps than the paper's say nothing"""

    @property
    def question(self) -> str:
        """The number without its letter."""
        return self.number.rstrip("abcdefghijklmnopqrstuvwxyz")


MONTEZUMA, SEAQUEST = "MontezumaRevenge", "Seaquest"
MAZES = {"KeyHallway": "the hallway", "CrossMaze": "the cross maze"}
ACROSS_TRAINING = ("never-reset", "counts", "pseudo-counts", "rnd")
TOPICS = {
    "1": "Montezuma's Revenge",
    "2": "Seaquest",
    "3": "Freeway",
    "4": "Amidar",
    "5": "Gravitar",
    "6": "Tutankham",
    "7": "the grid without intrinsic reward",
    "8": "intrinsic reward without the grid",
    "9": "a grid that is never reset",
    "10": "a grid that is reset at lost lives",
    "11": "ACKTR",
    "12": "intrinsic reward",
    "13": "the mazes",
    "14": "other games",
    "15": "rooms",
    "16": "the way west",
    "17": "the best run of ACKTR",
    "18": "the best run of Seaquest",
}
"""what each question is about, for a summary"""
FIRST_GAMES = {"Freeway": "3", "Amidar": "4", "Gravitar": "5", "Tutankham": "6"}


def _games() -> list[Claim]:
    """Table 1 against A3C, a row per game; the paper says that A2C equals A3C."""
    found = []
    later = iter("abcdef")
    for row in TABLE:
        if row.game in (MONTEZUMA, SEAQUEST):
            continue
        ours, theirs = row.deepcs.points, row.a3c.points
        way: Expected = "higher" if ours > theirs else "lower"
        number = FIRST_GAMES.get(row.game) or f"14{next(later)}"
        sentence = (
            f"DeepCS scores {'more' if way == 'higher' else 'less'} than A2C in {row.label} "
            f"({ours:,} against {theirs:,} of A3C)."
        )
        where = "Table 1, DeepCS against A3C"
        claim = Claim(number, sentence, where, row.game, "deepcs", "plain", way)
        found.append(dataclasses.replace(claim, paper_runs=FEWER_RUNS))
    return sorted(found, key=lambda claim: (int(claim.question), claim.number))


def _mazes() -> list[Claim]:
    """The paper's thought experiments, which it did not run."""
    return [
        Claim(
            f"13{letter}",
            f"Novelty within a game solves {MAZES[maze]} more often than novelty across training "
            f"({theirs}).",
            "ours: the Introduction argues so and runs neither",
            maze,
            "deepcs",
            theirs,
            "higher",
            paper_runs=None,
        )
        for letter, (maze, theirs) in zip(
            "abcdefgh", ((m, t) for m in MAZES for t in ACROSS_TRAINING), strict=True
        )
    ]


CLAIMS = (
    Claim(
        "1",
        "DeepCS scores more than A2C in Montezuma's Revenge (3,500; A2C's is not visible).",
        f"Results; {CURVES}, top left",
        *(MONTEZUMA, "deepcs", "plain", "higher"),
    ),
    Claim(
        "2",
        "DeepCS scores more than A2C in Seaquest (3,443 against 1,791).",
        f"Results; {CURVES}, bottom left",
        *(SEAQUEST, "deepcs", "plain", "higher"),
    ),
    *(claim for claim in _games() if claim.number in FIRST_GAMES.values()),
    Claim(
        "7a",
        "The grid as input, without intrinsic reward, scores less than DeepCS in Montezuma.",
        f"Results; {CONTROLS}, left",
        *(MONTEZUMA, "no-intrinsic", "deepcs", "lower"),
    ),
    Claim(
        "7b",
        "The grid as input, without intrinsic reward, scores less than DeepCS in Seaquest.",
        f"Results; {CONTROLS}, right",
        *(SEAQUEST, "no-intrinsic", "deepcs", "lower"),
    ),
    Claim(
        "8a",
        "Without the grid as input, DeepCS scores as much in Seaquest.",
        f"Results; {CONTROLS}, right",
        *(SEAQUEST, "no-grid", "deepcs", "alike"),
    ),
    Claim(
        "8b",
        "Without the grid as input, DeepCS scores less in Montezuma's Revenge.",
        f"Results; {CONTROLS}, left",
        *(MONTEZUMA, "no-grid", "deepcs", "lower"),
    ),
    Claim(
        "8c",
        "Without the grid, DeepCS still scores more than A2C in Montezuma's Revenge.",
        f"caption of {CONTROLS}",
        *(MONTEZUMA, "no-grid", "plain", "higher"),
    ),
    Claim(
        "8d",
        "Without the grid, DeepCS scores more than A2C in Seaquest too.",
        "Results, on removing the grid",
        *(SEAQUEST, "no-grid", "plain", "higher"),
    ),
    Claim(
        "8e",
        "Without the grid as input, fewer runs leave Montezuma's first room.",
        FIRST_ROOM,
        *(MONTEZUMA, "no-grid", "deepcs", "lower", "left room 1"),
    ),
    Claim(
        "8f",
        "Of runs that leave the first room, those without the grid end with as high a score.",
        FIRST_ROOM,
        *(MONTEZUMA, "no-grid", "deepcs", "alike", "score of runs that left"),
        at_the_end=True,
    ),
    Claim(
        "9",
        "A grid that is never reset earns nothing in Montezuma's Revenge.",
        RESETS,
        *(MONTEZUMA, "never-reset", "deepcs", "nothing"),
    ),
    Claim(
        "10",
        "A grid that is reset at every lost life earns nothing in Montezuma's Revenge.",
        RESETS,
        *(MONTEZUMA, "life-reset", "deepcs", "nothing"),
    ),
    Claim(
        "11a",
        "In Montezuma, DeepCS on ACKTR ends with the score of DeepCS on A2C.",
        ACKTR,
        *(MONTEZUMA, "deepcs", "deepcs", "alike"),
        agents=("acktr", "a2c"),
        at_the_end=True,
    ),
    Claim(
        "11b",
        "The two differ at the very beginning of training, where all of our budget lies.",
        f"caption of {ACKTR}",
        *(MONTEZUMA, "deepcs", "deepcs", "differs"),
        agents=("acktr", "a2c"),
    ),
    Claim(
        "12a",
        "DeepCS collects more intrinsic reward than A2C in Montezuma's Revenge.",
        f"Results; {CURVES}, top right",
        *(MONTEZUMA, "deepcs", "plain", "higher", "intrinsic"),
    ),
    Claim(
        "12b",
        "DeepCS collects more intrinsic reward in Seaquest (a figure; the text is silent).",
        f"{CURVES}, bottom right",
        *(SEAQUEST, "deepcs", "plain", "higher", "intrinsic"),
    ),
    *_mazes(),
    *(claim for claim in _games() if claim.question == "14"),
    Claim(
        "15",
        "The best agent of DeepCS explores 15 rooms of Montezuma's Revenge.",
        f"Results; {ROOMS}, right",
        *(MONTEZUMA, "deepcs", None, "reaches", "most rooms", BEST_ROOMS),
    ),
    Claim(
        "16",
        "Some runs leave Montezuma's first room westward (3 of 25).",
        f"Results; {ROOMS}, left",
        *(MONTEZUMA, "deepcs", None, "reaches", "went west", 1),
    ),
    Claim(
        "17",
        "A run of DeepCS on ACKTR scores 6,600 in Montezuma's Revenge.",
        f"Results; {ACKTR}",
        *(MONTEZUMA, "deepcs", None, "reaches", "score", 6_600),
        agents=("acktr", "acktr"),
    ),
    Claim(
        "18",
        "A run of DeepCS scores nearly 80,000 in Seaquest (counted from Figure 4's 76,000).",
        f"Results; see also {BEST_POLICIES}",
        *(SEAQUEST, "deepcs", None, "reaches", "score", SATURATION_SCORE),
    ),
)
"""in the order of the ledger"""
