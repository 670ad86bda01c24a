"""All that a Game needs to know about a new game: position, range, screen, rooms, start.

`find_position` plays at random, searches for the player's coordinates, explores with what it found,
and searches again from many more states.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass

import numpy as np
from ale_py import ALEState

from deepcs.curiosity.game import RAM_BASE, Game, Screen, at, one_room
from deepcs.curiosity.tiles import Bounds
from deepcs.envs.experiments import Experiments, Journey
from deepcs.envs.position_search import Candidate, Search, X, Y
from deepcs.envs.roms import no_such_rom, rom_named
from deepcs.envs.room_search import RoomCandidate, room_candidates
from deepcs.system import limits
from deepcs.system.limits import check_whole

STATES = 60  # of random play that pushes start from; and as many of exploration
EXPLORATION = 4_000  # steps
ENOUGH = 0.15  # confidence from which a byte is taken for a coordinate
GAP = 12  # units between values beyond which they do not belong together
SOMETIMES = 0.02  # share of the time that the player is at a lone value, if it is on the board
OPENING = 300  # raw frames within which the first player should be on the board
PLACE = 16  # pixels, about, to a place
MOMENTS = 8  # to be shown in a picture


@dataclass(frozen=True)
class Moment:
    """A moment of play."""

    picture: np.ndarray
    """uint8 (height, 160, 3)"""
    ram: np.ndarray
    """int16 (128,)"""


@dataclass(frozen=True)
class Found:
    """What was found out about a game."""

    name: str
    x: tuple[Candidate, ...]
    """best first"""
    y: tuple[Candidate, ...]
    rooms: tuple[RoomCandidate, ...]
    """best first, those that go together with whole screens only"""
    ranges: dict[int, tuple[int, int]]
    """smallest and largest value in play, by the candidate's address"""
    middle: tuple[float, float]
    """column and row at which the player is mostly seen"""
    start: tuple[int, int] | None
    window: tuple[int, int] | None
    moments: tuple[Moment, ...]
    """of play in many places"""

    @property
    def best(self) -> tuple[Candidate | None, Candidate | None]:
        """x and y as far as there is confidence in them."""
        return chosen(self.x), chosen(self.y)

    def game(self) -> Game:
        """The game's facts as far as they were found; raises ValueError if neither x nor y was."""
        x, y = self.best
        if x is None and y is None:
            raise ValueError(
                f"No byte of {self.name} is surely the player's position; look at the candidates, "
                "or try more states or another seed."
            )
        left, right = (0, 0) if x is None else self.ranges[x.address]
        top, bottom = (0, 0) if y is None else self.ranges[y.address]
        spans = [high - low + 1 for low, high in ((left, right), (top, bottom)) if high > low]
        return Game(
            name=self.name,
            x=None if x is None else x.address,
            y=None if y is None else y.address,
            bounds=Bounds(left, top, right - left + 1, bottom - top + 1),
            screen=Screen(*_mapping(x, self.middle[X]), *_mapping(y, self.middle[Y])),
            room=at(self.rooms[0].address) if self.rooms else one_room,
            room_is=(
                f"0x{self.rooms[0].address:02X}, found by its screens"
                if self.rooms
                else "no other room was seen"
            ),
            tile=max(1, min(16, *(span // 5 for span in spans))) if spans else 1,
            window=self.window,
            start=self.start,
        )


def chosen(candidates: Sequence[Candidate]) -> Candidate | None:
    """The best candidate if there is enough confidence in it."""
    return candidates[0] if candidates and candidates[0].confidence >= ENOUGH else None


def _mapping(candidate: Candidate | None, middle: float) -> tuple[float, float]:
    """Scale and offset of an axis; without a coordinate, what is drawn is 8 pixels broad."""
    if candidate is None:
        return 8.0, round(middle, 1)
    return candidate.scale or 1.0, round(candidate.offset, 1)


def find_position(
    name: str,
    *,
    states: int = STATES,
    exploration: int = EXPLORATION,
    seed: int = 0,
    say: Callable[[str], None] = lambda text: None,
) -> Found:
    """Find out about one of ale-py's games, in any clear case and separators of its name.

    states: of random play, from which directions are pushed. exploration: steps of exploration
    afterwards. say: called with progress messages.
    """
    rom = rom_named(name)
    if rom is None:
        raise ValueError(no_such_rom(name))
    check_whole("{} states", states, 10, limits.STATES)
    check_whole("{} steps of exploration", exploration, 100, limits.EXPLORATION)
    check_whole("seed {}", seed, 0, limits.SEED)
    experiments = Experiments(rom, seed)
    say("Playing at random ...")
    kept, played = experiments.play(states)
    say("Pushing ...")
    search = Search(experiments, kept)
    axes = [chosen(search.candidates(axis)) for axis in (X, Y)]
    say("Exploring ...")
    journey = experiments.explore(kept, exploration, _places(axes))
    order = np.random.default_rng(seed).permutation(len(journey.states))[:states]
    say("Pushing from where it led to ...")
    search = Search(experiments, [*kept, *(journey.states[i] for i in order)])
    return _conclude(rom, experiments, search, journey, played)


def _places(axes: Sequence[Candidate | None]) -> Callable[[np.ndarray], Hashable]:
    """Cells of about PLACE pixels, of those coordinates that are known."""
    known = [(axis.index, abs(axis.scale) or 1.0) for axis in axes if axis is not None]
    return lambda ram: tuple(int(ram[index] * scale) // PLACE for index, scale in known)


def _shown_better(candidates: list[Candidate], other_axis: list[Candidate]) -> list[Candidate]:
    """Without the bytes that the screen shows to be the other axis, as in Pong, where RIGHT moves
    the paddle up."""
    seen = {each.address: each.seen for each in other_axis}
    return [each for each in candidates if each.seen >= seen.get(each.address, 0.0)]


def _conclude(
    name: str, experiments: Experiments, search: Search, journey: Journey, played: np.ndarray
) -> Found:
    across, down = search.candidates(X), search.candidates(Y)
    x, y = _shown_better(across, down), _shown_better(down, across)
    seen = np.concatenate([played, journey.ram])
    obeying = search.obeying()
    ranges = {
        each.address: value_range(seen[:, each.index], obeying[:, each.index]) for each in (*x, *y)
    }
    middle = search.middle(X), search.middle(Y)
    window = None
    if y and y[0].scale == 0 and (scroll := search.scrolling(y[0])) is not None:
        scale, (top, bottom) = scroll
        y[0] = y[0].moving(scale, middle[Y])
        window = round((top - middle[Y]) / scale), round((bottom - middle[Y]) / scale)
    found = Found(
        name,
        tuple(x),
        tuple(y),
        tuple(room_candidates(journey, [chosen(x), chosen(y)])),
        ranges,
        middle,
        None,
        window,
        (),
    )
    inside = _inside(found)
    opening = experiments.opening(OPENING)
    entered = np.flatnonzero(inside(opening))
    start = _position(found, opening[entered[0]]) if len(entered) else None
    moments = _moments(found, experiments, journey.states, inside)
    return dataclasses.replace(found, start=start, moments=moments)


def value_range(seen: np.ndarray, obeying: np.ndarray) -> tuple[int, int]:
    """The range of a byte in play, without its values while the player is off the board.

    Of its values (steps,), those are kept that no gap parts from where it mostly was when the
    player obeyed.
    """
    values = np.unique(np.concatenate([seen, obeying]))
    runs = np.split(values, np.flatnonzero(np.diff(values) > GAP) + 1)
    kept = [
        run for run in runs if np.isin(obeying, run).mean() > (0 if len(run) > 1 else SOMETIMES)
    ]
    kept = kept or runs
    return int(kept[0][0]), int(kept[-1][-1])


def _inside(found: Found) -> Callable[[np.ndarray], np.ndarray]:
    """Whether the player is within the range: (..., 128) -> bool (...)."""
    known = [(each.index, *found.ranges[each.address]) for each in found.best if each is not None]

    def inside(ram: np.ndarray) -> np.ndarray:
        result = np.ones(ram.shape[:-1], bool)
        for index, low, high in known:
            result &= (ram[..., index] >= low) & (ram[..., index] <= high)
        return result

    return inside


def _position(found: Found, ram: np.ndarray) -> tuple[int, int]:
    x, y = (0 if each is None else int(ram[each.index]) for each in found.best)
    return x, y


def _moments(
    found: Found,
    experiments: Experiments,
    states: Sequence[ALEState],
    inside: Callable[[np.ndarray], np.ndarray],
) -> tuple[Moment, ...]:
    """Moments far apart from each other, other rooms first."""
    rams = np.array([experiments.show(state)[1] for state in states])
    eligible = np.flatnonzero(inside(rams)) if inside(rams).any() else np.arange(len(states))
    places = np.array([_position(found, ram) for ram in rams[eligible]], float)
    if found.rooms:
        rooms = rams[eligible, found.rooms[0].address - RAM_BASE]
        places = np.column_stack([places, 1_000.0 * rooms])  # farther than any place in a room
    picked = [0]
    nearest = np.full(len(eligible), np.inf)
    while len(picked) < min(MOMENTS, len(eligible)):
        nearest = np.minimum(nearest, np.abs(places - places[picked[-1]]).sum(1))
        picked.append(int(nearest.argmax()))
    return tuple(Moment(*experiments.show(states[eligible[i]])) for i in picked)
