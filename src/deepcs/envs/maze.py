"""A maze that is walked: a player on a map of letters, items to be found, and the grid."""

from __future__ import annotations

import math
from collections import Counter
from typing import Any, ClassVar

import gymnasium as gym
import numpy as np

from deepcs.curiosity.cells import CellMemory
from deepcs.curiosity.explorer import Explorer
from deepcs.curiosity.grid import CuriosityGrid, Lifetime
from deepcs.curiosity.reward import Weight, check_weight, mix_rewards
from deepcs.curiosity.tiles import Bounds, Position, Tile
from deepcs.envs.maze_map import Cell, MazeMap
from deepcs.envs.maze_rendering import Scene, draw_scene
from deepcs.envs.pictures import CellFinder, Place, grey_frame
from deepcs.system.snapshot import Snapshot, SnapshotError, all_or_nothing, check_snapshot

Observation = np.ndarray | dict[str, np.ndarray]
Look = tuple[Cell, bool, tuple[bool, ...]]  # the player's cell, halfway, items taken


class Maze(gym.Env[Observation, np.int64]):
    """A player on a `MazeMap` of one room, and items to be found; the worlds are in `mazes.py`.

    Observations are uint8 (channels, height, width) of 0 and 255: the class's `channels`, then
    the touched tiles. With the compass they are {"image": that, "compass": float32 (2,)}: the
    unit vector (right, down) to the nearest other untouched tile by walking distance, zero if
    none is left; of equally near ones the first of left, right, up, down.

    The reward R is 1 when solved. `gymnasium.make("deepcs/…")` pays it mixed with the intrinsic
    reward, clip(R + I), unless mix=False is given. Both alone, score and the like are in `info`.
    """

    metadata: dict[str, Any] = {"render_modes": ["rgb_array"], "render_fps": 15}  # noqa: RUF012

    kind: ClassVar[str]  # of its snapshots
    layout: ClassVar[tuple[str, ...]]
    items: ClassVar[str]  # letters of the map that are taken when stepped on
    channels: ClassVar[tuple[str, ...]]  # the player's first
    actions: ClassVar[int]
    time_limit: ClassVar[int]  # steps

    def __init__(
        self,
        *,
        grid: bool = True,
        lifetime: Lifetime = "game",
        graded: bool = False,
        compass: bool = False,
        tile: int = 1,
        max_steps: int | None = None,
        mix: bool = False,
        weight: Weight = "equal",
        place: Place = "position",
        half_life: float | None = None,
        frames: bool = False,
        render_mode: str | None = None,
    ) -> None:
        """`grid`: show the touched tiles. `graded`: pay re-entries 1/√n. `tile`: cells across.

        `lifetime`: when tiles become new again (there are no lives: `life` is `game`).
        `compass`: show the way to the nearest untouched tile. `max_steps`: then the game is
        truncated; None: the class's `time_limit`. `mix`, `weight`: pay R and I mixed, as in
        mix_rewards, instead of R alone. `place`, `half_life`, `frames`: as in AtariActor; a frame
        is the mean of the class's channels.
        """
        if render_mode not in (None, "rgb_array"):
            raise ValueError(f"Got render_mode {render_mode!r}; choose None or 'rgb_array'.")
        if max_steps is not None and max_steps < 1:
            raise ValueError(f"Got max_steps {max_steps}; give a number of steps from 1 up.")
        self.grid = grid
        self.compass = compass
        self.mix, self.weight = mix, check_weight(weight)
        self.max_steps = self.time_limit if max_steps is None else max_steps
        self.render_mode = render_mode
        self.map = MazeMap(self.layout)
        shape = self.map.height, self.map.width
        self.finder = None if place == "position" else CellFinder(place, shape)
        self.frame_shape = shape if frames else None
        memory: dict[str, Any] = {"lifetime": lifetime, "half_life": half_life}
        self.explorer = Explorer(
            CuriosityGrid(Bounds(0, 0, shape[1], shape[0]), tile, **memory),
            graded=graded,
            shape=shape,
            cells=None if self.finder is None else CellMemory(**memory),
        )
        cells = self.map.letters
        self._items = tuple(self.map.places[item] for item in self.items)
        self._item_at = {cell: i for i, cell in enumerate(self._items)}
        self._positions = {(y, x): Position(x, y) for y, x in cells}
        self._moves = self.map.moves(self.actions)
        self._nearest = {cell: [*self.map.by_distance(cell)][1:] for cell in cells if compass}
        self._shape = len(self.channels) + grid, *shape
        self._pictures: dict[Look, np.ndarray] = {}
        self._frames: dict[Look, np.ndarray] = {}

        self.action_space = gym.spaces.Discrete(self.actions)
        image = gym.spaces.Box(0, 255, self._shape, np.uint8)
        self.observation_space: gym.Space[Any] = image
        if compass:
            self.observation_space = gym.spaces.Dict(
                {"image": image, "compass": gym.spaces.Box(-1, 1, (2,), np.float32)}
            )
        self._begin()
        self._over = True

    def _begin(self) -> None:
        self._cell: Cell = self.map.start
        self._halfway = False
        self._taken = (False,) * len(self._items)
        self._steps = 0
        self._score = 0.0
        self._over = False

    def _solved(self) -> bool:
        raise NotImplementedError

    def _paint(self, image: np.ndarray) -> None:
        """Draw all but the player into the channels, which are 0."""
        raise NotImplementedError

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Observation, dict[str, Any]]:
        """Start a game; every game starts alike."""
        super().reset(seed=seed)
        self._begin()
        if self.finder is not None:
            self.finder.start_game()
        self.explorer.start_game(self._positions[self._cell], self._place())
        return self._observe(), self._info(0.0)

    def step(self, action: np.int64 | int) -> tuple[Observation, float, bool, bool, dict[str, Any]]:
        """Take one of the directions LEFT, RIGHT, UP, DOWN, or ACT where there is one."""
        if self._over:
            raise gym.error.ResetNeeded("The game is over or has not begun; call reset() first.")
        if not 0 <= action < self.actions:
            raise ValueError(f"Got action {action}; choose one from 0 to {self.actions - 1}.")
        self._cell, self._halfway = self._moves[self._cell, self._halfway][action]
        item = self._item_at.get(self._cell)
        if item is not None:
            self._taken = (*self._taken[:item], True, *self._taken[item + 1 :])
        self._steps += 1
        solved = self._solved()
        truncated = not solved and self._steps >= self.max_steps
        self._over = solved or truncated
        reward = float(solved)
        self._score += reward
        if solved:
            self.explorer.step(None)
        else:
            self.explorer.step(self._positions[self._cell], self._place())
        info = self._info(reward)
        if self.mix:
            rewards = np.asarray(reward), np.asarray(info["intrinsic"])
            reward = float(mix_rewards(*rewards, self.weight))
        return self._observe(), reward, solved, truncated, info

    def _info(self, game_reward: float) -> dict[str, Any]:
        info = self.explorer.info()
        info["game_reward"] = game_reward
        info["life_lost"] = False
        info["score"] = self._score
        if self._over:
            info["rooms_visited"] = self.explorer.rooms
        if self.frame_shape is not None:
            info["frame"] = self.frame
        return info

    @property
    def _look(self) -> Look:
        return self._cell, self._halfway, self._taken

    @property
    def frame(self) -> np.ndarray:
        """The mean of the channels, without touched tiles: uint8 (height, width)."""
        frame = self._frames.get(self._look)
        if frame is None:
            channels = self._picture()[: len(self.channels)]
            frame = self._frames[self._look] = grey_frame(channels, "CHW")
        return frame

    def _place(self) -> int | None:
        return None if self.finder is None else self.finder.find(self.frame)

    def take_code(self, code: np.ndarray) -> None:
        """Tell cells by this learned code from the next game on."""
        assert self.finder is not None
        self.finder.take_code(code)

    def _picture(self) -> np.ndarray:
        picture = self._pictures.get(self._look)
        if picture is None:
            picture = self._pictures[self._look] = self._draw()
        return picture

    def _observe(self) -> Observation:
        image = self._picture().copy()
        if self.grid:
            image[-1] = self.explorer.plane
        if self.compass:
            return {"image": image, "compass": self._point()}
        return image

    def _draw(self) -> np.ndarray:
        """The observation without the touched tiles; there are few, so they are kept."""
        image = np.zeros(self._shape, np.uint8)
        image[(0, *self._cell)] = 255
        self._paint(image)
        return image

    def _point(self) -> np.ndarray:
        plane = self._touched()
        for cell in self._nearest[self._cell]:
            if not plane[cell]:
                right, down = cell[1] - self._cell[1], cell[0] - self._cell[0]
                away = math.hypot(right, down)
                return np.array((right / away, down / away), np.float32)
        return np.zeros(2, np.float32)

    def _touched(self) -> np.ndarray:
        """The map, also where cells are shown instead."""
        explorer = self.explorer
        return explorer.plane if self.finder is None else explorer.grid.plane((), explorer.shape)

    def take_visits(self) -> Counter[Tile]:
        """How often each tile was entered since this was last asked."""
        return self.explorer.take_visits()

    def snapshot(self) -> Snapshot:
        """The game, the grid and the random state, exactly."""
        return {
            "kind": self.kind,
            "explorer": self.explorer.snapshot(),
            "cell": list(self._cell),
            "halfway": self._halfway,
            "taken": list(self._taken),
            "steps": self._steps,
            "score": self._score,
            "over": self._over,
            **({} if self.finder is None else {"finder": self.finder.snapshot()}),
            "random": self.np_random.bit_generator.state,
        }

    @all_or_nothing
    def restore(self, snapshot: Snapshot) -> None:
        """Return to the state that snapshot() saved, in a maze of the same settings."""
        keys = ("explorer", "cell", "halfway", "taken", "steps", "score", "over", "random")
        saved = check_snapshot(snapshot, self.kind, keys)
        row, column = saved["cell"]
        if (row, column) not in self.map.letters or len(saved["taken"]) != len(self._items):
            raise SnapshotError(
                f"The snapshot's player stands at row {row}, column {column} and knows "
                f"{len(saved['taken'])} items, which this {self.kind} does not have; "
                "restore one that was saved by the same version."
            )
        self.explorer.restore(saved["explorer"])
        if self.finder is not None:
            self.finder.restore(saved["finder"])
        self._cell = row, column
        self._halfway = bool(saved["halfway"])
        self._taken = tuple(bool(taken) for taken in saved["taken"])
        self._steps = int(saved["steps"])
        self._score = float(saved["score"])
        self._over = bool(saved["over"])
        self.np_random.bit_generator.state = saved["random"]

    def render(self) -> np.ndarray | None:
        """A picture for people: uint8 (height, width, 3), walls all round."""
        if self.render_mode is None:
            return None
        return draw_scene(
            Scene(
                layout=self.layout,
                touched=self._touched() > 0,
                player=self._cell,
                leaning=self.map.outward(self._cell) if self._halfway else (0, 0),
                gone=tuple(
                    cell for cell, gone in zip(self._items, self._taken, strict=True) if gone
                ),
                solved=self._score > 0,
            )
        )
