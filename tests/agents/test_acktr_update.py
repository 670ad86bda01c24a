"""ACKTR as it trains, against one written out in double precision: autograd, whole matrices."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor
from torch.nn import functional

from deepcs.agents.acktr import ACKTRSettings, FisherNoise
from deepcs.agents.agent import Moment
from deepcs.agents.layers import planes_first
from deepcs.agents.replicas import Replicas
from deepcs.agents.rollout import Actors, Rollout
from deepcs.runs.config import RunConfig

ACTORS = 6
SETTINGS = ACKTRSettings(
    n_steps=8,
    cold_updates=4,
    statistics_every=2,
    refresh_every=3,
    refresh_large_every=3,
    tolerance=0.0,
    schedule="constant",
)
LAYERS = ("conv", "fc", "policy", "value")
Named = dict[str, Tensor]


def forward(weights: Named, pixels: Tensor) -> tuple[Named, Named]:
    """Inputs and outputs of the layers of the mazes' network."""
    seen = {"conv": pixels}
    out = {"conv": functional.conv2d(pixels, *pair(weights, "conv"), padding=1)}
    seen["fc"] = out["conv"].relu().permute(0, 2, 3, 1).flatten(1)
    out["fc"] = functional.linear(seen["fc"], *pair(weights, "fc"))
    seen["policy"] = seen["value"] = out["fc"].relu()
    for name in ("policy", "value"):
        out[name] = functional.linear(seen[name], *pair(weights, name))
    return seen, out


def pair(weights: Named, layer: str) -> tuple[Tensor, Tensor]:
    return weights[f"{layer}.weight"], weights[f"{layer}.bias"]


def covariance(rows: Tensor, count: int) -> Tensor:
    return rows.t() @ rows / count


class WrittenOut:
    """The formulas of Baselines, one after the other, on whole batches."""

    def __init__(self, weights: Named) -> None:
        self.weights = {name: weight.double() for name, weight in weights.items()}
        self.momentum = {name: torch.zeros_like(w) for name, w in self.weights.items()}
        self.factors: Named = {}
        self.bases: dict[str, tuple[Tensor, Tensor]] = {}

    def loss_gradient(self, pixels: Tensor, actions: Tensor, targets: Tensor) -> Named:
        weights = {name: w.clone().requires_grad_() for name, w in self.weights.items()}
        _, out = forward(weights, pixels)
        log_policy, values = torch.log_softmax(out["policy"], 1), out["value"][:, 0]
        chosen = log_policy.gather(1, actions[:, None])[:, 0]
        entropy = -(log_policy.exp() * log_policy).sum(1)
        advantage = (targets - values).detach()
        loss = -advantage * chosen - 0.01 * entropy + 0.5 * (values - targets) ** 2 / 2
        return dict(zip(weights, torch.autograd.grad(loss.mean(), weights.values()), strict=True))

    def observe(self, update: int, pixels: Tensor, actions: Tensor, noise: Tensor) -> None:
        weights = {name: w.clone().requires_grad_() for name, w in self.weights.items()}
        seen, out = forward(weights, pixels)
        values = out["value"][:, 0]
        chosen = torch.log_softmax(out["policy"], 1).gather(1, actions[:, None]).sum()
        likelihood = chosen - ((values - (values + noise).detach()) ** 2).sum()
        gradients = dict(zip(out, torch.autograd.grad(likelihood, out.values()), strict=True))
        batch, places = len(pixels), out["conv"][0, 0].numel()
        patches = functional.unfold(seen["conv"], 3, padding=1).transpose(1, 2).flatten(0, 1)
        at_places = gradients["conv"].permute(0, 2, 3, 1).flatten(0, 2)
        new = {
            "conv.A": covariance(patches / places, batch),
            "conv.G": covariance(at_places * places, batch * places),
            "conv.bias": covariance(gradients["conv"].sum((2, 3)), batch),
        }
        for name in LAYERS[1:]:
            new[f"{name}.A"] = covariance(seen[name].detach(), batch)
            new[f"{name}.G"] = new[f"{name}.bias"] = covariance(gradients[name], batch)
        for name, factor in new.items():
            if update < SETTINGS.cold_updates:
                self.factors[name] = self.factors.get(name, 0) + factor / SETTINGS.cold_updates
            else:
                keep = 0.99**2  # two updates have passed
                self.factors[name] = keep * self.factors[name] + (1 - keep) * factor

    def refresh(self) -> None:
        for name, factor in self.factors.items():
            values, vectors = np.linalg.eigh(factor.numpy())
            values = np.where(values > 1e-6, values, 0)
            self.bases[name] = torch.from_numpy(values), torch.from_numpy(vectors)

    def natural(self, gradient: Named) -> Named:
        step = {}
        for name in LAYERS:
            (e_a, q_a), (e_g, q_g), (e_b, q_b) = (
                self.bases[f"{name}.{part}"] for part in ("A", "G", "bias")
            )
            weight, bias = pair(gradient, name)
            inside = q_g.t() @ weight.flatten(1) @ q_a / (torch.outer(e_g, e_a) + 0.01)
            step[f"{name}.weight"] = (q_g @ inside @ q_a.t()).view_as(weight)
            step[f"{name}.bias"] = q_b @ (q_b.t() @ bias / (e_b + 0.01))
        return step

    def update(self, update: int, gradient: Named) -> None:
        if update < SETTINGS.cold_updates:
            norm = sum(float((g**2).sum()) for g in gradient.values()) ** 0.5
            step, scale, rate = gradient, min(1, 0.5 / norm), 0.25
        else:
            if update == SETTINGS.cold_updates:
                self.momentum = {name: torch.zeros_like(w) for name, w in self.weights.items()}
            if (update - SETTINGS.cold_updates) % SETTINGS.refresh_every == 0:
                self.refresh()
            step, rate = self.natural(gradient), 0.025
            length = 0.25**2 * sum(float((step[k] * gradient[k]).sum()) for k in gradient)
            scale = min(1, (0.001 / length) ** 0.5)
        for name in self.weights:
            self.momentum[name] = 0.9 * self.momentum[name] + scale * step[name]
            self.weights[name] = self.weights[name] - rate * self.momentum[name]


