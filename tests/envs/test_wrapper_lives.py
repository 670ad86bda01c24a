"""The wrapper knows true game starts from lost lives, inside and outside of other wrappers."""

from __future__ import annotations

import itertools

import gymnasium
import numpy as np
import pytest
from ale_envs import ale, frames
from gymnasium.wrappers import (
    Autoreset,
    RecordEpisodeStatistics,
    TimeLimit,
)
from playing import play
from stable_baselines3.common.atari_wrappers import AtariWrapper, NoopResetEnv

from deepcs import Position
from deepcs.envs.wrapper import CuriosityWrapper

UP = 1  # in Freeway


def curious_outside(**settings):
    env = CuriosityWrapper(AtariWrapper(ale("Alien", frameskip=1)), **settings)
    return env, env


def curious_inside(**settings):
    curious = CuriosityWrapper(ale("Alien", frameskip=1), grid=False, **settings)
    return AtariWrapper(RecordEpisodeStatistics(curious), clip_reward=False), curious


@pytest.mark.parametrize("build", [curious_outside, curious_inside])
def test_a_lost_life_goes_on_and_a_new_game_pays_again_in_both_orders(build):
    env, curious = build(weight=0.0, tile=4)
    explorer, emulator = curious.explorer, env.unwrapped.ale
    generator = np.random.default_rng(0)
    env.reset(seed=0)
    for _ in range(2):
        lives, paid = 0, 0.0
        while not emulator.game_over():
            infos = play(env, generator)
            tiles = explorer.grid.tiles
            paid += sum(info["intrinsic"] for info in infos)
            lives += 1
            if not emulator.game_over():
                env.reset()
                # the steps within AtariWrapper's reset() may reach further, if they are seen
                assert tiles <= explorer.grid.tiles <= tiles + 3
        if build is curious_inside:  # only every fourth info is seen from outside
            paid = infos[-1]["episode"]["r"]
        assert lives == 3
        assert paid == tiles - 1 > 10
        assert infos[-1]["rooms_visited"] == explorer.rooms == explorer.grid.rooms
        env.reset()
        assert explorer.grid.tiles <= 3


def test_outside_a_reset_after_a_lost_life_shows_the_same_grid_and_pays_nothing():
    env, _ = curious_outside()
    env.reset(seed=0)
    infos = play(env, np.random.default_rng(0))
    assert infos[-1]["life_lost"]
    plane = env.explorer.plane
    observation, info = env.reset()
    assert (info["intrinsic"], info["tiles"]) == (0.0, infos[-1]["tiles"])
    np.testing.assert_array_equal(observation[..., 1], plane)


def test_a_lifetime_of_one_life_forgets_at_each_lost_life():
    env, _ = curious_outside(lifetime="life")
    env.reset(seed=0)
    infos = play(env, np.random.default_rng(0))
    assert (infos[-1]["life_lost"], env.explorer.grid.tiles) == (True, 0)
    assert infos[-1]["tiles"] >= infos[-2]["tiles"] > 1  # the game's
    env.reset()
    _, _, _, _, info = env.step(0)
    assert (info["intrinsic"], env.explorer.grid.tiles) == (0.0, 1)


def test_a_reset_at_each_life_that_does_start_a_game_pays_again():
    env = CuriosityWrapper(frames("Alien", terminal_on_life_loss=True))
    env.reset(seed=0)
    infos = play(env, np.random.default_rng(0))
    assert not env.unwrapped.ale.game_over()
    assert infos[-1]["tiles"] > 1
    assert env.reset()[1]["tiles"] == 1


@pytest.mark.parametrize("seed", [None, 1])
def test_a_short_game_followed_by_long_no_ops_is_still_a_new_game(seed):
    noops = NoopResetEnv(ale("Freeway", frameskip=4))
    env = CuriosityWrapper(noops)
    noops.override_num_noops = 1
    env.reset(seed=0)
    for _ in range(10):
        _, _, _, _, info = env.step(UP)
    assert info["tiles"] > 1
    noops.override_num_noops = 30
    assert env.reset(seed=seed)[1]["tiles"] == 1


def test_a_game_that_starts_within_a_step_is_recognised():
    env = CuriosityWrapper(Autoreset(TimeLimit(ale("Freeway", frameskip=4), 20)))
    env.reset(seed=0)
    for _ in range(20):
        _, _, _, truncated, info = env.step(UP)
    assert truncated
    assert info["tiles"] > 1
    _, _, _, _, info = env.step(UP)
    assert (info["tiles"], info["intrinsic"]) == (1, 0.0)


def ever_further():
    """A locate that finds a new cell whenever it is asked."""
    steps = itertools.count()
    return lambda *_: Position(next(steps), 0)


def test_the_step_that_ends_a_game_counts_where_there_is_no_emulator():
    env = CuriosityWrapper(gymnasium.make("CartPole-v1"), locate=ever_further())
    env.reset(seed=0)
    assert {info["intrinsic"] for info in play(env, np.random.default_rng(0))} == {1.0}


def test_the_end_of_an_episode_counts_if_only_a_life_was_lost():
    env, _ = curious_outside(locate=ever_further())
    env.reset(seed=0)
    generator = np.random.default_rng(0)
    for paid in (1.0, 1.0, 0.0):
        last = play(env, generator)[-1]
        assert (last["intrinsic"], last["life_lost"]) == (paid, paid > 0)
        env.reset()
