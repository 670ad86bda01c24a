"""Which byte of RAM is the room number, found by screens and the player's jumps."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from deepcs.curiosity.game import RAM_BASE
from deepcs.envs.experiments import RAM, Journey
from deepcs.envs.position_search import Candidate

ALIKE = 12  # of 255: shades of grey that are no difference
PAIRS = 6_000  # of screens to compare
APART = 0.08  # of the screen at least, in which two rooms differ
SEPARATION = 0.5  # how much more alike screens of one room must be than those of two
TIE = 0.03  # of confidence, within which bytes are tied
JUMP = 40  # pixels in a step that no walk makes
RARELY = 0.05  # a room changes in fewer of the steps than this


@dataclass(frozen=True)
class RoomCandidate:
    """A byte that may be the number of the room."""

    address: int
    confidence: float
    """0 to 1: how much more alike screens are while it is the same, and how often the player jumps
    when it changes"""
    values: tuple[int, ...]
    """all that were seen"""


def _jumps(journey: Journey, axes: Sequence[Candidate | None]) -> np.ndarray:
    """From which steps to the next the player jumps, or does within a step more: (steps - 1,)."""
    jumps = np.zeros(len(journey.ram) - 1, bool)
    for axis in axes:
        if axis is not None:
            pixels = np.abs(np.diff(journey.ram[:, axis.index])) * (abs(axis.scale) or 1.0)
            jumps |= (pixels > JUMP) & ~journey.begins[1:]
    jumps[:-1] |= jumps[1:]
    jumps[1:] |= jumps[:-1]
    return jumps


def room_candidates(journey: Journey, axes: Sequence[Candidate | None] = ()) -> list[RoomCandidate]:
    """Bytes that are the same while the screen is, and change with it and with a jump.

    axes: the player's coordinates. Of tied bytes, the first is the one whose values look most
    like room numbers, from 0 up with few gaps.
    """
    steps = len(journey.ram)
    jumps = _jumps(journey, axes)
    one, other = np.random.default_rng(0).integers(steps, size=(2, PAIRS))
    unlike = np.abs(journey.screens[one].astype(np.int16) - journey.screens[other]) > ALIKE
    distance = unlike.mean((1, 2))
    found: list[RoomCandidate] = []
    for index in range(RAM):
        values = journey.ram[:, index]
        changed = (values[1:] != values[:-1]) & ~journey.begins[1:]
        changes = changed.sum()
        same = values[one] == values[other]
        if not 0 < changes <= RARELY * steps or not 20 <= same.sum() <= PAIRS - 20:
            continue
        within, between = distance[same].mean(), distance[~same].mean()
        separation = float(1 - within / max(between, 1e-9))
        if between >= APART and separation >= SEPARATION:
            seen = tuple(np.unique(values).tolist())
            confidence = separation * (1 + float(jumps[changed].mean())) / 2
            found.append(RoomCandidate(RAM_BASE + index, confidence, seen))
    most = max((each.confidence for each in found), default=0.0)

    def order(each: RoomCandidate) -> tuple[float, float, int]:
        below = most - each.confidence
        spent = (each.values[-1] + 1) / len(each.values)  # numbers to a room
        return (0.0 if below <= TIE else below), spent, each.address

    return sorted(found, key=order)
