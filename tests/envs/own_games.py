"""Games as a user might bring them, for module:NAME."""

from __future__ import annotations

from deepcs import Bounds, Game, Screen, at

HERO = Game(
    name="Hero",
    x=0x9B,
    y=0x9F,
    bounds=Bounds(15, 0, 123, 140),
    screen=Screen(1, 3.5, -1, 145),
    room=at(0x9C),
    on_board=lambda x, y, ram: x > 0,
)
NO_GAME = "Hero"
