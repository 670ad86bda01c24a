"""Curiosity for any Gymnasium environment.

An ALE environment of a known game needs nothing more; any other needs a function that
tells where the player stands.
"""

from __future__ import annotations

import math
import operator
from collections import Counter
from collections.abc import Callable
from typing import Any, Literal, SupportsFloat

import gymnasium
import numpy as np
from ale_py import ALEInterface
from gymnasium.spaces import Box, Dict
from gymnasium.wrappers import OrderEnforcing, PassiveEnvChecker

from deepcs.curiosity.explorer import Explorer
from deepcs.curiosity.game import Game, Tracker
from deepcs.curiosity.games import games
from deepcs.curiosity.grid import Curiosity, CuriosityGrid, Lifetime
from deepcs.curiosity.reward import Weight, check_weight, mix_rewards
from deepcs.curiosity.tiles import Bounds, Position, Tile
from deepcs.curiosity.unbounded import UnboundedGrid
from deepcs.envs.lifecycle import Emulator, Env, Lifecycle
from deepcs.system.snapshot import Snapshot, SnapshotError, all_or_nothing, check_snapshot

Locate = Callable[[Env, Any, dict[str, Any]], Position | None]
"""(wrapped environment, observation, info) -> where the player stands, None: off the board."""
Layout = Literal["HW", "HWC", "CHW"]

HOW_TO_LOCATE = (
    "pass locate=f with f(env, observation, info) -> deepcs.Position or None, and "
    "bounds=deepcs.Bounds(...) (without bounds the grid grows as needed)"
)


def image_layout(space: gymnasium.Space[Any]) -> Layout | None:
    """How an image observation is laid out; None: not an image.

    One of three dimensions is (channels, height, width) if its first is smaller than its last.
    """
    if not isinstance(space, Box) or space.dtype != np.uint8:
        return None
    if len(space.shape) == 2:
        return "HW"
    if len(space.shape) == 3:
        return "CHW" if space.shape[0] < space.shape[2] else "HWC"
    return None


def add_channel(image: np.ndarray, plane: np.ndarray, layout: Layout) -> np.ndarray:
    """The image with the plane as its last channel; HW becomes HWC."""
    if layout == "CHW":
        return np.concatenate((image, plane[None]))
    if layout == "HW":
        image = image[..., None]
    return np.concatenate((image, plane[..., None]), axis=-1)


