"""Where in RAM the player's position is, found by experiments on the emulator.

A byte is the player's x if it passes three tests. Pushed: from the same state, LEFT and RIGHT
change the byte in opposite ways, compared with no action. Seen: its value predicts the column of
the screen in which those pushes make a difference, which is where the player is. Written: another
value written into it stays and changes the screen; in a mere copy it does not. The same for y, with
UP and DOWN and rows.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from ale_py import ALEState

from deepcs.curiosity.game import RAM_BASE
from deepcs.envs.experiments import (
    DOWN,
    LEFT,
    NOTHING,
    RAM,
    RIGHT,
    UP,
    Experiments,
    Pushes,
)

X, Y = 0, 1
AXES = ((LEFT, RIGHT), (UP, DOWN))
WRAP = 100  # a byte that differs by more wrapped around, from 255 to 0 or back
LITTLE = 24  # units: a push that works to one side only counts if it is no more than this
OTHER_AXIS = 0.7  # share of the score on the other axis that is taken off
SCALES = (0.25, 0.5, 1.0, 2.0, 4.0, 8.0)  # pixels of the screen to a unit
NEAR = 4.0  # pixels that a sight may be off a byte's prediction
FEWEST_SIGHTS = 10
SPRITE = (2, 2_500)  # pixels in which the screens after two pushes differ, if it is the player
EXPLAINED = 0.2  # share of sights, beyond those that one place explains, that make a scale known
SHORTLIST = 0.5  # of the best byte's evidence: what is less is not written to
LONGEST = 6  # bytes to write to
WRITES = 16  # states that a byte is written to in
UNWRITTEN = 0.3  # of the confidence is left where no write works, as with paddles
LEVEL = 64  # rows that change at least, where a level scrolls
FARTHEST = 48  # rows, the most scrolling that is searched for
STEP = 8  # pixels, about, that writing should move the player by


@dataclass(frozen=True)
class Candidate:
    """A byte that may be one of the player's coordinates."""

    address: int
    confidence: float
    """0 to 1: pushed and seen, less where writing does not move the player"""
    pushed: float
    """share of the states in which it followed both pushes; one alone counts half"""
    seen: float
    """share of the differences on the screen whose position it predicts, beyond chance"""
    written: float
    """share of writes that stayed and changed the screen"""
    scale: float
    """pixels to a unit, below 0 if it grows upward; 0: not seen"""
    offset: float
    """pixel, from left or top, of the player's middle where the byte is 0"""

    @property
    def index(self) -> int:
        return self.address - RAM_BASE

    def moving(self, scale: float, offset: float) -> Candidate:
        """The same byte with another way to the screen."""
        return dataclasses.replace(self, scale=scale, offset=offset)


@dataclass(frozen=True)
class Sights:
    """Differences between the screens after two pushes from one state: where the player is."""

    state: np.ndarray
    """int (sights,)"""
    places: np.ndarray
    """float (2, sights): column and row of the middle"""
    ram: np.ndarray
    """float (sights, 128), between the two; NaN where a byte wrapped around"""

    def __len__(self) -> int:
        return len(self.state)


def look(pushes: Pushes) -> Sights:
    """Compare the screens after every informative pair of pushes."""
    found = []
    for state, (ram, screens) in enumerate(zip(pushes.ram, pushes.screens, strict=True)):
        for one, other in (*AXES, *((push, NOTHING) for push in range(NOTHING))):
            differ = screens[one] != screens[other]
            pixels = differ.sum((1, 2))
            pixels[pixels > SPRITE[1]] = 0
            frame = int(pixels.argmax())
            if pixels[frame] < SPRITE[0]:
                continue
            rows, columns = np.nonzero(differ[frame])
            here, there = ram[one, frame], ram[other, frame]
            between = np.where(np.abs(here - there) > WRAP, np.nan, (here + there) / 2)
            found.append((state, np.median(columns), np.median(rows), between))
    if not found:
        return Sights(np.zeros(0, int), np.zeros((2, 0)), np.zeros((0, RAM)))
    places = np.array([(column, row) for _, column, row, _ in found]).T
    return Sights(
        np.array([state for state, *_ in found]), places, np.array([ram for *_, ram in found])
    )


def pushed(pushes: Pushes) -> np.ndarray:
    """How well each byte follows LEFT and RIGHT, and UP and DOWN: (2, 128), 0 to 1."""
    last = pushes.ram[:, :, -1]
    moved = last[:, :NOTHING] - last[:, NOTHING:]
    moved[np.abs(moved) > WRAP] = 0
    scores = np.zeros((2, RAM))
    for axis, (one, other) in enumerate(AXES):
        back, forth = moved[:, one], moved[:, other]
        obeyed = (back != 0).any(1) | (forth != 0).any(1)
        both = np.sign(back) * np.sign(forth) < 0
        alone = ((back == 0) ^ (forth == 0)) & (np.abs(back + forth) <= LITTLE)
        points = (both + 0.5 * alone) * np.sign(forth - back)
        scores[axis] = np.abs(points.sum(0)) / max(1, obeyed.sum())
    return np.clip(scores - OTHER_AXIS * scores[::-1], 0, 1)


def most_within(values: np.ndarray) -> tuple[int, float]:
    """How many of the values, at most, lie within NEAR of one place, and the place."""
    values = np.sort(values[~np.isnan(values)])
    if not len(values):
        return 0, 0.0
    ends = np.searchsorted(values, values + 2 * NEAR, "right")
    counts = ends - np.arange(len(values))
    first = int(counts.argmax())
    return int(counts[first]), float(np.median(values[first : ends[first]]))


