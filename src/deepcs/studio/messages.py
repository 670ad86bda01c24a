"""What a page may send to the server: JSON messages, each one of these or refused."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any, Literal, get_args

from deepcs.system import limits

LONGEST = 8_192  # characters of a message
MOST_PLAYERS = 4
MOST_NAMES = 3  # of code: a world, an agent, a network
SLOWEST, FASTEST = 0.1, 64.0  # times a person's pace
LONGEST_NAME = 1_000
Kind = Literal["run", "agent", "you"]
KINDS = get_args(Kind)
KEYS = ("left", "right", "up", "down", "fire")


class MessageError(ValueError):
    """A message that no page of ours sends."""


@dataclass(frozen=True)
class PlayerSpec:
    """Who is to play."""

    kind: Kind
    name: str
    """of a run: its path below the folder; of a shipped agent: its name; of a person: the world"""
    step: int | None
    """of a run's checkpoint; None: the newest"""


@dataclass(frozen=True)
class Open:
    """Begin a game with these players."""

    players: tuple[PlayerSpec, ...]
    game: int
    """its number among the seed's games, as in an evaluation"""
    greedy: bool


@dataclass(frozen=True)
class Attach:
    """Continue with the group that this page had before it was reloaded."""

    group: str


@dataclass(frozen=True)
class Again:
    """Start a game with the same players."""

    game: int
    greedy: bool


@dataclass(frozen=True)
class Speed:
    times: float


@dataclass(frozen=True)
class Keys:
    """What a person holds down, and what was pressed since the last message."""

    held: frozenset[str]
    pressed: frozenset[str]


@dataclass(frozen=True)
class Seen:
    """The page has drawn a frame."""

    frame: int


@dataclass(frozen=True)
class Allow:
    """The user allows a run to import this code, and no other."""

    run: str
    code: tuple[str, ...]
    """each module:name, as the page has shown it"""


Word = Literal["play", "pause", "step", "hide", "show"]
WORDS = get_args(Word)


@dataclass(frozen=True)
class Order:
    """A message without fields; hide, show: whether the page is visible."""

    do: Word


Message = Open | Attach | Again | Speed | Keys | Seen | Allow | Order


def parse(text: str) -> Message:
    """The message; raises MessageError for anything else."""
    if len(text) > LONGEST:
        raise MessageError(f"Got a message of {len(text)} characters, more than {LONGEST}.")
    try:
        fields = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise MessageError("Got a message that is not JSON.") from error
    if not isinstance(fields, dict):
        raise MessageError("Got a message that is not an object.")
    return _Fields(fields).message()


class _Fields:
    """The fields of a JSON object, each taken once and checked; none may be left."""

    def __init__(self, fields: dict[str, Any]) -> None:
        self._left = dict(fields)

    def message(self) -> Message:
        found = self._message(self.text("do"))
        self.end()
        return found

    def _message(self, do: str) -> Message:
        if do in WORDS:
            return Order(do)  # type: ignore[arg-type]
        match do:
            case "open":
                players = tuple(_player(each) for each in self.items("players", MOST_PLAYERS))
                if not players:
                    raise MessageError("Got no players.")
                return Open(players, self.whole("game", limits.GAME_NUMBER), self.flag("greedy"))
            case "attach":
                return Attach(self.text("group"))
            case "again":
                return Again(self.whole("game", limits.GAME_NUMBER), self.flag("greedy"))
            case "speed":
                return Speed(self.number("times", SLOWEST, FASTEST))
            case "keys":
                return Keys(self.keys("held"), self.keys("pressed"))
            case "seen":
                return Seen(self.whole("frame", limits.STEPS))
            case "allow":
                return Allow(self.text("run"), self.names("code"))
        raise MessageError("Got a message that does nothing known.")

    def _take(self, name: str) -> Any:
        if name not in self._left:
            raise MessageError(f"Got a message without {name}.")
        return self._left.pop(name)

    def text(self, name: str) -> str:
        value: str = self._take(name)
        if not _is_name(value):
            raise MessageError(f"Got a {name} that is no name.")
        return value

    def whole(self, name: str, most: int) -> int:
        value = self._take(name)
        if type(value) is not int or not 0 <= value <= most:
            raise MessageError(f"Got a {name} that is not from 0 to {most}.")
        return value

    def number(self, name: str, least: float, most: float) -> float:
        value = self._take(name)
        if type(value) not in (int, float) or not least <= value <= most:
            raise MessageError(f"Got a {name} that is not from {least} to {most}.")
        return float(value)

    def flag(self, name: str) -> bool:
        value = self._take(name)
        if type(value) is not bool:
            raise MessageError(f"Got a {name} that is neither true nor false.")
        return value

    def items(self, name: str, most: int) -> list[Any]:
        value = self._take(name)
        if not isinstance(value, list) or len(value) > most:
            raise MessageError(f"Got {name} that are no list of {most} at most.")
        return value

    def keys(self, name: str) -> frozenset[str]:
        found = self.items(name, len(KEYS))
        if not all(isinstance(key, str) and key in KEYS for key in found):
            raise MessageError(f"Got {name} that are not of {', '.join(KEYS)}.")
        return frozenset(found)

    def names(self, name: str) -> tuple[str, ...]:
        found = self.items(name, MOST_NAMES)
        if not all(map(_is_name, found)):
            raise MessageError(f"Got {name} that are no names.")
        return tuple(found)

    def end(self) -> None:
        if self._left:
            raise MessageError("Got a message with more than belongs to it.")


def _is_name(value: object) -> bool:
    """Whether a value is text that can be said again: JSON may hold halves of characters."""
    if not isinstance(value, str) or len(value) > LONGEST_NAME:
        return False
    return not any("\ud800" <= letter <= "\udfff" for letter in value)


def _player(value: object) -> PlayerSpec:
    if not isinstance(value, dict):
        raise MessageError("Got a player that is not an object.")
    fields = _Fields(value)
    kind = fields.text("kind")
    if kind not in KINDS:
        raise MessageError(f"Got a kind of player that is not one of {', '.join(KINDS)}.")
    step = fields.whole("step", limits.STEPS) if "step" in value else None
    spec = PlayerSpec(kind, fields.text("name"), step)  # type: ignore[arg-type]
    fields.end()
    return spec
