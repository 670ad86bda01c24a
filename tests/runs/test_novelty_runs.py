"""Runs under each kind of novelty: the same for any number of processes, killed or not."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import pytest
from trainee import assert_same_run, train_with_kills

from deepcs.agents.ppo import PPOSettings
from deepcs.cli.main import main
from deepcs.curiosity.novelty import Novelty
from deepcs.runs.config import RunConfig
from deepcs.runs.effects import check_effects, check_named
from deepcs.runs.evaluate import evaluate
from deepcs.runs.folder import RunFolder, Segment
from deepcs.runs.load import load_run
from deepcs.runs.saved_config import from_json, to_json
from deepcs.runs.train import train
from deepcs.runs.trained import load_agent
from deepcs.runs.treatment import TREATMENTS

OURS = [name for name, each in TREATMENTS.items() if not each.is_of_the_paper]
# Codes are handed out within the run, and games of 160 steps end in it.
HALLWAY = RunConfig("KeyHallway", steps=2_000, actors=4, shards=4, log_every=300)
HALLWAY = replace(HALLWAY, checkpoint_every=200)
ATARI = RunConfig("Freeway", steps=160, actors=4, shards=2, max_frames=60, log_every=80)
ATARI = replace(ATARI, checkpoint_every=40)


def under(config: RunConfig, treatment: str) -> RunConfig:
    code = Novelty(code_every=7) if treatment == "deepcs-hash" else Novelty()
    return replace(config, treatment=treatment, novelty=code)


def train_settings(capsys: pytest.CaptureFixture[str], *words: str) -> tuple[int, str]:
    with pytest.raises(SystemExit) as end:
        main(["train", *words])
    return int(end.value.code or 0), capsys.readouterr().err


@pytest.mark.long
@pytest.mark.parametrize("treatment", OURS)
def test_a_killed_run_ends_with_the_same_bytes_in_1_2_and_4_processes(
    treatment: str, tmp_path: Path
) -> None:
    config = under(HALLWAY, treatment)
    train(config, tmp_path / "1", workers=1)
    train(config, tmp_path / "2", workers=2)
    assert_same_run(tmp_path / "1", tmp_path / "2")
    kills, _ = train_with_kills(
        config, tmp_path / "killed", ["while saving"], Random(treatment), workers=4
    )
    assert kills == 1
    assert_same_run(tmp_path / "1", tmp_path / "killed")


@pytest.mark.long
@pytest.mark.parametrize("treatment", OURS)
def test_a_killed_atari_run_ends_with_the_same_bytes(treatment: str, tmp_path: Path) -> None:
    config = under(ATARI, treatment)
    train(config, tmp_path / "whole", workers=1)
    moments = ["after a checkpoint"]
    kills, _ = train_with_kills(config, tmp_path / "killed", moments, Random(treatment), workers=2)
    assert kills == 1
    assert_same_run(tmp_path / "whole", tmp_path / "killed")


@pytest.mark.parametrize("treatment", [pytest.param("hybrid", marks=pytest.mark.long), "rnd"])
def test_processes_change_nothing_under_ppo_with_two_values(treatment: str, tmp_path: Path) -> None:
    learner = PPOSettings(n_steps=10, minibatch=20, epochs=1)
    config = replace(HALLWAY, treatment=treatment, agent="ppo", learner=learner, shards=2)
    config = replace(config, steps=400)
    train(config, tmp_path / "1", workers=1)
    train(config, tmp_path / "2", workers=2)
    assert_same_run(tmp_path / "1", tmp_path / "2")


def test_the_log_says_what_the_treatment_calls_i(tmp_path: Path) -> None:
    config = replace(HALLWAY, steps=700, shards=1)
    train(replace(config, treatment="deepcs"), tmp_path / "life")
    train(replace(config, treatment="hybrid"), tmp_path / "both")
    life, both = (load_run(tmp_path / name).games for name in ("life", "both"))
    assert (life["intrinsic"] == life["tiles"] - 1).all()
    # Each new tile pays 1/√N, which is below 1 from the second actor's visit on.
    assert (both["intrinsic"] < both["tiles"] - 1).all()
    assert (both["intrinsic"] > 0).all()


def test_a_game_without_positions_is_trained_on_and_played_by_its_pixels(tmp_path: Path) -> None:
    config = RunConfig("frostbite", treatment="deepcs-pixels", steps=40, actors=2, shards=1)
    config = replace(config, max_frames=40, log_every=20)
    train(config, tmp_path / "run")
    agent = load_agent(tmp_path / "run")
    novelty = agent.config.novelty
    assert agent.config.world == "Frostbite"
    assert None not in (novelty.width, novelty.height, novelty.levels)
    (game,) = evaluate(agent, games=1, workers=0).games
    assert (game.tiles, game.rooms) == (0, ())
    assert game.intrinsic >= 1
    assert len(load_run(tmp_path / "run").games["step"]) >= 2


def test_a_run_that_is_trained_on_keeps_the_cells_chosen_where_it_began(tmp_path: Path) -> None:
    config = replace(HALLWAY, treatment="deepcs-pixels", steps=200, shards=1)
    train(config, tmp_path / "run")
    assert train(replace(config, steps=400), tmp_path / "run") is None
    with pytest.raises(ValueError, match="holds a run of other settings"):
        train(replace(config, novelty=Novelty(levels=3)), tmp_path / "run")


@pytest.mark.parametrize("treatment", TREATMENTS)
def test_settings_come_back_from_json(treatment: str) -> None:
    config = RunConfig("KeyHallway", treatment=treatment).resolved()
    assert from_json(to_json(config)) == config
    assert ("novelty" in to_json(config)) == (treatment in OURS)


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["Frostbite"], "in which deepcs does not know where the player is, for treatment deepcs"),
        (["Frostbite", "--treatment", "counts"], "choose one that needs none: plain"),
        (["KeyHallway", "--novelty.half-life", "5"], "no effect without novelty.lifetime"),
        (["KeyHallway", "--treatment", "fading", "--novelty.half-life", "0"], "above 0"),
        (["KeyHallway", "--treatment", "counts", "--graded"], "pays nothing for novelty in this"),
        (["KeyHallway", "--treatment", "plain", "--novelty.across", "rnd"], "pays nothing intrin"),
        (["KeyHallway", "--treatment", "count"], "the nearest is counts"),
    ],
)
def test_what_makes_no_sense_is_refused_in_one_sentence(
    words: list[str], sentence: str, capsys: pytest.CaptureFixture[str]
) -> None:
    code, said = train_settings(capsys, *words)
    assert code == 2
    assert sentence in said.replace("\n", " ")


FREEWAY, HALL = ["Freeway", "--treatment"], ["KeyHallway", "--treatment"]


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        ([*HALL, "plain", "--novelty.place", "pixels"], "Got novelty.place 'pixels' for treatment"),
        ([*HALL, "plain", "--novelty.place", "hash"], "neither pays nor shows novelty, so that"),
        ([*HALL, "plain", "--novelty.lifetime", "life"], "only the logged intrinsic reward would"),
        ([*HALL, "plain", "--novelty.lifetime", "fading"], "Got novelty.lifetime 'fading' for tr"),
        ([*HALL, "plain", "--graded"], "Got graded for treatment plain, which pays nothing intr"),
        ([*HALL, "no-intrinsic", "--graded"], "Got graded for treatment no-intrinsic, which pays"),
        ([*FREEWAY, "plain", "--grid", "stacked"], "Got grid 'stacked' for treatment plain, which"),
        ([*FREEWAY, "rnd", "--grid", "stacked"], "for treatment rnd, which shows no grid; leave"),
        ([*FREEWAY, "deepcs-pixels", "--grid", "stacked"], "'pixels', whose plane already shows"),
        ([*FREEWAY, "deepcs-hash", "--grid", "stacked"], "'hash', whose plane already shows"),
        ([*FREEWAY, "deepcs-pixels", "--tile", "8"], "Got tile 8 with novelty.place 'pixels', wh"),
        ([*FREEWAY, "deepcs-hash", "--tile", "8"], "so that only the logged number of tiles would"),
        (["Frostbite", "--treatment", "plain", "--tile", "8"], "Got tile 8 for Frostbite, in wh"),
        ([*HALL, "counts", "--novelty.across", "none"], "make it no-grid under another"),
        ([*HALL, "hybrid", "--novelty.across", "none"], "choose treatment deepcs."),
        ([*HALL, "deepcs-pixels", "--novelty.place", "position"], "make it deepcs under another"),
        ([*HALL, "fading", "--novelty.lifetime", "game"], "choose treatment deepcs."),
        ([*HALL, "deepcs", "--novelty.lifetime", "never"], "choose treatment never-reset."),
        ([*HALL, "hybrid", "--novelty.combine", "across"], "choose treatment counts+grid."),
        ([*HALL, "counts", "--novelty.across", "rnd"], "choose treatment rnd."),
        ([*HALL, "counts", "--novelty.lifetime", "game"], "Got novelty.lifetime 'game' for treat"),
    ],
)
def test_a_setting_without_effect_is_refused_before_anything_is_written(
    words: list[str],
    sentence: str,
    capsys: pytest.CaptureFixture[str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(tmp_path)
    code, said = train_settings(capsys, *words, "--steps", "80")
    assert code == 2
    assert sentence in said.replace("\n", " ")
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    "settings",
    [
        {"treatment": "plain", "tile": 8},  # counts tiles as the runs that it is compared with
        {"treatment": "no-grid", "graded": True},
        {"treatment": "no-intrinsic", "grid": "stacked"},
        {"treatment": "no-intrinsic", "novelty": Novelty(place="pixels", lifetime="never")},
        {"treatment": "counts", "novelty": Novelty(place="pixels")},
        {"treatment": "deepcs-pixels", "tile": 20},  # Freeway's own
    ],
)
def test_a_setting_with_an_effect_is_not_refused(settings: dict[str, Any]) -> None:
    check_effects(RunConfig("Freeway", **settings).resolved())


@pytest.mark.parametrize("name", TREATMENTS)
def test_every_treatment_goes_by_its_own_name(name: str) -> None:
    check_named(RunConfig("KeyHallway", treatment=name))


def test_choices_of_no_treatment_go_by_the_name_of_the_one_they_are_made_from() -> None:
    for treatment, novelty in (
        ("hybrid", Novelty(across="rnd")),
        ("counts", Novelty(place="pixels")),
        ("deepcs-pixels", Novelty(lifetime="life")),
        ("fading", Novelty(half_life=5.0)),
    ):
        check_named(RunConfig("KeyHallway", treatment=treatment, novelty=novelty))


def test_a_run_saved_before_such_settings_were_refused_is_still_read(tmp_path: Path) -> None:
    config = replace(HALLWAY, treatment="plain", graded=True).resolved()
    with pytest.raises(ValueError, match="Got graded for treatment plain"):
        config.fitted()
    folder = RunFolder(tmp_path / "run")
    folder.path.mkdir()
    folder.write_config(config, [Segment(0, config.steps)])
    assert load_run(tmp_path / "run").config == config


def test_rnd_without_pixels_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="which have no pixels"):
        train(RunConfig("own_envs:counting", treatment="rnd", steps=40), tmp_path / "run")


@pytest.mark.parametrize(
    ("treatment", "novelty", "sentence"),
    [
        ("hybrid", Novelty(across="rnd"), "Got grid True for .* stay black; choose place='pixels'"),
        ("counts+grid", Novelty(across="rnd"), "Got grid True for .*, where nothing tells where"),
        ("no-grid", Novelty(across="rnd", combine="sum"), "does not tell where the player is, by"),
    ],
)
def test_what_goes_by_position_is_refused_in_an_own_image_that_tells_none(
    treatment: str, novelty: Novelty, sentence: str, tmp_path: Path
) -> None:
    config = RunConfig("own_envs:bare_image", treatment=treatment, novelty=novelty, steps=40)
    with pytest.raises(ValueError, match=sentence):
        train(config, tmp_path / "run")


@pytest.mark.parametrize("treatment", ["rnd", "pseudo-counts", "deepcs-pixels"])
def test_what_goes_by_frames_alone_is_trained_in_an_own_image_that_tells_no_position(
    treatment: str, tmp_path: Path
) -> None:
    config = RunConfig("own_envs:bare_image", treatment=treatment, steps=200, actors=2, shards=1)
    train(replace(config, log_every=100), tmp_path / "run")
    assert load_run(tmp_path / "run").games["intrinsic"].max() > 0


def test_the_intrinsic_sums_of_games_survive_a_resume(tmp_path: Path) -> None:
    config = replace(HALLWAY, treatment="counts", shards=1, steps=1_400, checkpoint_every=500)
    train(config, tmp_path / "whole")
    train(replace(config, steps=500), tmp_path / "parts")
    train(config, tmp_path / "parts")
    whole, parts = (load_run(tmp_path / name).games["intrinsic"] for name in ("whole", "parts"))
    assert np.array_equal(whole, parts)
