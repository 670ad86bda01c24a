"""Self-imitation: which episodes are remembered, the loss's gradient, and that it all resumes."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from killing import train_with_placed_kills
from ppo_learners import Learners
from torch import Tensor
from trainee import assert_same_run, train_with_kills

from deepcs.agents import episodes
from deepcs.agents.a2c import A2CSettings
from deepcs.agents.agent import Moment
from deepcs.agents.episodes import EpisodeMemory
from deepcs.agents.imitation import VALUE, imitation_gradients
from deepcs.agents.ppo import PPOSettings
from deepcs.agents.replicas import Replicas
from deepcs.agents.samples import SeenObservations
from deepcs.runs.config import RunConfig
from deepcs.runs.load import load_run
from deepcs.runs.train import train

# Rollouts as long as the longest game: each ends some.
PPO = PPOSettings(n_steps=160, epochs=1, minibatch=640, imitation=2, imitation_samples=640)
HALLWAY = RunConfig(
    "KeyHallway",
    actors=8,
    shards=4,
    agent="ppo",
    learner=PPO,
    steps=3_840,
    log_every=1_280,
    checkpoint_every=1_280,
)


class Scribe:
    """A memory of so many samples, and the rollouts that it is told of: rows of rewards."""

    def __init__(self, actors: int, samples: int, gamma: float = 0.5) -> None:
        self.actors, self.time = actors, 0
        self.seen = SeenObservations(10)
        self.memory = EpisodeMemory(self.seen, actors, samples, gamma)

    def tell(self, rewards: list[list[float]], ends: list[list[int]]) -> None:
        """(T, N) each; what is seen is the number of the step, the action a tenth of it."""
        steps = np.arange(self.time, self.time + len(rewards))
        self.time += len(rewards)
        for t, step in enumerate(steps):
            picture = torch.full((self.actors, 2, 3, 3), int(step), dtype=torch.uint8)
            picture[:, 1] += torch.arange(self.actors, dtype=torch.uint8)[:, None, None] * 100
            self.seen.write(t, picture)
        actions = np.repeat(steps[:, None] // 10, self.actors, 1)
        self.memory.add(actions, np.array(rewards, np.float32), np.array(ends, bool))

    def all_samples(self) -> list[tuple[int, int, int, float]]:
        """Step, actor, action and return of each sample in memory."""
        count = len(self.memory)
        observations, actions, returns = self.memory.draw((np.arange(count) + 0.5) / count)
        assert isinstance(observations, Tensor)
        step, shifted = observations[:, 0, 0, 0].int(), observations[:, 1, 2, 2].int()
        return list(
            zip(
                *(step.tolist(), ((shifted - step) // 100).tolist()),
                *(actions.tolist(), returns.tolist()),
                strict=True,
            )
        )


def test_returns_reach_back_over_rollouts_and_steps_after_the_last_reward_are_left_out() -> None:
    scribe = Scribe(actors=2, samples=100)
    scribe.tell([[0, 0], [0, 0], [1, 0]], [[0, 0], [0, 1], [0, 0]])
    assert not len(scribe.memory)  # nothing has ended that was rewarded
    scribe.tell([[0, 1], [2, 0], [0, 0]], [[0, 0], [0, 1], [1, 0]])
    # Actor 0's rewards are 0 0 1 0 2 0, actor 1's second episode has 0 1 0; by halves:
    assert scribe.all_samples() == [
        *((2, 1, 0, 0.5), (3, 1, 0, 1.0)),
        *((0, 0, 0, 0.375), (1, 0, 0, 0.75), (2, 0, 0, 1.5), (3, 0, 0, 1.0), (4, 0, 0, 2.0)),
    ]
    assert scribe.memory.scores == [1.0, 3.0]


def test_the_best_are_kept_and_of_equals_the_newest() -> None:
    scribe = Scribe(actors=1, samples=3)
    for reward in (2, 1, 3, 2, 1, 2):
        scribe.tell([[reward]], [[1]])
    assert scribe.memory.scores == [2.0, 2.0, 3.0]
    assert [sample[0] for sample in scribe.all_samples()] == [3, 5, 2]


def test_of_a_long_episode_the_steps_before_its_last_reward_are_kept(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(episodes, "WINDOW", 4)
    scribe = Scribe(actors=2, samples=100)
    for k in range(4):
        scribe.tell([[0, 0], [0, 0], [1, 0]], [[0, 0], [0, 0], [k == 3, 0]])
    assert [sample[:2] for sample in scribe.all_samples()] == [(k, 0) for k in (8, 9, 10, 11)]
    assert scribe.memory.scores == [4.0]  # what was dropped counts too


def test_a_reward_is_remembered_however_long_the_episode_goes_on(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(episodes, "WINDOW", 4)
    scribe = Scribe(actors=1, samples=100)
    scribe.tell([[0], [0], [1]], [[0], [0], [0]])
    for _ in range(5):
        scribe.tell([[0]] * 5, [[0]] * 5)
    scribe.tell([[0]], [[1]])
    assert scribe.all_samples() == [(0, 0, 0, 0.25), (1, 0, 0, 0.5), (2, 0, 0, 1.0)]


def test_a_reward_long_after_another_is_remembered_in_its_place(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(episodes, "WINDOW", 2)
    scribe = Scribe(actors=1, samples=100)
    scribe.tell([[0], [1]], [[0], [0]])
    scribe.tell([[0]] * 5, [[0]] * 5)
    scribe.tell([[2], [0]], [[0], [1]])
    assert [sample[0] for sample in scribe.all_samples()] == [6, 7]
    assert scribe.memory.scores == [3.0]


@settings(max_examples=30, deadline=None)
@given(seed=st.integers(0, 2**32), samples=st.integers(2, 40), kept=st.booleans())
def test_a_memory_restored_from_its_arrays_goes_on_as_it_would_have(
    seed: int, samples: int, kept: bool
) -> None:
    rng = np.random.default_rng(seed)
    scribes = [Scribe(2, samples), Scribe(2, samples)]

    def tell(which: list[Scribe]) -> None:
        rewards, ends = rng.integers(-1, 2, (6, 2)).tolist(), (rng.random((6, 2)) < 0.2).tolist()
        for scribe in which:
            scribe.tell(rewards, ends)

    for _ in range(3):
        tell(scribes[:1])
    scribes[1].time = scribes[0].time
    scribes[1].memory.from_arrays(scribes[0].memory.to_arrays(), games_go_on=True)
    if kept:
        tell(scribes)
    first, second = (scribe.memory.to_arrays() for scribe in scribes)
    assert first.keys() == second.keys()
    for name, array in first.items():
        np.testing.assert_array_equal(array, second[name], name)
    assert len(scribes[0].memory) <= samples


def test_games_that_do_not_go_on_end_what_is_under_way() -> None:
    first, second = Scribe(1, 10), Scribe(1, 10)
    first.tell([[1], [1]], [[1], [0]])
    second.memory.from_arrays(first.memory.to_arrays(), games_go_on=False)
    second.time = 2
    second.tell([[0], [0]], [[0], [1]])
    assert second.memory.scores == [1.0]


def test_of_two_rewards_the_games_is_remembered() -> None:
    numbers = PPOSettings(n_steps=3, epochs=1, minibatch=6, gamma_game=0.5, imitation=1)
    learners = Learners(numbers, actors=2)
    game = [[0.0, 0.0], [1.0, 0.0], [0.0, 2.0]]
    learners.rewards = torch.stack((torch.tensor(game), torch.full((3, 2), 5.0)), 2).double()
    learners.ends = torch.tensor([[False, False], [False, False], [True, True]])
    learners.learn(0)
    held = learners.agents[0].remembered()
    assert held["scores"][:2].tolist() == [1.0, 2.0]
    assert held["numbers"].tolist() == [0.5, 1.0, 0.5, 1.0, 2.0]  # returns, up to the last reward


@pytest.mark.parametrize("values", [1, 2])
def test_the_gradient_is_autograds(values: int) -> None:
    generator = torch.Generator().manual_seed(values)
    logits = torch.randn(12, 5, generator=generator, dtype=torch.float64, requires_grad=True)
    shape = (12,) if values == 1 else (12, values)
    expected = torch.randn(shape, generator=generator, dtype=torch.float64, requires_grad=True)
    actions = torch.randint(5, (12,), generator=generator)
    returns = torch.randn(12, generator=generator, dtype=torch.float64)
    first = expected if values == 1 else expected[:, 0]
    gains = (returns - first).clamp_min(0)
    chosen = torch.log_softmax(logits, 1)[torch.arange(12), actions]
    loss = (gains.detach() * -chosen + VALUE * gains**2 / 2).sum() / 24
    loss.backward()
    with torch.no_grad():
        d_logits, d_values, means = imitation_gradients(logits, expected, actions, returns, 24)
    assert 0 < int((gains > 0).sum()) < 12
    torch.testing.assert_close(d_logits, logits.grad, rtol=0, atol=1e-12)
    torch.testing.assert_close(d_values, expected.grad, rtol=0, atol=1e-12)
    assert means[0] == pytest.approx(loss.item(), abs=1e-12)
    assert means[1] == float((gains > 0).sum()) / 24


def test_it_makes_what_was_better_than_expected_likelier_and_nothing_else() -> None:
    logits, values = torch.zeros(2, 3), torch.tensor([0.0, 0.9])
    d_logits, d_values, means = imitation_gradients(
        logits, values, torch.tensor([1, 2]), torch.tensor([0.6, 0.3]), 2
    )
    torch.testing.assert_close(d_logits, torch.tensor([[0.1, -0.2, 0.1], [0.0, 0.0, 0.0]]))
    torch.testing.assert_close(d_values, torch.tensor([-0.003, 0.0]))
    assert means[1] == 0.5


def bits(config: RunConfig, workers: int) -> tuple[Any, ...]:
    replicas = Replicas(config.resolved().fitted().training(), workers)
    replicas.initialise()
    outcomes = [replicas.update(Moment(k, 1e-2, logged=k == 1)) for k in range(2)]
    result = (
        {name: array.tobytes() for name, array in replicas.weights().items()},
        {name: array.tobytes() for name, array in replicas.vectors().items()},
        repr([outcome.columns for outcome in outcomes]),
    )
    replicas.close()
    assert outcomes[-1].columns["remembered"] > 0
    return result


# With one value I is imitated too, so that there is something to remember from the first game on.
MIXED = {
    "ppo": replace(HALLWAY, learner=replace(PPO, values="one")),
    "a2c": replace(
        HALLWAY, agent="a2c", learner=A2CSettings(n_steps=160, imitation=2, imitation_samples=640)
    ),
}


@pytest.mark.long
@pytest.mark.parametrize("agent", MIXED)
def test_processes_change_no_bit(agent: str) -> None:
    one = bits(MIXED[agent], 1)
    assert one == bits(MIXED[agent], 2)
    assert one == bits(MIXED[agent], 4)


@pytest.mark.long
@pytest.mark.parametrize("agent", MIXED)
def test_a_run_killed_while_it_remembers_ends_with_the_same_bytes(
    agent: str, tmp_path: Path
) -> None:
    train(MIXED[agent], tmp_path / "whole", workers=1)
    train_with_placed_kills(MIXED[agent], tmp_path / "killed", Random(1), most=3)
    assert_same_run(tmp_path / "whole", tmp_path / "killed")
    assert load_run(tmp_path / "whole").curve["remembered"][-2] > 0


@pytest.mark.long
@pytest.mark.parametrize("processes", [1, 2, 4])
def test_killed_atari_runs_that_imitate_end_with_the_same_bytes(
    processes: int, tmp_path: Path
) -> None:
    config = replace(MIXED["ppo"], world="MontezumaRevenge", max_frames=60)
    train(config, tmp_path / "whole", workers=1)
    moments, rng = ["while saving", "after a checkpoint"], Random(processes)
    kills, _ = train_with_kills(config, tmp_path / "killed", moments, rng, workers=processes)
    assert kills == 2
    assert_same_run(tmp_path / "whole", tmp_path / "killed")


@pytest.mark.parametrize(
    ("learner", "sentence"),
    [
        ({"imitation": -1}, "Got ppo.imitation -1"),
        ({"imitation": 1.5}, "Got ppo.imitation 1.5; give a whole number from 0 up"),
        ({"imitation": 0}, "Got ppo.imitation_samples 640, which has no effect"),
        ({"imitation_samples": 0}, "Got ppo.imitation_samples 0; give a whole number from 1"),
        ({"imitation_samples": 7}, "Got ppo.imitation_samples 7 for 8 actors; give 8 or more"),
    ],
)
def test_imitation_that_cannot_be_meant_is_refused(learner: dict[str, Any], sentence: str) -> None:
    with pytest.raises(ValueError, match=sentence):
        replace(HALLWAY, learner=replace(PPO, **learner)).resolved()


def test_a_network_with_memory_is_refused() -> None:
    config = replace(MIXED["a2c"], network="own_parts:Recurrent")
    with pytest.raises(ValueError, match=r"a2c\.imitation for network .* which has memory"):
        config.resolved().fitted()
