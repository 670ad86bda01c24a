"""One walk, and what each answer to the three questions pays for it, worked out by hand.

Tiles A, B and C; A and C look alike, so that by pixels they are one cell. A game starts at A:

    game 1: A, then B A B C C B; a life is lost with the second B
    game 2: A, then B

Seven steps are paid. All rewards are square roots of fractions: the tables have their squares.
"""

from __future__ import annotations

import itertools
import math
from fractions import Fraction
from typing import Any

import gymnasium
import numpy as np
import pytest

from deepcs import CuriosityWrapper
from deepcs.agents.across import BatchNovelty
from deepcs.agents.bonus import Batch, Visited, run_alone
from deepcs.curiosity.novelty import NEWS, PLACES, Novelty
from deepcs.envs.pictures import Hashed
from deepcs.runs.config import RunConfig

GAMES = ("BABCCB", "B")
LIFE_LOST = (0, 2)  # game and step
SHADES = {"A": 0, "B": 200, "C": 0}
CHOSEN = ("lifetime", "graded", "place", "half_life", "frames")

# N: visits of all steps so far. By position B1 A1 B2 C1 C2 B3 B4; by pixels a is A and C.
COUNTS = {
    "position": "1 1 1/2 1 1/2 1/3 1/4",
    "pixels": "1 1 1/2 1/2 1/3 1/3 1/4",
}
# Of one pixel with two shades, ρ is (c + 1/2)/(n + 1) for a shade seen c times in n steps, and
# ρ' (c + 3/2)/(n + 2), so the pseudo-count is exactly c + 1/2; c is 0 0 1 1 2 2 3.
PSEUDO_COUNTS = "2/3 2/3 2/5 2/5 2/7 2/7 2/9"
# n: entries of this lifetime, with the start's; staying at C is none. A lifetime's start is not
# paid: under `life` that is also the C after the lost life. Under `never` game 2 starts at an
# entry of A, and its B is the fourth. Fading, half-life 1, age of the last visit: - 2 2 - . 3 2, by
# pixels - 2 2 2 . 3 2, which pays 1 - 2^-age; graded, w of B is 1/4 at its second visit, then
# 5/4 / 8 = 5/32, then 37/32 / 4 = 37/128; a's third has 5/4 / 4 = 5/16; it pays 1/√(1 + w).
ALONE_AND_TIMES_COUNTS = {
    ("position", "game", "first"): ("1 0 0 1 0 0 1", "1 0 0 1 0 0 1/4"),
    ("position", "game", "graded"): ("1 1/2 1/2 1 0 1/3 1", "1 1/2 1/4 1 0 1/9 1/4"),
    ("position", "life", "first"): ("1 0 0 0 0 1 1", "1 0 0 0 0 1/3 1/4"),
    ("position", "life", "graded"): ("1 1/2 1/2 0 0 1 1", "1 1/2 1/4 0 0 1/3 1/4"),
    ("position", "never", "first"): ("1 0 0 1 0 0 0", "1 0 0 1 0 0 0"),
    ("position", "never", "graded"): ("1 1/2 1/2 1 0 1/3 1/4", "1 1/2 1/4 1 0 1/9 1/16"),
    ("position", "fading", "first"): (
        "1 9/16 9/16 1 0 49/64 9/16",
        "1 9/16 9/32 1 0 49/192 9/64",
    ),
    ("position", "fading", "graded"): (
        "1 4/5 4/5 1 0 32/37 128/165",
        "1 4/5 2/5 1 0 32/111 32/165",
    ),
    ("pixels", "game", "first"): ("1 0 0 0 0 0 1", "1 0 0 0 0 0 1/4"),
    ("pixels", "game", "graded"): ("1 1/2 1/2 1/3 0 1/3 1", "1 1/2 1/4 1/6 0 1/9 1/4"),
    ("pixels", "life", "first"): ("1 0 0 0 0 1 1", "1 0 0 0 0 1/3 1/4"),
    ("pixels", "life", "graded"): ("1 1/2 1/2 0 0 1 1", "1 1/2 1/4 0 0 1/3 1/4"),
    ("pixels", "never", "first"): ("1 0 0 0 0 0 0", "1 0 0 0 0 0 0"),
    ("pixels", "never", "graded"): ("1 1/2 1/2 1/3 0 1/3 1/4", "1 1/2 1/4 1/6 0 1/9 1/16"),
    ("pixels", "fading", "first"): (
        "1 9/16 9/16 9/16 0 49/64 9/16",
        "1 9/16 9/32 9/32 0 49/192 9/64",
    ),
    ("pixels", "fading", "graded"): (
        "1 4/5 4/5 16/21 0 32/37 128/165",
        "1 4/5 2/5 8/21 0 32/111 32/165",
    ),
}

# By the code CODE, A and C are 01 and B is 11, so a visit pays what it does by pixels. A new code
# gives all cells other numbers, so nothing that outlives a game is paid.
HASHED = [(lifetime, pay) for lifetime in ("game", "life") for pay in ("first", "graded")]
CODE = np.zeros((2, 17), np.float32)
CODE[0] = [1 / 16] * 16 + [-0.5]  # brighter than half?
CODE[1, -1] = 1  # always


def roots(squares: str) -> np.ndarray:
    return np.array([math.sqrt(Fraction(square)) for square in squares.split()])


