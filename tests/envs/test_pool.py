"""The pool against single actors, against itself with other workers, and against murder."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import textwrap
import time
from pathlib import Path

import gymnasium
import numpy as np
import psutil
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import deepcs
from deepcs.curiosity.snapshot import SnapshotError
from deepcs.envs.atari import AtariActor
from deepcs.envs.process import WorkerError
from deepcs.envs.seats import actor_seed

WORLDS = ["MontezumaRevenge", "Amidar", "Tutankham", "Venture", "KeyHallway"]


def play(envs, steps, seed):
    """Random actions; everything that comes out, as one list of arrays."""
    rng = np.random.default_rng(seed)
    out = []
    for _ in range(steps):
        actions = rng.integers(envs.single_action_space.n, size=envs.num_envs)
        observations, rewards, terminated, truncated, infos = envs.step(actions)
        out += [observations, rewards, terminated, truncated]
        out += [infos[key] for key in ("intrinsic", "life_lost", "tiles", "rooms", "score")]
    return out


def same(one, other):
    assert len(one) == len(other)
    for a, b in zip(one, other, strict=True):
        np.testing.assert_array_equal(a, b)


def test_the_number_of_workers_does_not_change_trajectories():
    results = []
    for workers in (0, 1, 2, 4):
        envs = deepcs.make_vec("MontezumaRevenge", num_envs=4, seed=3, workers=workers)
        first, _ = envs.reset()
        results.append([first, *play(envs, 60, seed=1)])
        envs.close()
    for other in results[1:]:
        same(results[0], other)


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
            assert (reward, cut) == (rewards[i], truncated[i])
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


def test_neighbouring_seeds_share_no_actor():
    seeds = [actor_seed(seed, actor) for seed in range(4) for actor in range(16)]
    assert len(set(seeds)) == len(seeds)


@pytest.mark.parametrize("world", WORLDS)
@pytest.mark.parametrize("protocol", ["paper", "machado"])
@settings(max_examples=2, deadline=None)
@given(before=st.integers(0, 120), seed=st.integers(0, 1000))
def test_a_restored_pool_goes_on_identically(world, protocol, before, seed):
    envs = deepcs.make_vec(world, num_envs=2, seed=seed, workers=0, protocol=protocol)
    envs.reset()
    play(envs, before, seed)
    frozen = envs.snapshot()
    expected = play(envs, 60, seed + 1)
    thawed = deepcs.make_vec(world, num_envs=2, seed=seed + 7, workers=0, protocol=protocol)
    thawed.reset()
    play(thawed, 13, seed + 2)
    thawed.restore(frozen)
    same(expected, play(thawed, 60, seed + 1))


@pytest.mark.parametrize("world", ["MontezumaRevenge", "KeyHallway"])
def test_a_snapshot_continues_in_fresh_processes_with_other_workers(world):
    envs = deepcs.make_vec(world, num_envs=3, seed=1, workers=0, protocol="machado")
    envs.reset()
    play(envs, 50, seed=1)
    frozen = envs.snapshot()
    expected = play(envs, 400 if world == "KeyHallway" else 80, seed=2)
    thawed = deepcs.make_vec(world, num_envs=3, seed=9, workers=2, protocol="machado")
    thawed.restore(frozen)
    same(expected, play(thawed, 400 if world == "KeyHallway" else 80, seed=2))
    thawed.close()


def test_snapshots_that_do_not_fit_are_refused_in_a_sentence():
    envs = deepcs.make_vec("KeyHallway", num_envs=2, workers=0)
    envs.reset()
    frozen = envs.snapshot()
    with pytest.raises(SnapshotError, match="holds 1 actors"):
        envs.restore({**frozen, "seats": frozen["seats"][:1]})
    with pytest.raises(SnapshotError, match="kind 'grid'"):
        envs.restore({"kind": "grid"})
    with pytest.raises(SnapshotError, match="truncated"):
        envs.restore({"kind": "pool"})


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
    assert not envs.freezable
    with pytest.raises(WorkerError, match="no snapshot"):
        envs.snapshot()


def test_a_killed_worker_is_named_at_once_and_nothing_is_left_behind():
    envs = deepcs.make_vec("Freeway", num_envs=4, workers=2)
    envs.reset()
    processes = [worker.popen for worker in envs._workers]
    os.kill(processes[1].pid, signal.SIGKILL)
    began = time.monotonic()
    with pytest.raises(WorkerError, match=r"Worker 1 .*actors 2 to 3.*SIGKILL"):
        play(envs, 3, seed=0)
    assert time.monotonic() - began < 5
    assert all(process.poll() is not None for process in processes)
    with pytest.raises(RuntimeError, match="closed pool"):
        envs.step(np.zeros(4, np.int64))


def test_an_error_in_an_environment_names_its_worker():
    def make():
        env = gymnasium.make("CartPole-v1")
        env.unwrapped.step = None
        return env

    envs = deepcs.make_vec(make, num_envs=2, workers=2)
    envs.reset(seed=0)
    with pytest.raises(WorkerError, match=r"Worker 0 .*TypeError"):
        envs.step(np.zeros(2, np.int64))


SCRIPT = """
import sys, time, torch, deepcs
envs = deepcs.make_vec("Freeway", num_envs=2, workers=2)
envs.reset()
print(*[worker.popen.pid for worker in envs._workers], flush=True)
time.sleep(60)
"""


def test_workers_and_their_memory_go_with_a_killed_parent():
    # A script without a main guard, with torch loaded before the pool is made.
    parent = subprocess.Popen([sys.executable, "-c", SCRIPT], stdout=subprocess.PIPE, text=True)
    pids = [int(pid) for pid in parent.stdout.readline().split()]
    assert len(pids) == 2
    loaded = Path(f"/proc/{pids[0]}/maps").read_text()
    assert "libtorch" not in loaded
    assert "deepcs-pool" in loaded
    parent.kill()
    parent.wait()
    deadline = time.monotonic() + 5
    while any(map(psutil.pid_exists, pids)) and time.monotonic() < deadline:
        time.sleep(0.05)
    assert not any(map(psutil.pid_exists, pids))
    assert not [name for name in os.listdir("/dev/shm") if "deepcs" in name]


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
        (lambda: deepcs.make_vec("Freeway", num_envs=0), "at least one actor"),
        (lambda: deepcs.make_vec("Freeway", workers=-1), "-1 workers"),
        (lambda: deepcs.make_vec("Freeway", protocol="x"), "choose one of paper, machado"),
        (lambda: deepcs.make_vec("Freeway", grid="x"), "plane, stacked, none"),
        (lambda: deepcs.make_vec("nowhere:make"), "module:factory"),
    ],
)
def test_bad_input_gets_one_clear_sentence(call, words):
    with pytest.raises(ValueError, match=words) as raised:
        call()
    assert "\n" not in str(raised.value)
