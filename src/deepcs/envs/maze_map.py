"""A maze as a map of letters, and the rules by which it is walked."""

from __future__ import annotations

from collections.abc import Iterator

Cell = tuple[int, int]  # row, column
Stand = tuple[Cell, bool]  # where the player stands, and whether halfway through a skill

LEFT, RIGHT, UP, DOWN, ACT = range(5)
DIRECTIONS: dict[int, Cell] = {LEFT: (0, -1), RIGHT: (0, 1), UP: (-1, 0), DOWN: (1, 0)}

SKILLS = {
    "w": (UP, DOWN),  # water: swim, by strokes up and down in turn
    "r": (RIGHT, RIGHT),  # rock: climb, a hold with each hand
    "g": (ACT, UP),  # gaps: take off, then up
    "e": (ACT, ACT),  # earth: dig, then drop through
}
"""The two actions, in a row, that bring the player one cell further out over a terrain."""


class MazeMap:
    """Walls are spaces, the start is `@`, all other letters are cells to stand on.

    A capital marks a thing that stands there once, on the terrain of its small letter. Walking
    takes one action a cell. Further out over a terrain of SKILLS it takes that skill instead;
    back towards the start is always walked.
    """

    def __init__(self, layout: tuple[str, ...]) -> None:
        self.height, self.width = len(layout), len(layout[0])
        self.letters: dict[Cell, str] = {
            (y, x): letter
            for y, line in enumerate(layout)
            for x, letter in enumerate(line)
            if letter != " "
        }
        self.places = {letter: cell for cell, letter in self.letters.items() if letter.isupper()}
        (self.start,) = (cell for cell, letter in self.letters.items() if letter == "@")

    def moves(self, actions: int) -> dict[Stand, list[Stand]]:
        """Where each of the actions leads, from everywhere."""
        return {
            (cell, halfway): [self.move(cell, halfway, action) for action in range(actions)]
            for cell in self.letters
            for halfway in (False, True)
        }

    def move(self, cell: Cell, halfway: bool, action: int) -> Stand:
        """Where an action leads; any action but its second half starts a skill over."""
        neighbours = self._neighbours(cell)
        hard = [there for there in neighbours.values() if self._takes_skill(cell, there)]
        if action in neighbours and neighbours[action] not in hard:
            return neighbours[action], False
        if not hard:
            return cell, False
        (outward,) = hard
        first, second = SKILLS[self.letters[outward].lower()]
        if halfway and action == second:
            return outward, False
        return cell, action == first

    def outward(self, cell: Cell) -> Cell:
        """The signs of (down, right) that lead away from the start."""
        down, right = cell[0] - self.start[0], cell[1] - self.start[1]
        return (down > 0) - (down < 0), (right > 0) - (right < 0)

    def by_distance(self, cell: Cell) -> Iterator[Cell]:
        """All cells by walking distance, this one first; ties: left, right, up, down."""
        found = [cell]
        for here in found:
            yield here
            found += [there for there in self._neighbours(here).values() if there not in found]

    def _neighbours(self, cell: Cell) -> dict[int, Cell]:
        """The cells beside this one, by the action that points there."""
        beside = {action: (cell[0] + y, cell[1] + x) for action, (y, x) in DIRECTIONS.items()}
        return {action: there for action, there in beside.items() if there in self.letters}

    def _takes_skill(self, cell: Cell, there: Cell) -> bool:
        further = self._from_start(there) > self._from_start(cell)
        return further and self.letters[there].lower() in SKILLS

    def _from_start(self, cell: Cell) -> int:
        return abs(cell[0] - self.start[0]) + abs(cell[1] - self.start[1])
