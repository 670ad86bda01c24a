"""Policies: their numbers against torch.distributions, autograd and Stable-Baselines3."""

from __future__ import annotations

from typing import Any

import gymnasium
import numpy as np
import pytest
import torch
from gymnasium.spaces import Box, Discrete, MultiBinary, MultiDiscrete
from scipy.stats import kstest
from stable_baselines3.common.distributions import (
    BernoulliDistribution,
    DiagGaussianDistribution,
    MultiCategoricalDistribution,
)
from torch import Tensor, distributions

from deepcs.agents import a2c, ppo
from deepcs.agents.a2c import A2CSettings
from deepcs.agents.noise import ActionNoise
from deepcs.agents.policy import Policy, policy_for
from deepcs.agents.ppo import PPOSettings, Samples

SIZE = 30
SPACES = {
    "discrete": Discrete(5),
    "multi-discrete": MultiDiscrete([3, 2, 4]),
    "multi-binary": MultiBinary(3),
    "box": Box(-2, 2, (3,)),
}


class Peer:
    """The same policy by torch.distributions."""

    def __init__(self, policy: Policy, outputs: Tensor) -> None:
        sizes = getattr(policy, "sizes", (policy.outputs,))
        self.parts: list[Any]
        if policy.dtype == np.float32:
            mean, log_std = outputs.chunk(2, 1)
            self.parts = [distributions.Independent(distributions.Normal(mean, log_std.exp()), 1)]
        else:
            parts = torch.split(outputs, sizes, 1)
            self.parts = [distributions.Categorical(logits=part) for part in parts]

    def log_prob(self, actions: Tensor) -> Tensor:
        columns = [actions] if len(self.parts) == 1 else actions.unbind(1)
        return sum(p.log_prob(a) for p, a in zip(self.parts, columns, strict=True))

    def entropy(self) -> Tensor:
        return sum(part.entropy() for part in self.parts)

    def divergence(self, other: Peer) -> Tensor:
        pairs = zip(self.parts, other.parts, strict=True)
        return sum(distributions.kl_divergence(*pair) for pair in pairs)


def normal(*shape: int, seed: int = 0) -> Tensor:
    return torch.randn(*shape, dtype=torch.float64, generator=torch.Generator().manual_seed(seed))


def drawn(policy: Policy, outputs: Tensor) -> Tensor:
    uniforms = np.random.default_rng(0).random((len(outputs), *policy.noise_shape))
    return torch.from_numpy(policy.sample(outputs, uniforms))


@pytest.fixture(params=SPACES.values(), ids=SPACES.keys())
def policy(request: pytest.FixtureRequest) -> Policy:
    return policy_for(request.param)


def test_log_policy_entropy_and_divergence_are_torchs(policy: Policy) -> None:
    outputs, others = normal(SIZE, policy.outputs), normal(SIZE, policy.outputs, seed=1)
    actions = drawn(policy, outputs)
    ours, peer = policy.of(outputs), Peer(policy, outputs)
    close = {"atol": 1e-12, "rtol": 1e-12}
    torch.testing.assert_close(ours.log_policy(actions)[:, 0], peer.log_prob(actions), **close)
    torch.testing.assert_close(ours.entropy[:, 0], peer.entropy(), **close)
    divergence = peer.divergence(Peer(policy, others)).sum()
    torch.testing.assert_close(ours.divergence(policy.of(others)), divergence, **close)


def test_the_gradient_is_autograds(policy: Policy) -> None:
    outputs = normal(SIZE, policy.outputs).requires_grad_()
    actions, pulls = drawn(policy, outputs.detach()), normal(SIZE, 1, seed=2)
    peer = Peer(policy, outputs)
    (-(pulls[:, 0] * peer.log_prob(actions)).sum() - 0.3 * peer.entropy().sum()).backward()
    ours = policy.of(outputs.detach()).gradient(actions, pulls, 0.3)
    torch.testing.assert_close(ours, outputs.grad, atol=1e-12, rtol=1e-12)


def test_the_losses_of_a2c_and_ppo_have_autograds_gradient(policy: Policy) -> None:
    outputs, values = normal(SIZE, policy.outputs).requires_grad_(), normal(SIZE, seed=3)
    actions, targets = drawn(policy, outputs.detach()), normal(SIZE, seed=4)
    peer = Peer(policy, outputs)
    log_policy, entropy = peer.log_prob(actions), peer.entropy().mean()
    loss = -((targets - values) * log_policy).mean() - 0.3 * entropy
    (wanted,) = torch.autograd.grad(loss, outputs, retain_graph=True)
    seen = outputs.detach(), values, actions, targets, A2CSettings(entropy=0.3), SIZE, policy.of
    torch.testing.assert_close(a2c.loss_gradients(*seen)[0], wanted, atol=1e-12, rtol=1e-12)

    old = log_policy.detach() + 0.3 * normal(SIZE, seed=5)
    ratio = (log_policy - old).exp()
    gains = torch.min(ratio * targets, ratio.clamp(0.8, 1.2) * targets)
    (wanted,) = torch.autograd.grad(-gains.mean() - 0.3 * entropy, outputs)
    samples = Samples(actions, old, targets, targets[:, None])
    told = outputs.detach(), values, samples, PPOSettings(entropy=0.3), SIZE, policy.of
    torch.testing.assert_close(ppo.loss_gradients(*told)[0], wanted, atol=1e-12, rtol=1e-12)


