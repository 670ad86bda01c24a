"""Best policies: chosen by some seeds and shown by others; games in pictures. On real agents."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from generated import group_of
from matplotlib.patches import Rectangle

from deepcs.analysis import distributions, filling_figure, panel_figures
from deepcs.analysis.distributions import (
    SELECTION_GAMES,
    SELECTION_SEED,
    Evaluations,
    best_of,
    draw_distributions,
    newest_policy,
    read_evaluation,
)
from deepcs.analysis.filling_figure import chosen_steps, draw_filling, play_best
from deepcs.analysis.groups import Group, collect, read_result
from deepcs.analysis.panel_figures import Played, draw_panel, look_at, play
from deepcs.curiosity.games import game
from deepcs.runs.checkpoint import CheckpointError
from deepcs.runs.config import RunConfig
from deepcs.runs.evaluate import EVALUATION_SEED, evaluate, save_evaluation
from deepcs.runs.train import train
from deepcs.runs.trained import TrainedAgent, load_agent
from deepcs.studies.folder import StudyFolder


@pytest.fixture(scope="module")
def hallway(trained: StudyFolder) -> Group:
    return group_of(collect(trained.read(), trained.path), "deepcs")


def play_with_untrained(
    world: str, path: Path, monkeypatch: pytest.MonkeyPatch
) -> tuple[Group, TrainedAgent, Played]:
    """A short game of an agent of two updates."""
    monkeypatch.setattr(panel_figures, "MAX_STEPS", 150)
    config = RunConfig(world, steps=20, actors=2, log_every=10).resolved()
    train(config, path, workers=1)
    result = read_result(path, config)
    assert result is not None
    agent = load_agent(path)
    return Group(config, "", 1, (result,)), agent, *play(agent, [0])


def test_the_best_is_chosen_by_selection_seeds_and_shown_by_others(
    hallway: Group, tmp_path: Path
) -> None:
    best = best_of(hallway, Evaluations(tmp_path, lambda text: None, allow_code=False), games=5)
    assert best is not None
    means = []
    for run in hallway.runs:
        agent = load_agent(run.path)
        chosen_by = evaluate(agent, games=SELECTION_GAMES, seed=SELECTION_SEED, workers=0)
        means.append((chosen_by.scores.mean(), chosen_by.tiles.mean()))
    expected = hallway.runs[int(means[1] > means[0])]
    assert best.run is expected
    assert best.candidates == 2
    shown = evaluate(load_agent(expected.path), games=5, seed=EVALUATION_SEED, workers=0)
    assert best.evaluation == shown
    assert SELECTION_SEED != EVALUATION_SEED


def test_games_are_played_once_and_then_read(hallway: Group, tmp_path: Path) -> None:
    said: list[str] = []
    first = best_of(hallway, Evaluations(tmp_path, said.append, allow_code=False), games=3)
    assert len(said) == 3  # two candidates, then the best
    again = best_of(hallway, Evaluations(tmp_path, said.append, allow_code=False), games=3)
    assert len(said) == 3
    assert first is not None
    assert again is not None
    assert again.evaluation == first.evaluation
    best_of(
        hallway, Evaluations(tmp_path, said.append, allow_code=False), games=4
    )  # other games of the best
    assert len(said) == 4


def test_other_weights_at_the_same_step_are_another_policy(hallway: Group) -> None:
    run, other = hallway.runs
    assert newest_policy(run)[0] == newest_policy(other)[0] == 1_600
    hashes = [newest_policy(each)[1].rpartition("-")[2] for each in (run, other)]
    manifest = json.loads((run.path / "checkpoints" / "1600" / "manifest.json").read_bytes())
    assert hashes[0] == manifest["weights.safetensors"][:12] != hashes[1]


def test_a_run_without_a_whole_checkpoint_is_no_candidate(hallway: Group, tmp_path: Path) -> None:
    one = hallway.runs[0]
    folder = one.path / "checkpoints"
    folder.rename(one.path / "elsewhere")
    try:
        with pytest.raises(CheckpointError):
            newest_policy(one)
        best = best_of(hallway, Evaluations(tmp_path, lambda text: None, allow_code=False), games=2)
        assert best is not None
        assert (best.run, best.candidates) == (hallway.runs[1], 1)
    finally:
        (one.path / "elsewhere").rename(folder)


def test_an_evaluation_is_read_as_it_was_saved(hallway: Group, tmp_path: Path) -> None:
    result = evaluate(load_agent(hallway.runs[0].path), games=4, workers=0)
    save_evaluation(tmp_path / "games.csv", result)
    assert read_evaluation(tmp_path / "games.csv", len(result.games)) == result


def test_boxes_are_quartiles_and_every_game_is_a_dot(
    hallway: Group, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    best = best_of(hallway, Evaluations(tmp_path, lambda text: None, allow_code=False), games=5)
    assert best is not None
    scores = np.array([0.0, 1, 3, 4, 10])
    monkeypatch.setattr(distributions.Evaluation, "scores", scores)
    drawing = draw_distributions([best])
    (axes,) = drawing.figure.axes
    dots = axes.lines[0]
    assert dots.get_xdata().tolist() == scores.tolist()
    assert np.ptp(np.asarray(dots.get_ydata())) > 0  # jittered
    (box,) = (patch for patch in axes.patches if isinstance(patch, Rectangle))
    assert (box.get_x(), box.get_x() + box.get_width()) == (1, 4)
    (median,) = (line for line in axes.lines if line.get_label() == "median")
    assert set(median.get_xdata()) == {3}
    assert f"seed {EVALUATION_SEED}" in drawing.caption
    assert f"seed {SELECTION_SEED}" in drawing.caption
    assert len(drawing.data[0].rows) == 5


def test_a_game_seen_again_is_the_same_game(hallway: Group) -> None:
    agent = load_agent(hallway.runs[0].path)
    (played,) = play(agent, [0])
    moments = look_at(agent, played, played.new_tiles)
    assert [moment.touched.total() for moment in moments] == [*range(1, len(moments) + 1)]
    assert moments[0].step == 0
    for moment in moments:
        assert np.count_nonzero(moment.plane) == moment.touched.total()
    assert play(agent, [0]) == [played]
    assert len(played.scores) == len(played.actions) + 1
    assert played.on_board == [*range(len(played.scores))]  # a maze has no other place


@pytest.mark.long
def test_montezumas_panel_shows_the_game_the_plane_and_the_map(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    group, agent, played = play_with_untrained("MontezumaRevenge", tmp_path, monkeypatch)
    drawing = draw_panel(group, agent, played)
    screen, plane, rooms = drawing.figure.axes
    (moment,) = look_at(agent, played, played.new_tiles[-1:])
    np.testing.assert_array_equal(screen.images[0].get_array(), moment.picture)
    np.testing.assert_array_equal(plane.images[0].get_array(), moment.plane)
    touched = sum(int((mesh.get_array() > 0).sum()) for mesh in rooms.collections)
    assert touched == moment.touched.total() == len(drawing.data[0].rows)
    assert len(rooms.patches) == 24


def made_up(
    scores: list[float], new_tiles: tuple[int, ...] = (0,), off_board: tuple[int, ...] = ()
) -> Played:
    """A game of these scores, the start's first."""
    steps = [step for step in range(len(scores)) if step not in off_board]
    return Played(0, [0] * (len(scores) - 1), [*new_tiles], scores, steps)


