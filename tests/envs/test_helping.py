"""Frames that workers draw for each other are those that each would have drawn for itself."""

from __future__ import annotations

import functools
import os
import signal
import threading
import time

import numpy as np
import pytest
from playing import assert_same, play_pool

import deepcs
from deepcs.envs import helping
from deepcs.envs.atari import AtariActor
from deepcs.envs.emulator import Emulator
from deepcs.envs.helping import HelpingArrays, HelpingSeats, Tickets
from deepcs.envs.seats import PoolArrays, Seats, Spaces
from deepcs.system.process import WorkerError

SEATS = 4


class SlowEmulator(Emulator):
    def press(self, action, generator):
        time.sleep(0.01)
        return super().press(action, generator)


class Slow(AtariActor):
    emulator_type = SlowEmulator


def test_a_worker_that_is_done_draws_the_frames_of_a_slower_one(monkeypatch):
    drawers = set()

    def push_frame(*args):
        drawers.add(threading.current_thread().name)
        helping_push(*args)

    helping_push = helping.push_frame
    monkeypatch.setattr(helping, "push_frame", push_frame)
    spaces = Spaces(AtariActor("Freeway").observation_space, AtariActor("Freeway").action_space)
    arrays, plain = HelpingArrays(SEATS, spaces, None), PoolArrays(SEATS, spaces, None)
    tickets = Tickets(2)
    quick = HelpingSeats([functools.partial(AtariActor, "Freeway")], 0, arrays, 0, tickets)
    slow = HelpingSeats([functools.partial(Slow, "Freeway")] * 3, 1, arrays, 1, tickets)
    alone = Seats([functools.partial(AtariActor, "Freeway")] * SEATS, 0, plain)
    for seats, seeds in ((quick, [0]), (slow, [1, 2, 3]), (alone, range(SEATS))):
        seats.reset([*seeds], [True] * len(seeds), None)
    rng = np.random.default_rng(0)
    for steps in range(1, 11):
        arrays.actions[:] = plain.actions[:] = rng.integers(3, size=SEATS)
        thread = threading.Thread(target=slow.step, name="slow")
        thread.start()
        quick.step()
        drawers.clear()
        quick.idle(lambda: False)
        thread.join()
        alone.step()
        assert "MainThread" in drawers
        assert (arrays.drawn == steps).all()
        np.testing.assert_array_equal(arrays.observations[""], plain.observations[""])
    tickets.close()


def test_of_many_who_want_a_ticket_one_gets_it():
    tickets = Tickets(1)
    taken = []

    def take():
        while (ticket := tickets.take(0)) is not None:
            taken.append(ticket)

    for ticket in range(1000):
        tickets.give(0, ticket)
    threads = [threading.Thread(target=take) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    tickets.close()
    assert sorted(taken) == [*range(1000)]


@pytest.mark.long
@pytest.mark.parametrize(
    ("world", "settings"),
    [
        ("MontezumaRevenge", {"protocol": "machado", "max_frames": 400}),
        ("Seaquest", {"grid": "stacked", "protocol": "baselines"}),
    ],
)
def test_workers_that_help_change_nothing(world, settings):
    # With games that end, lives that are lost, and more workers than cores, so that some are late.
    results = []
    for workers in (0, 2, 3):
        envs = deepcs.make_vec(world, num_envs=9, seed=4, workers=workers, **settings)
        envs.reset()
        played = play_pool(envs, 150, seed=1)
        frozen = envs.snapshot()
        played += play_pool(envs, 30, seed=2)
        envs.restore(frozen)
        results.append(played + play_pool(envs, 30, seed=2))
        envs.close()
    for other in results[1:]:
        assert_same(results[0], other)


def test_a_worker_killed_over_a_frame_of_another_is_named():
    envs = deepcs.make_vec("Freeway", num_envs=4, workers=2)
    envs.reset()
    envs.step(np.zeros(4, np.int64))
    envs._arrays.drawn[3] -= 1  # a frame that somebody took and nobody finishes
    pid = envs._workers.processes[0].popen.pid
    killer = threading.Timer(0.3, os.kill, (pid, signal.SIGKILL))
    killer.start()
    began = time.monotonic()
    with pytest.raises(WorkerError, match=r"Worker 0 .*SIGKILL"):
        envs.step(np.zeros(4, np.int64))
    assert time.monotonic() - began < 5
