"""Checkpoints cut, flipped or lost: the one before is used, or none; never a wrong one."""

from __future__ import annotations

import shutil
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from trainee import assert_same_run

from deepcs.runs.checkpoint import (
    MANIFEST,
    Checkpoint,
    CheckpointError,
    checkpoint_steps,
    load_checkpoint,
    newest_checkpoint,
    prune_checkpoints,
    save_checkpoint,
)
from deepcs.runs.config import RunConfig
from deepcs.runs.progress import Silence
from deepcs.runs.train import resume, train
from deepcs.runs.trained import load_agent
from deepcs.system.files import write_whole
from deepcs.system.snapshot import SnapshotError

HALLWAY = RunConfig("KeyHallway", steps=400, actors=2, log_every=70, checkpoint_every=200)
ALL_FILES = [*(f"{part}.safetensors" for part in ("weights", "learner", "actors"))]
ALL_FILES += ["state.json", MANIFEST]


class Listener(Silence):
    def __init__(self) -> None:
        self.said: list[str] = []

    def say(self, text: str) -> None:
        self.said.append(text)


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run with checkpoints at 200 and 400."""
    out = tmp_path_factory.mktemp("finished") / "run"
    train(HALLWAY, out)
    assert checkpoint_steps(out / "checkpoints") == [200, 400]
    return out


@st.composite
def damages(draw: st.DrawFn) -> tuple[str, str, float, int]:
    """File, what happens to it, where in it (0 to 1), which bit."""
    kind = draw(st.sampled_from(["cut", "flip", "lose", "lengthen"]))
    place = draw(st.floats(0, 1, exclude_max=True))
    return draw(st.sampled_from(ALL_FILES)), kind, place, draw(st.integers(0, 7))


def do_damage(checkpoint: Path, damage: tuple[str, str, float, int]) -> None:
    name, kind, place, bit = damage
    path = checkpoint / name
    content = bytearray(path.read_bytes())
    at = int(place * len(content))
    if kind == "lose":
        path.unlink()
        return
    if kind == "cut":
        del content[at:]
    elif kind == "flip":
        content[at] ^= 1 << bit
    else:
        content[at:at] = b"\x00"
    path.write_bytes(content)


@settings(max_examples=150, deadline=None)
@given(damage=damages())
def test_any_damage_to_the_newest_is_seen_and_the_one_before_is_used(
    finished: Path, damage: tuple[str, str, float, int]
) -> None:
    with TemporaryDirectory() as temporary:
        folder = Path(temporary) / "checkpoints"
        shutil.copytree(finished / "checkpoints", folder)
        do_damage(folder / "400", damage)
        with pytest.raises(CheckpointError, match="400 is damaged"):
            load_checkpoint(folder, 400)
        checkpoint, said = newest_checkpoint(folder)
        assert checkpoint is not None
        assert checkpoint.step == 200
        assert len(said) == 1
        do_damage(folder / "200", damage)
        with pytest.raises(CheckpointError, match=r"Every checkpoint .* is damaged"):
            newest_checkpoint(folder)


@pytest.mark.parametrize("instead", ["an empty folder", "a file"])
def test_something_else_in_a_checkpoints_place_is_damage_too(
    finished: Path, tmp_path: Path, instead: str
) -> None:
    folder = tmp_path / "checkpoints"
    shutil.copytree(finished / "checkpoints", folder)
    (folder / "600").mkdir() if instead == "an empty folder" else (folder / "600").touch()
    checkpoint, said = newest_checkpoint(folder)
    assert checkpoint is not None
    assert (checkpoint.step, len(said)) == (400, int(instead == "an empty folder"))


def test_a_run_goes_on_exactly_from_the_checkpoint_before_a_damaged_one(
    finished: Path, tmp_path: Path
) -> None:
    out = tmp_path / "run"
    shutil.copytree(finished, out)
    do_damage(out / "checkpoints" / "400", ("weights.safetensors", "flip", 0.7, 3))
    (out / "checkpoints" / ".300.new").mkdir()  # as a kill leaves it
    listener = Listener()
    assert load_agent(out).step == 200
    assert resume(out, display=listener) is None
    assert [text for text in listener.said if "400 is damaged" in text]
    assert_same_run(finished, out)
    assert not list((out / "checkpoints").glob(".*"))


def test_a_damaged_checkpoint_ahead_does_not_push_out_a_whole_one(
    finished: Path, tmp_path: Path
) -> None:
    out = tmp_path / "run"
    shutil.copytree(finished, out)
    (out / "checkpoints" / "400" / MANIFEST).unlink()
    assert resume(out, steps=300) is None
    assert checkpoint_steps(out / "checkpoints") == [200, 300]


def test_a_run_with_only_damaged_checkpoints_is_refused_and_left_as_it_is(
    finished: Path, tmp_path: Path
) -> None:
    out = tmp_path / "run"
    shutil.copytree(finished, out)
    for step in ("200", "400"):
        do_damage(out / "checkpoints" / step, ("state.json", "cut", 0.5, 0))
    games = (out / "games.csv").read_bytes()
    for call in (resume, load_agent, lambda path: train(HALLWAY, path)):
        with pytest.raises(CheckpointError, match=r"Every checkpoint .* is damaged"):
            call(out)
    assert (out / "games.csv").read_bytes() == games


def test_what_is_saved_is_what_is_loaded(tmp_path: Path) -> None:
    weights = {"w": np.array([[1.5, -0.0, np.float32(1e-40)]], np.float32)}
    learner = {"w": np.ones((1, 3), np.float32)}
    table = np.arange(6).reshape(2, 3)
    arrays = {"array": table, "turned": table.T, "every second": table[:, ::2], "one": np.array(5)}
    actors = [{"kind": "seat", "n": np.int64(3), "arrays": arrays, "array": {"array": table}}]
    save_checkpoint(tmp_path, Checkpoint(7, weights, learner, actors, {"x": None}))
    loaded = load_checkpoint(tmp_path, 7)
    assert loaded.step == 7
    assert loaded.weights["w"].tobytes() == weights["w"].tobytes()
    assert loaded.learner["w"].tobytes() == learner["w"].tobytes()
    assert loaded.actors is not None
    assert loaded.actors[0]["n"] == 3
    np.testing.assert_equal(loaded.actors[0]["arrays"], arrays)
    np.testing.assert_equal(loaded.actors[0]["array"], {"array": table})
    assert loaded.state == {"x": None}


@pytest.mark.parametrize(
    ("snapshot", "sentence"),
    [
        ({"seen": {1, 2}}, "Got set in a snapshot"),
        ({"names": np.array(["a"])}, "Got arrays of <U1 to save"),
        ({3: "x"}, "has the key 3 at '/0'; use text as keys"),
        ({"array": "x"}, "use another key"),
        ({"a/b": np.zeros(1), "a": {"b": np.ones(1)}}, "two arrays at '/0/a/b'"),
    ],
)
def test_a_snapshot_that_would_not_come_back_is_refused_and_nothing_is_written(
    snapshot: dict[Any, Any], sentence: str, tmp_path: Path
) -> None:
    with pytest.raises(SnapshotError, match=sentence):
        save_checkpoint(tmp_path, Checkpoint(7, {}, {}, [snapshot], {}))
    assert not list(tmp_path.iterdir())


def test_pruning_keeps_the_last_two_and_the_first_past_each_milestone(tmp_path: Path) -> None:
    for step in (40, 80, 120, 160, 200, 240, 280, 320):
        (tmp_path / str(step)).mkdir()
        prune_checkpoints(tmp_path, step, keep=2, milestone_every=100)
    assert checkpoint_steps(tmp_path) == [120, 200, 280, 320]


@settings(max_examples=50, deadline=None)
@given(gaps=st.lists(st.integers(1, 60), min_size=1, max_size=25), every=st.integers(1, 100))
def test_pruning_as_one_goes_keeps_the_same_as_pruning_once(gaps: list[int], every: int) -> None:
    steps = np.cumsum(gaps).tolist()
    past: dict[int, int] = {}
    for step in steps:
        past.setdefault(step // every, step)
    milestones = {step for number, step in past.items() if number}
    with TemporaryDirectory() as temporary:
        folder = Path(temporary)
        for step in steps:
            (folder / str(step)).mkdir()
            prune_checkpoints(folder, step, keep=2, milestone_every=every)
        assert checkpoint_steps(folder) == sorted(milestones | set(steps[-2:]))


def test_milestones_of_a_run_are_kept(tmp_path: Path) -> None:
    train(replace(HALLWAY, steps=900, checkpoint_every=100, milestone_every=250), tmp_path)
    assert checkpoint_steps(tmp_path / "checkpoints") == [300, 500, 800, 900]


REWRITE = """
import sys
from itertools import cycle
from pathlib import Path
from deepcs.system.files import write_whole
for letter in cycle(b"ab"):
    write_whole(Path(sys.argv[1]), bytes([letter]) * 300_000)
"""


def test_a_file_is_read_whole_while_it_is_rewritten_and_after_the_writer_is_killed(
    tmp_path: Path,
) -> None:
    path = tmp_path / "file"
    write_whole(path, b"a" * 300_000)
    writer = subprocess.Popen([sys.executable, "-c", REWRITE, str(path)])
    seen = set()
    try:
        while len(seen) < 2:
            seen.add(path.read_bytes())
        for _ in range(200):
            seen.add(path.read_bytes())
    finally:
        writer.kill()
        writer.wait()
    seen.add(path.read_bytes())
    assert seen == {b"a" * 300_000, b"b" * 300_000}
