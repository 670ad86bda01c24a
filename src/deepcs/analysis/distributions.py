"""The best policy of each group over many seeds: chosen by some games, shown by others.

Results are kept as CSV files named after run, checkpoint, weights and seed, so that a second
report plays nothing again.
"""

from __future__ import annotations

import csv
import hashlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from matplotlib.axes import Axes
from matplotlib.patches import Rectangle

from deepcs.analysis.drawing import Drawing
from deepcs.analysis.groups import Group, RunResult, counted
from deepcs.analysis.legibility import explain
from deepcs.analysis.paper_figures import best_policies_in_paper
from deepcs.analysis.published import published
from deepcs.analysis.reference_lines import DASH_DOTTED, FAR
from deepcs.analysis.style import (
    FAINT,
    INK,
    file_name,
    from_zero,
    new_figure,
    shorten_ticks,
    spaced,
    styled,
)
from deepcs.analysis.tables import Cell, Column, Table, words
from deepcs.curiosity.games import find_game
from deepcs.envs.seats import GameRecord
from deepcs.runs.checkpoint import CheckpointError, checkpoint_steps, read_checked
from deepcs.runs.evaluate import EVALUATION_FORMAT, Evaluation, evaluate, save_evaluation
from deepcs.runs.folder import RunFolder
from deepcs.runs.logs import parse_room
from deepcs.runs.numbering import EVALUATION_SEED
from deepcs.runs.trained import load_agent

SELECTION_SEED = 2_000_003  # other than that of the reported games
SELECTION_GAMES = 10
JITTER = 0.26  # half the height over which points are spread
BOX = 0.62  # height of a box


@dataclass(frozen=True, eq=False)
class Best:
    """The best run of a group, and how it plays."""

    group: Group
    run: RunResult
    candidates: int
    """finished runs that it was chosen from"""
    step: int
    """of its checkpoint"""
    key: str
    """names its run, checkpoint and weights"""
    evaluation: Evaluation
    """games with seeds that were not used for the choice"""


class Evaluations:
    """Plays games with runs, or reads them from the cache."""

    def __init__(self, folder: Path, say: Callable[[str], None], allow_code: bool) -> None:
        """`folder`: for a CSV file per evaluation. `say`: called with what is being played."""
        self.folder = folder
        self._say = say
        self._allow_code = allow_code

    def of(self, run: RunResult, games: int, seed: int) -> Evaluation:
        """Games of the run's newest policy, from a seed.

        Raises CheckpointError if it has none, CodeError if it needs code that is not allowed.
        """
        step, key = newest_policy(run)
        path = self.folder / f"{key}-seed{seed}-games{games}-{EVALUATION_FORMAT}.csv"
        if path.is_file():
            try:
                return read_evaluation(path, games)
            except ValueError as error:
                self._say(f"{path} is damaged ({error}), so its games are played again.")
        self._say(f"Playing {games} games with {run.name} ...")
        workers = None if find_game(run.config.world) else 0  # a maze is played before one starts
        agent = load_agent(run.path, step, allow_code=self._allow_code)
        result = evaluate(agent, games=games, seed=seed, workers=workers)
        self.folder.mkdir(parents=True, exist_ok=True)
        save_evaluation(path, result)
        return result


def newest_policy(run: RunResult) -> tuple[int, str]:
    """The step of a run's newest checkpoint, and a name for it that identifies its weights."""
    folder = RunFolder(run.path).checkpoints
    steps = checkpoint_steps(folder)
    if not steps:
        raise CheckpointError(f"{run.path} has no checkpoint.")
    contents = read_checked(folder, steps[-1])
    weights = hashlib.sha256(contents["weights.safetensors"]).hexdigest()
    return steps[-1], f"{run.name}-step{steps[-1]}-{weights[:12]}"


def read_evaluation(path: Path, games: int) -> Evaluation:
    """What `save_evaluation` wrote of that many games; raises ValueError if it is damaged."""
    try:
        with path.open(newline="", encoding="utf-8") as file:
            records = tuple(
                GameRecord(
                    float(row["score"]),
                    float(row["intrinsic"]),
                    int(row["tiles"]),
                    int(row["steps"]),
                    tuple(map(parse_room, row["rooms"].split(";"))) if row["rooms"] else (),
                )
                for row in csv.DictReader(file)
            )
    except (KeyError, TypeError, AttributeError, csv.Error) as error:
        raise ValueError(f"{type(error).__name__}: {error}") from error
    if len(records) != games or not np.isfinite([record.score for record in records]).all():
        raise ValueError(f"it has not the scores of {games} games")
    return Evaluation(records)


