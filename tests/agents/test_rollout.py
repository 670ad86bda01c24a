"""Where returns end in games of the real emulator."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from torch import Tensor

from deepcs.agents.network import Network
from deepcs.agents.rollout import Actors, RewardRules, Rollout
from deepcs.envs.make import make_vec

ACTORS, STEPS = 2, 120


class Played:
    """A rollout of random play, and what the emulators said of each step, (T, N)."""

    def __init__(self, protocol: str, max_frames: int, rules: RewardRules) -> None:
        pool = make_vec(
            "MontezumaRevenge",
            num_envs=ACTORS,
            seed=0,
            workers=0,
            copy=False,
            mix=False,
            protocol=protocol,
            max_frames=max_frames,
        )
        lost, step = [], pool.step

        def noting(actions: np.ndarray) -> Any:
            told = step(actions)
            lost.append(told[4]["life_lost"].copy())
            return told

        pool.step = noting  # type: ignore[method-assign]
        network = Network(pool.single_observation_space.shape, 18, envs=ACTORS, steps=1)
        self.rollout: Rollout = Actors(pool, 0, STEPS, rules, "cpu").play(self.act, network)
        self.lost = np.array(lost)
        pool.close()

    def act(self, t: int, observations: Tensor) -> np.ndarray:
        return np.random.default_rng(t).integers(18, size=ACTORS)

    @property
    def game_ends(self) -> np.ndarray:
        ends = np.zeros((STEPS, ACTORS), bool)
        for game in self.rollout.games:
            ends[game.t, game.actor] = True
        return ends


@pytest.fixture(scope="module")
def paper() -> Played:
    return Played("paper", 300, RewardRules("apart", True, True, False))


@pytest.fixture(scope="module")
def machado() -> Played:
    return Played("machado", 300, RewardRules("apart", True, False, True))


def test_a_lost_life_ends_the_return_under_protocol_paper(paper: Played) -> None:
    assert paper.lost.sum() >= 2
    np.testing.assert_array_equal(paper.rollout.ends, paper.lost | paper.game_ends)


def test_a_lost_life_does_not_end_the_return_under_protocol_machado(machado: Played) -> None:
    assert machado.lost.sum() >= 2
    np.testing.assert_array_equal(machado.rollout.ends, machado.game_ends)


def test_the_frame_cap_ends_the_game_and_is_bootstrapped_only_under_machado(
    paper: Played, machado: Played
) -> None:
    for played in (paper, machado):
        assert played.game_ends.sum() == ACTORS  # too soon to have lost all lives
    assert paper.rollout.cuts == []
    assert {(cut.t, cut.seat) for cut in machado.rollout.cuts} == {
        (game.t, game.actor) for game in machado.rollout.games
    }
