"""One Atari actor: an emulator, its preprocessing, and the curiosity grid.

Preprocessing as in OpenAI Baselines: an action for 4 raw frames, the maximum of the last two,
grey, 84x84 by area, a stack of 4. To which comes the plane of the curiosity grid.
"""

from __future__ import annotations

import zlib
from collections import Counter
from typing import Any, Literal, get_args

import gymnasium
import numpy as np
from ale_py import Action, ALEInterface, ALEState, LoggerMode

from deepcs.curiosity.cells import CellMemory
from deepcs.curiosity.explorer import Explorer
from deepcs.curiosity.game import Game, Tracker
from deepcs.curiosity.games import game as find
from deepcs.curiosity.grid import Lifetime
from deepcs.curiosity.tiles import Tile
from deepcs.envs.pictures import CellFinder, Place
from deepcs.envs.protocol import protocol as find_protocol
from deepcs.envs.roms import rom_path
from deepcs.envs.screen import NOTHING, PAIR, SCRATCH, SIZE, STACK, push_frame
from deepcs.system.snapshot import (
    Snapshot,
    SnapshotError,
    all_or_nothing,
    check_same,
    check_snapshot,
)

GridInput = Literal["plane", "stacked", "none"]
GRID_INPUTS: tuple[GridInput, ...] = get_args(GridInput)

FRAME_SKIP = 4  # raw frames per agent step
SNAPSHOT_KEYS = (
    *("settings", "emulator", "emulator_crc", "screen", "observation", "explorer", "tracker"),
    *("last_action", "frames", "lives", "score", "over", "generator"),
)

ALEInterface.setLoggerMode(LoggerMode.Error)


