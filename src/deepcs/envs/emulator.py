"""The emulator of one Atari game: started, played and frozen as a protocol has it.

An action is held for 4 raw frames, of which the last two screens are kept; a protocol may begin a
game with no-ops and FIRE, and make actions stick.
"""

from __future__ import annotations

import zlib

import numpy as np
from ale_py import Action, ALEInterface, ALEState, LoggerMode

from deepcs.curiosity.game import Game
from deepcs.envs.protocol import Protocol
from deepcs.envs.roms import rom_path
from deepcs.envs.screen import PAIR, SCRATCH
from deepcs.system.snapshot import Snapshot, SnapshotError

FRAME_SKIP = 4  # raw frames per agent step

ALEInterface.setLoggerMode(LoggerMode.Error)


class Emulator:
    """ALE with one game; whatever is random comes from a generator that the caller gives."""

    def __init__(self, game: Game, protocol: Protocol) -> None:
        self.game = game
        self.protocol = protocol
        self.ale = ALEInterface()
        # The same sticky actions by our own generator: an ALEState omits the last action.
        self.ale.setFloat("repeat_action_probability", 0.0)
        self.ale.setInt("random_seed", 0)
        self.ale.setInt("max_num_frames_per_episode", 0)
        self.ale.loadROM(rom_path(game.name))
        if self.ale.getScreenDims() != PAIR[1:]:
            raise ValueError(
                f"Got {game.name}, whose screen is {self.ale.getScreenDims()[0]} rows high "
                f"where frames are made of {PAIR[1]}; wrap Gymnasium's environment of it with "
                "deepcs.CuriosityWrapper instead."
            )
        # The emulator takes some 65 frames to reset, always the same: keep where they lead.
        self.ale.reset_game()
        self._opening = self.ale.cloneState()
        self._opening_screen: np.ndarray = self.ale.getScreenRGB()
        self._opening_colours: np.ndarray = self.ale.getScreen()
        minimal = self.ale.getMinimalActionSet()
        actions = self.ale.getLegalActionSet() if protocol.full_actions else minimal
        self.actions: tuple[int, ...] = tuple(action.value for action in actions)
        self.start_actions: tuple[int, ...] = ()
        if protocol.fire and Action.FIRE in minimal:
            self.start_actions = Action.FIRE.value, self.actions[2]

        self.shared_pair: np.ndarray | None = None
        """where the last two screens are left for others to draw; None: nobody else does"""
        self._restored_screen: np.ndarray | None = None  # ALE's is stale till it plays
        self.games_started = 0
        self.last_action = 0
        self.frames = 0
        """raw frames of this game"""

    @property
    def pair(self) -> np.ndarray:
        """Where the last two screens are kept until they are drawn: uint8 (2, 210, 160)."""
        return SCRATCH.pair if self.shared_pair is None else self.shared_pair

    def start(self, generator: np.random.Generator) -> None:
        """Start a new game: no-ops, FIRE and action 2 by protocol."""
        self.begin()
        if self.protocol.noops:
            for _ in range(int(generator.integers(1, self.protocol.noops + 1))):
                self.frame(0, generator)
                if self.ale.game_over():
                    self.begin()
        if self.frames:
            self._keep_last()
        for action in self.start_actions:
            self.press(action, generator)
            if self.ale.game_over():
                self.begin()

    def begin(self) -> None:
        """Back to the first frame of a game."""
        self.games_started += 1
        self.ale.restoreState(self._opening)
        self._restored_screen = self._opening_screen
        self.pair[:] = self._opening_colours
        self.last_action = 0
        self.frames = 0

    def frame(self, action: int, generator: np.random.Generator) -> int:
        """One raw frame; the last action may stick. Returns the points made."""
        if self.protocol.sticky and generator.random() < self.protocol.sticky:
            action = self.last_action
        self.last_action = action
        self.frames += 1
        self._restored_screen = None
        reward: int = self.ale.act(action)
        return reward

    def press(self, action: int, generator: np.random.Generator) -> float:
        """Hold an action for 4 raw frames, fewer if the game ends; keeps the last two screens."""
        reward = 0
        pair = self.pair
        for frame in range(FRAME_SKIP):
            reward += self.frame(action, generator)
            if frame == FRAME_SKIP - 2:
                self.ale.getScreen(pair[0])
            if self.ale.game_over():
                break
        if frame == FRAME_SKIP - 1:
            self.ale.getScreen(pair[1])
        else:
            self._keep_last()
        return float(reward)

    def _keep_last(self) -> None:
        """Keep only the last screen, twice."""
        pair = self.pair
        self.ale.getScreen(pair[1])
        pair[0] = pair[1]

    def screen(self) -> np.ndarray:
        """The screen in colour: uint8 (210, 160, 3)."""
        if self._restored_screen is not None:
            return self._restored_screen.copy()
        screen: np.ndarray = self.ale.getScreenRGB()
        return screen

    @property
    def screen_shape(self) -> tuple[int, ...]:
        return self._opening_screen.shape

    def state(self) -> Snapshot:
        """ALE's own state, a checksum of it, and the screen, which it omits."""
        emulator = self.ale.cloneState(include_rng=True).serialize()
        return {
            "emulator": np.frombuffer(emulator, np.uint8).copy(),
            "emulator_crc": zlib.crc32(emulator),
            "screen": self.screen(),
        }

    def check(self, saved: Snapshot) -> None:
        """Raise SnapshotError if ALE's state is not as it was saved."""
        emulator = np.asarray(saved["emulator"], np.uint8).tobytes()
        if zlib.crc32(emulator) != saved["emulator_crc"]:
            raise SnapshotError(
                f"The snapshot's emulator state ({len(emulator)} bytes) is damaged or truncated; "
                "use one that was saved whole."
            )

    def restore(self, saved: Snapshot) -> None:
        """Return to a `state`, the last action and the number of frames."""
        self.ale.restoreState(ALEState(np.asarray(saved["emulator"], np.uint8).tobytes()))
        self._restored_screen = np.asarray(saved["screen"], np.uint8)
        self.last_action = int(saved["last_action"])
        self.frames = int(saved["frames"])
