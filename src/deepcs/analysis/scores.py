"""One number per run: its score at the end, whether it left the first room, its position on the
human scale."""

from __future__ import annotations

import math
from collections.abc import Iterable

import numpy as np

from deepcs.analysis.published import TABLE, published
from deepcs.envs.mazes import MAZES

FINAL_WINDOW = 0.02  # the last part of a run that its final score is the mean of
LOSING = ("Pitfall", "PrivateEye")  # of the paper's games, those that take points away
FIRST_ROOM = 400  # points that leaving Montezuma's first room takes (supplement, section S4)


def final_score(steps: np.ndarray, scores: np.ndarray, window: float = FINAL_WINDOW) -> float:
    """A run's score at the end of training, from its curve: steps and scores (rows,).

    The paper reports the end of its training curves and names no window. One point of a curve
    is as noisy as 16 games; so this is the mean over the last `window` of the steps, and with a
    window of 0 the last point alone. NaN while no game is over.
    """
    if steps.shape != scores.shape or steps.ndim != 1:
        raise ValueError(
            f"Got steps {steps.shape} and scores {scores.shape}; give two arrays of one length."
        )
    if not 0 <= window <= 1:
        raise ValueError(f"Got window {window}; give a share of the steps from 0 to 1.")
    if not len(steps):
        return float("nan")
    last = scores[steps >= steps[-1] * (1 - window)]
    known = last[~np.isnan(last)]
    return float(known.mean()) if len(known) else float("nan")


def possible_scores(world: str) -> tuple[float, float]:
    """Between what a game's score lies, as far as it is known."""
    if world in MAZES:
        return 0.0, 1.0
    no_losses = published(world) is not None and world not in LOSING
    return (0.0 if no_losses else -math.inf), math.inf


def reached(scores: Iterable[np.ndarray], threshold: float = FIRST_ROOM) -> np.ndarray:
    """Which runs ever scored `threshold` points, bool (runs,), from an array (rows,) a run.

    Section S4 of the paper's supplement removes the others: runs that score less "over all of
    training". Its data are the training curves; given the scores of single games, one good game
    of one actor suffices.
    """
    return np.array([bool(np.any(run >= threshold)) for run in scores], bool)


def human_normalised(scores: np.ndarray, game: str) -> np.ndarray:
    """Scores of a published game, any shape, where random play is 0 and the human 1."""
    anchors = published(game)
    if anchors is None:
        raise ValueError(
            f"Got game {game!r}, of which no human score is published here; give one of "
            f"{', '.join(row.game for row in TABLE)}."
        )
    scaled: np.ndarray = (scores - anchors.random) / (anchors.human - anchors.random)
    return scaled
