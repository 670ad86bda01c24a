"""PPO by hand, and against the same written out with autograd."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
import torch
from ppo_learners import ACTIONS, SEED, Learners
from torch import Tensor

from deepcs.agents.agent import Moment
from deepcs.agents.gae import gae, normalised
from deepcs.agents.imitation import COLUMNS
from deepcs.agents.ppo import PPO, PPOSettings, Samples, loss_gradients
from deepcs.agents.replicas import Replicas
from deepcs.agents.rollout import Cut, Rollout
from deepcs.agents.samples import SeenObservations, Shuffle
from deepcs.runs.config import RunConfig


def test_advantages_by_hand_for_two_rewards_with_an_end_between() -> None:
    """One actor, three steps, λ = ½, γ = 1 for R and ½ for I; the game ends in the second step.

    |          | R: r + γV' - V | A            | I: r + γV' - V     | A              |
    | last     | 1 + 8 - 4 = 5  | 5            | 0 + 4/2 - 1 = 1    | 1              |
    | ends     | 0 + 0 - 2 = -2 | -2           | 1 + 0 - 0 = 1      | 1              |
    | first    | 2 + 2 - 1 = 3  | 3 - 2/2 = 2  | 0 + 0 - 2 = -2     | -2 + 1/4 = -7/4 |
    """
    rewards = torch.tensor([[2.0, 0], [0, 1], [1, 0]])[:, None]
    values = torch.tensor([[1.0, 2], [2, 0], [4, 1]])[:, None]
    ends = torch.tensor([[False], [True], [False]])
    discounts, bootstrap = torch.tensor([1, 0.5]), torch.tensor([[8.0, 4]])
    found = gae(rewards, ends, values, bootstrap, discounts, 0.5)
    assert found[:, 0].tolist() == [[2, -1.75], [-2, 1], [5, 1]]
    # Cut short instead, with values 3 and 2 of the last observation: 0 + 3 - 2, 1 + 2/2 - 0.
    final = torch.tensor([[0.0, 0], [3, 2], [0, 0]])[:, None]
    found = gae(rewards, ends, values, bootstrap, discounts, 0.5, final)
    assert found[:, 0].tolist() == [[3.5, -1.5], [1, 2], [5, 1]]


def test_with_lambda_1_advantages_are_the_rewards_to_the_end_or_the_last_value() -> None:
    rewards, values = torch.tensor([1.0, 2, 4, 8]), torch.tensor([10.0, 20, 30, 40])
    ends = torch.tensor([False, True, False, False])[:, None]
    advantages = gae(
        rewards[:, None, None],
        ends,
        values[:, None, None],
        torch.tensor([[100.0]]),
        torch.tensor([0.5]),
        1.0,
    )
    returns = advantages[:, 0, 0] + values
    assert returns.tolist() == [1 + 2 / 2, 2, 4 + 8 / 2 + 100 / 4, 8 + 100 / 2]


def test_two_values_by_hand_from_rewards_to_returns() -> None:
    """Advantages of the table above, added 2 : 1, and the returns that the values are fitted to."""
    settings = PPOSettings(
        n_steps=3, minibatch=3, gae_lambda=0.5, gamma_game=1.0, gamma_intrinsic=0.5, normalise=False
    )
    agent = Learners(settings, actors=1).agents[0]
    values = torch.tensor([[1.0, 2], [2, 0], [4, 1]]).double()
    agent._outputs = [(torch.zeros(1, ACTIONS).double(), row[None]) for row in values]
    agent.network.evaluate = lambda _: (None, torch.tensor([[8.0, 4]]).double())  # type: ignore
    rollout = Rollout(
        torch.tensor([[0], [1], [2]]),
        torch.tensor([[2.0, 0], [0, 1], [1, 0]])[:, None].double(),
        *(np.zeros(0),) * 2,
        torch.tensor([[False], [True], [False]]),
        [],
        torch.zeros(0),
        [],
    )
    estimate = agent.estimate(rollout)
    sums = estimate.send(None)
    with pytest.raises(StopIteration) as end:
        estimate.send(sums)
    samples, explained = end.value.value
    assert samples.advantages.tolist() == [2 * 2 - 1.75, 2 * -2 + 1, 2 * 5 + 1]
    assert samples.returns.tolist() == [[3, 0.25], [0, 1], [9, 2]]
    assert samples.log_policy.tolist() == pytest.approx([-math.log(4)] * 3)
    # Variance of the returns (3, 0, 9) is 14, of the errors (2, -2, 5) 74/9.
    assert explained["explained_variance"] == pytest.approx(1 - (74 / 9) / 14)
    left = np.var([-1.75, 1, 1]) / np.var([0.25, 1, 2])
    assert explained["intrinsic_explained_variance"] == pytest.approx(1 - left)


def test_only_the_games_value_is_left_where_nothing_intrinsic_is_paid() -> None:
    assert PPOSettings().of_streams(2) == ([0.999, 0.99], [2, 1])
    assert PPOSettings().of_streams(1) == ([0.999], [2])
    assert PPOSettings(values="one").of_streams(1) == ([0.99], [1])
    for name, heads in {"deepcs": 2, "no-grid": 2, "no-intrinsic": 1, "plain": 1}.items():
        config = RunConfig("KeyHallway", treatment=name, agent="ppo").resolved().fitted()
        replicas = Replicas(config.training(), workers=1)
        assert len(replicas.weights()["value.bias"]) == heads
        replicas.close()


def test_advantages_are_normalised_over_all_shards() -> None:
    advantages = torch.tensor([1.0, 2, 6, 7]).double()
    wanted = (advantages - advantages.mean()) / (advantages.std() + 1e-8)
    sums = np.array([16.0, 90.0])
    parts = [normalised(part, sums, 4) for part in advantages.split(3)]
    torch.testing.assert_close(torch.cat(parts), wanted, atol=1e-14, rtol=0)


def plain_loss(
    logits: Tensor, values: Tensor, samples: Samples, settings: PPOSettings
) -> tuple[Tensor, Tensor]:
    """The loss as a reader of the paper would write it, and the share of ratios clipped."""
    policy = torch.distributions.Categorical(logits=logits)
    ratio = (policy.log_prob(samples.actions) - samples.log_policy).exp()
    clipped = ratio.clamp(1 - settings.clip, 1 + settings.clip)
    gain = torch.min(ratio * samples.advantages, clipped * samples.advantages)
    errors = ((values.reshape(len(values), -1) - samples.returns) ** 2 / 2).mean(0).sum()
    loss = -gain.mean() - settings.entropy * policy.entropy().mean() + settings.value * errors
    return loss, ((ratio - 1).abs() > settings.clip).double().mean()


@pytest.mark.parametrize("heads", [1, 2])
def test_loss_gradients_equal_autograd(heads: int) -> None:
    generator = torch.Generator().manual_seed(heads)

    def normal(*shape: int) -> Tensor:
        return torch.randn(*shape, dtype=torch.float64, generator=generator)

    size = 40
    logits = normal(size, 5).requires_grad_()
    values = (normal(size) if heads == 1 else normal(size, heads)).requires_grad_()
    actions = torch.randint(0, 5, (size,), generator=generator)
    now = torch.log_softmax(logits.detach(), 1).gather(1, actions[:, None])[:, 0]
    old = now + 0.3 * normal(size)
    samples = Samples(actions, old, normal(size), normal(size, heads))
    settings = PPOSettings(entropy=0.3, value=0.7)
    loss, clipped = plain_loss(logits, values, samples, settings)
    loss.backward()

    d_logits, d_values, terms = loss_gradients(
        logits.detach(), values.detach(), samples, settings, size
    )
    torch.testing.assert_close(d_logits, logits.grad, atol=1e-12, rtol=1e-12)
    torch.testing.assert_close(d_values, values.grad, atol=1e-12, rtol=1e-12)
    policy_loss, entropy, divergence, clip_fraction, *of_values = terms
    whole = policy_loss - 0.3 * entropy + 0.7 * sum(of_values)
    assert whole == pytest.approx(loss.item(), abs=1e-12)
    assert 0.1 < clip_fraction < 0.9
    assert clip_fraction == pytest.approx(clipped.item())
    ratio = (now - old).exp()
    assert divergence == pytest.approx((ratio - 1 - (now - old)).mean().item())


def plain_forward(weights: dict[str, Tensor], seen: Tensor) -> tuple[Tensor, Tensor]:
    """The mazes' network, as PyTorch has it."""
    maps = torch.nn.functional.conv2d(
        seen.double() / 255, weights["conv.weight"], weights["conv.bias"], padding=1
    ).relu()
    hidden = torch.nn.functional.linear(
        maps.permute(0, 2, 3, 1).flatten(1), weights["fc.weight"], weights["fc.bias"]
    ).relu()
    heads = [
        torch.nn.functional.linear(hidden, weights[f"{name}.weight"], weights[f"{name}.bias"])
        for name in ("policy", "value")
    ]
    return heads[0], heads[1]


