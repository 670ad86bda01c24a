"""Presets: other defaults, which every given setting goes before."""

from __future__ import annotations

import dataclasses
import re
import sys
from pathlib import Path
from typing import Any

import pytest

from deepcs.agents.ppo import PPOSettings
from deepcs.cli.arguments import parse
from deepcs.cli.runs import Train
from deepcs.runs.choices import check_weights_are_used
from deepcs.runs.config import RunConfig
from deepcs.runs.folder import RunFolder
from deepcs.runs.presets import PRESETS
from deepcs.runs.saved_config import from_json, to_json
from deepcs.runs.train import resume, train
from deepcs.studies.experiment import StudyError
from deepcs.studies.study import read_study


def typed(*arguments: str) -> RunConfig:
    """What `deepcs train` makes of them."""
    command: Any = parse(Train.for_arguments(arguments), arguments, "deepcs train")
    return dataclasses.replace(command.config, learner=command.learner)


def in_study(lines: str, world: str = "Venture", run: int = 0) -> RunConfig:
    table = f'worlds = ["{world}"]\ntreatments = ["deepcs"]\nseeds = 1\nsteps = "10k"\n'
    return read_study("mine", f"[[experiments]]\n{table}{lines}").runs[run].config


@pytest.mark.parametrize("name", PRESETS)
def test_a_preset_can_be_trained_as_it_is(name: str) -> None:
    world = "Venture" if PRESETS[name].worlds == "games" else "KeyHallway"
    RunConfig.from_preset(name, world).resolved().fitted()


@pytest.mark.parametrize(
    "world", ["Seaquest", "MontezumaRevenge", "montezuma_revenge", "Frostbite"]
)
def test_command_line_python_and_study_mean_the_same_by_it(world: str) -> None:
    treatment = "deepcs" if world != "Frostbite" else "deepcs-pixels"
    config = RunConfig.from_preset(
        "fast", world, steps=10_000, shards=1, treatment=treatment
    ).resolved()
    assert config.agent == "ppo"
    arguments = ["--preset", "fast", "--treatment", treatment, "--steps", "10k", "--shards=1"]
    assert typed(*arguments, world).resolved() == config
    assert typed(world, *arguments).resolved() == config
    if treatment == "deepcs":
        study = in_study('preset = "fast"', world)
        assert dataclasses.replace(study, device=config.device) == config


def test_a_world_may_have_numbers_of_its_own_in_a_preset() -> None:
    fast = PRESETS["fast"]
    for world, numbers in (("Seaquest", fast.numbers), *fast.own.items()):
        config = RunConfig.from_preset("fast", world).resolved()
        assert {name: getattr(config, name) for name in numbers.settings} == numbers.settings
        assert {name: getattr(config.learner, name) for name in numbers.learner} == numbers.learner
    assert fast.own["MontezumaRevenge"] != fast.numbers
    assert fast.numbers_in("mine:make") == fast.numbers


def test_what_is_given_goes_before_the_preset_even_if_it_is_the_papers_default() -> None:
    config = typed("Venture", "--preset=fast", "--actors", "16", "--ppo.epochs", "4").resolved()
    assert (config.actors, config.learner.epochs) == (16, 4)
    assert config.learner.learning_rate == PRESETS["fast"].own["Venture"].learner["learning_rate"]
    own = RunConfig.from_preset("fast", "Venture", actors=16, learner={"epochs": 4}).resolved()
    assert own == config
    whole = RunConfig.from_preset("maze", "KeyHallway", learner=PPOSettings()).resolved()
    assert whole.learner == PPOSettings().resolved()
    study = in_study('preset = "fast"\nsettings = { actors = 16, ppo.epochs = 4 }')
    assert dataclasses.replace(study, device=config.device, steps=config.steps) == (
        dataclasses.replace(config, shards=1)
    )


