"""Worker processes: killed, interrupted, orphaned, failing; nothing may be left behind."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import gymnasium
import numpy as np
import psutil
import pytest
from playing import play_pool

import deepcs
from deepcs.system.process import WorkerError


def pool_memories(pid):
    """The inodes of the pools' shared memories that a process has mapped."""
    lines = Path(f"/proc/{pid}/maps").read_text().splitlines()
    return {line.split()[4] for line in lines if "memfd:deepcs-pool" in line}


@pytest.mark.parametrize("when", ["before", "during"])
def test_a_killed_worker_is_named_at_once_and_nothing_is_left_behind(when):
    before = pool_memories(os.getpid())
    envs = deepcs.make_vec("Freeway", num_envs=4, workers=2)
    envs.reset()
    assert len(pool_memories(os.getpid()) - before) == 1
    processes = [worker.popen for worker in envs._workers.processes]
    if when == "during":
        for worker in processes:
            os.kill(worker.pid, signal.SIGSTOP)
        envs.step_async(np.zeros(4, np.int64))
        os.kill(processes[0].pid, signal.SIGCONT)
    os.kill(processes[1].pid, signal.SIGKILL)
    began = time.monotonic()
    with pytest.raises(WorkerError, match=r"Worker 1 .*actors 2 to 3.*SIGKILL") as raised:
        envs.step_wait() if when == "during" else play_pool(envs, 3, seed=0)
    assert time.monotonic() - began < 5
    assert "\n" not in str(raised.value)
    assert all(process.poll() is not None for process in processes)
    with pytest.raises(RuntimeError, match="closed pool"):
        envs.step(np.zeros(4, np.int64))
    assert pool_memories(os.getpid()) <= before


def interrupt(*_):
    raise KeyboardInterrupt


class Slow(gymnasium.Wrapper):
    def step(self, action):
        time.sleep(0.5)
        return super().step(action)


def test_an_interrupted_step_closes_the_pool_instead_of_mixing_up_answers():
    envs = deepcs.make_vec(lambda: Slow(gymnasium.make("CartPole-v1")), num_envs=2, workers=2)
    envs.reset()
    processes = [worker.popen for worker in envs._workers.processes]
    before = signal.signal(signal.SIGALRM, interrupt)
    signal.setitimer(signal.ITIMER_REAL, 0.1)
    try:
        with pytest.raises(KeyboardInterrupt):
            envs.step(np.zeros(2, np.int64))
    finally:
        signal.signal(signal.SIGALRM, before)
    with pytest.raises(RuntimeError, match="closed pool"):
        envs.step(np.zeros(2, np.int64))
    assert all(process.poll() is not None for process in processes)


def test_nothing_else_is_asked_while_a_step_is_under_way():
    envs = deepcs.make_vec("KeyHallway", num_envs=2, workers=1)
    envs.reset()
    envs.step_async(np.zeros(2, np.int64))
    for ask in (envs.reset, envs.snapshot, envs.take_visits, lambda: envs.freezable):
        with pytest.raises(RuntimeError, match="a step is under way"):
            ask()
    assert envs.step_wait()[0].shape == (2, 4, 1, 21)
    envs.close()


def test_an_error_in_an_environment_names_its_worker():
    def make():
        env = gymnasium.make("CartPole-v1")
        env.unwrapped.step = None
        return env

    envs = deepcs.make_vec(make, num_envs=2, workers=2)
    envs.reset(seed=0)
    with pytest.raises(WorkerError, match=r"Worker 0 .*TypeError"):
        envs.step(np.zeros(2, np.int64))


NOTEBOOK = """
import gymnasium, numpy, deepcs
class Brighter(gymnasium.ObservationWrapper):
    def observation(self, seen):
        return seen + 100
envs = deepcs.make_vec(lambda: Brighter(gymnasium.make("CartPole-v1")), num_envs=2, workers=2)
envs.reset(seed=0)
print((envs.step(numpy.zeros(2, int))[0] > 90).all())
"""


def test_what_has_no_file_brings_its_classes_to_the_workers():
    # As in a notebook: the main module cannot be imported again.
    command = [sys.executable, "-"]
    done = subprocess.run(command, input=NOTEBOOK, capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "True"


SCRIPT = """
import sys, time, torch, deepcs
envs = deepcs.make_vec("Freeway", num_envs=2, workers=2)
envs.reset()
print(*[worker.popen.pid for worker in envs._workers.processes], flush=True)
time.sleep(60)
"""


def test_workers_and_their_memory_go_with_a_killed_parent():
    # A script without a main guard, with torch loaded before the pool is made.
    parent = subprocess.Popen([sys.executable, "-c", SCRIPT], stdout=subprocess.PIPE, text=True)
    pids = [int(pid) for pid in parent.stdout.readline().split()]
    assert len(pids) == 2
    assert "libtorch" not in Path(f"/proc/{pids[0]}/maps").read_text()
    assert all(map(pool_memories, [parent.pid, *pids]))
    parent.kill()
    parent.wait()
    deadline = time.monotonic() + 5
    while any(map(psutil.pid_exists, pids)) and time.monotonic() < deadline:
        time.sleep(0.05)
    # Nameless memory is freed with the last process that holds it, and these held it.
    assert not any(map(psutil.pid_exists, pids))
