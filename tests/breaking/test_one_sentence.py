"""Cases that once ended in a traceback: each is one sentence and an exit code."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

from deepcs.analysis.distributions import Evaluations
from deepcs.analysis.groups import read_result
from deepcs.analysis.style import new_figure, save_figure, styled
from deepcs.cli.main import main
from deepcs.curiosity.games import find_game, game_named
from deepcs.envs.roms import rom_named
from deepcs.runs.config import RunConfig
from deepcs.runs.counts import parse_count
from deepcs.runs.folder import RunError, RunFolder
from deepcs.runs.progress import display_for
from deepcs.runs.saved_config import from_json, to_json
from deepcs.runs.train import train
from deepcs.studies.at_once import runs_at_once
from deepcs.studies.experiment import StudyError
from deepcs.studies.folder import StudyFolder
from deepcs.studies.study import read_study
from deepcs.system import limits

STUDY = """
[[experiments]]
worlds = ["KeyHallway"]
treatments = ["deepcs"]
seeds = 2
steps = 80
"""
OWN = """
import gymnasium, numpy

class Env(gymnasium.Env):
    observation_space = gymnasium.spaces.Box(0, 1, (3,))
    action_space = gymnasium.spaces.Discrete(2)

    def reset(self, *, seed=None, options=None):
        return numpy.zeros(3, numpy.float32), {}

    def step(self, action):
        raise ValueError("the [/red] well is dry")

class Two(Env):
    def step(self, action):
        return numpy.zeros(3, numpy.float32), 0.0, True, False, {}
"""


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A small run."""
    path = tmp_path_factory.mktemp("made") / "run"
    train(RunConfig("KeyHallway", steps=400, actors=2, log_every=100), path, workers=1)
    return path


