"""Finished or half-finished runs, from Python: the agent to play with, the logs as arrays."""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch

from deepcs.agents.network import Network
from deepcs.agents.noise import greedy, sample
from deepcs.curiosity.grid import Room
from deepcs.envs.make import make_vec
from deepcs.envs.pool import ActorPool
from deepcs.runs.checkpoint import (
    CheckpointError,
    checkpoint_steps,
    load_checkpoint,
    newest_checkpoint,
)
from deepcs.runs.config import RunConfig
from deepcs.runs.folder import (
    CURVE_COLUMNS,
    GAMES_COLUMNS,
    RunError,
    RunFolder,
    Segment,
    VisitLog,
    parse_room,
    read_visits,
)
from deepcs.runs.shard import look_at_world


class Agent:
    """A trained policy."""

    def __init__(self, config: RunConfig, step: int, weights: dict[str, np.ndarray]) -> None:
        self.config = config
        self.step = step
        """steps that it was trained for"""
        world = look_at_world(config)
        self._network = Network(world.observation_shape, world.actions, envs=1, steps=1)
        for name, tensor in self._network.named_parameters().items():
            tensor.copy_(torch.from_numpy(weights[name]))

    def policy(self, observations: np.ndarray) -> np.ndarray:
        """Probability of each action: (N, *observation shape) -> (N, actions)."""
        logits, _ = self._network.evaluate(torch.from_numpy(observations))
        probabilities: np.ndarray = torch.softmax(logits, 1).numpy()
        return probabilities

    def act(self, observations: np.ndarray, rng: np.random.Generator | None = None) -> np.ndarray:
        """Actions (N,): drawn from the policy with `rng`, or the likeliest without."""
        logits, _ = self._network.evaluate(torch.from_numpy(observations))
        return greedy(logits) if rng is None else sample(logits, rng.random(len(observations)))

    def act_with(self, observations: np.ndarray, uniforms: np.ndarray) -> np.ndarray:
        """Actions (N,) drawn from the policy with these numbers in [0, 1), (N,)."""
        logits, _ = self._network.evaluate(torch.from_numpy(observations))
        return sample(logits, uniforms)

    def make_envs(
        self, num_envs: int, *, seed: int, workers: int | None = None, **settings: Any
    ) -> ActorPool:
        """Worlds as the agent knows them; grids start empty in every game."""
        wanted = {**self.config.actor_settings(), **settings}
        if wanted["lifetime"] == "never":
            wanted["lifetime"] = "game"
        return make_vec(self.config.world, num_envs=num_envs, seed=seed, workers=workers, **wanted)


def load_agent(run: Path | str, step: int | None = None) -> Agent:
    """The agent of a run: of its newest whole checkpoint, or of the one at a step.

    >>> agent = load_agent("runs/Freeway-deepcs-paper-seed0")  # doctest: +SKIP
    >>> actions = agent.act(observations, np.random.default_rng(0))  # doctest: +SKIP
    """
    folder = RunFolder(run)
    config = folder.read_config().config
    if step is not None:
        steps = checkpoint_steps(folder.checkpoints)
        if step not in steps:
            raise CheckpointError(
                f"{folder.path} has no checkpoint of step {step}; "
                f"choose one of {', '.join(map(str, steps)) or 'none yet'}."
            )
        checkpoint = load_checkpoint(folder.checkpoints, step)
    else:
        newest, _ = newest_checkpoint(folder.checkpoints)
        if newest is None:
            raise CheckpointError(
                f"{folder.path} has no checkpoint yet; wait for its first or train longer."
            )
        checkpoint = newest
    return Agent(config, checkpoint.step, checkpoint.weights)


