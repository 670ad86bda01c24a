"""One Atari actor: an emulator, what the network sees of it, and the curiosity grid.

Preprocessing as in OpenAI Baselines: an action for 4 raw frames, the maximum of the last two,
grey, 84x84 by area, a stack of 4. To which comes the plane of the curiosity grid.
"""

from __future__ import annotations

from collections import Counter
from typing import Any, ClassVar

import gymnasium
import numpy as np
from ale_py import Action, ALEInterface

from deepcs.curiosity.cells import CellMemory
from deepcs.curiosity.explorer import Explorer
from deepcs.curiosity.game import Game, Tracker
from deepcs.curiosity.games import game as find
from deepcs.curiosity.grid import Lifetime
from deepcs.curiosity.tiles import Tile
from deepcs.envs.emulator import Emulator
from deepcs.envs.pictures import CellFinder, Place
from deepcs.envs.protocol import protocol as find_protocol
from deepcs.envs.screen import NOTHING, SIZE
from deepcs.envs.stack import GridInput, Stack
from deepcs.system.snapshot import (
    Snapshot,
    SnapshotError,
    all_or_nothing,
    check_same,
    check_snapshot,
)

SNAPSHOT_KEYS = (
    *("settings", "emulator", "emulator_crc", "screen", "observation", "explorer", "tracker"),
    *("last_action", "frames", "lives", "score", "over", "generator"),
)


