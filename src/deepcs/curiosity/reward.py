"""How the game's reward R and the intrinsic reward I become the learner's reward."""

from __future__ import annotations

import math
import re

import numpy as np

from deepcs.system.schedule import both_ends, number_at

Weight = float | str
"""β in [0, 1], the game reward's share; `equal`, the paper's untuned case; or `sum:c`: R + cI."""
NUMBERS = int, float, np.integer, np.floating
APART, APART_UNCLIPPED = "apart", "apart:unclipped"
"""Used instead of a weight by a learner with a value for R and one for I."""
UNCLIPPED: Weight = "sum:1"
"""The weight of worlds whose rewards are not Atari's: R + I, whatever their size."""


def check_weight(weight: Weight) -> Weight:
    """Return the weight in canonical form if it is valid, else raise ValueError."""
    if weight == "equal":
        return weight
    if isinstance(weight, str):
        scale = intrinsic_scale(weight)
        if scale is not None:
            return f"sum:{scale!r}".removesuffix(".0")
    elif isinstance(weight, NUMBERS) and not isinstance(weight, bool) and 0 <= weight <= 1:
        return weight
    raise ValueError(
        f"Got reward weight {weight!r}; give β from 0 (intrinsic reward only) to 1 "
        "(game reward only), 'equal', or 'sum' (R + I, unclipped; 'sum:0.5' is R + 0.5·I)."
    )


def check_mix(mix: bool) -> bool:
    """Return whether R and I are mixed, else raise ValueError."""
    if not isinstance(mix, (bool, np.bool_)):
        raise ValueError(
            f"Got mix {mix!r}; choose True or False (how R and I are mixed is the weight's to say)."
        )
    return bool(mix)


def check_run_weight(weight: Weight) -> Weight:
    """As check_weight, for a run, over which β may change: `0.25:0.9`."""
    if not is_scheduled(weight):
        return check_weight(weight)
    ends = both_ends(weight)
    if ends is None or not all(0 <= share <= 1 for share in ends):
        raise ValueError(
            f"Got reward weight {weight!r}; give β at the start and at the end of the run, each "
            "from 0 to 1, such as '0.25:0.9'."
        )
    return f"{ends[0]!r}:{ends[1]!r}"


def is_scheduled(weight: Weight) -> bool:
    """Whether β changes over the run."""
    return isinstance(weight, str) and re.match(r"[-+.e\d]*:", weight) is not None


def weight_at(weight: Weight, progress: float) -> Weight:
    """The weight after a share of the run's steps, from 0 to 1."""
    return number_at(weight, progress) if is_scheduled(weight) else weight


def intrinsic_scale(weight: Weight) -> float | None:
    """c of an unclipped weight, `sum` or `sum:c`; None for other weights."""
    if not isinstance(weight, str):
        return None
    match = re.fullmatch(r"sum(?::(\d+\.?\d*(?:e[+-]?\d+)?))?", weight)
    if match is None:
        return None
    scale = float(match[1] or 1)
    return scale if math.isfinite(scale) else None


def mix_rewards(
    game: np.ndarray, intrinsic: np.ndarray, weight: Weight, *, paid: bool = True
) -> np.ndarray:
    """The learner's reward, any shape.

    weight β: β·clip(R) + (1−β)·I. `equal`: clip(clip(R) + I). `sum:c`: R + c·I. clip is to
    [−1, 1], as in the paper. Where nothing intrinsic is paid: clip(R), not β·clip(R), so that a
    control trains on the same scale as plain A2C; with `sum:c`: R.
    """
    scale = intrinsic_scale(weight)
    if scale is not None:
        plain = np.asarray(game, np.float64)
        return plain + scale * intrinsic if paid else plain
    clipped: np.ndarray = np.clip(game, -1, 1)
    if not paid:
        return clipped
    check_weight(weight)
    if weight == "equal":
        total: np.ndarray = np.clip(clipped + intrinsic, -1, 1)
    else:
        total = float(weight) * clipped + (1 - float(weight)) * intrinsic
    return total


def separate_rewards(
    game: np.ndarray, intrinsic: np.ndarray, *, clip: bool = True, paid: bool = True
) -> np.ndarray:
    """Both rewards, (…, 2), for a learner with a value for each; clip: R to [-1, 1].

    Where nothing intrinsic is paid: R alone, (…).
    """
    first: np.ndarray = np.clip(game, -1, 1) if clip else np.asarray(game, np.float64)
    return np.stack((first, intrinsic), -1) if paid else first


def is_apart(weight: Weight) -> bool:
    """Whether R and I are not mixed at all, but have a value each."""
    return weight in (APART, APART_UNCLIPPED)


def clips_apart(weight: Weight) -> bool:
    """Whether R, kept apart, is clipped."""
    return weight == APART


def kept_apart(weight: Weight) -> Weight:
    """What a world's weight is to a learner with two values: R is clipped if the mix clips it."""
    return APART if intrinsic_scale(weight) is None else APART_UNCLIPPED
