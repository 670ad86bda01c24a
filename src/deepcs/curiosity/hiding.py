"""Whether a reward mix hides one of its rewards, as a clip can, in the first steps.

CartPole pays 1 a step, so that clip(R + I) is 1 with and without I. Pendulum pays from −16 to 0,
which clip(R) turns into −1 nearly everywhere.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from deepcs.curiosity.reward import (
    APART,
    APART_UNCLIPPED,
    Weight,
    intrinsic_scale,
    mix_rewards,
)

STEPS = 4_000  # that are checked
NOT_MIXED = (APART, APART_UNCLIPPED)
ENOUGH = 20  # rewards other than 0; with fewer there is no warning
MOST = 0.8  # of all steps: where the clip turns as many different rewards into one, R is hidden


@dataclass
class Seen:
    """What the first steps had of each reward."""

    steps: int = 0
    low: float = math.inf
    """of R"""
    high: float = -math.inf
    """of R"""
    under: int = 0
    """steps where R was −1 or less, which the clip makes −1"""
    under_high: float = -math.inf
    """of R in these"""
    over: int = 0
    """steps where R was 1 or more"""
    over_low: float = math.inf
    """of R in these"""
    intrinsic: int = 0
    """steps where I was not 0"""
    shown: int = 0
    """of these, steps where the mix would differ without I"""

    def add(self, other: Seen) -> None:
        self.steps += other.steps
        self.low, self.high = min(self.low, other.low), max(self.high, other.high)
        self.under, self.over = self.under + other.under, self.over + other.over
        self.under_high = max(self.under_high, other.under_high)
        self.over_low = min(self.over_low, other.over_low)
        self.intrinsic += other.intrinsic
        self.shown += other.shown


class MixWatch:
    """Watches the rewards of the first steps, and what a mix makes of them."""

    def __init__(self, weight: Weight, *, paid: bool = True) -> None:
        self._weight, self._paid = weight, paid
        # Nothing is hidden by R + cI, and only what was asked for by a β of 0 or 1.
        can_hide = intrinsic_scale(weight) is None and weight not in (0, 1, *NOT_MIXED)
        self._left = STEPS if can_hide else 0
        self.seen = Seen()

    def look(self, game: np.ndarray, intrinsic: np.ndarray, mixed: np.ndarray) -> bool:
        """Take R and I, of one shape, and their mix; True: the check is complete.

        After that, nothing more is taken.
        """
        if self._left <= 0:
            return False
        self._left -= game.size
        under, over = game[game <= -1], game[game >= 1]
        seen = Seen(
            game.size,
            float(game.min()),
            float(game.max()),
            under.size,
            float(under.max(initial=-math.inf)),
            over.size,
            float(over.min(initial=math.inf)),
        )
        if self._paid:
            without = mix_rewards(game, np.zeros_like(intrinsic), self._weight)
            seen.intrinsic = int(np.count_nonzero(intrinsic))
            seen.shown = int(np.count_nonzero(mixed != without))
        self.seen.add(seen)
        return self._left <= 0


def hidden(weight: Weight, parts: Iterable[Seen]) -> str | None:
    """One sentence about a reward that the mix has hidden: I in all of these steps, or how R varies
    in most of them; None: none was.
    """
    seen = Seen()
    for part in parts:
        seen.add(part)
    instead = "choose the weight 'sum' (R + I, unclipped) or scale R"
    if seen.intrinsic >= ENOUGH and not seen.shown:
        return (
            f"The reward mix {weight!r} hides the intrinsic reward here: R of {seen.low:g} to "
            f"{seen.high:g} leaves the clip to [-1, 1] no room for I; {instead}."
        )
    least = max(ENOUGH, MOST * seen.steps)
    for end, count, varies in (
        (-1, seen.under, seen.low < seen.under_high),
        (1, seen.over, seen.over_low < seen.high),
    ):
        if count >= least and varies:
            return (
                f"The reward mix {weight!r} hides the game's reward here: R of {seen.low:g} to "
                f"{seen.high:g} is clipped to {end} in {count / seen.steps:.0%} of the steps; "
                f"{instead}."
            )
    return None
