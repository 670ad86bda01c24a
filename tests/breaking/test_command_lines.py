"""Command lines and study files that nobody means: one sentence and an exit code, always.

Fuzzed by hypothesis, in this process. What is accepted is done for real, so the strategies draw
numbers that are tiny or refused, and names that stay in a temporary folder.
"""

from __future__ import annotations

import contextlib
import io
import os
from collections.abc import Iterator
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
bad_numbers = st.sampled_from(["0", "-1", "x", "", "1e400", "nan", "9" * 20, "9" * 30, "1.5", "²"])
paths = st.one_of(
    st.sampled_from(
        ["run", "nowhere", "run/config.json", "run/checkpoints", ".", "", "taken", "tiny.toml"]
    ),
    texts.filter(lambda text: not text.startswith("~")),
)
worlds = st.one_of(
    st.sampled_from(["KeyHallway", "key_hallway", "CrossMaze", "KeyHalway", "mo:n", ":x", ".a:b"]),
    st.sampled_from(
        ["a:", "os:", "own_breaking:boom", "own_breaking:number", "own_breaking:needs"]
    ),
    st.sampled_from(["own_breaking:Env", "own_breaking:thing", "own_syntax:x", "own_exit:x"]),
    st.sampled_from(["own_breaking:nothing", "deepcs/KeyHallway-v0", "ALE/Pong-v5", "Combat"]),
    texts,
)
few = st.one_of(st.sampled_from(["1", "2"]), bad_numbers)
switches = st.sampled_from(["", "x"])
TRAINING = {
    "--treatment": st.one_of(st.sampled_from(["deepcs", "plain", "never-reset", "a2c"]), texts),
    "--protocol": st.one_of(st.sampled_from(["paper", "machado"]), texts),
    "--seed": st.one_of(st.sampled_from(["0", str(2**63 - 1), str(2**63)]), bad_numbers),
    "--actors": st.one_of(few, st.sampled_from(["4097", "1000000000"])),
    "--weight": st.one_of(st.sampled_from(["0", "0.5", "1", "equal", "None", "1.1"]), texts),
    "--tile": st.one_of(st.sampled_from(["1", "3", "1000000000", "None"]), bad_numbers),
    "--grid": st.sampled_from(["plane", "stacked", "x", ""]),
    "--compass": switches,
    "--graded": switches,
    "--max-frames": st.one_of(st.sampled_from(["1", "1000", "None"]), bad_numbers),
    "--agent": st.one_of(st.sampled_from(["a2c", "acktr", "own_breaking:Env", "ppo:x"]), texts),
    "--network": st.one_of(
        st.sampled_from(["auto", "fast", "joint", "own_breaking:boom", "own_breaking:thing"]), texts
    ),
    "--threads": st.one_of(st.sampled_from(["1", "1025"]), bad_numbers),
    "--shards": st.one_of(st.sampled_from(["1", "1025"]), bad_numbers.filter(lambda n: n != "0")),
    "--device": st.one_of(st.sampled_from(["cpu", "cuda", "auto"]), texts),
    "--log-every": st.one_of(st.sampled_from(["1", "10", "1k"]), bad_numbers),
    "--checkpoint-every": st.one_of(st.sampled_from(["10", "1M"]), bad_numbers),
    "--milestone-every": st.one_of(st.sampled_from(["10", "1M"]), bad_numbers),
    "--a2c.n-steps": st.one_of(st.sampled_from(["1", "5", "10000000000"]), bad_numbers),
    "--a2c.gamma": st.one_of(st.sampled_from(["0", "0.9", "1", "1.1"]), texts),
    "--a2c.learning-rate": texts,
    "--a2c.schedule": st.sampled_from(["linear", "constant", "x"]),
    "--a2c.nonsense": texts,
    "--workers": bad_numbers.filter(lambda number: number != "0"),
}
PLAYING = {
    "--games": few,
    "--seed": TRAINING["--seed"],
    "--greedy": switches,
    "--step": st.one_of(st.sampled_from(["80", "79", "None"]), bad_numbers),
    "--csv": paths,
    "--workers": bad_numbers,
}
FILMING = {
    "--out": paths,
    "--game": st.one_of(st.sampled_from(["0", "7"]), bad_numbers),
    "--best-of": bad_numbers,
    "--seed": TRAINING["--seed"],
    "--step": PLAYING["--step"],
}
RUNNING = {  # --out is always a folder that is refused, after the study was read
    "--engine": st.sampled_from(["local", "x"]),
    "--at-once": bad_numbers,
    "--address": texts,
    "--cpus-per-run": few,
    "--gpus-per-run": st.one_of(st.just("0.5"), bad_numbers),
    "--retries": few,
    "--lease-seconds": st.one_of(st.sampled_from(["1", "1e6"]), bad_numbers),
}
FINDING = {
    "--states": bad_numbers,
    "--exploration": bad_numbers,
    "--seed": bad_numbers,
    "--out": paths,
}
studies = st.one_of(st.sampled_from(["tiny.toml", "demo", "nowhere.toml", "dmeo"]), texts)


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
    if draw(st.integers(0, 9)) == 0:
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
        steps = draw(st.one_of(st.sampled_from(["1", "80", "0.1k"]), bad_numbers))
        out = f"new-{draw(st.integers(0, 10**9))}"
        out = draw(st.one_of(st.just(out), st.just(out), paths))
        words += [draw(worlds), *draw(options(TRAINING)), "--steps", steps, "--out", out]
        if not any(word.startswith("--workers") for word in words):
            words += ["--workers", "1"]
        if not any(word.startswith("--actors") for word in words):
            words += ["--actors", "2"]
        if not any(word.startswith("--shards") for word in words):
            words += ["--shards", "1"]
        if not any(word.startswith("--a2c.n-steps") for word in words) and "acktr" not in words:
            words += draw(st.sampled_from([[], ["--a2c.n-steps", "5"]]))
    elif command == "resume":
        words += [draw(paths), *draw(options({"--workers": TRAINING["--workers"]}))]
        words += ["--steps", draw(st.one_of(st.sampled_from(["80", "90", "160"]), bad_numbers))]
    elif command == "evaluate":
        words += [draw(paths), "--workers", "0", "--games", "1", *draw(options(PLAYING))]
    elif command == "record":
        words += [draw(paths), *draw(options(FILMING))]
    elif command == "study run":
        words += [draw(studies), *draw(options(RUNNING)), "--out", "taken"]
    elif command in ("study status", "study report"):
        words += [draw(studies), *draw(options({"--out": paths, "--games": bad_numbers}))]
    elif command == "games":
        words += draw(st.lists(worlds, max_size=2))
    elif command == "find-position":
        words += [draw(worlds), *draw(options(FINDING))]
        words += ["--states", draw(bad_numbers)]
    elif command == "bench":
        words += [draw(worlds), "--seconds", draw(bad_numbers)]
    else:
        words = draw(st.lists(texts, max_size=3))
    return words


