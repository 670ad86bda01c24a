"""The other process: a group of players in step, and pictures of what they do.

A *showing* is what a page gets for one frame: a JSON header and, one after the other, the PNGs.
`sizes` in the header has for each player the sizes of picture and plane in bytes; 0: unchanged.
"""

from __future__ import annotations

import json
import math
import mmap
import struct
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from deepcs.film import pyramid
from deepcs.runs.numbering import EVALUATION_SEED, game_seeds
from deepcs.studio.messages import Kind
from deepcs.studio.players import AgentPlayer, Person, Player

HEAD = struct.Struct("<I")  # length of the JSON


@dataclass(frozen=True)
class Role:
    """Who is to play, with paths resolved by the server."""

    kind: Kind
    name: str
    """a run's folder, a shipped agent's name, or a person's world"""
    step: int | None = None
    allowed: tuple[str, ...] = ()
    """the code that the user allows it to import"""


@dataclass(frozen=True)
class Cast:
    """Who plays, as the page is told; or why not."""

    players: list[dict[str, Any]]
    waits: bool = False
    """steps wait for a person's keys"""
    refusal: str = ""
    code: tuple[str, ...] = ()
    """what would be imported, if that is why"""
    refused: int = 0
    """the player that it was"""


@dataclass(frozen=True)
class Progress:
    """The result of some steps."""

    showings: list[bytes]
    over: bool
    """all games are"""


class Stage:
    """Players that play the same game of a seed, a step at a time."""

    def __init__(self) -> None:
        self._players: list[Player] = []

    def open(self, roles: Sequence[Role], game: int, greedy: bool) -> Cast:
        """Load these players and begin; if one cannot be loaded, all stay as they were."""
        players: list[Player] = []
        for k, role in enumerate(roles):
            try:
                players.append(_make_player(role))
            except (ValueError, OSError, TypeError, KeyError, ArithmeticError) as error:
                return Cast([], refusal=str(error), code=_code_of(error), refused=k)
        self.close()
        self._players = players
        self.again(game, greedy)
        return Cast([_told(p) for p in players], waits=any(p.waits for p in players))

    def again(self, game: int, greedy: bool) -> Progress:
        """Begin a game; game: its number among those of an evaluation."""
        for player in self._players:
            if isinstance(player, AgentPlayer):
                player.greedy = greedy
            player.begin(*game_seeds(EVALUATION_SEED, game))
        return Progress([self._showing(1, 1)], self._over)

    def advance(self, steps: int, pictures: int, keys: frozenset[str]) -> Progress:
        """Take that many steps; returns showings of the last, the final one with all numbers."""
        moved = 0
        for _ in range(steps):
            if any(player.waits and not player.over for player in self._players) and not keys:
                break
            moved += sum([player.step(keys) for player in self._players])
        if not moved:
            return Progress([], self._over)
        if not any(player.has_reel for player in self._players):
            pictures = 1
        return Progress([self._showing(k, pictures) for k in range(1, pictures + 1)], self._over)

    def look(self) -> Progress:
        """A showing of the current state."""
        return Progress([self._showing(1, 1)], self._over)

    @property
    def _over(self) -> bool:
        return all(player.over for player in self._players)

    def _showing(self, k: int, pictures: int) -> bytes:
        """The k-th showing of the last step."""
        last = k == pictures
        if k == 1:
            self._reels = [player.pictures(pictures) for player in self._players]
        shown = [reel[k - 1] or b"" for reel in self._reels]
        planes = [player.plane() if last else b"" for player in self._players]
        head: dict[str, Any] = {
            "sizes": [[len(a), len(b)] for a, b in zip(shown, planes, strict=True)]
        }
        if last:
            head["players"] = [player.numbers() for player in self._players]
        text = json.dumps(with_nulls(head), allow_nan=False, separators=(",", ":")).encode()
        parts = (part for pair in zip(shown, planes, strict=True) for part in pair)
        return b"".join((HEAD.pack(len(text)), text, *parts))

    def close(self) -> None:
        for player in self._players:
            player.env.close()


def with_nulls(value: Any) -> Any:
    """JSON values with null for every number that JSON, and so a browser, does not know."""
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, dict):
        return {name: with_nulls(each) for name, each in value.items()}
    return [with_nulls(each) for each in value] if isinstance(value, list) else value


def build_stage(memory: mmap.mmap) -> Stage:
    """A stage in a separate process, without shared memory."""
    return Stage()


def _make_player(role: Role) -> Player:
    if role.kind == "you":
        return Person(role.name)
    import torch

    from deepcs.runs.shipped import PREFIX
    from deepcs.runs.trained import load_agent

    torch.set_num_threads(1)
    if role.kind == "agent":
        return AgentPlayer(load_agent(f"{PREFIX}{role.name}"))
    return AgentPlayer(load_agent(role.name, role.step, allow_code=role.allowed))


def _code_of(error: Exception) -> tuple[str, ...]:
    """What a run would import, if that is why it was refused."""
    from deepcs.runs.trust import CodeError

    return error.code if isinstance(error, CodeError) else ()


def _told(player: Player) -> dict[str, Any]:
    """What a page needs to know of a player before it plays."""
    told: dict[str, Any] = {
        "world": player.world,
        "actions": player.actions,
        "sees_grid": player.sees_grid,
        "curious": player.explorer is not None,
    }
    if player.world == "MontezumaRevenge":
        told["map"] = [[room, *place] for room, place in pyramid.PLACES.items()]
    if isinstance(player, AgentPlayer):
        config = player.agent.config
        told |= {
            "treatment": config.treatment,
            "learner": config.agent_name,
            "trained": player.agent.step,
        }
    return told