@pytest.fixture
def here(tmp_path: Path, made: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The current folder, with a copy of the run in it, and code of one's own."""
    monkeypatch.chdir(tmp_path)
    shutil.copytree(made, "run")
    Path("own_sentences.py").write_text(OWN)
    Path("mo.py").write_text(OWN)
    return tmp_path


@pytest.fixture
def study(here: Path) -> StudyFolder:
    """A study that was begun."""
    folder = StudyFolder("studies/tiny")
    Path("tiny.toml").write_text(STUDY)
    folder.lock()
    folder.take(read_study("tiny", STUDY))
    folder.unlock()
    return folder


def refusal(capsys: pytest.CaptureFixture[str], *arguments: str, code: int = 2) -> str:
    """What a command says that is refused."""
    with pytest.raises(SystemExit) as exited:
        main(arguments)
    error = capsys.readouterr().err
    assert exited.value.code == code, error
    assert error.startswith("deepcs: ")
    assert error.count("\n") == 1
    return error


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ("train KeyHallway --steps 1e400", "--steps: got 1e400; give 1,000,000,000,000,000"),
        ("train KeyHallway --stepss 3", "perhaps you meant --steps"),
        ("train KeyHallway --seed x", "--seed: got 'x'; give a whole number; see"),
        ("train KeyHallway --grid x", "choose one of 'plane', 'stacked'"),
        ("train KeyHallway --tile 0.1", "--tile: got '0.1'; give a whole number, or None; see"),
        ("train KeyHallway --workers x", "--workers: got 'x'; give a whole number, or None; see"),
        ("train KeyHallway --novelty.half-life x", "got 'x'; give a number, or None; see"),
        (
            "resume run --steps 1e400",
            "got '1e400'; give a whole number up to 1,000,000,000,000,000",
        ),
        ("resume run --steps abc", "such as 500k, or None; see deepcs resume"),
        ("train", "Got no GAME"),
        (f"train KeyHallway --tile {'9' * 30}", "give 1,000,000,000 at most"),
        ("train :x", "Got ':x', which names nothing in Python"),
        ("train .a:b", "Got '.a:b', which names nothing in Python"),
        ("train KeyHallway --actors 1000000", "Got actors 1000000; give 4,096 at most"),
        ("train KeyHallway --threads 1000000", "give 1,024 at most"),
        ("train KeyHallway --shards 1000000", "give 1,024 at most"),
        ("train KeyHallway --steps 9 --shards 99 --actors 2", "Got shards 99 for 2 actors"),
        (
            "train KeyHallway --steps 9 --treatment plain --weight 0.5",
            "Got weight 0.5 for treatment plain",
        ),
        ("train KeyHallway --steps 9 --treatment no-intrinsic --weight 0.1:0.9", "'0.1:0.9' for"),
        (
            "train KeyHallway --steps 9 --agent ppo --treatment plain --ppo.weight-intrinsic 1:0.1",
            "Got ppo.weight_intrinsic '1:0.1' for treatment plain",
        ),
        (
            "train KeyHallway --steps 9 --agent ppo --treatment no-intrinsic --ppo.weight-game 3",
            "Got ppo.weight_game 3.0 for treatment no-intrinsic",
        ),
        ("train KeyHallway --network nope", "deepcs: Got network 'nope'; choose fast"),
        ("train KeyHallway --network os:abort", "deepcs: Got network 'os:abort', which cannot be"),
        ("train KeyHallway --agent acktr --compass", "one array of features or one image only"),
        ("train KeyHallway --workers 1000000", "give 1,024 at most"),
        ("train KeyHallway --log-every 2000000B", "give 1,000,000,000,000,000 at most"),
        ("train KeyHallway --max-frames 9999999999999", "give 1,000,000,000,000 at most"),
        ("train KeyHallway --a2c.n-steps 100000000", "Got a2c.n_steps 100000000; give 1,048,576"),
        ("train Freeway --a2c.n-steps 1000000", "GB for an update"),
        ("train KeyHallway --out " + "x" * 300, "File name too long"),
        ("evaluate run --csv nowhere/a.csv", "Got --csv nowhere/a.csv, which cannot be written"),
        ("evaluate run --csv .", "which is a folder"),
        ("evaluate run --csv " + "x" * 253, "File name too long"),
        ("evaluate run --seed -1", "Got seed -1"),
        ("evaluate run --games 0", "Got 0 games"),
        ("evaluate run --games 1000000000", "give 1,000,000 at most"),
        ("record run --seed -1", "Got seed -1"),
        ("record run --game -1", "Got game -1"),
        ("record run --best-of 0", "Got best_of 0"),
        ("record run --out run/config.json/a.mp4", "cannot be written"),
        ("bench --seconds nan", "Got nan seconds"),
        ("bench --seconds inf", "Got inf seconds"),
        ("find-position Pong --states 1000000", "Got 1000000 states; give 1,000 at most"),
        ("find-position Pong --out run/config.json/a.png", "cannot be written"),
        ("study report demo --games 100000000", "give 1,000,000 at most"),
        ("study run demo --at-once 1000000", "give 1,024 at most"),
    ],
)
def test_what_cannot_be_meant_is_refused_before_anything_is_done(
    here: Path, capsys: pytest.CaptureFixture[str], arguments: str, words: str
) -> None:
    before = sorted(here.rglob("*"))
    assert words in refusal(capsys, *arguments.split(" "))
    assert sorted(here.rglob("*")) == before


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (("seeds = 2", "seeds = 1000000000"), "got up to 1,000,000,000 runs; a study has 100,000"),
        (
            ("seeds = 2", f"seeds = {[*range(1000)]}\nsweep = {{ tile = {[*range(1, 1000)]} }}"),
            "999,000 runs",
        ),
        (("seeds = 2", f"seeds = {'9' * 30}"), "give how many"),
        (("steps = 80", "steps = 10000000000000000"), "give 1,000,000,000,000,000 at most"),
        (("steps = 80", "steps = 80\nsettings = { actors = 1000000 }"), "give 4,096 at most"),
        (("steps = 80", f"steps = 80\nsettings = {{ tile = {'9' * 30} }}"), "at most"),
        (
            ("steps = 80", f"steps = 80\nsettings = {{ a2c.gamma = {'9' * 400} }}"),
            "a smaller number",
        ),
        (
            ("steps = 80", f"steps = 80\nsweep = {{ network = ['a:{'x' * 300}'] }}"),
            "file systems take",
        ),
        (("steps = 80", f"steps = 80\nx = {'[' * 5000}{']' * 5000}"), "too deep in each other"),
        (("steps = 80", f"steps = {'9' * 5000}"), "is not valid TOML"),
    ],
)
def test_a_study_that_cannot_be_meant_is_refused(change: tuple[str, str], words: str) -> None:
    with pytest.raises(StudyError) as caught:
        read_study("tiny", STUDY.replace(*change))
    assert words in str(caught.value)
    assert "\n" not in str(caught.value)


def test_two_experiments_share_the_limit_of_a_study() -> None:
    worlds = STUDY.replace("KeyHallway", "CrossMaze")
    with pytest.raises(StudyError, match="a study has 100,000 at most"):
        read_study("two", STUDY + worlds.replace("seeds = 2", f"seeds = {limits.STUDY_RUNS - 1}"))


@pytest.mark.parametrize(
    ("text", "number"),
    [("900719925474099.3k", 900_719_925_474_099_300), ("2.5M", 2_500_000), ("1e3k", 10**6)],
)
def test_counts_are_exact(text: str, number: int) -> None:
    assert parse_count(text) == number


