"""Ways to play: at random, the same for the same seed, or straight to a lost life; and a spy."""

from __future__ import annotations

import hashlib

import numpy as np
import pytest

LEFT = 4  # as the emulator numbers it


def steps(actor, count, seed=0):
    """Random play, without resets: yields what each step returns; stops when a game ends."""
    rng = np.random.default_rng(seed)
    for _ in range(count):
        out = actor.step(int(rng.integers(actor.action_space.n)))
        yield out
        if out[2] or out[3]:
            return


def play_on(actor, count, seed):
    """Random play through the ends of games: everything that comes out."""
    rng = np.random.default_rng(seed)
    out = []
    for _ in range(count):
        out.append(actor.step(int(rng.integers(actor.action_space.n))))
        if out[-1][2] or out[-1][3]:
            out.append(actor.reset())
    return out


def digest(played):
    """One number for all that came out of an actor."""
    sha = hashlib.sha256()
    for observation, *rest in played:
        sha.update(observation.tobytes())
        sha.update(repr(rest).encode())
    return sha.hexdigest()


def play(env, generator):
    """A random episode; returns the infos of its steps."""
    infos = []
    while True:
        _, _, terminated, truncated, info = env.step(generator.integers(env.action_space.n))
        infos.append(info)
        if terminated or truncated:
            return infos


def play_pool(envs, steps, seed):
    """Random actions in a pool; everything that comes out, as one list of arrays."""
    rng = np.random.default_rng(seed)
    out = []
    for _ in range(steps):
        actions = rng.integers(envs.single_action_space.n, size=envs.num_envs)
        observations, rewards, terminated, truncated, infos = envs.step(actions)
        out += [observations, rewards, terminated, truncated]
        out += [infos[key] for key in ("intrinsic", "life_lost", "tiles", "rooms", "score")]
        for i in np.flatnonzero(terminated | truncated):
            last = {key: infos["final_info"][key][i] for key in sorted(infos["final_info"])}
            out += [infos["final_obs"][i], repr(infos["game"][i]), repr(last)]
    return out


def assert_same(one, other):
    """Two lists of arrays, equal in every number."""
    assert len(one) == len(other)
    for a, b in zip(one, other, strict=True):
        np.testing.assert_array_equal(a, b)


class Spy:
    """The actor's emulator, with a list of the raw frames' actions.

    meddle: (action, byte, value), writes the value to RAM before each frame of that action.
    """

    def __init__(self, actor, meddle=None):
        self.ale = actor.ale
        self.acts = []
        self.meddle = meddle
        actor.emulator.ale = self

    def act(self, action):
        self.acts.append(action)
        if self.meddle and action == self.meddle[0]:
            self.ale.setRAM(self.meddle[1] - 0x80, self.meddle[2])
        return self.ale.act(action)

    def __getattr__(self, name):
        return getattr(self.ale, name)


def until_life_lost(actor):
    """Walk off the ledge in MontezumaRevenge; yields the steps up to the lost life."""
    for _ in range(200):
        out = actor.step(actor.actions.index(LEFT))
        yield out
        if out[4]["life_lost"]:
            return
    pytest.fail("no life was lost")
