"""Deep Curiosity Search: reward what is new in this life."""

from __future__ import annotations

from deepcs.curiosity.games import Game, game, games
from deepcs.curiosity.grid import Bounds, CuriosityGrid, Position
from deepcs.curiosity.unbounded import UnboundedGrid

__all__ = ["Bounds", "CuriosityGrid", "Game", "Position", "UnboundedGrid", "game", "games"]
