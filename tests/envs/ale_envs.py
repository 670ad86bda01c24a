"""Gymnasium's own Atari environments, as users have them."""

from __future__ import annotations

import ale_py  # noqa: F401  (makes the ALE environments known)
import gymnasium
from gymnasium.wrappers import AtariPreprocessing, FrameStackObservation


def ale(game, **settings):
    return gymnasium.make(f"ALE/{game}-v5", repeat_action_probability=0.0, **settings)


def frames(game="MontezumaRevenge", **settings):
    """Four grey frames: (4, 84, 84)."""
    return FrameStackObservation(AtariPreprocessing(ale(game, frameskip=1), **settings), 4)
