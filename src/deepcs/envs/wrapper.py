"""Curiosity for any Gymnasium environment.

An ALE environment of a known game needs nothing more; any other needs a function that returns
where the player is.
"""

from __future__ import annotations

import warnings
from collections import Counter
from typing import Any, SupportsFloat

import gymnasium
import numpy as np
from ale_py import ALEInterface
from gymnasium.wrappers import OrderEnforcing, PassiveEnvChecker

from deepcs.curiosity.cells import CellMemory
from deepcs.curiosity.explorer import Explorer
from deepcs.curiosity.game import Game, Tracker
from deepcs.curiosity.games import games
from deepcs.curiosity.grid import Curiosity, CuriosityGrid, Lifetime
from deepcs.curiosity.hiding import MixWatch, hidden
from deepcs.curiosity.reward import UNCLIPPED, Weight, check_mix, check_weight, mix_rewards
from deepcs.curiosity.tiles import Bounds, Position, Tile, TileSize, check_tile
from deepcs.curiosity.unbounded import UnboundedGrid
from deepcs.envs.layout import Layout, known_layouts
from deepcs.envs.lifecycle import EmulatorLifecycle, Env, Lifecycle
from deepcs.envs.locating import HOW_TO_LOCATE, Locate, Locator
from deepcs.envs.pictures import CellFinder, Place
from deepcs.envs.seeing import Sight
from deepcs.envs.showing import GridShown, Showing
from deepcs.system.snapshot import Snapshot, SnapshotError, all_or_nothing, check_snapshot
from deepcs.system.warning import DeepcsWarning


