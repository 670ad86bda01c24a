"""How the game's reward R and the intrinsic reward I become the one the learner sees."""

from __future__ import annotations

from typing import Literal

import numpy as np

Weight = float | Literal["equal"]
"""β in [0, 1], the game reward's share; or `equal`, the paper's untuned case."""
NUMBERS = int, float, np.integer, np.floating


def check_weight(weight: Weight) -> Weight:
    """Return the weight if it can be used, else raise ValueError."""
    if weight != "equal" and not (isinstance(weight, NUMBERS) and 0 <= weight <= 1):
        raise ValueError(
            f"Got reward weight {weight!r}; give β from 0 (intrinsic reward only) to 1 "
            "(game reward only), or 'equal'."
        )
    return weight


def mix_rewards(
    game: np.ndarray, intrinsic: np.ndarray, weight: Weight, *, paid: bool = True
) -> np.ndarray:
    """The learner's reward, any shape; R is clipped to [-1, 1] as in the paper.

    weight β: βR + (1−β)I. `equal`: clip(R + I). Where nothing intrinsic is paid: R, not βR, so
    that a control trains on the same scale as plain A2C.
    """
    clipped: np.ndarray = np.clip(game, -1, 1)
    if not paid:
        return clipped
    check_weight(weight)
    if weight == "equal":
        total: np.ndarray = np.clip(clipped + intrinsic, -1, 1)
    else:
        total = weight * clipped + (1 - weight) * intrinsic
    return total


def separate_rewards(game: np.ndarray, intrinsic: np.ndarray, *, paid: bool = True) -> np.ndarray:
    """Both rewards, (…, 2), for a learner with a value for each; R is clipped to [-1, 1].

    Where nothing intrinsic is paid: R alone, (…).
    """
    clipped: np.ndarray = np.clip(game, -1, 1)
    return np.stack((clipped, intrinsic), -1) if paid else clipped
