"""A learner and networks as a user would write them, outside of the package."""

from __future__ import annotations

from dataclasses import dataclass
from math import sqrt
from typing import Any, Literal

import numpy as np
import torch
from torch import Tensor, nn

from deepcs.agents.a2c import A2C
from deepcs.agents.agent import Agent, Exchange, Moment, Shard, Vector
from deepcs.agents.networks import NetworkPlan
from deepcs.agents.rollout import Rollout


@dataclass(frozen=True)
class ReinforceSettings:
    """Numbers of REINFORCE."""

    n_steps: int = 10
    """steps of each actor between two updates"""
    gamma: float = 0.95
    """discount per step"""
    learning_rate: float = 1e-3
    """of Adam"""
    schedule: Literal["linear", "constant"] = "constant"
    """of the learning rate"""


class Reinforce(Agent):
    """Rewards to go, normalised over the batch of all shards, by Adam: no value, no bootstrap."""

    name = "reinforce"
    Settings = ReinforceSettings
    columns = ("return", "gradient_norm")

    @classmethod
    def vectors(cls, settings: Any, network: NetworkPlan, shards: int) -> dict[str, Vector]:
        return {"mean": Vector(network.size), "square": Vector(network.size)}

    def __init__(self, settings: ReinforceSettings, shard: Shard) -> None:
        super().__init__(settings, shard)
        part = shard.part
        self.mean, self.square = shard.vectors["mean"][part], shard.vectors["square"][part]

    def update(self, rollout: Rollout, moment: Moment) -> Exchange:
        returns = torch.zeros_like(rollout.rewards)
        following = torch.zeros_like(rollout.rewards[0])
        for t in reversed(range(len(returns))):
            following = rollout.rewards[t] + self.settings.gamma * following * ~rollout.ends[t]
            returns[t] = following
        batch = self.shard.batch(self.settings.n_steps)
        sums = yield np.array([float(returns.sum()), float((returns**2).sum())])
        mean = float(sums[0]) / batch
        deviation = sqrt(max(float(sums[1]) / batch - mean**2, 0.0)) + 1e-6
        weights = (returns.flatten() - mean) / deviation
        policy = torch.softmax(self.network.logits, 1)
        chosen = torch.nn.functional.one_hot(rollout.actions.flatten(), policy.shape[1])
        d_logits = (policy - chosen) * (weights / batch)[:, None]
        self.network.backward(d_logits, torch.zeros_like(weights))
        squared, _ = yield from self.add_up_gradients()
        self.adam(moment)
        return {"return": mean, "gradient_norm": sqrt(squared)}

    def adam(self, moment: Moment) -> None:
        part, gradient, step = self.shard.part, self.gradient[self.shard.part], moment.update + 1
        self.mean.mul_(0.9).add_(gradient, alpha=0.1)
        self.square.mul_(0.999).addcmul_(gradient, gradient, value=0.001)
        root = (self.square / (1 - 0.999**step)).sqrt_().add_(1e-8)
        rate = moment.learning_rate / (1 - 0.9**step)
        self.network.parameters[part].addcdiv_(self.mean, root, value=-rate)


class Perceptron(nn.Module):
    """One hidden layer."""

    def __init__(self, observation_space: Any, action_space: Any) -> None:
        super().__init__()
        self.hidden = nn.Linear(int(np.prod(observation_space.shape)), 24)
        self.heads = nn.Linear(24, int(action_space.n) + 1)

    def forward(self, observations: Tensor) -> tuple[Tensor, Tensor]:
        heads = self.heads(torch.tanh(self.hidden(observations.flatten(1))))
        return heads[:, :-1], heads[:, -1]


class Recurrent(Perceptron):
    """The same with a memory of the hidden layer."""

    memory_size = 24

    def __init__(self, observation_space: Any, action_space: Any) -> None:
        super().__init__(observation_space, action_space)
        self.again = nn.Linear(24, 24, bias=False)

    def forward(self, observations: Tensor, memory: Tensor) -> Any:
        memory = torch.tanh(self.hidden(observations.flatten(1)) + self.again(memory))
        heads = self.heads(memory)
        return heads[:, :-1], heads[:, -1], memory


class TwoValues(Perceptron):
    """A head for each of several values, as many as it is told."""

    def __init__(self, observation_space: Any, action_space: Any, values: int) -> None:
        super().__init__(observation_space, action_space)
        self.actions = int(action_space.n)
        self.heads = nn.Linear(24, self.actions + values)

    def forward(self, observations: Tensor) -> tuple[Tensor, Tensor]:
        heads = self.heads(torch.tanh(self.hidden(observations.flatten(1))))
        return heads[:, : self.actions], heads[:, self.actions :]


