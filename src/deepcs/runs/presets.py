"""Presets: settings that belong together, each a named line. The defaults are the paper's."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from deepcs.envs.roms import atari_game
from deepcs.system.importing import is_path
from deepcs.system.spelling import the_nearest


@dataclass(frozen=True)
class Numbers:
    """Settings that were found together; all others have their defaults."""

    settings: Mapping[str, Any]
    """of the run, such as actors"""
    learner: Mapping[str, Any]
    """of the agent, such as n_steps"""


@dataclass(frozen=True)
class Preset:
    """A learner and the settings that were found to suit it."""

    name: str
    agent: str
    about: str
    worlds: Literal["games", "mazes"]
    """what it was found in; users' own environments may use it too"""
    numbers: Numbers
    own: Mapping[str, Numbers] = field(default_factory=dict)
    """instead, in some worlds"""
    max_frames: int | None = None
    """raw frames per Atari game, instead of the protocol's"""

    def numbers_in(self, world: Any) -> Numbers:
        """Those of a world; of one that is not named yet, or of a user's own, the usual ones.

        Also of a game of a user's own: what it is depends on whether it may be imported by now.
        """
        named = isinstance(world, str) and world and not is_path(world)
        game = atari_game(world) if named else None
        return self.numbers if game is None else self.own.get(game.name, self.numbers)


def of_game(actors: int, **learner: Any) -> Numbers:
    """Of an Atari game: what all of them share, and PPO's settings."""
    return Numbers({"actors": actors, "network": "narrow", "milestone_every": 500_000}, learner)


USUAL = {"minibatch": 64, "epochs": 4, "gamma_game": 0.99, "weight_intrinsic": 0.2}
"""found in Freeway and Seaquest, by single runs; untested in other games"""
MONTEZUMA = of_game(64, learning_rate=5e-4, entropy=0.003, value=0.1, imitation=4)
"""found in Montezuma's Revenge, by a study; untested in Venture"""

PRESETS = {
    preset.name: preset
    for preset in (
        Preset(
            "fast",
            "ppo",
            "PPO with a value for each reward, for runs of a few million steps",
            worlds="games",
            numbers=of_game(16, **USUAL, entropy=0.003),
            own={
                "Freeway": of_game(16, **USUAL, entropy="0.02:0.001", schedule="linear"),  # one run
                "MontezumaRevenge": MONTEZUMA,
                "Venture": MONTEZUMA,
            },
            max_frames=18_000,  # five minutes, as in Mnih et al. 2015
        ),
        Preset(
            "maze",
            "ppo",
            "the same for worlds of a few tiles, whose small network takes larger steps",
            worlds="mazes",
            numbers=Numbers(
                settings={"actors": 16, "milestone_every": 50_000},
                learner={"learning_rate": 1e-3, "schedule": "linear"},
            ),
        ),
    )
}


def check_preset(name: str, agent: str, kind: str | None) -> None:
    """Raise ValueError if there is no such preset, or it is not for that agent or kind of world.

    kind: games or mazes; None: neither.
    """
    chosen = preset(name)
    if chosen.agent != agent:
        raise ValueError(
            f"Got agent {agent!r} with preset {name!r}, which is one of {chosen.agent}; leave one "
            "of them out (in Python, RunConfig.from_preset sets what belongs to a preset)."
        )
    if kind not in (None, chosen.worlds):
        fitting = [each.name for each in PRESETS.values() if each.worlds == kind]
        raise ValueError(
            f"Got preset {name!r}, which is for {chosen.worlds}; for {kind} choose "
            f"{' or '.join(fitting)}."
        )


def check_preset_is_whole(name: str, learner: Any) -> None:
    """Raise ValueError where only the name of a preset was given, without its numbers."""
    if learner is None:
        raise ValueError(
            f"Got preset {name!r} without its settings; make it by RunConfig.from_preset({name!r}, "
            "world)."
        )


def preset(name: str) -> Preset:
    """The preset of that name."""
    if not isinstance(name, str):
        raise ValueError(f"Got preset {name!r}; choose one of {', '.join(PRESETS)}.")
    if name not in PRESETS:
        nearest = the_nearest(name, {each: each for each in PRESETS})
        raise ValueError(f"Got preset {name!r}; {nearest}choose one of {', '.join(PRESETS)}.")
    return PRESETS[name]
