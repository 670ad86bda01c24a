"""PPO on random rollouts, in any precision and number of shards, without a world."""

from __future__ import annotations

import numpy as np
import torch

from deepcs.agents.agent import Exchange, Moment, Shard
from deepcs.agents.network import Network
from deepcs.agents.ppo import PPO, PPOSettings
from deepcs.agents.replicas import add_up
from deepcs.agents.rollout import Cut, Rollout

ACTIONS = 4
SEED = 5


def lockstep(updates: list[Exchange]) -> dict[str, float]:
    """Updates of all shards to their end, as the replicas do it."""
    total = None
    while True:
        parts, columns = [], []
        for update in updates:
            try:
                parts.append(update.send(total))
            except StopIteration as end:
                columns.append(end.value)
        if columns:
            assert len(columns) == len(updates)
            return columns[0]
        total = add_up(parts)


class Learners:
    """PPO in some shards, on random observations, in any precision."""

    def __init__(
        self,
        settings: PPOSettings,
        *,
        shape: tuple[int, ...] = (3, 1, 21),
        actors: int = 4,
        shards: int = 1,
        streams: int = 2,
        dtype: torch.dtype = torch.float64,
    ) -> None:
        self.settings, self.shape, self.streams, self.dtype = settings, shape, streams, dtype
        whole = Network(shape, ACTIONS, envs=1, steps=1, values=streams, dtype=dtype)
        whole.initialise(0)
        for layer in whole.layers:  # biases of 0 would make errors large beside the weights
            layer.bias.copy_(torch.linspace(-0.1, 0.1, len(layer.bias)))
        self.whole = whole
        self.size = len(whole.parameters)
        gradients = [torch.zeros(self.size, dtype=dtype) for _ in range(shards)]
        self.vectors = {
            name: torch.zeros(self.size, dtype=dtype) for name in ("mean", "mean_square")
        }
        cuts = [self.size * k // shards for k in range(shards + 1)]
        share = actors // shards
        envs, steps = PPO.kept_samples(settings, share, shards)
        self.agents = [
            PPO(
                settings,
                Shard(
                    index=k,
                    shards=shards,
                    actors=range(k * share, (k + 1) * share),
                    all_actors=actors,
                    seed=SEED,
                    network=Network(
                        shape,
                        ACTIONS,
                        envs=envs,
                        steps=steps,
                        values=streams,
                        parameters=whole.parameters,
                        gradient=gradients[k],
                        dtype=dtype,
                    ),
                    gradients=gradients,
                    vectors=self.vectors,
                    part=slice(cuts[k], cuts[k + 1]),
                ),
            )
            for k in range(shards)
        ]
        rng = np.random.default_rng(0)
        size = settings.n_steps, actors
        self.seen = rng.integers(0, 256, (settings.n_steps + 1, actors, *shape), dtype=np.uint8)
        self.rewards = torch.from_numpy(rng.normal(size=(*size, streams))).to(dtype)
        self.ends = torch.from_numpy(rng.random(size) < 0.2)
        self.actions = torch.zeros(size, dtype=torch.int64)
        self.cuts: list[Cut] = []

    def learn(self, update: int, rate: float = 1e-3) -> dict[str, float]:
        """Act through the rollout, and learn from it."""
        moment = Moment(update, rate, logged=True)
        updates = []
        for agent in self.agents:
            own = slice(agent.actors.start, agent.actors.stop)
            for t in range(self.settings.n_steps):
                chosen = agent.act(moment, t, torch.from_numpy(self.seen[t, own]))
                self.actions[t, own] = torch.from_numpy(chosen)
            rewards = self.rewards[:, own]
            rollout = Rollout(
                self.actions[:, own],
                rewards if self.streams > 1 else rewards[..., 0],
                np.zeros(0),
                np.zeros(0),
                self.ends[:, own],
                self.cuts,
                torch.from_numpy(self.seen[-1, own]),
                [],
            )
            updates.append(agent.update(rollout, moment))
        return lockstep(updates)
