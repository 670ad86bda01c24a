"""One actor on the real emulator: frames, protocols, how games start."""

from __future__ import annotations

import json
import threading
import warnings
from itertools import pairwise
from pathlib import Path

import cv2
import numpy as np
import pytest
from ale_py import ALEInterface, roms
from gymnasium.utils.env_checker import check_env
from playing import LEFT, Spy, assert_same, steps, until_life_lost

from deepcs.envs.atari import AtariActor
from deepcs.envs.protocol import PROTOCOLS, Protocol
from deepcs.envs.wrapper import CuriosityWrapper

GOLDEN = Path(__file__).parents[1] / "data" / "golden.json"
NOOP, FIRE, UP = 0, 1, 2


@pytest.mark.parametrize(
    ("game", "protocol", "grid"),
    [
        ("Freeway", "paper", "plane"),
        ("Alien", "baselines", "plane"),
        ("Amidar", "machado", "plane"),
        ("Tutankham", "machado", "none"),
        ("WizardOfWor", "paper", "stacked"),
    ],
)
def test_gymnasium_finds_nothing_wrong(game, protocol, grid):
    actor = AtariActor(game, protocol=protocol, grid=grid, render_mode="rgb_array")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warnings.filterwarnings("ignore", message=".*spec.*")  # made without gymnasium.make
        check_env(actor)


@pytest.mark.parametrize(("grid", "planes"), [("plane", 5), ("stacked", 8), ("none", 4)])
def test_the_grid_setting_decides_the_planes(grid, planes):
    actor = AtariActor("Freeway", grid=grid)
    observation, _ = actor.reset(seed=0)
    assert observation.shape == actor.observation_space.shape == (planes, 84, 84)
    assert actor.observation_space.contains(actor.step(0)[0])


def test_a_stacked_grid_is_four_planes_newest_last():
    actor = AtariActor("MontezumaRevenge", grid="stacked")
    before, _ = actor.reset(seed=0)
    assert not before[4:7].any()
    assert before[7].any()
    for observation, *_ in steps(actor, 40):
        np.testing.assert_array_equal(observation[4:7], before[5:8])
        np.testing.assert_array_equal(observation[7], actor.explorer.plane)
        before = observation


@pytest.mark.parametrize("protocol", ["paper", "baselines"])
@pytest.mark.parametrize("lifetime", ["game", "life", "never"])
def test_the_plane_is_the_map_of_the_room_through_lives_games_and_restores(lifetime, protocol):
    actor = AtariActor("MontezumaRevenge", lifetime=lifetime, protocol=protocol, max_frames=400)
    observation, info = actor.reset(seed=0)
    rng = np.random.default_rng(3)
    lost = 0
    for step in range(220):
        room_map = actor.explorer.grid.plane(info["room"])
        np.testing.assert_array_equal(observation[4], room_map)
        if step == 50:
            frozen = actor.snapshot()
        if step == 150:
            actor.restore(frozen)
        observation, _, _, truncated, info = actor.step(int(rng.integers(18)))
        lost += info["life_lost"]
        if truncated:
            observation, info = actor.reset()
    assert lost


def test_a_frame_is_the_maximum_of_the_last_two_grey_screens_shrunk_by_area():
    actor = AtariActor("Seaquest")
    actor.reset(seed=0)
    for _ in steps(actor, 60):
        pass
    beside = ALEInterface()
    beside.setFloat("repeat_action_probability", 0.0)
    beside.loadROM(roms.get_rom_path("seaquest"))
    beside.restoreState(actor.ale.cloneState())
    for action in (3, 1, 4):
        observation = actor.step(action)[0]
        screens = []
        for _ in range(4):
            beside.act(actor.actions[action])
            screens.append(beside.getScreenGrayscale())
        assert (screens[2] != screens[3]).any()
        newest = cv2.resize(np.maximum(*screens[2:]), (84, 84), interpolation=cv2.INTER_AREA)
        np.testing.assert_array_equal(observation[3], newest)


