"""One [[experiments]] table of a study: worlds × treatments × agents × sweep × seeds."""

from __future__ import annotations

import dataclasses
import itertools
import math
import re
import sys
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from deepcs.runs.config import RunConfig
from deepcs.runs.counts import parse_count
from deepcs.runs.effects import check_effects
from deepcs.runs.presets import preset
from deepcs.studies.settings import OWN_KEYS, all_settings, fits, with_settings
from deepcs.system.importing import allow
from deepcs.system.limits import NAME, STUDY_RUNS, shown
from deepcs.system.spelling import the_nearest

REQUIRED = ("worlds", "treatments", "seeds", "steps")
KEYS = (*OWN_KEYS.values(), "settings", "sweep")


class StudyError(ValueError):
    """A study that cannot be run as it is written."""


@dataclass(frozen=True)
class StudyRun:
    """One run of a study."""

    name: str
    """of its folder"""
    config: RunConfig
    """all defaults resolved but the device, which is chosen where it runs"""
    variant: str
    """its value in a sweep, such as weight=0.5; empty: no sweep"""


def refuse_unknown(where: str, what: str, given: Iterable[str], allowed: Iterable[str]) -> None:
    """Raise StudyError for the first name that is not allowed, naming the nearest."""
    allowed = list(allowed)
    for name in given:
        if name not in allowed:
            nearest = the_nearest(name, {each: each for each in allowed})
            raise StudyError(
                f"{where}: got {what} {name!r}; {nearest}choose from {', '.join(allowed)}."
            )


def read_experiment(where: str, table: Any, most: int = STUDY_RUNS) -> Iterator[StudyRun]:
    """The runs of one table, `most` at most; `where` begins every error message."""
    if not isinstance(table, dict):
        raise StudyError(f"{where}: got {table!r}; begin it with a line [[experiments]].")
    refuse_unknown(where, "key", table, KEYS)
    missing = [key for key in REQUIRED if key not in table]
    if missing:
        raise StudyError(f"{where} lacks {' and '.join(missing)}; add {missing[0]} = ...")
    agents = _names(where, {"agents": [_base(where, table, "", {}).agent], **table}, "agents")
    allow(agents)  # a study's file is its user's own, and is read only to run it
    settings = _flat(where, "settings", table.get("settings", {}), agents)
    sweep = _flat(where, "sweep", table.get("sweep", {}), agents)
    for name, values in sweep.items():
        if not isinstance(values, list) or not values:
            raise StudyError(f"{where}: got sweep {name} = {values!r}; give a list of values.")
    worlds, treatments = _names(where, table, "worlds"), _names(where, table, "treatments")
    seeds = _seeds(where, table["seeds"])
    count = len(worlds) * len(treatments) * len(agents) * len(seeds)
    count *= math.prod(map(len, sweep.values()))
    if count > most:
        raise StudyError(
            f"{where}: got up to {count:,} runs; a study has {STUDY_RUNS:,} at most: give fewer "
            "seeds, or values to sweep."
        )
    for world, treatment, agent in itertools.product(worlds, treatments, agents):
        varied = {n: values for n, values in sweep.items() if n in all_settings([agent])}
        for values in itertools.product(*varied.values()):
            chosen = dict(zip(varied, values, strict=True))
            variant = ", ".join(f"{name}={value}" for name, value in chosen.items())
            who: dict[str, Any] = {"world": world, "treatment": treatment, "agent": agent}
            given = settings | chosen
            config = dataclasses.replace(_base(where, table, world, given), **who)
            config = _with_settings(where, config, given)
            for seed in seeds:
                yield _run(where, dataclasses.replace(config, seed=seed), variant)


def _base(where: str, table: dict[str, Any], world: str, given: dict[str, Any]) -> RunConfig:
    """Before what is given is set: one shard, and what beside it a preset's settings are."""
    shared: dict[str, Any] = {"steps": _count(where, table["steps"]), "shards": 1}
    if "preset" not in table:
        return RunConfig(world, **shared)
    try:
        prefix = f"{preset(table['preset']).agent}."
        own = {n.removeprefix(prefix): each for n, each in given.items() if n.startswith(prefix)}
        return RunConfig.from_preset(table["preset"], world, learner=own, **shared)
    except ValueError as error:
        raise StudyError(f"{where}: {error}") from error


def _run(where: str, config: RunConfig, variant: str) -> StudyRun:
    # Device and precision are for the machine that each run begins on, which may be another.
    precision = "float32" if config.precision == "bfloat16" else config.precision
    try:
        resolved = dataclasses.replace(config, device="cpu", precision=precision).resolved()
        check_effects(resolved)
    except ValueError as error:
        raise StudyError(f"{where}: {error}") from error
    device = config.device
    if device not in ("auto", "cpu", "cuda"):
        raise StudyError(f"{where}: Got device {device!r}; choose auto, cpu or cuda.")
    resolved = dataclasses.replace(resolved, device=device, precision=config.precision)
    name = f"{resolved.name}-{variant}" if variant else resolved.name
    name = re.sub(r"[^\w.=+-]+", "-", name)
    if len(name.encode()) > NAME:
        raise StudyError(
            f"{where}: got a run named {shown(name)}, of {len(name.encode())} bytes; file systems "
            f"take {NAME}, so shorten the names in it."
        )
    return StudyRun(name, resolved, variant)


def _names(where: str, table: dict[str, Any], key: str) -> list[str]:
    names = table[key]
    if not isinstance(names, list) or not names or not all(isinstance(n, str) for n in names):
        raise StudyError(f'{where}: got {key} = {names!r}; give a list such as ["..."].')
    return names


def _count(where: str, given: Any) -> int:
    try:
        number = parse_count(given) if isinstance(given, str) else given
    except ValueError as error:
        raise StudyError(f"{where}: {error}") from error
    if not fits(number, int) or number < 1:
        raise StudyError(
            f"{where}: got steps = {shown(repr(given))}; give a number from 1 up, or as '160M'."
        )
    return int(number)


def _seeds(where: str, given: Any) -> Sequence[int]:
    if fits(given, int) and 1 <= given <= sys.maxsize:
        return range(given)
    if not isinstance(given, list) or not given or not all(fits(s, int) for s in given):
        raise StudyError(
            f"{where}: got seeds = {shown(repr(given))}; give how many, such as 5 for 0 to 4, or a "
            "list."
        )
    return given


def _flat(where: str, what: str, table: Any, agents: Sequence[str]) -> dict[str, Any]:
    """Settings by their full names: a2c.schedule."""
    if not isinstance(table, dict):
        raise StudyError(f"{where}: got {what} = {table!r}; give a table such as {{ tile = 8 }}.")
    flat: dict[str, Any] = {}
    for name, value in table.items():
        inner = value.items() if isinstance(value, dict) else ()
        flat |= {f"{name}.{key}": each for key, each in inner} if inner else {name: value}
    for name in flat:
        if name in OWN_KEYS:
            raise StudyError(f"{where}: got {name} in {what}; use {OWN_KEYS[name]} = ... instead.")
    try:
        known = all_settings(agents)
    except ValueError as error:
        raise StudyError(f"{where}: {error}") from error
    refuse_unknown(where, "setting", flat, known)
    return flat


def _with_settings(where: str, config: RunConfig, settings: dict[str, Any]) -> RunConfig:
    try:
        return with_settings(config, settings)
    except ValueError as error:
        raise StudyError(f"{where}: {error}") from error
