"""The paper's Table 1, and what random play and humans score: published results as data."""

from __future__ import annotations

import re
from dataclasses import dataclass

from deepcs.curiosity.game import Game
from deepcs.curiosity.games import find_game


@dataclass(frozen=True)
class Method:
    """A column of Table 1."""

    label: str
    """its heading"""
    name: str
    """in full"""
    source: str
    """where the paper has its scores from"""
    frames: int
    """raw frames that it was trained on"""


METHODS = (
    Method("DQN", "Deep Q-Network", "Mnih et al. 2015", 200_000_000),
    Method("A3C", "asynchronous advantage actor-critic", "Mnih et al. 2016", 200_000_000),
    Method("PC", "pseudo-counts", "Bellemare et al. 2016", 400_000_000),
    Method("PCn", "pseudo-counts by PixelCNN", "Ostrovski et al. 2017", 500_000_000),
    Method("R", "Rainbow", "Hessel et al. 2017", 200_000_000),
    Method("Ape-X", "Ape-X", "Horgan et al. 2018", 22_800_000_000),
    Method("DeepCS", "Deep Curiosity Search", "Stanton & Clune 2018", 640_000_000),
)


@dataclass(frozen=True)
class Score:
    """A cell of Table 1; printed as there, but for the comma in thousands."""

    points: int
    approximate: bool = False
    """taken from a training curve, where no table was available: the paper's ∼"""

    def __str__(self) -> str:
        return f"{'~' if self.approximate else ''}{self.points}"


@dataclass(frozen=True)
class BestRun:
    """The paper's best single run of a game, over all its runs of DeepCS."""

    points: int
    agent: str
    """beneath DeepCS, as people write it"""
    told: str
    """what else the paper says of it"""


@dataclass(frozen=True)
class Published:
    """What is published about one game: a row of Table 1, and the ends of the human scale."""

    game: str
    """as in Gymnasium"""
    label: str
    """as in Table 1"""
    dqn: Score | None
    """None where the paper has a dash"""
    a3c: Score
    pc: Score
    """pseudo-counts: a reference in the figure of ten games"""
    pcn: Score
    """pseudo-counts by PixelCNN: the other one"""
    rainbow: Score
    apex: Score
    deepcs: Score
    """median over runs at the end of training"""
    random: float
    """random play; like `human`, from 1 to 30 no-ops, Wang et al. 2016, the usual scale since"""
    human: float
    """a professional tester, 30 minutes a game at most"""
    best: BestRun | None = None
    """the paper's best single run, where the caption of Table 1 names it"""

    @property
    def scores(self) -> tuple[Score | None, ...]:
        """The row's cells in the order of METHODS."""
        return self.dqn, self.a3c, self.pc, self.pcn, self.rainbow, self.apex, self.deepcs


def _about(points: int) -> Score:
    return Score(points, approximate=True)


def _row(
    game: str,
    dqn: int | None,
    a3c: int,
    pc: int,
    pcn: int | Score,
    rainbow: int,
    apex: int,
    deepcs: int,
    *,
    scale: tuple[float, float],
    best: BestRun | None = None,
    label: str | None = None,
) -> Published:
    """A row from plain numbers; scale: random play and the human."""
    return Published(
        game,
        label or game,
        Score(dqn) if dqn is not None else None,
        Score(a3c),
        Score(pc),
        Score(pcn) if isinstance(pcn, int) else pcn,
        Score(rainbow),
        Score(apex),
        Score(deepcs),
        *scale,
        best,
    )


_AMIDAR = BestRun(2600, "A2C", "")
_MONTEZUMA = BestRun(
    6600, "ACKTR", "from 10 million steps on, and in each of its 100 games afterwards"
)
_SEAQUEST = BestRun(
    80_000, "A2C", "nearly so many at the end of training, 278,130 in one game afterwards"
)

# In the paper's order; the first five are those in which it has DeepCS ahead of DQN, A3C and PC.
TABLE = (
    _row("Amidar", 739, 283, 964, _about(900), 5131, 8659, 1404, scale=(5.8, 1719.5), best=_AMIDAR),
    _row("Freeway", 30, 0, 30, 31, 34, 33, 33, scale=(0.0, 29.6)),
    _row("Gravitar", 306, 269, 246, 859, 1419, 1598, 881, scale=(173.0, 3351.4)),
    # The paper's text has the human at 4367, from Mnih et al. 2015.
    _row(
        *("MontezumaRevenge", 0, 53, 3439, 3705, 154, 2500, 3500),
        scale=(0.0, 4753.3),
        best=_MONTEZUMA,
        label="MR",
    ),
    _row("Tutankham", 186, 156, 132, _about(190), 241, 272, 256, scale=(11.4, 167.6)),
    _row("Alien", 3069, 518, 1945, _about(1700), 9491, 40804, 2705, scale=(227.8, 7127.7)),
    _row("Kangaroo", 6740, 94, 5475, _about(7900), 14637, 1416, 2837, scale=(52.0, 3035.0)),
    _row("Pitfall", None, -78, -155, 0, 0, 0, -186, scale=(-229.4, 6463.7)),
    _row(
        *("PrivateEye", 1788, 206, 246, 15806, 4234, 864, 1105),
        scale=(24.9, 69571.3),
        label="Private Eye",
    ),
    _row(
        *("Seaquest", 5286, 2300, 2274, _about(2500), 19_176, 392_952, 3443),
        scale=(68.4, 42054.7),
        best=_SEAQUEST,
    ),
    _row("Venture", 380, 23, 0, 1356, 5, 1813, 12, scale=(0.0, 1187.5)),
    _row(
        *("WizardOfWor", 3393, 17244, 3657, _about(2500), 17862, 46897, 2134),
        scale=(563.5, 4756.5),
        label="Wizard of Wor",
    ),
)
_BY_GAME = {row.game: row for row in TABLE}

# The figure of additional games has ten panels, though the text beside it names nine of them.
TEN_GAMES = tuple(row.game for row in TABLE if row.game not in ("MontezumaRevenge", "Seaquest"))


def published(world: str) -> Published | None:
    """What is published about a game, in any clear spelling of its name; None: nothing.

    >>> row = published("private_eye")
    >>> row.label, str(row.pcn)
    ('Private Eye', '15806')
    >>> published("KeyHallway") is None
    True
    """
    facts = find_game(world)
    return None if facts is None else _BY_GAME.get(facts.name)


@dataclass(frozen=True)
class Counterpart:
    """What the paper has of a treatment in a game."""

    method: str
    """a column of Table 1"""
    score: Score


def counterpart(world: str, treatment: str) -> Counterpart | None:
    """The paper's score to put beside a run; None: it has none.

    Of A2C without curiosity Table 1 has the asynchronous variant, A3C.

    >>> counterpart("Freeway", "plain")
    Counterpart(method='A3C', score=Score(points=0, approximate=False))
    >>> counterpart("Freeway", "never-reset") is None
    True
    """
    row = published(world)
    if row is None:
        return None
    found = {"deepcs": Counterpart("DeepCS", row.deepcs), "plain": Counterpart("A3C", row.a3c)}
    return found.get(treatment)


_ADDRESS = re.compile(r"\b0x[0-9a-f]{2}\b", re.IGNORECASE)


def reads_other_bytes(facts: Game) -> bool:
    """Whether position or room come from other bytes of RAM than the paper's table has."""
    named = [(_ADDRESS.findall(d.paper), _ADDRESS.findall(d.ours)) for d in facts.differences]
    return any(theirs and theirs != ours for theirs, ours in named)