def test_figure_4_shows_the_start_frame_700_and_the_best_score() -> None:
    scores = [0.0] * 100 + [20.0] * 200 + [40.0] * 50
    assert chosen_steps(made_up(scores)) == (0, 175, 300)  # 700 frames are 175 steps
    assert chosen_steps(made_up(scores, off_board=(0, 175, 300))) == (1, 174, 301)
    assert chosen_steps(made_up(scores, new_tiles=(0, 200, 310, 320))) == (0, 175, 320)
    lost = [*scores, 30.0, 30.0]
    assert chosen_steps(made_up(lost, new_tiles=(0, 310, 351))) == (0, 175, 310)
    assert chosen_steps(made_up([0.0] * 100, new_tiles=(0, 60))) == (0, 99, 60)


@pytest.mark.long
def test_figure_4_is_made_from_one_game_and_says_what_it_cannot_show(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(filling_figure, "GAMES", 1)
    monkeypatch.setattr(filling_figure, "MAX_STEPS", 200)
    group, agent, _ = play_with_untrained("Seaquest", tmp_path, monkeypatch)
    played = play_best(agent, games=1)
    drawing = draw_filling(group, agent, played)
    above, below = drawing.figure.axes[:3], drawing.figure.axes[3:]
    assert [axes.get_title(loc="left") for axes in above] == [
        *("At the start", "After 700 frames", "At the best score"),
    ]
    assert drawing.paper == "In the paper: Figure 4."
    assert "(the paper: 76,000 points)" in drawing.caption
    assert "The game was cut off after 800 frames." in drawing.caption
    moments = {m.step: m for m in look_at(agent, played, chosen_steps(played))}
    for screen, plane, step in zip(above, below, chosen_steps(played), strict=True):
        np.testing.assert_array_equal(screen.images[0].get_array(), moments[step].picture)
        np.testing.assert_array_equal(plane.images[0].get_array(), moments[step].plane)
    tiles = [int(axes.get_xlabel().splitlines()[1].split()[0]) for axes in below]
    assert tiles[0] == 1 < tiles[1]
    grid = game("Seaquest").grid()
    assert f"of {grid.rows * grid.columns} tiles" in below[0].get_xlabel()

    short = made_up([0.0] * 100)
    caption = draw_filling(group, agent, replace(short, seed=played.seed)).caption
    assert "This game was over after 396 frames: the middle shows its end." in caption
    assert "None of the 1 games scored" in caption
