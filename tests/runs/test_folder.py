"""A run's folder: whose it is, what may be written into it, how it grows."""

from __future__ import annotations

import json
import shutil
from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from test_checkpoint import Listener
from trainee import assert_same_run

from deepcs.agents.a2c import A2CSettings
from deepcs.runs.checkpoint import checkpoint_steps
from deepcs.runs.config import RunConfig
from deepcs.runs.errors import RunError
from deepcs.runs.folder import RunFolder, Segment
from deepcs.runs.load import load_run
from deepcs.runs.logs import CsvLog, VisitLog, parse_room, read_visits, room_text
from deepcs.runs.train import resume, train
from deepcs.runs.trained import load_agent
from deepcs.system.snapshot import SnapshotError

HALLWAY = RunConfig("KeyHallway", steps=400, actors=2, log_every=100, checkpoint_every=200)


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("finished") / "run"
    train(HALLWAY, out)
    return out


@pytest.fixture
def run(finished: Path, tmp_path: Path) -> Path:
    """A copy of a finished run."""
    return Path(shutil.copytree(finished, tmp_path / "run"))


def rewrite_config(run: Path, **changes: Any) -> None:
    path = run / "config.json"
    path.write_text(json.dumps({**json.loads(path.read_text()), **changes}))


USES = [resume, load_run, load_agent]


@pytest.mark.parametrize("use", USES)
def test_a_missing_folder_is_refused_and_not_made(use: Any, tmp_path: Path) -> None:
    with pytest.raises(RunError, match=r"is not the folder of a run: it has no config\.json"):
        use(tmp_path / "nowhere")
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("use", USES)
@pytest.mark.parametrize("content", ["", "{", "[1, 2]", "null", '{"lr": 3}', "\x00\xff"])
def test_a_foreign_config_is_refused(use: Any, content: str, tmp_path: Path) -> None:
    (tmp_path / "config.json").write_text(content)
    with pytest.raises(RunError, match=r"config\.json"):
        use(tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["config.json"]


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner),
    max_leaves=5,
)


@settings(max_examples=100, deadline=None)
@given(
    changed=st.sampled_from(["format", "config", "segments", "versions"]),
    value=json_values,
    name=st.sampled_from(["world", "steps", "actors", "a2c", "weight", "seed", "new"]),
    inside=st.booleans(),
)
def test_a_config_with_anything_in_a_wrong_place_is_read_or_refused(
    finished: Path,
    tmp_path_factory: pytest.TempPathFactory,
    changed: str,
    value: Any,
    name: str,
    inside: bool,
) -> None:
    saved = json.loads((finished / "config.json").read_text())
    if inside:
        saved["config"][name] = value
    else:
        saved[changed] = value
    folder = tmp_path_factory.mktemp("odd")
    (folder / "config.json").write_text(json.dumps(saved))
    try:
        RunFolder(folder).read_config()
    except RunError as error:
        assert "config" in str(error) or "format" in str(error)  # noqa: PT017


