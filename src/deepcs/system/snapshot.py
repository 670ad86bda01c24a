"""Snapshots: plain trees of arrays and JSON values that save an object's state exactly.

A snapshot is a dict whose leaves are NumPy arrays or JSON values. It names its kind, so that a
foreign or truncated one is refused where it enters instead of failing somewhere later.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Mapping
from typing import Any, TypeVar

import numpy as np

Snapshot = dict[str, Any]
T = TypeVar("T")
S = TypeVar("S")


class SnapshotError(ValueError):
    """A snapshot that is not what the receiver can restore."""


def check_snapshot(snapshot: object, kind: str, keys: Iterable[str]) -> Snapshot:
    """Return the snapshot if it is a whole one of this kind, else raise SnapshotError."""
    if not isinstance(snapshot, dict):
        raise SnapshotError(
            f"Got {type(snapshot).__name__} where a snapshot of kind {kind!r} is needed; "
            "pass what snapshot() returned."
        )
    if snapshot.get("kind") != kind:
        raise SnapshotError(
            f"Got a snapshot of kind {snapshot.get('kind')!r} where {kind!r} is needed; "
            "pass what the same kind of object's snapshot() returned."
        )
    missing = sorted(set(keys) - snapshot.keys())
    if missing:
        raise SnapshotError(
            f"The snapshot of kind {kind!r} is truncated: it lacks {', '.join(missing)}; "
            "use one that was saved whole."
        )
    return snapshot


def check_same(saved: Mapping[str, Any], ours: Mapping[str, Any], kind: str) -> None:
    """Raise SnapshotError, naming the first, if settings differ from those of the snapshot."""
    for name, value in ours.items():
        if saved.get(name) != value:
            raise SnapshotError(
                f"The snapshot's {kind} has {name} {saved.get(name)!r}, this one {value!r}; "
                "restore it where the settings are the same."
            )


def all_or_nothing(restore: Callable[[T, S], None]) -> Callable[[T, S], None]:
    """A restore() that leaves all as it was if the snapshot does not fit.

    Unforeseen damage is a SnapshotError too. An object without a snapshot yet, such as an
    environment that was never reset, cannot be rolled back.
    """

    @functools.wraps(restore)
    def whole(self: Any, snapshot: S) -> None:
        try:
            before = self.snapshot()
        except Exception:
            before = None
        try:
            restore(self, snapshot)
        except Exception as error:
            if before is not None:
                restore(self, before)
            if isinstance(error, SnapshotError):
                raise
            raise SnapshotError(
                f"The snapshot is damaged ({type(error).__name__}: {error}); use one that was "
                "saved whole."
            ) from error

    return whole


def is_place(node: dict[str, Any]) -> bool:
    """Whether it is a reference to an array."""
    return node.keys() == {"array"} and isinstance(node["array"], str)


def to_arrays(tree: Any) -> tuple[dict[str, np.ndarray], Any]:
    """Split a tree into its arrays, by path, and JSON with {"array": path} in their places."""
    arrays: dict[str, np.ndarray] = {}

    def split(node: Any, path: str) -> Any:
        if isinstance(node, np.ndarray):
            if path in arrays:
                raise SnapshotError(f"The snapshot has two arrays at {path!r}; use keys without /.")
            arrays[path] = node
            return {"array": path}
        if isinstance(node, dict):
            for key in node:
                if not isinstance(key, str):
                    raise SnapshotError(
                        f"The snapshot has the key {key!r} at {path!r}; use text as keys."
                    )
            if is_place(node):
                raise SnapshotError(
                    f"The snapshot has text as the only thing at {path + '/array'!r}, which is how "
                    "the place of an array is noted; use another key."
                )
            return {key: split(value, f"{path}/{key}") for key, value in node.items()}
        if isinstance(node, (list, tuple)):
            return [split(value, f"{path}/{i}") for i, value in enumerate(node)]
        return node

    return arrays, split(tree, "")


def from_arrays(arrays: dict[str, np.ndarray], tree: Any) -> Any:
    """Put the arrays back into the tree that `to_arrays` split (tuples come back as lists)."""
    if isinstance(tree, dict):
        if is_place(tree):
            if tree["array"] not in arrays:
                raise SnapshotError(
                    f"The snapshot lacks its array {tree['array']!r}; use one that was saved whole."
                )
            return arrays[tree["array"]]
        return {key: from_arrays(arrays, value) for key, value in tree.items()}
    if isinstance(tree, list):
        return [from_arrays(arrays, value) for value in tree]
    return tree
