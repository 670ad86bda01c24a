import json
from operator import itemgetter
from pathlib import Path

import gymnasium
import minigrid  # noqa: F401  (makes the MiniGrid environments known)
import numpy as np
import pytest
import torch
from ale_envs import ale, frames
from gymnasium.utils.env_checker import check_env
from gymnasium.wrappers import (
    TimeLimit,
    TransformObservation,
)
from playing import play
from stable_baselines3 import PPO
from stable_baselines3.common.atari_wrappers import AtariWrapper
from stable_baselines3.common.vec_env import DummyVecEnv

from deepcs import Bounds, CuriosityGrid, Position, UnboundedGrid
from deepcs.envs.atari import AtariActor
from deepcs.envs.mazes import KeyHallway
from deepcs.envs.wrapper import CuriosityWrapper
from deepcs.system.snapshot import SnapshotError

GOLDEN = Path(__file__).parents[1] / "data" / "golden.json"


def minigrid_cell(env, observation, info):
    return Position(*env.unwrapped.agent_pos)


def minigrid_image():
    env = gymnasium.make("MiniGrid-DoorKey-5x5-v0")
    return TransformObservation(env, itemgetter("image"), env.observation_space["image"])


def four_rooms(**settings):
    return CuriosityWrapper(
        gymnasium.make("MiniGrid-FourRooms-v0", max_steps=300), locate=minigrid_cell, **settings
    )


def cart_place(env, observation, info):
    return Position(observation[0] * 10, observation[2] * 100)


