"""Games by number: which worlds and which noise game k of a seed has."""

from __future__ import annotations

import numpy as np

EVALUATION_SEED = 1_000_003  # apart from the seeds that people train with


def game_seeds(seed: int, number: int) -> tuple[int, np.random.Generator]:
    """The world's seed of game k and the noise of its policy; no two games share either."""
    world, policy = np.random.SeedSequence((seed, number)).generate_state(2)
    return int(world), np.random.default_rng(policy)
