"""Studies as files: what the shipped ones hold, and what is refused, in one sentence each."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

from deepcs import games
from deepcs.cli.main import read_command
from deepcs.cli.runs import Train
from deepcs.runs.config import PAPER_STEPS, RunConfig
from deepcs.studies.experiment import StudyError
from deepcs.studies.study import load_study, read_study, shipped

EXPERIMENT = """
[[experiments]]
worlds = ["KeyHallway"]
treatments = ["deepcs", "plain"]
seeds = 2
steps = "10k"
"""


def counts(name: str, *fields: str) -> Counter[tuple[object, ...]]:
    runs = load_study(name).runs
    return Counter(tuple(getattr(run.config, field) for field in fields) for run in runs)


def test_the_shipped_studies_say_what_they_are_for() -> None:
    assert shipped() == ("claims", "demo", "laptop", "novelty", "novelty-atari", "paper", "tuning")
    told = "claims", "demo", "laptop", "novelty", "tuning"
    assert all("two cores" in " ".join(load_study(name).about.split()) for name in told)


@pytest.mark.parametrize("name", shipped())
def test_every_shipped_run_has_a_name_of_its_own_and_is_one_shard(name: str) -> None:
    runs = load_study(name).runs
    assert len({run.name for run in runs}) == len(runs)
    assert {run.config.shards for run in runs} == {1}


def test_a_study_and_a_command_reach_the_habits_of_baselines(tmp_path: Path) -> None:
    (tmp_path / "study.toml").write_text(
        EXPERIMENT.replace("KeyHallway", "Freeway") + 'settings = { protocol = "baselines" }\n'
    )
    configs = [run.config for run in load_study(str(tmp_path / "study.toml")).runs]
    command = read_command(["train", "Freeway", "--protocol", "baselines"])
    assert isinstance(command, Train)
    for config in (*configs, command.settings.resolved()):
        assert config.actor_settings()["protocol"] == "baselines"
        assert config.protocol_settings != RunConfig("Freeway").protocol_settings


def test_the_paper_study_is_the_papers_protocol() -> None:
    runs = load_study("paper").runs
    assert {run.config.steps for run in runs} == {PAPER_STEPS}
    main = Counter(
        (run.config.world, run.config.agent, run.config.treatment)
        for run in runs
        if not run.variant
    )
    for world in ("MontezumaRevenge", "Seaquest"):
        for treatment in ("deepcs", "plain", "no-grid", "no-intrinsic"):
            assert main.pop((world, "a2c", treatment)) == 25
    for agent, treatments in (
        ("acktr", ("deepcs", "plain")),
        ("a2c", ("never-reset", "life-reset")),
    ):
        for treatment in treatments:
            assert main.pop(("MontezumaRevenge", agent, treatment)) == 25
    others = {*games()} - {"MontezumaRevenge", "Seaquest"}
    assert len(others) == 10
    assert main == {(w, "a2c", t): 10 for w in others for t in ("deepcs", "plain")}
    sweep = Counter(run.variant for run in runs if run.variant)
    assert sweep == {f"weight={weight}": 5 for weight in (0.1, 0.5, 0.75, 0.9)}


def test_the_demo_study_is_a_hallway_and_freeway() -> None:
    assert counts("demo", "world", "treatment", "steps") == {
        **{("KeyHallway", name, 400_000): 5 for name in ("deepcs", "plain", "never-reset")},
        **{("Freeway", name, 100_000): 3 for name in ("deepcs", "plain")},
    }
    assert {run.config.learner.schedule for run in load_study("demo").runs} == {"constant"}


def test_a_study_is_the_product_of_its_lists() -> None:
    study = read_study(
        "mine",
        'about = "what for"'
        + EXPERIMENT.replace("seeds = 2", "seeds = [3, 7]")
        + 'agents = ["a2c", "acktr"]\n'
        + 'settings = { a2c.schedule = "constant", log_every = "1k", "acktr.kl_clip" = 1 }\n'
        + 'sweep = { weight = [0.5, "equal"], a2c.entropy = [0, 0.1] }\n',
    )
    assert (study.name, study.about) == ("mine", "what for")
    assert len(study.runs) == 2 * 2 * (4 + 2)  # ACKTR knows nothing of a2c.entropy
    first, last = study.runs[0], study.runs[-1]
    assert first.name == "KeyHallway-deepcs-paper-seed3-weight=0.5-a2c.entropy=0"
    assert last.name == "KeyHallway-acktr-plain-paper-seed7-weight=equal"
    assert first.variant == "weight=0.5, a2c.entropy=0"
    assert last.variant == "weight=equal"
    assert (first.config.weight, first.config.learner.entropy) == (0.5, 0.0)
    assert (first.config.learner.schedule, last.config.learner.kl_clip) == ("constant", 1.0)
    assert (last.config.weight, last.config.learner.schedule) == ("equal", "linear")
    assert first.config.log_every == 1_040  # whole updates of 80 steps


def test_worlds_are_found_in_any_clear_spelling_and_own_ones_get_safe_names() -> None:
    text = EXPERIMENT.replace("KeyHallway", "key_hallway") + EXPERIMENT.replace(
        "KeyHallway", "my.worlds:make"
    )
    names = [run.name for run in read_study("s", text).runs]
    assert names[0] == "KeyHallway-deepcs-paper-seed0"
    assert names[4] == "my.worlds-make-deepcs-paper-seed0"


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (("seeds =", "seed ="), "got key 'seed'; the nearest is seeds: choose from worlds,"),
        (("steps =", "step ="), "got key 'step'; the nearest is steps"),
        (("seeds =", "zzz ="), "got key 'zzz'; choose from worlds,"),
        (('steps = "10k"', ""), "lacks steps; add steps = ..."),
        (('worlds = ["KeyHallway"]', ""), "lacks worlds; add worlds"),
        (('["KeyHallway"]', "[]"), r"got worlds = \[\]; give a list"),
        (('["KeyHallway"]', '"KeyHallway"'), "got worlds = 'KeyHallway'; give a list"),
        (("KeyHallway", "KeyHalway"), "Got world 'KeyHalway'; the nearest is KeyHallway"),
        (('"plain"]', '"plane"]'), "Got treatment 'plane'; the nearest is plain"),
        (('"plain"]', '"deepcs"]'), "has the run KeyHallway-deepcs-paper-seed0 twice; take it out"),
        (("seeds = 2", "seeds = 0"), "got seeds = 0; give how many, such as 5 for 0 to 4"),
        (("seeds = 2", "seeds = []"), r"got seeds = \[\]; give how many"),
        (("seeds = 2", "seeds = true"), "got seeds = True; give how many"),
        (("seeds = 2", "seeds = [1, 1]"), "has the run KeyHallway-deepcs-paper-seed1 twice"),
        (("seeds = 2", "seeds = [-1]"), "Got seed -1; give a whole number from 0 up"),
        (('"10k"', "0"), "got steps = 0; give a number from 1 up"),
        (('"10k"', '"-5k"'), "got steps = '-5k'; give a number from 1 up"),
        (('"10k"', '"many"'), "Got 'many'; give a whole number such as 120000"),
        (("[[experiments]]", "[[experiment]]"), "got key 'experiment'; the nearest is experiments"),
        (("[[experiments]]", "[experiments]"), r"has no experiments; begin each with a line \[\["),
        (("seeds = 2", "seeds 2"), "is not valid TOML: .* line 5"),
    ],
)
def test_a_wrong_line_is_one_sentence(change: tuple[str, str], words: str) -> None:
    with pytest.raises(StudyError, match=words) as refusal:
        read_study("mine", EXPERIMENT.replace(*change))
    assert str(refusal.value).startswith("mine.toml")
    assert "\n" not in str(refusal.value)


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ('agents = ["dqn"]', "Got agent 'dqn'; choose one of a2c, acktr, ppo"),
        ("settings = { tiles = 8 }", "got setting 'tiles'; the nearest is tile"),
        ("settings = { a2c.gama = 0.9 }", "got setting 'a2c.gama'; the nearest is a2c.gamma"),
        ("settings = { a2c = 3 }", "got setting 'a2c'; choose from protocol,"),
        ('settings = { tile = "big" }', "got tile = 'big'; give a whole number"),
        ("settings = { graded = 1 }", "got graded = 1; give true or false"),
        ('settings = { a2c.schedule = "cosine" }', "give 'linear' or 'constant'"),
        ('settings = { log_every = "often" }', "Got 'often'; give a whole number"),
        ("settings = { weight = 3 }", "Got reward weight 3; give β from 0"),
        ("settings = { a2c.entropy = -1 }", "Got a2c.entropy -1.0; give a finite number"),
        ('settings = { device = "tpu" }', "Got device 'tpu'; choose auto, cpu or cuda"),
        ("settings = { seed = 3 }", "got seed in settings; use seeds = ... instead"),
        ("settings = 3", "got settings = 3; give a table"),
        ('settings = { novelty.place = "pixels", tile = 8 }', "Got tile 8 with novelty.place"),
        ("sweep = { seed = [1, 2] }", "got seed in sweep; use seeds = ... instead"),
        ('sweep = { world = ["CrossMaze"] }', "got world in sweep; use worlds = ... instead"),
        ("sweep = { weight = [] }", r"got sweep weight = \[\]; give a list of values"),
        ("sweep = { weight = 0.5 }", "got sweep weight = 0.5; give a list of values"),
        ('sweep = { weight = ["equal", 0.5], tile = [1, 2.5] }', "got tile = 2.5; give a whole"),
        ("sweep = { tile = [2, 2] }", "has the run .*tile=2 twice; take it out"),
    ],
)
def test_a_wrong_setting_is_one_sentence(line: str, words: str) -> None:
    with pytest.raises(StudyError, match=words) as refusal:
        read_study("mine", f"{EXPERIMENT}{line}\n")
    assert str(refusal.value).startswith("mine.toml")
    assert "\n" not in str(refusal.value)


def test_a_sweep_that_repeats_a_run_under_another_name_is_refused() -> None:
    again = EXPERIMENT + "sweep = { a2c.gamma = [0.9, 0.99] }\n"
    with pytest.raises(
        StudyError, match=r"run .*seed0-a2c\.gamma=0\.99 twice as KeyHallway-deepcs-paper-seed0;"
    ):
        read_study("mine", EXPERIMENT + again)


def test_runs_that_could_not_be_told_apart_are_refused() -> None:
    other = EXPERIMENT.replace("seeds = 2", "seeds = [5]") + "settings = { a2c.gamma = 0.9 }\n"
    with pytest.raises(StudyError, match=r"differ in a2c\.gamma; put that into a sweep"):
        read_study("mine", EXPERIMENT + other)


def test_a_study_that_is_nowhere_is_refused(tmp_path: Path) -> None:
    with pytest.raises(StudyError, match="Got study 'zzz'; choose one of claims, demo"):
        load_study("zzz")
    with pytest.raises(StudyError, match="Got study 'dmeo'; the nearest is demo"):
        load_study("dmeo")
    with pytest.raises(StudyError, match=r"mine\.toml cannot be read .*; give the path of a"):
        load_study(tmp_path / "mine.toml")
    (tmp_path / "mine.toml").write_bytes(b"\xff\xfe")
    with pytest.raises(StudyError, match=r"mine\.toml cannot be read"):
        load_study(str(tmp_path / "mine.toml"))


def test_a_study_that_names_bfloat16_is_read_on_a_cpu_without(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("deepcs.runs.precision.bfloat16_instructions", lambda: None)
    text = f'{EXPERIMENT}settings = {{ precision = "bfloat16" }}'
    assert {run.config.precision for run in read_study("mine", text).runs} == {"bfloat16"}
