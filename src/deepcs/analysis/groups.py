"""A study's runs as the figures need them: grouped by all but their seed, reduced to what is drawn.

A run is read once and most of it is not kept, so that a hundred runs of 160 million steps fit into
memory.
"""

from __future__ import annotations

import dataclasses
import math
import os
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from deepcs.analysis.scores import final_score
from deepcs.analysis.statistics import POINTS, align, even_steps
from deepcs.analysis.style import Look, look
from deepcs.curiosity.tiles import Room, Tile
from deepcs.runs.checkpoint import newest_state
from deepcs.runs.config import RunConfig
from deepcs.runs.errors import RunError
from deepcs.runs.folder import RunFolder
from deepcs.runs.load import read_curve, summarise_games
from deepcs.runs.logs import check_logs, parse_room, read_visits
from deepcs.studies.experiment import StudyRun
from deepcs.studies.study import Study, differences

BESIDE = ("seed", "device", "preset", "checkpoint_every", "milestone_every")
"""settings in which runs of one group may differ, as they do not change what is learned"""
CHOSEN = ("width", "height", "levels")
"""settings of novelty by pixels that each seed's random play chooses where they are not given"""


@dataclass(frozen=True, eq=False)
class RunResult:
    """What one run has shown so far."""

    name: str
    path: Path
    config: RunConfig
    versions: dict[str, str]
    steps: np.ndarray
    """steps at which its curve was logged, (rows,)"""
    score: np.ndarray
    """each actor's latest game, averaged, (rows,)"""
    intrinsic: np.ndarray
    """the same of the intrinsic reward, (rows,)"""
    seconds: float
    """time spent training"""
    finished: bool
    room_orders: Counter[tuple[Room, ...]]
    """games by the rooms they visited, in order of first entry"""
    visits: Counter[Tile]
    """how often each tile was entered, over all of training"""
    milestones: dict[str, int | None]
    """the step at which the first game of each kind was over; None: not yet"""
    best_game: float
    """the highest score of a game; NaN: none is over"""

    @property
    def last_step(self) -> int:
        return int(self.steps[-1])

    @property
    def cores(self) -> int:
        """Cores that it computes on."""
        return self.config.shards * self.config.threads


@dataclass(frozen=True, eq=False)
class Group:
    """Runs that differ in nothing but their seed."""

    config: RunConfig
    """of the first of them"""
    variant: str
    """their value in a sweep; empty: none"""
    planned: int
    """runs that the study asks for"""
    runs: tuple[RunResult, ...]
    """those that have logged anything"""

    @property
    def world(self) -> str:
        return self.config.world

    @property
    def look(self) -> Look:
        return look(self.config.treatment, self.config.agent)

    @property
    def label(self) -> str:
        return f"{self.look.label}, {self.variant}" if self.variant else self.look.label

    @property
    def finished(self) -> tuple[RunResult, ...]:
        return tuple(run for run in self.runs if run.finished)

    def final_scores(self, measure: str = "score") -> np.ndarray:
        """Score, or `intrinsic`, at the end of each finished run that ended a game, (n,)."""
        scores = [
            final_score(run.steps, run.score if measure == "score" else run.intrinsic)
            for run in self.finished
        ]
        return np.array([score for score in scores if not math.isnan(score)], np.float64)

    def aligned(self, measure: str, steps: np.ndarray) -> np.ndarray:
        """`score` or `intrinsic` of every run on common steps, (runs, points)."""
        values = [run.score if measure == "score" else run.intrinsic for run in self.runs]
        return align([run.steps for run in self.runs], values, steps)


def tally(have: int, planned: int) -> str:
    """`5`, or `3 of 5` where some are missing."""
    return str(have) if have == planned else f"{have} of {planned}"


def counted(have: int, planned: int) -> str:
    """`n = 5`, or `n = 3 of 5`."""
    return f"n = {tally(have, planned)}"


def named(group: Group) -> str:
    """The group's label with its n, as legends have it."""
    return f"{group.label} ({counted(len(group.runs), group.planned)})"


def common_steps(groups: Sequence[Group]) -> np.ndarray:
    """Steps at which groups are compared: no more of them than the runs have logged rows.

    Finer than the log, equal neighbours would be tested twice. Runs with few rows are compared
    where they were logged, so that no row is lost between steps that are even.
    """
    longest = max((run for group in groups for run in group.runs), key=lambda run: len(run.steps))
    last = max(group.config.steps for group in groups)
    if len(longest.steps) <= POINTS and longest.last_step >= last:
        return longest.steps.astype(np.int64)
    return even_steps(last, min(POINTS, last, len(longest.steps)))


@dataclass(frozen=True)
class Results:
    """All results of a study."""

    study: Study
    folder: Path
    groups: tuple[Group, ...]
    """in the study's order; those without any run too"""
    problems: tuple[str, ...]
    """a sentence for each run that could not be read"""

    @property
    def worlds(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(group.world for group in self.groups))

    def of(self, world: str) -> list[Group]:
        """Groups of a world that have data and belong to no sweep."""
        return [g for g in self.groups if g.world == world and g.runs and not g.variant]

    @property
    def planned(self) -> int:
        return sum(group.planned for group in self.groups)

    @property
    def finished(self) -> int:
        return sum(len(group.finished) for group in self.groups)


