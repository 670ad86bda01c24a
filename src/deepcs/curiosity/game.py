"""A game's facts: where the player stands in RAM, what a room is, when positions count."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from deepcs.curiosity.grid import CuriosityGrid, Lifetime
from deepcs.curiosity.reward import Weight, check_weight
from deepcs.curiosity.tiles import Bounds, Position, Room, TileSize, check_whole_tile
from deepcs.system.snapshot import Snapshot, all_or_nothing, check_snapshot

Ram = Sequence[int]  # 128 bytes: bytes, a list, or a uint8 array
RAM_BASE = 0x80  # address of the first byte
LAST_BYTE = 0xFF
JUMP = 8  # raw units in one sample, more than walking where `room_leads` (at most 4 seen)
PATIENCE = 100  # samples to wait for a jump; the longest seen, Wizard of Wor's, took 53


def _check_address(what: str, address: object) -> None:
    if not isinstance(address, int) or not RAM_BASE <= address <= LAST_BYTE:
        given = hex(address) if isinstance(address, int) else repr(address)
        raise ValueError(f"Got {given} for {what}; give an address of RAM, from 0x80 to 0xFF.")


def byte(ram: Ram, address: int) -> int:
    """The byte at the paper's address."""
    return int(ram[address - RAM_BASE])


@dataclass(frozen=True)
class Screen:
    """From raw units to the middle of the player's sprite, in pixels of the 160x210 screen."""

    x_scale: float
    x_offset: float
    y_scale: float
    y_offset: float

    def pixel(self, x: float, y: float) -> tuple[float, float]:
        """(column, row) of raw (x, y)."""
        return self.x_scale * x + self.x_offset, self.y_scale * y + self.y_offset


@dataclass(frozen=True)
class Difference:
    """Where we depart from the paper's table."""

    what: str
    paper: str
    ours: str
    reason: str


def one_room(ram: Ram) -> Room:
    """The whole game takes place in one room."""
    return ()


@dataclass(frozen=True, init=False)
class at:  # noqa: N801  (reads as a word: room=at(0x83))
    """The room is the byte at this address, or the bytes at these."""

    addresses: tuple[int, ...]

    def __init__(self, *addresses: int) -> None:
        for address in addresses:
            _check_address("room", address)
        object.__setattr__(self, "addresses", addresses)

    def __call__(self, ram: Ram) -> Room:
        return tuple(byte(ram, address) for address in self.addresses)

    def __str__(self) -> str:
        return ", ".join(f"0x{address:02X}" for address in self.addresses)


def always(x: int, y: int, ram: Ram) -> bool:
    """The player never leaves the board."""
    return True


def never(x: int, y: int, ram: Ram) -> bool:
    """Nobody knows where the player is."""
    return False


def nowhere(ram: Ram) -> tuple[int, int]:
    """No coordinates are known."""
    return 0, 0


