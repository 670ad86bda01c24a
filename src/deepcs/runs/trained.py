"""A trained agent, to play with from Python."""

from __future__ import annotations

import dataclasses
import warnings
from collections.abc import Callable, Collection
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor

from deepcs.agents.hashing import code_in
from deepcs.agents.networks import as_tensors, plan_network
from deepcs.agents.policy import DiscretePolicy, Policy
from deepcs.envs.make import make_vec, spaces_of
from deepcs.envs.pool import ActorPool
from deepcs.envs.seats import Env
from deepcs.runs.checkpoint import (
    Checkpoint,
    CheckpointError,
    checkpoint_steps,
    load_checkpoint,
    newest_checkpoint,
)
from deepcs.runs.config import RunConfig
from deepcs.runs.folder import RunFolder, check_settings
from deepcs.runs.observing import as_batch
from deepcs.runs.shipped import PREFIX, find_shipped, read_weights
from deepcs.runs.trust import changed_code, check_code


@dataclass(frozen=True)
class Thoughts:
    """An agent's outputs for observations."""

    logits: Tensor
    """(N, actions); of other actions than Discrete what deepcs.agents.policy says"""
    values: Tensor
    """(N,), or (N, heads) of a network with several"""
    policy: Policy
    """what the logits mean"""

    @property
    def probabilities(self) -> np.ndarray:
        """Of each action: (N, actions); only where actions are Discrete."""
        if not isinstance(self.policy, DiscretePolicy):
            raise ValueError(
                "Got actions that are not Discrete, which have no list of probabilities; ask "
                "consider(observations) for its logits, which deepcs.agents.policy explains."
            )
        found: np.ndarray = torch.softmax(self.logits, 1).numpy()
        return found

    def act(self, uniforms: np.ndarray | None = None) -> np.ndarray:
        """Actions (N, …) as environments take them: drawn with these numbers in [0, 1),
        (N, *policy.noise_shape), or the likeliest without; of Box actions, the mean.
        """
        policy, logits = self.policy, self.logits
        chosen = policy.greedy(logits) if uniforms is None else policy.sample(logits, uniforms)
        return policy.sent(chosen)


class TrainedAgent:
    """A policy to call. One with memory remembers the games that it plays: see `forget`."""

    def __init__(
        self,
        config: RunConfig,
        step: int,
        weights: dict[str, np.ndarray],
        code: np.ndarray | None = None,
    ) -> None:
        """`code`: that of its cells, where that is learned."""
        self.config = config
        self._code = code
        self.step = step
        """steps that it was trained for"""
        spaces = spaces_of(config.world, **config.actor_settings())
        plan = plan_network(config.network, spaces, config.training().rules.streams)
        self.observation_space = spaces.observation
        """of one observation"""
        self._network = plan.build(envs=1, steps=1)
        self._memory: Tensor | None = None
        for name, tensor in self._network.named(self._network.parameters).items():
            tensor.copy_(torch.from_numpy(weights[name]))

    def policy(self, observations: Any) -> np.ndarray:
        """Probability of each Discrete action: (N, actions), or (actions,) for one observation.

        Observations, here and in `act`: NumPy arrays or tensors, (*shape) or (N, *shape) of the
        observation_space; dicts of them where that is a Dict.
        """
        batch, single = as_batch(observations, self.observation_space)
        probabilities = self._look(batch)[0].probabilities
        return probabilities[0] if single else probabilities

    def act(self, observations: Any, rng: np.random.Generator | None = None) -> Any:
        """Actions (N,) for a batch, an int for one observation; (N, …) and an array where actions
        are not Discrete.

        Drawn from the policy with `rng`, or the likeliest without (of Box actions, the mean).
        """
        batch, single = as_batch(observations, self.observation_space)
        thoughts = self._advance(batch)
        shape = len(thoughts.logits), *self.noise_shape
        actions = thoughts.act(None if rng is None else rng.random(shape))
        if not single:
            return actions
        return actions[0] if actions[0].shape else int(actions[0])

    @property
    def noise_shape(self) -> tuple[int, ...]:
        """Of the uniform numbers that one action takes: () where actions are Discrete."""
        return self._network.policy.noise_shape

    def act_with(self, observations: Any, uniforms: np.ndarray) -> np.ndarray:
        """Actions (N, …) for a batch, drawn with these numbers in [0, 1), (N, *noise_shape)."""
        return self.consider(observations).act(uniforms)

    def consider(self, observations: Any) -> Thoughts:
        """Logits and values of a batch of observations; a network with memory takes its step."""
        batch, _ = as_batch(observations, self.observation_space)
        return self._advance(batch)

    def _advance(self, batch: Any) -> Thoughts:
        thoughts, self._memory = self._look(batch)
        return thoughts

    def _look(self, batch: Any) -> tuple[Thoughts, Tensor | None]:
        """The agent's outputs for a batch, and the next memory of a network that has one."""
        seen = as_tensors(batch)
        games = len(next(iter(seen.values())) if isinstance(seen, dict) else seen)
        if self._memory is not None and len(self._memory) != games:
            raise ValueError(
                f"Got {games} observations, but this agent remembers {len(self._memory)} games; "
                "give one of each, or call forget() when new games begin."
            )
        logits, values, memory = self._network.play(seen, self._memory)
        return Thoughts(logits, values, self._network.policy), memory

    def forget(self, ended: np.ndarray | None = None) -> None:
        """New games begin: in those places, bool (N,), where one ended; None: everywhere."""
        if ended is None:
            self._memory = None
        elif self._memory is not None:
            self._memory = self._memory * torch.from_numpy(~ended)[:, None]

    def make_envs(
        self, num_envs: int, *, seed: int, workers: int | None = None, **settings: Any
    ) -> ActorPool:
        """Worlds as the agent knows them; grids start empty in every game."""
        wanted = {**self.config.actor_settings(), **settings}
        if wanted["lifetime"] == "never":
            wanted["lifetime"] = "game"
        envs = make_vec(
            self.config.world, num_envs=num_envs, seed=seed, workers=workers, mix=False, **wanted
        )
        if self._code is not None:
            envs.take_code(self._code)
        return envs

    def teach(self, env: Env) -> Env:
        """A world made elsewhere, with the agent's code of cells, where that is learned."""
        if self._code is not None:
            env.get_wrapper_attr("take_code")(self._code)
        return env