def test_the_newest_frame_is_last_and_a_reset_leaves_only_it():
    actor = AtariActor("MontezumaRevenge")
    for seed in (0, None):
        before, _ = actor.reset(seed=seed)
        assert not before[:3].any()
        assert before[3].any()
        for observation, *_ in steps(actor, 6):
            np.testing.assert_array_equal(observation[:3], before[1:4])
            before = observation


def test_an_observation_is_the_callers_to_keep():
    actor = AtariActor("MontezumaRevenge")
    first, _ = actor.reset(seed=0)
    kept = first.copy()
    second = actor.step(0)[0]
    np.testing.assert_array_equal(first, kept)
    second[:] = 7
    assert not (actor.step(0)[0] == 7).all(axis=(1, 2)).any()


def test_a_game_starts_with_1_to_30_raw_frames_of_no_action():
    actor = AtariActor("Freeway")
    spy = Spy(actor)
    actor.reset(seed=0)
    drawn = set()
    for _ in range(200):
        spy.acts.clear()
        actor.reset()
        assert set(spy.acts) == {NOOP}
        assert len(spy.acts) == actor.ale.getEpisodeFrameNumber()
        drawn.add(len(spy.acts))
    assert drawn == set(range(1, 31))


def test_fire_then_action_2_come_after_a_reset_in_games_that_have_fire_and_never_else():
    actor = AtariActor("MontezumaRevenge")
    assert actor.actions[2] == UP
    spy = Spy(actor)
    actor.reset(seed=0)
    assert spy.acts[-8:] == [FIRE] * 4 + [UP] * 4
    assert set(spy.acts[:-8]) == {NOOP}
    assert 1 <= len(spy.acts[:-8]) <= 30
    spy.acts.clear()
    for _ in until_life_lost(actor):
        pass
    actor.step(actor.actions.index(LEFT))
    assert set(spy.acts) == {LEFT}


def test_a_game_that_ends_while_it_is_started_starts_again():
    actor = AtariActor("Alien")
    spy = Spy(actor, meddle=(FIRE, 0xC0, 0))  # no lives left
    _, info = actor.reset(seed=0)
    assert spy.acts[-5:] == [FIRE] + [UP] * 4
    assert actor.ale.getEpisodeFrameNumber() == 4
    assert (info["lives"], info["tiles"], info["score"]) == (3, 1, 0)


def test_a_new_game_starts_as_the_emulators_own_reset_does():
    actor = AtariActor("Amidar", protocol="machado")
    actor.reset(seed=0)
    for _ in steps(actor, 30):
        pass
    observation, _ = actor.reset()
    beside = ALEInterface()
    beside.loadROM(roms.get_rom_path("amidar"))
    beside.reset_game()
    np.testing.assert_array_equal(actor.ale.getRAM(), beside.getRAM())
    np.testing.assert_array_equal(actor.render(), beside.getScreenRGB())
    grey = cv2.resize(beside.getScreenGrayscale(), (84, 84), interpolation=cv2.INTER_AREA)
    np.testing.assert_array_equal(observation[3], grey)


def test_visits_are_counted_per_tile_until_they_are_taken():
    actor = AtariActor("MontezumaRevenge")
    actor.reset(seed=0)
    for _ in steps(actor, 60):
        pass
    visits = actor.take_visits()
    entries = actor.explorer.grid.entries((1,))
    assert visits == {((1,), y, x): n for (y, x), n in np.ndenumerate(entries) if n}
    assert len(visits) >= 3
    assert not actor.take_visits()


def test_a_wrapper_around_the_actor_sees_each_game_start():
    env = CuriosityWrapper(AtariActor("MontezumaRevenge", grid="none", max_frames=240))
    env.reset(seed=0)
    *_, (_, _, _, truncated, last) = steps(env, 100)
    assert truncated
    assert last["tiles"] > 1
    assert env.reset()[1]["tiles"] == 1


def test_paper_has_the_games_own_actions_and_machado_all_18():
    assert AtariActor("Freeway", protocol="paper").actions == (0, 2, 5)
    assert AtariActor("Freeway", protocol="machado").actions == tuple(range(18))


