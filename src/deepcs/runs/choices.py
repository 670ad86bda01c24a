"""What a run's settings come to where they leave a choice: learner, weight, shards and device."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import torch

from deepcs.agents.table import find_agent, make_settings
from deepcs.curiosity.reward import (
    NUMBERS,
    UNCLIPPED,
    Weight,
    check_run_weight,
    is_apart,
    is_scheduled,
    kept_apart,
)
from deepcs.envs.mazes import MAZES
from deepcs.runs.presets import preset
from deepcs.system import limits
from deepcs.system.importing import is_path
from deepcs.system.limits import check_whole
from deepcs.system.process import cores

if TYPE_CHECKING:
    from deepcs.runs.config import RunConfig

INTRINSIC = ("gamma_intrinsic", "weight_intrinsic")
"""settings of a learner with two values that have no effect where nothing intrinsic is paid"""


def checked_learner(config: RunConfig) -> Any:
    """The agent's settings, or their defaults."""
    agent: Any = find_agent(config.agent)
    settings: Any = config.learner
    if settings is None or isinstance(settings, dict):  # as read from a file
        settings = make_settings(config.agent, settings or {})
    if not isinstance(settings, agent.Settings):
        raise ValueError(
            f"Got learner {settings!r} for agent {config.agent}; give a {agent.Settings.__name__}."
        )
    most = limits.SAMPLES // config.actors
    check_whole(f"{agent.name}.n_steps {{}}", settings.n_steps, 1, most)
    if hasattr(settings, "check"):
        settings.check()
    return settings.resolved() if hasattr(settings, "resolved") else settings


def fitting_weight(config: RunConfig, settings: Any, of_world: Weight | None) -> Weight | None:
    """The weight, or the world's own; None: that is not known yet.

    A learner with two values weighs advantages instead: it gets R and I apart.
    """
    two = has_two_values(settings)
    if config.weight is None:
        return kept_apart(of_world) if two and of_world is not None else of_world
    if is_apart(config.weight) != two:
        raise ValueError(
            f"Got weight {config.weight!r} for {config.agent} with two values, which weigh the "
            "advantages of R and I instead of mixing them; leave weight out, or give "
            f"{config.agent}.values one."
            if two
            else f"Got weight {config.weight!r} for {config.agent} with one value, which needs a "
            "mix of R and I; leave weight out, or let ppo have two values (ppo.values two)."
        )
    return config.weight if two else check_run_weight(config.weight)


def weighs(weight: Weight | None) -> bool:
    """Whether it weighs R against I by a number, and does not only say whether R is clipped."""
    return weight is not None and (isinstance(weight, NUMBERS) or is_scheduled(weight))


def unpaid_numbers(learner: Any) -> tuple[str, ...]:
    """Names of a learner's numbers that have no effect where nothing intrinsic is paid."""
    # Of a single advantage that is normalised the weight has no effect either.
    return (*INTRINSIC, *["weight_game"] * getattr(learner, "normalise", False))


def check_weights_are_used(config: RunConfig) -> None:
    """Raise ValueError for numbers of the intrinsic reward that somebody gives where none is paid.

    Not for resolved settings, which hold the world's, nor for a study's or a preset's, which hold
    for all treatments. `equal` and `sum` say there whether R is clipped.
    """
    weight, chosen = config.weight, config.treatment_settings
    if chosen.paid:
        return
    if weighs(weight):
        raise ValueError(
            f"Got weight {weight!r} for treatment {chosen.name}, whose learner is paid no "
            "intrinsic reward to weigh R against; leave weight out, or give equal (R clipped) or "
            "sum (R as it is)."
        )
    of_preset = preset(config.preset).numbers_in(config.world).learner if config.preset else {}
    for name in unpaid_numbers(config.learner):
        if (given := getattr(config.learner, name, None)) not in (None, of_preset.get(name)):
            raise ValueError(
                f"Got {config.agent}.{name} {given!r} for treatment {chosen.name}, whose learner "
                "is paid no intrinsic reward; leave it out."
            )


def unused_weight(config: RunConfig, of_world: Weight) -> str | None:
    """One sentence where an environment of one's own has a weight that the learner does not use.

    Not a refusal: the same factory serves learners that mix R and I.
    """
    paid = config.treatment_settings.paid and is_path(config.world)
    if not paid or not is_apart(config.weight or "") or of_world in ("equal", UNCLIPPED):
        return None
    return (
        f"The weight {of_world!r} of {config.world} has no effect: {config.agent} has a value for "
        f"R and one for I, and weighs them by {config.agent}.weight_game and "
        f"{config.agent}.weight_intrinsic; set these, or choose --{config.agent}.values one."
    )


def maze_weight(world: str) -> Weight | None:
    """The mazes' own; None: it is not a maze."""
    return "equal" if world in MAZES else None


def has_two_values(learner: Any) -> bool:
    """Whether these settings of an agent ask for a value of R and one of I."""
    return getattr(learner, "values", "one") == "two"


def fitting_shards(config: RunConfig, settings: Any, is_game: bool) -> int:
    """One shard per core, or the most below that which the agent can work in."""
    most = min(cores(), config.actors) if is_game else 1
    for shards in range(most, 1, -1):
        try:
            find_agent(config.agent).check_division(settings, config.actors, shards)
        except ValueError:
            continue
        return shards
    return 1


def fitting_device(config: RunConfig) -> str:
    """cpu or cuda, if that is here."""
    if config.device == "auto":
        return "cuda" if torch.cuda.is_available() else "cpu"
    if config.device not in ("cpu", "cuda"):
        raise ValueError(f"Got device {config.device!r}; choose auto, cpu or cuda.")
    if config.device == "cuda" and not torch.cuda.is_available():
        raise ValueError("Got device 'cuda', but torch finds none here; choose auto or cpu.")
    return config.device