def collect(study: Study, folder: Path) -> Results:
    """Read every run of a study that is there; raises RunError if none is finished."""
    members: dict[tuple[str, str, str, str], list[StudyRun]] = {}
    for run in study.runs:
        config = run.config
        key = config.world, config.treatment, config.agent, run.variant
        members.setdefault(key, []).append(run)
    problems: list[str] = []
    groups = []
    for (*_, variant), runs in members.items():
        found = []
        for run in runs:
            try:
                result = read_result(folder / "runs" / run.name, run.config)
            except RunError as error:
                problems.append(str(error))
                continue
            if result is not None:
                found.append(result)
        groups.append(Group(runs[0].config, variant, len(runs), tuple(found)))
    results = Results(study, folder, tuple(groups), tuple(problems))
    if not results.finished:
        raise RunError(
            f"No run of study {study.name} is finished in {folder}"
            + (f" ({problems[0]})" if problems else "")
            + f"; finish some with: deepcs study run {study.name}."
        )
    return results


def gather(paths: Sequence[Path], about: str = "") -> Results:
    """Runs of no study, each in its own folder, grouped by all but their seed and what it chooses.

    Of groups that differ in more than world, treatment and learner, the one with most runs has the
    plain name, and the others say in which settings they differ.
    """
    alike = _alike(paths)
    groups: list[Group] = []
    plain: dict[tuple[str, str, str], RunConfig] = {}
    for config, members in sorted(alike.items(), key=lambda item: -len(item[1])):
        first = plain.setdefault((config.world, config.treatment, config.agent), config)
        variant = "" if first is config else _told_apart(first, config)
        runs = [run for path in members if (run := read_result(path, config)) is not None]
        groups.append(Group(config, variant, len(members), tuple(runs)))
    order = {path: i for i, path in enumerate(paths)}
    groups.sort(key=lambda group: min((order[run.path] for run in group.runs), default=len(paths)))
    study = Study("runs", about, ())
    return Results(study, Path(os.path.commonpath(paths)) if paths else Path(), tuple(groups), ())


def _alike(paths: Sequence[Path]) -> dict[RunConfig, list[Path]]:
    """Runs by their settings; sizes of a picture are taken for chosen where no seed has two."""
    seeds: dict[RunConfig, list[int]] = {}
    exact: dict[RunConfig, list[Path]] = {}
    for path in paths:
        config = RunFolder(path).read_config().config
        key = dataclasses.replace(config, **{name: getattr(RunConfig, name) for name in BESIDE})
        exact.setdefault(key, []).append(path)
        seeds.setdefault(_unsized(key), []).append(config.seed)
    found: dict[RunConfig, list[Path]] = {}
    firsts: dict[RunConfig, RunConfig] = {}
    for key, members in exact.items():
        loose = _unsized(key)
        chosen = len(set(seeds[loose])) == len(seeds[loose])
        first = firsts.setdefault(loose, key) if chosen else key
        found.setdefault(first, []).extend(members)
    return found


def _unsized(config: RunConfig) -> RunConfig:
    """The settings without the size of a picture."""
    novelty = dataclasses.replace(config.novelty, **dict.fromkeys(CHOSEN))
    return dataclasses.replace(config, novelty=novelty)


def _told_apart(first: RunConfig, other: RunConfig) -> str:
    """The settings in which a group differs from the first of its kind: `steps=500000`."""
    values = dataclasses.asdict(other)
    found = {}
    for name in differences(first, other):
        outer, _, inner = name.partition(".")
        part = "novelty" if outer == "novelty" else "learner"
        found[name] = values[part].get(inner) if inner else values[outer]
    return ", ".join(f"{name}={value}" for name, value in found.items())


def read_result(path: Path, wanted: RunConfig) -> RunResult | None:
    """A run's results so far; None if it has not begun to log. `wanted`: as the study has it."""
    folder = RunFolder(path)
    if not folder.holds_run:
        return None
    saved = folder.read_config()
    curve = read_curve(path, ("step", "score", "intrinsic", "seconds"))
    if not len(curve["step"]):
        return None
    if saved.format != 1 and (newest := newest_state(folder.checkpoints)) is not None:
        check_logs(path, *newest)
    games = summarise_games(path, saved.config.world)
    return RunResult(
        path.name,
        path,
        saved.config,
        saved.versions,
        curve["step"],
        curve["score"],
        curve["intrinsic"],
        float(curve["seconds"][-1]),
        bool(curve["step"][-1] >= wanted.whole_updates(wanted.steps)),
        games.room_orders,
        total_visits(path / "visits.npz"),
        games.milestones,
        games.best,
    )


def total_visits(path: Path) -> Counter[Tile]:
    """How often each tile was entered, over all intervals of a visits.npz."""
    if not path.is_file():
        return Counter()
    columns, rooms = read_visits(path)
    if not len(columns["entries"]):
        return Counter()
    shape, least = [], []
    flat = np.zeros(len(columns["entries"]), np.int64)
    for name in ("room", "row", "column"):
        least.append(int(columns[name].min()))
        shape.append(int(columns[name].max()) - least[-1] + 1)
        if math.prod(shape) > np.iinfo(np.int64).max:
            raise RunError(f"{path} has tiles too far apart to be meant; restore it from a copy.")
        flat *= shape[-1]
        flat += columns[name]
        flat -= least[-1]
    if math.prod(shape) <= len(flat):  # nearly every tile is there: no need to sort
        totals = np.bincount(flat, weights=columns["entries"], minlength=math.prod(shape))
        entered = np.flatnonzero(totals)
        totals = totals[entered]
    else:
        entered, which = np.unique(flat, return_inverse=True)
        totals = np.bincount(which, weights=columns["entries"])
    places = np.stack(np.unravel_index(entered, shape), 1) + least
    return Counter(
        {
            (parse_room(rooms[room]), row, column): int(total)
            for (room, row, column), total in zip(places.tolist(), totals, strict=True)
        }
    )
