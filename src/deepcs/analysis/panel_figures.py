"""One game of an agent in pictures: the screen, the curiosity grid, the map of where it was."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.colors import Normalize

from deepcs.analysis.drawing import Drawing
from deepcs.analysis.groups import Group
from deepcs.analysis.map_figures import PYRAMID, draw_map, extent_of
from deepcs.analysis.paper_figures import GRID, after
from deepcs.analysis.style import WIDTH, file_name, new_figure, spaced, styled
from deepcs.analysis.tables import Cell, Column, Table, words
from deepcs.curiosity.explorer import Explorer
from deepcs.curiosity.games import find_game
from deepcs.curiosity.grid import CuriosityGrid
from deepcs.curiosity.tiles import Tile
from deepcs.envs.seats import Env
from deepcs.film.overlay import draw_grid_over
from deepcs.film.panels import enlarge_game, is_broad
from deepcs.film.record import make_world
from deepcs.runs.evaluate import PlayedGame, play_games
from deepcs.runs.logs import room_text
from deepcs.runs.trained import TrainedAgent

MAX_STEPS = 4_500  # five minutes of play
PANEL = 1.65  # inches: the height of a game's picture
MAP_SHARE = 2.25  # of that, the width of the map


@dataclass(frozen=True)
class Played:
    """A game that was played, and can be again."""

    seed: int
    actions: list[Any]
    new_tiles: list[int]
    """steps after which a tile had been touched for the first time; the start tile's is 0"""
    scores: list[float]
    """the score so far after each step, the start's first"""
    on_board: list[int]
    """steps after which the player stood on a tile"""


@dataclass(frozen=True, eq=False)
class Moment:
    """A rendered step of a game."""

    step: int
    score: float
    picture: np.ndarray
    """the game with touched tiles tinted, enlarged: uint8 (height, width, 3)"""
    plane: np.ndarray
    """the curiosity grid, as the network sees it: uint8 (height, width)"""
    touched: Counter[Tile]
    """each tile touched so far, once"""


def play(agent: TrainedAgent, numbers: Sequence[int], max_steps: int = MAX_STEPS) -> list[Played]:
    """These games of the evaluation, not rendered; each is truncated after that many steps."""
    games = play_games(agent, numbers, max_steps=max_steps, workers=0)
    return [_followed(agent, game) for game in games]


def _followed(agent: TrainedAgent, game: PlayedGame) -> Played:
    """The same game again, step by step."""
    played = Played(game.world_seed, game.actions, [], [], [])
    touched: set[Tile] = set()
    for step, (env, score) in enumerate(_steps(agent, played.seed, played.actions)):
        explorer = _explorer(env)
        here = explorer.grid.here
        played.scores.append(score)
        if explorer.position is not None:
            played.on_board.append(step)
        if here is not None and here not in touched:
            touched.add(here)
            played.new_tiles.append(step)
    return played


def look_at(agent: TrainedAgent, played: Played, steps: Sequence[int]) -> list[Moment]:
    """The same game again, and how it looks after some of its steps."""
    moments: list[Moment] = []
    touched: Counter[Tile] = Counter()
    for step, (env, score) in enumerate(_steps(agent, played.seed, played.actions)):
        explorer = _explorer(env)
        if explorer.grid.here is not None:
            touched[explorer.grid.here] = 1
        if step in steps:
            picture = enlarge_game(np.asarray(env.render()))
            game, grid, player = find_game(agent.config.world), explorer.grid, explorer.position
            if game is not None and isinstance(grid, CuriosityGrid) and player is not None:
                draw_grid_over(picture, game, grid, player)
            moments.append(Moment(step, score, picture, explorer.plane.copy(), touched.copy()))
    return moments


def _steps(agent: TrainedAgent, seed: int, actions: Sequence[Any]) -> Iterator[tuple[Env, float]]:
    """The world and the score: at first, and after each action."""
    env = make_world(agent)
    score = 0.0
    try:
        env.reset(seed=seed)
        yield env, score
        for action in actions:
            _, reward, _, _, info = env.step(action)
            score += float(info.get("game_reward", reward))
            yield env, score
    finally:
        env.close()


def _explorer(env: Env) -> Explorer:
    explorer: Explorer = env.get_wrapper_attr("explorer")
    return explorer


@styled
def draw_panel(group: Group, agent: TrainedAgent, played: Played) -> Drawing:
    """The game, the grid and, in MontezumaRevenge, the map, at the last new tile of a game."""
    world = group.world
    (moment,) = look_at(agent, played, played.new_tiles[-1:])
    has_map = world == "MontezumaRevenge"
    height, width = moment.picture.shape[:2]
    rows, columns = moment.plane.shape
    if is_broad(moment.picture):
        shares = [height / width, rows / columns]
        figure = new_figure(0.7 + WIDTH * sum(shares))
        axes = list(figure.subplots(2, 1, height_ratios=shares))
    else:
        shares = [width / height, columns / rows, MAP_SHARE][: 2 + has_map]
        figure = new_figure(0.35 + PANEL, 0.15 * len(shares) + PANEL * sum(shares))
        axes = list(figure.subplots(1, len(shares), width_ratios=shares))
    show(axes[0], moment.picture, "The game")
    show(axes[1], moment.plane, "The curiosity grid")
    if has_map:
        draw_touched(axes[2], group, moment.touched)
        axes[2].set_title("The map")
    rooms = len({room for room, _, _ in moment.touched})
    title = f"{spaced(world)}: game, grid and map" if has_map else f"{spaced(world)}: game and grid"
    name = f"{file_name(world)}-panel"
    caption = (
        f"{group.label} after {agent.step:,} training steps, step {moment.step:,} of a game: score "
        f"{moment.score:g}, {moment.touched.total()} tiles touched in {rooms} "
        f"room{'s' * (rooms != 1)}. Touched tiles are tinted in the game (the player's tile is "
        "outlined) and white in the grid, as the network sees it."
        + " The map shows every tile touched in this game, room by room."
        * has_map
    )
    if has_map:
        paper = after(GRID, "whose map is an illustration; this one is drawn from the game")
    else:
        paper = f"Ours: the paper's {GRID} shows Montezuma's Revenge."
    table = touched_table(name, title, [moment])
    return Drawing(name, title, caption, figure, (table,), paper)


def show(axes: Axes, picture: np.ndarray, title: str) -> None:
    axes.imshow(picture, cmap="gray", vmin=0, vmax=255, interpolation="nearest")
    axes.set_title(title)
    axes.set_xticks([])
    axes.set_yticks([])
    for spine in axes.spines.values():
        spine.set_visible(True)


def draw_touched(axes: Axes, group: Group, touched: Counter[Tile]) -> None:
    """The pyramid with the tiles that were touched."""
    extent = extent_of(group, touched)
    draw_map(axes, touched, PYRAMID, extent, Normalize(0, 1.2 / touched.total()))
    axes.set_aspect("equal")


def touched_table(name: str, title: str, moments: Sequence[Moment]) -> Table:
    rows: list[list[Cell]] = [
        [moment.step, moment.score, room_text(room), row, column]
        for moment in moments
        for room, row, column in sorted(moment.touched)
    ]
    columns = Column("step"), Column("score"), words("room"), Column("row"), Column("column")
    return Table(name, title, columns, rows)
