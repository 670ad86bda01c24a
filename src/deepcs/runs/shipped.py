"""Trained agents that come with the package: `agents:NAME` wherever a run can be given.

trained_agents/<name>/
  agent.json           what it is and what it scored: see ShippedAgent
  config.json          the settings of its run, as the run had them
  weights.safetensors  the network, by PyTorch's names
  evaluation.csv       the games behind its score, played with exactly these weights
  curve.csv, games.csv.gz   the run's logs
  README.md            a model card, with the metadata that model hubs read
  sha256.txt           of all files above, as sha256sum writes it
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass, fields
from pathlib import Path

import numpy as np
from safetensors.numpy import load as load_arrays

from deepcs.runs.errors import RunError
from deepcs.system.spelling import the_nearest

PREFIX = "agents:"
BOX = Path(__file__).parents[1] / "trained_agents"
FACTS = "agent.json"
WEIGHTS = "weights.safetensors"
DIGESTS = "sha256.txt"


@dataclass(frozen=True)
class ShippedAgent:
    """The content of agent.json."""

    name: str
    """as in agents:NAME; its folder's name"""
    world: str
    treatment: str
    learner: str
    protocol: str
    step: int
    """steps that it was trained for"""
    games: int
    """of its evaluation"""
    seed: int
    """of its evaluation"""
    greedy: bool
    """it took the likeliest action instead of drawing from its policy"""
    median: float
    """score"""
    lowest: float
    highest: float
    tiles: float
    """median"""
    random: float
    """mean score of random play"""

    @property
    def path(self) -> Path:
        return BOX / self.name


def shipped_agents() -> list[ShippedAgent]:
    """All of them, by name."""
    return [read_facts(path.parent) for path in sorted(BOX.glob(f"*/{FACTS}"))]


def read_facts(folder: Path) -> ShippedAgent:
    """What an agent's folder says of it."""
    told = json.loads((folder / FACTS).read_text())
    return ShippedAgent(**{field.name: told[field.name] for field in fields(ShippedAgent)})


def find_shipped(name: str) -> ShippedAgent:
    """The agent of that name, with or without agents: before it."""
    wanted = name.removeprefix(PREFIX).lower()
    by_name = {agent.name.lower(): agent for agent in shipped_agents()}
    if wanted in by_name:
        return by_name[wanted]
    nearest = the_nearest(wanted, {low: f"{PREFIX}{each.name}" for low, each in by_name.items()})
    what = "no agent of the package"
    if not name.startswith(PREFIX):
        what = "neither an agent of the package nor the folder of a run"
    raise RunError(f"Got {name!r}, which is {what}; {nearest}see deepcs agents.")


def read_weights(folder: Path) -> dict[str, np.ndarray]:
    """An agent's weights by name, after a check that all its files are undamaged."""
    for line in (folder / DIGESTS).read_text().splitlines():
        digest, _, name = line.partition("  ")
        if hashlib.sha256((folder / name).read_bytes()).hexdigest() != digest:
            raise RunError(f"{folder / name} is damaged; install deepcs again.")
    weights: dict[str, np.ndarray] = load_arrays((folder / WEIGHTS).read_bytes())
    return weights