class CuriosityWrapper(
    gymnasium.Wrapper[Any, Any, Any, Any], gymnasium.utils.RecordConstructorArgs
):
    """Rewards what is new in this lifetime, and shows the agent where it has been.

    The plane of touched tiles becomes one more channel of a uint8 image (height, width),
    (height, width, channels) or (channels, height, width), at the image's size; a stack of grey
    frames is the last of these. With any other observation it is the key `grid` of a Dict,
    uint8 (1, height, width); an observation that is not a Dict is then the key `observation`.

    The reward is R and I mixed; with mix=False it is R, as received. By weight the mix is R + c·I
    (`sum:c`), clip(clip(R) + I) (`equal`) or β·clip(R) + (1 − β)·I (a number β); clip is to
    [−1, 1]. The default is the game's own in a known game, `equal` in other ALE games, and `sum:1`,
    which is R + I, elsewhere. `deepcs train` reads R and I separately and mixes them itself, by
    this weight unless --weight is given; `mix` has no effect there.

    Every info has `intrinsic`, `position`, `room`, `tiles`, `rooms`, `life_lost` and
    `game_reward`, the reward as it was received; the last one of an episode has `rooms_visited`.
    Tiles and rooms are those of the game so far, whatever the lifetime.

    Positions count once per step of the wrapped environment, so put this outside wrappers that skip
    frames, make them grey or clip rewards: Stable-Baselines3's AtariWrapper does all three
    (inside it, pass grid=False here and clip_reward=False there).

    Wrappers that end an episode with each life may be inside or outside: a game starts when the
    emulator says so. A reset() that does not start a game pays nothing; a tile that it reached is
    paid by the next step. Without the emulator, each reset() starts a game.

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
        tile: TileSize | None = None,
        lifetime: Lifetime = "game",
        graded: bool = False,
        mix: bool = True,
        weight: Weight | None = None,
        grid: GridShown = True,
        shape: tuple[int, int] = (84, 84),
        layout: Layout | None = None,
        place: Place = "position",
        half_life: float | None = None,
        frames: bool = False,
    ) -> None:
        """Wrap the environment.

        locate, bounds, y_up: where the player is, in your units, whole or not; the rectangle of
        positions (None: any), and whether y grows upward. A known game brings its own.
        clamp: move positions outside the bounds to the edge, instead of refusing them.
        tile: in those units, one number or (x, y) (None: the game's, else 1). locate may return
        plain numbers (x, y, z, …) instead of a Position: z and those after it are tiled too, by
        tile=(x, y, z, …), and become the room. lifetime: when tiles become new again: `game`,
        `life` or `never`. graded: I is 1/√n at the n-th entry. mix, weight: the reward, see above.
        grid: show the plane; `beside`: in a Dict beside the observation, also if that is an image.
        shape: its size in a Dict. layout: of an image, `HWC`, `CHW` or `HW` (None: recognised).
        place: `position`; `pixels` or deepcs.Pixels(width, height, levels), for any image: frames
        that are equal when shrunk are one cell; or a function of the grey frame that returns
        the cell's key. half_life: steps after which an entry counts half (None: always whole);
        treatment `fading` is 100 and lifetime `never`. frames: put the grey frame into the info, as
        `frame`; with it and grid=False, positions may be unknown: I is 0, and infos have no `cell`.
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
            layout=layout,
            place=place,
            half_life=half_life,
            frames=frames,
        )
        super().__init__(env)
        if bounds is not None and not isinstance(bounds, Bounds):
            raise ValueError(f"Got bounds {bounds!r}; give deepcs.Bounds(x, y, width, height).")
        self.mix = check_mix(mix)
        self.grid = grid
        self._moved = False  # a step was made since the game started
        self._lifecycle = Lifecycle()
        ale = getattr(env.unwrapped, "ale", None)
        if isinstance(ale, ALEInterface):
            self._lifecycle = EmulatorLifecycle(env, ale)
        layouts = known_layouts(env) if layout is None else {"": layout}
        seen = frames or place != "position"
        self._sight = Sight(env.observation_space, layouts) if seen else None
        self.finder: CellFinder | None = None
        if self._sight is not None and place != "position":
            self.finder = CellFinder(place, self._sight.shape)
        self.frame_shape = self._sight.shape if self._sight is not None and frames else None
        self.game = None
        needs_position = self.finder is None and not frames
        if locate is None and (needs_position or self._emulated_game() is not None):
            self.game = self._known_game(bounds, y_up)
        self.tells_cells = bool(self.finder or locate or self.game)
        """whether its infos say which tile or cell each step led to"""
        if grid and not self.tells_cells:
            raise ValueError(
                f"Got grid {grid!r} for {type(env.unwrapped).__name__}, where nothing tells where "
                "the player is, so that the plane would stay black; choose place='pixels', or "
                f"grid=False to have frames alone, or {HOW_TO_LOCATE}."
            )
        self.tracker = None if self.game is None else Tracker(self.game)
        self.weight = check_weight(self._own_weight() if weight is None else weight)
        self._watch = MixWatch(self.weight)

        self._showing = Showing(env.observation_space, grid, shape, layouts)
        self.observation_space = self._showing.space
        touched: Curiosity
        memory: dict[str, Any] = {"lifetime": lifetime, "half_life": half_life}
        self._locator: Locator | None = None
        if self.game is not None:
            touched = self.game.grid(tile, clamp=clamp, **memory)
        else:
            tile = check_tile(1 if tile is None else tile)
            touched = (
                UnboundedGrid(tile, y_up=y_up, **memory)
                if bounds is None
                else CuriosityGrid(bounds, tile, y_up=y_up, clamp=clamp, **memory)
            )
            if locate is not None:
                self._locator = Locator(locate, tile, bounds)
        self.explorer = Explorer(
            touched,
            graded=graded,
            shape=self._showing.shape,
            window=None if self.game is None else self.game.window,
            cells=None if self.finder is None else CellMemory(**memory),
        )
        if self.finder is None:
            self._showing.warn_of_crowds(touched)

    @property
    def image_layouts(self) -> dict[str, Layout]:
        """Of the images that it returns, by their names in a Dict, where that is known."""
        return self._showing.layouts

    def _own_weight(self) -> Weight:
        """The environment's default weight."""
        if self.game is not None:
            return self.game.weight
        return "equal" if isinstance(self._lifecycle, EmulatorLifecycle) else UNCLIPPED

    def _emulated_game(self) -> Game | None:
        return self._lifecycle.game if isinstance(self._lifecycle, EmulatorLifecycle) else None

    def _known_game(self, bounds: Bounds | None, y_up: bool) -> Game:
        """The game whose facts tell where the player is."""
        if not isinstance(self._lifecycle, EmulatorLifecycle):
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

    def _shown(self, observation: Any) -> Any:
        self._showing.check(observation)
        return self._showing.show(observation, self.explorer.plane) if self.grid else observation

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
        return self._shown(observation), self._info(info, 0.0, life_lost, observation)

    def step(self, action: Any) -> tuple[Any, SupportsFloat, bool, bool, dict[str, Any]]:
        """Step the wrapped environment and look where the player is."""
        observation, reward, terminated, truncated, info = self.env.step(action)
        self._moved = True
        started = self._lifecycle.game_started(resetting=False)  # as gymnasium's Autoreset does
        life_lost = self._lifecycle.life_lost(info) and not started
        if started:
            self._start_game(observation, info)
        else:
            position = self._position(observation, info)
            if self._lifecycle.position_counts():
                self.explorer.step(position, self._cell(observation))
            else:
                self.explorer.step(None)
        if life_lost:
            self.explorer.lose_life()
        game_reward = float(reward)
        info = self._info(info, game_reward, life_lost, observation)
        if terminated or truncated:
            info["rooms_visited"] = self.explorer.rooms
        if self.mix:
            reward = self._mixed(game_reward)
        return self._shown(observation), reward, terminated, truncated, info

    def _mixed(self, game_reward: float) -> float:
        game, intrinsic = np.asarray(game_reward), np.asarray(self.explorer.intrinsic)
        mixed = mix_rewards(game, intrinsic, self.weight)
        if self._watch.look(game, intrinsic, mixed):
            sentence = hidden(self.weight, [self._watch.seen])
            if sentence is not None:
                warnings.warn(sentence, DeepcsWarning, stacklevel=3)
        return float(mixed)

    def _start_game(self, observation: Any, info: dict[str, Any]) -> None:
        self._moved = False
        if self.tracker is not None:
            self.tracker.reset()
        if self.finder is not None:
            self.finder.start_game()
        self.explorer.start_game(self._position(observation, info), self._cell(observation))

    def _position(self, observation: Any, info: dict[str, Any]) -> Position | None:
        """Where the player is, if that counts; to be asked once per step."""
        if self.tracker is not None and isinstance(self._lifecycle, EmulatorLifecycle):
            return self.tracker.track(self.tracker.game.locate(self._lifecycle.ram()))
        return None if self._locator is None else self._locator.find(self.env, observation, info)

    def _cell(self, observation: Any) -> int | None:
        if self.finder is None or self._sight is None:
            return None
        return self.finder.find(self._sight.frame(observation))

    def take_code(self, code: np.ndarray) -> None:
        """Tell cells by this learned code from the next game on."""
        assert self.finder is not None
        self.finder.take_code(code)

    def _info(
        self, info: dict[str, Any], reward: float, life_lost: bool, observation: Any
    ) -> dict[str, Any]:
        told = self.explorer.info()
        if not self.tells_cells:
            del told["cell"]
        if self.frame_shape is not None and self._sight is not None:
            told["frame"] = self._sight.frame(observation)
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
            **({} if self.finder is None else {"finder": self.finder.snapshot()}),
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
        if self.finder is not None:
            self.finder.restore(saved["finder"])
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
