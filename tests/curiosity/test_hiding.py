"""A mix that hides one of its rewards wholly is noticed, and no other."""

from __future__ import annotations

import numpy as np
import pytest

from deepcs.curiosity.hiding import STEPS, MixWatch, hidden
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
