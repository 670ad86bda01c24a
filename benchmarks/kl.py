"""How far ACKTR's updates really move the policy, against the bound on their quadratic model.

Plays and learns as a run does, and after each update past the cold start evaluates the policy
again on the rollout that it was made from: mean KL divergence of the new policy from the old. The
bound is on the model before momentum; momentum, and a model that is only quadratic and only as
fresh as its bases, make the difference.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
import torch
import tyro

from deepcs.agents.acktr import ACKTRSettings
from deepcs.agents.layers import planes_first
from deepcs.runs.config import RunConfig
from deepcs.runs.learner import Learner


@dataclass(frozen=True)
class Settings:
    """Measure ACKTR's KL divergences."""

    world: str = "MontezumaRevenge"
    """where to play"""
    updates: int = 200
    """updates to measure, after the cold start"""
    acktr: ACKTRSettings = field(default_factory=ACKTRSettings)
    """the learner's numbers"""


def main(settings: Settings) -> None:
    config = RunConfig(settings.world, agent="acktr", acktr=settings.acktr, shards=1).resolved()
    learner = Learner(config, workers=1)
    learner.initialise()
    network = learner.network
    divergences = []
    for update in range(settings.acktr.cold_updates + settings.updates):
        learner.rollout(update)
        before = torch.log_softmax(network.logits, 1)
        learner.update(update, settings.acktr.learning_rate)
        logits, _ = network.evaluate(planes_first(network.inputs[0]))
        after = torch.log_softmax(logits, 1)
        if not settings.acktr.is_cold(update):
            divergences.append(float((before.exp() * (before - after)).sum(1).mean()))
    learner.close()
    shown = (0, 5, 25, 50, 75, 95, 100)
    points = np.percentile(divergences, shown)
    print(f"{settings.world}, {settings.updates} updates, bound {settings.acktr.kl_clip:g}")
    for percent, point in zip(shown, points, strict=True):
        print(f"{percent:4d} %  {point:.2e}")
    print(f"mean    {np.mean(divergences):.2e}")
    print(f"above the bound: {np.mean(np.array(divergences) > settings.acktr.kl_clip):.1%}")


if __name__ == "__main__":
    main(tyro.cli(Settings))
