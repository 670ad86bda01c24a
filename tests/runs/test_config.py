"""Settings: choices made, bad ones refused in one sentence."""

from __future__ import annotations

import json
import math
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from deepcs.agents.a2c import A2CSettings
from deepcs.agents.acktr import ACKTRSettings
from deepcs.runs.config import RunConfig
from deepcs.runs.saved_config import from_json, to_json
from deepcs.runs.treatment import TREATMENTS, treatment


def acktr(**numbers: Any) -> dict[str, Any]:
    return {"agent": "acktr", "learner": ACKTRSettings(**numbers)}


@pytest.mark.parametrize(
    ("settings", "sentence"),
    [
        ({"treatment": "depcs"}, "Got treatment 'depcs'; the nearest is deepcs"),
        ({"treatment": "no_grid"}, "the nearest is no-grid"),
        ({"protocol": "papper"}, "'papper'"),
        ({"world": "Montezumba"}, "the nearest is MontezumaRevenge"),
        ({"world": "KeyHalway"}, "the nearest is KeyHallway"),
        ({"steps": 0}, "Got steps 0; give a whole number from 1 up"),
        ({"steps": -80}, "Got steps -80"),
        ({"steps": 1e6}, "Got steps 1000000.0; give a whole number"),
        ({"actors": 0}, "Got actors 0"),
        ({"seed": -1}, "Got seed -1; give a whole number from 0 up"),
        ({"shards": -1}, "Got shards -1"),
        ({"shards": 17}, "Got shards 17 for 16 actors"),
        ({"network": "nope"}, "Got network 'nope'; choose fast, narrow, joint"),
        ({"threads": 0}, "Got threads 0"),
        ({"log_every": 0}, "Got log_every 0"),
        ({"checkpoint_every": -1}, "Got checkpoint_every -1"),
        ({"milestone_every": 0}, "Got milestone_every 0"),
        ({"max_frames": 0}, "Got max_frames 0"),
        ({"grid": "planes"}, "Got grid 'planes'; choose plane or stacked"),
        ({"weight": 1.5}, "Got reward weight 1.5"),
        ({"weight": "even"}, "Got reward weight 'even'"),
        ({"tile": 0}, "0"),
        ({"device": "tpu"}, "Got device 'tpu'; choose auto, cpu or cuda"),
        ({"learner": A2CSettings(n_steps=0)}, "Got a2c.n_steps 0"),
        ({"learner": A2CSettings(gamma=math.nan)}, "Got a2c.gamma nan; give a number from 0 to 1"),
        ({"learner": A2CSettings(learning_rate=-1e-3)}, "Got a2c.learning_rate -0.001"),
        ({"learner": A2CSettings(learning_rate=1e39)}, "Got a2c.learning_rate 1e+39"),
        ({"learner": A2CSettings(schedule="cosine")}, "choose linear or constant"),  # type: ignore[arg-type]
        ({"agent": "dqn"}, "Got agent 'dqn'; choose one of a2c, acktr, ppo"),
        (
            acktr(refresh_every=0),
            "Got acktr.refresh_every 0; give a whole",
        ),
        (
            acktr(decay=1.0),
            "Got acktr.decay 1.0; give a number from 0 to",
        ),
        ({"seed": 10**20}, "; give 9,223,372,036,854,775,807 at most"),
        ({"learner": A2CSettings(gamma=3.0)}, "Got a2c.gamma 3.0; give a number from 0 to 1"),
        (
            acktr(damping=0.0),
            "Got acktr.damping 0.0; give a finite",
        ),
        (
            acktr(damping=1e-38),
            "Got acktr.damping 1e-38; give a finite",
        ),
        (
            acktr(kl_clip=0.0),
            "Got acktr.kl_clip 0.0; give a finite",
        ),
        (acktr(kl_clip=-1.0), "Got acktr.kl_clip -1.0"),
    ],
)
def test_a_bad_setting_is_refused_in_one_sentence(settings: dict[str, Any], sentence: str) -> None:
    config = RunConfig(**{"world": "Freeway", **settings})
    with pytest.raises(ValueError, match=r"^Got .*[^.]\.$") as refusal:
        config.resolved()
    assert sentence in str(refusal.value)
    assert "\n" not in str(refusal.value)


