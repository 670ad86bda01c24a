"""`deepcs agents`: the trained agents that come with the package."""

from __future__ import annotations

from dataclasses import dataclass

from rich import box
from rich.console import Console
from rich.table import Table

from deepcs.analysis.published import counterpart
from deepcs.runs.progress import short_number
from deepcs.runs.shipped import PREFIX, ShippedAgent, shipped_agents


@dataclass(frozen=True)
class Agents:
    """List the trained agents that come with the package; play one with deepcs watch NAME."""

    def run(self) -> None:
        found = shipped_agents()
        if not found:
            print("No agents come with this package.")
            return
        Console().print(agents_table(found))
        print(f"deepcs watch {found[0].name}; deepcs evaluate {PREFIX}{found[0].name}")


def agents_table(agents: list[ShippedAgent]) -> Table:
    """A row per agent, 80 columns wide; scores over the games of its evaluation."""
    table = Table(box=box.SIMPLE_HEAD, padding=0, show_edge=False)
    for name in ("name", "game", "treatment", "learner"):
        table.add_column(name, no_wrap=True)
    for name in ("steps", "score", "random", "paper"):
        table.add_column(name, justify="right", no_wrap=True)
    for agent in agents:
        paper = counterpart(agent.world, agent.treatment)
        game = "" if agent.name == agent.world else agent.world
        table.add_row(
            *(agent.name, game, agent.treatment, agent.learner, short_number(agent.step)),
            f"{agent.median:,.6g} ({agent.lowest:,.6g}–{agent.highest:,.6g})",
            f"{round(agent.random, 3):,g}",
            "" if paper is None else f"{paper.score.points:,}",
        )
    table.caption = (
        "game: where it is not the name; "
        f"score: median (range) of {agents[0].games} games; random: mean; paper: Table 1, DeepCS, "
        "or A3C beside plain"
    )
    return table