def best_of(group: Group, evaluations: Evaluations, games: int) -> Best | None:
    """Choose the group's best finished run by its mean score over selection games, then play it.

    Of equals, the one with more tiles. None if no finished run has a checkpoint.
    """
    played: list[tuple[float, float, RunResult]] = []
    for run in group.finished:
        try:
            chosen_by = evaluations.of(run, SELECTION_GAMES, SELECTION_SEED)
        except CheckpointError:
            continue
        played.append((float(chosen_by.scores.mean()), float(chosen_by.tiles.mean()), run))
    if not played:
        return None
    *_, run = max(played, key=lambda entry: entry[:2])
    return Best(
        group, run, len(played), *newest_policy(run), evaluations.of(run, games, EVALUATION_SEED)
    )


def draw_box(axes: Axes, scores: np.ndarray, place: float) -> None:
    """A flat box from quartile to quartile, a line at the median, whiskers to the extremes."""
    least, low, median, high, most = np.percentile(scores, (0, 25, 50, 75, 100))
    box = Rectangle((low, place - BOX / 2), high - low, BOX, fill=False, edgecolor=INK, zorder=3)
    axes.add_patch(box)
    axes.plot([least, low], [place, place], color=INK, linewidth=1, zorder=3)
    axes.plot([high, most], [place, place], color=INK, linewidth=1, zorder=3)
    ends = [place - BOX / 2, place + BOX / 2]
    axes.plot([median, median], ends, color=INK, linewidth=2.4, zorder=3, label="median")


def draw_best_run(axes: Axes, world: str) -> None:
    """The paper's best single run of this game, if it names one: a line, or its name alone."""
    row = published(world)
    if row is None or row.best is None:
        return
    text, points = f"the paper's best run {row.best.points:,}", row.best.points
    if points <= axes.get_xlim()[1] * FAR:
        axes.axvline(points, color=FAINT, linewidth=1, linestyle=DASH_DOTTED, zorder=0.5)
        axes.set_xlim(right=max(axes.get_xlim()[1], 1.04 * points))
    else:
        text += " →"
    axes.text(1, 1.03, text, transform=axes.transAxes, color=FAINT, ha="right", va="bottom")


@styled
def draw_distributions(bests: Sequence[Best]) -> Drawing:
    """A box and jittered points for each group's best policy."""
    world, games = bests[0].group.world, len(bests[0].evaluation.games)
    figure = new_figure(0.9 + 0.42 * len(bests))
    axes = figure.subplots()
    rng = np.random.default_rng(0)
    rows: list[list[Cell]] = []
    for place, best in enumerate(bests):
        scores, colour = best.evaluation.scores, best.group.look.colour
        heights = place + rng.uniform(-JITTER, JITTER, len(scores))
        axes.plot(scores, heights, ".", color=colour, alpha=0.45, markersize=5, zorder=1)
        draw_box(axes, scores, place)
        rows += [
            [best.group.label, best.run.name, best.step, k, game.score, game.tiles, len(game.rooms)]
            for k, game in enumerate(best.evaluation.games)
        ]
    axes.set_yticks(range(len(bests)), [best.group.label for best in bests])
    axes.set_ylim(len(bests) - 0.5, -0.5)
    axes.tick_params(axis="y", length=0)
    axes.spines["left"].set_visible(False)
    axes.grid(axis="x")
    shorten_ticks(axes, ["x"])
    from_zero(axes, "x")
    axes.set_xlabel("game score")
    draw_best_run(axes, world)
    axes.set_title(f"{spaced(world)} · {games} games each")
    explain(
        figure, "Box: quartiles and median. Whiskers: lowest and highest. Dots: games, jittered."
    )
    name, title = f"{file_name(world)}-distributions", f"{spaced(world)}: the best policies"
    numbers = ("step", "game", "score", "tiles", "rooms")
    columns = words("group"), words("run"), *map(Column, numbers)
    chosen = ", ".join(
        f"{best.group.label} {counted(best.candidates, best.group.planned)}" for best in bests
    )
    caption = (
        f"The best policy of each group in {games} games (seed {EVALUATION_SEED}): box with median "
        "and quartiles, whiskers to the extremes, a dot a game, jittered. The best is the finished "
        f"run with the highest mean over {SELECTION_GAMES} other games (seed {SELECTION_SEED}): "
        f"the seeds that choose are not those that report. Chosen from {chosen}."
    )
    paper = best_policies_in_paper([best.group for best in bests])
    return Drawing(name, title, caption, figure, (Table(name, title, columns, rows),), paper)
