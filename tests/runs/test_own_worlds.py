"""Training in environments that are not ours: what is refused, what is said, what is recorded."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
import pytest
import torch

from deepcs import CuriosityWrapper, Position, load_run
from deepcs.agents.a2c import A2CSettings
from deepcs.agents.ppo import PPOSettings
from deepcs.runs.config import RunConfig
from deepcs.runs.progress import Silence, Status
from deepcs.runs.train import train
from deepcs.runs.trained import TrainedAgent, load_agent

HERE = __name__


def cart(
    grid: bool = True, weight: float | str | None = None, **settings: Any
) -> gymnasium.Env[Any, Any]:
    """The cart's place and the pole's tilt are tiles."""
    return CuriosityWrapper(
        gymnasium.make("CartPole-v1"),
        locate=lambda env, observation, info: Position(observation[0], observation[2]),
        tile=(0.05, 0.02),
        grid=grid,
        shape=(21, 21),
        weight=weight,
        **settings,
    )


def weighed_cart(grid: bool = True) -> gymnasium.Env[Any, Any]:
    return cart(grid, weight=0.5)


def blind_cart() -> gymnasium.Env[Any, Any]:
    return cart(grid=False)


def lost_cart(grid: bool = True) -> gymnasium.Env[Any, Any]:
    steps = iter(range(30))
    return CuriosityWrapper(
        gymnasium.make("CartPole-v1"), locate=lambda *_: (next(steps), 0), grid=grid, shape=(9, 9)
    )


class Paying(gymnasium.Env[np.ndarray, int]):
    """Pays 1 in every step, and always looks the same."""

    observation_space = gymnasium.spaces.Box(0, 1, (1,), np.float32)
    action_space = gymnasium.spaces.Discrete(2)

    def reset(self, *, seed: int | None = None, options: Any = None) -> tuple[np.ndarray, Any]:
        super().reset(seed=seed)
        return np.ones(1, np.float32), {}

    def step(self, action: int) -> tuple[np.ndarray, float, bool, bool, dict[str, Any]]:
        return np.ones(1, np.float32), 1.0, False, False, {}


def cut_short() -> gymnasium.Env[Any, Any]:
    return gymnasium.wrappers.TimeLimit(Paying(), 4)


class Heard(Silence):
    def __init__(self) -> None:
        self.said: list[str] = []

    def show(self, status: Status) -> None:
        return

    def say(self, text: str) -> None:
        self.said.append(text)


def short(world: str, **settings: Any) -> RunConfig:
    return RunConfig(world, steps=400, actors=2, **settings)


def hidden_rewards(said: list[str]) -> list[str]:
    return [text for text in said if text.startswith("The reward mix")]


def test_a_mix_that_hides_curiosity_is_said_in_training(tmp_path: Path) -> None:
    heard = Heard()
    train(short(f"{HERE}:cart", weight="equal"), tmp_path / "equal", display=heard, workers=1)
    (sentence,) = hidden_rewards(heard.said)
    assert "'equal' hides the intrinsic reward here" in sentence
    heard = Heard()
    train(short(f"{HERE}:cart"), tmp_path / "sum", display=heard, workers=1)
    assert hidden_rewards(heard.said) == []
    assert load_run(tmp_path / "sum").config.weight == "sum:1"


def test_the_wrappers_weight_is_the_runs_unless_another_is_asked_for(tmp_path: Path) -> None:
    train(short(f"{HERE}:weighed_cart"), tmp_path / "own", workers=1)
    assert load_run(tmp_path / "own").config.weight == 0.5
    train(short(f"{HERE}:weighed_cart"), tmp_path / "own", workers=1)  # the same run, finished
    asked = short(f"{HERE}:weighed_cart", weight="sum:2").resolved().fitted()
    assert asked.weight == "sum:2"


def test_a_weight_without_effect_is_said(tmp_path: Path) -> None:
    ppo = PPOSettings(n_steps=10, minibatch=20)
    said = {}
    for world in ("weighed_cart", "cart"):
        heard = Heard()
        config = short(f"{HERE}:{world}", agent="ppo", learner=ppo)
        train(config, tmp_path / world, display=heard, workers=1)
        said[world] = [text for text in heard.said if text.startswith("The weight")]
    (sentence,) = said["weighed_cart"]
    assert sentence.startswith(f"The weight 0.5 of {HERE}:weighed_cart has no effect: ppo has")
    assert said["cart"] == []


@pytest.mark.parametrize("world", ["KeyHallway", f"{HERE}:cart"])
@pytest.mark.parametrize(
    ("setting", "sentence"),
    [
        ({"protocol": "machado"}, "Got protocol 'machado' for "),
        ({"protocol": "baselines"}, "Got protocol 'baselines' for "),
        ({"max_frames": 400}, "Got max_frames 400 for "),
        ({"grid": "stacked"}, "Got grid 'stacked'; "),
    ],
)
def test_what_only_atari_games_have_is_refused_elsewhere(
    world: str, setting: dict[str, Any], sentence: str, tmp_path: Path
) -> None:
    with pytest.raises(ValueError, match=f"^{sentence}.*\\.$"):
        train(short(world, **setting), tmp_path / "run")
    assert not (tmp_path / "run").exists()


@pytest.mark.parametrize("treatment", ["deepcs", "no-grid", "no-intrinsic"])
def test_curiosity_without_a_wrapper_is_refused(treatment: str, tmp_path: Path) -> None:
    config = short("own_envs:cart_pole", treatment=treatment)
    with pytest.raises(ValueError, match=r"has no curiosity .*\.CuriosityWrapper\(env, locate"):
        train(config, tmp_path / "run")
    assert not (tmp_path / "run").exists()
    train(short("own_envs:cart_pole", treatment="plain"), tmp_path / "plain", workers=1)


def test_a_factory_that_hides_the_grid_cannot_be_trained_with_it() -> None:
    with pytest.raises(ValueError, match=r"blind_cart hides the grid, which this treatment shows"):
        short(f"{HERE}:blind_cart").resolved().fitted()
    short(f"{HERE}:blind_cart", treatment="no-grid").resolved().fitted()


def forgetful_cart(
    grid: bool = True, lifetime: str = "game", tile: Any = None, graded: bool = False
) -> gymnasium.Env[Any, Any]:
    """Takes what it does not hand on."""
    return cart(grid)


def lasting_cart(grid: bool = True) -> gymnasium.Env[Any, Any]:
    return cart(grid, lifetime="never")


@pytest.mark.parametrize(
    ("settings", "sentence"),
    [
        (
            {"treatment": "never-reset"},
            "forgetful_cart has lifetime 'game', where .* 'never'; take",
        ),
        (
            {"tile": 3},
            r"forgetful_cart has tile \(0.05, 0.02\), where this run has 3; take tile as",
        ),
        ({"graded": True}, r"has graded False, where .* hand it to .*Wrapper\(graded=graded\)\.$"),
    ],
)
def test_a_factory_that_does_not_hand_on_what_it_takes_is_refused(
    settings: dict[str, Any], sentence: str
) -> None:
    with pytest.raises(ValueError, match=sentence):
        short(f"{HERE}:forgetful_cart", **settings).resolved().fitted()
    short(f"{HERE}:forgetful_cart").resolved().fitted()
    with pytest.raises(
        ValueError, match="lasting_cart has lifetime 'never', where this run has 'g"
    ):
        short(f"{HERE}:lasting_cart").resolved().fitted()


def test_a_locate_that_raises_in_training_is_one_sentence(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=r"^locate raised StopIteration \(\); fix it") as refusal:
        train(short(f"{HERE}:lost_cart"), tmp_path / "run", workers=1)
    assert "\n" not in str(refusal.value)


@pytest.fixture(scope="module")
def agent(tmp_path_factory: pytest.TempPathFactory) -> TrainedAgent:
    """Of the maze, whose observations are uint8 (4, 1, 21)."""
    folder = tmp_path_factory.mktemp("maze")
    one = A2CSettings(n_steps=1)
    train(RunConfig("KeyHallway", steps=1, actors=1, learner=one), folder, workers=1)
    return load_agent(folder)


@pytest.fixture(scope="module")
def dict_agent(tmp_path_factory: pytest.TempPathFactory) -> TrainedAgent:
    """Of observations {"observation": float32 (4,), "grid": uint8 (1, 21, 21)}."""
    folder = tmp_path_factory.mktemp("cart")
    one = A2CSettings(n_steps=1)
    train(RunConfig(f"{HERE}:cart", steps=1, actors=1, learner=one), folder, workers=1)
    return load_agent(folder)


def test_one_observation_gives_one_action_and_a_batch_an_array(agent: TrainedAgent) -> None:
    batch, _ = agent.make_envs(3, seed=0, workers=0).reset()
    actions, policy = agent.act(batch), agent.policy(batch)
    assert (actions.shape, policy.shape) == ((3,), (3, 4))
    action = agent.act(batch[0])
    assert isinstance(action, int)
    assert action == actions[0]
    np.testing.assert_allclose(agent.policy(batch[0]), policy[0], rtol=1e-5)
    np.testing.assert_array_equal(agent.act(torch.from_numpy(batch)), actions)
    assert isinstance(agent.act(batch[0], np.random.default_rng(0)), int)


def test_dicts_are_taken_one_or_many(dict_agent: TrainedAgent) -> None:
    batch, _ = dict_agent.make_envs(3, seed=0, workers=0).reset()
    one = {name: part[1] for name, part in batch.items()}
    assert dict_agent.act(one) == dict_agent.act(batch)[1]
    tensors = {name: torch.from_numpy(part) for name, part in batch.items()}
    np.testing.assert_array_equal(dict_agent.act(tensors), dict_agent.act(batch))
    with pytest.raises(ValueError, match=r"takes a dict of grid, observation"):
        dict_agent.act({"observation": batch["observation"]})
    with pytest.raises(ValueError, match="give one of each, or as many of each"):
        dict_agent.act({**batch, "grid": batch["grid"][:2]})
    with pytest.raises(ValueError, match="takes a dict"):
        dict_agent.act(batch["observation"])


@pytest.mark.parametrize(
    "wrong",
    [
        np.zeros((4, 21), np.uint8),
        np.zeros((4, 1, 9), np.uint8),
        np.zeros((5, 9, 9), np.uint8),
        np.zeros((2, 2, 4, 1, 21), np.uint8),
        np.zeros((4, 1, 21), np.float32),
        np.zeros((0, 4, 1, 21), np.uint8),
        {"image": np.zeros((4, 1, 21), np.uint8)},
        "left",
        None,
        3,
    ],
)
def test_other_observations_are_refused_in_one_sentence(agent: TrainedAgent, wrong: Any) -> None:
    for look in (agent.act, agent.policy):
        with pytest.raises(ValueError, match=r"^Got .* takes uint8 \(4, 1, 21\), or a batch"):
            look(wrong)


def test_numbers_that_are_no_observation_are_refused_in_one_sentence(
    dict_agent: TrainedAgent,
) -> None:
    plane = np.zeros((1, 21, 21), np.uint8)
    for wrong, sentence in (
        ([[0.0, 0, 0, 0], [1]], r"whose rows differ in length to act on; this agent takes float32"),
        ([0.0, np.nan, 0, 0], "with numbers that are not finite to act on; give finite ones"),
    ):
        with pytest.raises(ValueError, match=rf"^Got observations 'observation' {sentence}"):
            dict_agent.act({"observation": wrong, "grid": plane})


def test_a_time_limit_does_not_end_the_return(tmp_path: Path) -> None:
    # At a discount of 0.5, what is left of 4 steps is worth 1.53 in the mean; of endless ones, 2.
    settings = A2CSettings(gamma=0.5, learning_rate=0.01, schedule="constant")
    config = RunConfig(f"{HERE}:cut_short", treatment="plain", steps=12_000, learner=settings)
    train(config, tmp_path / "run", workers=1)
    thoughts = load_agent(tmp_path / "run").consider(np.ones((1, 1), np.float32))
    assert float(thoughts.values[0]) == pytest.approx(2, rel=0.05)
    assert json.loads((tmp_path / "run" / "config.json").read_text())["protocol"] == {
        "life_ends_return": True,
        "bootstrap_cut": True,
    }


@pytest.mark.parametrize(
    ("world", "protocol", "bootstrapped"),
    [("KeyHallway", "paper", False), ("Freeway", "paper", False), ("Freeway", "machado", True)],
)
def test_the_limits_of_mazes_and_of_the_papers_games_end_it(
    world: str, protocol: str, bootstrapped: bool
) -> None:
    assert RunConfig(world, protocol=protocol).how_games_end["bootstrap_cut"] == bootstrapped