@pytest.mark.parametrize("shards", [1, 3])
def test_every_update_is_the_one_written_out(shards: int) -> None:
    config = RunConfig(
        "KeyHallway", agent="acktr", learner=SETTINGS, shards=shards, actors=ACTORS
    ).resolved()
    replicas = Replicas(replace(config, network="fast").training(), workers=1)
    replicas.initialise()
    shards_of = replicas._own.shards
    rollouts: list[Rollout] = []
    for each in shards_of:
        kept(each.actors, rollouts)
    noise = FisherNoise(config.seed, SETTINGS.n_steps, ACTORS)
    expected = WrittenOut({n: torch.from_numpy(w) for n, w in replicas.weights().items()})
    for update in range(14):
        rollouts.clear()
        replicas.update(Moment(update, SETTINGS.learning_rate, logged=update % 3 == 0))
        pixels = torch.cat([planes_first(e.network.inputs[0]).double() for e in shards_of])
        actions = torch.cat([rollout.actions.flatten() for rollout in rollouts])
        targets = []
        for rollout in rollouts:
            last = rollout.last.double() / 255
            following = forward(expected.weights, last)[1]["value"][:, 0]
            rewards = torch.from_numpy((rollout.game_rewards + rollout.intrinsic).clip(-1, 1))
            found = []
            for reward, ends in zip(rewards.flip(0), rollout.ends.flip(0), strict=True):
                following = reward + 0.99 * following * ~ends
                found.insert(0, following)
            targets.append(torch.stack(found).flatten())
        gradient = expected.loss_gradient(pixels, actions, torch.cat(targets))
        if update < SETTINGS.cold_updates or update % 2 == 0:
            drawn = [torch.from_numpy(noise(update, e.numbers)).flatten() for e in shards_of]
            expected.observe(update, pixels, actions, torch.cat(drawn).double())
        expected.update(update, gradient)
        for name, weight in replicas.weights().items():
            wanted = expected.weights[name]
            error = float((torch.from_numpy(weight) - wanted).abs().max() / wanted.abs().max())
            assert error < 3e-5, (update, name)
    replicas.close()


def kept(actors: Actors, rollouts: list[Rollout]) -> None:
    """Have the actors' rollouts kept as they are played."""
    play = actors.play

    def play_and_keep(*args: Any) -> Rollout:
        rollouts.append(play(*args))
        return rollouts[-1]

    actors.play = play_and_keep  # type: ignore[method-assign]
