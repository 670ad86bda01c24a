"""Command lines and study files that nobody means: one sentence and an exit code, always.

Fuzzed by hypothesis, in this process. What is accepted is done for real, so the strategies draw
numbers that are tiny or refused, and names that stay in a temporary folder.
"""

from __future__ import annotations

import contextlib
import io
import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from deepcs.cli.main import main
from deepcs.studies.folder import StudyFolder
from deepcs.studies.study import read_study

CODES = (0, 2, 130)  # 1 says that it is not the input's fault, which here it always is
QUICK, MANY = 75, 1_500  # examples of each of the two fuzzers
STUDY = """
[[experiments]]
worlds = ["KeyHallway"]
treatments = ["deepcs"]
seeds = 2
steps = 80
"""
OWN = """
import gymnasium, numpy

def boom(): raise ValueError("boom")
def number(): return 3
def needs(thing): return None
class Env(gymnasium.Env):
    observation_space = gymnasium.spaces.Box(0, 1, (3,))
    action_space = gymnasium.spaces.Discrete(2)
    def reset(self, *, seed=None, options=None): return numpy.zeros(3, numpy.float32), {}
    def step(self, action): raise KeyError("[/red] step")
thing = 3
"""
OWN_NAMES = ("boom", "number", "needs", "Env", "thing", "nothing")


@dataclass(frozen=True)
class Ended:
    """How a command ended."""

    code: object
    out: str
    error: str


def deepcs(*arguments: str) -> Ended:
    """Run a command in this process."""
    out, error, code = io.StringIO(), io.StringIO(), 0
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(error):
        try:
            main(arguments)
        except SystemExit as exited:
            code = exited.code  # type: ignore[assignment]
    return Ended(code, out.getvalue(), error.getvalue())


def check(ended: Ended, codes: tuple[int, ...] = CODES) -> None:
    assert ended.code in codes, ended
    assert "Traceback" not in ended.error + ended.out, ended
    if ended.code:
        assert ended.error.startswith("deepcs: ") or not ended.error, ended
        assert ended.error.count("\n") == (ended.error != ""), ended