class AtariActor(gymnasium.Env[np.ndarray, np.int64]):
    """One Atari game with its curiosity grid.

    Observation: uint8 (5, 84, 84), four grey frames, newest last, then the plane of the current
    room; (8, 84, 84) with `grid="stacked"`, (4, 84, 84) with `grid="none"`. The reward is the
    game's own, unclipped; the intrinsic reward is in the info.
    """

    metadata = {"render_modes": ["rgb_array"], "render_fps": 15}  # noqa: RUF012

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
        if grid not in GRID_INPUTS:
            raise ValueError(f"Got grid {grid!r}; choose one of {', '.join(GRID_INPUTS)}.")
        if max_frames is not None and max_frames < 1:
            raise ValueError(f"Got max_frames {max_frames}; give a number of frames from 1 up.")
        if render_mode not in (None, "rgb_array"):
            raise ValueError(f"Got render_mode {render_mode!r}; choose None or 'rgb_array'.")
        self.game = game if isinstance(game, Game) else find(game)
        self.protocol = find_protocol(protocol)
        self.max_frames = self.protocol.max_frames if max_frames is None else max_frames
        self.grid_input = grid
        self.render_mode = render_mode
        self.finder = None if place == "position" else CellFinder(place, (SIZE, SIZE))
        self.frame_shape = (SIZE, SIZE) if frames else None
        self.explorer = Explorer(
            self.game.grid(tile, lifetime, half_life=half_life),
            graded=graded,
            window=self.game.window,
            cells=None
            if self.finder is None
            else CellMemory(lifetime=lifetime, half_life=half_life),
        )
        self.tracker = Tracker(self.game)

        self.ale = ALEInterface()
        # The same sticky actions by our own generator: an ALEState omits the last action.
        self.ale.setFloat("repeat_action_probability", 0.0)
        self.ale.setInt("random_seed", 0)
        self.ale.setInt("max_num_frames_per_episode", 0)
        self.ale.loadROM(rom_path(self.game.name))
        if self.ale.getScreenDims() != PAIR[1:]:
            raise ValueError(
                f"Got {self.game.name}, whose screen is {self.ale.getScreenDims()[0]} rows high "
                f"where frames are made of {PAIR[1]}; wrap Gymnasium's environment of it with "
                "deepcs.CuriosityWrapper instead."
            )
        # The emulator takes some 65 frames to reset, always the same: keep where they lead.
        self.ale.reset_game()
        self._opening = self.ale.cloneState()
        self._opening_screen: np.ndarray = self.ale.getScreenRGB()
        self._opening_colours: np.ndarray = self.ale.getScreen()
        minimal = self.ale.getMinimalActionSet()
        actions = self.ale.getLegalActionSet() if self.protocol.full_actions else minimal
        self.actions: tuple[int, ...] = tuple(action.value for action in actions)
        self._start_actions: tuple[int, ...] = ()
        if self.protocol.fire and Action.FIRE in minimal:
            self._start_actions = Action.FIRE.value, self.actions[2]

        planes = {"none": STACK, "plane": STACK + 1, "stacked": 2 * STACK}[grid]
        self.action_space = gymnasium.spaces.Discrete(len(self.actions))
        self.observation_space = gymnasium.spaces.Box(0, 255, (planes, SIZE, SIZE), np.uint8)
        self._observation = np.zeros((planes, SIZE, SIZE), np.uint8)
        self._shared: np.ndarray | None = None  # where screens are left for others to draw
        self._pair_shown = np.full(PAIR, NOTHING, np.uint8)  # by the newest frame
        self._plane_shown: np.ndarray | None = None
        self._attached = False
        self._ram = np.zeros(128, np.uint8)
        self._restored_screen: np.ndarray | None = None  # the emulator's is stale till it plays
        self.games_started = 0
        self._over = True
        self._last_action = 0
        self._frames = 0
        self._lives = 0
        self._score = 0.0

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[np.ndarray, dict[str, Any]]:
        """Start a new game: no-ops, FIRE and action 2 by protocol, then the start tile."""
        super().reset(seed=seed)
        self._begin()
        if self.protocol.noops:
            for _ in range(int(self.np_random.integers(1, self.protocol.noops + 1))):
                self._frame(0)
                if self.ale.game_over():
                    self._begin()
        if self._frames:
            self._see_last()
        for action in self._start_actions:
            self._press(action)
            if self.ale.game_over():
                self._begin()
        self._score = 0.0
        self._over = False
        self.tracker.reset()
        ram = self._read_ram()
        self._lives = self._read_lives(ram)
        position = self.tracker.track(self.game.locate(ram))
        self._clear_stack()
        self._see()
        if self.finder is not None:
            self.finder.start_game()
        self.explorer.start_game(position, self._cell())
        self._show_plane()
        return self._shown(), self._info(0.0, False)

    def step(self, action: np.int64 | int) -> tuple[np.ndarray, float, bool, bool, dict[str, Any]]:
        """Hold the action for 4 raw frames (fewer if the game ends).

        The info's `game_reward` is all points made; the reward lacks those of the steps that the
        protocol adds after a lost life, which are not the agent's doing.
        """
        if self._over:
            raise gymnasium.error.ResetNeeded("The game is over or has not begun; call reset().")
        if not 0 <= action < len(self.actions):
            raise ValueError(f"Got action {action}; choose one from 0 to {len(self.actions) - 1}.")
        reward = self._press(self.actions[action])
        terminated = self.ale.game_over()
        ram = self._read_ram()
        lives = self._read_lives(ram)
        life_lost = 0 < lives < self._lives
        self._lives = lives
        if self.needs_frame:
            self._see()
        self._explore(ram, terminated)
        points = reward
        if life_lost:
            self.explorer.lose_life()
            if self.protocol.restart_after_life and not terminated:
                points += self._restart()
                terminated = self.ale.game_over()
        self._score += points
        truncated = not terminated and self._frames >= self.max_frames
        self._over = terminated or truncated
        if not self.needs_frame and (self._shared is None or self._over):
            self._see()
        self._show_plane()
        info = self._info(points, life_lost)
        if self._over:
            info["rooms_visited"] = self.explorer.rooms
        return self._shown(), reward, terminated, truncated, info

    def attach(self, observation: np.ndarray) -> None:
        """Keep the observation in this array from now on; steps return the array itself."""
        observation[:] = self._observation
        self._observation = observation
        self._attached = True

    def leave_frames(self, screens: np.ndarray) -> None:
        """Draw only the first and the last frame of a game.

        After any other step the newest frame is missing until someone calls `push_frame` with the
        observation and these screens, uint8 (2, 2, 210, 160): the newest pair, and that which the
        newest frame shows.
        """
        screens[:] = NOTHING
        self._shared, self._pair_shown = screens, screens[1]

    @property
    def _pair(self) -> np.ndarray:
        """Where the last two screens are kept until they are drawn."""
        return SCRATCH.pair if self._shared is None else self._shared[0]

    def _shown(self) -> np.ndarray:
        return self._observation if self._attached else self._observation.copy()

    def render(self) -> np.ndarray:
        """The screen in colour: uint8 (210, 160, 3)."""
        if self._restored_screen is not None:
            return self._restored_screen.copy()
        screen: np.ndarray = self.ale.getScreenRGB()
        return screen

    def _begin(self) -> None:
        """Back to the first frame of a game."""
        self.games_started += 1
        self.ale.restoreState(self._opening)
        self._restored_screen = self._opening_screen
        self._pair[:] = self._opening_colours
        self._last_action = 0
        self._frames = 0

    def _frame(self, action: int) -> int:
        """One raw frame; the last action may stick."""
        if self.protocol.sticky and self.np_random.random() < self.protocol.sticky:
            action = self._last_action
        self._last_action = action
        self._frames += 1
        self._restored_screen = None
        reward: int = self.ale.act(action)
        return reward

    def _press(self, action: int) -> float:
        """Hold an action for 4 raw frames; keeps the last two screens."""
        reward = 0
        pair = self._pair
        for frame in range(FRAME_SKIP):
            reward += self._frame(action)
            if frame == FRAME_SKIP - 2:
                self.ale.getScreen(pair[0])
            if self.ale.game_over():
                break
        if frame == FRAME_SKIP - 1:
            self.ale.getScreen(pair[1])
        else:
            self._see_last()
        return float(reward)

    def _restart(self) -> float:
        """Go on after a lost life as Baselines starts an episode; returns the points made.

        Positions are not visited, as they are not at a game's start; the tracker follows them, so
        that no change of room escapes it.
        """
        points = 0.0
        for action in (Action.NOOP.value, *self._start_actions):
            points += self._press(action)
            ram = self._read_ram()
            self._lives = self._read_lives(ram)
            self.tracker.track(self.game.locate(ram))
            if self.ale.game_over():
                break
        self._clear_stack()
        if self.needs_frame:
            self._see()
        return points

    def _see_last(self) -> None:
        """Keep only the last screen, twice."""
        pair = self._pair
        self.ale.getScreen(pair[1])
        pair[0] = pair[1]

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
        newest: np.ndarray = self._observation[STACK - 1]
        return newest

    def _cell(self) -> int | None:
        return None if self.finder is None else self.finder.find(self.frame)

    def take_code(self, code: np.ndarray) -> None:
        """Tell cells by this learned code from the next game on."""
        assert self.finder is not None
        self.finder.take_code(code)

    def _clear_stack(self) -> None:
        self._observation[:] = 0
        self._pair_shown[:] = NOTHING
        self._plane_shown = None

    def _see(self) -> None:
        """Push the frame of the newest screens into the stack."""
        push_frame(self._observation, self._pair, self._pair_shown)

    def _show_plane(self) -> None:
        stack = self._observation
        if self.grid_input == "stacked":
            stack[STACK:-1] = stack[STACK + 1 :]
        if self.grid_input != "none" and self.explorer.plane is not self._plane_shown:
            stack[-1] = self._plane_shown = self.explorer.plane

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
        emulator = self.ale.cloneState(include_rng=True).serialize()
        return {
            "kind": f"actor of {self.game.name}",
            "settings": self._settings(),
            "emulator": np.frombuffer(emulator, np.uint8).copy(),
            "emulator_crc": zlib.crc32(emulator),
            "screen": self.render(),
            "observation": self._observation.copy(),
            "explorer": self.explorer.snapshot(),
            "tracker": self.tracker.snapshot(),
            **({} if self.finder is None else {"finder": self.finder.snapshot()}),
            "last_action": self._last_action,
            "frames": self._frames,
            "lives": self._lives,
            "score": self._score,
            "over": self._over,
            "generator": self.np_random.bit_generator.state,
        }

    def _settings(self) -> Snapshot:
        return {
            "protocol": self.protocol.name,
            "grid": self.grid_input,
            "max_frames": self.max_frames,
        }

    @all_or_nothing
    def restore(self, snapshot: Snapshot) -> None:
        """Return to the state that snapshot() saved, in an actor of the same settings."""
        saved = check_snapshot(snapshot, f"actor of {self.game.name}", SNAPSHOT_KEYS)
        check_same(saved["settings"], self._settings(), "actor")
        emulator = np.asarray(saved["emulator"], np.uint8).tobytes()
        if zlib.crc32(emulator) != saved["emulator_crc"]:
            raise SnapshotError(
                f"The snapshot's emulator state ({len(emulator)} bytes) is damaged or truncated; "
                "use one that was saved whole."
            )
        shapes = {
            "observation": self._observation.shape,
            "screen": self._opening_screen.shape,
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
        self.ale.restoreState(ALEState(emulator))
        self._restored_screen = np.asarray(saved["screen"], np.uint8)
        self._observation[:] = saved["observation"]
        self._pair_shown[:] = NOTHING
        self._last_action = int(saved["last_action"])
        self._frames = int(saved["frames"])
        self._lives = int(saved["lives"])
        self._score = float(saved["score"])
        self._over = bool(saved["over"])
        self.np_random.bit_generator.state = saved["generator"]
