"""A study: many runs, described by a TOML file."""

from __future__ import annotations

import dataclasses
import tomllib
from collections.abc import Sequence
from dataclasses import dataclass
from importlib import resources
from pathlib import Path

from deepcs.runs.config import RunConfig
from deepcs.studies.experiment import StudyError, StudyRun, read_experiment, refuse_unknown
from deepcs.system.limits import STUDY_RUNS
from deepcs.system.spelling import the_nearest

KEYS = ("about", "experiments")


@dataclass(frozen=True)
class Study:
    """Runs that belong together."""

    name: str
    about: str
    """what it is for and how long it takes"""
    runs: tuple[StudyRun, ...]


def shipped() -> tuple[str, ...]:
    """Names of the studies that come with deepcs."""
    files = resources.files("deepcs.studies").iterdir()
    return tuple(sorted(f.name.removesuffix(".toml") for f in files if f.name.endswith(".toml")))


def study_name(name_or_path: str | Path) -> str:
    """The name of a study, shipped or in a file: the file's, without its ending."""
    path = Path(name_or_path)
    if path.suffix == ".toml":
        return path.stem
    name = str(name_or_path)
    if name not in shipped():
        nearest = the_nearest(name, {each: each for each in shipped()})
        raise StudyError(
            f"Got study {name!r}; {nearest}choose one of {', '.join(shipped())}, or give the path "
            "of a .toml file."
        )
    return name


def load_study(name_or_path: str | Path) -> Study:
    """A study that comes with deepcs, by name, or any other, by the path of its file.

    >>> len(load_study("demo").runs)
    21
    """
    name = study_name(name_or_path)
    if Path(name_or_path).suffix == ".toml":
        path = Path(name_or_path)
        try:
            text = path.read_text(encoding="utf-8-sig")  # some editors write a byte order mark
        except (OSError, UnicodeDecodeError) as error:
            raise StudyError(
                f"The study {path} cannot be read ({error}); give the path of a .toml file."
            ) from error
    else:
        text = resources.files("deepcs.studies").joinpath(f"{name}.toml").read_text("utf-8")
    return read_study(name, text)


def read_study(name: str, text: str) -> Study:
    """The study of that name that a TOML text describes."""
    where = f"{name}.toml"
    try:
        content = tomllib.loads(text)
    except RecursionError as error:
        raise StudyError(
            f"{where} has lists or tables too deep in each other; write them flat."
        ) from error
    except ValueError as error:  # TOMLDecodeError, or a number that Python does not read
        raise StudyError(f"{where} is not valid TOML: {error}; fix it there.") from error
    refuse_unknown(where, "key", content, KEYS)
    about, experiments = content.get("about", ""), content.get("experiments", [])
    if not isinstance(about, str):
        raise StudyError(f"{where}: got about = {about!r}; give a text.")
    if not isinstance(experiments, list) or not experiments:
        raise StudyError(f"{where} has no experiments; begin each with a line [[experiments]].")
    runs: list[StudyRun] = []
    for i, table in enumerate(experiments, 1):
        runs += read_experiment(f"{where}, experiment {i}", table, STUDY_RUNS - len(runs))
    _check_apart(where, runs)
    return Study(name, about.strip(), tuple(runs))


def _check_apart(where: str, runs: Sequence[StudyRun]) -> None:
    """Refuse a run that is listed twice, and runs that differ in more than their name says."""
    names: dict[RunConfig, str] = {}
    groups: dict[tuple[str, str, str, str], RunConfig] = {}
    for run in runs:
        if run.config in names:
            also = f" as {names[run.config]}" if names[run.config] != run.name else ""
            raise StudyError(
                f"{where} has the run {run.name} twice{also}; take it out of one experiment."
            )
        names[run.config] = run.name
        config = dataclasses.replace(run.config, seed=0)
        key = config.world, config.treatment, config.agent, run.variant
        first = groups.setdefault(key, config)
        if first != config:
            raise StudyError(
                f"{where} has runs of {config.world}, {config.treatment}, {config.agent} that "
                f"differ in {', '.join(differences(first, config))}; put that into a sweep, so "
                "that they can be told apart."
            )


def differences(one: RunConfig, other: RunConfig) -> list[str]:
    """Names of the settings in which two runs differ: tile, novelty.width, a2c.schedule."""
    # Of a learner of the user's own, a run read from its folder has a dict, as here.
    ours, theirs = dataclasses.asdict(one), dataclasses.asdict(other)
    found = [n for n in ours if n not in ("novelty", "learner") and ours[n] != theirs[n]]
    for part, prefix in (("novelty", "novelty"), ("learner", one.agent_name)):
        mine, its = (each[part] or {} for each in (ours, theirs))
        names = dict.fromkeys((*mine, *its))
        found += [f"{prefix}.{name}" for name in names if mine.get(name) != its.get(name)]
    return found