class Script(gymnasium.Env[np.ndarray, int]):
    """Walks as it is written, whatever the action."""

    observation_space = gymnasium.spaces.Box(0, 255, (4, 4), np.uint8)
    action_space = gymnasium.spaces.Discrete(1)

    def __init__(self) -> None:
        self.game, self.steps, self.tile = -1, 0, "A"

    def _seen(self) -> np.ndarray:
        return np.full((4, 4), SHADES[self.tile], np.uint8)

    def reset(self, **_: Any) -> Any:  # type: ignore[override]
        self.game, self.steps, self.tile = self.game + 1, 0, "A"
        return self._seen(), {}

    def step(self, action: int) -> Any:
        self.tile = GAMES[self.game][self.steps]
        info = {"life_lost": (self.game, self.steps) == LIFE_LOST}
        self.steps += 1
        return self._seen(), 0.0, self.steps == len(GAMES[self.game]), False, info


def earned(place: Any, lifetime: Any, pay: str, across: Any, combine: Any) -> np.ndarray:
    """What a run of these settings pays for the walk."""
    numbers: dict[str, Any] = {"half_life": 1.0} if lifetime == "fading" else {}
    if place == "pixels":
        numbers |= {"width": 1, "height": 1, "levels": 2}
    if place == "hash":
        numbers |= {"code_bits": 2}
    if across == "pseudo-counts":
        numbers |= {"density_side": 1, "density_levels": 2}
    novelty = Novelty(place, lifetime, across, combine, **numbers)
    config = RunConfig("KeyHallway", novelty=novelty, graded=pay == "graded")
    config.check()
    chosen = config.actor_settings()
    settings = {k: chosen[k] for k in CHOSEN if k in chosen}
    infos = walked(**settings)
    life = np.array([[info["intrinsic"]] for info in infos])
    if place == "hash":  # nothing is learned on the way: the code is CODE
        return life.ravel()
    cells = np.array([[info["cell"]] for info in infos])
    frames = np.array([[info["frame"]] for info in infos]) if "frames" in settings else None
    shared = BatchNovelty(config.full_novelty, Batch(0, 1, range(1), 1, 0, (4, 4), {}))
    paid, _ = run_alone(shared.pay(Visited(cells, frames), life))
    return np.asarray(paid).ravel()


def walked(**settings: Any) -> list[dict[str, Any]]:
    """The infos of the seven steps."""
    env = CuriosityWrapper(
        Script(),
        locate=lambda env, seen, info: (ord(env.unwrapped.tile), 0),
        grid=False,
        **settings,
    )
    if isinstance(settings.get("place"), Hashed):
        env.take_code(CODE)
    infos = []
    for game in GAMES:
        env.reset()
        infos += [env.step(0)[4] for _ in game]
    return infos


@pytest.mark.parametrize(
    ("answers", "expected"),
    ALONE_AND_TIMES_COUNTS.items(),
    ids=map(" ".join, ALONE_AND_TIMES_COUNTS),
)
def test_a_scripted_walk_earns_what_was_worked_out_by_hand(
    answers: tuple[str, str, str], expected: tuple[str, str]
) -> None:
    place, _, pay = answers
    alone, product, counts = roots(expected[0]), roots(expected[1]), roots(COUNTS[place])
    assert earned(*answers, "none", None) == pytest.approx(alone)
    assert earned(*answers, "counts", "product") == pytest.approx(product)
    assert earned(*answers, "counts", "sum") == pytest.approx(alone + counts)
    if pay == "first":  # graded is refused where only counts are paid
        assert earned(*answers, "counts", "across") == pytest.approx(counts)


@pytest.mark.parametrize(("lifetime", "pay"), HASHED)
def test_a_scripted_walk_by_a_code_given_by_hand_earns_what_its_cells_do(
    lifetime: str, pay: str
) -> None:
    alone, _ = ALONE_AND_TIMES_COUNTS["pixels", lifetime, pay]
    assert earned("hash", lifetime, pay, "none", None) == pytest.approx(roots(alone))


def test_every_place_lifetime_and_pay_is_in_the_table() -> None:
    pays = ("first", "graded")
    assert set(ALONE_AND_TIMES_COUNTS) == {*itertools.product(("position", "pixels"), NEWS, pays)}
    for lifetime, pay in {*itertools.product(NEWS, pays)} - {*HASHED}:
        with pytest.raises(ValueError, match="place 'hash', but a new code renumbers"):
            earned("hash", lifetime, pay, "none", None)
    assert {*PLACES} == {"position", "pixels", "hash"}


def test_pseudo_counts_of_one_pixel_pay_what_was_worked_out_by_hand() -> None:
    counts, first_visits = roots(PSEUDO_COUNTS), roots("1 0 0 1 0 0 1")
    walk = "position", "game", "first", "pseudo-counts"
    assert earned(*walk, "across") == pytest.approx(counts)
    assert earned(*walk, "product") == pytest.approx(roots("2/3 0 0 2/5 0 0 2/9"))
    assert earned(*walk, "sum") == pytest.approx(first_visits + counts)


def test_the_wrapper_fades_as_the_treatment_does_by_the_settings_that_the_docs_name() -> None:
    chosen = RunConfig("KeyHallway", treatment="fading").actor_settings()
    assert (chosen["lifetime"], chosen["half_life"]) == ("never", 100)
    paid = [info["intrinsic"] for info in walked(lifetime="never", half_life=100)]
    two, three = 1 - 2 ** (-2 / 100), 1 - 2 ** (-3 / 100)
    assert paid == pytest.approx([1, two, two, 1, 0, three, two])
