"""All that a run tells its shards."""

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
    """Who learns, where, and how the actors are divided; every choice is made already."""

    world: str
    actor_settings: dict[str, Any]
    """as in make_vec"""
    agent: str
    """its name in the table of agents, or module:Class"""
    settings: Any
    """of the agent"""
    network: str
    """fast, joint or module:function"""
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
    """what of it needs the whole batch; None: nothing"""

    @property
    def agent_type(self) -> type[Agent]:
        return find_agent(self.agent)
