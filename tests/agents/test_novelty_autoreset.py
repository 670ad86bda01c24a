"""However the games of a vector environment begin, the same steps are paid the same."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import gymnasium
import numpy as np
import pytest
from gymnasium.vector import AutoresetMode, SyncVectorEnv

import deepcs
from deepcs import CuriosityVectorWrapper, NoveltyVectorWrapper
from deepcs.agents.shared_novelty import SharedNovelty

KINDS = ("counts", "pseudo-counts", "rnd")


pytestmark = pytest.mark.usefixtures("one_thread")


class Band(gymnasium.Env[Any, Any]):
    """A white column of a small image; each step moves it right by 1 or 2; `length` are a game."""

    observation_space = gymnasium.spaces.Box(0, 255, (6, 6), np.uint8)
    action_space = gymnasium.spaces.Discrete(2)

    def __init__(self, length: int) -> None:
        self.length, self.x, self.steps = length, 0, 0

    def _see(self) -> np.ndarray:
        image = np.zeros((6, 6), np.uint8)
        image[:, self.x] = 255
        return image

    def reset(self, *, seed: Any = None, options: Any = None) -> Any:
        self.x = self.steps = 0
        return self._see(), {}

    def step(self, action: int) -> Any:
        self.x, self.steps = (self.x + 1 + int(action)) % 6, self.steps + 1
        return self._see(), 1.0, self.steps == self.length, False, {}


def where(env: Any, seen: Any, info: Any) -> tuple[int, int]:
    return int(seen[0].argmax()), 0


SETTINGS: dict[str, Any] = {"locate": where, "grid": False, "mix": False, "frames": True}


def bands(mode: AutoresetMode, lengths: tuple[int, ...], inside: str = "each") -> Any:
    """Curiosity around each actor, or around all together."""

    def make(length: int) -> Callable[[], gymnasium.Env[Any, Any]]:
        if inside == "all":
            return lambda: Band(length)
        return lambda: deepcs.CuriosityWrapper(Band(length), **SETTINGS)

    envs = SyncVectorEnv([make(length) for length in lengths], autoreset_mode=mode)
    return envs if inside == "each" else CuriosityVectorWrapper(envs, **SETTINGS)


def walked(envs: Any, actions: np.ndarray) -> np.ndarray:
    """What each step pays, (steps, 3, actors): reward, I, its part across training.

    Steps that only begin games are checked and left out; an action is not spent on them.
    """
    envs.reset(seed=0)
    paid, left, ended = [], list(actions), np.zeros(envs.num_envs, bool)
    while left:
        if ended.any() and envs.metadata["autoreset_mode"] is AutoresetMode.DISABLED:
            envs.reset(options={"reset_mask": ended.copy()})
        begins = ended.any() and envs.metadata["autoreset_mode"] is AutoresetMode.NEXT_STEP
        each = np.zeros(envs.num_envs, np.int64) if begins else left.pop(0)
        _, rewards, terminated, truncated, infos = envs.step(each)
        ended = terminated | truncated
        paid.append([rewards, infos["intrinsic"], infos["across"]])
        if begins:
            assert not np.any(paid.pop())
    return np.array(paid)


@pytest.mark.parametrize("inside", ["each", "all"])
@pytest.mark.parametrize("mode", [AutoresetMode.NEXT_STEP, AutoresetMode.DISABLED])
@pytest.mark.parametrize("across", KINDS)
@pytest.mark.parametrize("combine", ["across", "product", "sum"])
def test_every_way_to_begin_games_pays_the_same(
    across: Any, combine: str, mode: AutoresetMode, inside: str
) -> None:
    actions = np.random.default_rng(0).integers(0, 2, (20, 2))
    one, other = (
        NoveltyVectorWrapper(bands(m, (4, 4), inside), across, combine=combine)
        for m in (AutoresetMode.SAME_STEP, mode)
    )
    assert (walked(other, actions) == walked(one, actions)).all()
    saved = one.state()
    assert all((saved[name] == array).all() for name, array in other.state().items())


def test_a_step_that_only_begins_a_game_is_no_visit() -> None:
    # One actor's games have 2 steps, the other's 3; each step moves by one, from 0.
    envs = NoveltyVectorWrapper(bands(AutoresetMode.NEXT_STEP, (2, 3)))
    envs.reset()
    steps = [envs.step(np.zeros(2, np.int64)) for _ in range(5)]
    # Tiles: 1 2 - 1 2 and 1 2 3 - 1; what begins a game, at 0, is not counted.
    numbers = [[2, 2], [2, 2], [0, 1], [3, 0], [3, 4]]
    expected = [[n and n**-0.5 for n in row] for row in numbers]
    assert np.array([infos["across"] for *_, infos in steps]) == pytest.approx(np.array(expected))
    game = np.array([[1, 1], [1, 1], [0, 1], [1, 0], [1, 1]])
    assert np.array([each[1] for each in steps]) == pytest.approx(np.array(expected) + game)


def test_after_a_reset_by_hand_the_next_step_is_a_visit() -> None:
    envs = NoveltyVectorWrapper(bands(AutoresetMode.NEXT_STEP, (1, 2)))
    envs.reset()
    envs.step(np.zeros(2, np.int64))  # ends the first actor's game
    envs.reset(options={"reset_mask": np.array([True, False])})
    _, _, _, _, infos = envs.step(np.zeros(2, np.int64))
    assert infos["across"] == pytest.approx(np.array([3**-0.5, 1]))


def test_gymnasiums_own_make_vec_can_be_inside() -> None:
    envs: Any = gymnasium.make_vec("CartPole-v1", num_envs=2, vectorization_mode="sync")
    envs = CuriosityVectorWrapper(envs, locate=lambda env, seen, info: (seen[2], 0), tile=0.05)
    envs = NoveltyVectorWrapper(envs)
    envs.reset(seed=0)
    ends = sum(int(envs.step(np.zeros(2, np.int64))[2].sum()) for _ in range(40))
    assert ends >= 4


@pytest.mark.parametrize("across", KINDS)
def test_nothing_is_learned_from_an_actor_that_only_begins_a_game(across: Any) -> None:
    shared = [SharedNovelty(3, across, "sum:1", 0, {}) for _ in range(2)]
    rng = np.random.default_rng(0)
    for step in range(12):
        shape: tuple[int, ...] = (3,) if across == "counts" else (3, 4, 4)
        seen = rng.integers(1, 200, shape, np.uint8 if across != "counts" else np.int64)
        other = seen.copy()
        other[step % 3] = 255 - seen[step % 3]
        began = np.arange(3) == step % 3
        own, game = np.ones(3), np.zeros(3)
        paid = [s.pay(x, own, game, began) for s, x in zip(shared, (seen, other), strict=True)]
        assert (np.array(paid[0]) == np.array(paid[1])).all()
        assert ((paid[0].intrinsic == 0) == began).all()
    one, two = (each.state() for each in shared)
    assert all((one[name] == two[name]).all() for name in one)
