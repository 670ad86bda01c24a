"""Recordings: the right game, in a file that plays, with the grid where the player was."""

from __future__ import annotations

import hashlib
import signal
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import av
import numpy as np
import pytest

from deepcs.agents.a2c import A2CSettings
from deepcs.curiosity.games import game
from deepcs.curiosity.tiles import Position
from deepcs.envs.make import make_actor
from deepcs.film import pyramid
from deepcs.film.overlay import Box, draw_grid_over, tile_box
from deepcs.film.panels import Composition, Scene, enlarge_game
from deepcs.film.record import Recording, record
from deepcs.runs.config import RunConfig
from deepcs.runs.evaluate import BATCH, evaluate, new_game
from deepcs.runs.progress import Silence, Status
from deepcs.runs.train import train
from deepcs.runs.trained import TrainedAgent, load_agent


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """Runs of one update: agents that know nothing yet."""
    folder = tmp_path_factory.mktemp("runs")
    for world in ("KeyHallway", "MontezumaRevenge", "Alien"):
        config = RunConfig(world, steps=1, actors=1, shards=1, learner=A2CSettings(n_steps=1))
        train(config, folder / world, workers=0)
    return {path.name: path for path in folder.iterdir()}


def decode(path: Path) -> Iterator[av.VideoFrame]:
    with av.open(str(path)) as file:
        yield from file.decode(video=0)


def files_of(folder: Path) -> dict[Path, str]:
    return {
        path: hashlib.sha256(path.read_bytes()).hexdigest()
        for path in folder.rglob("*")
        if path.is_file()
    }


@dataclass(frozen=True)
class Played:
    score: float
    intrinsic: float
    tiles: int
    steps: int


def play(agent: TrainedAgent, number: int, max_steps: int, seed: int = 3) -> Played:
    """A game of a seed without a camera."""
    env = make_actor(agent.config.world, **agent.config.actor_settings())
    game = new_game(seed, number)
    observation, info = env.reset(seed=game.world_seed)
    score, intrinsic, steps, over = 0.0, 0.0, 0, False
    while not over and steps < max_steps:
        batch = np.repeat(observation[None], BATCH, 0)
        action = agent.act_with(batch, np.full(BATCH, game.noise.random()))[0]
        observation, reward, terminated, truncated, info = env.step(action)
        score, intrinsic, steps = score + float(reward), intrinsic + info["intrinsic"], steps + 1
        over = terminated or truncated
    return Played(score, intrinsic, info["tiles"], steps)


def outcome(recording: Recording) -> Played:
    return Played(recording.score, recording.intrinsic, recording.tiles, recording.steps)


def test_maze_recording_plays_and_has_a_frame_per_step_and_one_for_the_start(
    runs: dict[str, Path], tmp_path: Path
) -> None:
    film = record(load_agent(runs["KeyHallway"]), tmp_path / "new" / "film.mp4", seed=3)
    assert film.steps == 160
    frames = list(decode(film.path))
    assert len(frames) == 161
    assert {(frame.width, frame.height) for frame in frames} == {(800, 346)}
    assert [path.name for path in film.path.parent.iterdir()] == ["film.mp4"]


def test_atari_recording_is_h264_that_browsers_play(runs: dict[str, Path], tmp_path: Path) -> None:
    agent = load_agent(runs["MontezumaRevenge"])
    film = record(agent, tmp_path / "film.mp4", seed=7, max_steps=25, fps=15)
    assert outcome(film) == play(agent, 0, 25, seed=7)
    with av.open(str(film.path)) as file:
        (stream,) = file.streams.video
        assert (stream.frames, stream.average_rate) == (26, 15)
        assert (stream.codec_context.name, stream.pix_fmt) == ("h264", "yuv420p")
        assert (stream.width, stream.height) == (912, 720)
    content = film.path.read_bytes()
    assert content.index(b"moov") < content.index(b"mdat")  # plays before it is all there


def test_recorded_game_is_the_evaluations_of_its_number(
    runs: dict[str, Path], tmp_path: Path
) -> None:
    agent = load_agent(runs["KeyHallway"])
    games = evaluate(agent, games=18, seed=3, workers=0).games
    for number in (1, 17):
        film = record(agent, tmp_path / "film.mp4", seed=3, game=number)
        told = games[number]
        assert outcome(film) == Played(told.score, told.intrinsic, told.tiles, told.steps)
        assert outcome(film) == play(agent, number, 160)
        assert film.game == number
    assert games[1] != games[17]


def test_best_of_records_the_highest_score(runs: dict[str, Path], tmp_path: Path) -> None:
    agent = load_agent(runs["Alien"])
    games = {number: play(agent, number, 25) for number in range(6, 9)}
    best = max(games, key=lambda number: games[number].score)
    assert games[6].score < games[best].score
    film = record(agent, tmp_path / "film.mp4", seed=3, game=6, best_of=3, max_steps=25)
    assert film.game == best
    assert outcome(film) == games[best]


def test_among_equal_scores_most_tiles_win(runs: dict[str, Path], tmp_path: Path) -> None:
    agent = load_agent(runs["KeyHallway"])
    games = [play(agent, number, 20) for number in range(6)]
    assert {played.score for played in games} == {0.0}
    film = record(agent, tmp_path / "film.mp4", seed=3, best_of=6, max_steps=20)
    assert film.tiles == max(played.tiles for played in games)
    assert film.tiles > min(played.tiles for played in games)