def fuzz(examples: int) -> Any:
    return settings(
        max_examples=examples,
        deadline=None,
        derandomize=examples == QUICK,
        suppress_health_check=[*HealthCheck],
    )


@given(command_lines())
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
        ['["KeyHallway"]', '["KeyHallway", "mo:n"]', '[":x"]', '["own_breaking:Env"]']
    ),
    "treatments": st.sampled_from(['["deepcs"]', '["deepcs", "plain"]', '["x"]', '"deepcs"']),
    "agents": st.sampled_from(['["a2c"]', '["acktr"]', '["own_breaking:Env"]', "[]"]),
    "seeds": st.sampled_from(["2", "1000000000", "[0, 1]", "[0, 0]", "[-1]", "100001", "9" * 30]),
    "steps": st.sampled_from(["80", '"160M"', "0", "10000000000000000", '"1e400"']),
    "settings": st.sampled_from(
        [
            "{ tile = 3 }",
            "{ actors = 1000000 }",
            "{ a2c = { gamma = 0.9 } }",
            "{ a2c.gamma = 9e400 }",
            *("{ seed = 1 }", "{ tiel = 3 }", "{ device = 'x' }", f"{{ tile = {'9' * 30} }}"),
            *(f"{{ a2c.gamma = {'9' * 400} }}", "{ a2c = 3 }", "{ learner = 3 }"),
        ]
    ),
    "sweep": st.sampled_from(
        [
            *("{ tile = [1, 2] }", "{ tile = [] }", "{ tile = 3 }", "{ seed = [1, 2] }"),
            f"{{ tile = {[*range(1, 400)]}, actors = {[*range(1, 400)]} }}",
            *("{ network = ['$\\frac{$'] }", f"{{ network = ['a:{'x' * 300}'] }}"),
        ]
    ),
    "nonsense": VALUES,
}


@st.composite
def study_files(draw: st.DrawFn) -> str:
    lines = [f"about = {draw(VALUES)}"] if draw(st.integers(0, 3)) == 0 else []
    for _ in range(draw(st.integers(0, 2))):
        lines.append("[[experiments]]")
        table = {
            "worlds": '["KeyHallway"]',
            "treatments": '["deepcs"]',
            "seeds": "2",
            "steps": "80",
        }
        for key in draw(st.lists(st.sampled_from([*KEYS]), max_size=3)):
            table[key] = draw(st.one_of(KEYS[key], VALUES))
        if draw(st.integers(0, 9)) == 0:
            table.pop(draw(st.sampled_from([*table])))
        lines += [f"{key} = {value}" for key, value in table.items()]
    text = "\n".join(lines) + "\n"
    if draw(st.integers(0, 4)) == 0:
        place = draw(st.integers(0, len(text)))
        text = text[:place] + draw(st.text(max_size=5)) + text[place + draw(st.integers(0, 3)) :]
    return text


@given(study_files())
def try_study_file(text: str) -> None:
    Path("fuzzed.toml").write_text(text, errors="replace")
    ended = deepcs("study", "run", "fuzzed.toml", "--out", "taken")
    check(ended, (2,))


@pytest.mark.parametrize("examples", [QUICK, pytest.param(MANY, marks=pytest.mark.long)])
def test_a_command_line_ends_in_one_sentence_or_well(examples: int) -> None:
    fuzz(examples)(try_command_line)()


@pytest.mark.parametrize("examples", [QUICK, pytest.param(MANY, marks=pytest.mark.long)])
def test_a_study_file_ends_in_one_sentence(examples: int) -> None:
    fuzz(examples)(try_study_file)()