@pytest.mark.parametrize("text", ["1e400", "1e999999999", "9" * 5_000, "0.5"])
def test_a_count_that_is_too_large_or_not_whole_is_refused_at_once(text: str) -> None:
    began = time.monotonic()
    with pytest.raises(ValueError, match=r"; give .*\.$"):
        parse_count(text)
    assert time.monotonic() - began < 1


@pytest.mark.parametrize("content", ["[]", "{", '{"a": 3}', "\x00", "[" * 100_000])
def test_damaged_failures_are_named(
    study: StudyFolder, capsys: pytest.CaptureFixture[str], content: str
) -> None:
    (study.path / "failures.json").write_text(content)
    assert "failures.json is damaged" in refusal(capsys, "study", "status", "tiny.toml")


@pytest.mark.parametrize(
    "content",
    [
        *("[]", "{", "{}", '{"world": "x", "cores": 2, "steps_per_second": {}}'),
        '{"world": "x", "cores": 2, "steps_per_second": {"1": null}}',
    ],
)
def test_a_damaged_measurement_is_named(tmp_path: Path, content: str) -> None:
    (tmp_path / "at_once.json").write_text(content)
    with pytest.raises(StudyError, match=r"at_once\.json is damaged .* will be measured again"):
        runs_at_once([RunConfig("KeyHallway")], tmp_path / "at_once.json")


@pytest.mark.parametrize("content", [b"", b"game,score\n0,1\n", b"\xff\xfe", b"score,rooms\n,\n"])
def test_games_that_a_report_kept_and_that_are_damaged_are_played_again(
    made: Path, tmp_path: Path, content: bytes
) -> None:
    said: list[str] = []
    run = read_result(made, RunFolder(made).read_config().config)
    assert run is not None
    evaluations = Evaluations(tmp_path, said.append, allow_code=False)
    first = evaluations.of(run, 2, 5)
    (kept,) = tmp_path.iterdir()
    kept.write_bytes(content)
    assert evaluations.of(run, 2, 5) == first
    assert "is damaged" in said[1]
    assert evaluations.of(run, 2, 5) == first
    assert len(said) == 3


@pytest.mark.parametrize("name", ["visits.npz", "games.csv", "curve.csv"])
def test_a_folder_in_a_logs_place_is_named(here: Path, name: str) -> None:
    from deepcs import load_run

    Path("run", name).unlink()
    Path("run", name).mkdir()
    if name == "visits.npz":
        load_run("run")  # no file: nothing was visited yet
        return
    with pytest.raises(RunError, match=f"run/{name} cannot be read"):
        load_run("run")


