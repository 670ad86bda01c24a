"""Which positions count, sample after sample.

`Game.locate` reads one RAM image; some games' bytes need a memory beyond it. When a room byte
has changed, the coordinates may still be those of the old room; and level bytes that wrap would
make a later level look like an earlier one.
"""

from __future__ import annotations

from deepcs.curiosity.game import Game
from deepcs.curiosity.grid import Position
from deepcs.system.snapshot import Snapshot, all_or_nothing, check_snapshot

JUMP = 8  # raw units in one sample that no walk makes where rooms lead (at most 4 were seen)
PATIENCE = 100  # samples to wait for a jump; the longest seen, Wizard of Wor's, took 53


class Tracker:
    """Withholds positions that a room change makes doubtful; numbers levels that wrap."""

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