def test_a_folder_with_other_files_is_refused_and_left_alone(tmp_path: Path) -> None:
    (tmp_path / "thesis.tex").write_text("precious")
    with pytest.raises(RunError, match="holds files that are not a run's; give an empty or new"):
        train(HALLWAY, tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["thesis.tex"]


def test_a_file_in_the_folders_place_is_refused(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(RunError, match="cannot be"):
        train(HALLWAY, tmp_path / "file")
    with pytest.raises(RunError, match="cannot be"):
        resume(tmp_path / "file")


def test_a_run_killed_at_its_birth_can_begin_again(tmp_path: Path) -> None:
    (tmp_path / "lock").touch()
    (tmp_path / ".config.json.new").write_text('{"format": 1, ')
    assert train(replace(HALLWAY, steps=20), tmp_path) is None
    assert not list(tmp_path.glob(".*"))


def test_other_settings_in_the_same_folder_are_refused_by_name(run: Path) -> None:
    with pytest.raises(RunError, match=r"other settings \(seed 0, not 1\); give another --out"):
        train(replace(HALLWAY, seed=1), run)
    with pytest.raises(RunError, match=r"treatment 'deepcs', not 'plain'; actors 2, not 3"):
        train(replace(HALLWAY, treatment="plain", actors=3), run)


def test_the_same_settings_go_on_even_where_there_are_more_cores(
    tmp_path: Path,
) -> None:
    listener = Listener()
    train(replace(HALLWAY, shards=2, steps=20), tmp_path, workers=1)
    assert train(replace(HALLWAY, shards=0, steps=20), tmp_path, display=listener) is None
    assert listener.said == [f"{tmp_path} is finished: 20 steps."]


@pytest.mark.parametrize(
    "world", ["own_envs:missing", "no_such_module:make", "own_envs:of_whole_numbers"]
)
def test_a_world_that_cannot_be_trained_in_is_refused_before_anything_is_written(
    world: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(Path(__file__).parent)
    with pytest.raises(ValueError, match=r"own_envs|no_such_module"):
        train(RunConfig(world, steps=10), tmp_path / "run")
    assert not (tmp_path / "run").exists()


@pytest.mark.parametrize("steps", [0, -5])
def test_steps_below_one_are_refused_by_resume_too(steps: int, run: Path) -> None:
    before = (run / "config.json").read_bytes()
    with pytest.raises(RunError, match=f"Got steps {steps}; give a whole number from 1 up"):
        resume(run, steps=steps)
    assert (run / "config.json").read_bytes() == before


def test_fewer_steps_than_done_are_refused(run: Path) -> None:
    with pytest.raises(RunError, match=r"Got 100 steps, but .* has 400 already; give a larger"):
        resume(run, steps=100)


def test_an_extension_runs_the_schedule_over_the_new_total(run: Path) -> None:
    before = (run / "games.csv").read_bytes()
    assert resume(run, steps=795) is None
    logs = load_run(run)
    assert logs.config.steps == 800
    assert logs.segments == (Segment(0, 400), Segment(400, 800))
    # A row's rate is that of its last update, which began 10 steps before; of 400, then of 800.
    steps = np.arange(100, 801, 100)
    total = np.where(steps <= 400, 400, 800)
    np.testing.assert_array_equal(logs.curve["step"], steps)
    np.testing.assert_allclose(logs.curve["learning_rate"], 7e-4 * (1 - (steps - 10) / total))
    assert (run / "games.csv").read_bytes().startswith(before)
    assert train(replace(HALLWAY, steps=800), run) is None
    assert load_run(run).segments == logs.segments


def test_an_extension_at_a_constant_rate_equals_a_run_of_that_length(tmp_path: Path) -> None:
    """With a schedule it cannot: the first segment's rates fell towards an earlier end."""
    config = replace(HALLWAY, learner=A2CSettings(schedule="constant"))
    train(config, tmp_path / "extended")
    resume(tmp_path / "extended", steps=800)
    train(replace(config, steps=800), tmp_path / "whole")
    assert_same_run(tmp_path / "extended", tmp_path / "whole", but=("config.json",))


def test_logs_that_lost_what_the_checkpoint_knows_are_refused(run: Path) -> None:
    for name in ("games.csv", "curve.csv", "visits.npz"):
        content = (run / name).read_bytes()
        for damage in (None, content[: len(content) // 3]):
            (run / name).unlink()
            if damage is not None:
                (run / name).write_bytes(damage)
            with pytest.raises(RunError, match=f"{name} .*; restore it"):
                resume(run, steps=800)
            (run / name).write_bytes(content)
    assert resume(run) is None


def test_a_csv_is_cut_back_to_what_is_kept(tmp_path: Path) -> None:
    log = CsvLog(tmp_path / "log.csv", ("a", "b"), None)
    log.append({"b": 2, "a": 1})
    length = log.sync()
    log.append({"a": 3, "b": 4})
    log.close()
    again = CsvLog(tmp_path / "log.csv", ("a", "b"), length)
    again.append({"a": 5, "b": ""})
    again.close()
    assert (tmp_path / "log.csv").read_text() == "a,b\n1,2\n5,\n"


def test_visits_and_rooms_after_the_checkpoint_are_forgotten(tmp_path: Path) -> None:
    log = VisitLog(tmp_path / "visits.npz", None)
    log.append(100, Counter({((1,), 2, 3): 4}))
    stood = log.write()
    log.append(200, Counter({((0, 7), 5, 6): 1, ((1,), 2, 3): 9}))
    log.write()
    again = VisitLog(tmp_path / "visits.npz", 100, stood)
    again.append(200, Counter({((2,), 0, 0): 1}))
    again.write()
    columns, rooms = read_visits(tmp_path / "visits.npz")
    assert rooms == ["1", "2"]
    rows = np.stack([columns[name] for name in VisitLog.NAMES], 1)
    assert rows.tolist() == [[100, 0, 2, 3, 4], [200, 1, 0, 0, 1]]


@given(room=st.lists(st.integers(0, 255), max_size=3).map(tuple))
def test_a_room_comes_back_from_its_text(room: tuple[int, ...]) -> None:
    assert parse_room(room_text(room)) == room


def test_an_environment_without_snapshot_trains_and_says_what_that_means(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(Path(__file__).parent)
    often = {"steps": 200, "actors": 2, "checkpoint_every": 100}
    config = RunConfig("own_envs:counting", precision="float32", **often)
    first, second = Listener(), Listener()
    train(config, tmp_path, display=first)
    assert first.said == ["This environment has no snapshot(): a resumed run will not be exact."]
    resume(tmp_path, steps=400, display=second)
    assert second.said == ["This environment has no snapshot(): games under way start afresh."]
    games = load_run(tmp_path).games
    # Games of 7 steps of 2 actors end every 14; the 2 steps of each actor's 15th are lost at 200.
    mine = games["step"][games["actor"] == 0]
    assert mine.tolist() == [*range(14, 200, 14), *range(214, 400, 14)]


def test_an_environment_with_snapshot_goes_on_exactly(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(Path(__file__).parent)
    constant = A2CSettings(schedule="constant")
    config = RunConfig(
        "own_envs:freezable",
        steps=200,
        actors=2,
        log_every=100,
        checkpoint_every=100,
        learner=constant,
        precision="float32",  # says nothing of its own
    )
    listener = Listener()
    train(config, tmp_path / "extended", display=listener)
    resume(tmp_path / "extended", steps=400, display=listener)
    train(replace(config, steps=400), tmp_path / "whole")
    assert listener.said == []
    assert_same_run(tmp_path / "extended", tmp_path / "whole", but=("config.json",))


def test_a_snapshot_that_cannot_be_saved_is_a_sentence(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(Path(__file__).parent)
    with pytest.raises(SnapshotError, match="Got set in a snapshot; the environment's snapshot"):
        train(RunConfig("own_envs:unserialisable", steps=100, actors=2), tmp_path)
    assert checkpoint_steps(tmp_path / "checkpoints") == []
