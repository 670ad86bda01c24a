"""The paper's treatments, each a line of settings.

Intrinsic rewards are recorded under every treatment; `paid` says whether the learner gets them.
"""

from __future__ import annotations

import difflib
from dataclasses import dataclass

from deepcs.curiosity.grid import Lifetime


@dataclass(frozen=True)
class Treatment:
    """What of DeepCS is switched on."""

    name: str
    sees_grid: bool
    """the network sees the curiosity grid"""
    paid: bool
    """the learner gets the intrinsic reward"""
    lifetime: Lifetime
    """when every tile becomes new again"""


TREATMENTS = {
    treatment.name: treatment
    for treatment in (
        Treatment("deepcs", sees_grid=True, paid=True, lifetime="game"),
        Treatment("plain", sees_grid=False, paid=False, lifetime="game"),
        Treatment("no-grid", sees_grid=False, paid=True, lifetime="game"),
        Treatment("no-intrinsic", sees_grid=True, paid=False, lifetime="game"),
        Treatment("never-reset", sees_grid=True, paid=True, lifetime="never"),
        Treatment("life-reset", sees_grid=True, paid=True, lifetime="life"),
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