def load_agent(
    run: Path | str,
    step: int | None = None,
    *,
    allow_code: bool | Collection[str] = False,
    say: Callable[[str], None] = warnings.warn,
) -> TrainedAgent:
    """The agent of a run: of its newest whole checkpoint, or of the one at a step.

    run: its folder, or agents:NAME of an agent that comes with the package. allow_code: run what
    it names as module:name, though this user did not train it: whatever that is, or these names and
    no other. say: called with a message if a newer checkpoint is damaged, or if such code has
    changed since.

    >>> agent = load_agent("runs/Freeway-deepcs-paper-seed0")  # doctest: +SKIP
    >>> actions = agent.act(observations, np.random.default_rng(0))  # doctest: +SKIP
    """
    if str(run).startswith(PREFIX):
        shipped = find_shipped(str(run))
        if step not in (None, shipped.step):
            raise CheckpointError(f"{run} has only step {shipped.step:,}; leave the step out.")
        return load_packed(shipped.path, shipped.step)
    folder = RunFolder(run)
    saved = folder.read_config()
    check_code(folder.path, saved.config, saved.trained_here, allow_code)
    if changed := changed_code(saved.config, saved.versions):
        say(f"{changed} has changed since {folder.path} was begun: it may play otherwise.")
    config = as_played(saved.config)
    if step is not None:
        steps = checkpoint_steps(folder.checkpoints)
        if step not in steps:
            raise CheckpointError(
                f"{folder.path} has no checkpoint of step {step}; "
                f"choose one of {', '.join(map(str, steps)) or 'none yet'}."
            )
        checkpoint = load_checkpoint(folder.checkpoints, step)
    else:
        newest, damaged = newest_checkpoint(folder.checkpoints)
        if newest is None:
            raise CheckpointError(
                f"The checkpoints of {folder.path} are gone; restore them from a copy."
                if folder.was_saved
                else f"{folder.path} has no checkpoint yet; wait for its first or train longer."
            )
        for sentence in damaged:
            say(f"{sentence} Playing the one of step {newest.step:,} instead.")
        checkpoint = newest
    check_settings(folder, saved, saved.identity, checkpoint, accept_changes=False)
    return TrainedAgent(config, checkpoint.step, checkpoint.weights, saved_code(config, checkpoint))


def as_played(config: RunConfig) -> RunConfig:
    """Trained anywhere, played here, in float32: any CPU plays what was trained in bfloat16."""
    return dataclasses.replace(config, device="cpu", precision="float32").resolved()


def saved_code(config: RunConfig, checkpoint: Checkpoint) -> np.ndarray | None:
    """The learned code of cells, if there is one."""
    bits = config.full_novelty.code_bits
    parameters, means = (checkpoint.learner.get(f"code.{name}") for name in ("parameters", "means"))
    return (
        None
        if bits is None or parameters is None or means is None
        else code_in(parameters, means, bits)
    )


def load_packed(folder: Path, step: int) -> TrainedAgent:
    """The agent in a folder like those of deepcs.runs.shipped, trained for that many steps."""
    saved = RunFolder(folder).read_config()
    check_code(folder, saved.config, trained_here=False, allowed=False)
    return TrainedAgent(as_played(saved.config), step, read_weights(folder))