@dataclass(frozen=True)
class Fit:
    """How well a byte predicts where the player is seen, and by which mapping."""

    seen: float
    scale: float
    offset: float


def fits(sights: Sights, axis: int) -> tuple[list[Fit], float]:
    """Each byte's fit, and the share of sights that one place alone explains."""
    places = sights.places[axis]
    if len(sights) < FEWEST_SIGHTS:
        return [Fit(0.0, 0.0, 0.0)] * RAM, 1.0
    alike = most_within(places)[0] / len(places)
    found = []
    for values in sights.ram.T:
        best = Fit(0.0, 0.0, 0.0)
        if len(np.unique(values[~np.isnan(values)])) > 1:
            for scale in SCALES if axis == X else (*SCALES, *(-scale for scale in SCALES)):
                count, offset = most_within(places - scale * values)
                seen = (count / len(places) - alike) / (1 - alike + 1e-3)
                if seen > best.seen:
                    best = Fit(seen, scale, offset)
        found.append(best)
    return found, alike


class Search:
    """The candidates for both coordinates of one game."""

    def __init__(self, experiments: Experiments, states: Sequence[ALEState]) -> None:
        self._experiments = experiments
        self._states = states
        self.pushes = experiments.push(states)
        self.sights = look(self.pushes)
        self._pushed = pushed(self.pushes)

    def candidates(self, axis: int) -> list[Candidate]:
        """Best first; of equals, the lower address. Bytes without evidence are left out."""
        by_byte, alike = fits(self.sights, axis)
        seen = np.array([fit.seen for fit in by_byte])
        # What obeys pushes may be a heading or a picture: it counts where all sights are alike, as
        # where the level moves instead of the player.
        evidence = seen + (1 - seen) * self._pushed[axis] * alike**2
        order = np.argsort(-evidence, kind="stable")[:LONGEST]
        found = []
        for index in order[evidence[order] > max(0.05, SHORTLIST * evidence[order[0]])]:
            fit = by_byte[index]
            known = fit.seen >= EXPLAINED
            scale, offset = (fit.scale, fit.offset) if known else (0.0, self.middle(axis))
            written = self._written(int(index), abs(scale) or 1.0)
            found.append(
                Candidate(
                    RAM_BASE + int(index),
                    float(evidence[index]) * (UNWRITTEN + (1 - UNWRITTEN) * written),
                    float(self._pushed[axis][index]),
                    float(fit.seen),
                    written,
                    scale,
                    offset,
                )
            )
        return sorted(found, key=lambda each: (-round(each.confidence, 3), each.address))

    def middle(self, axis: int) -> float:
        """The column or row at which the player is mostly seen."""
        return most_within(self.sights.places[axis])[1]

    def obeying(self) -> np.ndarray:
        """RAM where a push made a difference on the screen: int16 (some, 128)."""
        ram: np.ndarray = self.pushes.ram[np.unique(self.sights.state)].reshape(-1, RAM)
        return ram

    def _written(self, index: int, scale: float) -> float:
        """Share of writes to a byte that stay and change the screen."""
        seen = np.unique(self.sights.state) if len(self.sights) else np.arange(len(self._states))
        chosen = seen[:: math.ceil(len(seen) / WRITES)]
        change = max(1, round(STEP / scale))
        worked = 0
        for state in chosen:
            waited = self.pushes.ram[state, NOTHING, -1, index]
            middle = np.median(self.pushes.ram[:, NOTHING, -1, index])
            towards = change if waited <= middle else -change
            ram, screens = self._experiments.write(self._states[state], index, towards)
            stayed = (ram[index] - waited) / towards >= 0.5
            pixels = (screens != self.pushes.screens[state, NOTHING]).sum((1, 2)).max()
            worked += bool(stayed and pixels >= SPRITE[0])
        return worked / len(chosen)

    def scrolling(self, candidate: Candidate) -> tuple[float, tuple[int, int]] | None:
        """Where the level moves instead of the player: pixels to a unit of y, and the first and
        last row that move; None: it does not."""
        found = list(self._shifts(candidate.index))
        if len(found) < FEWEST_SIGHTS / 2:
            return None
        scale = float(np.median([shift for shift, _ in found]))
        rows = np.concatenate([rows for _, rows in found])
        return scale, (int(np.percentile(rows, 1)), int(np.percentile(rows, 99)))

    def _shifts(self, index: int) -> Iterator[tuple[float, np.ndarray]]:
        """Of each state from which UP and DOWN shift the level: pixels to a unit, rows that
        differ."""
        last = self.pushes.ram[:, :, -1], self.pushes.screens[:, :, -1]
        for ram, screens in zip(*last, strict=True):
            units = int(ram[DOWN, index]) - int(ram[UP, index])
            if not 0 < abs(units) <= WRAP:
                continue
            above, below = screens[UP], screens[DOWN]
            moves = np.flatnonzero((above != below).any(1))
            if len(moves) < LEVEL:
                continue
            part = slice(moves[0], moves[-1] + 1)
            above, below = above[part], below[part]
            unlike = {0: float((above != below).mean())}
            for shift in range(1, FARTHEST + 1):
                unlike[shift] = float((below[:-shift] != above[shift:]).mean())
                unlike[-shift] = float((below[shift:] != above[:-shift]).mean())
            best = min(unlike, key=lambda shift: unlike[shift])
            if unlike[best] < unlike[0] / 2:
                yield best / units, moves
