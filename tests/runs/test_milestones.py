"""Milestones: which game is the first of its kind, and when it was over."""

from __future__ import annotations

import numpy as np
import pytest

from deepcs.runs.milestones import first_steps, milestones_of

STEPS = np.array([10, 20, 30, 40])


def test_montezumas_milestones_are_keys_rooms_and_points() -> None:
    scores, rooms = np.array([0.0, 100, 0, 1000]), np.array([1, 1, 2, 3])
    assert first_steps("MontezumaRevenge", STEPS, scores, rooms) == {
        "first key": 20,
        "first exit of room 1": 30,
        "400 points": 40,
        "1,000 points": 40,
        "2,500 points": None,
    }


@pytest.mark.parametrize(
    ("world", "found"),
    [
        ("KeyHallway", {"first solved game": 30}),
        (
            "Seaquest",
            {"first point": 30, "100 points": 40, "1,000 points": None, "10,000 points": None},
        ),
    ],
)
def test_elsewhere_points_are_counted(world: str, found: dict[str, int | None]) -> None:
    assert first_steps(world, STEPS, np.array([-5.0, 0, 1, 100]), np.ones(4)) == found


def test_without_games_nothing_is_reached() -> None:
    none = np.zeros(0)
    assert set(first_steps("MontezumaRevenge", none, none, none).values()) == {None}
    assert len(milestones_of("MontezumaRevenge")) == 5
