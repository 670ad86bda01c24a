"""Videos of games: an agent plays, an MP4 shows the game, the curiosity grid and the score."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from deepcs.curiosity.explorer import Explorer
from deepcs.curiosity.grid import CuriosityGrid
from deepcs.envs.roms import atari_game
from deepcs.envs.seats import Env
from deepcs.film.filmed import make_filmed
from deepcs.film.mp4 import Mp4
from deepcs.film.overlay import draw_grid_over
from deepcs.film.panels import Composition, Number, Scene, enlarge_game
from deepcs.runs.evaluate import PlayedGame, play_games
from deepcs.runs.numbering import EVALUATION_SEED
from deepcs.runs.progress import PLAIN_SECONDS, Display, Silence, Status
from deepcs.runs.trained import TrainedAgent
from deepcs.system import limits
from deepcs.system.limits import check_whole

FPS = 15  # real time: 60 raw frames a second, 4 to a step
FASTEST = 1_000  # frames a second
MAX_STEPS = 4_500  # five minutes


@dataclass(frozen=True)
class Recording:
    """A game that was recorded."""

    path: Path
    score: float
    """the game's own rewards, unclipped, summed"""
    intrinsic: float
    """intrinsic rewards, summed, whether or not the agent was trained on them"""
    tiles: int
    """tiles touched in the game, over all its lives"""
    rooms: int
    """rooms visited in it"""
    steps: int
    """agent steps; the video has a frame more, the start"""
    game: int
    """its number among the seed's games, as in an evaluation"""


@dataclass
class Tally:
    """A game so far."""

    score: float = 0.0
    intrinsic: float = 0.0
    tiles: int = 0
    rooms: int = 0
    steps: int = 0

    def look(self, info: dict[str, Any]) -> None:
        self.tiles, self.rooms = info.get("tiles", 0), info.get("rooms", 0)

    def add(self, reward: float, info: dict[str, Any]) -> None:
        self.score += float(info.get("game_reward", reward))
        self.intrinsic += info.get("intrinsic", 0.0)
        self.steps += 1
        self.look(info)

    def status(self, total: int, seconds: float) -> Status:
        """How far it is; total: steps of the whole game, seconds: since its start."""
        rate = self.steps / max(seconds, 1e-9)
        numbers = (self.score, self.score, self.intrinsic, self.tiles, self.rooms)
        return Status(self.steps, total, rate, *numbers)


def record(
    agent: TrainedAgent,
    path: Path | str,
    *,
    seed: int = EVALUATION_SEED,
    game: int = 0,
    best_of: int = 1,
    greedy: bool = False,
    max_steps: int | None = MAX_STEPS,
    fps: int = FPS,
    workers: int | None = 0,
    display: Display | None = None,
) -> Recording:
    """Play games with the agent and write the best one to an MP4 file.

    The games are those that `evaluate` plays with the same seed, from number `game` on; the best
    has the highest score and, of equals, the most tiles. greedy: take the likeliest action
    instead of drawing from the policy. max_steps: after which a game is truncated; None:
    never. workers: processes that play; None: one per core, 0: this one. display: shows how far
    it is. An existing file is replaced once the new one is complete.
    """
    check_whole("best_of {}", best_of, 1, limits.GAMES)
    check_whole("fps {}", fps, 1, FASTEST)
    if max_steps is not None:
        check_whole("max_steps {}", max_steps, 1, limits.FRAMES)
    check_whole("game {}", game, 0, limits.GAME_NUMBER)
    check_whole("seed {}", seed, 0, limits.SEED)
    path = Path(path)
    display = display or Silence()
    with _written_beside(path) as beside:
        display.say("Playing the game ..." if best_of == 1 else f"Playing {best_of} games ...")
        played = play_games(
            agent,
            range(game, game + best_of),
            seed=seed,
            greedy=greedy,
            max_steps=max_steps,
            workers=workers,
            tell=_telling(display),
        )
        best = max(played, key=lambda game: (game.score, game.tiles))
        display.say(f"Filming game {best.number} ...")
        tally = _film(agent, best, beside, fps, display)
    return Recording(path, game=best.number, **vars(tally))


def _telling(display: Display) -> Callable[[int], None]:
    """Says now and then how many steps were played: nobody knows how long a game will be."""
    due = time.monotonic() + PLAIN_SECONDS

    def tell(steps: int) -> None:
        nonlocal due
        if time.monotonic() >= due:
            due = time.monotonic() + PLAIN_SECONDS
            display.say(f"{steps:,} steps played")

    return tell


