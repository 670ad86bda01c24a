"""The pool against single actors, and against itself with other workers."""

from __future__ import annotations

import subprocess
import sys
import textwrap

import gymnasium
import numpy as np
import pytest
from playing import LEFT, assert_same, play_pool

import deepcs
from deepcs.envs.atari import AtariActor
from deepcs.envs.seats import actor_seed


@pytest.mark.long
def test_the_number_of_workers_does_not_change_trajectories():
    results = []
    for workers in (0, 1, 2, 4):
        envs = deepcs.make_vec("MontezumaRevenge", num_envs=4, seed=3, workers=workers)
        first, _ = envs.reset()
        results.append([first, *play_pool(envs, 60, seed=1)])
        envs.close()
    for other in results[1:]:
        assert_same(results[0], other)


def test_a_pool_does_what_its_actors_would_do_alone():
    envs = deepcs.make_vec("Freeway", num_envs=2, seed=5, workers=2, max_frames=240)
    pooled, _ = envs.reset()
    rng = np.random.default_rng(0)
    actions = rng.integers(3, size=(90, 2))
    for i in range(2):
        alone = AtariActor("Freeway", max_frames=240)
        observation, _ = alone.reset(seed=actor_seed(5, i))
        np.testing.assert_array_equal(observation, pooled[i])
    alone = [AtariActor("Freeway", max_frames=240) for _ in range(2)]
    for i, actor in enumerate(alone):
        actor.reset(seed=actor_seed(5, i))
    ends = 0
    for row in actions:
        observations, rewards, _, truncated, infos = envs.step(row)
        for i, actor in enumerate(alone):
            observation, reward, _, cut, info = actor.step(row[i])
            assert (reward, cut) == (infos["game_reward"][i], truncated[i])
            assert rewards[i] == min(reward + info["intrinsic"], 1)  # equal, in Freeway
            assert info["intrinsic"] == infos["intrinsic"][i]
            if cut:
                ends += 1
                np.testing.assert_array_equal(infos["final_obs"][i], observation)
                assert infos["final_info"]["score"][i] == info["score"]
                assert infos["game"][i].score == info["score"]
                observation, _ = actor.reset()
            np.testing.assert_array_equal(observation, observations[i])
    envs.close()
    assert ends >= 2


def test_actions_may_be_arrays_of_numbers():
    envs = deepcs.make_vec(lambda: gymnasium.make("Pendulum-v1"), num_envs=3, workers=2)
    envs.reset(seed=[1, 2, 3])
    alone = gymnasium.make("Pendulum-v1")
    alone.reset(seed=2)
    for action in np.linspace(-2, 2, 9, dtype=np.float32):
        observations, rewards, *_ = envs.step(np.full((3, 1), action))
        observation, reward, *_ = alone.step(np.array([action]))
        np.testing.assert_array_equal(observations[1], observation)
        assert rewards[1] == reward
    envs.close()


@pytest.mark.parametrize(
    ("world", "actions", "words"),
    [
        ("KeyHallway", 1, r"int64 \(\); give int64 \(2,\)"),
        ("KeyHallway", [1], r"int64 \(1,\); give int64 \(2,\)"),
        ("KeyHallway", [0.9, 1.9], r"float64 \(2,\); give int64"),
        ("KeyHallway", [0, 4], "from 0 to 4; choose from 0 to 3"),
        ("Freeway", [-1, 0], "from -1 to 0; choose from 0 to 2"),
    ],
)
def test_actions_that_cannot_be_done_are_refused_and_the_pool_plays_on(world, actions, words):
    envs = deepcs.make_vec(world, num_envs=2, workers=1)
    envs.reset()
    with pytest.raises(ValueError, match=words):
        envs.step(actions)
    envs.step(np.array([0, 1]))
    envs.close()


def test_a_step_before_the_first_reset_is_refused():
    with pytest.raises(gymnasium.error.ResetNeeded, match="call reset"):
        deepcs.make_vec("Freeway", num_envs=1, workers=0).step([0])
    with pytest.raises(gymnasium.error.ResetNeeded, match="call reset"):
        AtariActor("Freeway").step(0)