def test_recording_leaves_the_run_as_it_was(runs: dict[str, Path], tmp_path: Path) -> None:
    before = files_of(runs["KeyHallway"])
    record(load_agent(runs["KeyHallway"]), tmp_path / "film.mp4", max_steps=5, best_of=2)
    assert files_of(runs["KeyHallway"]) == before


def test_an_older_video_is_replaced(runs: dict[str, Path], tmp_path: Path) -> None:
    path = tmp_path / "film.mp4"
    path.write_bytes(b"an older video")
    record(load_agent(runs["KeyHallway"]), path, max_steps=2)
    assert len(list(decode(path))) == 3


@pytest.mark.parametrize("name", ["file/film.mp4", "film.gif", "folder.mp4"])
def test_unwritable_path_is_refused_in_one_sentence(
    name: str, runs: dict[str, Path], tmp_path: Path
) -> None:
    (tmp_path / "file").write_text("not a folder")
    (tmp_path / "folder.mp4").mkdir()
    with pytest.raises(ValueError, match=f"{name}.*; give"):
        record(load_agent(runs["KeyHallway"]), tmp_path / name, max_steps=2)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["file", "folder.mp4"]


@pytest.mark.parametrize("wrong", [{"best_of": 0}, {"max_steps": 0}, {"fps": 0}])
def test_numbers_below_one_are_refused(
    wrong: dict[str, int], runs: dict[str, Path], tmp_path: Path
) -> None:
    with pytest.raises(ValueError, match="from 1 up"):
        record(load_agent(runs["KeyHallway"]), tmp_path / "film.mp4", **wrong)


def test_a_game_below_0_is_refused(runs: dict[str, Path], tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="Got game -1; give a whole number from 0 up"):
        record(load_agent(runs["KeyHallway"]), tmp_path / "film.mp4", game=-1)


def test_touched_tiles_lie_over_the_player_in_montezuma() -> None:
    montezuma = game("MontezumaRevenge")
    grid = montezuma.grid()
    grid.visit(Position(10, 200, (0,)))  # another room, which must not show
    start = Position(77, 235, (1,))
    grid.visit(start)
    # Tile of x 64..79 and y 230..245; the sprite's middle is 3 right of x and at row 318 - y.
    assert tile_box(montezuma, grid, 6, 4, start.y) == Box(66.5, 72.5, 82.5, 88.5)
    picture = np.zeros((630, 480, 3), np.uint8)
    draw_grid_over(picture, montezuma, grid, start)
    rows, columns = np.nonzero(picture.any(2))
    assert (rows.min(), rows.max() + 1) == (218, 266)
    assert (columns.min(), columns.max() + 1) == (200, 248)
    assert len(rows) == 48 * 48


def test_partial_tile_at_the_edge_is_drawn_narrow() -> None:
    montezuma = game("MontezumaRevenge")
    box = tile_box(montezuma, montezuma.grid(), 7, 9, 0)  # x 144..152, y 246..255
    assert box == Box(146.5, 62.5, 155.5, 72.5)


def test_tiles_scroll_with_tutankham_and_leave_the_screen() -> None:
    tutankham = game("Tutankham")
    grid = tutankham.grid()
    here = tile_box(tutankham, grid, 1, 0, 20)  # y 20..39, of which 35..39 are in view
    scrolled = tile_box(tutankham, grid, 1, 0, 25)
    assert here is not None
    assert scrolled is not None
    assert here.top - scrolled.top == 5 * 4
    assert tile_box(tutankham, grid, 1, 0, 0) is None


def test_frame_shows_the_plane_as_it_is() -> None:
    plane = np.random.default_rng(0).choice([0, 255], (84, 84)).astype(np.uint8)
    picture = enlarge_game(np.zeros((210, 160, 3), np.uint8))
    scene = Scene(picture, plane, [("score", "0")])
    composition = Composition("Game", "deepcs", scene)
    frame = composition.draw(scene)
    left, top = composition.left, composition.plane_top
    shown = frame[top : top + 336 : 4, left : left + 336 : 4]
    assert (shown == plane[:, :, None]).all()


def test_pyramid_has_each_room_once_and_room_4_below_room_0() -> None:
    assert sorted(pyramid.PLACES) == list(range(24))
    assert len(set(pyramid.PLACES.values())) == 24
    row, column = pyramid.PLACES[0]
    assert pyramid.PLACES[4] == (row + 1, column)
    assert pyramid.PLACES[1] == (0, pyramid.COLUMNS // 2)


def test_a_recording_tells_how_far_it_is_and_a_sigterm_leaves_nothing_behind(
    runs: dict[str, Path], tmp_path: Path
) -> None:
    command = [sys.executable, "-m", "deepcs", "record", str(runs["MontezumaRevenge"])]
    recording = subprocess.Popen(
        [*command, "--out", str(tmp_path / "film.mp4")], stdout=subprocess.PIPE, text=True
    )
    assert recording.stdout is not None
    with recording:
        assert recording.stdout.readline() == "Playing the game ...\n"
        assert list(tmp_path.iterdir()) == [tmp_path / ".film.mp4.new"]
        recording.terminate()
        assert recording.wait(60) == 128 + signal.SIGTERM
    assert not list(tmp_path.iterdir())


def test_a_recording_shows_each_step_that_is_filmed(runs: dict[str, Path], tmp_path: Path) -> None:
    shown: list[tuple[int, int]] = []

    class Noted(Silence):
        def show(self, status: Status) -> None:
            shown.append((status.step, status.total))

    record(load_agent(runs["KeyHallway"]), tmp_path / "a.mp4", max_steps=5, display=Noted())
    assert shown == [(step, 5) for step in range(1, 6)]
