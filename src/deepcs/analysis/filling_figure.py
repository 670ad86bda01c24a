"""The paper's Figure 4: the game and its curiosity grid at the start, after 700 frames, and at the
best score."""

from __future__ import annotations

from deepcs.analysis.drawing import Drawing
from deepcs.analysis.groups import Group
from deepcs.analysis.map_figures import extent_of
from deepcs.analysis.panel_figures import Played, look_at, play, show, touched_table
from deepcs.analysis.paper_figures import SATURATION, SATURATION_FRAMES, SATURATION_SCORE, after
from deepcs.analysis.style import file_name, new_figure, spaced, styled
from deepcs.runs.trained import TrainedAgent

GAMES = 5  # of which the best is shown
MAX_STEPS = 27_000  # half an hour of play: a good agent's game is long
FRAMES = 4  # raw ones to a step


def play_best(agent: TrainedAgent, games: int = GAMES) -> Played:
    """The game with the highest score of some; of equals the one with more tiles."""
    played = play(agent, range(games), MAX_STEPS)
    return max(played, key=lambda game: (max(game.scores), len(game.new_tiles)))


def chosen_steps(played: Played) -> tuple[int, int, int]:
    """The start; 700 frames later, or the end of a shorter game; and the best score, when it is
    reached or, if later, when the last new tile is touched. All with the player on the board."""
    on_board, scores = played.on_board, played.scores
    at_saturation = max(step for step in on_board if FRAMES * step <= SATURATION_FRAMES)
    best = max(scores[step] for step in on_board)
    reached = min(step for step in on_board if scores[step] == best)
    at_best = max([reached, *(step for step in played.new_tiles if scores[step] == best)])
    return on_board[0], at_saturation, at_best


@styled
def draw_filling(group: Group, agent: TrainedAgent, played: Played) -> Drawing:
    """Three moments side by side: screens above, the network's planes below."""
    steps = chosen_steps(played)
    by_step = {moment.step: moment for moment in look_at(agent, played, steps)}
    moments = [by_step[step] for step in steps]
    figure = new_figure(4.6, 5.4)
    panels = figure.subplots(2, len(moments), squeeze=False, height_ratios=[210 / 160, 1])
    extent = extent_of(group, moments[-1].touched)
    tiles = (len(extent.rows) - 1) * (len(extent.columns) - 1)
    headings = "At the start", f"After {FRAMES * steps[1]:,} frames", "At the best score"
    for (above, below), moment, heading in zip(panels.T, moments, headings, strict=True):
        show(above, moment.picture, heading)
        show(below, moment.plane, "")
        below.set_xlabel(
            f"frame {FRAMES * moment.step:,} · score {moment.score:,g}\n"
            f"{moment.touched.total()} of {tiles} tiles touched"
        )
    world = spaced(group.world)
    name, title = f"{file_name(group.world)}-filling", f"{world}: the grid fills"
    caption = (
        f"{group.label} after {agent.step:,} training steps: the best of {GAMES} games, at its "
        f"start, after {SATURATION_FRAMES} frames, and at its best score, on the last tile that is "
        f"new then (the paper: {SATURATION_SCORE:,} points). Above the game, touched tiles tinted; "
        "below the curiosity grid as the network sees it, touched tiles white. "
        f"{_honestly(played)}"
    )
    table = touched_table(name, title, list(dict.fromkeys(moments)))
    return Drawing(name, title, caption.strip(), figure, (table,), after(SATURATION))


def _honestly(played: Played) -> str:
    """Where this game does not show what the paper's does."""
    told = []
    last = FRAMES * (len(played.scores) - 1)
    if last < SATURATION_FRAMES:
        told.append(f"This game was over after {last:,} frames: the middle shows its end.")
    if max(played.scores) <= 0:
        told.append(f"None of the {GAMES} games scored: the right shows the last new tile of one.")
    if len(played.actions) >= MAX_STEPS:
        told.append(f"The game was cut off after {FRAMES * MAX_STEPS:,} frames.")
    return " ".join(told)