def plain_update(
    learners: Learners, module: dict[str, Tensor], optimiser: Any, update: int
) -> None:
    """A whole update written out: all actors at once, autograd, PyTorch's Adam."""
    settings, (steps, actors) = learners.settings, learners.actions.shape
    seen = torch.from_numpy(learners.seen)
    with torch.no_grad():
        logits, values = plain_forward(module, seen.flatten(0, 1))
        logits, values = (x.view(steps + 1, actors, -1) for x in (logits, values))
        discounts, weights = map(values.new_tensor, settings.of_streams(learners.streams))
        advantages = torch.zeros_like(values)
        for t in reversed(range(steps)):
            on = (~learners.ends[t]).double()[:, None]
            error = learners.rewards[t] + discounts * on * values[t + 1] - values[t]
            advantages[t] = error + discounts * settings.gae_lambda * on * advantages[t + 1]
        advantages = advantages[:-1]
        returns = (advantages + values[:-1]).flatten(0, 1)
        mixed = (advantages * weights).sum(2).flatten()
        mixed = (mixed - mixed.mean()) / (mixed.std() + 1e-8)
        actions = learners.actions.flatten()
        policy = torch.distributions.Categorical(logits=logits[:-1].flatten(0, 1))
        samples = Samples(actions, policy.log_prob(actions), mixed, returns)
    shards = len(learners.agents)
    share = actors // shards
    for epoch in range(settings.epochs):
        # A shard's sample t·share + n is sample t·actors + shard·share + n of all.
        orders = [Shuffle(SEED, k, steps * share)(update, epoch) for k in range(shards)]
        places = [o // share * actors + k * share + o % share for k, o in enumerate(orders)]
        for parts in zip(*(p.split(settings.minibatch // shards) for p in places), strict=True):
            chosen = torch.cat(parts)
            loss, _ = plain_loss(
                *plain_forward(module, seen[:-1].flatten(0, 1)[chosen]),
                samples.take(chosen),
                settings,
            )
            optimiser.zero_grad()
            loss.backward()
            torch.nn.utils.clip_grad_norm_(list(module.values()), settings.max_gradient_norm)
            optimiser.step()


@pytest.mark.parametrize("shards", [1, 2])
@pytest.mark.parametrize("values", ["one", "two"])
def test_whole_updates_equal_those_written_out_with_autograd(values: Any, shards: int) -> None:
    settings = PPOSettings(n_steps=6, minibatch=8, max_gradient_norm=0.3, values=values)
    learners = Learners(settings, shards=shards, streams=2 if values == "two" else 1)
    module = {
        name: weight.clone().contiguous().requires_grad_()
        for name, weight in learners.whole.named_parameters().items()
    }
    optimiser = torch.optim.Adam(module.values(), lr=1e-3, eps=1e-5)
    start = learners.whole.parameters.clone()
    for update in range(3):
        learners.learn(update)
        plain_update(learners, module, optimiser, update)
        for name, ours in learners.whole.named_parameters().items():
            torch.testing.assert_close(ours, module[name].detach(), atol=1e-10, rtol=1e-10)
    assert (learners.whole.parameters - start).abs().max() > 1e-3


def test_a_game_that_was_cut_off_goes_on_with_both_values_of_its_last_observation() -> None:
    settings = PPOSettings(n_steps=4, minibatch=8, normalise=False)
    learners = Learners(settings, actors=2)
    learners.ends[1, 0] = True
    agent = learners.agents[0]
    last = learners.seen[0, 0]
    seen: dict[bool, Tensor] = {}
    for cut in (False, True):
        learners.cuts = [Cut(1, 0, last, None)] if cut else []
        rollout = Rollout(
            learners.actions,
            learners.rewards,
            *(np.zeros(0),) * 2,
            learners.ends,
            learners.cuts,
            torch.from_numpy(learners.seen[-1]),
            [],
        )
        for t in range(4):
            agent.act(Moment(0, 0.0, logged=False), t, torch.from_numpy(learners.seen[t]))
        estimate = agent.estimate(rollout)
        sums = estimate.send(None)
        with pytest.raises(StopIteration) as end:
            estimate.send(sums)
        seen[cut] = end.value.value[0].returns.view(4, 2, 2)
    values = agent.network.evaluate(torch.from_numpy(np.stack((last, last))))[1][0]
    wanted = torch.tensor([0.999, 0.99]).double() * values
    torch.testing.assert_close(seen[True][1, 0] - seen[False][1, 0], wanted)
    assert torch.equal(seen[True][:, 1], seen[False][:, 1])


def test_processes_change_no_bit_of_weights_vectors_and_columns() -> None:
    settings = PPOSettings(n_steps=8, minibatch=16, learning_rate=1e-2)
    config = RunConfig("KeyHallway", agent="ppo", actors=8, shards=4, learner=settings)
    results = []
    for workers in (1, 2):
        replicas = Replicas(config.resolved().fitted().training(), workers)
        replicas.initialise()
        outcomes = [replicas.update(Moment(k, 1e-2, logged=k == 2)) for k in range(3)]
        results.append(
            (
                {name: array.tobytes() for name, array in replicas.weights().items()},
                {name: array.tobytes() for name, array in replicas.vectors().items()},
                repr([outcome.columns for outcome in outcomes]),
            )
        )
        assert set(outcomes[0].columns) == set(PPO.columns) - set(COLUMNS)  # nothing is imitated
        replicas.close()
    assert results[0] == results[1]


def test_samples_come_back_as_they_were_seen_whatever_their_kind() -> None:
    generator = torch.Generator().manual_seed(0)
    pictures = torch.randint(0, 256, (3, 2, 5, 6, 7), dtype=torch.uint8, generator=generator)
    vectors = torch.rand(3, 2, 4, generator=generator)
    one, several = SeenObservations(3), SeenObservations(3)
    for t in range(3):
        assert torch.equal(one.write(t, pictures[t]), pictures[t])
        several.write(t, {"picture": pictures[t], "compass": vectors[t]})
    chosen = torch.tensor([5, 0, 3])
    assert torch.equal(one.take(chosen), pictures.flatten(0, 1)[chosen])
    taken = several.take(chosen)
    assert isinstance(taken, dict)
    assert torch.equal(taken["picture"], pictures.flatten(0, 1)[chosen])
    assert torch.equal(taken["compass"], vectors.flatten(0, 1)[chosen])


def test_the_order_of_samples_depends_on_seed_update_epoch_and_shard() -> None:
    order = Shuffle(0, 0, 50)(0, 0).tolist()
    assert sorted(order) == list(range(50))
    assert Shuffle(0, 0, 50)(0, 0).tolist() == order
    others = [Shuffle(1, 0, 50)(0, 0), Shuffle(0, 1, 50)(0, 0), Shuffle(0, 0, 50)(1, 0)]
    for other in (*others, Shuffle(0, 0, 50)(0, 1)):
        assert other.tolist() != order
