"""The golden traces: the real emulator, step by step, against bytes written down beforehand."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from ale_py import Action, ALEInterface, LoggerMode, roms

from deepcs import CuriosityGrid, Position, game
from deepcs.curiosity.game import Tracker

GOLDEN = json.loads((Path(__file__).parents[1] / "data" / "golden.json").read_text())
CASES: dict[str, dict[str, Any]] = GOLDEN["cases"]

# Where `X` and `Y` of the traces stand: the paper's bytes, Alien's axes still swapped.
PAPER_X_Y = {
    "alien": (0xAD, 0xB4),
    "freeway": (None, 0x8E),
    "gravitar": (0x9F, 0xA0),
    "kangaroo": (0x91, 0x90),
    "montezuma_revenge": (0xAA, 0xAB),
    "pitfall": (0xE1, 0xE9),
    "private_eye": (0xBF, 0xE1),
    "seaquest": (0xC6, 0xE1),
    "tutankham": (0x87, 0xC1),
    "venture": (0xD5, 0x9A),
    "wizard_of_wor": (0xB7, 0xAF),
}


def load(rom: str) -> ALEInterface:
    ALEInterface.setLoggerMode(LoggerMode.Error)
    emulator = ALEInterface()
    emulator.setFloat("repeat_action_probability", 0.0)
    emulator.setInt("frame_skip", GOLDEN["meta"]["frame_skip"])
    emulator.loadROM(roms.get_rom_path(rom))
    emulator.reset_game()
    return emulator


@dataclass
class Step:
    ram: np.ndarray
    reward: int


def play(emulator: ALEInterface, actions: list[int]) -> Iterator[Step]:
    for action in actions:
        reward = emulator.act(Action(action))
        yield Step(emulator.getRAM(), reward)


def read(rom: str, columns: list[str], ram: np.ndarray) -> list[int]:
    """The bytes that a trace's columns name."""

    def byte(address: int) -> int:
        return int(ram[address - 0x80])

    if rom == "amidar":
        x, y = byte(0xC2 + byte(0xD7)), byte(0xBB + byte(0xD7))
    else:
        x_address, y_address = PAPER_X_Y[rom]
        x, y = 0 if x_address is None else byte(x_address), byte(y_address)
    return [x, y, *(byte(int(column, 16)) for column in columns[2:])]


def expected(rom: str, row: list[int]) -> Position | None:
    """What the verified facts make of one row of a trace."""
    x, y, *keys = row
    match rom:
        case "alien":
            return Position(y, x, (0, 0))  # all in level 0, outside the bonus round
        case "amidar":
            return None if (x, y) == (0, 0) else Position(x, y, (2,))  # level 1 reads as 2
        case "gravitar":
            mode, planet = keys
            return Position(x, y, (3, planet) if mode == 3 else (mode,)) if mode != 1 else None
        case "kangaroo" if y >= 20:
            return None
        case "pitfall" if not 21 <= y <= 86:
            return None
        case "private_eye" | "venture":
            return Position(x, y, (keys[1],))  # 0xDC, 0xDA; keys[0] is the paper's 0xBE
        case "seaquest":
            return Position(x, y, ()) if y >= 13 else None
        case "wizard_of_wor" if (x, y) == (0, 0):
            return None
    return Position(x, y, (keys[0],))


@pytest.fixture(scope="module")
def emulators() -> dict[str, ALEInterface]:
    return {}


def emulator_of(emulators: dict[str, ALEInterface], rom: str) -> ALEInterface:
    if rom not in emulators:
        emulators[rom] = load(rom)
    emulators[rom].reset_game()
    return emulators[rom]


def test_there_are_24_traces_of_all_twelve_games() -> None:
    assert len(CASES) == 24
    assert len({case["game"] for case in CASES.values()}) == 12


@pytest.mark.parametrize("name", CASES)
def test_the_emulator_gives_the_golden_bytes_and_rewards_and_locate_reads_them(
    name: str, emulators: dict[str, ALEInterface]
) -> None:
    case = CASES[name]
    rom, columns = case["game"], case["columns"]
    facts = game(rom)
    emulator = emulator_of(emulators, rom)
    ram = emulator.getRAM()
    assert read(rom, columns, ram) == case["trace0"]
    assert facts.locate(ram) == expected(rom, case["trace0"])
    rewards = []
    steps = play(emulator, case["actions_ale"])
    for index, (step, row) in enumerate(zip(steps, case["trace"], strict=True)):
        assert read(rom, columns, step.ram) == row, f"step {index}"
        assert facts.locate(step.ram) == expected(rom, row), f"step {index}"
        if step.reward:
            rewards.append([index, step.reward])
    assert rewards == case["rewards"]


