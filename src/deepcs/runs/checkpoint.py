"""Checkpoints: everything needed to resume a run exactly, written completely or not at all.

checkpoints/<step>/
  weights.safetensors     the network, by PyTorch's usual names
  learner.safetensors     the learner's vectors, by its names: mean_square, momentum …
  actors.safetensors      arrays of the actors' snapshots
  state.json              counters, lengths of the logs, the snapshots' JSON
  manifest.json           SHA-256 of the files above, whichever they are; written last
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from safetensors import SafetensorError
from safetensors.numpy import load as load_arrays
from safetensors.numpy import save as save_arrays

from deepcs.system.files import delete_folder, holds_only, read_file, sync_folder, write_synced
from deepcs.system.snapshot import SnapshotError, from_arrays, to_arrays

NEEDED = ("weights.safetensors", "actors.safetensors", "state.json")
MANIFEST = "manifest.json"
FILES = re.compile(r"(weights|learner|actors)\.safetensors|(state|manifest)\.json")
UNFINISHED = re.compile(r"\.\d+\.(new|old)")  # a checkpoint that is being written, or deleted

UNREADABLE = (  # what reading a file of somebody else's raises
    *(OSError, ValueError, KeyError, TypeError, AttributeError, IndexError),
    *(RecursionError, SafetensorError),
)


class CheckpointError(ValueError):
    """A checkpoint that is damaged or missing."""


@dataclass(frozen=True)
class Checkpoint:
    """A run at one step."""

    step: int
    weights: dict[str, np.ndarray]
    learner: dict[str, np.ndarray]
    actors: list[Any] | None
    """a snapshot per actor; None: the environments cannot be frozen"""
    state: dict[str, Any]
    """counters and lengths of the logs, as JSON values"""


def _pack(arrays: dict[str, np.ndarray]) -> bytes:
    # safetensors writes raw memory, which is wrong for a strided or Fortran-ordered array.
    ordered = {name: np.asarray(array, order="C") for name, array in arrays.items()}
    try:
        packed: bytes = save_arrays(ordered)
    except SafetensorError as error:
        kinds = sorted({str(array.dtype) for array in arrays.values()})
        raise SnapshotError(
            f"Got arrays of {', '.join(kinds)} to save; the environment's snapshot() may hold "
            "arrays of bool, whole numbers, and floats of up to 64 bits."
        ) from error
    return packed


def _plain(value: object) -> object:
    """A NumPy number in an environment's snapshot, as JSON takes it."""
    if isinstance(value, np.generic):
        return value.item()
    raise SnapshotError(
        f"Got {type(value).__name__} in a snapshot; the environment's snapshot() may hold dicts, "
        "lists, NumPy arrays, numbers, text, True, False and None."
    )


def save_checkpoint(folder: Path, checkpoint: Checkpoint, staging: Path | None = None) -> Path:
    """Write into folder/<step>; a failure half-way leaves all earlier checkpoints as they were.

    staging: as in write_whole.
    """
    arrays, tree = to_arrays(checkpoint.actors)
    state = {"step": checkpoint.step, "state": checkpoint.state, "actors": tree}
    contents = {
        "weights.safetensors": _pack(checkpoint.weights),
        "learner.safetensors": _pack(checkpoint.learner),
        "actors.safetensors": _pack(arrays),
        "state.json": json.dumps(state, default=_plain).encode(),
    }
    hashes = {name: hashlib.sha256(content).hexdigest() for name, content in contents.items()}
    folder.mkdir(parents=True, exist_ok=True)
    beside = (staging or folder) / f".{checkpoint.step}.new"
    if beside.exists():
        delete_folder(beside, FILES)
    try:
        beside.mkdir()
        for name, content in contents.items():
            write_synced(beside / name, content)
        write_synced(beside / MANIFEST, json.dumps(hashes).encode())
        sync_folder(beside)
        target = folder / str(checkpoint.step)
        if target.exists():
            _delete(target, staging)  # a damaged one
        beside.rename(target)
        sync_folder(folder)
    except BaseException:
        with suppress(OSError):
            delete_folder(beside, FILES)
        raise
    return target


def checkpoint_steps(folder: Path) -> list[int]:
    """Steps of the checkpoints in a folder, oldest first; other names are ignored."""
    return sorted(_steps_in(folder)) if folder.is_dir() else []


def _steps_in(folder: Path) -> Iterator[int]:
    for path in folder.iterdir():
        if path.name.isdecimal() and str(int(path.name)) == path.name and path.is_dir():
            yield int(path.name)


