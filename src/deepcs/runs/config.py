"""Every setting of a run, as one frozen dataclass that is saved with it."""

from __future__ import annotations

import dataclasses
import math
import platform
from dataclasses import dataclass, field
from importlib.metadata import version
from typing import Any, Literal

import torch

from deepcs.agents.a2c import A2CSettings
from deepcs.agents.acktr import ACKTRSettings
from deepcs.curiosity.games import find_game
from deepcs.curiosity.grid import check_tile
from deepcs.curiosity.reward import Weight, check_weight
from deepcs.envs.make import world_name
from deepcs.envs.mazes import MAZES
from deepcs.envs.protocol import Protocol, protocol
from deepcs.runs.counts import Count, World
from deepcs.runs.treatment import Treatment, treatment
from deepcs.system.process import cores

FORMAT = 1  # of the run folder; another number is refused
LIBRARIES = ("deepcs", "torch", "numpy", "ale-py", "gymnasium", "opencv-python-headless")
PAPER_STEPS = 160_000_000
LARGEST = 3e38  # what float32 holds
LARGEST_SEED = 2**63 - 1  # what every generator takes
AGENTS = ("a2c", "acktr")
# Of a learner's numbers: the whole ones, and those from 0 to below 1.
WHOLE = ("steps", "cold_updates", "statistics_every", "refresh_every", "refresh_large_every")
SHARES = ("momentum", "decay", "tolerance")
LEAST = {"damping": 1e-9, "kl_clip": 1e-12}  # less would make steps of any length, or none
TEN_MINUTES = {"atari": 500_000, "maze": 10_000_000}  # steps, at what two cores reach