@pytest.mark.parametrize("name", CASES)
def test_every_position_of_a_trace_is_inside_the_games_bounds(name: str) -> None:
    case = CASES[name]
    bounds = game(case["game"]).bounds
    grid = CuriosityGrid(bounds, clamp=False)
    for row in case["trace"]:
        position = expected(case["game"], row)
        if position is not None:
            grid.tile_of(position)


def explore(
    name: str, more: list[int], emulators: dict[str, ALEInterface]
) -> tuple[list[Position | None], list[Position | None], CuriosityGrid]:
    """A trace played to its end and on: positions located, positions tracked, tiles touched."""
    case = CASES[name]
    facts = game(case["game"])
    emulator, tracker, grid = emulator_of(emulators, case["game"]), Tracker(facts), facts.grid()
    located, tracked = [], []
    for step in play(emulator, case["actions_ale"] + more):
        located.append(facts.locate(step.ram))
        tracked.append(tracker.track(located[-1]))
        if tracked[-1] is not None:
            grid.visit(tracked[-1])
    return located, tracked, grid


def changes(located: list[Position | None]) -> list[int]:
    """Steps at which the room differs from the step before."""
    return [
        step
        for step in range(1, len(located))
        if (here := located[step]) and (last := located[step - 1]) and here.room != last.room
    ]


def test_montezuma_withholds_one_sample_per_room_change_and_nothing_else(
    emulators: dict[str, ALEInterface],
) -> None:
    located, tracked, grid = explore("mr_3600", [], emulators)
    withheld = [step for step, position in enumerate(tracked) if position is None]
    assert withheld == changes(located)
    assert grid.rooms == ((1,), (2,), (6,), (7,), (13,), (14,))


def test_freeway_gives_a_fresh_grid_per_crossing(emulators: dict[str, ALEInterface]) -> None:
    _, _, grid = explore("freeway_up300", [], emulators)
    assert grid.rooms == ((0,), (1,), (2,), (3,), (4,))
    tiles = [int((grid.entries(room) > 0).sum()) for room in grid.rooms]
    assert tiles == [9, 9, 9, 9, 5]  # the fifth chicken stands at y = 100, (100 - 6) // 20 = 4


def test_a_new_dungeon_counts_only_once_the_player_enters_it(
    emulators: dict[str, ALEInterface],
) -> None:
    up = int(Action.UP.value)
    located, tracked, grid = explore("wow_dungeon2", [up] * 120, emulators)
    (change,) = changes(located)
    assert change == 617
    assert located[change] == Position(35, 98, (1,))
    entry = next(step for step in range(change, len(tracked)) if tracked[step] is not None)
    assert entry > change + 40
    assert tracked[entry].x == 139  # type: ignore[union-attr]  # the entrance, at the right
    old_place = grid.tile_of(Position(35, 98))
    assert grid.entries((1,))[old_place] == 0


def test_a_room_of_venture_gets_no_tile_at_the_maps_coordinates(
    emulators: dict[str, ALEInterface],
) -> None:
    located, tracked, grid = explore("venture_be10", [0] * 40, emulators)
    (change,) = changes(located)
    assert change == 59
    assert grid.entries((1,))[grid.tile_of(Position(64, 63))] == 0
    assert grid.entries((1,)).sum() >= 1
    assert all(position is not None for position in tracked[-10:])


def test_tutankhams_next_level_is_entered_at_its_top(emulators: dict[str, ALEInterface]) -> None:
    case = CASES["tutankham_bottom"]
    facts = game("Tutankham")
    emulator, tracker, grid = emulator_of(emulators, case["game"]), Tracker(facts), facts.grid()
    for _ in play(emulator, case["actions_ale"]):
        pass
    # written to RAM: beside the door, with the key
    for address, value in ((0x87, 20), (0xC1, 154), (0xA0, 0x80)):
        emulator.setRAM(address - 0x80, value)
    for step in play(emulator, [int(Action.LEFT.value)] * 80):
        position = tracker.track(facts.locate(step.ram))
        if position is not None:
            grid.visit(position)
    assert grid.rooms == ((0,), (1,))
    # withheld once, the player has not yet left the top row: its tiles x 104..123 and 124..143
    assert np.argwhere(grid.entries((1,)) > 0).tolist() == [[0, 5], [0, 6]]
