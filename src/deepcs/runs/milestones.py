"""Milestones: the first game of each kind, read from games.csv, so that every run has them.

A milestone's step is the one at which the first game that reached it ended; games under way when a
run ends are ignored.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from deepcs.envs.mazes import MAZES


@dataclass(frozen=True)
class Milestone:
    """A kind of game."""

    label: str
    points: float = 0.0
    """the least score; 0: any score above 0"""
    rooms: int = 0
    """the least number of rooms; 0: any, and then points decide"""

    def reached(self, scores: np.ndarray, rooms: np.ndarray) -> np.ndarray:
        """Which games are of this kind, bool (games,); rooms: how many each visited."""
        if self.rooms:
            return np.asarray(rooms >= self.rooms)
        return np.asarray(scores >= self.points if self.points else scores > 0)


def _points(points: int) -> Milestone:
    return Milestone(f"{points:,} points", points)


MONTEZUMA = (
    Milestone("first key", 100),
    Milestone("first exit of room 1", rooms=2),
    *map(_points, (400, 1_000, 2_500)),
)
ELSEWHERE = (Milestone("first point"), *map(_points, (100, 1_000, 10_000)))
SOLVED = (Milestone("first solved game"),)
KEY, EXIT = MONTEZUMA[:2]


def milestones_of(world: str) -> tuple[Milestone, ...]:
    """The milestones of a world, easiest first."""
    if world in MAZES:
        return SOLVED
    return MONTEZUMA if world == "MontezumaRevenge" else ELSEWHERE


def first_steps(
    world: str, steps: np.ndarray, scores: np.ndarray, rooms: np.ndarray
) -> dict[str, int | None]:
    """The step of each milestone by its label, None: not reached; from columns (games,).

    steps: at which each game was over, ascending. rooms: how many it visited.

    >>> games = np.array([10, 20, 30]), np.array([0.0, 100.0, 400.0]), np.array([1, 1, 2])
    >>> first_steps("MontezumaRevenge", *games)["first exit of room 1"]
    30
    """
    found: dict[str, int | None] = {}
    for milestone in milestones_of(world):
        reached = np.flatnonzero(milestone.reached(scores, rooms))
        found[milestone.label] = int(steps[reached[0]]) if len(reached) else None
    return found