@pytest.mark.parametrize("world", ["Freeway", "MontezumaRevenge"])
def test_with_one_value_a_presets_numbers_of_two_are_left_out(world: str) -> None:
    """On the command line, in Python, and in a study's settings and its sweep."""
    expected = RunConfig.from_preset("fast", world, learner={"values": "one"}).resolved().learner
    assert (expected.values, expected.gamma) == ("one", 0.99)
    assert (expected.gamma_game, expected.weight_intrinsic) == (None, None)
    assert expected.entropy == RunConfig.from_preset("fast", world).learner.entropy
    typed_in = typed(world, "--preset", "fast", "--ppo.values", "one").resolved()
    assert typed_in.learner == expected
    assert in_study('preset = "fast"\nsettings = { ppo.values = "one" }', world).learner == expected
    swept = 'preset = "fast"\nsweep = { ppo.values = ["one", "two"] }'
    assert in_study(swept, world).learner == expected
    two = RunConfig.from_preset("fast", world).resolved().learner
    assert in_study(swept, world, run=1).learner == two


def test_what_has_no_effect_with_one_value_is_refused_where_somebody_gives_it() -> None:
    given = {"values": "one", "gamma_game": 0.99}  # as the preset has it
    with pytest.raises(ValueError, match=r"Got ppo\.gamma_game 0\.99, which has no effect"):
        RunConfig.from_preset("fast", "Freeway", learner=given).resolved()
    with pytest.raises(ValueError, match=r"Got ppo\.gamma_game 0\.99, which has no effect"):
        typed("Freeway", "--preset=fast", "--ppo.values=one", "--ppo.gamma-game=0.99").resolved()
    with pytest.raises(StudyError, match=r"Got ppo\.gamma_game 0\.99, which has no effect"):
        in_study('preset = "fast"\nsettings = { ppo.values = "one", ppo.gamma_game = 0.99 }')


def test_the_help_shows_the_presets_defaults_in_the_world_that_is_named(
    capsys: pytest.CaptureFixture[str],
) -> None:
    for world, entropy in (("Freeway", "0.02:0.001"), ("Seaquest", "0.003")):
        with pytest.raises(SystemExit):
            typed(world, "--preset", "fast", "--help")
        shown = " ".join(re.sub(r"[│╭╮╰╯─]", " ", capsys.readouterr().out).split())
        assert f"(default: {entropy})" in shown[shown.index("--ppo.entropy") :][:300]


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (("--preset", "fast"), None),  # whose weight of I holds for all treatments
        (("--preset=fast", "--ppo.weight-intrinsic=0.3"), r"Got ppo\.weight_intrinsic 0\.3 for"),
        (("--agent=ppo", "--ppo.weight-intrinsic=0.2"), r"Got ppo\.weight_intrinsic 0\.2 for"),
        (("--agent=ppo", "--ppo.gamma-intrinsic=0.9"), r"Got ppo\.gamma_intrinsic 0\.9 for"),
        (("--weight", "0.5"), r"Got weight 0\.5 for"),
        (("--weight", "equal"), None),  # says that R is clipped
    ],
)
def test_weights_that_plain_has_no_use_for_are_refused_unless_the_preset_has_them(
    arguments: tuple[str, ...], sentence: str | None
) -> None:
    config = typed("Freeway", "--treatment", "plain", *arguments)
    if sentence is None:
        check_weights_are_used(config)
        return
    with pytest.raises(ValueError, match=f"{sentence} treatment plain, whose learner is paid no"):
        check_weights_are_used(config)


def numbers_in(text: str) -> set[float]:
    found = re.findall(r"\d+(?:,\d{3})*(?:\.\d+)?(?:e-\d+)?", text)
    return {float(each.replace(",", "")) for each in found}


def test_the_table_in_the_details_has_every_number_of_the_presets() -> None:
    page = (Path(__file__).parents[2] / "docs" / "details.md").read_text()
    section = page[page.index("## Presets") :].partition("\n## ")[0]
    rows = re.findall(r"^ +\| (?:`\w+` )?\| .*$", section, re.MULTILINE)
    fast, maze = PRESETS["fast"], PRESETS["maze"]
    usual = RunConfig.from_preset("fast", "Seaquest").resolved()
    own = RunConfig.from_preset("fast", "MontezumaRevenge").resolved()
    names = fast.numbers.learner.keys() | fast.own["MontezumaRevenge"].learner.keys()
    of_usual = [*fast.numbers.settings.values(), *fast.numbers.learner.values(), fast.max_frames]
    expected = [
        [*of_usual, fast.own["Freeway"].learner["entropy"], usual.learner.weight_game],
        [own.actors, *(getattr(own.learner, name) for name in names)],
        [*maze.numbers.settings.values(), *maze.numbers.learner.values()],
    ]
    for row, values in zip(rows, expected, strict=True):
        assert numbers_in(" ".join(map(str, values))) <= numbers_in(row), row
    assert fast.own["Venture"] == fast.own["MontezumaRevenge"]  # which share a row


