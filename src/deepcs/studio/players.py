"""Who plays: a trained agent or a person, in a world that can be rendered."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from numbers import Real
from typing import TYPE_CHECKING, Any

import cv2
import gymnasium
import numpy as np
from ale_py import Action

from deepcs.curiosity.explorer import Explorer
from deepcs.curiosity.grid import CuriosityGrid
from deepcs.envs.atari import AtariActor
from deepcs.envs.mazes import MAZES
from deepcs.envs.roms import atari_game
from deepcs.envs.seats import Env
from deepcs.film.filmed import WatchedActor, make_filmed
from deepcs.film.overlay import tile_box

if TYPE_CHECKING:
    from deepcs.runs.trained import Thoughts, TrainedAgent

MAZE_ACTIONS = ("LEFT", "RIGHT", "UP", "DOWN", "ACT")
PNG = (cv2.IMWRITE_PNG_COMPRESSION, 1)
NO_PICTURE = np.full((84, 84, 3), 48, np.uint8)  # of a world that shows none
ANY = np.random.default_rng


@dataclass
class Tally:
    """A game so far."""

    score: float = 0.0
    intrinsic: float = 0.0
    steps: int = 0
    last_reward: float = 0.0
    last_intrinsic: float = 0.0
    info: dict[str, Any] = field(default_factory=dict)

    def add(self, reward: float, info: dict[str, Any]) -> None:
        self.info = info
        self.last_reward = number_of(info.get("game_reward"), reward)
        self.last_intrinsic = number_of(info.get("intrinsic"), 0.0)
        self.score += self.last_reward
        self.intrinsic += self.last_intrinsic
        self.steps += 1


class Player(ABC):
    """A game of one world, played a step at a time."""

    def __init__(self, env: Env, world: str, sees_grid: bool) -> None:
        self.env = env
        self.world = world
        self.sees_grid = sees_grid
        self.game = atari_game(world)
        self.actions = action_names(env)
        self.explorer: Explorer | None = None
        if env.has_wrapper_attr("explorer"):
            explorer = env.get_wrapper_attr("explorer")
            self.explorer = explorer if isinstance(explorer, Explorer) else None
        self.over = True
        self.tally = Tally()
        self._has_lives = False
        self.action: Any = None
        """the action taken last: a number, or a list of them where actions are not Discrete"""

    def begin(self, world_seed: int, noise: np.random.Generator) -> None:
        """Start a game; noise: of whatever the player draws."""
        observation, info = self.env.reset(seed=world_seed)
        self.tally = Tally(info=info)
        self._has_lives = number_of(info.get("lives"), 0.0) > 0
        self.action = None
        self.over = False
        self.start(observation, noise)

    def step(self, keys: frozenset[str]) -> bool:
        """Take a step, unless the game is over or the player waits; returns whether it did."""
        action = None if self.over else self.choose(keys)
        if action is None:
            return False
        observation, reward, terminated, truncated, info = self.env.step(action)
        self.action = action.tolist()
        self.over = bool(terminated or truncated)
        self.tally.add(float(reward), info)
        if not self.over:
            self.look(observation)
        return True

    @property
    def waits(self) -> bool:
        """Whether the next step waits for a person's key."""
        return False

    @abstractmethod
    def start(self, observation: Any, noise: np.random.Generator) -> None:
        """A game began with this observation."""

    @abstractmethod
    def look(self, observation: Any) -> None:
        """The last step ended with this observation."""

    @abstractmethod
    def choose(self, keys: frozenset[str]) -> Any:
        """The next action, NumPy's; None: wait. keys: what a person holds down."""

    def thoughts(self) -> dict[str, Any]:
        """How the last action was chosen, as far as is known; at the start, how the first will."""
        return {}

    def numbers(self) -> dict[str, Any]:
        """The game's state, as JSON values; an environment's own infos may hold anything."""
        tally, explorer = self.tally, self.explorer
        return {
            "score": tally.score,
            "intrinsic": tally.intrinsic,
            "step": tally.steps,
            "R": tally.last_reward,
            "I": tally.last_intrinsic,
            "tiles": explorer.tiles if explorer else 0,
            "lives": number_of(tally.info.get("lives"), 0.0) if self._has_lives else None,
            "room": list(map(int, explorer.info()["room"])) if explorer else [],
            "rooms": [list(map(int, room)) for room in explorer.rooms] if explorer else [],
            "over": self.over,
            "action": self.action,
            "boxes": self._boxes(),
            **self.thoughts(),
        }

    def _boxes(self) -> list[list[float]]:
        """Touched tiles of this room, pixels of the picture; the player's own has a fifth, 1."""
        grid = self.explorer.grid if self.explorer else None
        player = self.explorer.position if self.explorer else None
        if self.game is None or player is None or not isinstance(grid, CuriosityGrid):
            return []
        standing = grid.tile_of(player)
        boxes = []
        for row, column in np.argwhere(grid.entries(player.room)):
            box = tile_box(self.game, grid, int(row), int(column), player.y)
            if box is not None:
                edges = [round(edge, 1) for edge in (box.left, box.top, box.right, box.bottom)]
                boxes.append([*edges, 1] if (row, column) == standing else edges)
        return boxes

    def pictures(self, wanted: int) -> list[bytes | None]:
        """That many PNGs of the last step, evenly in time; None: as the one before."""
        reel = self.env.reel if isinstance(self.env, WatchedActor) else []
        last = encode(self._render())
        if len(reel) < wanted:
            return [*[None] * (wanted - 1), last]
        early = [reel[len(reel) * k // wanted - 1] for k in range(1, wanted)]
        return [*map(encode, early), last]

    @property
    def has_reel(self) -> bool:
        """Whether a step has more than one picture."""
        return isinstance(self.env, WatchedActor)

    def _render(self) -> np.ndarray:
        try:
            picture = self.env.render()
        except NotImplementedError:  # what Gymnasium's own render() raises
            picture = None
        if isinstance(picture, np.ndarray) and picture.ndim == 3 and picture.dtype == np.uint8:
            return picture
        return NO_PICTURE

    def plane(self) -> bytes:
        """The plane as a PNG; empty: the player sees none."""
        if self.explorer is None or not self.sees_grid:
            return b""
        return encode(self.explorer.plane)


class AgentPlayer(Player):
    """A trained agent; it plays the games that `deepcs evaluate` plays, but for rounding.

    There the network's batch is always sixteen observations, which takes five times as long.
    """

    def __init__(self, agent: TrainedAgent) -> None:
        config = agent.config
        env = agent.teach(make_filmed(config.world, config.actor_settings(), WatchedActor))
        super().__init__(env, config.world, config.treatment_settings.sees_grid)
        self.agent = agent
        self.greedy = False
        self._noise = ANY(0)
        self._thoughts: Thoughts | None = None
        self._shown: Thoughts | None = None

    def start(self, observation: Any, noise: np.random.Generator) -> None:
        self.agent.forget()
        self._noise = noise
        self.look(observation)
        self._shown = self._thoughts

    def look(self, observation: Any) -> None:
        self._thoughts = self.agent.consider(batch_of_one(observation))

    def choose(self, keys: frozenset[str]) -> Any:
        assert self._thoughts is not None
        self._shown = self._thoughts
        uniforms = None if self.greedy else self._noise.random((1, *self.agent.noise_shape))
        return self._thoughts.act(uniforms)[0]

    def thoughts(self) -> dict[str, Any]:
        assert self._shown is not None
        values = np.atleast_1d(self._shown.values[0].numpy())
        told = {"values": [round(float(value), 4) for value in values]}
        if self.actions:
            told["probabilities"] = [round(float(p), 4) for p in self._shown.probabilities[0]]
        return told


class Person(Player):
    """The person at the page."""

    def __init__(self, world: str) -> None:
        super().__init__(make_filmed(world, {}, WatchedActor), world, sees_grid=True)
        self._action_of = key_actions(self.actions)
        self._may_wait = world in MAZES  # which have no no-op

    @property
    def waits(self) -> bool:
        return self._may_wait

    def start(self, observation: Any, noise: np.random.Generator) -> None:
        """A person has eyes."""

    def look(self, observation: Any) -> None:
        """The page shows it."""

    def choose(self, keys: frozenset[str]) -> Any:
        return None if self._may_wait and not keys else np.int64(self._action_of(keys))


def number_of(value: object, otherwise: float) -> float:
    """A number that an environment's info may hold, or what holds where it is none."""
    if isinstance(value, (Real, np.ndarray)):
        array = np.asarray(value)
        if array.ndim == 0 and array.dtype.kind in "biuf":
            return float(array)
    return otherwise


def batch_of_one(observation: Any) -> Any:
    if isinstance(observation, dict):
        return {name: np.asarray(part)[None] for name, part in observation.items()}
    return np.asarray(observation)[None]


def encode(picture: np.ndarray) -> bytes:
    """A PNG of uint8 (height, width, 3), red first, or (height, width)."""
    ordered = picture[..., ::-1] if picture.ndim == 3 else picture
    _, png = cv2.imencode(".png", ordered, PNG)
    return bytes(png)


def action_names(env: Env) -> list[str]:
    """What each action is called; none where they are not Discrete."""
    inner, space = env.unwrapped, env.action_space
    if isinstance(inner, AtariActor):
        return [Action(action).name for action in inner.actions]
    count = int(space.n) if isinstance(space, gymnasium.spaces.Discrete) else 0
    if type(inner) in MAZES.values():
        return list(MAZE_ACTIONS[:count])
    return [str(k) for k in range(count)]


def key_actions(names: Sequence[str]) -> Callable[[frozenset[str]], int]:
    """From keys held to the action that has most of them, a direction before fire."""
    parts = [frozenset(_parts(name)) for name in names]

    def action_of(keys: frozenset[str]) -> int:
        fitting = [k for k, part in enumerate(parts) if part <= keys]
        if not fitting:
            return 0
        return max(fitting, key=lambda k: (len(parts[k]), "fire" not in parts[k]))

    return action_of


def _parts(name: str) -> list[str]:
    """The keys that an action's name consists of: UPRIGHTFIRE is up, right and fire."""
    if name == "ACT":
        return ["fire"]
    return [key for key in ("left", "right", "up", "down", "fire") if key in name.lower()]