def test_anothers_settings_are_refused(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    saved = json.loads(Path("run/config.json").read_bytes())
    for key, value in {
        "world": 3,
        "agent": ["a2c"],
        "learner": {"n_steps": "x"},
        "compass": "x",
        "actors": 10**9,
        "tile": 10**30,
        "network": None,
        "weight": {},
    }.items():
        damaged = {**saved, "config": {**saved["config"], key: value}}
        Path("run/config.json").write_text(json.dumps(damaged))
        for command in ("evaluate", "record", "resume"):
            assert "run/config.json " in refusal(capsys, command, "run")
        said = refusal(capsys, "resume", "run", "--accept-changes")
        assert "config.json lacks or mistakes a setting" in said
    Path("run/config.json").write_text("[" * 100_000)
    assert "cannot be read" in refusal(capsys, "evaluate", "run")


def test_markup_in_what_people_write_is_text(
    study: StudyFolder, capsys: pytest.CaptureFixture[str]
) -> None:
    study.write_failures({study.read().runs[0].name: "it said [/red] and [bold]"})
    main(["study", "status", "tiny.toml"])
    assert "it said [/red] and [bold]" in capsys.readouterr().out


def test_markup_is_text_on_a_terminal_too(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("FORCE_COLOR", "1")
    display = display_for("a[/red]")
    display.say("[/blue] is no colour")
    display.close()
    assert "[/blue] is no colour" in capsys.readouterr().out


def test_a_formula_in_a_name_is_text(tmp_path: Path) -> None:
    @styled
    def draw() -> None:
        figure = new_figure(1)
        figure.subplots().set_title(r"$\frac{$")
        save_figure(figure, tmp_path, "drawn")

    draw()
    assert (tmp_path / "drawn.png").is_file()


@pytest.mark.parametrize("workers", ["1", "2"])
def test_code_of_ones_own_that_fails_is_named(
    here: Path, capsys: pytest.CaptureFixture[str], workers: str
) -> None:
    arguments = ["train", "own_sentences:Env", "--steps", "80", "--actors", "2", "--workers"]
    said = refusal(capsys, *arguments, workers, "--treatment", "deepcs")
    assert "own_sentences.py, line 12" in said
    assert "ValueError: the [/red] well is dry" in said


def test_a_world_of_ones_own_is_never_taken_for_a_game(here: Path) -> None:
    assert find_game("mo") is not None  # Montezuma's Revenge: no other begins with it
    for name in ("mo:n", "montezuma:revenge", "mo/n", "$mo"):
        assert find_game(name) is None
        assert game_named(name) is None
        assert rom_named(name) is None
    config = RunConfig("mo:Two", treatment="plain", shards=1).resolved()
    assert (config.world, config.weight, config.tile, config.max_frames) == (
        *("mo:Two", None, None, None),
    )
    saved = json.loads(json.dumps(to_json(config)))
    assert from_json({**saved, "learner": None}).world == "mo:Two"


@pytest.mark.parametrize("name", ["montezuma", "Montezuma's Revenge", "ALE/MontezumaRevenge-v5"])
def test_clear_spellings_of_a_game_are_still_understood(name: str) -> None:
    found = find_game(name)
    assert found is not None
    assert found.name == "MontezumaRevenge"


def test_a_name_that_is_no_text_is_refused(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    said = refusal(capsys, "train", "KeyHallway", "--steps", "80", "--out", os.fsdecode(b"a\xff"))
    assert said == "deepcs: Got 'a\\udcff', which is no text in UTF-8; rename it.\n"


@pytest.mark.parametrize(
    "arguments",
    [
        ["evaluate", "run", "--games", "1000000"],
        ["find-position", "MontezumaRevenge", "--exploration", "1000000"],
        ["bench", "KeyHallway", "--seconds", "1000"],
        ["study", "report", "demo"],
    ],
)
@pytest.mark.parametrize(
    "after", [0.3, *(pytest.param(s, marks=pytest.mark.long) for s in (0.0, 0.02, 0.1, 1.5))]
)
def test_ctrl_c_at_any_time_ends_without_a_traceback(
    here: Path, arguments: list[str], after: float
) -> None:
    if arguments[-1] == "demo" and after:
        pytest.skip("it ends by itself")
    begin = "import deepcs.cli.main as m, sys; print('main', flush=True); m.main()"
    process = subprocess.Popen(
        [sys.executable, "-c", begin, *arguments],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    assert process.stdout is not None
    process.stdout.readline()
    time.sleep(after + 0.02)
    os.killpg(process.pid, signal.SIGINT)
    try:
        _, error = process.communicate(timeout=60)
    finally:
        process.kill()
    assert (process.returncode, error) == (130, "deepcs: Interrupted.\n")


def test_a_study_file_is_utf_8_in_any_locale_and_may_begin_with_a_mark(here: Path) -> None:
    Path("mine.toml").write_text(f'about = "é 日"\n{STUDY}', encoding="utf-8-sig")
    read = (
        "from deepcs.studies.study import load_study; print(ascii(load_study('mine.toml').about))"
    )
    plain = {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}
    done = subprocess.run(
        [sys.executable, "-c", read], env={**os.environ, **plain}, capture_output=True, text=True
    )
    assert done.stdout == "'\\xe9 \\u65e5'\n", done.stderr


INTERRUPTED_IMPORT = """
import os, signal, sys, deepcs_command

class Finder:
    def find_spec(self, name, path=None, target=None):
        if name == sys.argv[1]:
            os.kill(os.getpid(), signal.SIGINT)

sys.meta_path.insert(0, Finder())
deepcs_command.main()
"""


@pytest.mark.parametrize("module", ["deepcs", "gymnasium", "numpy._core.multiarray", "tyro"])
def test_ctrl_c_before_the_command_begins_ends_without_a_traceback(module: str) -> None:
    command = [sys.executable, "-c", INTERRUPTED_IMPORT, module]
    done = subprocess.run(command, capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (130, "deepcs: Interrupted.\n")


def test_visits_far_apart_are_refused_and_not_counted_wrongly(here: Path) -> None:
    from deepcs.analysis.groups import total_visits

    path = Path("run/visits.npz")
    far = np.array([-(2**62), 2**62])
    ones = np.array([1, 1])
    np.savez_compressed(
        path, rooms=np.array(["."]), step=ones, room=ones * 0, row=far, column=far, entries=ones
    )
    with pytest.raises(RunError, match="too far apart"):
        total_visits(path)