class AsFast(nn.Module):
    """The mazes' layers, as PyTorch has them; the first full layer reads channels last."""

    def __init__(self, observation_space: Any, action_space: Any) -> None:
        super().__init__()
        channels, height, width = observation_space.shape
        self.conv = nn.Conv2d(channels, 8, 3, padding=1)
        self.fc = nn.Linear(8 * height * width, 64)
        self.policy = nn.Linear(64, int(action_space.n))
        self.value = nn.Linear(64, 1)

    def forward(self, observations: Any) -> Any:
        maps = self.conv(observations).relu().permute(0, 2, 3, 1).flatten(1)
        hidden = self.fc(maps).relu()
        return self.policy(hidden), self.value(hidden)


class RecurrentAsFast(AsFast):
    """With a memory that it does not use, and as many values as it is told."""

    memory_size = 1

    def __init__(self, observation_space: Any, action_space: Any, values: int) -> None:
        super().__init__(observation_space, action_space)
        self.value = nn.Linear(64, values)

    def forward(self, observations: Any, memory: Tensor) -> Any:
        return *super().forward(observations), memory


class Noisy(Perceptron):
    def __init__(self, *spaces: Any) -> None:
        super().__init__(*spaces)
        self.dropout = nn.Dropout()


class Wide(Perceptron):
    def forward(self, observations: Tensor) -> Any:
        logits, values = super().forward(observations)
        return torch.cat((logits, logits), 1), values


class Unfinished(Agent):
    name = "unfinished"


class Taken(Reinforce):
    name = "a2c"


class OutOfStep(Reinforce):
    """Shards that do not agree on how often they yield."""

    def update(self, rollout: Rollout, moment: Moment) -> Exchange:
        if self.shard.index == 0:
            yield
        return {"return": 0.0, "gradient_norm": 0.0}


def not_a_module(observation_space: Any, action_space: Any) -> str:
    return "no module"


class Told(A2C):
    """A2C that logs the share of the run that is done, and what a β of that share pays."""

    name = "told"
    columns = ("progress", "difference")

    def update(self, rollout: Rollout, moment: Moment) -> Exchange:
        yield from super().update(rollout, moment)
        share = moment.progress
        paid = share * np.clip(rollout.game_rewards, -1, 1) + (1 - share) * rollout.intrinsic
        difference = yield float(np.abs(paid - rollout.rewards.numpy()).max())
        return {"progress": share, "difference": difference}


class NoUpdate(Agent):
    name = "no_update"
    Settings = ReinforceSettings
    columns = ("return",)


class NoGenerator(Reinforce):
    def update(self, rollout: Rollout, moment: Moment) -> Any:
        return {"return": 0.0}


class OneArgument(Reinforce):
    def update(self, rollout: Rollout) -> Exchange:  # type: ignore[override]
        yield
        return {"return": 0.0}


class OtherVectors(Reinforce):
    @classmethod
    def vectors(cls, settings: Any) -> dict[str, Vector]:  # type: ignore[override]
        return {}


class OneWord(Reinforce):
    columns = "return"  # type: ignore[assignment]


class TakenColumn(Reinforce):
    columns = ("return", "learning_rate")


class TakenVector(Reinforce):
    @classmethod
    def vectors(cls, settings: Any, network: Any, shards: int) -> dict[str, Vector]:
        return {"parameters": Vector(4)}


@dataclass(frozen=True)
class ImitatingSettings(ReinforceSettings):
    imitation: int = 4


class Imitating(Reinforce):
    """Its setting is called like one of A2C's and means something else."""

    name = "imitating"
    Settings = ImitatingSettings


class OtherColumns(Reinforce):
    def update(self, rollout: Rollout, moment: Moment) -> Exchange:
        yield
        return {"loss": 1.0}


class NoColumns(Reinforce):
    def update(self, rollout: Rollout, moment: Moment) -> Any:
        yield


class Delegates(Reinforce):
    """Its update is no generator, but returns one."""

    def update(self, rollout: Rollout, moment: Moment) -> Exchange:
        return super().update(rollout, moment)


def no_space() -> nn.Module:
    return nn.Identity()


def one_space(observation_space: Any) -> nn.Module:
    return nn.Identity()
