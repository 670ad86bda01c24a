"""Evaluation protocols for Atari: the paper's, Baselines', and Machado et al.'s (2018)."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Protocol:
    """Everything about how a game is presented that changes scores."""

    name: str
    sticky: float
    """probability, per raw frame, that the emulator repeats the last action"""
    full_actions: bool
    """all 18 actions instead of those that the game uses"""
    noops: int
    """a game starts with 1 to this many no-op raw frames; 0: none"""
    fire: bool
    """a game starts with a step of FIRE, then one of action 2, in games that have FIRE"""
    max_frames: int
    """raw frames after which a game is truncated"""
    life_ends_return: bool
    """losing a life ends the learner's return"""
    bootstrap_cut: bool
    """a truncated game's return is bootstrapped from the value of its final observation"""
    restart_after_life: bool
    """a lost life is followed by a no-op step, then FIRE and action 2 as at a game's start;
    earlier frames are cleared, and points made in these steps count only for the score"""


PROTOCOLS = {
    "paper": Protocol("paper", 0.0, False, 30, True, 400_000, True, False, False),
    "baselines": Protocol("baselines", 0.0, False, 30, True, 400_000, True, False, True),
    "machado": Protocol("machado", 0.25, True, 0, False, 108_000, False, True, False),
}


def protocol(name: str) -> Protocol:
    """The protocol of that name."""
    if name not in PROTOCOLS:
        raise ValueError(f"Got protocol {name!r}; choose one of {', '.join(PROTOCOLS)}.")
    return PROTOCOLS[name]