@dataclass(frozen=True)
class Game:
    """One game's facts; `locate` reads them out of RAM."""

    name: str
    """as in Gymnasium, where it is ALE/<name>-v5"""
    x: int | None
    """address of the horizontal coordinate; None: the player cannot move sideways"""
    y: int | None
    """address of the vertical coordinate; None: the player cannot move up or down"""
    bounds: Bounds
    """smallest coordinates, and the grid's size in raw units; 0 and 1 where there is no address"""
    screen: Screen
    """where raw units are on the screen"""
    room: Callable[[Ram], Room] = one_room
    """the room or level, from RAM"""
    room_is: str = ""
    """what a room or level is, in words; empty: see `room_in_words`"""
    tile: int = 16
    """tile size in raw units"""
    weight: Weight = "equal"
    """β of the reward mix"""
    on_board: Callable[[int, int, Ram], bool] = always
    """whether the player is in play at (x, y)"""
    off_board_is: str = "never"
    """when the player is off the board, in words"""
    place: Callable[[Ram], tuple[int, int]] | None = None
    """reads (x, y) where single addresses are not enough"""
    room_leads: bool = False
    """the room byte changes long before the position does: wait for the jump"""
    room_wraps: bool = False
    """the level byte wraps around: count its changes instead"""
    window: tuple[int, int] | None = None
    """raw units above and below the player that are on the screen, where the level scrolls"""
    lives: Callable[[Ram], int] | None = None
    """reads lives where the emulator's own count is wrong"""
    start: tuple[int, int] | None = None
    """raw (x, y) where the first player enters; None: not known"""
    flickers: bool = True
    """sprites may be drawn in every other frame only: videos show the brighter of two"""
    differences: tuple[Difference, ...] = ()
    """where we depart from the paper"""

    def __post_init__(self) -> None:
        if not isinstance(self.name, str) or not re.fullmatch("[A-Z][A-Za-z0-9]*", self.name):
            raise ValueError(
                f"Got game name {self.name!r}; give it as in Gymnasium, such as MsPacman for "
                "ALE/MsPacman-v5."
            )
        for what, address in (("x", self.x), ("y", self.y)):
            if address is not None:
                _check_address(f"{self.name}'s {what}", address)
        if self.x is None and self.y is None and self.place is None:
            raise ValueError(
                f"Got {self.name} without x, y and place; give at least one, as there is no grid "
                "without a position."
            )
        check_whole_tile(self.tile)
        if not self.bounds.is_whole:
            raise ValueError(
                f"Got bounds {self.bounds} of {self.name}; give whole raw units, as RAM has them."
            )
        check_weight(self.weight)

    @property
    def room_in_words(self) -> str:
        """What a room is: as the game says, or what can be told of its function."""
        if self.room_is:
            return self.room_is
        if self.room is one_room:
            return "the whole game is one screen"
        return str(self.room) if isinstance(self.room, at) else "what a function of RAM returns"

    @property
    def rom(self) -> str:
        """ale-py's name of the ROM: ms_pacman, tic_tac_toe_3d."""
        return re.sub(r"(?<!^)(?<!\d)(?=[A-Z])|(?<=[a-z])(?=\d[A-Z])", "_", self.name).lower()

    def locate(self, ram: Ram) -> Position | None:
        """The player's position in one RAM image, or None while off the board."""
        if self.place is not None:
            x, y = self.place(ram)
        else:
            x = 0 if self.x is None else int(ram[self.x - RAM_BASE])
            y = 0 if self.y is None else int(ram[self.y - RAM_BASE])
        if not self.on_board(x, y, ram):
            return None
        return Position(x, y, self.room(ram))

    def grid(
        self,
        tile: TileSize | None = None,
        lifetime: Lifetime = "game",
        *,
        clamp: bool = True,
        half_life: float | None = None,
    ) -> CuriosityGrid:
        """A fresh curiosity grid of this game."""
        return CuriosityGrid(
            self.bounds,
            self.tile if tile is None else check_whole_tile(tile),
            lifetime=lifetime,
            y_up=self.screen.y_scale < 0,
            clamp=clamp,
            half_life=half_life,
        )

    @property
    def is_located(self) -> bool:
        """Whether it says where the player is."""
        return self.on_board is not never


def unlocated(name: str) -> Game:
    """A game of which nothing is known but its name: nobody can tell where the player is."""
    return Game(
        name,
        x=None,
        y=None,
        bounds=Bounds(0, 0, 1, 1),
        screen=Screen(0, 0, 0, 0),
        place=nowhere,
        on_board=never,
        off_board_is="always, as nobody knows where the player is",
    )


class Tracker:
    """Which positions count, sample by sample: `locate` sees only one RAM image.

    When a room byte has changed, the coordinates may still be those of the old room: such
    positions are dropped. Level bytes that wrap around would make a later level look like an
    earlier one: their changes are counted instead.
    """

    def __init__(self, game: Game) -> None:
        self.game = game
        self.reset()

    def reset(self) -> None:
        """A new game starts."""
        self._seen: Position | None = None  # last located position
        self._away = False  # off the board in the last sample
        self._changes = 0  # room changes in this game
        self._waiting = 0  # samples waited for a jump since a room change; 0: not waiting

    def track(self, located: Position | None) -> Position | None:
        """The position if it counts in this sample, else None."""
        if located is None:
            self._away = True
            return None
        seen, away = self._seen, self._away
        self._seen, self._away = located, False
        if seen is None:
            return self._numbered(located)
        changed = located.room != seen.room
        if changed:
            self._changes += 1
        if not self.game.room_leads:
            return None if changed else self._numbered(located)
        if changed:
            self._waiting = 1
        if self._waiting:
            jumped = max(abs(located.x - seen.x), abs(located.y - seen.y)) > JUMP
            if not (jumped or away or self._waiting > PATIENCE):
                self._waiting += 1
                return None
            self._waiting = 0
        return self._numbered(located)

    def _numbered(self, position: Position) -> Position:
        if self.game.room_wraps:
            return position._replace(room=(self._changes,))
        return position

    def snapshot(self) -> Snapshot:
        seen = self._seen
        return {
            "kind": f"tracker of {self.game.name}",
            "seen": None if seen is None else [seen.x, seen.y, list(seen.room)],
            "away": self._away,
            "changes": self._changes,
            "waiting": self._waiting,
        }

    @all_or_nothing
    def restore(self, snapshot: Snapshot) -> None:
        keys = ("seen", "away", "changes", "waiting")
        saved = check_snapshot(snapshot, f"tracker of {self.game.name}", keys)
        seen = saved["seen"]
        self._seen = None if seen is None else Position(seen[0], seen[1], tuple(seen[2]))
        self._away = bool(saved["away"])
        self._changes = int(saved["changes"])
        self._waiting = int(saved["waiting"])
