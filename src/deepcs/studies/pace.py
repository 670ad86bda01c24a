"""How long runs will take, estimated from what they logged and from at_once.json."""

from __future__ import annotations

import functools
import json
import math
import statistics
from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from pathlib import Path

from deepcs.envs.roms import atari_game
from deepcs.runs.config import RunConfig
from deepcs.studies.experiment import StudyError
from deepcs.system.files import read_file

ENOUGH = 0.97  # of the best speed: fewer runs at a time need less memory


@dataclass(frozen=True)
class Measured:
    """How fast this machine trains."""

    world: str
    cores: int
    steps_per_second: dict[int, float]
    """of all runs together, by how many there are at a time"""

    @property
    def best(self) -> int:
        """The fewest runs at a time that come close to the fastest."""
        fastest = max(self.steps_per_second.values())
        return min(n for n, speed in self.steps_per_second.items() if speed >= ENOUGH * fastest)

    @property
    def one_run(self) -> float:
        """Steps per second of one run, with as many others as are best."""
        return self.steps_per_second[self.best] / self.best

    def __str__(self) -> str:
        speeds = ", ".join(f"{n}: {speed:,.0f}" for n, speed in self.steps_per_second.items())
        return f"{self.best} runs at a time ({self.world}, steps/s by number of runs: {speeds})"


def read_measured(cache: Path) -> Measured | None:
    """What was measured before; None: nothing."""
    try:
        saved = json.loads(read_file(cache))
        speeds = {int(n): float(speed) for n, speed in saved["steps_per_second"].items()}
        known = Measured(str(saved["world"]), int(saved["cores"]), speeds)
        if not speeds or not all(n >= 1 and 0 < speeds[n] < math.inf for n in speeds):
            raise ValueError("it has no speeds")
    except FileNotFoundError:
        return None
    except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise StudyError(
            f"{cache} is damaged ({error}); delete it, and it will be measured again."
        ) from error
    return known


@dataclass(frozen=True)
class Pace:
    """Steps per second of single runs."""

    seen: Sequence[tuple[RunConfig, float]] = ()
    """runs that have logged, and how fast they were"""
    measured: Measured | None = None

    def of(self, config: RunConfig) -> float:
        """Expected speed of a run: that of the most similar runs, else as measured; NaN: unknown.

        The most similar are those of the same world and agent, then of the same world, then of the
        same agent in other games, or in other worlds that are no games.
        """
        for key in self._keys(config):
            if key in self._medians:
                return self._medians[key]
        if self.measured is not None:
            return self.measured.one_run
        return self._medians.get((), math.nan)

    @functools.cached_property
    def _medians(self) -> dict[tuple[Hashable, ...], float]:
        """The median speed of the runs that share a key; of all runs: that of ()."""
        speeds: dict[tuple[Hashable, ...], list[float]] = {}
        for config, speed in self.seen:
            for key in (*self._keys(config), ()):
                speeds.setdefault(key, []).append(speed)
        return {key: statistics.median(each) for key, each in speeds.items()}

    def _keys(self, config: RunConfig) -> tuple[tuple[Hashable, ...], ...]:
        """What similar runs have in common with this one; the most similar first."""
        world, agent = config.world, config.agent
        if world not in self._are_games:  # a lookup among all games' names takes its time
            self._are_games[world] = atari_game(world) is not None
        return (world, agent), (world,), (agent, self._are_games[world])

    @functools.cached_property
    def _are_games(self) -> dict[str, bool]:
        """Of worlds: whether they are Atari games."""
        return {}

    def seconds(self, config: RunConfig, steps: int) -> float:
        """Expected time of that many steps of a run; NaN: unknown."""
        return steps / self.of(config)