class CuriosityWrapper(
    gymnasium.Wrapper[Any, Any, Any, Any], gymnasium.utils.RecordConstructorArgs
):
    """Rewards what is new in this life, and shows the agent where it has been.

    The plane of touched tiles becomes one more channel of a uint8 image (height, width),
    (height, width, channels) or (channels, height, width), at the image's size; a stack of grey
    frames is the last of these. Beside any other observation it is the key `grid` of a Dict,
    uint8 (1, height, width); an observation that is not a Dict is then under `observation`.

    Every info has `intrinsic`, `position`, `room`, `tiles`, `rooms`, `life_lost` and
    `game_reward`, the reward as it was received; the last one of an episode has `rooms_visited`.
    Tiles and rooms are those of the game so far, whatever the lifetime.

    Positions count once per step of the environment it wraps, so put it outside of frame
    skipping, and of what makes frames grey or clips rewards: Stable-Baselines3's AtariWrapper
    does all three (inside it, pass grid=False here and clip_reward=False there).

    Episodes that end with each life do not disturb it, inside or outside: a game starts when the
    emulator says so. A reset() that does not start a game pays nothing, and what it reached is
    paid by the next step. Where there is no emulator, each reset() starts a game.

    >>> env = CuriosityWrapper(gymnasium.make("ALE/MontezumaRevenge-v5"))
    >>> observation, info = env.reset()
    >>> observation.shape, info["room"], info["tiles"]
    ((210, 160, 4), (1,), 1)
    """

    def __init__(
        self,
        env: Env,
        *,
        locate: Locate | None = None,
        bounds: Bounds | None = None,
        y_up: bool = False,
        clamp: bool = True,
        tile: int | None = None,
        lifetime: Lifetime = "game",
        graded: bool = False,
        mix: bool = True,
        weight: Weight | None = None,
        grid: bool = True,
        shape: tuple[int, int] = (84, 84),
    ) -> None:
        """Wrap the environment.

        locate, bounds, y_up: where the player stands, in whole units of your own; the rectangle
        they cover (None: any), and whether y grows upward. A known game brings its own.
        clamp: pull positions outside the bounds to the edge, instead of refusing them.
        tile: in those units (None: the game's, else 1). lifetime: when tiles become new again:
        `game`, `life` or `never`. graded: I is 1/√n at the n-th entry. mix: return the game's
        reward mixed with the intrinsic one, instead of the game's alone. weight: the game's share
        in it, or `equal` (None: the game's, else `equal`). grid: show the plane. shape: its size
        in a Dict.
        """
        gymnasium.utils.RecordConstructorArgs.__init__(
            self,
            locate=locate,
            bounds=bounds,
            y_up=y_up,
            clamp=clamp,
            tile=tile,
            lifetime=lifetime,
            graded=graded,
            mix=mix,
            weight=weight,
            grid=grid,
            shape=shape,
        )
        super().__init__(env)
        if bounds is not None and not isinstance(bounds, Bounds):
            raise ValueError(f"Got bounds {bounds!r}; give deepcs.Bounds(x, y, width, height).")
        self.locate = locate
        self.mix = mix
        self.grid = grid
        self._moved = False  # a step was made since the game started
        self._lifecycle = Lifecycle()
        ale = getattr(env.unwrapped, "ale", None)
        if isinstance(ale, ALEInterface):
            self._lifecycle = Emulator(env, ale)
        self.game = None if locate is not None else self._known_game(bounds, y_up)
        self.tracker = None if self.game is None else Tracker(self.game)
        if weight is None:
            weight = "equal" if self.game is None else self.game.weight
        self.weight = check_weight(weight)

        if len(shape) != 2 or min(shape) < 1:
            raise ValueError(f"Got shape {shape}; give the plane's height and width in pixels.")
        self._layout = image_layout(env.observation_space)
        if self._layout is not None:
            image = env.observation_space.shape or ()
            height, width = image[-2:] if self._layout == "CHW" else image[:2]
            shape = height, width
        touched: Curiosity
        if self.game is not None:
            touched = self.game.grid(tile, lifetime, clamp=clamp)
        else:
            tile = 1 if tile is None else tile
            touched = (
                UnboundedGrid(tile, lifetime=lifetime, y_up=y_up)
                if bounds is None
                else CuriosityGrid(bounds, tile, lifetime=lifetime, y_up=y_up, clamp=clamp)
            )
        window = None if self.game is None else self.game.window
        self.explorer = Explorer(touched, graded=graded, shape=shape, window=window)
        if grid:
            self.observation_space = self._shown_space(env.observation_space)

    def _known_game(self, bounds: Bounds | None, y_up: bool) -> Game:
        """The game whose facts tell where the player stands."""
        if not isinstance(self._lifecycle, Emulator):
            raise ValueError(
                f"Got {type(self.env.unwrapped).__name__}, which is not an ALE environment, "
                f"without locate; {HOW_TO_LOCATE}."
            )
        game = self._lifecycle.game
        if game is None:
            raise ValueError(
                f"Got the ALE game {self._lifecycle.name!r}, which is not one of the known ones "
                f"({', '.join(games())}), without locate; add it with deepcs.register_game, or "
                f"{HOW_TO_LOCATE}."
            )
        if bounds is not None or y_up:
            raise ValueError(
                f"Got bounds or y_up without locate, but {game.name} brings its own; leave them "
                "out, or pass locate too."
            )
        return game

    def _shown_space(self, space: gymnasium.Space[Any]) -> gymnasium.Space[Any]:
        """The observation space with the plane in it."""
        if self._layout is not None and isinstance(space, Box):
            dark = np.zeros(self.explorer.shape, np.uint8)
            low = add_channel(space.low, dark, self._layout)
            high = add_channel(space.high, ~dark, self._layout)
            return Box(low, high, dtype=np.uint8)
        plane = Box(0, 255, (1, *self.explorer.shape), np.uint8)
        if not isinstance(space, Dict):
            return Dict({"observation": space, "grid": plane})
        if "grid" in space.spaces:
            raise ValueError(
                "Got an environment whose observation already has a 'grid'; rename it with "
                "gymnasium.wrappers.TransformObservation, or pass grid=False."
            )
        return Dict({**space.spaces, "grid": plane})

    def _shown(self, observation: Any) -> Any:
        """The observation with the plane in it."""
        if not self.grid:
            return observation
        if self._layout is not None:
            return add_channel(np.asarray(observation), self.explorer.plane, self._layout)
        plane = self.explorer.plane[None].copy()
        if isinstance(self.env.observation_space, Dict):
            return {**observation, "grid": plane}
        return {"observation": observation, "grid": plane}

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Any, dict[str, Any]]:
        """Reset the wrapped environment, whether or not that starts a game."""
        observation, info = self.env.reset(seed=seed, options=options)
        started = self._lifecycle.game_started(resetting=True) or not self._moved
        life_lost = self._lifecycle.life_lost(info) and not started
        if started:
            self._start_game(observation, info)
        else:
            self._position(observation, info)
            self.explorer.step(None)
        if life_lost:
            self.explorer.lose_life()
        return self._shown(observation), self._info(info, 0.0, life_lost)

    def step(self, action: Any) -> tuple[Any, SupportsFloat, bool, bool, dict[str, Any]]:
        """Step the wrapped environment and look where the player stands."""
        observation, reward, terminated, truncated, info = self.env.step(action)
        self._moved = True
        started = self._lifecycle.game_started(resetting=False)  # as gymnasium's Autoreset does
        life_lost = self._lifecycle.life_lost(info) and not started
        if started:
            self._start_game(observation, info)
        else:
            position = self._position(observation, info)
            self.explorer.step(None if self._lifecycle.game_over(terminated) else position)
        if life_lost:
            self.explorer.lose_life()
        game_reward = float(reward)
        info = self._info(info, game_reward, life_lost)
        if terminated or truncated:
            info["rooms_visited"] = self.explorer.rooms
        if self.mix:
            intrinsic = np.asarray(self.explorer.intrinsic)
            reward = float(mix_rewards(np.asarray(game_reward), intrinsic, self.weight))
        return self._shown(observation), reward, terminated, truncated, info

    def _start_game(self, observation: Any, info: dict[str, Any]) -> None:
        self._moved = False
        if self.tracker is not None:
            self.tracker.reset()
        self.explorer.start_game(self._position(observation, info))

    def _position(self, observation: Any, info: dict[str, Any]) -> Position | None:
        """Where the player stands, if that counts; to be asked once per step."""
        if self.tracker is not None and isinstance(self._lifecycle, Emulator):
            return self.tracker.track(self.tracker.game.locate(self._lifecycle.ram()))
        assert self.locate is not None
        found = self.locate(self.env, observation, info)
        if found is None:
            return None
        if not isinstance(found, Position):
            raise TypeError(
                f"locate returned {found!r}; return a deepcs.Position(x, y, room), or None while "
                "the player is off the board."
            )
        try:
            room = tuple(operator.index(part) for part in found.room)
            return Position(math.floor(found.x), math.floor(found.y), room)
        except (TypeError, ValueError, OverflowError) as error:
            raise ValueError(
                f"locate returned {found!r}; give finite numbers x and y, and as the room a tuple "
                "of whole numbers."
            ) from error

    def _info(self, info: dict[str, Any], reward: float, life_lost: bool) -> dict[str, Any]:
        told = self.explorer.info()
        return {**info, **told, "life_lost": life_lost, "game_reward": reward}

    def take_visits(self) -> Counter[Tile]:
        """How often each tile was entered since this was last asked."""
        return self.explorer.take_visits()

    @property
    def freezable(self) -> bool:
        """Whether the wrapped environment has snapshot() and restore()."""
        layer = self._innermost_without_memory()
        return hasattr(layer, "snapshot") and hasattr(layer, "restore")

    def snapshot(self) -> Snapshot:
        """Curiosity and the wrapped environment, which must have snapshot() and restore()."""
        return {
            "kind": "curiosity wrapper",
            "env": self._freezable().snapshot(),
            "explorer": self.explorer.snapshot(),
            "tracker": None if self.tracker is None else self.tracker.snapshot(),
            "moved": self._moved,
        }

    @all_or_nothing
    def restore(self, snapshot: Snapshot) -> None:
        """Return to the state that snapshot() saved, in a wrapper of the same settings."""
        keys = ("env", "explorer", "tracker", "moved")
        saved = check_snapshot(snapshot, "curiosity wrapper", keys)
        env = self._freezable()
        self.explorer.restore(saved["explorer"])
        if self.tracker is not None:
            self.tracker.restore(saved["tracker"])
        env.restore(saved["env"])
        self._moved = bool(saved["moved"])
        self._lifecycle.game_started(resetting=False)  # the restored game, its lives: nothing new
        self._lifecycle.life_lost({})

    def _innermost_without_memory(self) -> Any:
        """The wrapped environment, without the layers of gymnasium.make that have no memory."""
        layer = self.env
        while isinstance(layer, (OrderEnforcing, PassiveEnvChecker)):
            layer = layer.env
        return layer

    def _freezable(self) -> Any:
        layer = self._innermost_without_memory()
        if not self.freezable:
            raise SnapshotError(
                f"{type(layer).__name__} has no snapshot() and restore(), so what it wraps cannot "
                "be frozen with its curiosity; add both methods, or use deepcs's own environments."
            )
        return layer
