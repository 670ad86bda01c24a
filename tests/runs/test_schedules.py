"""Settings that change over a run: β of the reward mix, PPO's entropy and weight of I."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from random import Random
from typing import Any

import pytest
from killing import train_with_placed_kills
from trainee import assert_same_run

from deepcs import make_vec
from deepcs.agents.a2c import A2CSettings
from deepcs.agents.ppo import PPOSettings
from deepcs.curiosity.reward import check_run_weight, weight_at
from deepcs.runs.config import RunConfig
from deepcs.runs.load import load_run
from deepcs.runs.train import resume, train
from deepcs.system.schedule import number_at

HALLWAY = RunConfig("KeyHallway", steps=400, actors=4, log_every=20, checkpoint_every=100)


def test_a_weight_goes_linearly_from_the_one_to_the_other() -> None:
    weights = [weight_at("0.25:0.75", share) for share in (0, 0.25, 0.5, 1)]
    assert weights == [0.25, 0.375, 0.5, 0.75]
    assert weight_at("1:0", 0.75) == 0.25
    for constant in (0.25, "equal", "sum:2"):
        assert weight_at(constant, 0.5) == constant
    assert check_run_weight(".25:1e-1") == "0.25:0.1"
    assert number_at(0.01, 0.5) == 0.01


def test_segments_decide_the_weight_of_each_step(tmp_path: Path) -> None:
    config = replace(HALLWAY, agent="own_parts:Told", learner=A2CSettings(), weight="0:1")
    train(config, tmp_path)
    resume(tmp_path, steps=800)
    curve = load_run(tmp_path).curve
    steps = range(0, 800, 20)
    assert list(curve["progress"]) == [s / (400 if s < 400 else 800) for s in steps]
    assert max(curve["difference"]) < 1e-6


SCHEDULED: dict[str, dict[str, Any]] = {
    "a2c": {"weight": "0.25:0.9"},
    "ppo": {
        "agent": "ppo",
        "learner": PPOSettings(
            n_steps=10, minibatch=20, entropy="0.1:0.001", weight_intrinsic="1:0.1"
        ),
    },
}


@pytest.mark.parametrize("agent", SCHEDULED)
def test_a_schedule_is_resumed_and_extended_to_the_bit(agent: str, tmp_path: Path) -> None:
    config = replace(HALLWAY, **SCHEDULED[agent])
    train(config, tmp_path / "at once")
    train_with_placed_kills(config, tmp_path / "killed", Random(agent), most=2)
    for name in ("at once", "killed"):
        resume(tmp_path / name, steps=800)
    assert_same_run(tmp_path / "at once", tmp_path / "killed")
    train(replace(config, steps=800), tmp_path / "whole")
    with pytest.raises(AssertionError):  # the first half went towards another end
        assert_same_run(tmp_path / "at once", tmp_path / "whole", but=("config.json",))


@pytest.mark.parametrize(
    ("settings", "sentence"),
    [
        ({"weight": "0.25:1.5"}, "Got reward weight '0.25:1.5'; give β at the start and at the"),
        ({"weight": "0.25:"}, "such as '0.25:0.9'"),
        ({"weight": "0.1:0.2:0.3"}, "such as '0.25:0.9'"),
        ({"weight": "0.25:0.9", "agent": "ppo"}, "for ppo with two values, which weigh"),
        (
            {"agent": "ppo", "learner": PPOSettings(entropy="0.1-0.2")},
            "Got ppo.entropy '0.1-0.2'; give a number from 0 up, or two for the start and the end",
        ),
        (
            {"agent": "ppo", "learner": PPOSettings(weight_intrinsic="1:-1")},
            "Got ppo.weight_intrinsic '1:-1'",
        ),
    ],
)
def test_a_schedule_that_cannot_be_meant_is_refused(
    settings: dict[str, Any], sentence: str
) -> None:
    with pytest.raises(ValueError, match=sentence):
        replace(HALLWAY, **settings).resolved()


def test_an_environment_that_knows_of_no_run_refuses_a_schedule() -> None:
    with pytest.raises(ValueError, match=r"Got reward weight '0\.25:0\.9'"):
        make_vec("KeyHallway", num_envs=1, weight="0.25:0.9")
