"""Learners and networks of the user's own: trained, killed and resumed to the bit, or refused."""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import pytest
import torch
from killing import train_with_placed_kills
from own_parts import ImitatingSettings, Recurrent, ReinforceSettings
from trainee import assert_same_run, train_with_kills

from deepcs.agents.agent import Moment
from deepcs.agents.module import ModuleNetwork
from deepcs.agents.networks import plan_network
from deepcs.agents.ppo import PPOSettings
from deepcs.agents.replicas import Replicas
from deepcs.cli.main import main
from deepcs.envs.make import spaces_of
from deepcs.runs.config import RunConfig
from deepcs.runs.evaluate import evaluate
from deepcs.runs.folder import RunFolder
from deepcs.runs.load import load_run
from deepcs.runs.train import train
from deepcs.runs.trained import load_agent
from deepcs.system.importing import allow

HALLWAY = RunConfig(
    "KeyHallway", steps=1_200, actors=4, shards=2, log_every=300, checkpoint_every=200
)
PPO = PPOSettings(n_steps=10, minibatch=20)
PARTS: dict[str, dict[str, Any]] = {
    "learner": {"agent": "own_parts:Reinforce"},
    "network": {"network": "own_parts:Perceptron"},
    "memory": {"network": "own_parts:Recurrent", "treatment": "no-grid"},
    "both": {"agent": "own_parts:Reinforce", "network": "own_parts:Recurrent"},
    "compass": {"compass": True},
    "two values": {"agent": "ppo", "learner": PPO, "network": "own_parts:TwoValues"},
    "compass, two values": {"agent": "ppo", "learner": PPO, "compass": True},
}


