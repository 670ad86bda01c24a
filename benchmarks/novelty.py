"""What each kind of novelty costs a training step, in turn with `deepcs`, in one process.

Every side sees five planes, so that the network is the same and only novelty differs: across
training it is paid as a product with this life's.
"""

from __future__ import annotations

from contextlib import ExitStack, closing
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
import tyro

from deepcs.curiosity.novelty import Novelty
from deepcs.runs.config import RunConfig
from deepcs.runs.timed import TimedTraining

SIDES = {
    "deepcs": ("deepcs", Novelty()),
    "counts": ("hybrid", Novelty()),
    "pixels": ("deepcs-pixels", Novelty()),
    "rnd": ("hybrid", Novelty(across="rnd")),
    "pseudo-counts": ("hybrid", Novelty(across="pseudo-counts")),
    "hash": ("deepcs-hash", Novelty()),
    "fading": ("fading", Novelty()),
}


@dataclass(frozen=True)
class Settings:
    """Measure what novelty costs."""

    world: str = "MontezumaRevenge"
    """where to train"""
    preset: str | None = None
    """of settings, such as fast; None: the paper's A2C"""
    sides: tuple[str, ...] = tuple(SIDES)[1:]
    """those that are compared with deepcs"""
    rounds: int = 9
    """of all sides in turn"""
    seconds: float = 2.0
    """of each side in a round"""


def main(settings: Settings) -> None:
    torch.set_num_threads(1)
    names = ["deepcs", *settings.sides]
    with ExitStack() as opened:
        sides = []
        for name in names:
            treatment, novelty = SIDES[name]
            chosen: dict[str, Any] = {"treatment": treatment, "novelty": novelty, "shards": 1}
            config = RunConfig(settings.world, **chosen)
            if settings.preset is not None:
                config = RunConfig.from_preset(settings.preset, settings.world, **chosen)
            sides.append(opened.enter_context(closing(TimedTraining(config, workers=1))))
        for side in sides:
            side.rate(1.0)
        rates = np.array(
            [[side.rate(settings.seconds) for side in sides] for _ in range(settings.rounds)]
        )
    print(
        f"{settings.world}, {settings.rounds} rounds of {settings.seconds:g} s, steps/s of deepcs:"
    )
    print(f"  median {np.median(rates[:, 0]):.0f}")
    print("more time per step than deepcs, %: median (quartiles)")
    more = 100 * (rates[:, :1] / rates[:, 1:] - 1)
    for name, column in zip(names[1:], more.T, strict=True):
        low, middle, high = np.percentile(column, (25, 50, 75))
        print(f"  {name:14} {middle:5.1f} ({low:.1f} to {high:.1f})")


if __name__ == "__main__":
    main(tyro.cli(Settings))