@pytest.mark.parametrize("kind", ["multi-discrete", "multi-binary", "box"])
def test_log_policy_and_entropy_are_stable_baselines3s(kind: str) -> None:
    policy = policy_for(SPACES[kind])
    outputs = normal(SIZE, policy.outputs)
    actions = drawn(policy, outputs)
    if kind == "box":
        mean, log_std = outputs.chunk(2, 1)
        peer: Any = DiagGaussianDistribution(3).proba_distribution(mean, log_std)
    elif kind == "multi-discrete":
        peer = MultiCategoricalDistribution([3, 2, 4]).proba_distribution(outputs)
    else:  # one logit each: that of 1 over that of 0
        pairs = outputs.view(SIZE, 3, 2)
        peer = BernoulliDistribution(3).proba_distribution(pairs[..., 1] - pairs[..., 0])
    log_prob, entropy = peer.log_prob(actions.to(outputs.dtype)), peer.entropy()
    torch.testing.assert_close(policy.of(outputs).log_policy(actions)[:, 0], log_prob)
    torch.testing.assert_close(policy.of(outputs).entropy[:, 0], entropy)


def test_gaussian_samples_are_normal_and_the_likeliest_is_the_mean() -> None:
    policy = policy_for(Box(-1, 1, (2,)))
    outputs = torch.tensor([[0.5, -1.0, np.log(2), np.log(0.1)]]).expand(20_000, 4)
    drawn = policy.sample(outputs, ActionNoise(0, (2,))(0, range(20_000)))
    for column, (mean, std) in enumerate(((0.5, 2), (-1, 0.1))):
        assert kstest((drawn[:, column] - mean) / std, "norm").pvalue > 0.01
    assert policy.greedy(outputs)[0].tolist() == [0.5, -1.0]
    assert np.isfinite(policy.sample(outputs[:1], np.zeros((1, 2)))).all()


def test_noise_of_several_numbers_is_the_same_whoever_asks() -> None:
    together = ActionNoise(3, (2,))
    for step in (0, 7):
        halves = [ActionNoise(3, (2,))(step, half) for half in (range(8), range(8, 16))]
        np.testing.assert_array_equal(np.concatenate(halves), together(step, range(16)))
    np.testing.assert_array_equal(ActionNoise(3)(5, range(4)), ActionNoise(3, ())(5, range(4)))


@pytest.mark.parametrize(
    ("space", "actions", "sent"),
    [
        (Discrete(3), [0, 2], [0, 2]),
        (Discrete(3, start=-1), [0, 2], [-1, 1]),
        (MultiDiscrete([3, 2], start=[5, 0]), [[0, 1], [2, 0]], [[5, 1], [7, 0]]),
        (MultiDiscrete([[3, 2], [2, 2]]), [[2, 1, 0, 1]], [[[2, 1], [0, 1]]]),
        (MultiBinary((2, 2)), [[1, 0, 0, 1]], [[[1, 0], [0, 1]]]),
        (Box(-2, 2, (2,)), [[0.5, -1.5]], [[1.0, -2.0]]),  # in the box's units, then clipped
        (Box(0, 10, (1,)), [[0.0], [0.5], [3.0]], [[5.0], [7.5], [10.0]]),
        (Box(-np.inf, np.inf, (1,)), [[3.5]], [[3.5]]),
        (Box(0, np.inf, (1,)), [[3.5], [-1.0]], [[3.5], [0.0]]),
        (Box(-1, 1, (2, 1), np.float64), [[0.5, 2.0]], [[[0.5], [1.0]]]),
        (Box(-1, 1, ()), [[0.5], [2.0]], [0.5, 1.0]),
    ],
)
def test_what_the_environment_is_sent_is_in_its_space(
    space: gymnasium.Space[Any], actions: list[Any], sent: list[Any]
) -> None:
    policy = policy_for(space)
    given = policy.sent(np.array(actions, policy.dtype))
    assert given.tolist() == sent
    assert all(space.contains(np.asarray(one, space.dtype)) for one in given)


@pytest.mark.parametrize(
    "space",
    [Box(0, 9, (2,), np.int32), Box(0, 1, (0,)), gymnasium.spaces.Tuple((Discrete(2),))],
)
def test_other_action_spaces_are_refused_in_one_sentence(space: gymnasium.Space[Any]) -> None:
    with pytest.raises(ValueError, match=r"^Got actions .*; training needs Discrete, .*\.$"):
        policy_for(space)
