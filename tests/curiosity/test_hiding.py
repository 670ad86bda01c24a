"""A mix that hides one of its rewards wholly is noticed, and no other."""

from __future__ import annotations

import re

import gymnasium
import numpy as np
import pytest

from deepcs.curiosity.hiding import STEPS, MixWatch, Seen, hidden
from deepcs.curiosity.reward import Weight, mix_rewards

NOVELTY = np.arange(200) % 4 == 0  # a new tile every fourth step
PENDULUM = -np.linspace(1.2, 16, 200)


def found(game: np.ndarray, weight: Weight, *, paid: bool = True) -> str | None:
    watch = MixWatch(weight, paid=paid)
    intrinsic = NOVELTY.astype(float)
    watch.look(game, intrinsic, mix_rewards(game, intrinsic, weight, paid=paid))
    return hidden(weight, [watch.seen])


def test_a_clip_that_has_no_room_for_curiosity_is_noticed() -> None:
    sentence = found(np.ones(200), "equal")
    assert sentence is not None
    assert sentence.startswith(
        "The reward mix 'equal' hides the intrinsic reward here: R of 1 to 1"
    )
    assert found(np.ones(200), "equal", paid=False) is None


@pytest.mark.parametrize("paid", [True, False])
def test_a_clip_that_makes_all_rewards_alike_is_noticed(paid: bool) -> None:
    sentence = found(PENDULUM, "equal", paid=paid)
    assert sentence is not None
    assert "hides the game's reward here: R of -16 to -1.2 is clipped to -1" in sentence
    assert found(PENDULUM, 0.5, paid=paid) is not None


def played(name: str) -> np.ndarray:
    """R of 1,000 random steps."""
    env = gymnasium.make(name)
    env.action_space.seed(0)
    env.reset(seed=0)
    rewards = []
    for _ in range(1_000):
        _, reward, terminated, truncated, _ = env.step(env.action_space.sample())
        rewards.append(float(reward))
        if terminated or truncated:
            env.reset()
    return np.array(rewards)


def test_what_is_clipped_in_most_steps_is_noticed_in_known_worlds() -> None:
    sentence = hidden("equal", [watched(played("Pendulum-v1"))])
    assert sentence is not None
    assert re.search(r"R of -1\d\.\d+ to -0\.\d+ is clipped to -1 in [89]\d% of the st", sentence)
    assert hidden("equal", [watched(played("Taxi-v4"))]) is not None
    assert hidden("equal", [watched(played("MountainCar-v0"))]) is None


def watched(game: np.ndarray) -> Seen:
    watch = MixWatch("equal", paid=False)
    watch.look(game, np.zeros_like(game), np.clip(game, -1, 1))
    return watch.seen


@pytest.mark.parametrize(
    ("rewards", "said"),
    [
        ([-1.0] * 70 + [-10.0] * 29 + [20.0], "R of -10 to 20 is clipped to -1 in 99% of the st"),
        ([-5.0] * 80 + [-0.5] * 20, None),  # one reward stays one reward
        ([-5.0, -6.0] * 40 + [-0.5] * 20, "is clipped to -1 in 80% of the steps"),
        ([-5.0, -6.0] * 39 + [-0.5] * 22, None),
        ([3.0, 4.0] * 50, "R of 3 to 4 is clipped to 1 in 100% of the steps"),
        ([10.0, 20.0, 0.0, 0.0] * 25, None),  # a score now and then
        ([-1.0] * 99 + [100.0], None),
    ],
)
def test_a_reward_is_hidden_where_different_ones_become_one_in_four_of_five_steps(
    rewards: list[float], said: str | None
) -> None:
    sentence = hidden("equal", [watched(np.array(rewards))])
    assert (sentence is None) == (said is None)
    assert said is None or said in str(sentence)


@pytest.mark.parametrize("weight", ["sum:1", "sum:0", 0.0, 1.0])
def test_what_was_asked_for_is_no_news(weight: Weight) -> None:
    assert found(PENDULUM, weight) is None
    assert found(np.ones(200), weight) is None


@pytest.mark.parametrize("weight", ["equal", 0.25])
def test_atari_like_rewards_hide_nothing(weight: Weight) -> None:
    assert found(np.where(np.arange(200) % 50 == 1, 100.0, 0.0), weight) is None
    assert found(np.zeros(200), weight) is None


def test_one_step_in_which_curiosity_shows_is_enough() -> None:
    game = np.ones(200)
    game[4] = 0
    assert found(game, "equal") is None


def test_the_parts_of_many_watches_are_one() -> None:
    watches = [MixWatch("equal"), MixWatch("equal")]
    for watch, reward in zip(watches, (1.0, 0.0), strict=True):
        game, intrinsic = np.full(100, reward), np.ones(100)
        watch.look(game, intrinsic, mix_rewards(game, intrinsic, "equal"))
    assert hidden("equal", [watches[0].seen]) is not None
    assert hidden("equal", [watch.seen for watch in watches]) is None


def test_only_the_first_steps_are_looked_at() -> None:
    watch = MixWatch("equal")
    many = np.ones(STEPS)
    assert watch.look(many, many, many)
    assert not watch.look(np.zeros(9), np.ones(9), np.ones(9))
    assert watch.seen.low == 1
