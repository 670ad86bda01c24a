"""--precision: what it comes to, what it refuses, and what a run keeps of it."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from deepcs.agents.table import find_agent
from deepcs.runs.config import RunConfig
from deepcs.runs.errors import RunError
from deepcs.runs.evaluate import evaluate
from deepcs.runs.folder import RunFolder, identity_of, settings_digest
from deepcs.runs.precision import choose_precision
from deepcs.runs.progress import Silence
from deepcs.runs.saved_config import to_json
from deepcs.runs.train import resume, train
from deepcs.runs.trained import load_agent

HALLWAY = RunConfig("KeyHallway", steps=400, actors=4, log_every=200, checkpoint_every=200)
OBSTACLES = {
    "cuda": ("a2c", "fast", "cuda", "amx_bf16", "is for the CPU"),
    "acktr": ("acktr", "fast", "cpu", "amx_bf16", "acktr needs float32"),
    "joint": ("a2c", "joint", "cpu", "amx_bf16", "this is joint"),
    "emulated": ("a2c", "fast", "cpu", None, "no instructions for bfloat16"),
}


@pytest.fixture
def another_cpu(monkeypatch: pytest.MonkeyPatch) -> None:
    """A CPU that would emulate bfloat16."""
    monkeypatch.setattr("deepcs.runs.precision.bfloat16_instructions", lambda: None)


class Heard(Silence):
    def __init__(self) -> None:
        self.said: list[str] = []

    def say(self, text: str) -> None:
        self.said.append(text)


def test_auto_is_bfloat16_where_the_cpu_multiplies_it() -> None:
    choice = choose_precision("auto", find_agent("a2c"), "fast", "cpu", "avx512_bf16")
    assert choice.precision == "bfloat16"
    assert "avx512_bf16" in choice.why


def test_auto_is_float32_for_small_observations_and_bfloat16_is_not_refused_there() -> None:
    rest = find_agent("a2c"), "fast", "cpu", "avx512_bf16"
    choice = choose_precision("auto", *rest, small=True)
    assert (choice.precision, "small observations" in choice.why) == ("float32", True)
    assert choose_precision("bfloat16", *rest, small=True).precision == "bfloat16"


@pytest.mark.parametrize(
    ("world", "precision"), [("KeyHallway", "float32"), ("Freeway", "bfloat16")]
)
def test_auto_looks_at_the_worlds_observations(
    world: str, precision: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("deepcs.runs.precision.bfloat16_instructions", lambda: "avx512_bf16")
    config = RunConfig(world, precision="auto", device="cpu").resolved().fitted()
    assert config.precision == precision


@pytest.mark.parametrize("obstacle", OBSTACLES.values(), ids=OBSTACLES)
def test_elsewhere_auto_is_float32_and_bfloat16_is_refused(
    obstacle: tuple[str, str, str, str | None, str],
) -> None:
    agent, network, device, instructions, why = obstacle
    rest = find_agent(agent), network, device, instructions
    choice = choose_precision("auto", *rest)
    assert choice.precision == "float32"
    assert why in choice.why
    with pytest.raises(ValueError, match=why):
        choose_precision("bfloat16", *rest)
    assert choose_precision("float32", *rest).precision == "float32"


@pytest.mark.usefixtures("another_cpu")
def test_a_run_says_what_auto_came_to_and_keeps_it(tmp_path: Path) -> None:
    heard = Heard()
    train(replace(HALLWAY, precision="auto"), tmp_path / "run", display=heard)
    assert heard.said == [
        "Precision float32: this CPU has no instructions for bfloat16 (avx512_bf16 or AMX)."
    ]
    assert json.loads((tmp_path / "run/config.json").read_text())["config"]["precision"] == (
        "float32"
    )
    heard = Heard()
    train(replace(HALLWAY, precision="auto", steps=600), tmp_path / "run", display=heard)
    assert heard.said == []
    assert RunFolder(tmp_path / "run").read_config().config.steps == 600


@pytest.mark.usefixtures("another_cpu")
def test_bfloat16_is_refused_where_it_would_be_emulated_before_anything_is_written(
    tmp_path: Path,
) -> None:
    with pytest.raises(ValueError, match="no instructions for bfloat16"):
        train(replace(HALLWAY, precision="bfloat16"), tmp_path / "run")
    assert not (tmp_path / "run").exists()


@pytest.mark.usefixtures("another_cpu")
def test_a_run_of_another_cpu_is_not_resumed_in_emulation(tmp_path: Path) -> None:
    config = replace(HALLWAY.resolved().fitted(), precision="bfloat16")
    RunFolder(tmp_path).write_config(config, ())
    with pytest.raises(RunError, match="begun in bfloat16, for which this CPU has no instructions"):
        resume(tmp_path)


def test_any_cpu_plays_what_was_trained_in_bfloat16(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("deepcs.runs.precision.bfloat16_instructions", lambda: "emulated")
    train(replace(HALLWAY, precision="bfloat16"), tmp_path)
    here = load_agent(tmp_path)
    monkeypatch.setattr("deepcs.runs.precision.bfloat16_instructions", lambda: None)
    there = load_agent(tmp_path)
    first, second = (evaluate(agent, games=2) for agent in (here, there))
    assert [game.steps for game in first.games] == [game.steps for game in second.games]
    assert RunFolder(tmp_path).read_config().config.precision == "bfloat16"


def test_an_unknown_precision_is_refused() -> None:
    with pytest.raises(ValueError, match="Got precision 'half'; choose float32, bfloat16, auto"):
        replace(HALLWAY, precision="half").check()  # type: ignore[arg-type]


def test_runs_of_before_there_was_a_choice_are_those_of_float32() -> None:
    config = HALLWAY.resolved().fitted()
    settings = json.loads(json.dumps(to_json(config)))
    older = {key: value for key, value in settings.items() if key not in ("precision", "preset")}
    assert identity_of(older) == identity_of(settings) == settings_digest(config)
    assert identity_of(settings | {"precision": "bfloat16"}) != identity_of(settings)
