"""The built-in network for observations of several arrays: images and vectors joined."""

from __future__ import annotations

from math import prod, sqrt
from typing import Any, cast

import gymnasium
import torch
from torch import Tensor, nn

from deepcs.agents.plan import Conv, layers_for

HIDDEN = 64  # as in the networks for vectors and for mazes


class JointNetwork(nn.Module):
    """Each image through the convolutions of the built-in network, then all through two layers.

    Observations: a dict of (B, channels, height, width) and (B, features).
    """

    def __init__(self, observation_space: Any, action_space: Any, values: int = 1) -> None:
        super().__init__()
        spaces = cast(gymnasium.spaces.Dict, observation_space).spaces
        self.trunks = nn.ModuleDict()
        features = 0
        for name, space in spaces.items():
            shape = space.shape or ()
            if len(shape) == 3:
                self.trunks[name] = trunk = convolutions(shape)
                features += prod(trunk(torch.zeros(1, *shape)).shape)
            elif len(shape) == 1:
                features += shape[0]
            else:
                raise ValueError(
                    f"Got observation {name!r} of shape {shape}; the network takes images "
                    "(channels, height, width) and vectors (features,)."
                )
        self.hidden = nn.Sequential(
            nn.Linear(features, HIDDEN), nn.ReLU(), nn.Linear(HIDDEN, HIDDEN), nn.ReLU()
        )
        actions = int(cast(gymnasium.spaces.Discrete, action_space).n)
        self.policy = nn.Linear(HIDDEN, actions)
        self.value = nn.Linear(HIDDEN, values)
        for layer in self.modules():
            if isinstance(layer, (nn.Linear, nn.Conv2d)):
                gain = 0.01 if layer is self.policy else 1.0 if layer is self.value else sqrt(2)
                nn.init.orthogonal_(layer.weight, gain)
                nn.init.zeros_(cast(Tensor, layer.bias))

    def forward(self, observations: dict[str, Tensor]) -> tuple[Tensor, Tensor]:
        parts = [
            self.trunks[name](part) if name in self.trunks else part
            for name, part in observations.items()
        ]
        hidden = self.hidden(torch.cat([part.flatten(1) for part in parts], 1))
        return self.policy(hidden), self.value(hidden)


def convolutions(shape: tuple[int, ...]) -> nn.Sequential:
    """The image layers of the built-in network for this shape."""
    layers: list[nn.Module] = []
    channels = shape[0]
    for spec in layers_for(shape):
        if isinstance(spec, Conv):
            conv = nn.Conv2d(channels, spec.out, spec.kernel, spec.stride, spec.padding)
            layers += [conv, nn.ReLU()]
            channels = spec.out
    return nn.Sequential(*layers)
