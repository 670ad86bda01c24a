"""When all is new again, and what a visit pays: shared by grids and by cells.

A *life* in this package is one lifetime of the memory: by default a game, not one of its lives."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, Literal, get_args

from deepcs.curiosity.fading import NOTHING, Fading, Worth
from deepcs.system.snapshot import Snapshot

Lifetime = Literal["game", "life", "never"]
LIFETIMES: tuple[Lifetime, ...] = get_args(Lifetime)


def check_lifetime(lifetime: str) -> Lifetime:
    """Return the lifetime if it is one, else raise ValueError."""
    for known in LIFETIMES:
        if lifetime == known:
            return known
    hint = "; for visits that fade give 'never' and a half_life" if lifetime == "fading" else ""
    raise ValueError(f"Got lifetime {lifetime!r}; choose one of {', '.join(LIFETIMES)}{hint}.")


class Lives:
    """When a life ends and what a visit pays: shared by grids and by cells."""

    lifetime: Lifetime
    fading: Fading | None = None
    _bonus_entries: int  # entries of the tile just entered; 0: nothing to pay
    _worth: Worth  # of that entry, where visits fade

    def new_life(self) -> None:
        raise NotImplementedError

    def new_game(self) -> None:
        """A game starts: a new life, unless the lifetime is `never`."""
        if self.lifetime != "never":
            self.new_life()

    def lost_life(self) -> None:
        """The player lost one of the game's lives: a new life if the lifetime is `life`."""
        if self.lifetime == "life":
            self.new_life()

    def bonus(self, graded: bool = False) -> float:
        """Intrinsic reward I of the last visit.

        1 for a first visit, else 0; graded: 1/√n for the n-th entry into a tile. Where visits fade,
        see fading.py. The start tile, the first of a life, is visited but not paid.
        """
        if self.fading is not None:
            return self._worth.graded if graded else self._worth.touch
        if graded:
            return 1 / math.sqrt(self._bonus_entries) if self._bonus_entries else 0.0
        return float(self._bonus_entries == 1)

    def _forget(self) -> None:
        """Forget the last visit's bonus and the visits that fade, as every new life does."""
        self._bonus_entries, self._worth = 0, NOTHING
        if self.fading is not None:
            self.fading.clear()

    def _fading_setting(self) -> Snapshot:
        return {} if self.fading is None else {"half_life": self.fading.half_life}

    def _snapshot_of_fading(self, to_json: Callable[[Any], Any]) -> Snapshot:
        """The last entry's bonus, and the visits that fade; to_json: of a place."""
        saved: Snapshot = {"bonus_entries": self._bonus_entries}
        if self.fading is not None:
            places = [to_json(place) for place in self.fading.places]
            saved["fading"] = {**self.fading.to_json(), "places": places, "worth": [*self._worth]}
        return saved

    def _restore_fading(self, saved: Snapshot, from_json: Callable[[Any], Any]) -> None:
        self._bonus_entries = int(saved["bonus_entries"])
        if self.fading is not None:
            fading = saved["fading"]
            self.fading.from_json(fading, map(from_json, fading["places"]))
            self._worth = Worth(*map(float, fading["worth"]))
