"""Which groups may be compared: by their settings, and by what their intrinsic reward counts.

The intrinsic reward is recorded under every treatment, whether or not it is paid, but each records
its own: tiles that are new in this game, or sums of 1/√N, or errors of a network. A test between
two of these would compare units.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

from deepcs.analysis.groups import Group
from deepcs.curiosity.games import find_game
from deepcs.curiosity.novelty import Novelty
from deepcs.runs.config import RunConfig

ROUNDED = 0.01  # share of the steps by which learners' whole updates may differ
SAME = ("protocol", "actors", "weight", "tile", "grid", "compass", "graded", "max_frames")
"""settings that groups must share to be compared, beside the network; the others change no more
than rounding"""
UNITS = {
    "position": "tiles",
    "pixels": "cells of the small picture",
    "hash": "cells of the learned code",
}
NEW = {
    "game": "new in this game",
    "life": "new in this life",
    "never": "new to their actor in all of training",
}
ACROSS = {
    "counts": "1/√N of all visits in training",
    "pseudo-counts": "1/√N of the picture's pseudo-counts in training",
    "rnd": "errors of RND's network",
}


def comparable(ours: Group, theirs: Group) -> bool:
    """Whether two groups differ in no relevant setting but treatment and learner."""
    return not unlike(ours, theirs)


def unlike(ours: Group, theirs: Group) -> tuple[str, ...]:
    """The settings for which two groups cannot be compared."""
    one, other = ours.config, theirs.config
    found = [name for name in SAME if getattr(one, name) != getattr(other, name)]
    if _network(one) != _network(other):
        found.append("network")
    if abs(one.steps - other.steps) > ROUNDED * one.steps:
        found.append("steps")
    if one.agent == other.agent and one.learner != other.learner:
        found.append("learner")
    return tuple(found)


def unlike_words(pairs: Sequence[tuple[Group, Group]]) -> str:
    """Which pairs are not tested, and why; empty where all can be compared."""
    told: dict[tuple[str, ...], list[str]] = {}
    for ours, theirs in pairs:
        if settings := unlike(ours, theirs):
            told.setdefault(settings, []).append(f"{ours.label} against {theirs.label}")
    parts = [f"{' and '.join(who)} ({', '.join(what)})" for what, who in told.items()]
    return f"Other settings differ too, so not tested: {'; '.join(parts)}." if parts else ""


def _network(config: RunConfig) -> str:
    """The network, where joint is fast: a grid beside other arrays needs it, as auto knows."""
    return "fast" if config.network == "joint" else config.network


def same_units(ours: Group, theirs: Group) -> bool:
    """Whether the intrinsic rewards that two groups record can be compared.

    They can where both are made of the same parts with the same numbers. When tiles become new
    again may differ: they count 1 each in this game, in this life or once for all, which is what
    the paper's controls `never-reset` and `life-reset` are about.
    """
    return _units(ours.config) == _units(theirs.config)


def _units(config: RunConfig) -> tuple[Novelty, bool, int | None]:
    full = config.full_novelty
    tile = None
    if full.place == "position" and full.counts_places:
        game = find_game(config.world)
        tile = config.tile or (game.tile if game else 1)
    # A half-life, which fading alone has, stays: a visit then pays by its age, not 1.
    return dataclasses.replace(full, lifetime=None), config.graded, tile


def recorded(config: RunConfig) -> str:
    """What a run's intrinsic reward counts, in words: tiles new in this game."""
    full = config.full_novelty
    across = ACROSS.get(str(full.across), "")
    if full.combine == "across":
        return across
    units = UNITS[str(full.place)]
    if full.lifetime == "fading":
        life = f"{units} by how long ago they were entered"
    else:
        life = f"{units} {NEW[str(full.lifetime)]}"
    life = f"1/√n of entries to {life}" if config.graded else life
    return f"{life} {'×' if full.combine == 'product' else '+'} {across}" if across else life


def recorded_words(groups: Sequence[Group]) -> str:
    """Who records what, where not all record the same: tiles new in this game (A2C; DeepCS), ..."""
    told: dict[str, list[str]] = {}
    for group in groups:
        told.setdefault(recorded(group.config), []).append(group.label)
    parts = [f"{what} ({'; '.join(dict.fromkeys(labels))})" for what, labels in told.items()]
    return ", ".join(parts) if len(parts) > 1 else ""
