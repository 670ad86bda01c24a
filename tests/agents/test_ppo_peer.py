"""PPO against Stable-Baselines3's own training step, on the same rollout."""

from __future__ import annotations

from collections.abc import Iterator

import gymnasium
import numpy as np
import pytest
import torch
from ppo_learners import ACTIONS, Learners
from stable_baselines3 import PPO
from stable_baselines3.common.logger import Logger
from stable_baselines3.common.vec_env import DummyVecEnv
from torch import Tensor

from deepcs.agents.ppo import PPOSettings

NAMES = {
    "conv1": "features_extractor.cnn.0",
    "conv2": "features_extractor.cnn.2",
    "conv3": "features_extractor.cnn.4",
    "fc": "features_extractor.linear.0",
    "policy": "action_net",
    "value": "value_net",
}
"""of its layers, by ours"""


@pytest.fixture(autouse=True)
def _one_thread() -> Iterator[None]:
    """So that float32 rounds the same on every run."""
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(threads)


class Still(gymnasium.Env[np.ndarray, int]):
    """Observations and actions of the right kind; the test fills the buffer itself."""

    observation_space = gymnasium.spaces.Box(0, 255, (5, 84, 84), np.uint8)
    action_space = gymnasium.spaces.Discrete(ACTIONS)


class Peer:
    """Stable-Baselines3's PPO on the learner's rollout, with the same weights.

    Its value loss is the whole squared error, ours the half: hence half its coefficient. It
    normalises the advantages of a minibatch, which is here the whole batch.
    """

    def __init__(self, learners: Learners, rate: float) -> None:
        settings, self.learners = learners.settings, learners
        self.steps, self.actors = learners.actions.shape
        self.model = PPO(
            "CnnPolicy",
            DummyVecEnv([Still] * self.actors),
            learning_rate=rate,
            n_steps=self.steps,
            batch_size=self.steps * self.actors,
            n_epochs=settings.epochs,
            gamma=0.99,
            gae_lambda=settings.gae_lambda,
            clip_range=settings.clip,
            ent_coef=settings.entropy,
            vf_coef=settings.value / 2,
            max_grad_norm=settings.max_gradient_norm,
            policy_kwargs={"normalize_images": False},
            device="cpu",
        )
        self.model.set_logger(Logger(None, []))
        policy = self.model.policy.to(learners.dtype)
        # Its own scaling goes through float32, which would hide what float64 is to show.
        policy.features_extractor.register_forward_pre_hook(
            lambda _, inputs: (inputs[0].to(learners.dtype) / 255,)
        )
        for _, ours, theirs in self.pairs():
            theirs.data.copy_(ours)

    def pairs(self) -> Iterator[tuple[str, Tensor, torch.nn.Parameter]]:
        """Name, our tensor with columns in their order, and their parameter."""
        for name, tensor in self.learners.whole.named_parameters().items():
            layer, kind = name.split(".")
            if name == "fc.weight":
                tensor = tensor.view(512, 7, 7, 64).permute(0, 3, 1, 2).flatten(1)
            yield name, tensor, self.model.policy.get_parameter(f"{NAMES[layer]}.{kind}")

    def learn(self) -> None:
        """Train on the rollout as it stands, whose actions the learner has drawn."""
        learners, policy, buffer = self.learners, self.model.policy, self.model.rollout_buffer
        buffer.reset()
        wide = torch.empty(0, dtype=learners.dtype).numpy().dtype
        for name in ("rewards", "returns", "values", "advantages", "log_probs", "episode_starts"):
            setattr(buffer, name, getattr(buffer, name).astype(wide))
        starts = np.ones(self.actors, dtype=bool)
        rewards, ends = learners.rewards[..., 0].numpy(), learners.ends.numpy()
        with torch.no_grad():
            for t in range(self.steps):
                seen = torch.as_tensor(learners.seen[t])
                values, log_policy, _ = policy.evaluate_actions(seen, learners.actions[t])
                actions = learners.actions[t].numpy()
                buffer.add(learners.seen[t], actions, rewards[t], starts, values, log_policy)
                starts = ends[t]
            last = policy.predict_values(torch.as_tensor(learners.seen[self.steps]))
        buffer.compute_returns_and_advantage(last, starts)
        self.model.train()


def relative_error(ours: Tensor, theirs: Tensor) -> float:
    return (torch.linalg.vector_norm(ours - theirs) / torch.linalg.vector_norm(theirs)).item()


@pytest.mark.parametrize(
    ("dtype", "tolerance"), [(torch.float32, 1e-5), (torch.float64, 1e-10)], ids=["32", "64"]
)
def test_the_weights_after_three_updates_equal_those_of_stable_baselines3(
    dtype: torch.dtype, tolerance: float
) -> None:
    """Nine gradient steps of the paper's network, clipped, with one value."""
    settings = PPOSettings(n_steps=4, minibatch=8, values="one", epochs=3)
    learners = Learners(settings, shape=(5, 84, 84), actors=2, streams=1, dtype=dtype)
    rate = 1e-5  # larger steps make a larger error of rounding: Adam's first are as long as any
    peer = Peer(learners, rate)
    start = learners.whole.parameters.clone()
    for update in range(3):
        columns = learners.learn(update, rate)
        assert columns["gradient_norm"] > settings.max_gradient_norm
        peer.learn()
    assert relative_error(learners.whole.parameters, start) > 10 * tolerance
    for name, ours, theirs in peer.pairs():
        assert relative_error(ours, theirs.detach()) < tolerance, name
