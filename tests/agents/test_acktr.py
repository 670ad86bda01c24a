"""ACKTR's update: its Fisher gradients, running means, cold start, momentum, and shards."""

from __future__ import annotations

import gymnasium
import numpy as np
import pytest
import torch
from torch import Tensor

from deepcs.agents.acktr import (
    ACKTR,
    ACKTRSettings,
    FisherNoise,
    deal,
    fisher_gradients,
)
from deepcs.agents.agent import Shard
from deepcs.agents.kfac import factor_sides
from deepcs.agents.network import Network
from deepcs.agents.networks import plan_network
from deepcs.envs.seats import Spaces

SHAPE, ACTIONS, ENVS, STEPS = (3, 4, 5), 4, 2, 3


def learner(
    settings: ACKTRSettings, shards: int = 1
) -> tuple[list[ACKTR], dict[str, Tensor], Network]:
    """All shards of a learner over one network, and the vectors that they share."""
    network = Network(SHAPE, ACTIONS, envs=ENVS, steps=STEPS, dtype=torch.float64)
    network.parameters.normal_(0, 0.3, generator=torch.Generator().manual_seed(0))
    spaces = Spaces(
        gymnasium.spaces.Box(0, 255, SHAPE, np.uint8), gymnasium.spaces.Discrete(ACTIONS)
    )
    named = ACKTR.vectors(settings, plan_network("fast", spaces), shards)
    vectors = {name: torch.zeros(v.size, dtype=torch.float64) for name, v in named.items()}
    gradients = [torch.zeros_like(network.parameters) for _ in range(shards)]
    everything = slice(None)
    parts = [
        ACKTR(
            settings,
            Shard(i, shards, range(ENVS), ENVS, 0, network, gradients, vectors, everything),
        )
        for i in range(shards)
    ]
    return parts, {**vectors, "gradient": gradients[0]}, network


def play(network: Network, seed: int) -> tuple[Tensor, Tensor]:
    """Fill the network's rollout; returns actions and noise."""
    generator = torch.Generator().manual_seed(seed)
    for t in range(STEPS):
        pixels = torch.randint(0, 256, (ENVS, *SHAPE), dtype=torch.uint8, generator=generator)
        network.forward(t, pixels)
    actions = torch.randint(0, ACTIONS, (STEPS * ENVS,), generator=generator)
    return actions, torch.randn(STEPS * ENVS, generator=generator, dtype=torch.float64)


def test_fisher_gradients_are_those_of_the_log_likelihood() -> None:
    logits = torch.randn(6, ACTIONS, dtype=torch.float64, requires_grad=True)
    values = torch.randn(6, dtype=torch.float64, requires_grad=True)
    actions, noise = torch.tensor([0, 1, 2, 3, 1, 0]), torch.randn(6, dtype=torch.float64)
    targets = (values + noise).detach()
    chosen = torch.log_softmax(logits, 1).gather(1, actions[:, None]).sum()
    (chosen - 0.7 * ((values - targets) ** 2).sum()).backward()
    d_logits, d_values = fisher_gradients(logits.detach(), actions, noise, 0.7)
    torch.testing.assert_close(d_logits, logits.grad)
    torch.testing.assert_close(d_values, values.grad)


def test_the_first_statistics_are_averaged_and_later_ones_decay() -> None:
    settings = ACKTRSettings(cold_updates=2, decay=0.9)
    (acktr,), _, network = learner(settings)
    alone = []
    for update in range(4):
        actions, noise = play(network, update)
        (single,), _, _ = learner(ACKTRSettings(cold_updates=1))
        single.fast = network
        single.observe(0, actions, noise, len(actions))
        alone.append(single.statistics[0].factors)
        acktr.observe(update, actions, noise, len(actions))
    for factor, a, b, c, d in zip(acktr.statistics[0].factors, *alone, strict=True):
        expected = 0.9 * (0.9 * (a + b) / 2 + 0.1 * c) + 0.1 * d
        torch.testing.assert_close(factor.triu(), expected.triu())


def test_policy_and_value_are_layers_of_their_own() -> None:
    (acktr,), _, network = learner(ACKTRSettings())
    acktr.observe(0, *play(network, 0), ENVS * STEPS)
    head = acktr.statistics[0].factors[-1]
    assert not head[:-1, -1].any()
    assert head[-1, -1] > 0
    assert head[:-1, :-1].any()


def test_while_cold_it_is_gradient_descent_with_momentum() -> None:
    settings = ACKTRSettings(cold_updates=3)
    (acktr,), _, network = learner(settings)
    ours = torch.nn.Parameter(network.parameters.clone())
    peer = torch.optim.SGD([ours], lr=0.25, momentum=0.9)
    for _ in range(3):
        gradient = torch.randn_like(network.parameters)
        acktr.follow(gradient, 0.25, 0.5)
        ours.grad = 0.5 * gradient
        peer.step()
    torch.testing.assert_close(network.parameters, ours.detach())


def test_when_it_observes_and_refreshes() -> None:
    settings = ACKTRSettings(
        cold_updates=3, statistics_every=4, refresh_every=5, refresh_large_every=7
    )
    updates = range(14)
    assert [u for u in updates if settings.is_cold(u)] == [0, 1, 2]
    assert [u for u in updates if settings.takes_statistics(u)] == [0, 1, 2, 4, 8, 12]
    assert [u for u in updates if settings.refreshes(u, 1_024)] == [3, 8, 13]
    assert [u for u in updates if settings.refreshes(u, 1_025)] == [3, 10]


def test_two_shards_make_the_step_that_one_makes() -> None:
    settings = ACKTRSettings(cold_updates=1)
    (whole,), of_one, network = learner(settings)
    actions, noise = play(network, 3)
    whole.observe(0, actions, noise, len(actions))
    halves, of_two, _ = learner(settings, shards=2)
    for shard in halves:
        shard.fast = network
        shard.observe(0, actions, noise, 2 * len(actions))  # each as if half of a batch of two
    gradient = torch.randn_like(network.parameters)
    products = []
    for shards, vectors in (([whole], of_one), (halves, of_two)):
        vectors["gradient"].copy_(gradient)
        for shard in shards:
            shard.refresh(1)
        for shard in shards:
            shard.rotate()
        products.append(sum(shard.rotate_back() for shard in shards))
    torch.testing.assert_close(of_two["natural"], of_one["natural"])
    assert products[0] == pytest.approx(products[1])
    assert products[0] == pytest.approx(float(of_one["natural"] @ gradient))


def test_every_factor_is_dealt_once_and_the_smaller_ones_evenly() -> None:
    sides = factor_sides(Network((5, 84, 84), 18, envs=1, steps=1).layers)
    assert sides == [320, 32, 32, 512, 64, 64, 576, 64, 64, 3136, 512, 512, 19]
    shares = deal(sides, 2)
    assert sorted(shares[0] + shares[1]) == list(range(len(sides)))
    small = [sum(sides[k] ** 3 for k in share if sides[k] < 3136) for share in shares]
    assert max(small) < 1.1 * min(small)


def test_the_noise_of_an_actor_is_the_same_whoever_asks() -> None:
    noise = FisherNoise(seed=5, steps=3, actors=6)
    whole = noise(7, range(6))
    assert whole.shape == (3, 6)
    assert (noise(7, range(2, 4)) == whole[:, 2:4]).all()
    assert (noise(8, range(6)) != whole).all()
    assert (FisherNoise(6, 3, 6)(7, range(6)) != whole).all()
