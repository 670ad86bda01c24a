"""Training in worlds of any observation and action space, to the last byte."""

from __future__ import annotations

import json
from pathlib import Path
from random import Random
from typing import Any

import gymnasium
import numpy as np
import pytest
from trainee import assert_same_run, train_with_kills

from deepcs import ArrayObservation
from deepcs.agents.a2c import A2CSettings
from deepcs.agents.ppo import PPOSettings
from deepcs.envs.make import make_actor
from deepcs.runs.config import RunConfig
from deepcs.runs.evaluate import play_games
from deepcs.runs.progress import Silence
from deepcs.runs.train import train
from deepcs.runs.trained import TrainedAgent, load_agent
from deepcs.studio.players import AgentPlayer

KINDS = ("box", "multi_discrete", "multi_binary")
LEARNERS: dict[str, Any] = {
    "a2c": A2CSettings(),
    "ppo": PPOSettings(n_steps=10, minibatch=20),
}


def config(kind: str, agent: str = "a2c", **settings: Any) -> RunConfig:
    return RunConfig(
        f"own_envs:{kind}",
        steps=400,
        actors=4,
        shards=2,
        log_every=60,
        checkpoint_every=80,
        agent=agent,
        learner=LEARNERS[agent],
        **settings,
    )


@pytest.fixture(scope="module", params=KINDS)
def agent(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> TrainedAgent:
    """Its actions are not Discrete, its observations of every kind."""
    folder = tmp_path_factory.mktemp(request.param) / "run"
    train(config(request.param), folder, workers=1)
    return load_agent(folder)


@pytest.mark.long
@pytest.mark.parametrize("processes", [1, 2])
@pytest.mark.parametrize("learner", ["a2c", "ppo"])
@pytest.mark.parametrize("kind", ["box", "multi_discrete"])
def test_a_killed_run_ends_with_the_same_bytes(
    kind: str, learner: str, processes: int, tmp_path: Path
) -> None:
    asked = config(kind, learner)
    train(asked, tmp_path / "whole", workers=1)
    moments = ["after a checkpoint"]
    kills, _ = train_with_kills(asked, tmp_path / "killed", moments, Random(0), workers=processes)
    assert kills == 1
    assert_same_run(tmp_path / "whole", tmp_path / "killed")


def test_one_observation_gives_one_action_of_the_space_and_a_batch_many(
    agent: TrainedAgent,
) -> None:
    env = make_actor(agent.config.world)
    observation, _ = env.reset(seed=0)
    batch = {name: np.stack([part] * 3) for name, part in observation.items()}
    drawn = agent.act(batch, np.random.default_rng(0))
    assert drawn.shape == (3, *env.action_space.shape)
    assert all(env.action_space.contains(action) for action in (agent.act(observation), *drawn))
    np.testing.assert_allclose(agent.act(batch), [agent.act(observation)] * 3, atol=1e-6)
    with pytest.raises(ValueError, match=r"^Got actions that are not Discrete, .*\.$"):
        agent.policy(observation)


def test_games_repeat_whoever_plays_beside_them(agent: TrainedAgent) -> None:
    together = play_games(agent, range(3), workers=0)
    (alone,) = play_games(agent, [2], workers=0)
    np.testing.assert_array_equal(alone.actions, together[2].actions)
    assert alone.record == together[2].record


def test_the_studio_shows_what_it_does(agent: TrainedAgent) -> None:
    player = AgentPlayer(agent)
    player.begin(0, np.random.default_rng(0))
    for greedy in (False, True):
        player.greedy = greedy
        assert player.step(frozenset())
    told = json.loads(json.dumps(player.numbers()))
    assert len(told["action"]) == 2
    assert player.actions == []
    assert "probabilities" not in told


def test_text_that_the_network_does_not_see_is_said(tmp_path: Path) -> None:
    class Heard(Silence):
        said: list[str] = []  # noqa: RUF012

        def say(self, text: str) -> None:
            self.said.append(text)

    heard = Heard()
    train(config("box", treatment="plain"), tmp_path / "run", display=heard, workers=1)
    assert [text for text in heard.said if "does not see 'note' of the observation" in text]


def test_acktr_refuses_actions_that_it_cannot_learn() -> None:
    vector = RunConfig("own_envs:pair", agent="acktr", treatment="plain", actors=2)
    with pytest.raises(ValueError, match=r"^Got actions MultiDiscrete\(.* for acktr, .*\.$"):
        vector.resolved().fitted()


@pytest.mark.parametrize(
    ("space", "given", "shown"),
    [
        (gymnasium.spaces.Discrete(3), 1, [0, 1, 0]),
        (gymnasium.spaces.Discrete(3, start=5), 7, [0, 0, 1]),
        (gymnasium.spaces.MultiDiscrete([2, 3]), [1, 0], [0, 1, 1, 0, 0]),
        (gymnasium.spaces.MultiBinary((2, 2)), [[1, 0], [0, 1]], [1, 0, 0, 1]),
        (gymnasium.spaces.Box(0, 9, (2,), np.int32), [4, 5], [4, 5]),
    ],
)
def test_choices_are_shown_one_hot(
    space: gymnasium.Space[Any], given: Any, shown: list[int]
) -> None:
    env = ArrayObservation(Showing(space, given))
    observation, _ = env.reset()
    assert np.asarray(observation).tolist() == shown
    assert env.observation_space.shape == (len(shown),)


def test_dicts_and_tuples_in_a_dict_become_one() -> None:
    env = make_actor("own_envs:box")
    shapes = {name: part.shape for name, part in env.observation_space.spaces.items()}
    assert shapes == {
        "where": (2,),
        "map": (1, 6, 6),  # channels first
        "quarter": (4,),
        "inner/signs": (2,),
        "inner/pair": (5,),
        "both/0": (),
        "both/1": (2, 2),
        "grid": (1, 9, 9),
    }
    assert env.observation_space.contains(env.reset(seed=0)[0])


class Showing(gymnasium.Env[Any, Any]):
    """Shows the same thing for ever."""

    action_space = gymnasium.spaces.Discrete(2)

    def __init__(self, space: gymnasium.Space[Any], shown: Any) -> None:
        self.observation_space, self.shown = space, shown

    def reset(self, **_: Any) -> tuple[Any, dict[str, Any]]:
        return self.shown, {}


@pytest.mark.parametrize(
    ("space", "shown", "sentence"),
    [
        (gymnasium.spaces.Text(3), "abc", "nothing but text; turn it into numbers"),
        (gymnasium.spaces.Sequence(gymnasium.spaces.Discrete(2)), (), "deepcs takes Box, Discrete"),
        (gymnasium.spaces.Discrete(200_000), 0, "would be 200,000 numbers, more than 100,000"),
        (gymnasium.spaces.Discrete(3), 3, "Got observation 3 from .* has Discrete.*; fix"),
        (gymnasium.spaces.MultiDiscrete([2, 2]), [1], r"Got observation \[1\] .*; fix"),
    ],
)
def test_what_cannot_be_shown_is_refused_in_one_sentence(
    space: gymnasium.Space[Any], shown: Any, sentence: str
) -> None:
    with pytest.raises(ValueError, match=rf"^Got [^\n]*{sentence}[^\n]*\.$|^{sentence}"):
        ArrayObservation(Showing(space, shown)).reset()
