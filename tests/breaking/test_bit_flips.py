"""A run folder with one bit flipped: it is read as before, or refused in one sentence."""

from __future__ import annotations

import random
import warnings
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from deepcs.analysis.groups import total_visits
from deepcs.runs.config import RunConfig
from deepcs.runs.errors import RunError
from deepcs.runs.folder import RunFolder
from deepcs.runs.load import load_run
from deepcs.runs.logs import VisitLog
from deepcs.runs.train import train

QUICK = 750  # flips of each file, drawn from all of them
LATE = 10**15  # a step after every other


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A small run."""
    path = tmp_path_factory.mktemp("flipped") / "run"
    train(RunConfig("KeyHallway", steps=2_000, actors=2, log_every=500), path, workers=1)
    return path


@dataclass
class Tally:
    """What came of many flips."""

    refused: int = 0
    same: int = 0
    changed: int = 0
    sentences: set[str] = field(default_factory=set)


def flips(content: bytes, chosen: int | None) -> Iterator[tuple[int, bytes]]:
    """Every bit's number and the bytes with it flipped; or of as many bits as are chosen."""
    bits = range(8 * len(content))
    for bit in bits if chosen is None else sorted(random.Random(0).sample(bits, chosen)):
        damaged = bytearray(content)
        damaged[bit // 8] ^= 1 << bit % 8
        yield bit, bytes(damaged)


def visits_read(run: Path) -> Any:
    """All that is made of visits.npz: by load_run, by the report, and by a run that goes on."""
    logs = load_run(run)
    totals = total_visits(run / "visits.npz")
    log = VisitLog(run / "visits.npz", LATE, accept_changes=True)
    columns = {name: column.tolist() for name, column in logs.visits.items()}
    kept = [rows.tolist() for rows in log._rows]
    return columns, logs.visit_rooms, totals, kept, log._rooms


def settings_read(run: Path) -> Any:
    logs = load_run(run)
    return RunFolder(run).read_config(), logs.config, logs.segments


def flip_all(run: Path, name: str, read: Any, chosen: int | None) -> Tally:
    """Read with each flip; whatever is raised but RunError, or warned of, fails the test."""
    path, tally = run / name, Tally()
    content, before = path.read_bytes(), read(run)
    try:
        for bit, damaged in flips(content, chosen):
            path.write_bytes(damaged)
            try:
                with warnings.catch_warnings():
                    warnings.simplefilter("error")
                    after = read(run)
            except RunError as error:
                tally.refused += 1
                tally.sentences.add(str(error))
            except BaseException as error:
                error.add_note(f"{name}, bit {bit} of {8 * len(content)}")
                raise
            else:
                tally.same += after == before
                tally.changed += after != before
    finally:
        path.write_bytes(content)
    assert all(str(run) in sentence and "\n" not in sentence for sentence in tally.sentences)
    return tally


@pytest.mark.parametrize("chosen", [QUICK, pytest.param(None, marks=pytest.mark.long)])
def test_a_flipped_bit_in_visits_is_refused_or_changes_nothing(
    run: Path, chosen: int | None
) -> None:
    tally = flip_all(run, "visits.npz", visits_read, chosen)
    assert tally.refused > 0
    assert tally.changed == 0


@pytest.mark.parametrize("chosen", [QUICK, pytest.param(None, marks=pytest.mark.long)])
def test_a_flipped_bit_in_the_settings_is_refused(run: Path, chosen: int | None) -> None:
    tally = flip_all(run, "config.json", settings_read, chosen)
    assert tally.changed == 0
    assert tally.same <= 1  # 1e-05 may be read as 1E-05, which is the same number


def damage(path: Path, **changed: Any) -> None:
    """Write visits.npz again, whole, but with other arrays in it."""
    with np.load(path) as arrays:
        content = {**{name: arrays[name] for name in arrays}, **changed}
    np.savez_compressed(
        path, **{name: array for name, array in content.items() if array is not None}
    )


@pytest.mark.parametrize(
    "changed",
    [
        {"room": np.full(3, 99)},
        {"room": "negative"},
        {"step": "backwards"},
        {"step": "float"},
        {"row": "matrix"},
        {"column": "shorter"},
        {"entries": "zero"},
        {"entries": "object"},
        {"rooms": np.array(["1.x"])},
        {"rooms": np.array([1, 2])},
        {"rooms": None},
    ],
)
def test_visits_that_no_run_writes_are_refused(run: Path, changed: dict[str, Any]) -> None:
    path = run / "visits.npz"
    content = path.read_bytes()
    with np.load(path) as arrays:
        ways = {
            "negative": lambda array: array * 0 - 1,
            "backwards": lambda array: array[::-1],
            "float": lambda array: array.astype(float),
            "matrix": lambda array: array[:, None],
            "shorter": lambda array: array[1:],
            "zero": lambda array: array * 0,
            "object": lambda array: array.astype(object),
        }
        given = {
            name: ways[how](arrays[name]) if isinstance(how, str) else how
            for name, how in changed.items()
        }
    try:
        damage(path, **given)
        with pytest.raises(RunError, match="is damaged or missing"):
            load_run(run)
    finally:
        path.write_bytes(content)
