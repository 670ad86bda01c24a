"""Checks of a Ray cluster before any run starts: whether it answers, has room, and matches here.

Whatever would make every run fail, or wait forever, is reported here in one sentence.
"""

from __future__ import annotations

import logging
import signal
import socket
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from deepcs._version import __version__
from deepcs.runs.loop import Stop
from deepcs.runs.versions import source_digest
from deepcs.studies.experiment import StudyError

KNOCK_SECONDS = 5.0
CHECK_SECONDS = 120.0  # for a node to start a process that imports deepcs
POLL_SECONDS = 0.25
ROOM_SECONDS = 10.0  # between looks whether a node has room


@dataclass(frozen=True)
class Share:
    """The resources of a node that a run gets."""

    cpus: int = 1
    gpus: float = 0.0

    def fits(self, resources: dict[str, float]) -> bool:
        return resources.get("CPU", 0) >= self.cpus and resources.get("GPU", 0) >= self.gpus


def connect(address: str | None) -> Any:
    """The module ray, connected to a cluster; one of this machine alone, if there is no address."""
    try:
        import ray
    except ImportError as error:
        raise StudyError(
            "The engine ray needs Ray, which is not installed; install it with: "
            "pip install 'deepcs[cluster]'."
        ) from error
    try:
        if address not in (None, "auto"):
            _knock(str(address))
        with _signals_kept():
            ray.init(
                address=address or "local",
                include_dashboard=False,
                log_to_driver=False,
                logging_level=logging.ERROR,
            )
    except (OSError, ValueError, RuntimeError, ray.exceptions.RayError) as error:
        raise StudyError(_why_not(address, error)) from error
    return ray


def _why_not(address: str | None, error: Exception) -> str:
    """Why there is no connection, and what to do."""
    said = " ".join(str(error).split())
    if "Authentication" in f"{type(error).__name__} {said} {error.__cause__}":
        return (
            f"The Ray cluster at {address} wants its token: ray get-auth-token prints it on the "
            "head; put it into ~/.ray/auth_token on every machine, and set RAY_AUTH_MODE=token."
        )
    if said.startswith("Version mismatch"):
        return (
            f"The Ray cluster at {address} has another Ray or Python ({said}); install the same "
            "there and here."
        )
    if address is None:
        return f"Ray does not start on this machine ({said}); try ray start --head to see why."
    return (
        f"No Ray cluster answers at {address} ({said}); start one with ray start --head, and give "
        "auto or its HOST:PORT."
    )


def _knock(address: str) -> None:
    """Raise OSError or ValueError if nothing answers now; Ray itself tries for ten minutes."""
    host, _, port = address.rpartition(":")
    socket.create_connection((host, int(port)), KNOCK_SECONDS).close()


@contextmanager
def _signals_kept() -> Iterator[None]:
    """Restore our signal handlers after ray.init, with whose handlers SIGTERM saves nothing."""
    numbers = (signal.SIGINT, signal.SIGTERM)
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = {number: signal.getsignal(number) for number in numbers}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def check_nodes(ray: Any, share: Share, folder: Path, stop: Stop) -> None:
    """Raise StudyError unless some node has room for a run, and all such nodes are fit for it.

    folder: of the study; on storage that all nodes share.
    """
    nodes = _fitting(ray, share)
    for node, found in zip(nodes, _look(ray, nodes, folder, stop), strict=False):
        name = f"The node {node['NodeManagerHostname']}"
        if isinstance(found, str):
            if node["NodeID"] not in {each["NodeID"] for each in _alive(ray)}:
                continue  # it has left since
            raise StudyError(f"{name} could not be checked ({found}); fix or remove it.")
        version, sources, sees = found
        complaint = mismatch(name, (version, sources), this_deepcs())
        if complaint is None and not sees:
            complaint = not_shared(name, folder)
        if complaint is not None:
            raise StudyError(f"{complaint}.")
    if not _fitting(ray, share):
        raise StudyError(f"Got {_no_room(ray, share)}; give less, or add such a node first.")


class RoomWatch:
    """Tells, while runs wait, that the last node with room for one has left."""

    def __init__(self, ray: Any, share: Share) -> None:
        self._ray, self._share = ray, share
        self._next, self._room = time.monotonic() + ROOM_SECONDS, True

    def look(self) -> str | None:
        """What to say now; None: nothing new."""
        if time.monotonic() < self._next:
            return None
        self._next = time.monotonic() + ROOM_SECONDS
        had, self._room = self._room, bool(_fitting(self._ray, self._share))
        if self._room or not had:
            return None
        lacking = _no_room(self._ray, self._share)
        return f"Runs wait with {lacking}; add such a node, or stop and give less."


def _alive(ray: Any) -> list[Any]:
    return [node for node in ray.nodes() if node["Alive"]]


def _fitting(ray: Any, share: Share) -> list[Any]:
    """The nodes with room for a run."""
    return [node for node in _alive(ray) if share.fits(node["Resources"])]


def _no_room(ray: Any, share: Share) -> str:
    wanted = f"--cpus-per-run {share.cpus}"
    wanted += f" and --gpus-per-run {share.gpus:g}" if share.gpus else ""
    resources = [node["Resources"] for node in _alive(ray)]
    kinds = {f"{r.get('CPU', 0):g} CPUs, {r.get('GPU', 0):g} GPUs" for r in resources}
    has = "; ".join(sorted(kinds))
    return f"{wanted}, for which no node of the cluster has room (there are: {has})"


def _look(ray: Any, nodes: Sequence[Any], folder: Path, stop: Stop) -> Iterator[Any]:
    """Of each node: version and digest of its deepcs, and whether it sees the folder; or an error.

    Ends early when told to stop.
    """
    path = str(folder)

    # Local, so that Ray sends the function itself: a node may have another deepcs, or none.
    def look() -> tuple[str, str, bool]:
        import os

        try:
            from deepcs._version import __version__
            from deepcs.runs.versions import source_digest
        except ImportError:
            return "", "", False
        return __version__, source_digest(), os.path.isdir(path)

    pinned = ray.util.scheduling_strategies.NodeAffinitySchedulingStrategy
    checks = [
        ray.remote(look)
        .options(num_cpus=0, scheduling_strategy=pinned(node["NodeID"], soft=False))
        .remote()
        for node in nodes
    ]
    for each in checks:
        waited = 0.0
        while stop.signal is None and not ray.wait([each], timeout=POLL_SECONDS)[0]:
            waited += POLL_SECONDS
            if waited > CHECK_SECONDS:
                yield f"it has not answered for {CHECK_SECONDS:g} s"
                return
        if stop.signal is not None:
            return
        try:
            yield ray.get(each)
        except ray.exceptions.RayError as error:
            yield " ".join(str(error).split())


def this_deepcs() -> tuple[str, str]:
    """Version, and digest of the sources."""
    return __version__, source_digest()


def mismatch(name: str, there: tuple[str, str], here: tuple[str, str]) -> str | None:
    """What to say of a node whose deepcs differs from the study's; None: it is the same."""
    if there == here:
        return None
    if not there[0]:
        return f"{name} has no deepcs, or an older one; install {here[0]} there"
    return (
        f"{name} has another deepcs ({there[0]}, sources {there[1][:8]}) than the study's "
        f"({here[0]}, sources {here[1][:8]}); install the same on both"
    )


def not_shared(name: str, folder: Path) -> str:
    return f"{name} does not see {folder}; the study's folder must be on storage that all share"
