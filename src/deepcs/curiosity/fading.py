"""Visits that fade: the weight of each entry into a place halves every `half_life` steps.

Staying is no entry: a place ages while the player is there.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterable, Iterator
from typing import Any, NamedTuple


class Worth(NamedTuple):
    """What entering a place pays, by how much of its earlier entries is left."""

    touch: float
    """1 - 2^(-age/h), where age is the steps since it was last entered; 1: never entered"""
    graded: float
    """1/√(1 + w), where w is the sum of 2^(-age/h) over all earlier entries"""


NOTHING = Worth(0.0, 0.0)


def check_half_life(half_life: Any) -> float:
    """Return the half-life if it is one, else raise ValueError."""
    is_number = isinstance(half_life, (int, float)) and not isinstance(half_life, bool)
    if not is_number or not 0 < half_life < math.inf:
        raise ValueError(
            f"Got half_life {half_life!r}; give the steps, above 0, after which a visit counts "
            "half."
        )
    return float(half_life)


class Fading:
    """When each place was last entered, and what is left of all entries.

    With an infinite half-life, `touch` is 1 for the first touch and `graded` is 1/√n.
    """

    def __init__(self, half_life: float) -> None:
        """`half_life`: steps."""
        self.half_life = check_half_life(half_life)
        self.step = 0
        """the current step"""
        self._visits: dict[Any, tuple[int, float]] = {}  # last entry's step, weight of all then

    def clear(self) -> None:
        """Forget every entry at once."""
        self._visits = {}

    def enter(self, place: Hashable) -> Worth:
        """Enter a place; returns what that is worth."""
        last, weight = self._visits.get(place, (None, 0.0))
        left = 0.0 if last is None else self._left(last)
        self._visits[place] = self.step, left * weight + 1
        return Worth(1 - left, 1 / math.sqrt(1 + left * weight))

    def shades(self) -> Iterator[tuple[Any, float]]:
        """Every place, and what is left of its last entry."""
        return ((place, self._left(last)) for place, (last, _) in self._visits.items())

    def _left(self, last: int) -> float:
        return math.exp2((last - self.step) / self.half_life)

    def to_json(self) -> dict[str, Any]:
        """Without the places, which the caller writes in the order of `places`."""
        visits = self._visits.values()
        return {
            "step": self.step,
            "last": [last for last, _ in visits],
            "weights": [weight for _, weight in visits],
        }

    @property
    def places(self) -> list[Any]:
        return list(self._visits)

    def from_json(self, saved: dict[str, Any], places: Iterable[Hashable]) -> None:
        """Take over what `to_json` wrote."""
        self.step = int(saved["step"])
        visits = zip(map(int, saved["last"]), map(float, saved["weights"]), strict=True)
        self._visits = dict(zip(places, visits, strict=True))