def test_a_preset_shortens_games_but_not_those_of_ones_own_environment() -> None:
    assert typed("Venture", "--preset", "fast").resolved().max_frames == 18_000
    given = "--preset", "fast", "--max-frames", "400000"
    assert typed("Venture", *given).resolved().max_frames == 400_000
    assert typed("mine:make", "--preset", "fast").resolved().max_frames is None


def test_what_a_game_of_ones_own_is_decides_its_preset_once_it_may_be_imported(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "snow.py").write_text("import deepcs\nGAME = deepcs.game('Venture')\n")
    monkeypatch.chdir(tmp_path)
    fast, maze = (RunConfig.from_preset(name, "snow:GAME") for name in ("fast", "maze"))
    for config in (fast, maze):
        config.check()
        assert "snow" not in sys.modules  # as where a folder is only looked at
    with pytest.raises(ValueError, match="nobody has allowed"):
        fast.actor_settings()
    assert fast.resolved().max_frames == 18_000
    with pytest.raises(ValueError, match="which is for mazes; for games choose fast"):
        maze.resolved()
    again = RunConfig.from_preset("fast", "snow:GAME")  # its numbers do not depend on what is known
    assert again == fast
    assert again.resolved().learner.learning_rate == fast.resolved().learner.learning_rate


def test_without_a_preset_the_papers_numbers_stay() -> None:
    assert typed("Venture").resolved() == RunConfig("Venture").resolved()
    assert typed("Venture", "--preset", "None").resolved().preset is None


def test_a_run_records_its_preset_and_goes_on_with_it(tmp_path: Path) -> None:
    config = RunConfig.from_preset(
        "maze", "KeyHallway", actors=2, steps=64, learner={"n_steps": 16, "minibatch": 32}
    )
    assert train(config, tmp_path) is None
    assert resume(tmp_path, steps=96) is None
    saved = RunFolder(tmp_path).read_config().config
    assert saved.preset == "maze"
    assert saved.learner.learning_rate == PRESETS["maze"].numbers.learner["learning_rate"]
    assert from_json(to_json(saved)) == saved
    assert saved.name == "KeyHallway-maze-deepcs-paper-seed0"


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (("Venture", "--preset", "zzz"), "Got preset 'zzz'; choose one of fast, maze"),
        (("Venture", "--preset", "fats"), "Got preset 'fats'; the nearest is fast: choose one of"),
        (("Venture", "--preset", "fast", "--agent", "a2c"), "which is one of ppo; leave one of"),
        (("KeyHallway", "--preset", "fast"), "which is for games; for mazes choose maze."),
        (("Venture", "--preset", "maze"), "which is for mazes; for games choose fast."),
    ],
)
def test_a_preset_that_does_not_fit_is_refused(arguments: tuple[str, ...], sentence: str) -> None:
    with pytest.raises(ValueError, match=sentence):
        typed(*arguments).resolved()


@pytest.mark.parametrize(
    ("agent", "sentence"),
    [
        ("a2c", r"RunConfig\.from_preset sets what belongs"),
        ("ppo", r"make it by RunConfig\.from_pr"),
    ],
)
def test_naming_a_preset_without_its_settings_is_refused(agent: str, sentence: str) -> None:
    with pytest.raises(ValueError, match=sentence):
        RunConfig("Venture", preset="fast", agent=agent).resolved()


@pytest.mark.parametrize(
    ("lines", "sentence"),
    [
        ('preset = "fats"', "mine.toml, experiment 1: Got preset 'fats'; the nearest is fast"),
        ("preset = 3", "Got preset 3; choose one of fast"),
        ('preset = "fast"\nagents = ["a2c"]', "Got agent 'a2c' with preset 'fast'"),
        ('settings = { preset = "fast" }', "got preset in settings; use preset = ... instead"),
    ],
)
def test_a_study_says_what_is_wrong_with_its_preset(lines: str, sentence: str) -> None:
    with pytest.raises(StudyError, match=sentence):
        in_study(lines)
