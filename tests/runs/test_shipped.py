"""Agents in the box: packed with what they scored, found by name, and scoring that again."""

from __future__ import annotations

import csv
import gzip
import hashlib
import importlib.util
import shutil
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest
import yaml

from deepcs.analysis.published import counterpart
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


def test_a_row_that_is_still_being_written_is_not_packed(tool: ModuleType) -> None:
    log = b"step,score\n100,1\n200,2\n"
    assert tool._rows_until(log + b"12", 200) == log
    assert tool._rows_until(log, 100) == b"step,score\n100,1\n"


def test_a_run_whose_logs_are_kept_compressed_is_packed_as_it_was(
    tool: ModuleType, box: Path, tmp_path: Path
) -> None:
    run = tmp_path / "run"
    shutil.copytree(box.parent / "run", run)
    for name in ("games.csv", "curve.csv"):
        (run / f"{name}.gz").write_bytes(gzip.compress((run / name).read_bytes()))
        (run / name).unlink()
    tool.pack(run, "Kept", tmp_path / "box", half=False, games=1)
    for name in ("games.csv.gz", "curve.csv"):
        packed = (tmp_path / "box" / "Kept" / name).read_bytes()
        assert packed == (box / "Whole" / name).read_bytes()


def test_a_run_that_lacks_a_log_leaves_nothing_half_packed(
    tool: ModuleType, box: Path, tmp_path: Path
) -> None:
    shutil.copytree(box.parent / "run", tmp_path / "run")
    (tmp_path / "run" / "games.csv").unlink()
    with pytest.raises(FileNotFoundError):
        tool.pack(tmp_path / "run", "Lacking", tmp_path / "box", half=False, games=1)
    assert not (tmp_path / "box").exists()


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


@pytest.mark.parametrize("agent", AGENTS, ids=lambda agent: agent.name)
def test_the_card_of_an_agent_of_the_package_has_its_scores_in_its_head(
    agent: ShippedAgent,
) -> None:
    _, head, _ = (agent.path / "README.md").read_text().split("---\n", 2)
    told = yaml.safe_load(head)
    assert (told["library_name"], told["license"]) == ("deepcs", "mit")
    assert told["pipeline_tag"] == "reinforcement-learning"
    (entry,) = told["model-index"]
    (result,) = entry["results"]
    (metric,) = result["metrics"]
    recorded = scores(agent)
    assert (entry["name"], result["dataset"]["name"]) == (agent.name, agent.world)
    assert metric["type"] == "mean_reward"
    assert metric["value"] == f"{np.mean(recorded):.2f} +/- {np.std(recorded):.2f}"


@pytest.mark.parametrize("agent", AGENTS, ids=lambda agent: agent.name)
def test_the_card_of_an_agent_of_the_package_has_the_papers_score_that_belongs_beside_it(
    agent: ShippedAgent,
) -> None:
    text = (agent.path / "README.md").read_text()
    found = [line for line in text.splitlines() if "in the paper" in line]
    beside = counterpart(agent.world, agent.treatment)
    if beside is None:
        assert not found
        return
    (row,) = found
    assert row.startswith(f"| {beside.method} in the paper, ")
    assert row.endswith(f" | {beside.score.points:,} |")


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