def test_a_reset_tells_nothing_of_the_step_before_it():
    envs = deepcs.make_vec("KeyHallway", num_envs=2, workers=0)
    envs.reset()
    assert envs.step([0, 1])[4]["intrinsic"].tolist() == [1, 1]
    _, infos = envs.reset()
    assert infos["intrinsic"].tolist() == [0, 0]
    assert infos["tiles"].tolist() == [1, 1]
    lost = deepcs.make_vec("MontezumaRevenge", num_envs=1, workers=0)
    lost.reset(seed=0)
    left = lost._here.seats[0].env.actions.index(LEFT)
    assert any(lost.step([left])[4]["life_lost"][0] for _ in range(200))
    assert not lost.reset()[1]["life_lost"][0]


def test_a_finished_game_is_told_of_alone_though_the_grid_outlives_it():
    envs = deepcs.make_vec("KeyHallway", num_envs=1, workers=0, lifetime="never")
    envs.reset()
    games = []
    for step in range(320):  # two games: ten cells to the right, then five to the left
        infos = envs.step([1 if step < 160 else 0 if step < 165 else 2])[4]
        games += [game for game in infos.get("game", ()) if game is not None]
    assert [(game.tiles, game.rooms, game.intrinsic) for game in games] == [
        (11, ((),), 10),
        (6, ((),), 5),
    ]
    assert envs._here.seats[0].env.explorer.grid.tiles == 16


class Optional(gymnasium.Wrapper):
    def reset(self, *, seed=None, options=None):
        observation, info = super().reset(seed=seed)
        return observation + options["more"], info


def test_options_reach_every_environment():
    plain = deepcs.make_vec(lambda: gymnasium.make("CartPole-v1"), num_envs=2, workers=1)
    envs = deepcs.make_vec(lambda: Optional(gymnasium.make("CartPole-v1")), num_envs=2, workers=1)
    more = envs.reset(seed=np.int64(3), options={"more": 1})[0] - plain.reset(seed=3)[0]
    np.testing.assert_allclose(more, 1, atol=1e-6)
    part = {"more": 2, "reset_mask": np.array([False, True])}
    shifted = envs.reset(seed=[1, 2], options=part)[0] - plain.reset(seed=[1, 2])[0]
    np.testing.assert_allclose(shifted[1], 2, atol=1e-6)
    with pytest.raises(ValueError, match="Got 1 seeds for 2 actors"):
        envs.reset(seed=[1])
    envs.close()
    plain.close()


@pytest.mark.parametrize("workers", [0, 2])
def test_a_reset_mask_starts_some_games_and_leaves_the_others(workers):
    envs = deepcs.make_vec("Freeway", num_envs=3, seed=0, workers=workers)
    whole = deepcs.make_vec("Freeway", num_envs=3, seed=0, workers=0)
    for pool in (envs, whole):
        pool.reset()
        play_pool(pool, 20, seed=1)
    mask = np.array([False, True, False])
    observations, infos = envs.reset(seed=[7, 8, 9], options={"reset_mask": mask})
    before, told = whole._observations(), whole._infos([])
    fresh, _ = AtariActor("Freeway").reset(seed=8)
    np.testing.assert_array_equal(observations[1], fresh)
    np.testing.assert_array_equal(observations[~mask], before[~mask])
    assert infos["tiles"].tolist() == [told["tiles"][0], 1, told["tiles"][2]]
    assert infos["intrinsic"][1] == 0
    after, expected = envs.step([1, 1, 1]), whole.step([1, 1, 1])
    np.testing.assert_array_equal(after[0][~mask], expected[0][~mask])
    envs.close()
    whole.close()


@pytest.mark.parametrize("mask", [[True], [1, 0], np.ones((2, 1), bool)])
def test_a_reset_mask_that_does_not_fit_is_refused(mask):
    envs = deepcs.make_vec("KeyHallway", num_envs=2, workers=0)
    with pytest.raises(gymnasium.error.ResetNeeded, match="in every actor first"):
        envs.reset(options={"reset_mask": np.array([True, False])})
    envs.reset()
    with pytest.raises(ValueError, match=r"Got reset_mask .*; give bool \(2,\)"):
        envs.reset(options={"reset_mask": mask})


def test_neighbouring_seeds_share_no_actor():
    seeds = [actor_seed(seed, actor) for seed in range(4) for actor in range(16)]
    assert len(set(seeds)) == len(seeds)


