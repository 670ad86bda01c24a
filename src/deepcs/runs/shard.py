"""Shards: some of the actors, a copy of the network, and their part of the batch's gradient.

A shard plays its actors through a rollout and turns it into a gradient. Weights lie once in
memory that all processes share; when every shard has its gradient, each adds up all gradients for
its own slice of the weights and updates that slice. What is computed where never depends on how
many processes there are, so neither do the results.
"""

from __future__ import annotations

import mmap
from collections import Counter
from dataclasses import dataclass

import gymnasium
import numpy as np
import torch
from torch import Tensor
from torch.utils import deterministic

from deepcs.agents.a2c import LossReport, loss_gradients, returns
from deepcs.agents.acktr import ACKTR, FisherNoise, curvature_numbers
from deepcs.agents.network import Network, layers_of, parameter_count
from deepcs.agents.noise import ActionNoise, sample
from deepcs.agents.rmsprop import RMSProp
from deepcs.curiosity.grid import Tile
from deepcs.curiosity.reward import mix_rewards
from deepcs.envs.make import make_actor, make_vec
from deepcs.envs.seats import GameRecord
from deepcs.runs.config import RunConfig
from deepcs.system.snapshot import Snapshot

ALIGNMENT = 16  # numbers: vectors begin at multiples of 64 bytes


@dataclass(frozen=True)
class World:
    """The shapes that the network must fit."""

    observation_shape: tuple[int, ...]
    actions: int

    @property
    def parameters(self) -> int:
        return parameter_count(self.observation_shape, self.actions)

    def curvature(self, config: RunConfig) -> int:
        """Numbers of curvature that the run's learner keeps."""
        if config.agent == "a2c":
            return 0
        return curvature_numbers(layers_of(self.observation_shape, self.actions), config.shards)


def look_at_world(config: RunConfig) -> World:
    """Make one actor, see what it shows and takes, and let it go."""
    env = make_actor(config.world, **config.actor_settings())
    space, actions = env.observation_space, env.action_space
    env.close()
    if not isinstance(space, gymnasium.spaces.Box) or not isinstance(
        actions, gymnasium.spaces.Discrete
    ):
        raise ValueError(
            f"{config.world} observes {space} and takes {actions}; training needs a Box of "
            "observations and Discrete actions."
        )
    return World(space.shape, int(actions.n))


