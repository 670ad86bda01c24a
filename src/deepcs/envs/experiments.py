"""Experiments on an emulator: play, push from the same state, write to RAM, explore.

What a byte of RAM means is found by replaying the same state, each time with another direction
held, or with another value in that byte.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass

import cv2
import numpy as np
from ale_py import Action, ALEInterface, ALEState, LoggerMode

from deepcs.envs.roms import rom_path

LEFT, RIGHT, UP, DOWN, NOTHING = range(5)  # in this order wherever there are five
ACTIONS = (Action.LEFT, Action.RIGHT, Action.UP, Action.DOWN, Action.NOOP)
FRAMES = 8  # raw ones that a push lasts
WATCHED = 4  # the last of them are recorded: some sprites are drawn in every fourth only
FRAME_SKIP = 4  # raw frames to a step of play, as agents play
APART = 30  # steps of play from one kept state to the next
HOLD = 6  # steps that an action is held for in play, on average
STRETCH = 24  # steps of exploration from one kept state
COARSE = (16, 21)  # columns and rows of a screen that rooms are told apart by
COARSER = (5, 7)  # and of one that tells whether a state is new
RAM = 128  # bytes


@dataclass(frozen=True)
class Pushes:
    """The results of holding each direction, and nothing, from the same states."""

    ram: np.ndarray
    """int16 (states, 5, WATCHED, 128)"""
    screens: np.ndarray
    """uint8 (states, 5, WATCHED, height, 160), colours as the console numbers them"""


@dataclass(frozen=True)
class Journey:
    """Stretches of play that began wherever something new had been seen."""

    ram: np.ndarray
    """int16 (steps, 128)"""
    screens: np.ndarray
    """uint8 (steps, 21, 16), the screen in grey and coarse"""
    begins: np.ndarray
    """bool (steps,), the first step of a stretch"""
    states: list[ALEState]
    """one of each place that was seen"""


class Experiments:
    """One game's emulator; the same seed gives the same experiments."""

    def __init__(self, name: str, seed: int) -> None:
        """name: as in Gymnasium, one of `rom_names`."""
        ALEInterface.setLoggerMode(LoggerMode.Error)
        self._ale = ALEInterface()
        self._ale.setFloat("repeat_action_probability", 0.0)
        self._ale.setInt("random_seed", 0)
        self._ale.loadROM(rom_path(name))
        self.screen: tuple[int, int] = self._ale.getScreenDims()  # (210, 160), or higher
        self._actions = [action.value for action in self._ale.getMinimalActionSet()]
        self._rng = np.random.default_rng(seed)
        self._held, self._left = 0, 0  # in play: an action, and how many steps more

    def opening(self, frames: int) -> np.ndarray:
        """RAM at a game's start and after each frame of waiting: int16 (frames + 1, 128)."""
        self._ale.reset_game()
        seen = [self._ram()]
        for _ in range(frames):
            self._ale.act(Action.NOOP)
            seen.append(self._ram())
        return np.array(seen)

    def play(self, states: int) -> tuple[list[ALEState], np.ndarray]:
        """Random play: states of it, and RAM after each step, int16 (steps, 128)."""
        self._ale.reset_game()
        kept: list[ALEState] = []
        seen: list[np.ndarray] = []
        while len(kept) < states:
            for _ in range(APART):
                self._step()
                if self._ale.game_over():
                    self._ale.reset_game()
                seen.append(self._ram())
            kept.append(self._ale.cloneState())
        return kept, np.array(seen)

    def push(self, states: Sequence[ALEState]) -> Pushes:
        """Hold each direction, and nothing, from each of the states."""
        watched = len(states), len(ACTIONS), WATCHED
        pushes = Pushes(
            np.zeros((*watched, RAM), np.int16), np.zeros((*watched, *self.screen), np.uint8)
        )
        for i, state in enumerate(states):
            for push, action in enumerate(ACTIONS):
                self._ale.restoreState(state)
                self._watch(action, pushes.ram[i, push], pushes.screens[i, push])
        return pushes

    def write(self, state: ALEState, index: int, change: int) -> tuple[np.ndarray, np.ndarray]:
        """Add to a byte and wait: the last RAM, (128,), and screens (WATCHED, height, 160)."""
        self._ale.restoreState(state)
        self._ale.setRAM(index, (int(self._ale.getRAM()[index]) + change) % 256)
        ram, screens = (
            np.zeros((WATCHED, RAM), np.int16),
            np.zeros((WATCHED, *self.screen), np.uint8),
        )
        self._watch(Action.NOOP, ram, screens)
        return ram[-1], screens

    def explore(
        self,
        states: Sequence[ALEState],
        steps: int,
        place: Callable[[np.ndarray], Hashable],
    ) -> Journey:
        """Play on from the states and from every new place, from rarely chosen ones the most.

        place: what of RAM, beside a coarse screen, makes a place.
        """
        kept: dict[Hashable, ALEState] = {}
        chosen: list[int] = []
        ram: list[np.ndarray] = []
        screens: list[np.ndarray] = []
        begins: list[bool] = []

        def see(first: bool) -> None:
            ram.append(self._ram())
            screens.append(self._look())
            begins.append(first)
            key = place(ram[-1]), (cv2.resize(screens[-1], COARSER) // 32).tobytes()
            if key not in kept:
                kept[key] = self._ale.cloneState()
                chosen.append(0)

        for state in states:
            self._ale.restoreState(state)
            self._ale.act(Action.NOOP)  # the screen is stale after a restore
            see(first=True)
        while len(ram) < steps and sum(chosen) < steps:  # stretches may be over at once
            weights = 1 / np.sqrt(1 + np.array(chosen))
            pick = int(self._rng.choice(len(chosen), p=weights / weights.sum()))
            chosen[pick] += 1
            self._ale.restoreState(list(kept.values())[pick])
            self._left = 0
            for step in range(STRETCH):
                self._step()
                if self._ale.game_over():
                    break
                see(first=step == 0)
        return Journey(np.array(ram), np.array(screens), np.array(begins), list(kept.values()))

    def show(self, state: ALEState) -> tuple[np.ndarray, np.ndarray]:
        """A state's screen, uint8 (height, 160, 3), the brighter of two frames, and RAM."""
        self._ale.restoreState(state)
        self._ale.act(Action.NOOP)
        before = self._ale.getScreenRGB()
        self._ale.act(Action.NOOP)
        return np.maximum(before, self._ale.getScreenRGB()), self._ram()

    def _step(self) -> None:
        """A step of random play: actions are held for a while, so that the player gets around."""
        if self._left == 0:
            self._held = self._actions[self._rng.integers(len(self._actions))]
            self._left = int(self._rng.geometric(1 / HOLD))
        self._left -= 1
        for _ in range(FRAME_SKIP):
            self._ale.act(self._held)

    def _watch(self, action: Action, ram: np.ndarray, screens: np.ndarray) -> None:
        """Hold an action for FRAMES and record the last of them."""
        for frame in range(FRAMES):
            self._ale.act(action)
            watched = frame - (FRAMES - WATCHED)
            if watched >= 0:
                ram[watched] = self._ale.getRAM()
                self._ale.getScreen(screens[watched])

    def _ram(self) -> np.ndarray:
        ram: np.ndarray = self._ale.getRAM().astype(np.int16)
        return ram

    def _look(self) -> np.ndarray:
        look: np.ndarray = cv2.resize(
            self._ale.getScreenGrayscale(), COARSE, interpolation=cv2.INTER_AREA
        )
        return look
