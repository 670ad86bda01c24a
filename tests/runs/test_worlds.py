"""Environments that are not ours: wrapped, trained, evaluated, recorded, watched; and in SB3.

Every cell of the table is tried; most of it by `make test-all`.
"""

from __future__ import annotations

import functools
import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
import pytest
from gymnasium.wrappers import AddRenderObservation, FlattenObservation, ResizeObservation
from stable_baselines3 import PPO
from stable_baselines3.common.envs import SimpleMultiObsEnv
from stable_baselines3.common.vec_env import DummyVecEnv, VecEnv

import deepcs
from deepcs import Bounds, CuriosityWrapper, Game, Position, Screen, at
from deepcs.agents.a2c import A2CSettings
from deepcs.agents.ppo import PPOSettings
from deepcs.curiosity.games import find_game
from deepcs.film.record import record
from deepcs.runs.config import RunConfig
from deepcs.runs.evaluate import evaluate
from deepcs.runs.train import train
from deepcs.runs.trained import TrainedAgent, load_agent
from deepcs.studies.study import load_study
from deepcs.studio.players import AgentPlayer

HERE = __name__
EXAMPLES = Path(__file__).parents[2] / "examples"
LEARNERS: dict[str, Any] = {
    "a2c": A2CSettings(),
    "ppo": PPOSettings(n_steps=16, minibatch=32, epochs=1),
}
HERO = Game(
    name="Hero",
    x=0x9B,
    y=0x9F,
    room=at(0x9C),
    bounds=Bounds(0, 0, 160, 210),
    screen=Screen(1, 0, 1, 0),
    tile=16,
)


def image_world(
    grid: bool = True, lifetime: Any = "game", render_mode: str | None = None
) -> gymnasium.Env[Any, Any]:
    """FrozenLake as a picture of 48x48 pixels."""
    env = gymnasium.make("FrozenLake-v1", render_mode="rgb_array")
    return CuriosityWrapper(
        ResizeObservation(AddRenderObservation(env, render_only=True), (48, 48)),
        locate=lambda env, observation, info: (env.unwrapped.s % 4, env.unwrapped.s // 4),
        bounds=Bounds(0, 0, 4, 4),
        grid=grid,
        lifetime=lifetime,
    )


class Shown(SimpleMultiObsEnv):
    """Stable-Baselines3's own: a vector and a picture, a state for each pair; with a picture."""

    def render(self, mode: str = "") -> np.ndarray:
        return np.repeat(self.observation_space["img"].sample().transpose(1, 2, 0), 3, 2)


def stable_baselines(
    grid: bool = True, lifetime: Any = "game", render_mode: str | None = None
) -> gymnasium.Env[Any, Any]:
    return CuriosityWrapper(
        Shown(random_start=False, discrete_actions=False),
        locate=lambda env, observation, info: Position(env.unwrapped.state, 0),
        bounds=Bounds(0, 0, 16, 1),
        shape=(1, 16),
        grid=grid,
        lifetime=lifetime,
    )


EXAMPLE_WORLDS = (
    *("mountain_car", "mountain_car_continuous", "cart_pole", "pendulum", "frozen_lake", "taxi"),
    *("door_key", "multi_room", "key_corridor"),
)
QUICK = ("pendulum", "frozen_lake")  # the others are long
WORLDS = (
    *(f"gymnasium_worlds:{name}" for name in EXAMPLE_WORLDS),
    *(f"{HERE}:{name}" for name in ("image_world", "stable_baselines", "HERO")),
)
ROWS = [
    pytest.param(world, marks=() if world.endswith(QUICK) else pytest.mark.long, id=world)
    for world in WORLDS
]


@pytest.fixture(scope="module", autouse=True)
def _examples() -> Any:
    sys.path.insert(0, str(EXAMPLES))
    yield
    sys.path.remove(str(EXAMPLES))


@pytest.fixture(scope="module", params=ROWS)
def world(request: pytest.FixtureRequest) -> str:
    return str(request.param)


def factory(world: str) -> Callable[[], gymnasium.Env[Any, Any]]:
    return functools.partial(deepcs.envs.make.make_actor, world)


@functools.cache
def trained(world: str, agent: str, folder: Path) -> TrainedAgent:
    """A few hundred steps."""
    most = {"max_frames": 400} if find_game(world) is not None else {}
    asked = RunConfig(
        world, steps=320, actors=4, shards=1, agent=agent, learner=LEARNERS[agent], **most
    )
    assert train(asked, folder / world.partition(":")[2] / agent, workers=1) is None
    return load_agent(folder / world.partition(":")[2] / agent)


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("runs")


def test_curiosity_around_it_pays_and_shows(world: str) -> None:
    env = factory(world)()
    env.action_space.seed(0)
    observation, info = env.reset(seed=0)
    assert env.observation_space.contains(observation)
    assert info["intrinsic"] == 0
    paid = 0.0
    for _ in range(300):
        observation, _, terminated, truncated, info = env.step(env.action_space.sample())
        assert env.observation_space.contains(observation)
        paid += info["intrinsic"]
        if terminated or truncated:
            env.reset()
    assert paid > 0
    env.close()


def test_stable_baselines3_learns_from_it(world: str) -> None:
    def make() -> gymnasium.Env[Any, Any]:
        return FlattenObservation(factory(world)())

    envs: VecEnv
    if find_game(world) is not None:
        envs = deepcs.to_sb3(deepcs.make_vec(world, num_envs=2, workers=0))
        model = PPO("CnnPolicy", envs, n_steps=8, batch_size=16, n_epochs=1, device="cpu")
    else:
        envs = DummyVecEnv([make] * 2)
        model = PPO("MlpPolicy", envs, n_steps=32, batch_size=64, n_epochs=1, device="cpu")
    model.learn(64)
    assert model.num_timesteps >= 64
    envs.close()


@pytest.mark.parametrize("agent", ["a2c", pytest.param("ppo", marks=pytest.mark.long)])
def test_deepcs_trains_in_it(world: str, agent: str, runs: Path) -> None:
    assert trained(world, agent, runs).step == 320


def test_it_is_evaluated(world: str, runs: Path) -> None:
    (game,) = evaluate(trained(world, "a2c", runs), games=1, workers=0).games
    assert game.steps > 0
    assert np.isfinite(game.score)


def test_it_is_recorded(world: str, runs: Path, tmp_path: Path) -> None:
    video = tmp_path / "game.mp4"
    recording = record(trained(world, "a2c", runs), video, max_steps=10, greedy=True)
    assert recording.steps > 0
    assert video.stat().st_size > 1_000


def test_it_is_watched(world: str, runs: Path) -> None:
    player = AgentPlayer(trained(world, "a2c", runs))
    player.begin(0, np.random.default_rng(0))
    assert player.step(frozenset())
    assert json.loads(json.dumps(player.numbers()))["step"] == 1
    assert player.pictures(1)[0]


def test_the_study_of_some_of_them_can_be_read() -> None:
    runs = load_study(EXAMPLES / "gymnasium_worlds.toml").runs
    assert len(runs) == 30
    worlds = {run.config.world.partition(":")[2] for run in runs}
    assert worlds == {"mountain_car", "multi_room", "cart_pole"}