@given(steps=st.integers(1, 10**9), actors=st.integers(1, 64), rollout=st.integers(1, 40))
def test_steps_are_rounded_up_to_whole_updates(steps: int, actors: int, rollout: int) -> None:
    config = RunConfig(
        "KeyHallway", steps=steps, actors=actors, learner=A2CSettings(n_steps=rollout)
    )
    rounded = config.resolved().steps
    assert rounded % (actors * rollout) == 0
    assert steps <= rounded < steps + actors * rollout


def test_the_learning_rate_falls_in_a_line_to_zero_or_stays() -> None:
    linear = RunConfig("KeyHallway", steps=100, learner=A2CSettings(learning_rate=8e-4))
    assert linear.learning_rate(0, 100) == 8e-4
    assert linear.learning_rate(75, 100) == pytest.approx(2e-4)
    assert linear.learning_rate(105, 100) == 0
    constant = A2CSettings(learning_rate=8e-4, schedule="constant")
    assert replace(linear, learner=constant).learning_rate(75, 100) == 8e-4


def test_choices_are_made_once() -> None:
    config = RunConfig("montezuma_revenge", steps=1).resolved()
    assert config.world == "MontezumaRevenge"
    assert config.steps == 80
    assert config.shards >= 1
    assert config.weight == 0.25
    assert (config.tile, config.max_frames) == (16, 400_000)
    assert isinstance(config.learner, A2CSettings)
    assert config.checkpoint_every % 80 == 0
    assert config.resolved() == config


def test_a_weight_of_the_world_stays_where_nothing_intrinsic_is_paid() -> None:
    plain = RunConfig("MontezumaRevenge", treatment="plain").resolved()
    assert plain.weight == 0.25
    assert plain.resolved() == plain


def test_settings_come_back_from_json_as_they_went() -> None:
    config = RunConfig("Freeway", weight=0.3, learner=A2CSettings(gamma=0.9), max_frames=100)
    for each in (config, config.resolved(), replace(config, weight="equal")):
        assert from_json(json.loads(json.dumps(to_json(each)))) == each


def test_the_papers_treatments_are_the_papers() -> None:
    papers = [each for each in TREATMENTS.values() if each.is_of_the_paper]
    lines = {(t.name, t.sees_grid, t.paid, t.lifetime) for t in papers}
    assert lines == {
        ("deepcs", True, True, "game"),
        ("plain", False, False, "game"),
        ("no-grid", False, True, "game"),
        ("no-intrinsic", True, False, "game"),
        ("never-reset", True, True, "never"),
        ("life-reset", True, True, "life"),
    }
    assert treatment("a2c").name == "plain"  # as 0.1 called it


def test_a_treatment_without_grid_shows_none_whatever_the_grid_setting() -> None:
    shown = [
        RunConfig("Freeway", treatment=name, grid="stacked").actor_settings()["grid"]
        for name in ("deepcs", "plain", "no-grid", "no-intrinsic")
    ]
    assert shown == ["stacked", "none", "none", "stacked"]


def test_what_an_update_takes_counts_the_activations_of_what_is_kept_alone(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("deepcs.system.limits.machine_memory", lambda: 2**30)
    RunConfig.from_preset("fast", "Freeway", shards=1).resolved().fitted()  # a minibatch's
    whole = RunConfig("Freeway", actors=64, learner=A2CSettings(n_steps=128), shards=1).resolved()
    with pytest.raises(ValueError, match=r"64 actors and a2c\.n_steps 128, which take 3 GB"):
        whole.fitted()