@dataclass(frozen=True)
class RunConfig:
    """Settings of one training run; all that can change a byte of its result."""

    world: World
    """a game, a maze, or module:NAME of a game or module:factory of an environment of your own"""
    treatment: str = "deepcs"
    """deepcs, a2c, no-grid, no-intrinsic, never-reset or life-reset"""
    protocol: str = "paper"
    """paper or machado"""
    steps: Count = PAPER_STEPS
    """agent steps over all actors (4 raw frames each), rounded up to whole updates"""
    seed: int = 0
    """of everything random in the run"""
    actors: int = 16
    """games played side by side (paper)"""
    weight: Weight | None = None
    """β, the game reward's share, or equal; None: the game's own (paper)"""
    tile: int | None = None
    """tile size in raw units; None: the game's own (paper)"""
    grid: Literal["plane", "stacked"] = "plane"
    """how a treatment that sees the grid sees it: one plane, or the last four"""
    graded: bool = False
    """intrinsic reward of 1/√n at a tile's n-th entry, instead of 1 at the first"""
    max_frames: int | None = None
    """raw frames per game; None: the protocol's"""
    agent: Literal["a2c", "acktr"] = "a2c"
    """the learner: a2c, or acktr, its natural gradient (paper, S3)"""
    a2c: A2CSettings = field(default_factory=A2CSettings)
    """A2C's numbers"""
    acktr: ACKTRSettings = field(default_factory=ACKTRSettings)
    """ACKTR's numbers; for the thrifty ones set statistics_every 8 and refresh_large_every 100"""
    shards: int = 0
    """parts of the batch whose gradients are computed apart, then added; 0: chosen, one per core"""
    threads: int = 1
    """torch threads per process"""
    device: str = "auto"
    """cpu, cuda, or auto: cuda if there is one"""
    log_every: Count = 8_000
    """steps between rows of curve.csv (100 updates of A2C, as in Baselines)"""
    checkpoint_every: Count = 0
    """steps between checkpoints; 0: about ten minutes' worth"""
    milestone_every: Count = 10_000_000
    """a checkpoint is kept for good whenever this many steps have passed"""

    def resolved(self) -> RunConfig:
        """With every choice made and checked; raises ValueError in one sentence."""
        positive = ("steps", "actors", "threads", "log_every", "milestone_every")
        for name in positive:
            if not _whole(getattr(self, name), 1):
                raise ValueError(
                    f"Got {name} {getattr(self, name)}; give a whole number from 1 up."
                )
        for name in ("shards", "checkpoint_every", "seed"):
            if not _whole(getattr(self, name), 0):
                raise ValueError(
                    f"Got {name} {getattr(self, name)}; give a whole number from 0 up."
                )
        if self.seed > LARGEST_SEED:
            raise ValueError(f"Got seed {self.seed}; give a whole number below 2^63.")
        if self.grid not in ("plane", "stacked"):
            raise ValueError(f"Got grid {self.grid!r}; choose plane or stacked.")
        if self.agent not in AGENTS:
            raise ValueError(f"Got agent {self.agent!r}; choose one of {', '.join(AGENTS)}.")
        _check_numbers("a2c", self.a2c)
        _check_numbers("acktr", self.acktr)
        if self.max_frames is not None and not _whole(self.max_frames, 1):
            raise ValueError(
                f"Got max_frames {self.max_frames}; give a whole number from 1 up, or none."
            )
        treatment(self.treatment)
        protocol(self.protocol)
        world = world_name(self.world)
        if self.tile is not None:
            check_tile(self.tile)
        device = self._device()
        shards = self.shards or (min(cores(), self.actors) if find_game(world) else 1)
        if device != "cpu":
            shards = 1
        kind = "maze" if world in MAZES else "atari"
        known = find_game(world)
        weight = self.weight
        if weight is None:
            weight = known.weight if known is not None else "equal"
        return dataclasses.replace(
            self,
            world=world,
            steps=self.whole_updates(self.steps),
            weight=check_weight(weight),
            shards=min(shards, self.actors),
            device=device,
            log_every=self.whole_updates(self.log_every),
            checkpoint_every=self.whole_updates(self.checkpoint_every or TEN_MINUTES[kind]),
        )

    def _device(self) -> str:
        if self.device == "auto":
            return "cuda" if torch.cuda.is_available() else "cpu"
        if self.device not in ("cpu", "cuda"):
            raise ValueError(f"Got device {self.device!r}; choose auto, cpu or cuda.")
        if self.device == "cuda" and not torch.cuda.is_available():
            raise ValueError("Got device 'cuda', but torch finds none here; choose auto or cpu.")
        return self.device

    @property
    def update_steps(self) -> int:
        """Steps of one update, over all actors."""
        return self.actors * self.learner.steps

    @property
    def learner(self) -> A2CSettings | ACKTRSettings:
        """The numbers of the agent that learns."""
        return self.acktr if self.agent == "acktr" else self.a2c

    def whole_updates(self, steps: int) -> int:
        """Steps rounded up to whole updates."""
        return -(-steps // self.update_steps) * self.update_steps

    @property
    def treatment_settings(self) -> Treatment:
        return treatment(self.treatment)

    @property
    def protocol_settings(self) -> Protocol:
        return protocol(self.protocol)

    @property
    def name(self) -> str:
        """A folder name for this run."""
        agent = "" if self.agent == "a2c" else f"-{self.agent}"
        world = self.world.replace(":", "-")
        return f"{world}{agent}-{self.treatment}-{self.protocol}-seed{self.seed}"

    def actor_settings(self) -> dict[str, Any]:
        """What make_vec needs to make this run's actors."""
        return {
            "protocol": self.protocol,
            "grid": self.grid if self.treatment_settings.sees_grid else "none",
            "lifetime": self.treatment_settings.lifetime,
            "tile": self.tile,
            "graded": self.graded,
            "max_frames": self.max_frames,
        }


def _check_numbers(agent: str, settings: A2CSettings | ACKTRSettings) -> None:
    for name, number in vars(settings).items():
        given = f"Got {agent}.{name} {number}"
        if name == "schedule":
            if number not in ("linear", "constant"):
                raise ValueError(f"Got {agent}.schedule {number!r}; choose linear or constant.")
        elif name in WHOLE:
            if not _whole(number, 1):
                raise ValueError(f"{given}; give a whole number from 1 up.")
        elif name in SHARES:
            if not 0 <= number < 1:
                raise ValueError(f"{given}; give a number from 0 to below 1.")
        elif name in LEAST:
            if not LEAST[name] <= number <= LARGEST:
                raise ValueError(f"{given}; give a finite number from {LEAST[name]:g} up.")
        elif name == "gamma":
            if not 0 <= number <= 1:
                raise ValueError(f"{given}; give a number from 0 to 1.")
        elif not 0 <= number <= (math.inf if name.endswith("max_gradient_norm") else LARGEST):
            raise ValueError(f"{given}; give a finite number from 0 up.")


def _whole(number: object, least: int) -> bool:
    return isinstance(number, int) and number >= least


def to_json(config: RunConfig) -> dict[str, Any]:
    """The settings as JSON values."""
    return dataclasses.asdict(config)


def from_json(saved: dict[str, Any]) -> RunConfig:
    """The settings that `to_json` wrote."""
    numbers = {
        "a2c": A2CSettings(**saved["a2c"]),
        "acktr": ACKTRSettings(**saved.get("acktr", {})),
    }
    return RunConfig(**{**saved, **numbers})


def versions() -> dict[str, str]:
    """What the run's bytes depend on beside its settings."""
    return {
        **{name: version(name) for name in LIBRARIES},
        "python": platform.python_version(),
        "machine": platform.machine(),
    }