@pytest.fixture(autouse=True)
def _own_parts_are_found(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYTHONPATH", str(Path(__file__).parent))
    assert str(Path(__file__).parent) in sys.path


@pytest.mark.parametrize("part", ["learner", "network", "memory", "compass, two values"])
def test_placed_kills_of_a_run_with_an_own_part_change_nothing(part: str, tmp_path: Path) -> None:
    config = replace(HALLWAY, **PARTS[part])
    train(config, tmp_path / "whole", workers=1)
    train_with_placed_kills(config, tmp_path / "killed", Random(part), most=3)
    assert_same_run(tmp_path / "whole", tmp_path / "killed")
    assert len(evaluate(load_agent(tmp_path / "killed"), games=2, workers=0).games) == 2


@pytest.mark.long
@pytest.mark.parametrize("part", PARTS)
def test_a_killed_run_with_an_own_part_ends_with_the_same_bytes(part: str, tmp_path: Path) -> None:
    config = replace(HALLWAY, **PARTS[part])
    train(config, tmp_path / "whole", workers=1)
    moments = ["while saving", "after a checkpoint"]
    kills, _ = train_with_kills(config, tmp_path / "killed", moments, Random(part), workers=2)
    assert kills == 2
    assert_same_run(tmp_path / "whole", tmp_path / "killed")
    assert len(evaluate(load_agent(tmp_path / "killed"), games=2, workers=0).games) == 2


def test_the_command_line_takes_an_own_learner_with_its_settings_and_columns(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    command = ["train", "KeyHallway", "--steps", "400", "--actors", "4", "--log-every", "200"]
    own = ["--agent", "own_parts:Reinforce", "--reinforce.learning-rate", "0.01"]
    main([*command, *own, "--out", str(tmp_path / "run")])
    logs = load_run(tmp_path / "run")
    assert logs.config.resolved().learner == ReinforceSettings(learning_rate=0.01)
    assert logs.curve["return"].shape == logs.curve["step"].shape
    assert np.isfinite(logs.curve["gradient_norm"]).all()
    with pytest.raises(SystemExit) as refused:
        main([*command, *own, "--a2c.gamma", "0.5", "--out", str(tmp_path / "other")])
    assert refused.value.code == 2


def test_a_setting_of_an_own_learner_is_saved_whatever_it_is_called(tmp_path: Path) -> None:
    learner = ImitatingSettings(imitation=0)
    config = replace(HALLWAY, steps=80, agent="own_parts:Imitating", learner=learner)
    train(config, tmp_path / "run", workers=1)
    assert load_run(tmp_path / "run").config.resolved().learner == learner


def test_memory_is_cleared_where_a_game_ends_and_nowhere_else() -> None:
    spaces = spaces_of("KeyHallway")
    network = ModuleNetwork("own", Recurrent, spaces, envs=3)
    network.initialise(0)
    seen = torch.rand(3, *spaces.observation.shape)
    network.forward(0, seen)
    before = network.memory
    assert before is not None
    network.forget(torch.tensor([False, True, False]))
    assert network.memory is not None
    assert network.memory[1].abs().sum() == 0
    assert torch.equal(network.memory[[0, 2]], before[[0, 2]])


def test_the_gradient_flows_back_through_memory_but_not_past_the_end_of_a_game() -> None:
    spaces = spaces_of("KeyHallway")
    generator = torch.Generator().manual_seed(0)
    seen = torch.rand(3, 2, *spaces.observation.shape, generator=generator)
    ends = torch.tensor([[False, True], [False, False], [False, False]])
    network = ModuleNetwork("own", Recurrent, spaces, envs=2)
    network.initialise(0)
    for t in range(3):
        network.forward(t, seen[t])
        network.forget(ends[t])
    d_logits = torch.randn(6, 4, generator=generator)
    d_values = torch.randn(6, generator=generator)
    network.backward(d_logits, d_values)

    module = Recurrent(spaces.observation, spaces.action)
    module.load_state_dict(network.named(network.parameters))
    outputs = []
    for actor in range(2):
        memory = torch.zeros(1, 24)
        for t in range(3):
            logits, values, memory = module(seen[t, actor : actor + 1], memory)
            memory = torch.zeros(1, 24) if ends[t, actor] else memory
            outputs.append((t * 2 + actor, logits, values))
    loss = sum(
        (logits[0] * d_logits[sample]).sum() + values[0] * d_values[sample]
        for sample, logits, values in outputs
    )
    loss.backward()
    for name, parameter in module.named_parameters():
        torch.testing.assert_close(network.named(network.gradient)[name], parameter.grad)


def test_a_module_with_the_fast_networks_layers_learns_the_same() -> None:
    """The hand-written backward pass against autograd, over whole updates of A2C."""
    fast = replace(HALLWAY, shards=1).resolved().fitted().training()
    slow = replace(fast, network="own_parts:AsFast")
    allow([slow.network])
    first: dict[str, np.ndarray] = {}
    weights = []
    for training in (fast, slow):
        replicas = Replicas(training, workers=1)
        replicas.initialise()
        first = first or replicas.weights()
        for name, weight in replicas.network.named(replicas.network.parameters).items():
            weight.copy_(torch.from_numpy(first[name]))
        for update in range(5):
            replicas.update(Moment(update, 7e-4, logged=False))
        weights.append(replicas.weights())
        replicas.close()
    for name, weight in weights[0].items():
        np.testing.assert_allclose(weights[1][name], weight, atol=2e-6)


@pytest.mark.parametrize(
    ("settings", "sentence"),
    [
        ({"agent": "own_parts:Missing"}, "has no attribute 'Missing'"),
        ({"agent": "no_such_module:Agent"}, "No module named 'no_such_module'"),
        ({"agent": "own_parts:Perceptron"}, "give a class derived from Agent"),
        ({"agent": "own_parts:Unfinished"}, "lacks Settings, columns"),
        ({"agent": "own_parts:Taken"}, "is called 'a2c', which is taken"),
        ({"agent": "own_parts:NoUpdate"}, "lacks update; write update(self, rollout, moment)"),
        ({"agent": "own_parts:OneArgument"}, "arguments are (self, rollout, moment)"),
        (
            {"agent": "own_parts:OtherVectors"},
            "write a classmethod whose arguments are (settings, network, shards)",
        ),
        ({"agent": "own_parts:OneWord"}, "has columns 'return'; give a tuple of names"),
        ({"agent": "own_parts:TakenColumn"}, "a column 'learning_rate', which curve.csv has"),
        ({"agent": "own_parts:Reinforce", "learner": 3}, "give a ReinforceSettings"),
        ({"network": "quick"}, "Got network 'quick'; choose fast, narrow, joint"),
        ({"network": "own_parts:not_a_module"}, "returned str; return a torch.nn.Module"),
        ({"network": "own_parts:no_space"}, "cannot be called with the two spaces (too many"),
        (
            {"network": "own_parts:one_space"},
            "give a function of (observation_space, action_space)",
        ),
        ({"network": "os:abort"}, "Got network 'os:abort', which cannot be called"),
        ({"network": "own_parts:Noisy"}, "has a Dropout"),
        ({"network": "own_parts:Perceptron", "agent": "acktr"}, "which needs the layers"),
        (
            {"network": "own_parts:Perceptron", "agent": "ppo"},
            "values (1,); return (batch, 4) and (batch, 2), or train with one value",
        ),
        (
            {"network": "own_parts:RecurrentAsFast", "agent": "ppo"},
            "which has memory, for ppo",
        ),
        ({"network": "fast", "compass": True}, "it takes one array: choose joint"),
        ({"world": "Freeway", "compass": True}, "compass"),
    ],
)
def test_parts_that_cannot_be_used_are_refused_in_one_sentence(
    settings: dict[str, Any], sentence: str, tmp_path: Path
) -> None:
    config = replace(HALLWAY, **settings)
    with pytest.raises(ValueError, match=r"\.$") as refusal:
        train(config, tmp_path / "run")
    assert sentence in str(refusal.value)
    assert "\n" not in str(refusal.value)
    assert not (tmp_path / "run").exists()


@pytest.mark.parametrize(
    ("agent", "sentence"),
    [
        ("NoGenerator", "NoGenerator returned dict; write a generator"),
        ("OtherColumns", "returned loss, but its columns are return, gradient_norm"),
        ("NoColumns", "ended with NoneType; return a dict"),
    ],
)
def test_an_update_of_the_wrong_shape_is_refused_where_it_first_ends(
    agent: str, sentence: str, tmp_path: Path
) -> None:
    with pytest.raises(ValueError, match=r"^The update of .*\.$") as refusal:
        train(replace(HALLWAY, agent=f"own_parts:{agent}"), tmp_path / "run", workers=1)
    assert sentence in str(refusal.value)
    assert not RunFolder(tmp_path / "run").holds_run


def test_a_vector_called_like_one_of_deepcs_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=r"a vector 'parameters', .*; rename it\.$"):
        train(replace(HALLWAY, agent="own_parts:TakenVector"), tmp_path / "run", workers=1)
    assert not RunFolder(tmp_path / "run").holds_run


def test_a_learner_of_the_wrong_shape_is_no_bug_of_deepcs(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    command = ["train", "KeyHallway", "--steps", "80", "--out", str(tmp_path / "run"), "--agent"]
    for agent in ("NoUpdate", "NoGenerator", "OtherVectors", "OtherColumns"):
        with pytest.raises(SystemExit) as refused:
            main([*command, f"own_parts:{agent}"])
        assert refused.value.code == 2
        assert f"own_parts:{agent}" in capsys.readouterr().err


def test_an_update_may_return_the_generator_of_another() -> None:
    config = replace(HALLWAY, agent="own_parts:Delegates").resolved().fitted()
    replicas = Replicas(config.training(), workers=1)
    columns = replicas.update(Moment(0, 1e-3, logged=False)).columns
    replicas.close()
    assert tuple(columns) == config.training().agent_type.columns


def test_logits_of_the_wrong_shape_are_named() -> None:
    spaces = spaces_of("KeyHallway")
    allow(["own_parts:Wide"])
    network = plan_network("own_parts:Wide", spaces).build(envs=1, steps=1)
    with pytest.raises(ValueError, match=r"gave logits \(1, 8\).*return \(batch, 4\)"):
        network.forward(0, torch.zeros(1, *spaces.observation.shape))


def test_shards_that_fall_out_of_step_are_told() -> None:
    config = replace(HALLWAY, agent="own_parts:OutOfStep").resolved().fitted()
    replicas = Replicas(config.training(), workers=1)
    with pytest.raises(RuntimeError, match="fell out of step"):
        replicas.update(Moment(0, 1e-3, logged=False))
    replicas.close()