def test_gymnasium_knows_how_the_pool_resets():
    envs = deepcs.make_vec("KeyHallway", num_envs=2, workers=0)
    assert envs.metadata["autoreset_mode"] == gymnasium.vector.AutoresetMode.SAME_STEP
    observations, _ = envs.reset()
    assert envs.observation_space.contains(observations)


def test_a_users_function_works_in_worker_processes():
    def make():
        return gymnasium.make("CartPole-v1")

    envs = deepcs.make_vec(make, num_envs=3, workers=2)
    observations, _ = envs.reset(seed=0)
    assert observations.shape == (3, 4)
    envs.close()


def test_an_environment_of_ones_own_is_found_by_module_and_factory(tmp_path):
    (tmp_path / "own.py").write_text(
        textwrap.dedent(
            """
            import gymnasium
            def make(render_mode=None):
                return gymnasium.make("CartPole-v1", render_mode=render_mode)
            """
        )
    )
    code = "import deepcs; e = deepcs.make_vec('own:make', num_envs=2); print(e.reset()[0].shape)"
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == "(2, 4)"


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: deepcs.make_vec("Montezumas Rewenge"), "nearest is MontezumaRevenge"),
        (lambda: deepcs.make_vec("Heroo"), "nearest is Hero: .*pixels, which need no positions"),
        (lambda: deepcs.make_vec("Freeway", num_envs=0), "num_envs 0; give a whole number"),
        (lambda: deepcs.make_vec("Freeway", workers=-1), "-1 workers"),
        (lambda: deepcs.make_vec("Freeway", seed=-1), "Got seed -1"),
        (lambda: deepcs.make_vec("Freeway", weight=1.5), "Got reward weight 1.5"),
        (lambda: deepcs.make_vec("Freeway", wait=0.5), "wait for Freeway; choose from proto"),
        (lambda: deepcs.make_vec(AtariActor, mix=False), "mix beside a function; set it inside it"),
        (
            lambda: deepcs.make_vec(AtariActor, mix=False, weight=1.0),
            "Got weight, mix beside a function; set them inside it",
        ),
        (lambda: deepcs.make_vec("Freeway", mix="equal"), "Got mix 'equal'; choose True or False"),
        (
            lambda: deepcs.make_vec(gymnasium.make("CartPole-v1")),
            "Got TimeLimit as the world; give a name, a deepcs.Game, or a function",
        ),
        (lambda: deepcs.make_vec(lambda: 3, workers=0), "The function returned 3; return a Gymn"),
        (lambda: deepcs.make_vec("MountainCar-v0"), r"'MountainCar-v0'; choose from Alien"),
        (lambda: deepcs.make_vec("KeyHallway", max_frames=9), "max_frames 9 for KeyHallway"),
        (lambda: deepcs.make_vec("KeyHallway", grid="stacked"), "KeyHallway takes plane or none"),
        (
            lambda: deepcs.make_vec("own_envs:counting", protocol="machado"),
            "protocol 'machado' for own_envs:counting, which is not an Atari game",
        ),
        (
            lambda: deepcs.make_vec("Freeway", protocol="x"),
            "paper, baselines, machado",
        ),
        (lambda: deepcs.make_vec("Freeway", grid="x"), "plane, stacked, none"),
        (lambda: deepcs.make_vec("nowhere:make"), "module:factory"),
        (lambda: deepcs.make_vec("math:pi", workers=0), "which is 3.14"),
        (lambda: deepcs.make_vec("own_envs:counting", workers=0, lifetme="never"), "lifetme"),
        (lambda: deepcs.make_vec("own_envs:counting", workers=0, tile=0), "no argument 'tile'"),
        (lambda: deepcs.make_vec("own_envs:shown", workers=0, grid="none"), "shows the grid"),
        (lambda: deepcs.make_vec("KeyHallway", tile=0), "tile size of 0"),
        (
            lambda: deepcs.make_vec("KeyHallway", protocol="x"),
            "paper, baselines, machado",
        ),
        (lambda: deepcs.make_vec("Freeway", tile=0), "tile size of 0"),
        (lambda: deepcs.make_vec("Freeway", max_frames=0), "max_frames 0"),
        (lambda: AtariActor("Freeway", render_mode="human"), "render_mode 'human'"),
    ],
)
def test_bad_input_gets_one_clear_sentence(call, words):
    with pytest.raises(ValueError, match=words) as raised:
        call()
    assert "\n" not in str(raised.value)