class AtariActor(gymnasium.Env[np.ndarray, np.int64]):
    """One Atari game with its curiosity grid.

    Observation: uint8 (5, 84, 84), four grey frames, newest last, then the plane of the current
    room; (8, 84, 84) with `grid="stacked"`, (4, 84, 84) with `grid="none"`. The reward is the
    game's own, unclipped; the intrinsic reward is in the info.
    """

    metadata = {"render_modes": ["rgb_array"], "render_fps": 15}  # noqa: RUF012
    emulator_type: ClassVar[type[Emulator]] = Emulator

    def __init__(
        self,
        game: str | Game,
        *,
        protocol: str = "paper",
        grid: GridInput = "plane",
        lifetime: Lifetime = "game",
        tile: int | None = None,
        graded: bool = False,
        max_frames: int | None = None,
        place: Place = "position",
        half_life: float | None = None,
        frames: bool = False,
        render_mode: str | None = None,
    ) -> None:
        """Make the actor.

        game: its name, or the Game itself. protocol: `paper`, `baselines` or `machado`. grid: what
        the network sees of the grid. tile: its size in raw units (None: the game's own). graded:
        I is 1/√n at the n-th entry. max_frames: raw frames per game (None: the protocol's). place:
        what is visited, tiles by position or cells by the newest frame. half_life: steps after
        which a visit counts half (None: visits do not fade). frames: put the newest frame into the
        info, as `frame`.
        """
        self.stack = Stack(grid)
        if max_frames is not None and max_frames < 1:
            raise ValueError(f"Got max_frames {max_frames}; give a number of frames from 1 up.")
        if render_mode not in (None, "rgb_array"):
            raise ValueError(f"Got render_mode {render_mode!r}; choose None or 'rgb_array'.")
        self.game = game if isinstance(game, Game) else find(game)
        self.protocol = find_protocol(protocol)
        self.max_frames = self.protocol.max_frames if max_frames is None else max_frames
        self.render_mode = render_mode
        self.finder = None if place == "position" else CellFinder(place, (SIZE, SIZE))
        self.frame_shape = (SIZE, SIZE) if frames else None
        self.tells_cells = self.game.is_located or self.finder is not None
        """whether cells in its infos are any: else they are all 0, for no place that counts"""
        self.explorer = Explorer(
            self.game.grid(tile, lifetime, half_life=half_life),
            graded=graded,
            window=self.game.window,
            cells=None
            if self.finder is None
            else CellMemory(lifetime=lifetime, half_life=half_life),
        )
        self.tracker = Tracker(self.game)

        self.emulator = self.emulator_type(self.game, self.protocol)
        self.actions = self.emulator.actions
        self.action_space = gymnasium.spaces.Discrete(len(self.actions))
        self.observation_space = gymnasium.spaces.Box(0, 255, self.stack.array.shape, np.uint8)
        self._ram = np.zeros(128, np.uint8)
        self._over = True
        self._lives = 0
        self._score = 0.0

    @property
    def ale(self) -> ALEInterface:
        return self.emulator.ale

    @property
    def games_started(self) -> int:
        """How often a game was begun, also those that ended before the agent's first step."""
        return self.emulator.games_started

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[np.ndarray, dict[str, Any]]:
        """Start a new game: no-ops, FIRE and action 2 by protocol, then the start tile."""
        super().reset(seed=seed)
        self.emulator.start(self.np_random)
        self._score = 0.0
        self._over = False
        self.tracker.reset()
        ram = self._read_ram()
        self._lives = self._read_lives(ram)
        position = self.tracker.track(self.game.locate(ram))
        self.stack.clear()
        self.stack.push(self.emulator.pair)
        if self.finder is not None:
            self.finder.start_game()
        self.explorer.start_game(position, self._cell())
        self.stack.show_plane(self.explorer.plane)
        return self.stack.shown(), self._info(0.0, False)

    def step(self, action: np.int64 | int) -> tuple[np.ndarray, float, bool, bool, dict[str, Any]]:
        """Hold the action for 4 raw frames (fewer if the game ends).

        The info's `game_reward` is all points made; the reward lacks those of the steps that the
        protocol adds after a lost life, which are not the agent's doing.
        """
        if self._over:
            raise gymnasium.error.ResetNeeded("The game is over or has not begun; call reset().")
        if not 0 <= action < len(self.actions):
            raise ValueError(f"Got action {action}; choose one from 0 to {len(self.actions) - 1}.")
        reward = self.emulator.press(self.actions[action], self.np_random)
        terminated = self.ale.game_over()
        ram = self._read_ram()
        lives = self._read_lives(ram)
        life_lost = 0 < lives < self._lives
        self._lives = lives
        if self.needs_frame:
            self.stack.push(self.emulator.pair)
        self._explore(ram, terminated)
        points = reward
        if life_lost:
            self.explorer.lose_life()
            if self.protocol.restart_after_life and not terminated:
                points += self._restart()
                terminated = self.ale.game_over()
        self._score += points
        truncated = not terminated and self.emulator.frames >= self.max_frames
        self._over = terminated or truncated
        if not self.needs_frame and (self.emulator.shared_pair is None or self._over):
            self.stack.push(self.emulator.pair)
        self.stack.show_plane(self.explorer.plane)
        info = self._info(points, life_lost)
        if self._over:
            info["rooms_visited"] = self.explorer.rooms
        return self.stack.shown(), reward, terminated, truncated, info

    def attach(self, observation: np.ndarray) -> None:
        """Keep the observation in this array from now on; steps return the array itself."""
        self.stack.attach(observation)

    def leave_frames(self, screens: np.ndarray) -> None:
        """Draw only the first and the last frame of a game.

        After any other step the newest frame is missing until someone calls `push_frame` with the
        observation and these screens, uint8 (2, 2, 210, 160): the newest pair, and that which the
        newest frame shows.
        """
        screens[:] = NOTHING
        self.emulator.shared_pair, self.stack.pair_shown = screens

    def render(self) -> np.ndarray:
        """The screen in colour: uint8 (210, 160, 3)."""
        return self.emulator.screen()

    def _restart(self) -> float:
        """Go on after a lost life as Baselines starts an episode; returns the points made.

        Positions are not visited, as they are not at a game's start; the tracker follows them, so
        that no change of room escapes it.
        """
        points = 0.0
        for action in (Action.NOOP.value, *self.emulator.start_actions):
            points += self.emulator.press(action, self.np_random)
            ram = self._read_ram()
            self._lives = self._read_lives(ram)
            self.tracker.track(self.game.locate(ram))
            if self.ale.game_over():
                break
        self.stack.clear()
        if self.needs_frame:
            self.stack.push(self.emulator.pair)
        return points

    def _read_ram(self) -> bytes:
        self.ale.getRAM(self._ram)
        return self._ram.tobytes()

    def _read_lives(self, ram: bytes) -> int:
        return self.ale.lives() if self.game.lives is None else self.game.lives(ram)

    def _explore(self, ram: bytes, terminated: bool) -> None:
        """Visit where the player stands; never on the terminal step."""
        position = self.tracker.track(self.game.locate(ram))
        if terminated:
            self.explorer.step(None)
        else:
            self.explorer.step(position, self._cell())

    @property
    def needs_frame(self) -> bool:
        """Whether the newest frame must be there before the step is over."""
        return self.finder is not None or self.frame_shape is not None

    @property
    def frame(self) -> np.ndarray:
        """The newest frame: uint8 (84, 84)."""
        return self.stack.frame

    def _cell(self) -> int | None:
        return None if self.finder is None else self.finder.find(self.frame)

    def take_code(self, code: np.ndarray) -> None:
        """Tell cells by this learned code from the next game on."""
        assert self.finder is not None
        self.finder.take_code(code)

    def _info(self, points: float, life_lost: bool) -> dict[str, Any]:
        info = self.explorer.info()
        info["game_reward"] = points
        info["life_lost"] = life_lost
        info["score"] = self._score
        info["lives"] = self._lives
        if self.frame_shape is not None:
            info["frame"] = self.frame
        return info

    def take_visits(self) -> Counter[Tile]:
        """How often each tile was entered since this was last asked."""
        return self.explorer.take_visits()

    def snapshot(self) -> Snapshot:
        """The whole actor: a restored one goes on exactly as this one would."""
        return {
            "kind": f"actor of {self.game.name}",
            "settings": self._settings(),
            **self.emulator.state(),
            "observation": self.stack.array.copy(),
            "explorer": self.explorer.snapshot(),
            "tracker": self.tracker.snapshot(),
            **({} if self.finder is None else {"finder": self.finder.snapshot()}),
            "last_action": self.emulator.last_action,
            "frames": self.emulator.frames,
            "lives": self._lives,
            "score": self._score,
            "over": self._over,
            "generator": self.np_random.bit_generator.state,
        }

    def _settings(self) -> Snapshot:
        return {
            "protocol": self.protocol.name,
            "grid": self.stack.grid,
            "max_frames": self.max_frames,
        }

    @all_or_nothing
    def restore(self, snapshot: Snapshot) -> None:
        """Return to the state that snapshot() saved, in an actor of the same settings."""
        saved = check_snapshot(snapshot, f"actor of {self.game.name}", SNAPSHOT_KEYS)
        check_same(saved["settings"], self._settings(), "actor")
        self.emulator.check(saved)
        shapes = {
            "observation": self.stack.array.shape,
            "screen": self.emulator.screen_shape,
        }
        for name, shape in shapes.items():
            if np.shape(saved[name]) != shape:
                raise SnapshotError(
                    f"The snapshot's {name} is {np.shape(saved[name])}, where {shape} is needed; "
                    "use one that was saved whole."
                )
        self.explorer.restore(saved["explorer"])
        self.tracker.restore(saved["tracker"])
        if self.finder is not None:
            self.finder.restore(saved["finder"])
        self.emulator.restore(saved)
        self.stack.restore(saved["observation"])
        self._lives = int(saved["lives"])
        self._score = float(saved["score"])
        self._over = bool(saved["over"])
        self.np_random.bit_generator.state = saved["generator"]