@contextmanager
def _written_beside(path: Path) -> Iterator[Path]:
    """A staging file, which is renamed to `path` at the end; opened before any work is done."""
    if path.suffix.lower() != ".mp4" or path.is_dir():
        raise ValueError(f"Got {path} to record to; give the name of a file that ends in .mp4.")
    beside = path.with_name(f".{path.name}.new")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        beside.touch()
        try:
            yield beside
            beside.replace(path)
        finally:
            beside.unlink(missing_ok=True)
    except OSError as error:
        raise ValueError(
            f"{path} cannot be written ({error.strerror or error}); "
            "give a file in a folder of yours with room on its disk."
        ) from error


def make_world(agent: TrainedAgent) -> Env:
    """One actor with the agent's settings that can be rendered; its grid starts empty."""
    return agent.teach(make_filmed(agent.config.world, agent.config.actor_settings()))


class Camera:
    """Makes frames of one agent's world."""

    def __init__(self, agent: TrainedAgent, env: Env, info: dict[str, Any]) -> None:
        """`info`: of the game's start."""
        config = agent.config
        self._env = env
        self._game = atari_game(config.world)
        self._explorer: Explorer | None = None
        if env.has_wrapper_attr("explorer"):
            self._explorer = env.get_wrapper_attr("explorer")
        shown = not env.has_wrapper_attr("grid") or env.get_wrapper_attr("grid")
        self._sees_grid = config.treatment_settings.sees_grid and bool(shown)
        self._has_lives = bool(info.get("lives"))
        self._composition = Composition(
            config.world,
            f"{config.treatment} · trained for {agent.step:,} steps",
            self._look(Tally(), info),
            room_map=config.world == "MontezumaRevenge",
        )
        self.size = self._composition.size

    def shoot(self, tally: Tally, info: dict[str, Any]) -> np.ndarray:
        """The frame of this moment: uint8 (height, width, 3)."""
        return self._composition.draw(self._look(tally, info))

    def _look(self, tally: Tally, info: dict[str, Any]) -> Scene:
        try:
            picture = self._env.render()
        except NotImplementedError:  # what Gymnasium's own render() raises
            picture = None
        if not isinstance(picture, np.ndarray) or picture.ndim != 3:
            raise ValueError(
                f"{type(self._env.unwrapped).__name__} shows no picture; let its factory take "
                "render_mode and its render() return uint8 (height, width, 3) for rgb_array."
            )
        picture = enlarge_game(picture)
        explorer = self._explorer
        numbers: list[Number] = [
            ("score", _plain(tally.score)),
            ("intrinsic", _plain(tally.intrinsic)),
            ("tiles", f"{tally.tiles:,}"),
            ("rooms", f"{tally.rooms:,}"),
            ("step", f"{tally.steps:,}"),
        ]
        if self._has_lives:
            numbers.insert(4, ("lives", str(info["lives"])))
        if explorer is None:
            return Scene(picture, None, numbers)
        grid, player = explorer.grid, explorer.position
        if self._game is not None and isinstance(grid, CuriosityGrid) and player is not None:
            draw_grid_over(picture, self._game, grid, player)
        plane = explorer.plane if self._sees_grid else None
        return Scene(picture, plane, numbers, info.get("room", ()), explorer.rooms)


def _plain(number: float) -> str:
    """A number for people: decimals only where there are any."""
    return f"{number:,.0f}" if number == round(number) else f"{number:,.2f}"


def _film(agent: TrainedAgent, game: PlayedGame, path: Path, fps: int, display: Display) -> Tally:
    """The same game again: same seed, same actions, each step a frame of the video."""
    env = make_world(agent)
    tally, began = Tally(), time.monotonic()
    try:
        _, info = env.reset(seed=game.world_seed)
        tally.look(info)
        camera = Camera(agent, env, info)
        with Mp4(path, camera.size, fps) as video:
            video.add(camera.shoot(tally, info))
            for action in game.actions:
                _, reward, terminated, truncated, info = env.step(action)
                tally.add(float(reward), info)
                video.add(camera.shoot(tally, info))
                display.show(tally.status(len(game.actions), time.monotonic() - began))
                if terminated or truncated:
                    break
    finally:
        env.close()
    return tally
