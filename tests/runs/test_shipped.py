"""Agents in the box: packed with what they scored, found by name, and scoring that again."""

from __future__ import annotations

import csv
import hashlib
import importlib.util
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest
import yaml

from deepcs.cli.main import main
from deepcs.envs.mazes import MAZES
from deepcs.runs import shipped
from deepcs.runs.config import RunConfig
from deepcs.runs.errors import RunError
from deepcs.runs.evaluate import play_games
from deepcs.runs.shipped import ShippedAgent, shipped_agents
from deepcs.runs.train import train
from deepcs.runs.trained import load_agent

HALLWAY = RunConfig("KeyHallway", steps=400, actors=2, log_every=100, checkpoint_every=200)
TOOL = Path(__file__).parents[2] / "tools" / "pack_agent.py"
MOST_BYTES = 30_000_000


@pytest.fixture(scope="module")
def tool() -> ModuleType:
    spec = importlib.util.spec_from_file_location("pack_agent", TOOL)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def box(tool: ModuleType, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two agents: one packed as it is, one in half precision."""
    folder = tmp_path_factory.mktemp("agents")
    tool.RANDOM_GAMES = 16  # type: ignore[attr-defined]
    train(HALLWAY, folder / "run")
    for name, half in (("Whole", False), ("Half", True)):
        tool.pack(folder / "run", name, folder / "box", half=half, games=3)
    return folder / "box"


@pytest.fixture
def _in_the_box(box: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shipped, "BOX", box)


def scores(agent: ShippedAgent) -> list[float]:
    with (agent.path / "evaluation.csv").open(newline="") as lines:
        return [float(row["score"]) for row in csv.DictReader(lines)]


@pytest.mark.usefixtures("_in_the_box")
@pytest.mark.parametrize("name", ["agents:Whole", "agents:half"])
def test_a_packed_agent_is_loaded_by_name_and_scores_what_is_recorded(name: str) -> None:
    agent = load_agent(name)
    found = shipped.find_shipped(name)
    assert (agent.step, agent.config.world) == (400, "KeyHallway")
    games = play_games(agent, range(found.games), seed=found.seed, workers=0)
    assert [game.score for game in games] == scores(found)


@pytest.mark.usefixtures("_in_the_box")
def test_half_precision_is_half_the_bytes_and_nearly_the_same_policy(box: Path) -> None:
    sizes = [(box / name / "weights.safetensors").stat().st_size for name in ("Half", "Whole")]
    assert sizes[0] < 0.55 * sizes[1]
    seen = np.zeros((1, 4, 1, 21), np.uint8)
    half, whole = (load_agent(f"agents:{name}").policy(seen) for name in ("Half", "Whole"))
    assert half == pytest.approx(whole, abs=1e-2)


def test_the_card_has_the_head_that_hubs_read(box: Path) -> None:
    _, head, text = (box / "Whole" / "README.md").read_text().split("---\n", 2)
    (entry,) = yaml.safe_load(head)["model-index"]
    assert entry["name"] == "Whole"
    assert entry["results"][0]["metrics"][0]["type"] == "mean_reward"
    assert "# Whole" in text


@pytest.mark.usefixtures("_in_the_box")
def test_a_damaged_agent_is_refused(box: Path) -> None:
    path = box / "Half" / "weights.safetensors"
    whole = path.read_bytes()
    path.write_bytes(whole[:-1] + bytes([whole[-1] ^ 1]))
    try:
        with pytest.raises(RunError, match="damaged"):
            load_agent("agents:Half")
    finally:
        path.write_bytes(whole)


@pytest.mark.usefixtures("_in_the_box")
def test_they_are_listed_evaluated_and_recorded(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    main(["agents"])
    assert "Whole" in capsys.readouterr().out
    main(["evaluate", "agents:Whole", "--games", "2", "--workers", "0"])
    main(["record", "agents:Whole"])
    assert {path.name for path in tmp_path.iterdir()} == {"Whole-evaluation.csv", "Whole.mp4"}


@pytest.mark.usefixtures("_in_the_box")
def test_an_unknown_name_is_refused_with_the_nearest() -> None:
    with pytest.raises(RunError, match="the nearest is agents:Whole"):
        load_agent("agents:Whale")


def test_the_list_fits_a_terminal_of_80_columns(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    main(["agents"])
    assert "…" not in capsys.readouterr().out


def test_all_agents_together_are_small() -> None:
    files = [path for path in shipped.BOX.rglob("*") if path.is_file()]
    assert sum(path.stat().st_size for path in files) <= MOST_BYTES


AGENTS = shipped_agents()


@pytest.mark.parametrize("agent", AGENTS, ids=lambda agent: agent.name)
def test_an_agent_of_the_package_is_whole(agent: ShippedAgent) -> None:
    listed = dict(
        reversed(line.split("  ")) for line in (agent.path / "sha256.txt").read_text().splitlines()
    )
    files = {path.name for path in agent.path.iterdir()} - {"sha256.txt"}
    assert listed.keys() == files
    for name, digest in listed.items():
        assert hashlib.sha256((agent.path / name).read_bytes()).hexdigest() == digest
    recorded = scores(agent)
    assert (len(recorded), float(np.median(recorded))) == (agent.games, agent.median)


def play(agent: ShippedAgent, games: int) -> list[float]:
    loaded = load_agent(f"agents:{agent.name}")
    played = play_games(loaded, range(games), seed=agent.seed, greedy=agent.greedy)
    return [game.score for game in played]


@pytest.mark.parametrize("name", MAZES)  # a game of Atari takes 20 s
def test_an_agent_of_the_package_scores_what_is_recorded(name: str) -> None:
    agent = shipped.find_shipped(f"agents:{name}")
    assert play(agent, 2) == scores(agent)[:2]


@pytest.mark.long
@pytest.mark.parametrize("agent", AGENTS, ids=lambda agent: agent.name)
def test_an_agent_of_the_package_scores_what_is_recorded_in_all_games(agent: ShippedAgent) -> None:
    assert play(agent, agent.games) == scores(agent)