def test_machado_repeats_the_last_action_in_a_quarter_of_raw_frames():
    actor = AtariActor("Freeway", protocol="machado")
    spy = Spy(actor)
    actor.reset(seed=0)
    assert spy.acts == []
    rng = np.random.default_rng(0)
    chosen = []
    for _ in range(600):
        chosen += [int(rng.integers(18))] * 4
        actor.step(chosen[-1])
    trials = stuck = 0
    for want, (last, did) in zip(chosen[1:], pairwise(spy.acts), strict=True):
        assert did in (want, last)
        if want != last:
            trials += 1
            stuck += did == last
    assert trials > 700
    assert stuck / trials == pytest.approx(0.25, abs=0.04)


def test_paper_does_what_it_is_told():
    actor = AtariActor("Freeway")
    actor.reset(seed=0)
    spy = Spy(actor)
    for action in (0, 1, 2, 1):
        actor.step(action)
    assert spy.acts == [0] * 4 + [2] * 4 + [5] * 4 + [2] * 4


def test_the_frame_cap_truncates_and_does_not_terminate():
    actor = AtariActor("Freeway", max_frames=100)
    actor.reset(seed=0)
    *before, last = steps(actor, 100)
    assert not any(terminated or truncated for _, _, terminated, truncated, _ in before)
    assert last[2:4] == (False, True)
    assert 100 <= actor.ale.getEpisodeFrameNumber() < 104
    assert last[4]["rooms_visited"] == ((0,),)


def test_the_golden_game_scores_3600_raw_points(monkeypatch):
    raw = Protocol("raw", 0.0, True, 0, False, 400_000, True, False, False)
    monkeypatch.setitem(PROTOCOLS, "raw", raw)
    actor = AtariActor("MontezumaRevenge", protocol="raw")
    actor.reset(seed=0)
    golden = json.loads(GOLDEN.read_text())["cases"]["mr_3600"]
    rewards = []
    for action, (x, y, room) in zip(golden["actions_ale"], golden["trace"], strict=True):
        _, reward, _, _, info = actor.step(action)
        rewards.append(reward)
        assert info["position"] in (None, (x, y, (room,)))
    assert rewards[87] == 100
    assert rewards[254] == 300
    assert info["score"] == sum(rewards) == 3600
    assert {room for (room,) in actor.explorer.grid.rooms} == {1, 2, 6, 7, 13, 14}


def test_tutankhams_plane_shows_what_is_on_the_screen():
    actor = AtariActor("Tutankham")
    actor.reset(seed=0)
    actor.ale.setRAM(0xC1 - 0x80, 70)
    actor.step(0)
    actor.ale.setRAM(0xC1 - 0x80, 50)
    observation, *_, info = actor.step(0)
    y = info["position"].y
    assert 0 < y < 70
    touched = actor.explorer.grid.entries(info["room"]) > 0
    assert touched[:2].any(), "the start tile, above the window"
    expected = np.zeros((84, 84), bool)
    for row in range(84):
        unit = y - 15 + row * 35 // 84
        for column in range(84):
            expected[row, column] = touched[unit // 20, column * 145 // 84 // 20]
    np.testing.assert_array_equal(observation[4] > 0, expected)


def test_actors_made_in_one_thread_may_play_in_others():
    def play(actor, seed, out):
        rng = np.random.default_rng(seed)
        out += [actor.step(int(rng.integers(18)))[0] for _ in range(60)]

    results = []
    for together in (False, True):
        actors = [AtariActor("MontezumaRevenge") for _ in range(2)]
        for seed, actor in enumerate(actors):
            actor.reset(seed=seed)
        outs = [[], []]
        threads = [
            threading.Thread(target=play, args=(actor, seed, out))
            for seed, (actor, out) in enumerate(zip(actors, outs, strict=True))
        ]
        for thread in threads:
            thread.start()
            if not together:
                thread.join()
        for thread in threads:
            thread.join()
        results.append(outs[0] + outs[1])
    assert_same(*results)