class Vectors:
    """Flat vectors that all shards share: weights, the optimizer's state, gradients, curvature."""

    def __init__(self, config: RunConfig, world: World, memory: mmap.mmap | None) -> None:
        """`memory`: shared by processes, of `size_in_bytes`; None: this process's own."""
        count, rows = world.parameters, vector_rows(config)
        if memory is None:
            numbers = torch.zeros(size_in_bytes(config, world) // 4, device=config.device)
        else:
            numbers = torch.from_numpy(np.frombuffer(memory, np.float32))
        padded = padded_count(count)
        vectors = [row[:count] for row in numbers[: rows * padded].view(rows, padded)]
        self.parameters, self.optimizer = vectors[:2]
        """`optimizer`: RMSProp's mean squares, or ACKTR's momentum."""
        self.gradients = vectors[2 : 2 + config.shards]
        self.spare = vectors[2 + config.shards :]
        """ACKTR's room for the halves of the natural gradient."""
        self.curvature = numbers[rows * padded : rows * padded + world.curvature(config)]


def vector_rows(config: RunConfig) -> int:
    return 2 + config.shards + (2 if config.agent == "acktr" else 0)


def padded_count(count: int) -> int:
    return -(-count // ALIGNMENT) * ALIGNMENT


def size_in_bytes(config: RunConfig, world: World) -> int:
    """Memory that Vectors take."""
    vectors = vector_rows(config) * padded_count(world.parameters)
    return 4 * (vectors + padded_count(world.curvature(config)))


def edges(total: int, parts: int, multiple: int = 1) -> list[range]:
    """Cut range(total) into parts of about equal length, at multiples of a number."""
    cuts = [round(total * k / parts / multiple) * multiple for k in range(parts)] + [total]
    return [range(cuts[k], cuts[k + 1]) for k in range(parts)]


@dataclass(frozen=True)
class FinishedGame:
    """A game that ended in a rollout."""

    t: int
    """step of the rollout in which it ended"""
    actor: int
    record: GameRecord


@dataclass(frozen=True)
class ShardReport:
    """What a shard says of its rollout."""

    loss: LossReport
    games: list[FinishedGame]


class Shard:
    """One shard: its actors, its network, its slice of the weights."""

    def __init__(
        self, config: RunConfig, world: World, index: int, vectors: Vectors, pool_workers: int
    ) -> None:
        """`pool_workers`: processes that emulate for this shard; 0: it does so itself."""
        self.config = config
        self.actors = edges(config.actors, config.shards)[index]
        part = edges(world.parameters, config.shards, ALIGNMENT)[index]
        self._part = slice(part.start, part.stop)
        self._vectors = vectors
        self.pool = make_vec(
            config.world,
            num_envs=len(self.actors),
            seed=config.seed,
            workers=pool_workers,
            first_actor=self.actors.start,
            copy=False,
            **config.actor_settings(),
        )
        steps, envs = config.learner.steps, len(self.actors)
        self.network = Network(
            world.observation_shape,
            world.actions,
            envs=envs,
            steps=steps,
            parameters=vectors.parameters,
            gradient=vectors.gradients[index],
            device=config.device,
        )
        self._rmsprop = RMSProp(
            vectors.parameters,
            decay=config.a2c.rmsprop_decay,
            epsilon=config.a2c.rmsprop_epsilon,
            mean_square=vectors.optimizer,
        )
        self.acktr: ACKTR | None = None
        if config.agent == "acktr":
            self.acktr = ACKTR(
                config.acktr,
                self.network,
                index=index,
                shards=config.shards,
                gradient=vectors.gradients[0],
                momentum=vectors.optimizer,
                rotated=vectors.spare[0],
                natural=vectors.spare[1],
                curvature=vectors.curvature,
            )
            self._fisher_noise = FisherNoise(config.seed, steps, config.actors)
        self._noise = ActionNoise(config.seed)
        self._actions = np.zeros((steps, envs), np.int64)
        self._game_rewards = np.zeros((steps, envs))
        self._intrinsic = np.zeros((steps, envs))
        self._ends = np.zeros((steps, envs), np.bool_)
        self._see(self.pool.reset()[0])

    def rollout(self, update: int) -> ShardReport:
        """Play T steps with the current weights; leaves the gradient of the batch's loss."""
        config, network = self.config, self.network
        steps = config.learner.steps
        life_ends_return = config.protocol_settings.life_ends_return
        games: list[FinishedGame] = []
        final_values: np.ndarray | None = None
        for t in range(steps):
            logits, _ = network.forward(t, self._seen())
            actions = sample(logits, self._noise(update * steps + t, self.actors))
            self._actions[t] = actions
            _, rewards, terminated, truncated, infos = self.pool.step(actions)
            self._game_rewards[t], self._intrinsic[t] = rewards, infos["intrinsic"]
            np.logical_or(terminated, truncated, out=self._ends[t])
            if life_ends_return:
                self._ends[t] |= infos["life_lost"]
            for seat in np.flatnonzero(infos["_game"]) if "game" in infos else ():
                record = infos["game"][seat]
                games.append(FinishedGame(t, self.actors[int(seat)], record))
                if truncated[seat] and config.protocol_settings.bootstrap_cut:
                    if final_values is None:
                        final_values = np.zeros((steps, len(self.actors)), np.float32)
                    final_values[t, seat] = self._value(infos["final_obs"][seat])
        loss = self._learn(final_values)
        if self.acktr is not None and config.acktr.takes_statistics(update):
            noise = torch.from_numpy(self._fisher_noise(update, self.actors).flatten())
            self.acktr.observe(update, self._taken(), noise.to(config.device), config.update_steps)
        return ShardReport(loss, games)

    def _learn(self, final_values: np.ndarray | None) -> LossReport:
        config, network = self.config, self.network
        device = config.device
        rewards = mix_rewards(
            self._game_rewards,
            self._intrinsic,
            config.weight if config.weight is not None else "equal",
            paid=config.treatment_settings.paid,
        )
        targets = returns(
            torch.from_numpy(rewards.astype(np.float32)).to(device),
            torch.from_numpy(self._ends).to(device),
            network.evaluate(self._seen())[1],
            config.learner.gamma,
            None if final_values is None else torch.from_numpy(final_values).to(device),
        )
        d_logits, d_values, report = loss_gradients(
            network.logits,
            network.values,
            self._taken(),
            targets.flatten(),
            config.learner,
            config.update_steps,
        )
        network.backward(d_logits, d_values)
        return report

    def _see(self, observations: np.ndarray) -> None:
        """Look at this array, which every step of the pool overwrites."""
        self._observations = torch.from_numpy(observations)

    def _seen(self) -> Tensor:
        return self._observations.to(self.config.device)

    def _taken(self) -> Tensor:
        """The rollout's actions, (T·N,)."""
        return torch.from_numpy(self._actions).flatten().to(self.config.device)

    def _value(self, observation: np.ndarray) -> float:
        """V of a single observation, in a batch of this shard's usual size."""
        batch = np.repeat(observation[None], len(self.actors), 0)
        return float(self.network.evaluate(torch.from_numpy(batch).to(self.config.device))[1][0])

    def add_up(self) -> float:
        """Add up all shards' gradients in this shard's slice; returns its squared norm."""
        first, *others = (gradient[self._part] for gradient in self._vectors.gradients)
        for gradient in others:
            first += gradient
        return float(torch.dot(first, first))

    def apply(self, update: int, learning_rate: float, scale: float) -> None:
        """Update this shard's slice of the weights with scale times the whole gradient."""
        if self.acktr is not None:
            self.acktr.apply(update, learning_rate, scale, self._part)
        else:
            self._rmsprop.step(self._vectors.gradients[0], learning_rate, scale, self._part)

    def snapshot(self) -> list[Snapshot]:
        seats: list[Snapshot] = self.pool.snapshot()["seats"]
        return seats

    def restore(self, actors: list[Snapshot]) -> None:
        """Thaw this shard's actors out of the snapshots of all."""
        seats = actors[self.actors.start : self.actors.stop]
        self._see(self.pool.restore({"kind": "pool", "seats": seats}))


class ShardGroup:
    """The shards that live in one process; its verbs do all of them in turn."""

    def __init__(
        self,
        memory: mmap.mmap | None,
        config: RunConfig,
        world: World,
        indices: range,
        pool_workers: int,
    ) -> None:
        torch.set_num_threads(config.threads)
        torch.use_deterministic_algorithms(True)
        deterministic.fill_uninitialized_memory = False  # type: ignore[attr-defined]  # none is read
        torch.set_flush_denormal(True)  # mean squares of dead weights decay into slow numbers
        self.vectors = Vectors(config, world, memory)
        self.shards = [Shard(config, world, i, self.vectors, pool_workers) for i in indices]
        self._acktr = [shard.acktr for shard in self.shards if shard.acktr is not None]

    def rollout(self, update: int) -> list[ShardReport]:
        return [shard.rollout(update) for shard in self.shards]

    def add_up(self) -> list[float]:
        return [shard.add_up() for shard in self.shards]

    def refresh(self, update: int) -> None:
        for acktr in self._acktr:
            acktr.refresh(update)

    def rotate(self) -> None:
        for acktr in self._acktr:
            acktr.rotate()

    def rotate_back(self) -> list[float]:
        return [acktr.rotate_back() for acktr in self._acktr]

    def apply(self, update: int, learning_rate: float, scale: float) -> None:
        for shard in self.shards:
            shard.apply(update, learning_rate, scale)

    def snapshot(self) -> list[Snapshot]:
        return [seat for shard in self.shards for seat in shard.snapshot()]

    def restore(self, actors: list[Snapshot]) -> None:
        for shard in self.shards:
            shard.restore(actors)

    def take_visits(self) -> Counter[Tile]:
        return sum((shard.pool.take_visits() for shard in self.shards), Counter())

    def freezable(self) -> bool:
        return all(shard.pool.freezable for shard in self.shards)

    def close(self) -> None:
        for shard in self.shards:
            shard.pool.close()
        torch.set_flush_denormal(False)  # it holds for all arithmetic of the process
