"""Our vector environments in Stable-Baselines3: games, ends, infos and scores as its own have."""

from __future__ import annotations

import subprocess
import sys
import warnings
from pathlib import Path
from typing import Any

import gymnasium
import minigrid  # noqa: F401  (registers its environments)
import numpy as np
import pytest
import torch
from gymnasium.vector import AutoresetMode, SyncVectorEnv
from gymnasium.wrappers import TimeLimit
from stable_baselines3 import PPO
from stable_baselines3.common.evaluation import evaluate_policy
from stable_baselines3.common.monitor import Monitor
from stable_baselines3.common.vec_env import (
    DummyVecEnv,
    VecCheckNan,
    VecEnv,
    VecFrameStack,
    VecMonitor,
    VecNormalize,
)

import deepcs
from deepcs import Bounds, CuriosityVectorWrapper, CuriosityWrapper
from deepcs.envs.seats import actor_seed

ACTORS = 3


def car(**settings: Any) -> CuriosityWrapper:
    """MountainCar for 30 steps, which are never enough: every game is cut."""
    return CuriosityWrapper(
        TimeLimit(gymnasium.make("MountainCar-v0").unwrapped, 30),
        locate=lambda env, observation, info: observation,
        bounds=Bounds(-1.2, -0.07, 1.8, 0.14),
        tile=(0.05, 0.005),
        shape=(36, 36),  # the least that Stable-Baselines3's network for pictures takes
        **settings,
    )


def hallway() -> gymnasium.Env[Any, Any]:
    return TimeLimit(gymnasium.make("deepcs/KeyHallway-v0"), 40)


def check_same(one: Any, other: Any) -> None:
    if isinstance(one, dict):
        assert one.keys() == other.keys()
        for name in one.keys() - {"t"}:  # seconds
            check_same(one[name], other[name])
    elif isinstance(one, list):
        for mine, yours in zip(one, other, strict=True):
            check_same(mine, yours)
    elif isinstance(one, np.ndarray):
        np.testing.assert_array_equal(one, other)
    else:
        assert one == other


@pytest.mark.parametrize("make", [car, hallway])
def test_a_pool_gives_what_stable_baselines3s_own_vector_of_the_same_actors_gives(
    make: Any,
) -> None:
    ours = deepcs.to_sb3(deepcs.make_vec(make, num_envs=ACTORS, workers=0))
    theirs = DummyVecEnv([make] * ACTORS)
    theirs._seeds = [actor_seed(5, index) for index in range(ACTORS)]
    ours.seed(5)
    check_same(ours.reset(), theirs.reset())
    generator = np.random.default_rng(0)
    cut = 0
    for _ in range(100):
        actions = generator.integers(ours.action_space.n, size=ACTORS)
        mine, yours = ours.step(actions), theirs.step(actions)
        check_same([*mine[:3]], [*yours[:3]])
        assert [each.dtype for each in mine[1:3]] == [each.dtype for each in yours[1:3]]
        for info, other, ended in zip(mine[3], yours[3], mine[2], strict=True):
            assert info["TimeLimit.truncated"] == other["TimeLimit.truncated"]
            assert info["intrinsic"] == other["intrinsic"]
            assert ("terminal_observation" in info) == ended
            if ended:
                check_same({k: info[k] for k in other}, other)
                cut += info["TimeLimit.truncated"]
    assert cut
    ours.close()


def test_an_episodes_statistics_are_those_of_the_game_and_not_of_the_mix() -> None:
    envs = deepcs.to_sb3(deepcs.make_vec(car, num_envs=2, workers=0))
    envs.reset()
    for _ in range(30):
        _, _, ended, infos = envs.step(np.array([0, 2]))
    assert ended.all()
    assert [(info["episode"]["r"], info["episode"]["l"]) for info in infos] == [(-30.0, 30)] * 2
    assert infos[1]["tiles"] > 1


def test_statistics_that_gymnasium_keeps_are_left_as_they_are() -> None:
    inner = SyncVectorEnv([car] * 2, autoreset_mode=AutoresetMode.SAME_STEP)
    envs = deepcs.to_sb3(gymnasium.wrappers.vector.RecordEpisodeStatistics(inner))
    envs.reset()
    for _ in range(30):
        _, _, _, infos = envs.step(np.array([0, 2]))
    assert infos[0]["episode"]["r"] == pytest.approx(infos[0]["tiles"] - 1 - 30)  # the mix, summed


def test_the_pools_own_seed_holds_until_another_is_given() -> None:
    seeded = deepcs.to_sb3(deepcs.make_vec(car, num_envs=2, seed=7, workers=0))
    other = deepcs.to_sb3(deepcs.make_vec(car, num_envs=2, seed=0, workers=0))
    other.seed(7)
    first = seeded.reset()
    check_same(first, other.reset())
    second = seeded.reset()
    assert not np.array_equal(first["observation"], second["observation"])


def test_what_the_actors_cannot_be_asked_is_one_sentence() -> None:
    envs = deepcs.to_sb3(deepcs.make_vec("KeyHallway", num_envs=2, workers=0))
    assert envs.get_attr("render_mode") == [None, None]
    assert not envs.has_attr("needle")
    assert envs.env_is_wrapped(Monitor) == [True, True]
    assert envs.env_is_wrapped(TimeLimit) == [False, False]
    for ask in (
        lambda: envs.get_attr("needle"),
        lambda: envs.set_attr("needle", 3),
        lambda: envs.env_method("render"),
    ):
        with pytest.raises(NotImplementedError, match=r"ActorPool cannot ask its actors.*infos"):
            ask()
    envs.set_options([{"a": 1}, {"a": 2}])
    with pytest.raises(NotImplementedError, match="takes the same for all"):
        envs.reset()