@pytest.fixture(scope="module", autouse=True)
def folder(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """The current folder: a tiny run, a study that was begun, and code of one's own."""
    path, before = tmp_path_factory.mktemp("fuzzed"), Path.cwd()
    os.chdir(path)
    Path("own_breaking.py").write_text(OWN)
    Path("own_syntax.py").write_text("def (")
    Path("own_exit.py").write_text("raise SystemExit(3)")
    Path("tiny.toml").write_text(STUDY)
    Path("taken").mkdir()
    Path("taken/foreign").touch()
    check(deepcs("train", "KeyHallway", "--steps", "80", "--actors", "2", "--out", "run"), (0,))
    begun = StudyFolder("studies/tiny")
    begun.lock()
    begun.take(read_study("tiny", STUDY))
    begun.write_failures({begun.read().runs[0].name: "it [/red] failed"})
    begun.unlock()
    yield path
    os.chdir(before)


# What is drawn: words of each kind, meant and not; numbers that are accepted are tiny.
NASTY = [
    *("", " ", "-", "--", "---", "0", "-1", "1e400", "1e999999999", "nan", "inf", "None", "True"),
    *(
        "9" * 30,
        "9" * 5_000,
        "1.5",
        "²",
        "١",
        "[/red]",
        "[bold]",
        "$\\frac{$",
        "\\",
        "%s",
        "{}",
        "{0}",
    ),
    *("\x00", "\n", "\x1b[2J", "\udcff", "é" * 200, "x" * 300, "😀", "a=b", "-x", "--help=3", "\t"),
]
texts = st.one_of(
    st.sampled_from(NASTY),
    st.text(max_size=12).map(lambda text: text.replace("/", "").replace("..", "")),
)
bad_numbers = st.sampled_from(
    ["0", "-1", "x", "", "1e400", "1e999999999", "nan", "9" * 20, "9" * 30, "1.5", "²"]
)


def mostly(good: str, bad: st.SearchStrategy[str] = texts) -> st.SearchStrategy[str]:
    """One of some words, most of the time: a command that fails at once tries little."""
    words = st.sampled_from(good.split())
    return st.integers(0, 7).flatmap(lambda number: bad if number == 7 else words)


paths = mostly(
    "run run run run nowhere taken", st.one_of(st.sampled_from(["", ".", "run/config.json"]), texts)
)
outputs = mostly("a.mp4 b.csv c.png nowhere/a.mp4 nowhere/b.csv taken run", texts)
worlds = mostly(
    "KeyHallway KeyHallway key_hallway CrossMaze",
    st.one_of(
        st.sampled_from(["KeyHalway", "mo:n", ":x", ".a:b", "a:", "os:", "ALE/Pong-v5", "Combat"]),
        st.sampled_from(["own_syntax:x", "own_exit:x"]),
        st.sampled_from([f"own_breaking:{name}" for name in OWN_NAMES]),
        texts,
    ),
)
few = mostly("1 2", bad_numbers)
switches = st.sampled_from(["", "", "x"])
seeds = mostly(f"0 {2**63 - 1}", st.one_of(st.just(str(2**63)), bad_numbers))
TRAINING = {
    "--treatment": mostly("deepcs plain no-grid no-intrinsic never-reset life-reset a2c"),
    "--protocol": mostly("paper machado baselines"),
    "--seed": seeds,
    "--actors": mostly("1 2 3", st.one_of(bad_numbers, st.sampled_from(["4097", "1000000000"]))),
    "--weight": mostly("0 0.5 1 equal None"),
    "--tile": mostly("1 3 1000000000 None", bad_numbers),
    "--grid": mostly("plane stacked"),
    "--compass": switches,
    "--graded": switches,
    "--max-frames": mostly("1 1000 None", bad_numbers),
    "--agent": mostly("a2c a2c a2c acktr", st.one_of(st.just("own_breaking:Env"), texts)),
    "--network": mostly("auto fast", st.sampled_from(["own_breaking:boom", "joint", "x", ":"])),
    "--threads": mostly("1", st.one_of(st.just("1025"), bad_numbers)),
    "--shards": mostly("1", st.sampled_from(["1025", "-1", "x", "9" * 30])),
    "--device": mostly("cpu auto"),
    "--log-every": mostly("1 10 1k", bad_numbers),
    "--checkpoint-every": mostly("10 1M 0", bad_numbers),
    "--milestone-every": mostly("10 1M", bad_numbers),
    "--a2c.n-steps": mostly("1 5", st.one_of(st.just("10000000000"), bad_numbers)),
    "--a2c.gamma": mostly("0 0.9 1"),
    "--a2c.learning-rate": mostly("0 1e-3 4e38"),
    "--a2c.schedule": mostly("linear constant"),
    "--workers": mostly("1", st.sampled_from(["-1", "x", "1025", "9" * 30])),
}
PLAYING = {
    "--games": few,
    "--seed": seeds,
    "--greedy": switches,
    "--step": mostly("80 None", bad_numbers),
    "--csv": outputs,
    "--workers": mostly("0", bad_numbers),
}
FILMING = {
    "--game": mostly("0 7", bad_numbers),
    "--best-of": mostly("1", bad_numbers),
    "--seed": seeds,
    "--step": mostly("80 None", bad_numbers),
    "--greedy": switches,
}
RUNNING = {  # --out is always a folder that is refused, after the study was read
    "--engine": mostly("local"),
    "--at-once": mostly("1 2", bad_numbers),
    "--address": texts,
    "--cpus-per-run": few,
    "--gpus-per-run": mostly("0.5", bad_numbers),
    "--retries": few,
    "--lease-seconds": mostly("1 1e6", bad_numbers),
}
FINDING = {"--exploration": mostly("100", bad_numbers), "--seed": seeds, "--out": outputs}
studies = mostly("tiny.toml tiny.toml demo nowhere.toml dmeo")


@st.composite
def options(draw: st.DrawFn, known: dict[str, st.SearchStrategy[str]], most: int = 4) -> list[str]:
    """Some of a command's options, once in a while one that it has not, in any order."""
    words: list[str] = []
    for name in draw(st.lists(st.sampled_from([*known]), max_size=most, unique=True)):
        value = draw(known[name])
        if name in ("--compass", "--graded", "--greedy"):
            words += [name, *([value] if value else [])]
        else:
            words += draw(st.sampled_from([[name, value], [f"{name}={value}"]]))
    if draw(st.integers(0, 19)) == 19:
        words.insert(draw(st.integers(0, len(words))), draw(texts))
    return words


@st.composite
def command_lines(draw: st.DrawFn) -> list[str]:
    command = draw(
        st.sampled_from(
            [
                *("train", "train", "resume", "evaluate", "record", "study run", "study status"),
                *("study report", "games", "find-position", "bench", "nothing"),
            ]
        )
    )
    words = command.split()
    if command == "train":
        out = f"new-{draw(st.integers(0, 10**9))}"
        safe = {"--workers": "1", "--actors": "2", "--shards": "1"}
        words += [draw(worlds), *draw(options(TRAINING)), "--out", draw(mostly(out, paths))]
        words += ["--steps", draw(mostly("1 80 0.1k", bad_numbers))]
        for name, number in safe.items():
            words += [name, number] if not any(word.startswith(name) for word in words) else []
    elif command == "resume":
        words += [draw(paths), *draw(options({"--workers": TRAINING["--workers"]}))]
        words += ["--steps", draw(mostly("80 90 160", bad_numbers))]
    elif command == "evaluate":
        words += [draw(paths), "--workers", "0", "--games", "1", *draw(options(PLAYING))]
    elif command == "record":
        out = draw(mostly("nowhere/a.csv taken " + "a.mp4 " * (draw(st.integers(0, 9)) == 9)))
        words += [draw(paths), *draw(options(FILMING)), "--out", out]  # a film takes a second
    elif command == "study run":
        words += [draw(studies), *draw(options(RUNNING)), "--out", "taken"]
    elif command == "study status":
        words += [draw(studies), *draw(options({"--out": mostly("studies/tiny taken run")}))]
    elif command == "study report":
        known = {"--out": mostly("studies/tiny taken run"), "--games": mostly("0 1", bad_numbers)}
        words += [draw(studies), *draw(options(known))]
    elif command == "games":
        words += draw(st.lists(worlds, max_size=1))
    elif command == "find-position":
        words += [draw(mostly("Pong pong Hero Combat", worlds)), *draw(options(FINDING))]
        words += ["--states", draw(bad_numbers)]
    elif command == "bench":
        words += [draw(worlds), "--seconds", draw(bad_numbers.filter(lambda n: n != "1.5"))]
    else:
        words = draw(st.lists(texts, max_size=3))
    return words


def fuzz(what: st.SearchStrategy[Any], examples: int, attempt: Callable[[Any], None]) -> None:
    """Try so many examples, always the same ones."""
    chosen = settings(
        max_examples=examples,
        deadline=None,
        derandomize=True,
        database=None,
        suppress_health_check=[*HealthCheck],
    )
    chosen(given(what)(lambda example: attempt(example)))()


def try_command_line(words: list[str]) -> None:
    check(deepcs(*words))


VALUES: st.SearchStrategy[str] = st.recursive(
    st.one_of(
        st.sampled_from(['"x"', "1", "-1", "0", "1.5", "nan", "inf", "true", "1979-05-27", '""']),
        st.sampled_from(["9" * 30, "9" * 5_000, '"9999999999999999999M"', '"2k"', "1e400", "''"]),
        st.sampled_from(['"$\\\\frac{$"', '"[/red]"', f'"{"x" * 300}"', '"\\u0000"', "07:32:00"]),
    ),
    lambda inner: st.one_of(
        st.lists(inner, max_size=3).map(lambda values: f"[{', '.join(values)}]"),
        st.lists(inner, max_size=2).map(
            lambda values: "{ " + ", ".join(f"k{i} = {v}" for i, v in enumerate(values)) + " }"
        ),
    ),
    max_leaves=4,
)
KEYS: dict[str, st.SearchStrategy[str]] = {
    "worlds": st.sampled_from(
        [
            '["KeyHallway"]',
            '["KeyHallway", "CrossMaze"]',
            '["mo:n"]',
            '[":x"]',
            '["own_breaking:Env"]',
        ]
    ),
    "treatments": st.sampled_from(['["deepcs"]', '["deepcs", "plain"]', '["x"]', '"deepcs"']),
    "agents": st.sampled_from(['["a2c"]', '["acktr"]', '["own_breaking:Env"]', "[]"]),
    "seeds": st.sampled_from(["2", "1000000000", "[0, 1]", "[0, 0]", "[-1]", "100001", "9" * 30]),
    "steps": st.sampled_from(["80", '"160M"', "0", "10000000000000000", '"1e400"']),
    "settings": st.sampled_from(
        [
            *("{ tile = 3 }", "{ actors = 1000000 }", "{ a2c = { gamma = 0.9 } }", "{ a2c = 3 }"),
            *("{ a2c.gamma = 9e400 }", f"{{ a2c.gamma = {'9' * 400} }}", "{ learner = 3 }"),
            *("{ seed = 1 }", "{ tiel = 3 }", "{ device = 'x' }", f"{{ tile = {'9' * 30} }}"),
        ]
    ),
    "sweep": st.sampled_from(
        [
            *("{ tile = [1, 2] }", "{ tile = [] }", "{ tile = 3 }", "{ seed = [1, 2] }"),
            f"{{ tile = {[*range(1, 400)]}, actors = {[*range(1, 400)]} }}",
            *("{ network = ['$\\frac{$'] }", f"{{ network = ['a:{'x' * 300}'] }}"),
            *("{ weight = ['equal', 0.5, 2] }", "{ a2c.gamma = [0.9, nan] }", "{ graded = [1] }"),
        ]
    ),
    "nonsense": VALUES,
}


@st.composite
def study_files(draw: st.DrawFn) -> str:
    lines = [f"about = {draw(VALUES)}"] if draw(st.integers(0, 3)) == 0 else []
    for _ in range(draw(st.sampled_from([1, 1, 1, 2, 0]))):
        lines.append("[[experiments]]")
        table = {
            "worlds": '["KeyHallway"]',
            "treatments": '["deepcs"]',
            "seeds": "2",
            "steps": "80",
        }
        for key in draw(st.lists(st.sampled_from([*KEYS]), max_size=3)):
            table[key] = draw(VALUES if draw(st.integers(0, 5)) == 5 else KEYS[key])
        if draw(st.integers(0, 19)) == 19:
            table.pop(draw(st.sampled_from([*table])))
        lines += [f"{key} = {value}" for key, value in table.items()]
    text = "\n".join(lines) + "\n"
    if draw(st.integers(0, 7)) == 7:
        place = draw(st.integers(0, len(text)))
        text = text[:place] + draw(st.text(max_size=5)) + text[place + draw(st.integers(0, 3)) :]
    return text


def try_study_file(text: str) -> None:
    Path("fuzzed.toml").write_text(text, errors="replace")
    ended = deepcs("study", "run", "fuzzed.toml", "--out", "taken")
    check(ended, (2,))


@pytest.mark.parametrize("examples", [QUICK, pytest.param(MANY, marks=pytest.mark.long)])
def test_a_command_line_ends_in_one_sentence_or_well(examples: int) -> None:
    fuzz(command_lines(), examples, try_command_line)


@pytest.mark.parametrize("examples", [QUICK, pytest.param(MANY, marks=pytest.mark.long)])
def test_a_study_file_ends_in_one_sentence(examples: int) -> None:
    fuzz(study_files(), examples, try_study_file)
