"""A run's settings by name and type, as a study's file may set them."""

from __future__ import annotations

import dataclasses
import types
from collections.abc import Sequence
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints

from deepcs.agents.table import find_agent
from deepcs.curiosity.novelty import Novelty
from deepcs.runs.config import RunConfig
from deepcs.runs.counts import parse_count
from deepcs.system.limits import shown

OWN_KEYS = {
    "world": "worlds",
    "treatment": "treatments",
    "agent": "agents",
    "seed": "seeds",
    "steps": "steps",
    "preset": "preset",
}
"""settings that have their own keys in an experiment"""
WORDS = {int: "a whole number", float: "a number", str: "a text", bool: "true or false"}


def all_settings(agents: Sequence[str]) -> dict[str, Any]:
    """Type of every other setting of runs of these agents, by its full name: tile, a2c.gamma."""
    hints = get_type_hints(RunConfig)
    found = {n: kind for n, kind in hints.items() if n not in (*OWN_KEYS, "learner", "novelty")}
    found |= {f"novelty.{key}": kind for key, kind in get_type_hints(Novelty).items()}
    for agent in map(find_agent, agents):
        kinds = get_type_hints(agent.Settings)
        found |= {f"{agent.name}.{key}": kind for key, kind in kinds.items()}
    return found


def with_settings(config: RunConfig, values: dict[str, Any]) -> RunConfig:
    """A config with more settings, by their full names.

    Those of another agent than the config's are left out. Raises ValueError if a value is not of
    its type.
    """
    agent = find_agent(config.agent)
    kinds = all_settings([config.agent])
    learner = config.learner or agent.Settings()
    changed: dict[str, Any]
    for name, value in values.items():
        if name not in kinds:
            continue
        kind = kinds[name]
        fitting = parse_count(value) if kind is int and isinstance(value, str) else value
        if not fits(fitting, kind):
            raise ValueError(f"got {name} = {shown(repr(value))}; give {_in_words(kind)}.")
        try:
            fitting = float(fitting) if kind is float else fitting
        except OverflowError as error:
            raise ValueError(f"got {name} = {shown(value)}; give a smaller number.") from error
        outer, _, inner = name.partition(".")
        if outer == "novelty":
            choice: dict[str, Any] = {inner: fitting}
            changed = {"novelty": dataclasses.replace(config.novelty, **choice)}
            config = dataclasses.replace(config, **changed)
        elif inner:
            learner = dataclasses.replace(learner, **{inner: fitting})
        else:
            changed = {outer: fitting}
            config = dataclasses.replace(config, **changed)
    return dataclasses.replace(config, learner=learner)


def fits(value: Any, kind: Any) -> bool:
    """Whether a value of a TOML file is of a type; whole numbers are numbers, true is not 1."""
    for each in _parts(kind):
        if get_origin(each) is Literal:
            found = value in get_args(each)
        elif isinstance(value, bool):
            found = each is bool
        else:
            found = isinstance(value, (int, float) if each is float else each)
        if found:
            return True
    return False


def _parts(kind: Any) -> tuple[Any, ...]:
    """The types that a union allows; another type alone."""
    if get_origin(kind) in (Union, types.UnionType):
        return tuple(each for part in get_args(kind) for each in _parts(part))
    return (kind,)


def _in_words(kind: Any) -> str:
    words: list[str] = []
    for each in _parts(kind):
        if get_origin(each) is Literal:
            words += map(repr, get_args(each))
        elif each in WORDS:
            words.append(WORDS[each])
    return " or ".join(words)
