"""A run's settings for its shards."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from deepcs.agents.agent import Agent
from deepcs.agents.plan import Precision
from deepcs.agents.rollout import RewardRules
from deepcs.agents.table import find_agent
from deepcs.curiosity.novelty import Novelty


@dataclass(frozen=True)
class Training:
    """Who learns, where, and how the actors are divided; all defaults are resolved."""

    world: str
    actor_settings: dict[str, Any]
    """as in make_vec"""
    agent: str
    """its name in the table of agents, or module:Class"""
    settings: Any
    """of the agent"""
    network: str
    """fast, narrow, joint or module:function"""
    actors: int
    shards: int
    seed: int
    rules: RewardRules
    threads: int = 1
    """torch threads per process"""
    device: str = "cpu"
    precision: Precision = "float32"
    """in which the network multiplies"""
    novelty: Novelty | None = None
    """novelty that needs the whole batch; None: there is none"""

    @property
    def agent_type(self) -> type[Agent]:
        return find_agent(self.agent)
