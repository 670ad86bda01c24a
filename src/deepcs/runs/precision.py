"""The precision in which a run's network multiplies: as asked, or chosen for this machine."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from deepcs.agents.agent import Agent
from deepcs.agents.plan import Precision
from deepcs.runs.errors import RunError
from deepcs.system.cpu import bfloat16_instructions

ASKED = ("float32", "bfloat16", "auto")


@dataclass(frozen=True)
class Choice:
    """A precision, and why it is this one."""

    precision: Precision
    why: str


def choose_precision(
    asked: str,
    agent: type[Agent],
    network: str,
    device: str,
    instructions: str | None,
    *,
    small: bool = False,
) -> Choice:
    """The resolved precision; ValueError, in one sentence, for bfloat16 where it is impossible.

    network: auto where it is not chosen yet. instructions: by which the CPU multiplies bfloat16,
    None where it has none. small: observations are not large images.
    """
    if asked == "float32":
        return Choice("float32", "as asked")
    if device != "cpu":
        against = f"half precision is for the CPU, and this run's device is {device}"
    elif not agent.takes_half_precision:
        against = f"{agent.name} needs float32"
    elif network not in ("fast", "narrow", "auto"):
        against = f"half precision is for the networks fast and narrow, and this is {network}"
    elif instructions is None:
        against = "this CPU has no instructions for bfloat16 (avx512_bf16 or AMX)"
    elif small and asked == "auto":
        against = "networks for small observations are faster in it"
    else:
        return Choice("bfloat16", f"this CPU multiplies it by {instructions}")
    if asked == "bfloat16":
        raise ValueError(f"Got precision 'bfloat16', but {against}; choose float32, or auto.")
    return Choice("float32", against)


def choose_here(
    asked: str, agent: type[Agent], network: str, device: str, *, small: bool = False
) -> Choice:
    """As `choose_precision`, on this machine's CPU."""
    instructions = bfloat16_instructions()
    return choose_precision(asked, agent, network, device, instructions, small=small)


def check_precision_is_here(run: Path, precision: str) -> None:
    """Raise RunError for a run in bfloat16 that would go on in emulation."""
    if precision == "bfloat16" and bfloat16_instructions() is None:
        raise RunError(
            f"{run} was begun in bfloat16, for which this CPU has no instructions; resume it on "
            "one that has them (evaluating and recording work on any)."
        )
