"""Curiosity around whole vector environments pays and tells as it does around each actor."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import gymnasium
import numpy as np
import pytest
from gymnasium.spaces import Box, Discrete
from gymnasium.vector import AsyncVectorEnv, AutoresetMode, SyncVectorEnv
from stable_baselines3.common.vec_env import DummyVecEnv

from deepcs import Bounds, CuriosityVectorWrapper, CuriosityWrapper, make_vec
from deepcs.envs.sb3_vec_env import VecCuriosity

ACTORS = 3
SETTINGS: dict[str, Any] = {
    "bounds": Bounds(0, 0, 12, 1),
    "weight": "sum:0.5",
    "shape": (1, 12),
}
MODES = list(AutoresetMode)


class Line(gymnasium.Env[Any, int]):
    """Left or right along cells; each step pays 1; ends at 6 cells, or is cut after `limit` steps.

    It starts at a cell drawn from its seed.
    """

    def __init__(self, kind: str = "vector", limit: int = 15) -> None:
        self.kind, self.limit = kind, limit
        self.observation_space = {
            "vector": Box(0, 20, (2,), np.float32),
            "image": Box(0, 255, (12, 12, 3), np.uint8),
            "number": Discrete(21),
        }[kind]
        self.action_space = Discrete(2)
        self.x = self.steps = 0

    def _see(self) -> Any:
        if self.kind == "number":
            return self.x
        space = self.observation_space
        assert isinstance(space, Box)
        return np.full(space.shape, self.x, space.dtype)

    def reset(self, *, seed: Any = None, options: Any = None) -> tuple[Any, dict[str, Any]]:
        super().reset(seed=seed)
        self.x, self.steps = int(self.np_random.integers(3)), 0
        return self._see(), {"x": self.x}

    def step(self, action: int) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        self.x = max(self.x + 2 * int(action) - 1, 0)
        self.steps += 1
        over, cut = self.x == 6, self.steps == self.limit
        info = {"x": self.x, "life_lost": self.x == 4}
        return self._see(), 1.0, over, cut and not over, info


def cell(env: Any, observation: Any, info: dict[str, Any]) -> tuple[int, int]:
    return int(info["x"]), 0


def plain(kind: str) -> Callable[[], Line]:
    return lambda: Line(kind)


def curious(kind: str, **settings: Any) -> Callable[[], CuriosityWrapper]:
    return lambda: CuriosityWrapper(Line(kind), locate=cell, **{**SETTINGS, **settings})


def same(one: Any, other: Any) -> None:
    """Assert equality of trees of arrays."""
    if isinstance(one, dict):
        assert one.keys() == other.keys()
        for name in one:
            same(one[name], other[name])
    elif isinstance(one, np.ndarray) and one.dtype != object:
        np.testing.assert_array_equal(one, other)
    elif isinstance(one, np.ndarray | list | tuple):
        for mine, yours in zip(one, other, strict=True):
            same(mine, yours)
    else:
        assert one == other


def told(infos: dict[str, Any]) -> dict[str, Any]:
    """Without what the step said of games that ended, and of new ones that began in it."""
    return {name: each for name, each in infos.items() if "final" not in name}


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("kind", ["vector", "image", "number"])
def test_around_all_actors_it_does_what_it_does_around_each(mode: AutoresetMode, kind: str) -> None:
    each = SyncVectorEnv([curious(kind)] * ACTORS, autoreset_mode=mode)
    inner = SyncVectorEnv([plain(kind)] * ACTORS, autoreset_mode=mode)
    whole = CuriosityVectorWrapper(inner, locate=cell, **SETTINGS)
    assert whole.observation_space == each.observation_space
    assert whole.single_observation_space == each.single_observation_space
    same(*(envs.reset(seed=3)[0] for envs in (whole, each)))
    generator = np.random.default_rng(0)
    ends = 0
    for _ in range(80):
        actions = generator.integers(2, size=ACTORS)
        mine, yours = whole.step(actions), each.step(actions)
        same(mine[:4], yours[:4])
        ended = np.logical_or(mine[2], mine[3])
        ends += int(ended.sum())
        if mode is AutoresetMode.SAME_STEP and ended.any():
            same(
                [mine[4][n] for n in ("final_obs", "final_info")],
                [yours[4][n] for n in ("final_obs", "final_info")],
            )
            going = ~ended
            same(mine[4]["intrinsic"][going], yours[4]["intrinsic"][going])
            same(mine[4]["tiles"], yours[4]["tiles"])
        else:
            same(told(mine[4]), told(yours[4]))
        if mode is AutoresetMode.DISABLED and ended.any():
            same(*(e.reset(options={"reset_mask": ended.copy()})[0] for e in (whole, each)))
    assert ends > 10


def test_infos_are_those_of_our_own_pool() -> None:
    ours = make_vec(curious("vector"), num_envs=ACTORS, workers=0)
    inner = SyncVectorEnv([plain("vector")] * ACTORS, autoreset_mode=AutoresetMode.SAME_STEP)
    whole = CuriosityVectorWrapper(inner, locate=cell, **SETTINGS)
    seeds: Any = [3, 4, 5]
    same(ours.reset(seed=seeds)[0], whole.reset(seed=seeds)[0])
    generator = np.random.default_rng(0)
    for _ in range(80):
        actions = generator.integers(2, size=ACTORS)
        mine, yours = whole.step(actions), ours.step(actions)
        same(mine[:4], yours[:4])
        for name in ("intrinsic", "game_reward", "life_lost", "tiles", "rooms"):
            same(mine[4][name], yours[4][name])
        same(mine[4].get("final_info", {}), yours[4].get("final_info", {}))


def test_actors_in_other_processes_can_be_located_too() -> None:
    inner = AsyncVectorEnv([plain("vector")] * 2)
    whole = CuriosityVectorWrapper(inner, locate=cell, **SETTINGS)
    whole.reset(seed=0)
    for _ in range(3):
        _, rewards, _, _, infos = whole.step(np.ones(2, np.int64))
    assert infos["tiles"].tolist() == [4, 4]
    assert rewards.tolist() == [1.5, 1.5]
    assert [explorer.tiles for explorer in whole.explorers] == [4, 4]
    whole.close()


def test_locate_is_told_which_actor_it_is_asked_about() -> None:
    inner = SyncVectorEnv([plain("vector")] * 2)

    def by_number(env: Any, observation: Any, info: Any) -> tuple[int, int]:
        assert env.envs is inner
        return env.envs.envs[env.index].x, env.index

    whole = CuriosityVectorWrapper(inner, locate=by_number)
    _, infos = whole.reset(seed=0)
    assert [position.y for position in infos["position"]] == [0, 1]


@pytest.mark.parametrize("kind", ["vector", "image", "number"])
def test_around_a_vec_env_it_does_what_it_does_around_each(kind: str) -> None:
    each = DummyVecEnv([curious(kind)] * ACTORS)
    whole = VecCuriosity(DummyVecEnv([plain(kind)] * ACTORS), locate=cell, **SETTINGS)
    assert whole.observation_space == each.observation_space
    for envs in (each, whole):
        envs.seed(3)
    same(whole.reset(), each.reset())
    same(whole.reset_infos, each.reset_infos)
    generator = np.random.default_rng(0)
    ends = 0
    for _ in range(80):
        actions = generator.integers(2, size=ACTORS)
        mine, yours = whole.step(actions), each.step(actions)
        same(mine, yours)
        ends += int(mine[2].sum())
    assert ends > 10


def test_settings_are_checked_as_around_one_environment() -> None:
    with pytest.raises(ValueError, match="lifetime 'day'"):
        CuriosityVectorWrapper(SyncVectorEnv([plain("vector")]), locate=cell, lifetime="day")
    with pytest.raises(ValueError, match=r"^locate raised KeyError"):
        CuriosityVectorWrapper(
            SyncVectorEnv([plain("vector")]), locate=lambda env, seen, info: info["y"]
        ).reset()
