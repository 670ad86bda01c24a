"""The allowed values of each single setting of a run."""

from __future__ import annotations

from typing import TYPE_CHECKING

from deepcs.curiosity.reward import check_run_weight, is_apart
from deepcs.curiosity.tiles import check_whole_tile
from deepcs.runs.precision import ASKED
from deepcs.system import limits
from deepcs.system.limits import check_whole

if TYPE_CHECKING:
    from deepcs.runs.config import RunConfig

WHOLE = {  # the least and the most that a setting may be
    "steps": (1, limits.STEPS),
    "actors": (1, limits.ACTORS),
    "threads": (1, limits.THREADS),
    "log_every": (1, limits.STEPS),
    "milestone_every": (1, limits.STEPS),
    "shards": (0, limits.SHARDS),
    "checkpoint_every": (0, limits.STEPS),
    "seed": (0, limits.SEED),
}


def check_values(config: RunConfig) -> None:
    """Raise ValueError, in one sentence, for a value of the wrong kind or out of its range."""
    for name, (least, most) in WHOLE.items():
        check_whole(f"{name} {{}}", getattr(config, name), least, most)
    if config.shards > config.actors:
        raise ValueError(
            f"Got shards {config.shards} for {config.actors} actors, which are divided among them; "
            "give as many as actors at most, or 0 (chosen)."
        )
    for name in ("compass", "graded"):
        if not isinstance(getattr(config, name), bool):
            raise ValueError(f"Got {name} {getattr(config, name)!r}; give true or false.")
    for name in ("world", "treatment", "protocol", "agent", "network", "device"):
        if not isinstance(getattr(config, name), str):
            raise ValueError(f"Got {name} {getattr(config, name)!r}; give a text.")
    if config.weight is not None and not is_apart(config.weight):
        check_run_weight(config.weight)
    if config.precision not in ASKED:
        raise ValueError(f"Got precision {config.precision!r}; choose {', '.join(ASKED)}.")
    if config.grid not in ("plane", "stacked"):
        raise ValueError(f"Got grid {config.grid!r}; choose plane or stacked.")
    if config.max_frames is not None:
        check_whole("max_frames {}", config.max_frames, 1, limits.FRAMES, ", or none")
    if config.tile is not None:
        check_whole_tile(config.tile)
