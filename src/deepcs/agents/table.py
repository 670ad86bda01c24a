"""The agents by name: one line each."""

from __future__ import annotations

import importlib
import inspect
from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from typing import Any

from deepcs.agents.agent import Agent
from deepcs.system.importing import is_path, load_object

AGENTS = {
    "a2c": "deepcs.agents.a2c:A2C",
    "acktr": "deepcs.agents.acktr:ACKTR",
    "ppo": "deepcs.agents.ppo:PPO",
}
PAPERS_AGENT = "a2c"
"""The paper's learner: the default, and unnamed where only others are named."""
FIRST_COLUMNS = ("step", "score", "intrinsic", "tiles")
"""Of every run's curve.csv; the agent's own follow."""
LAST_COLUMNS = ("learning_rate", "games", "steps_per_second", "seconds")
NEEDED = ("n_steps", "learning_rate", "schedule")  # of every agent's settings
CALLED = (  # methods that deepcs calls on every agent
    *("check_division", "kept_samples", "vectors", "__init__"),
    *("act", "update", "remembered", "recall"),
)


def find_agent(name: str) -> type[Agent]:
    """The agent of that name, or the class that `module:Class` names; refuses any other."""
    if name in AGENTS:
        module, _, kind = AGENTS[name].partition(":")
        found: type[Agent] = getattr(importlib.import_module(module), kind)
        return found
    if not is_path(name):
        raise ValueError(
            f"Got agent {name!r}; choose one of {', '.join(AGENTS)}, or give module:Class of an "
            "agent of your own."
        )
    own = load_object(name, "module:Class of a class derived from deepcs.agents.agent.Agent")
    if not (isinstance(own, type) and issubclass(own, Agent)):
        raise ValueError(f"Got agent {name!r}, which is {own!r}; give a class derived from Agent.")
    lacking = [part for part in ("name", "Settings", "columns") if not hasattr(own, part)]
    if lacking:
        raise ValueError(f"The agent {name!r} lacks {', '.join(lacking)}; see deepcs.agents.agent.")
    if not is_dataclass(own.Settings) or not {f.name for f in fields(own.Settings)}.issuperset(
        NEEDED
    ):
        raise ValueError(
            f"The agent {name!r} has Settings {own.Settings!r}; give a frozen dataclass with "
            f"{', '.join(NEEDED)}."
        )
    if own.name in AGENTS:
        raise ValueError(f"The agent {name!r} is called {own.name!r}, which is taken; rename it.")
    _check_columns(name, own)
    _check_methods(name, own)
    return own


def _check_columns(name: str, own: type[Agent]) -> None:
    """Raise ValueError for columns that are no names, or names that are taken."""
    if not isinstance(own.columns, (tuple, list)):
        raise ValueError(
            f"The agent {name!r} has columns {own.columns!r}; give a tuple of names, such as "
            '("loss",).'
        )
    for k, column in enumerate(own.columns):
        if column in (*FIRST_COLUMNS, *LAST_COLUMNS, *own.columns[:k]):
            raise ValueError(
                f"The agent {name!r} has a column {column!r}, which curve.csv has already; "
                "rename it."
            )


def _check_methods(name: str, own: type[Agent]) -> None:
    """Raise ValueError for a method that is not there, or cannot be called as Agent's can."""
    if own.update is Agent.update:
        raise ValueError(
            f"The agent {name!r} lacks update; write update(self, rollout, moment), as "
            "deepcs.agents.agent shows."
        )
    for method in CALLED:
        of_agent = getattr(Agent, method)
        parameters = inspect.signature(of_agent).parameters.values()
        named = {p.name: None for p in parameters if p.kind is p.KEYWORD_ONLY}
        try:
            found = inspect.signature(getattr(own, method))
            found.bind(*[None] * (len(parameters) - len(named)), **named)
        except (TypeError, ValueError) as error:
            plain = inspect.Signature([p.replace(annotation=p.empty) for p in parameters])
            kind = "a classmethod" if inspect.ismethod(of_agent) else "a method"
            raise ValueError(
                f"The agent {name!r} has a {method} that cannot be called ({error}); write "
                f"{kind} whose arguments are {plain}."
            ) from error


def make_settings(
    agent: str, numbers: Mapping[str, Any], preset: Mapping[str, Any] | None = None
) -> Any:
    """An agent's settings, of which some are given by name; raises ValueError for unknown ones.

    preset: other defaults, but for those that have no effect beside the numbers that are given.
    """
    kind = find_agent(agent).Settings
    known = [f.name for f in fields(kind)]
    unknown = sorted(numbers.keys() - set(known))
    if unknown:
        raise ValueError(f"Got {agent}.{unknown[0]}; choose from {', '.join(known)}.")
    if preset is not None and hasattr(kind, "unused"):
        unused = kind.unused({**preset, **numbers})
        preset = {name: number for name, number in preset.items() if name not in unused}
    return kind(**{**(preset or {}), **numbers})