def read_checked(folder: Path, step: int) -> dict[str, bytes]:
    """The files of a checkpoint, after a check of their hashes."""
    where = folder / str(step)
    try:
        hashes = json.loads(read_file(where / MANIFEST))
        names = [*NEEDED, *(name for name in hashes if name not in NEEDED)]
        if any(Path(name).name != name for name in names):
            raise ValueError("its manifest names files elsewhere")
        contents = {name: read_file(where / name) for name in names}
        wrong = [n for n in names if hashlib.sha256(contents[n]).hexdigest() != hashes[n]]
        if not wrong and (found := json.loads(contents["state.json"])["step"]) != step:
            raise ValueError(f"it is that of step {found}")
    except UNREADABLE as error:
        raise CheckpointError(f"Checkpoint {where} is damaged ({error}).") from error
    if wrong:
        raise CheckpointError(f"Checkpoint {where} is damaged ({', '.join(wrong)}).")
    return contents


def load_checkpoint(folder: Path, step: int) -> Checkpoint:
    """Read and check one checkpoint; raises CheckpointError if it is damaged."""
    contents = read_checked(folder, step)
    try:
        state = json.loads(contents["state.json"])
        if not isinstance(state["state"], dict):
            raise TypeError("its state is no dict")
        learner = contents.get("learner.safetensors")
        return Checkpoint(
            step,
            load_arrays(contents["weights.safetensors"]),
            {} if learner is None else load_arrays(learner),
            from_arrays(load_arrays(contents["actors.safetensors"]), state["actors"]),
            state["state"],
        )
    except UNREADABLE as error:
        raise CheckpointError(f"Checkpoint {folder / str(step)} is damaged ({error}).") from error


def newest_checkpoint(folder: Path) -> tuple[Checkpoint | None, list[str]]:
    """The newest undamaged checkpoint, and a sentence for each damaged one that is newer.

    None if there is none at all; raises CheckpointError if there are some and all are damaged.
    """
    damaged: list[str] = []
    for step in reversed(checkpoint_steps(folder)):
        try:
            return load_checkpoint(folder, step), damaged
        except CheckpointError as error:
            damaged.append(str(error))
    if damaged:
        raise CheckpointError(
            f"Every checkpoint in {folder} is damaged ({len(damaged)} of them); "
            "train again into a new folder."
        )
    return None, damaged


def newest_state(folder: Path) -> tuple[int, dict[str, Any]] | None:
    """Step and state of the newest checkpoint whose state is undamaged; reads no more of it."""
    for step in reversed(checkpoint_steps(folder)):
        where = folder / str(step)
        with suppress(*UNREADABLE):
            content = read_file(where / "state.json")
            digest = json.loads(read_file(where / MANIFEST))["state.json"]
            state: dict[str, Any] = json.loads(content)["state"]
            if hashlib.sha256(content).hexdigest() == digest:
                return step, state
    return None


def is_whole(folder: Path, step: int) -> bool:
    """Whether a checkpoint exists with all its files undamaged."""
    try:
        read_checked(folder, step)
    except CheckpointError:
        return False
    return True


def clear_unfinished(folder: Path) -> None:
    """Delete what a killed process left of a checkpoint that it was writing or deleting."""
    if folder.is_dir():
        for path in folder.iterdir():
            if UNFINISHED.fullmatch(path.name) and holds_only(path, FILES):
                delete_folder(path, FILES)


def _delete(checkpoint: Path, staging: Path | None) -> None:
    """Rename a checkpoint away, then delete it; one that holds other files stays."""
    if holds_only(checkpoint, FILES):
        aside = (staging or checkpoint.parent) / f".{checkpoint.name}.old"
        if aside.exists():
            delete_folder(aside, FILES)
        checkpoint.rename(aside)
        delete_folder(aside, FILES)


def prune_checkpoints(
    folder: Path, newest: int, keep: int, milestone_every: int, staging: Path | None = None
) -> None:
    """Delete all but the last `keep` and, of the others, the first past each milestone.

    `newest`: the step just saved; later ones are from before the run fell back.
    """
    steps = checkpoint_steps(folder)
    for step in steps:
        if step > newest:
            _delete(folder / str(step), staging)
    steps = [step for step in steps if step <= newest]
    kept_milestones: set[int] = set()
    for step in steps[:-keep]:
        milestone = step // milestone_every
        if milestone and milestone not in kept_milestones:
            kept_milestones.add(milestone)
        else:
            _delete(folder / str(step), staging)
