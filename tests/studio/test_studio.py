"""The studio's server, asked by real HTTP and websocket clients."""

from __future__ import annotations

import re
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import parse_qs

import cv2
import httpx
import numpy as np
import pytest
from serving import PATIENCE, Address, Page, page

from deepcs.runs.evaluate import play_games
from deepcs.runs.shipped import find_shipped, shipped_agents
from deepcs.runs.trained import load_agent

HALL = {"kind": "run", "name": "deep/hall"}
EARLY = {**HALL, "step": 200}


def person(world: str) -> dict[str, str]:
    return {"kind": "you", "name": world}


def test_the_overview_finds_runs_and_studies_at_any_depth(server: Address) -> None:
    overview = server.ask("overview")
    runs = {run["name"]: run for run in overview["runs"]}
    assert {"deep/hall", "study/runs/KeyHallway-deepcs-paper-seed0"} <= runs.keys()
    assert overview["studies"] == [{"name": "study", "runs": 2}]
    hall = runs["deep/hall"]
    assert (hall["world"], hall["state"], hall["checkpoints"]) == ("KeyHallway", "done", [200, 400])
    assert {"Freeway", "KeyHallway"} <= set(overview["worlds"])


def test_the_overview_has_the_agents_in_the_box_with_the_papers_score(server: Address) -> None:
    told = {agent["name"]: agent for agent in server.ask("overview")["agents"]}
    assert list(told) == [agent.name for agent in shipped_agents()]
    freeway = find_shipped("Freeway")
    assert (told["Freeway"]["median"], told["Freeway"]["step"]) == (freeway.median, freeway.step)
    assert told["Freeway"]["paper"] == {"method": "DeepCS", "score": 33}
    assert told["KeyHallway"]["paper"] is None


def test_a_run_has_curves_settings_and_milestones(server: Address) -> None:
    run = server.ask("run", "deep/hall")
    assert run["curve"]["step"] == [100, 200, 300, 400]
    assert len(run["curve"]["entropy"]) == 4
    assert run["settings"]["actors"] == "2"
    assert run["settings"]["learner.gamma"] == "0.99"
    assert run["milestones"] == [{"label": "first solved game", "step": None}]


def test_visits_are_told_by_room_and_time(server: Address, folder: Path) -> None:
    visits = server.ask("visits", "deep/hall")
    told = sum(entries for room in visits["rooms"] for *_, entries in room["counts"])
    with np.load(folder / "deep" / "hall" / "visits.npz") as saved:
        assert told == saved["entries"].sum()
    assert visits["steps"][-1] == 400


def test_a_study_is_a_matrix_of_its_runs(server: Address) -> None:
    study = server.ask("study", "study")
    assert [(run["treatment"], run["state"]) for run in study["runs"]] == [
        ("deepcs", "done"),
        ("plain", "waiting"),
    ]
    assert study["report"]


def test_what_has_not_changed_is_not_sent_again(server: Address) -> None:
    first = server.get("/api/run", params={"name": "deep/hall"})
    headers = {"if-none-match": first.headers["etag"]}
    again = server.get("/api/run", params={"name": "deep/hall"}, headers=headers)
    assert (again.status_code, again.content) == (304, b"")


def test_the_page_and_all_that_it_imports_is_served(server: Address) -> None:
    assert "text/html" in server.get("/").headers["content-type"]
    main = server.get("/page/main.js")
    assert "javascript" in main.headers["content-type"]
    imported = re.findall(r'from "\./(\w+\.js)"', main.text)
    assert "watch.js" in imported
    for name in imported:
        assert server.get(f"/page/{name}").status_code == 200


def test_a_step_is_exactly_one_for_all_players(theatre: Page) -> None:
    theatre.open(HALL, EARLY)
    first = theatre.again(0)
    assert [player["step"] for player in first] == [0, 0]
    assert [player["step"] for player in theatre.step()] == [1, 1]
    assert [player["step"] for player in theatre.step(4)] == [5, 5]


def test_the_game_is_that_of_an_evaluation(theatre: Page, folder: Path) -> None:
    (game,) = play_games(load_agent(folder / "deep" / "hall"), [3], max_steps=12, workers=0)
    theatre.open(HALL, game=3)
    actions = [theatre.step()[0]["action"] for _ in range(12)]
    assert actions == game.actions


