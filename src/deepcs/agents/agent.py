"""What a learner is. Read this file first.

A run plays N actors side by side and learns from all of them. The actors are divided among
*shards*; each shard has some of the actors, a network, and one `Agent` object. Shards run in
lockstep, in as many processes as there are cores. The network's weights, and whatever else the
learner names, are in memory that all shards share. Results never depend on how many processes
there are, only on the number of shards.

Everything else (the loop, processes, checkpoints, logs, evaluation, resuming) knows only this
interface. To add a learner, derive from `Agent`:

    @dataclass(frozen=True)
    class MySettings:
        n_steps: int = 5
        learning_rate: float = 1e-3
        schedule: Literal["linear", "constant"] = "constant"

    class MyAgent(Agent):
        name = "mine"
        Settings = MySettings
        columns = ("loss", "gradient_norm")

        def update(self, rollout, moment):
            ...                                              # write this shard's gradient
            squared, _ = yield from self.add_up_gradients()  # an all-reduce
            ...                                              # update this shard's slice of weights
            return {"loss": ..., "gradient_norm": squared**0.5}

and train with it: `deepcs train KeyHallway --agent my_module:MyAgent --mine.learning-rate 1e-4`.
"""

from __future__ import annotations

from collections.abc import Generator, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Protocol

import numpy as np
import torch
from torch import Tensor

from deepcs.agents.networks import ActorCritic, NetworkPlan
from deepcs.agents.noise import ActionNoise
from deepcs.agents.rollout import Rollout

Exchange = Generator[Any, Any, dict[str, float]]
"""An update under way. What it yields is this shard's part; what it is sent is the sum of all
shards' parts, added in the order of the shards, so that it is bit-identical in all shards:
numbers, NumPy arrays, Counters. A bare `yield` is a barrier. It returns a number for each column
that it logs, the same in every shard."""


class AgentSettings(Protocol):
    """Fields of every learner's settings, a frozen dataclass; others are the learner's own.

    If they have a method check(), it is called before anything is trained, and raises ValueError
    in one sentence for invalid numbers. If they have a method resolved(), it returns them with all
    defaults resolved, as they are saved. If they have `values` and it is "two", R and I
    are not mixed: rewards are (T, N, 2), and the network has a value for each.
    """

    @property
    def n_steps(self) -> int:
        """steps of each actor between two updates"""

    @property
    def learning_rate(self) -> float:
        """at the start"""

    @property
    def schedule(self) -> str:
        """the learning rate over the run: linear to 0, or constant"""


@dataclass(frozen=True)
class Vector:
    """A flat float32 vector that all shards share."""

    size: int
    start: float = 0.0
    """what it is filled with in a new run"""
    saved: bool = True
    """part of checkpoints; False: needed within an update only"""


@dataclass(frozen=True)
class Moment:
    """When an update takes place."""

    update: int
    """number of the update, from 0 up"""
    learning_rate: float
    logged: bool
    """a row of curve.csv ends with it: columns that cost time may be left out elsewhere"""
    progress: float = 0.0
    """share of the run's steps that are done, from 0 to 1: schedules depend on it"""


@dataclass(frozen=True)
class Shard:
    """Where an agent lives: one of the parts into which the actors are divided."""

    index: int
    shards: int
    """how many there are"""
    actors: range
    """this shard's, out of all"""
    all_actors: int
    seed: int
    """of the run"""
    network: ActorCritic
    """of this shard, on the weights of all"""
    gradients: list[Tensor]
    """one flat vector per shard, beside the parameters; the network writes its shard's"""
    vectors: Mapping[str, Tensor]
    """those that the agent named"""
    part: slice
    """of the parameters and of all vectors beside them: the slice that this shard updates"""

    def batch(self, n_steps: int) -> int:
        """Samples in one rollout of all shards."""
        return n_steps * self.all_actors


class Agent:
    """One shard's part of a learner; A2C (a2c.py) is the one to read next."""

    name: ClassVar[str]
    """in messages and before its settings: --a2c.gamma"""
    Settings: ClassVar[type]
    """the dataclass of its settings; see AgentSettings"""
    columns: ClassVar[tuple[str, ...]]
    """of curve.csv, each the mean over the updates since the last row"""
    takes_half_precision: ClassVar[bool] = True
    """it can learn from a gradient whose products are rounded to bfloat16"""

    @classmethod
    def check_division(cls, settings: Any, actors: int, shards: int) -> None:
        """Raise ValueError, in one sentence, if the actors cannot be divided into these shards."""

    @classmethod
    def kept_samples(cls, settings: Any, actors: int, shards: int) -> tuple[int, int]:
        """What a shard's network keeps for `backward`: (envs, steps) of its `forward`.

        A whole rollout of this shard's actors, unless the agent calls `forward` on other samples.
        """
        return actors, settings.n_steps

    @classmethod
    def vectors(cls, settings: Any, network: NetworkPlan, shards: int) -> dict[str, Vector]:
        """What the shards share beside weights and gradients: optimizer state and the like.

        Raises ValueError in one sentence for a network that this agent cannot train.
        """
        return {}

    def __init__(self, settings: Any, shard: Shard) -> None:
        self.settings = settings
        self.shard = shard
        self.network = shard.network
        self.policy = shard.network.policy
        """how actions follow from the network's outputs"""
        self._noise = ActionNoise(shard.seed, self.policy.noise_shape)

    def act(self, moment: Moment, t: int, observations: Any) -> np.ndarray:
        """Actions (N, …) for step t of the rollout, given this shard's observations.

        Drawn from the policy by noise that depends on seed, step and actor and on nothing else.
        """
        outputs, _ = self.network.forward(t, observations)
        return self.draw(outputs, moment, t)

    def draw(self, outputs: Tensor, moment: Moment, t: int) -> np.ndarray:
        """Actions (N, …) for step t of the rollout, given the network's outputs."""
        step = moment.update * self.settings.n_steps + t
        return self.policy.sample(outputs, self._noise(step, self.actors))

    def remembered(self) -> dict[str, np.ndarray]:
        """What this shard's agent carries to its next update beside the vectors; saved."""
        return {}

    def recall(self, arrays: dict[str, np.ndarray], *, games_go_on: bool) -> None:
        """Carry what `remembered` gave. games_go_on: the actors are where they were then; else
        they begin new games.
        """

    def update(self, rollout: Rollout, moment: Moment) -> Exchange:
        """Learn from this shard's part of a rollout, in step with the other shards."""
        raise NotImplementedError

    @property
    def actors(self) -> range:
        return self.shard.actors

    def add_up_gradients(self, part: Any = None) -> Generator[Any, Any, tuple[float, Any]]:
        """Add up all shards' gradients into the first, each shard its slice of it.

        Returns the whole gradient's squared norm, and the sum of all shards' `part`s, which costs
        nothing more: all must wait anyway until every shard has written its gradient.
        """
        total = yield part
        first, *others = (gradient[self.shard.part] for gradient in self.shard.gradients)
        for gradient in others:
            first += gradient
        squared: float = yield float(torch.dot(first, first))
        return squared, total

    @property
    def gradient(self) -> Tensor:
        """The whole batch's gradient, once it is added up."""
        return self.shard.gradients[0]