def test_a_gymnasium_vector_environment_is_asked_through() -> None:
    envs = deepcs.to_sb3(SyncVectorEnv([car] * 2, autoreset_mode=AutoresetMode.SAME_STEP))
    assert envs.get_attr("weight") == ["sum:1", "sum:1"]
    assert envs.env_is_wrapped(CuriosityWrapper, indices=1) == [True]
    assert len(envs.env_method("take_visits")) == 2
    with pytest.raises(NotImplementedError, match="leave out indices"):
        envs.set_attr("mix", False, indices=[0])


@pytest.mark.parametrize(
    ("envs", "sentence"),
    [
        (lambda: SyncVectorEnv([car]), "autoreset mode NEXT_STEP; .*make it with autoreset_mode="),
        (lambda: deepcs.make_vec(car, num_envs=1, workers=0, copy=False), "leave out copy=False"),
        (car, "^Got CuriosityWrapper; give a Gymnasium vector environment"),
    ],
)
def test_what_cannot_be_adapted_is_refused(envs: Any, sentence: str) -> None:
    with pytest.raises(ValueError, match=sentence):
        deepcs.to_sb3(envs())


def rooms(shape: tuple[int, int] = (36, 36), first: bool = True) -> gymnasium.Env[Any, Any]:
    """MiniGrid's image, and the plane beside it."""
    env = gymnasium.make("MiniGrid-Empty-5x5-v0")
    env = deepcs.ArrayObservation(env)
    return CuriosityWrapper(
        deepcs.ChannelsFirst(env) if first else env,
        locate=lambda env, seen, info: tuple(env.unwrapped.agent_pos),
        shape=shape,
    )


def test_images_that_stable_baselines3_cannot_take_are_told_before_it_fails() -> None:
    mixed = deepcs.make_vec(lambda: rooms(first=False), num_envs=1, workers=0)
    with pytest.raises(
        ValueError, match=r"first \(grid\) beside .* last \(image\), .*ChannelsFirst"
    ):
        deepcs.to_sb3(mixed)
    small = deepcs.make_vec(rooms, num_envs=1, workers=0)
    with pytest.warns(UserWarning, match=r"smaller than 36x36 \(image 7x7\), .*FlattenObservation"):
        deepcs.to_sb3(small)


@pytest.mark.parametrize("name", ["FrozenLake-v1", "Taxi-v4", "MiniGrid-Empty-5x5-v0"])
def test_worlds_whose_observations_are_no_arrays_are_made_by_a_function_too(name: str) -> None:
    envs = deepcs.make_vec(lambda: gymnasium.make(name), num_envs=2, workers=0)
    observations, _ = envs.reset()
    assert observations in envs.observation_space


def test_without_stable_baselines3_one_sentence_says_what_to_install() -> None:
    code = (
        "import sys; sys.modules['stable_baselines3'] = None\n"
        "import deepcs\n"
        "try: deepcs.to_sb3(deepcs.make_vec('KeyHallway', num_envs=1, workers=0))\n"
        "except ImportError as error: print(error)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == (
        "to_sb3 needs Stable-Baselines3, which is not installed; pip install 'deepcs[examples]' "
        "brings it."
    )


@pytest.mark.parametrize("form", ["pool", "vector wrapper"])
def test_ppo_learns_in_all_of_stable_baselines3s_wrappers(form: str) -> None:
    torch.set_num_threads(1)
    if form == "pool":
        inner: Any = deepcs.make_vec("MontezumaRevenge", num_envs=2, workers=0)
        policy = "CnnPolicy"
    else:
        bare = SyncVectorEnv(
            [lambda: gymnasium.make("CartPole-v1")] * 2, autoreset_mode=AutoresetMode.SAME_STEP
        )
        inner = CuriosityVectorWrapper(bare, locate=lambda env, seen, info: seen[[0, 2]], tile=0.1)
        policy = "MultiInputPolicy"
    checked: VecEnv = VecCheckNan(deepcs.to_sb3(inner), raise_exception=True)
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message=".*already wrapped with a `Monitor`")
        envs = VecMonitor(checked) if form == "pool" else VecNormalize(checked, norm_obs=False)
    if form == "pool":
        envs = VecFrameStack(envs, 2, channels_order="first")
    model = PPO(policy, envs, n_steps=8, batch_size=8, n_epochs=1, seed=0)
    before = [weight.clone() for weight in model.policy.parameters()]
    model.learn(16)
    after = model.policy.parameters()
    assert any(not torch.equal(*pair) for pair in zip(before, after, strict=True))
    envs.close()


def test_evaluate_policy_tells_the_games_score() -> None:
    torch.set_num_threads(1)
    envs = deepcs.to_sb3(deepcs.make_vec(car, num_envs=2, workers=0))
    model = PPO("MultiInputPolicy", envs, n_steps=8, batch_size=8, seed=0)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        mean, spread = evaluate_policy(model, envs, n_eval_episodes=4)
    assert (mean, spread) == (-30.0, 0.0)


def test_a_model_is_saved_and_goes_on_in_another_pool(tmp_path: Path) -> None:
    torch.set_num_threads(1)
    model = PPO(
        "MultiInputPolicy",
        deepcs.to_sb3(deepcs.make_vec(car, num_envs=2, workers=0)),
        n_steps=8,
        batch_size=8,
        seed=0,
    )
    model.learn(16)
    model.save(tmp_path / "model")
    again = deepcs.to_sb3(deepcs.make_vec(car, num_envs=2, workers=0))
    PPO.load(tmp_path / "model", env=again).learn(16)
