"""The treatments, each a named set of choices: the paper's, and other kinds of novelty.

Intrinsic rewards are recorded under every treatment; `paid` says whether the learner gets them.
What the choices are is in curiosity/novelty.py and docs/novelty.md.
"""

from __future__ import annotations

import difflib
from dataclasses import dataclass

from deepcs.curiosity.novelty import Across, Combine, New, Novelty, Place


@dataclass(frozen=True)
class Treatment:
    """What of DeepCS is switched on, and what is new."""

    name: str
    sees_grid: bool
    """the network sees the curiosity grid, or the plane of cells"""
    paid: bool
    """the learner gets the intrinsic reward"""
    lifetime: New
    """when every tile or cell becomes new again"""
    place: Place = "position"
    """where the player is: by position, or by what the screen looks like"""
    across: Across = "none"
    """what is paid for novelty across all of training and all actors"""
    combine: Combine | None = None
    """how that is combined with this lifetime's; None: nothing is paid across training"""
    source: str = "the paper"
    """where it is from, in one line"""

    @property
    def is_of_the_paper(self) -> bool:
        """Whether it is one of the paper's, which are older than these choices."""
        return (self.place, self.across) == ("position", "none") and self.lifetime != "fading"

    @property
    def choices(self) -> Novelty:
        return Novelty(self.place, self.lifetime, self.across, self.combine)


TREATMENTS = {
    treatment.name: treatment
    for treatment in (
        Treatment("deepcs", sees_grid=True, paid=True, lifetime="game"),
        Treatment("plain", sees_grid=False, paid=False, lifetime="game"),
        Treatment("no-grid", sees_grid=False, paid=True, lifetime="game"),
        Treatment("no-intrinsic", sees_grid=True, paid=False, lifetime="game"),
        Treatment("never-reset", sees_grid=True, paid=True, lifetime="never"),
        Treatment("life-reset", sees_grid=True, paid=True, lifetime="life"),
        Treatment(
            *("counts", False, True, "game", "position", "counts", "across"),
            source="1/√N of each tile's visits, MBIE-EB (Strehl & Littman 2008)",
        ),
        Treatment(
            *("pseudo-counts", False, True, "game", "position", "pseudo-counts", "across"),
            source="a density model of the screen (Bellemare et al. 2016), without contexts",
        ),
        Treatment(
            *("rnd", False, True, "game", "position", "rnd", "across"),
            source="random network distillation (Burda et al. 2019), small networks",
        ),
        Treatment(
            *("counts+grid", True, True, "game", "position", "counts", "across"),
            source="the paper's guess: seeing the grid may help counting methods too",
        ),
        Treatment(
            *("hybrid", True, True, "game", "position", "counts", "product"),
            source="intra-life × across-training (Badia et al. 2020, Henaff et al. 2023)",
        ),
        Treatment(
            *("deepcs-pixels", True, True, "game", "pixels"),
            source="the small grey picture as a cell (Go-Explore, Ecoffet et al. 2021)",
        ),
        Treatment(
            *("deepcs-hash", True, True, "game", "hash"),
            source="a learned code as a cell (#Exploration, Tang et al. 2017)",
        ),
        Treatment(
            *("fading", True, True, "fading"),
            source="the paper: “state counts could be decayed over time”",
        ),
    )
}
OLD_NAMES = {"a2c": "plain"}  # in runs and studies of deepcs 0.1


def treatment(name: str) -> Treatment:
    """The treatment of that name."""
    name = OLD_NAMES.get(name, name)
    if name not in TREATMENTS:
        nearest = difflib.get_close_matches(name, TREATMENTS, 1, 0.0)[0]
        raise ValueError(
            f"Got treatment {name!r}; the nearest is {nearest}: "
            f"choose one of {', '.join(TREATMENTS)}."
        )
    return TREATMENTS[name]