def test_an_agent_in_the_box_plays_as_it_was_evaluated(theatre: Page) -> None:
    (game,) = play_games(load_agent("agents:KeyHallway"), [3], max_steps=12, workers=0)
    theatre.open({"kind": "agent", "name": "KeyHallway"}, game=3)
    assert theatre.cast[0]["trained"] == find_shipped("KeyHallway").step
    assert [theatre.step()[0]["action"] for _ in range(12)] == game.actions


def test_a_seed_begins_the_same_game_again(theatre: Page) -> None:
    theatre.open(HALL)

    def play(game: int) -> list[int]:
        theatre.again(game)
        return [theatre.step()[0]["action"] for _ in range(10)]

    first = play(5)
    assert play(6) != first
    assert play(5) == first


def test_numbers_are_those_of_the_policy(theatre: Page, folder: Path) -> None:
    theatre.open(HALL)
    (shown,) = theatre.again(0, greedy=True)
    agent = load_agent(folder / "deep" / "hall")
    envs = agent.make_envs(1, seed=0, workers=0)
    observations, _ = envs.reset()
    assert shown["probabilities"] == pytest.approx(agent.policy(observations)[0], abs=1e-3)
    assert len(shown["values"]) == 1
    first = theatre.step()[0]
    assert first["action"] == int(np.argmax(shown["probabilities"]))


def test_an_action_is_told_with_the_numbers_that_it_was_chosen_by(theatre: Page) -> None:
    theatre.open(HALL)
    (begun,) = theatre.again(0, greedy=True)
    steps = [theatre.step()[0] for _ in range(8)]
    for name in ("probabilities", "values"):
        assert steps[0][name] == begun[name]
        assert len({str(step[name]) for step in steps}) > 1
    for step in steps:
        shares = step["probabilities"]
        assert shares[step["action"]] == max(shares)


def test_each_checkpoint_is_another_agent(theatre: Page) -> None:
    theatre.open(HALL)
    late = theatre.again(0)[0]["probabilities"]
    theatre.open(EARLY)
    assert theatre.cast[0]["trained"] == 200
    assert theatre.again(0)[0]["probabilities"] != late


def test_playing_shows_pictures_until_it_is_paused(theatre: Page) -> None:
    theatre.open(HALL)
    theatre.say("speed", times=4.0)
    theatre.say("play")
    steps = [theatre.numbers()[0]["step"] for _ in range(10)]
    assert steps == sorted(set(steps))
    theatre.say("pause")
    while theatre.hear("state")["playing"]:
        pass
    picture = cv2.imdecode(np.frombuffer(theatre.frames[-1].parts[0], np.uint8), 1)
    assert picture.shape == (48, 368, 3)


def test_a_person_moves_lights_tiles_and_waits_for_no_key_in_a_maze(server: Address) -> None:
    with page(server) as opened:
        opened.open(person("KeyHallway"))
        opened.say("keys", held=["right"], pressed=["right"])
        assert [opened.step()[0]["tiles"] for _ in range(3)] == [2, 3, 4]
        opened.say("keys", held=[], pressed=[])
        opened.say("play")
        opened.hear("state")
        with pytest.raises(TimeoutError):
            opened.receive(0.5)
        opened.say("keys", held=[], pressed=["right"])  # a tap is one step
        assert opened.numbers()[0]["tiles"] == 5
        with pytest.raises(TimeoutError):
            opened.receive(0.5)

        opened.open(person("Freeway"))
        opened.say("keys", held=["up"], pressed=["up"])
        (player,) = opened.step(12)
        assert player["tiles"] > 1
        assert len(player["boxes"]) == player["tiles"]
        assert player["action"] == opened.cast[0]["actions"].index("UP")


def test_a_page_that_is_loaded_again_finds_its_game_as_it_was(server: Address) -> None:
    with page(server) as before:
        before.open(person("CrossMaze"))
        before.say("keys", held=["left"], pressed=["left"])
        before.step()
        group = before.state["group"]
    with page(server) as after:
        after.say("attach", group=group)
        (cast,) = after.hear("cast")["players"]
        (player,) = after.numbers()
        assert (cast["world"], player["step"], player["tiles"]) == ("CrossMaze", 1, 2)
        with page(server) as stranger:
            stranger.say("attach", group="never given out")
            assert stranger.hear("gone")


