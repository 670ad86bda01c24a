"""PPO in one file, plain and curious: python single_file_ppo.py [STEPS] [SEED]

Trains twice in the same hallway, without curiosity and with it, and prints the results. The key
lies at one end and the door at the other, and only the door pays: nothing leads from the key to the
door but the reward for cells that are new in this game.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor, nn
from torch.distributions import Categorical

import deepcs

KEPT = ("observations", "actions", "log_probs", "values", "rewards", "ends")


@dataclass(frozen=True)
class Settings:
    actors: int = 16
    rollout: int = 64  # steps of each actor between updates
    epochs: int = 4  # passes over a rollout
    minibatch: int = 256  # samples
    learning_rate: float = 1e-3
    discount: float = 0.99
    gae_lambda: float = 0.95
    clip: float = 0.2  # of the ratio of new to old probability, around 1
    entropy: float = 0.01
    gradient_norm: float = 0.5  # at most


class ActorCritic(nn.Module):
    """Two small networks over the flattened observation: one for the policy, one for the value."""

    def __init__(self, inputs: int, actions: int) -> None:
        super().__init__()
        self.policy = nn.Sequential(nn.Linear(inputs, 64), nn.Tanh(), nn.Linear(64, actions))
        self.value = nn.Sequential(nn.Linear(inputs, 64), nn.Tanh(), nn.Linear(64, 1))

    def forward(self, observations: Tensor) -> tuple[Categorical, Tensor]:
        return Categorical(logits=self.policy(observations)), self.value(observations).squeeze(-1)


def as_input(observations: np.ndarray) -> Tensor:
    return torch.from_numpy(observations).flatten(1).float() / 255


def advantages(rewards: Tensor, values: Tensor, ends: Tensor, settings: Settings) -> Tensor:
    """Generalised advantage estimates (T, N); values: (T + 1, N); ends: 1 where a game ended."""
    found, following = torch.zeros_like(rewards), torch.zeros(rewards.shape[1])
    for t in reversed(range(len(rewards))):
        goes_on = 1 - ends[t]
        error = rewards[t] + settings.discount * goes_on * values[t + 1] - values[t]
        following = error + settings.discount * settings.gae_lambda * goes_on * following
        found[t] = following
    return found


def update(
    agent: ActorCritic, adam: torch.optim.Adam, batch: dict[str, Tensor], settings: Settings
) -> None:
    """Some passes of clipped policy gradient over a rollout, in minibatches."""
    for _ in range(settings.epochs):
        for rows in torch.randperm(len(batch["actions"])).split(settings.minibatch):
            policy, values = agent(batch["observations"][rows])
            ratio = (policy.log_prob(batch["actions"][rows]) - batch["log_probs"][rows]).exp()
            gain = batch["advantages"][rows]
            gain = (gain - gain.mean()) / (gain.std() + 1e-8)
            clipped = ratio.clamp(1 - settings.clip, 1 + settings.clip)
            policy_loss = -torch.min(ratio * gain, clipped * gain).mean()
            value_loss = (values - batch["returns"][rows]).square().mean() / 2
            loss = policy_loss + value_loss - settings.entropy * policy.entropy().mean()
            adam.zero_grad()
            loss.backward()
            nn.utils.clip_grad_norm_(agent.parameters(), settings.gradient_norm)
            adam.step()


def train(curious: bool, steps: int, seed: int) -> list:
    """Train a policy; returns the record of every game: score, tiles, steps."""
    settings = Settings()
    torch.manual_seed(seed)
    # Without curiosity the reward is R alone, and no grid is seen.
    chosen = {"mix": curious, "grid": "plane" if curious else "none"}
    envs = deepcs.make_vec("KeyHallway", num_envs=settings.actors, seed=seed, workers=0, **chosen)
    observations, _ = envs.reset()
    agent = ActorCritic(observations[0].size, int(envs.single_action_space.n))
    adam = torch.optim.Adam(agent.parameters(), settings.learning_rate, eps=1e-5)
    games = []
    for _ in range(steps // (settings.actors * settings.rollout)):
        kept: dict[str, list[Tensor]] = {name: [] for name in KEPT}
        for _ in range(settings.rollout):
            seen = as_input(observations)
            with torch.no_grad():
                policy, values = agent(seen)
            actions = policy.sample()
            observations, rewards, terminated, truncated, infos = envs.step(actions.numpy())
            paid, ends = torch.from_numpy(rewards), torch.from_numpy(terminated | truncated)
            step = seen, actions, policy.log_prob(actions), values, paid.float(), ends.float()
            for name, part in zip(KEPT, step, strict=True):
                kept[name].append(part)
            games += [game for game in infos.get("game", ()) if game is not None]
        with torch.no_grad():
            kept["values"].append(agent(as_input(observations))[1])
        batch = {name: torch.stack(parts) for name, parts in kept.items()}
        values = batch.pop("values")
        batch["advantages"] = advantages(batch["rewards"], values, batch["ends"], settings)
        batch["returns"] = batch["advantages"] + values[:-1]
        update(agent, adam, {name: part.flatten(0, 1) for name, part in batch.items()}, settings)
    envs.close()
    return games


def main() -> None:
    torch.set_num_threads(1)
    steps, seed = map(int, (*sys.argv[1:], *("200_000", "0")[len(sys.argv) - 1 :]))
    for curious in (False, True):
        games = train(curious, steps, seed)
        last = games[-100:]
        score = sum(game.score for game in last) / max(len(last), 1)
        tiles = sum(game.tiles for game in last) / max(len(last), 1)
        print(
            f"{'curious' if curious else 'plain':8}{len(games):5} games; of the last {len(last)}: "
            f"mean score {score:.2f}, {tiles:.1f} tiles",
            flush=True,
        )


if __name__ == "__main__":
    main()
