"""A run's settings as they are saved in config.json."""

from __future__ import annotations

import dataclasses
from typing import Any

from deepcs.agents.table import make_settings
from deepcs.curiosity.novelty import Novelty
from deepcs.runs.config import RunConfig
from deepcs.runs.novel import DEFAULT
from deepcs.runs.treatment import OLD_NAMES
from deepcs.system.importing import is_path

ADDED = {"precision": "float32", "preset": None}
"""Settings that were added to format 2 later, and their values in runs without them."""
ADDED_TO_LEARNERS = {"imitation": 0, "imitation_samples": None}
"""The same of the built-in learners' settings."""


def to_json(config: RunConfig) -> dict[str, Any]:
    """The settings as JSON values; novelty only if it adds to the treatment's name, and built-in
    learners' settings that were added later only if they differ from what runs without them did.
    """
    saved = dataclasses.asdict(config)
    if isinstance(saved["learner"], dict) and not is_path(config.agent):
        saved["learner"] = {
            name: value
            for name, value in saved["learner"].items()
            if name not in ADDED_TO_LEARNERS or ADDED_TO_LEARNERS[name] != value
        }
    if config.novelty == DEFAULT:
        del saved["novelty"]
    return saved


def from_json(saved: dict[str, Any]) -> RunConfig:
    """The settings that `to_json` wrote, or those of deepcs 0.1 (format 1)."""
    saved = dict(saved)
    if "learner" not in saved:
        numbers = dict(saved[saved["agent"]]) if saved["agent"] in saved else {}
        if "steps" in numbers:
            numbers["n_steps"] = numbers.pop("steps")
        saved = {key: value for key, value in saved.items() if key not in ("a2c", "acktr")}
        saved |= {"learner": numbers, "network": "fast"}
        saved["treatment"] = OLD_NAMES.get(saved["treatment"], saved["treatment"])
    if saved["learner"] is not None and not is_path(saved["agent"]):
        saved["learner"] = make_settings(saved["agent"], saved["learner"])
    if "novelty" in saved:
        saved["novelty"] = Novelty(**saved["novelty"])
    return RunConfig(**saved)
