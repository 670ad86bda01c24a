"""Worlds and agents of one's own: whatever their numbers and infos are, the game goes on."""

from __future__ import annotations

import json
import math
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from deepcs.studio.players import AgentPlayer, number_of
from deepcs.studio.stage import HEAD, Progress, Role, Stage, with_nulls

WORLD = """
import gymnasium
import numpy as np

class Odd(gymnasium.Env):
    observation_space = gymnasium.spaces.Box(0, 1, (2,), np.float32)
    action_space = gymnasium.spaces.Discrete(2)
    explorer = "somebody else's"
    reward, info = 0.0, {}

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        return np.zeros(2, np.float32), dict(self.info)

    def step(self, action):
        return np.zeros(2, np.float32), self.reward, False, False, dict(self.info)

def make():
    return Odd()
"""


@pytest.fixture
def world(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """The class of an environment that says what a test wants."""
    (tmp_path / "odd_world.py").write_text(WORLD)
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.delitem(sys.modules, "odd_world", raising=False)
    import odd_world

    return odd_world.Odd


def told(progress: Progress) -> dict[str, Any]:
    """The only player's numbers, as a browser reads them: strict JSON."""
    showing = progress.showings[-1]
    (length,) = HEAD.unpack_from(showing)
    head = json.loads(showing[HEAD.size : HEAD.size + length], parse_constant=pytest.fail)
    (player,) = head["players"]
    return dict(player)


def step(stage: Stage) -> dict[str, Any]:
    return told(stage.advance(1, 1, frozenset()))


@pytest.mark.parametrize(
    "info",
    [
        {"room": 3},
        {"room": "kitchen", "rooms": object()},
        {"tiles": "a b"},
        {"lives": "three"},
        {"lives": np.arange(3)},
        {"intrinsic": "high", "game_reward": None},
    ],
    ids=lambda info: " ".join(info),
)
def test_infos_that_are_not_deepcs_own_are_left_alone(world: Any, info: dict[str, Any]) -> None:
    world.info, world.reward = info, 2.0
    stage = Stage()
    stage.open([Role("you", "odd_world:make")], 0, False)
    shown = step(stage)
    assert (shown["room"], shown["tiles"], shown["lives"]) == ([], 0, None)
    assert (shown["score"], shown["intrinsic"], shown["step"]) == (2.0, 0.0, 1)


def test_lives_are_told_where_they_are_a_number(world: Any) -> None:
    world.info = {"lives": np.int64(3)}
    stage = Stage()
    stage.open([Role("you", "odd_world:make")], 0, False)
    world.info = {"lives": np.int64(0)}
    assert step(stage)["lives"] == 0


@pytest.mark.parametrize("reward", [math.nan, math.inf, -math.inf])
def test_a_reward_that_is_not_finite_is_null(world: Any, reward: float) -> None:
    world.reward = reward
    stage = Stage()
    stage.open([Role("you", "odd_world:make")], 0, False)
    shown = step(stage)
    assert (shown["R"], shown["score"], shown["I"]) == (None, None, 0)


def test_an_agent_whose_weights_are_not_finite_is_shown_without_numbers(folder: Path) -> None:
    stage = Stage()
    stage.open([Role("run", str(folder / "deep" / "hall"))], 0, False)
    (player,) = stage._players
    assert isinstance(player, AgentPlayer)
    network = player.agent._network
    for tensor in network.named(network.parameters).values():
        tensor.fill_(math.nan)
    shown = told(stage.again(0, False))
    assert shown["values"] == [None]
    assert shown["probabilities"] == [None] * 4
    assert step(stage)["step"] == 1


def test_nulls_stand_for_what_json_has_no_word_for_and_nothing_else_changes() -> None:
    head = {"a": [1, [math.nan, 0.5]], "b": math.inf, "c": "NaN", "d": None, "e": True}
    assert with_nulls(head) == {"a": [1, [None, 0.5]], "b": None, "c": "NaN", "d": None, "e": True}


@pytest.mark.parametrize("value", [2, 2.0, np.float32(2), np.array(2), np.uint8(2)])
def test_a_number_of_any_kind_is_one(value: object) -> None:
    assert number_of(value, 7.0) == 2.0


@pytest.mark.parametrize("value", [None, "2", [2], np.array([2]), {"2": 2}, np.array("2"), 1 + 2j])
def test_anything_else_is_none(value: object) -> None:
    assert number_of(value, 7.0) == 7.0
