"""How far ACKTR's updates really move the policy, against the bound on their quadratic model.

Plays and learns as a run does, and after each update past the cold start evaluates the policy
again on the rollout that it was made from: mean KL divergence of the new policy from the old.
Beside it the model's own figure for the step, half of δᵀ(F + λ)δ, before momentum: what is
bounded. The model's curvature is a mean over many updates, its layers are independent of each
other, and the places of a convolution too; the divergence knows nothing of that.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
import torch
import tyro

from deepcs.agents.acktr import ACKTRSettings
from deepcs.agents.agent import Moment
from deepcs.agents.kfac import trust_scale
from deepcs.agents.layers import planes_first
from deepcs.agents.replicas import Replicas
from deepcs.runs.config import RunConfig


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
    config = RunConfig(settings.world, agent="acktr", learner=settings.acktr, shards=1)
    replicas = Replicas(config.resolved().fitted().training(), workers=1)
    replicas.initialise()
    network, vectors = replicas.network, replicas._own.vectors
    rate, bound = settings.acktr.learning_rate, settings.acktr.kl_clip
    divergences, models = [], []
    for update in range(settings.acktr.cold_updates + settings.updates):
        replicas.update(Moment(update, rate, logged=False))
        before = torch.log_softmax(network.logits, 1)  # as it was in the rollout
        logits, _ = network.evaluate(planes_first(network.inputs[0]))
        after = torch.log_softmax(logits, 1)
        if not settings.acktr.is_cold(update):
            divergences.append(float((before.exp() * (before - after)).sum(1).mean()))
            product = float(vectors.by_name["natural"] @ vectors.gradients[0])
            models.append((rate * trust_scale(product, rate, bound)) ** 2 * product / 2)
    replicas.close()
    shown = (0, 5, 25, 50, 75, 95, 100)
    print(f"{settings.world}, {settings.updates} updates, KL divergence: measured, model")
    for percent in shown:
        measured, model = np.percentile(divergences, percent), np.percentile(models, percent)
        print(f"{percent:4d} %  {measured:.2e}  {model:.2e}")
    print(f"mean    {np.mean(divergences):.2e}  {np.mean(models):.2e}")
    print(f"above kl_clip, {bound:g}: {np.mean(np.array(divergences) > bound):.1%}")


if __name__ == "__main__":
    main(tyro.cli(Settings))
