"""PPO's settings: what has an effect is recorded, what has none is refused."""

from __future__ import annotations

from typing import Any

import pytest

from deepcs.agents.ppo import PPOSettings
from deepcs.runs.config import RunConfig


def ppo(**settings: Any) -> dict[str, Any]:
    return {"learner": PPOSettings(**settings)}


@pytest.mark.parametrize(
    ("settings", "sentence"),
    [
        (ppo(n_steps=0), "Got ppo.n_steps 0; give a whole number from 1 up"),
        (ppo(epochs=0), "Got ppo.epochs 0"),
        (ppo(minibatch=2.5), "Got ppo.minibatch 2.5; give a whole number"),
        (ppo(clip=0.0), "Got ppo.clip 0.0; give a finite number from 1e-06 up"),
        (ppo(gae_lambda=1.5), "Got ppo.gae_lambda 1.5; give a number from 0 to 1"),
        (ppo(gamma_game=1.5), "Got ppo.gamma_game 1.5; give a number from 0 to 1"),
        (ppo(adam_beta2=1.0), "Got ppo.adam_beta2 1.0; give a number from 0 to below 1"),
        (ppo(adam_epsilon=0.0), "Got ppo.adam_epsilon 0.0"),
        (ppo(weight_game=-1.0), "Got ppo.weight_game -1.0"),
        (ppo(values="three"), "Got ppo.values 'three'; choose two or one"),
        (ppo(normalise=1), "Got ppo.normalise 1; choose True or False"),
        (ppo(schedule="cosine"), "choose linear or constant"),
        (ppo(gamma=0.9), "Got ppo.gamma 0.9, which has no effect where ppo.values is 'two'"),
        (
            ppo(values="one", weight_intrinsic=1.0),
            "Got ppo.weight_intrinsic 1.0, which has no effect where ppo.values is 'one'",
        ),
        ({"weight": 0.5}, "Got weight 0.5 for ppo with two values"),
        (ppo(minibatch=300), "Got ppo.minibatch 300 for 16 actors × 128 steps in 1 shards"),
        ({"actors": 6, "shards": 4}, "for 6 actors × 128 steps in 4 shards"),
        ({"actors": 3, "shards": 3}, "a number of shards that divides both minibatch and actors"),
    ],
)
def test_a_bad_setting_is_refused_in_one_sentence(settings: dict[str, Any], sentence: str) -> None:
    config = RunConfig(**{"world": "KeyHallway", "agent": "ppo", **settings})
    with pytest.raises(ValueError, match=r"^Got .*[^.]\.$") as refusal:
        config.resolved()
    assert sentence in str(refusal.value)
    assert "\n" not in str(refusal.value)


def test_what_has_an_effect_is_recorded_and_nothing_else() -> None:
    two = RunConfig("MontezumaRevenge", agent="ppo").resolved()
    learner = two.learner
    assert two.weight == "apart"
    assert (learner.gamma, learner.gamma_game, learner.gamma_intrinsic) == (None, 0.999, 0.99)
    assert (learner.weight_game, learner.weight_intrinsic) == (2, 1)
    one = RunConfig("MontezumaRevenge", agent="ppo", learner=PPOSettings(values="one")).resolved()
    assert (one.weight, one.learner.gamma, one.learner.gamma_game) == (0.25, 0.99, None)
    for config in (one, two):
        assert config.resolved() == config


@pytest.mark.parametrize(("cores", "shards"), [(1, 1), (2, 2), (3, 2), (6, 4), (64, 16)])
def test_as_many_shards_are_chosen_as_cores_that_divide_the_work(
    cores: int, shards: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("deepcs.runs.choices.cores", lambda: cores)
    assert RunConfig("Freeway", agent="ppo").resolved().shards == shards
    assert RunConfig("Freeway").resolved().shards == min(cores, 16)
