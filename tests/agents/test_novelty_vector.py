"""Novelty across training around vector environments."""

from __future__ import annotations

from typing import Any

import gymnasium
import numpy as np
import pytest

import deepcs
from deepcs.agents.vector import NoveltyVectorWrapper

RIGHT, IDLE = 1, 2


def hallway(across: Any, **settings: Any) -> NoveltyVectorWrapper:
    envs = deepcs.make_vec("KeyHallway", num_envs=2, workers=0, mix=False, frames=True)
    wrapped = NoveltyVectorWrapper(envs, across, **settings)
    wrapped.reset(seed=0)
    return wrapped


def test_counts_are_shared_by_all_actors() -> None:
    envs = hallway("counts")
    rewards = [envs.step(np.array(actions))[1] for actions in ((RIGHT, RIGHT), (IDLE, RIGHT))]
    # Both enter the tile at once: N is 2; who stays there makes it 3.
    assert np.array(rewards) == pytest.approx(np.array([[2**-0.5] * 2, [3**-0.5, 1.0]]))


def test_a_product_pays_only_first_touches() -> None:
    envs = hallway("counts", combine="product")
    envs.step(np.array([RIGHT, RIGHT]))
    _, rewards, _, _, infos = envs.step(np.array([IDLE, RIGHT]))
    assert rewards.tolist() == [0.0, 1.0]
    assert infos["across"] == pytest.approx(np.array([3**-0.5, 1.0]))


@pytest.mark.parametrize("across", ["counts", "pseudo-counts", "rnd"])
def test_what_was_saved_pays_on_alike(across: str) -> None:
    one, other = hallway(across), hallway(across)
    actions = np.random.default_rng(0).integers(0, 4, (20, 2))
    for each in actions[:10]:
        one.step(each)
        other.env.step(each)
    other.load(one.state(), frame=None if across == "counts" else (1, 21))
    for each in actions[10:]:
        assert (one.step(each)[1] == other.step(each)[1]).all()


def test_the_last_step_of_a_game_is_paid_by_where_it_led() -> None:
    class Line(gymnasium.Env[np.ndarray, int]):
        observation_space = gymnasium.spaces.Box(0, 9, (1,), np.float32)
        action_space = gymnasium.spaces.Discrete(2)

        def reset(self, **_: Any) -> Any:  # type: ignore[override]
            self.x = 0
            return np.zeros(1, np.float32), {}

        def step(self, action: int) -> Any:
            self.x += 1
            return np.full(1, self.x, np.float32), 0.0, self.x == 2, False, {}

    def make() -> gymnasium.Env[Any, Any]:
        return deepcs.CuriosityWrapper(
            Line(), locate=lambda env, seen, info: (seen[0], 0), grid=False, mix=False
        )

    same_step = gymnasium.vector.AutoresetMode.SAME_STEP
    envs = NoveltyVectorWrapper(gymnasium.vector.SyncVectorEnv([make], autoreset_mode=same_step))
    envs.reset(seed=0)
    paid = [float(envs.step(np.array([0]))[1][0]) for _ in range(4)]
    assert paid == pytest.approx([1, 1, 2**-0.5, 2**-0.5])


def test_what_cannot_be_paid_is_refused() -> None:
    with pytest.raises(ValueError, match="choose one of counts, pseudo-counts, rnd"):
        hallway("none")
    envs = gymnasium.make_vec("CartPole-v1", num_envs=2, vectorization_mode="sync")
    wrapped = NoveltyVectorWrapper(envs, "rnd")
    wrapped.reset(seed=0)
    with pytest.raises(ValueError, match="Got infos without 'frame', which rnd needs"):
        wrapped.step(np.array([0, 1]))
