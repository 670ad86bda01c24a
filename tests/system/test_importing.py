"""Users' own parts: nothing is imported before somebody has allowed it."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from deepcs.agents.networks import plan_network
from deepcs.agents.table import find_agent
from deepcs.curiosity.games import find_game
from deepcs.envs.make import spaces_of
from deepcs.envs.roms import atari_game
from deepcs.system.importing import NotAllowedError, allow, load_object
from deepcs.system.process import Process, shared_memory

HERE = "import deepcs\nGAME = deepcs.game('Venture')\n"


@pytest.fixture(autouse=True)
def _module(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "parcel.py").write_text(HERE)
    (tmp_path / "opened.py").write_text(HERE)


ASK: list[Callable[[str], Any]] = [
    lambda name: load_object(name, "a game"),
    find_agent,
    lambda name: plan_network(name, spaces_of("KeyHallway")),
]


@pytest.mark.parametrize("ask", ASK)
def test_a_part_that_nobody_has_allowed_is_not_imported(
    ask: Callable[[str], Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "path", [place for place in sys.path if place])
    with pytest.raises(NotAllowedError, match="Got 'parcel:GAME', which is code that nobody"):
        ask("parcel:GAME")
    assert "parcel" not in sys.modules
    assert "" not in sys.path


@pytest.mark.parametrize("ask", [find_game, atari_game])
def test_a_world_that_nobody_has_allowed_is_no_known_game(ask: Callable[[str], Any]) -> None:
    assert ask("parcel:GAME") is None
    assert "parcel" not in sys.modules


class Asked:
    """In another process: what a name is there."""

    def __init__(self, memory: object) -> None:
        """Without shared memory."""

    def world(self, name: str) -> str | None:
        game = atari_game(name)
        return None if game is None else game.name

    def close(self) -> None:
        """It holds nothing."""


def test_what_is_allowed_here_is_allowed_in_processes_started_from_here() -> None:
    allow(["opened:GAME"])
    process = Process("asked", shared_memory(1), False, Asked)
    try:
        process.answer()
        answers = []
        for name in ("opened:GAME", "parcel:GAME"):
            process.ask("world", name)
            answers.append(process.answer())
    finally:
        process.close()
    assert answers == ["Venture", None]