def test_a_page_that_draws_nothing_gets_two_frames_and_then_the_newest(server: Address) -> None:
    with page(server) as opened:
        opened.open(person("Freeway"))
        opened.silent = True
        opened.frames.clear()
        opened.say("play")
        opened.hear("state")
        time.sleep(1.0)  # some 60 raw frames
        opened.until_silence(0.3)
        assert len(opened.frames) == 2
        opened.silent = False
        opened.say("seen", frame=opened.frames[-1].number)
        newest = opened.numbers()  # of the first whole step from then on
        assert newest[0]["step"] > 10


def test_a_hidden_page_stops_the_game_and_a_shown_one_goes_on(server: Address) -> None:
    with page(server) as opened:
        opened.open(person("Freeway"))
        opened.say("play")
        opened.numbers()
        opened.say("hide")
        opened.until_silence(0.4)
        at = opened.frames[-1].players[0]["step"]
        time.sleep(0.5)
        opened.say("show")
        assert opened.numbers()[0]["step"] == at + 1


def test_a_finished_game_stops_and_says_so(theatre: Page) -> None:
    theatre.open(HALL)
    theatre.say("speed", times=64.0)
    theatre.say("play")
    while not theatre.hear("state")["over"]:
        pass
    assert theatre.frames[-1].players[0]["over"]
    assert not theatre.state["playing"]


def test_a_run_that_cannot_be_read_is_told_and_hides_no_other(
    folder: Path, server: Address
) -> None:
    damaged = folder / "damaged"
    shutil.copytree(folder / "deep" / "hall", damaged)
    (damaged / "config.json").write_text("{")
    try:
        time.sleep(2.1)  # until it looks again
        runs = {run["name"]: run for run in server.ask("overview")["runs"]}
        assert "cannot be read" in runs["damaged"]["problem"]
        assert "problem" not in runs["deep/hall"]
        assert server.get("/api/run", params={"name": "damaged"}).status_code == 422
    finally:
        shutil.rmtree(damaged)


@contextmanager
def served_by(*command: str, cwd: Path | None = None) -> Iterator[tuple[str, str]]:
    """The address that a command prints, and the place in the page; it ends by Ctrl-C."""
    whole = [sys.executable, "-m", "deepcs", *command, "--no-browser"]
    process = subprocess.Popen(whole, stdout=subprocess.PIPE, text=True, cwd=cwd)
    try:
        assert process.stdout is not None
        address, mark, place = process.stdout.readline().split()[-1].partition("#")
        assert mark
        yield address, place
    finally:
        process.send_signal(signal.SIGINT)
        code = process.wait(PATIENCE)
    assert code == 130


def test_the_command_serves_what_it_was_asked_to_watch_until_ctrl_c(folder: Path) -> None:
    runs = [folder / "deep" / "hall", folder / "study" / "runs" / "KeyHallway-deepcs-paper-seed0"]
    with served_by("watch", *map(str, runs)) as (address, place):
        wanted = [f"run:{run.relative_to(folder)}" for run in runs]
        assert parse_qs(place.partition("?")[2]) == {"p": wanted}
        found = httpx.get(f"{address}api/overview", timeout=PATIENCE).json()["runs"]
        assert {f"run:{run['name']}" for run in found} >= set(wanted)


@pytest.mark.parametrize(
    ("command", "place"),
    [
        (["watch", "freeway", "agents:Freeway-plain"], "p=agent:Freeway&p=agent:Freeway-plain"),
        (["play"], "world=KeyHallway&game=0"),
        (["play", "montezuma_revenge", "--seed", "3"], "world=MontezumaRevenge&game=3"),
    ],
    ids=" ".join,
)
def test_watch_and_play_open_the_page_at_an_agent_or_a_game(
    command: list[str], place: str, tmp_path: Path
) -> None:
    with served_by(*command, cwd=tmp_path) as (_, opened):
        view, _, query = opened.partition("?")
        assert (view, parse_qs(query)) == (f"/{command[0]}", parse_qs(place))


def test_every_world_of_the_package_has_its_picture(server: Address) -> None:
    for world in server.ask("overview")["worlds"]:
        picture = server.get(f"/page/world-{world}.png")
        assert picture.headers["content-type"] == "image/png"


def test_a_page_that_leaves_while_its_players_load_leaves_no_traceback(
    server: Address, caplog: pytest.LogCaptureFixture
) -> None:
    with page(server) as opened:
        opened.open(HALL)
        for step in (200, 400):
            opened.say("step")
            opened.say("open", players=[{**HALL, "step": step}], game=0, greedy=False)
    with page(server) as later:
        later.open(HALL)  # the other has loaded its players before
    assert not [record for record in caplog.records if record.levelname == "ERROR"]