def test_golden_actions_touch_the_tiles_that_the_trace_implies():
    case = json.loads(GOLDEN.read_text())["cases"]["mr_key"]
    env = CuriosityWrapper(ale("MontezumaRevenge", frameskip=4, full_action_space=True))
    _, info = env.reset()
    assert (info["tiles"], info["intrinsic"], info["position"]) == (1, 0.0, (77, 235, (1,)))
    touched = {((235 - 134) // 16, 77 // 16)}
    rewards = dict(map(tuple, case["rewards"]))
    for step, (action, (x, y, room)) in enumerate(
        zip(case["actions_ale"], case["trace"], strict=True)
    ):
        tile = (y - 134) // 16, x // 16
        new = tile not in touched
        touched.add(tile)
        observation, reward, _, _, info = env.step(action)
        assert info["position"] == (x, y, (room,))
        assert (info["intrinsic"], info["tiles"]) == (new, len(touched))
        assert info["game_reward"] == rewards.get(step, 0)
        assert reward == 0.25 * (step in rewards) + 0.75 * new
        np.testing.assert_array_equal(observation[..., 3], env.explorer.plane)
    assert len(touched) > 20


@pytest.mark.parametrize("game", ["MontezumaRevenge", "Amidar", "Tutankham"])
def test_a_wrapped_actor_sees_what_an_actor_with_its_own_grid_sees(game):
    own = AtariActor(game, grid="plane", lifetime="life")
    wrapped = CuriosityWrapper(AtariActor(game, grid="none"), lifetime="life", mix=False)
    (own_view, _), (view, _) = own.reset(seed=3), wrapped.reset(seed=3)
    generator = np.random.default_rng(0)
    lost = 0
    for _ in range(400):
        np.testing.assert_array_equal(view, own_view)
        action = generator.integers(own.action_space.n)
        own_view, own_reward, over, _, own_info = own.step(action)
        view, reward, _, _, info = wrapped.step(action)
        assert reward == own_reward
        assert info == own_info
        lost += info["life_lost"]
        if over:
            (own_view, _), (view, _) = own.reset(), wrapped.reset()
    assert lost


@pytest.mark.parametrize(
    ("make", "shape"),
    [
        (lambda: ale("Pitfall", obs_type="rgb"), (210, 160, 4)),
        (lambda: ale("Pitfall", obs_type="grayscale"), (210, 160, 2)),
        (frames, (5, 84, 84)),
    ],
)
def test_an_image_gets_one_more_channel_in_its_own_layout(make, shape):
    env = CuriosityWrapper(make())
    assert env.observation_space.shape == shape
    inner = env.env.observation_space.shape
    observation, _ = env.reset(seed=0)
    assert observation in env.observation_space
    if shape[0] == 5:
        frame, plane = observation[:4], observation[4]
    else:
        frame, plane = observation[..., :-1].reshape(inner), observation[..., -1]
    assert frame.any()
    np.testing.assert_array_equal(plane, env.explorer.plane)
    assert set(np.unique(plane)) == {0, 255}


def test_other_observations_get_the_grid_beside_them():
    ram = CuriosityWrapper(ale("Pitfall", obs_type="ram"), shape=(42, 40))
    observation, _ = ram.reset(seed=0)
    assert {key: part.shape for key, part in observation.items()} == {
        "observation": (128,),
        "grid": (1, 42, 40),
    }
    observation, _ = four_rooms(bounds=Bounds(0, 0, 19, 19), shape=(19, 19)).reset(seed=0)
    assert observation.keys() == {"direction", "image", "mission", "grid"}
    assert np.count_nonzero(observation["grid"]) == 1


def test_without_the_grid_the_observation_stays():
    env = CuriosityWrapper(ale("Venture"), grid=False)
    assert env.observation_space == env.env.observation_space
    assert env.reset(seed=0)[0].shape == (210, 160, 3)


def test_without_mixing_the_reward_stays():
    case = json.loads(GOLDEN.read_text())["cases"]["mr_key"]
    env = CuriosityWrapper(ale("MontezumaRevenge", full_action_space=True), mix=False)
    env.reset()
    rewards = [env.step(action)[1] for action in case["actions_ale"]]
    assert sum(rewards) == max(rewards) == 100


@pytest.mark.parametrize("bounds", [Bounds(0, 0, 19, 19), None])
def test_in_minigrid_each_cell_but_the_first_pays_once(bounds):
    env = four_rooms(bounds=bounds, mix=True, weight=0.0)
    assert isinstance(env.explorer.grid, UnboundedGrid if bounds is None else CuriosityGrid)
    env.reset(seed=1)
    generator = np.random.default_rng(0)
    cells = {env.unwrapped.agent_pos}
    paid, ended = 0.0, False
    while not ended:
        _, reward, terminated, truncated, info = env.step(generator.integers(3))
        ended = terminated or truncated
        cells |= set() if terminated else {tuple(map(int, env.unwrapped.agent_pos))}
        paid += reward
    assert paid == len(cells) - 1 == info["tiles"] - 1 > 10
    assert sum(env.take_visits().values()) >= len(cells)
    assert env.reset(seed=1)[1]["tiles"] == 1


def test_graded_rewards_pay_for_coming_back():
    env = CuriosityWrapper(
        KeyHallway(), locate=lambda env, view, info: info["position"], graded=True, weight=0.0
    )
    env.reset()
    paid = [env.step(action)[1] for action in (1, 0, 1)]
    assert paid == pytest.approx([1, 0.5**0.5, 0.5**0.5])


def test_fractions_stay_as_they_are_and_fall_into_whole_tiles():
    env = CuriosityWrapper(gymnasium.make("CartPole-v1"), locate=lambda *_: Position(-0.5, 2.7))
    assert env.reset(seed=0)[1]["position"] == (-0.5, 2.7, ())
    assert env.explorer.grid.here == ((), 2, -1)


@pytest.mark.parametrize(
    "make",
    [
        lambda: CuriosityWrapper(gymnasium.make("ALE/MontezumaRevenge-v5")),
        lambda: CuriosityWrapper(frames()),
        lambda: CuriosityWrapper(gymnasium.make("ALE/Amidar-v5", obs_type="ram")),
        lambda: CuriosityWrapper(gymnasium.make("CartPole-v1"), locate=cart_place),
        lambda: four_rooms(bounds=Bounds(0, 0, 19, 19)),
        lambda: CuriosityWrapper(minigrid_image(), locate=minigrid_cell),
    ],
)
@pytest.mark.filterwarnings("ignore:.*(unwrapped version|infinity):UserWarning")
def test_wrapped_environments_pass_gymnasiums_checker(make):
    check_env(make(), skip_render_check=True)


def test_a_wrapped_environment_can_be_made_again_from_its_spec():
    env = CuriosityWrapper(ale("Gravitar", obs_type="grayscale"), tile=8, weight=0.5)
    again = gymnasium.make(env.spec)
    assert (again.weight, again.explorer.grid.tile) == (0.5, 8)
    assert again.observation_space == env.observation_space


def test_ppo_learns_from_a_wrapped_game():
    torch.set_num_threads(1)
    envs = DummyVecEnv(
        [lambda: CuriosityWrapper(AtariWrapper(ale("MontezumaRevenge", frameskip=1)))] * 2
    )
    model = PPO("CnnPolicy", envs, n_steps=64, batch_size=128, n_epochs=1, seed=0)
    before = [weight.clone() for weight in model.policy.parameters()]
    intrinsic = []

    def watch(scope, _):
        intrinsic.extend(info["intrinsic"] for info in scope["infos"])
        return True

    model.learn(2 * 128, callback=watch)
    assert len(intrinsic) == 2 * 128
    assert sum(intrinsic) > 0
    assert model.rollout_buffer.rewards.max() == 0.75
    assert any(
        not torch.equal(*pair) for pair in zip(before, model.policy.parameters(), strict=True)
    )


@pytest.mark.parametrize(
    "make",
    [
        lambda: CuriosityWrapper(AtariActor("Amidar", protocol="machado", grid="none")),
        lambda: CuriosityWrapper(
            gymnasium.make("deepcs/KeyHallway-v0"), locate=lambda env, view, info: info["position"]
        ),
    ],
)
def test_a_restored_wrapper_goes_on_identically(make):
    env, other = make(), make()
    generator = np.random.default_rng(0)
    env.reset(seed=5)
    other.reset(seed=6)
    for _ in range(50):
        env.step(generator.integers(env.action_space.n))
    other.restore(env.snapshot())
    for _ in range(300):
        action = generator.integers(env.action_space.n)
        (view, *result), (other_view, *other_result) = env.step(action), other.step(action)
        np.testing.assert_array_equal(view, other_view)
        assert result == other_result
        if result[1] or result[2]:
            env.reset()
            other.reset()


def test_what_cannot_be_frozen_says_so():
    for env, layer in ((ale("Freeway"), "AtariEnv"), (TimeLimit(KeyHallway(), 9), "TimeLimit")):
        wrapped = CuriosityWrapper(env, locate=lambda *_: Position(0, 0))
        with pytest.raises(SnapshotError, match=rf"^{layer} has no snapshot\(\) and restore\(\)"):
            wrapped.snapshot()
        with pytest.raises(SnapshotError, match="kind 'grid' where 'curiosity wrapper' is needed"):
            wrapped.restore({"kind": "grid"})


def test_bad_inputs_are_refused_in_one_sentence():
    cart = gymnasium.make("CartPole-v1")
    with pytest.raises(ValueError, match=r"CartPoleEnv, which is not an ALE .*pass locate="):
        CuriosityWrapper(cart)
    with pytest.raises(ValueError, match=r"'pong'.* known ones .*Alien.*WizardOfWor.*pass locate="):
        CuriosityWrapper(ale("Pong"))
    with pytest.raises(ValueError, match="MontezumaRevenge brings its own"):
        CuriosityWrapper(ale("MontezumaRevenge"), bounds=Bounds(0, 0, 9, 9))
    for wrong, message in (
        ({"weight": 1.5}, "weight 1.5"),
        ({"tile": 0}, "tile size of 0"),
        ({"lifetime": "day"}, "lifetime 'day'"),
        ({"shape": (84, 0)}, "shape"),
    ):
        with pytest.raises(ValueError, match=message):
            CuriosityWrapper(cart, locate=cart_place, **wrong)
    with pytest.raises(ValueError, match="already has a 'grid'"):
        CuriosityWrapper(four_rooms(), locate=minigrid_cell)
    for place in (7, "ab", (), {}):
        with pytest.raises(ValueError, match=r"locate returned .*; return a deepcs.Position"):
            CuriosityWrapper(cart, locate=lambda *_, place=place: place).reset()
    for place in (
        Position(1, 2, 3),
        Position(np.nan, 2),
        Position(np.inf, 2),
        Position(1, 2, (1.7,)),
        Position("left", 2),
        (1.0, np.nan),
        np.array([np.inf, 0.0]),
    ):
        with pytest.raises(ValueError, match=r"^locate returned .*; give finite numbers"):
            CuriosityWrapper(cart, locate=lambda *_, place=place: place).reset()
    small = {"bounds": Bounds(0, 0, 2, 2), "locate": lambda *_: Position(5, 5)}
    assert CuriosityWrapper(cart, **small).reset()[1]["tiles"] == 1
    with pytest.raises(ValueError, match=r"Position \(5, 5\) is outside the grid"):
        CuriosityWrapper(cart, **small, clamp=False).reset()


def test_a_thirteenth_game_works_with_a_locate_of_ones_own():
    pong = TimeLimit(AtariWrapper(ale("Pong", frameskip=1)), 200)
    env = CuriosityWrapper(
        pong, locate=lambda env, *_: Position(0, env.unwrapped.ale.getRAM()[51]), tile=16
    )
    env.reset(seed=0)
    infos = play(env, np.random.default_rng(0))
    assert sum(info["intrinsic"] for info in infos) == infos[-1]["tiles"] - 1 > 3