@dataclass(frozen=True)
class RunLogs:
    """A run's logs as arrays, one element a row."""

    config: RunConfig
    segments: tuple[Segment, ...]
    curve: dict[str, np.ndarray]
    """columns of curve.csv, float64; NaN where there was nothing yet"""
    games: dict[str, np.ndarray]
    """columns of games.csv but for the rooms, float64"""
    game_rooms: list[tuple[Room, ...]]
    """rooms of each game, in order of first entry"""
    visits: dict[str, np.ndarray]
    """columns of visits.npz: step, room (index into visit_rooms), row, column, entries"""
    visit_rooms: list[Room]


def load_run(path: Path | str) -> RunLogs:
    """The logs of a run, whether it is finished or not."""
    folder = RunFolder(path)
    saved = folder.read_config()
    games = _rows(folder.path / "games.csv", GAMES_COLUMNS)
    visits: dict[str, np.ndarray] = {name: np.zeros(0, np.int64) for name in VisitLog.NAMES}
    visit_rooms: list[Room] = []
    if (folder.path / "visits.npz").is_file():
        visits, rooms_seen = read_visits(folder.path / "visits.npz")
        visit_rooms = [parse_room(room) for room in rooms_seen]
    with _damage_named(folder.path):
        cells = _last_cells(games)
        known = {cell: _parse_rooms(cell) for cell in set(cells)}
        return RunLogs(
            saved.config,
            saved.segments,
            read_curve(folder.path),
            _numbers(games, GAMES_COLUMNS[:-1], GAMES_COLUMNS),
            [known[cell] for cell in cells],
            visits,
            visit_rooms,
        )


def read_curve(path: Path, names: Sequence[str] = CURVE_COLUMNS) -> dict[str, np.ndarray]:
    """Columns of a run's curve.csv alone, float64; NaN where there was nothing yet."""
    rows = _rows(path / "curve.csv", CURVE_COLUMNS)
    with _damage_named(path):
        return _numbers(rows, names, CURVE_COLUMNS)


def count_room_orders(path: Path) -> Counter[tuple[Room, ...]]:
    """How many games of a run visited which rooms, in which order of first entry."""
    rows = _rows(path / "games.csv", GAMES_COLUMNS)
    with _damage_named(path):
        games = Counter(_last_cells(rows))
        return Counter({_parse_rooms(cell): count for cell, count in games.items()})


@contextmanager
def _damage_named(path: Path) -> Iterator[None]:
    """A cell that cannot be read becomes a sentence about the run."""
    try:
        yield
    except RunError:
        raise
    except ValueError as error:
        raise RunError(
            f"The logs in {path} are damaged ({error}); restore them from a copy."
        ) from error


def _rows(path: Path, names: Sequence[str]) -> list[bytes]:
    """A CSV's whole rows; a last one that is still being written is left out.

    A run that is just starting has no file yet, or an empty one: no rows. Cells have no quotes;
    csv.reader, which minds them, takes several times as long over a hundred thousand rows.
    """
    whole, _, _ = path.read_bytes().rpartition(b"\n") if path.is_file() else (b"", b"", b"")
    if not whole:
        return []
    header, *rows = whole.splitlines()
    widths = set(map(bytes.count, rows, itertools.repeat(b",")))
    if header != ",".join(names).encode() or not widths <= {len(names) - 1}:
        raise RunError(f"{path} is damaged; restore it from a copy.")
    return rows


def _numbers(
    rows: list[bytes], names: Sequence[str], columns: Sequence[str]
) -> dict[str, np.ndarray]:
    """Some of the columns that rows have, by name."""
    cells = b",".join(rows).split(b",") if rows else []
    by_name = {name: cells[columns.index(name) :: len(columns)] for name in names}
    return {
        name: np.array([float(cell) if cell else np.nan for cell in column], np.float64)
        for name, column in by_name.items()
    }


def _last_cells(rows: list[bytes]) -> list[bytes]:
    return [last for _, _, last in map(bytes.rpartition, rows, itertools.repeat(b","))]


def _parse_rooms(cell: bytes) -> tuple[Room, ...]:
    return tuple(map(parse_room, cell.decode().split(";"))) if cell else ()
