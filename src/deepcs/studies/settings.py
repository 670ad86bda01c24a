"""A run's settings by name and type, as a study's file may set them."""

from __future__ import annotations

import dataclasses
import types
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints

from deepcs.runs.config import RunConfig
from deepcs.runs.counts import parse_count

OWN_KEYS = {
    "world": "worlds",
    "treatment": "treatments",
    "agent": "agents",
    "seed": "seeds",
    "steps": "steps",
}
"""settings that have keys of their own in an experiment"""
WORDS = {int: "a whole number", float: "a number", str: "a text", bool: "true or false"}


def _all_settings() -> dict[str, Any]:
    found: dict[str, Any] = {}
    for name, kind in get_type_hints(RunConfig).items():
        if dataclasses.is_dataclass(kind):
            found |= {f"{name}.{key}": each for key, each in get_type_hints(kind).items()}
        elif name not in OWN_KEYS:
            found[name] = kind
    return found


SETTINGS = _all_settings()
"""type of every other setting, by its full name, such as tile or a2c.schedule"""


def with_setting(config: RunConfig, name: str, value: Any) -> RunConfig:
    """A config with one more setting; raises ValueError if the value is not of its type."""
    kind = SETTINGS[name]
    fitting = parse_count(value) if kind is int and isinstance(value, str) else value
    if not fits(fitting, kind):
        raise ValueError(f"got {name} = {value!r}; give {_in_words(kind)}.")
    fitting = float(fitting) if kind is float else fitting
    outer, _, inner = name.partition(".")
    if inner:
        fitting = dataclasses.replace(getattr(config, outer), **{inner: fitting})
    changed: dict[str, Any] = {outer: fitting}
    return dataclasses.replace(config, **changed)


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
