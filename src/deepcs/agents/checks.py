"""Invalid numbers in a learner's settings are refused before anything is trained."""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping
from typing import Any

from deepcs.system.schedule import both_ends

LARGEST = 3e38  # what float32 holds


def check_numbers(
    agent: str,
    settings: Any,
    *,
    whole: Collection[str] = (),
    shares: Collection[str] = (),
    portions: Collection[str] = (),
    least: Mapping[str, float] | None = None,
    unbounded: Collection[str] = (),
    scheduled: Collection[str] = (),
) -> None:
    """Raise ValueError, in one sentence, for the first setting that is invalid.

    whole: whole numbers from 1 up. shares: from 0 to below 1. portions: from 0 to 1, as discounts
    (gamma) are. least: from that number up. unbounded: may be infinite. scheduled: may
    change over the run, `0.01:0.001`. Every other number is finite, from 0 up.
    """
    least = least or {}
    for name, value in vars(settings).items():
        given = f"Got {agent}.{name} {value!r}"
        if name == "schedule":
            if value not in ("linear", "constant"):
                raise ValueError(f"{given}; choose linear or constant.")
        elif name in scheduled and isinstance(value, str):
            ends = both_ends(value)
            if ends is None or not all(0 <= number <= LARGEST for number in ends):
                raise ValueError(
                    f"{given}; give a number from 0 up, or two for the start and the end of the "
                    "run, such as '0.01:0.001'."
                )
        elif isinstance(value, bool) or not isinstance(value, (int, float)):
            continue  # the learner's own to check
        elif name in whole:
            if not isinstance(value, int) or value < 1:
                raise ValueError(f"{given}; give a whole number from 1 up.")
        elif name in shares:
            if not 0 <= value < 1:
                raise ValueError(f"{given}; give a number from 0 to below 1.")
        elif name in least:
            if not least[name] <= value <= LARGEST:
                raise ValueError(f"{given}; give a finite number from {least[name]:g} up.")
        elif "gamma" in name or name in portions:
            if not 0 <= value <= 1:
                raise ValueError(f"{given}; give a number from 0 to 1.")
        elif not 0 <= value <= (math.inf if name in unbounded else LARGEST):
            raise ValueError(f"{given}; give a finite number from 0 up.")
