"""Numbers that change over a run: `0.25:0.9` goes linearly from 0.25 to 0.9."""

from __future__ import annotations

import math

Scheduled = float | str
"""a number, or two with a colon between them"""


def both_ends(setting: Scheduled) -> tuple[float, float] | None:
    """What it is at the start and at the end of a run; None: it cannot be read."""
    if not isinstance(setting, str):
        return setting, setting
    try:
        first, last = map(float, setting.split(":"))
    except ValueError:
        return None
    return (first, last) if math.isfinite(first) and math.isfinite(last) else None


def number_at(setting: Scheduled, progress: float) -> float:
    """What it is after a share of the run's steps, from 0 to 1."""
    ends = both_ends(setting)
    assert ends is not None
    first, last = ends
    return first if first == last else first + (last - first) * progress
