"""A restored pool goes on exactly as the saved one would; what does not fit changes nothing."""

from __future__ import annotations

import gymnasium
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from playing import assert_same, play_pool

import deepcs
from deepcs.envs.make import make_actor
from deepcs.system.snapshot import SnapshotError

WORLDS = ["MontezumaRevenge", "Amidar", "Tutankham", "Venture", "KeyHallway"]
IN_LONG = ("Amidar", "Tutankham", "Venture")  # which `make test` leaves to `make test-all`
FEW = [pytest.param(w, marks=[pytest.mark.long] * (w in IN_LONG)) for w in WORLDS]
STEPS = {"KeyHallway": 200}  # so many that games end on the way
ATARI_STEPS = 60
SHORT = {"max_frames": 200}  # games of 50 steps; a maze has a limit of its own, and no protocol


def check_restored(world, protocol, before, seed):
    steps = STEPS.get(world, ATARI_STEPS)
    settings = {} if world == "KeyHallway" else {"protocol": protocol, **SHORT}
    envs = deepcs.make_vec(world, num_envs=2, seed=seed, workers=0, **settings)
    envs.reset()
    play_pool(envs, before, seed)
    frozen = envs.snapshot()
    expected = play_pool(envs, steps, seed + 1)
    assert any(isinstance(each, str) for each in expected), "no game ended"
    thawed = deepcs.make_vec(world, num_envs=2, seed=seed + 7, workers=0, **settings)
    thawed.reset()
    play_pool(thawed, 13, seed + 2)
    thawed.restore(frozen)
    assert_same(expected, play_pool(thawed, steps, seed + 1))


@pytest.mark.parametrize("world", FEW)
@pytest.mark.parametrize("protocol", ["machado"])
@settings(max_examples=2, deadline=None)
@given(before=st.integers(0, 120), seed=st.integers(0, 1000))
def test_a_restored_pool_goes_on_identically(world, protocol, before, seed):
    check_restored(world, protocol, before, seed)


@pytest.mark.long
@pytest.mark.parametrize("world", WORLDS)
@pytest.mark.parametrize("protocol", ["paper", "machado"])
@settings(max_examples=40, deadline=None)
@given(before=st.integers(0, 400), seed=st.integers(0, 100_000))
def test_a_restored_pool_goes_on_identically_often(world, protocol, before, seed):
    check_restored(world, protocol, before, seed)


@pytest.mark.parametrize("world", FEW)
def test_a_snapshot_continues_in_fresh_processes_with_other_workers(world):
    steps = STEPS.get(world, ATARI_STEPS)
    settings = {} if world == "KeyHallway" else {"protocol": "machado", **SHORT}
    settings["num_envs"] = 3
    envs = deepcs.make_vec(world, seed=1, workers=0, **settings)
    envs.reset()
    play_pool(envs, 40, seed=1)
    frozen = envs.snapshot()
    expected = play_pool(envs, steps, seed=2)
    thawed = deepcs.make_vec(world, seed=9, workers=2, **settings)
    thawed.restore(frozen)
    assert_same(expected, play_pool(thawed, steps, seed=2))
    thawed.close()


def one_actor_less(frozen):
    return {**frozen, "seats": frozen["seats"][:-1]}


def of_another_world(_):
    other = deepcs.make_vec("CrossMaze", num_envs=4, workers=0)
    other.reset()
    return other.snapshot()


def damaged(key, value):
    """Breaks the last actor, after all others were restored."""

    def change(frozen):
        *whole, last = frozen["seats"]
        return {**frozen, "seats": [*whole, {**last, key: value}]}

    return change


@pytest.mark.parametrize("workers", [0, 2])
@pytest.mark.parametrize(
    ("change", "words"),
    [
        (one_actor_less, "holds 3 actors, this pool 4"),
        (of_another_world, "'cross maze' where 'key hallway'"),
        (damaged("env", {"kind": "key hallway"}), "lacks"),
        (damaged("steps", "many"), "damaged .ValueError"),
        (lambda _: {"kind": "grid"}, "kind 'grid'"),
        (lambda _: {"kind": "pool"}, "truncated"),
        (list, "Got list"),
    ],
)
def test_a_refused_snapshot_is_one_sentence_and_changes_no_actor(workers, change, words):
    pools = [deepcs.make_vec("KeyHallway", num_envs=4, workers=n) for n in (0, workers)]
    for envs in pools:
        envs.reset()
    frozen = pools[0].snapshot()
    for envs in pools:
        play_pool(envs, 30, seed=1)
    with pytest.raises(SnapshotError, match=words) as raised:
        pools[1].restore(change(frozen))
    assert "\n" not in str(raised.value)
    assert_same(*(play_pool(envs, 200, seed=2) for envs in pools))
    pools[1].close()


@pytest.mark.parametrize("workers", [0, 2])
def test_what_cannot_be_frozen_says_so_and_plays_on(workers):
    envs = deepcs.make_vec(lambda: gymnasium.make("CartPole-v1"), num_envs=3, workers=workers)
    envs.reset(seed=0)
    assert not envs.freezable
    with pytest.raises(SnapshotError, match="CartPoleEnv has no snapshot"):
        envs.snapshot()
    assert envs.step(np.zeros(3, np.int64))[0].shape == (3, 4)
    envs.close()


def test_a_refused_snapshot_leaves_a_wrapped_environment_as_it_was():
    def make():
        return deepcs.CuriosityWrapper(
            make_actor("KeyHallway"), locate=lambda env, view, info: info["position"]
        )

    env, twin = make(), make()
    for each in (env, twin):
        each.reset(seed=0)
        for action in (1, 1, 0):
            each.step(action)
    broken = env.snapshot()
    env.step(1)
    twin.step(1)
    broken["env"] = {**broken["env"], "cell": [77, 77]}
    with pytest.raises(SnapshotError, match="row 77"):
        env.restore(broken)
    assert repr(env.snapshot()) == repr(twin.snapshot())
