"""The built-in network for observations of several arrays and for Box actions, by autograd."""

from __future__ import annotations

from math import prod, sqrt
from typing import Any, cast

import gymnasium
import torch
from torch import Tensor, nn

from deepcs.agents.plan import Conv, layers_for
from deepcs.agents.policy import GaussianPolicy, policy_for

HIDDEN = 64  # as in the networks for vectors and for mazes
WHOLE = ""  # the name of observations that are one array


class JointNetwork(nn.Module):
    """Each image through the convolutions of the built-in network, then all through two layers.

    Observations: (B, channels, height, width) is an image, and any other shape a vector; or a dict
    of them. The log standard deviations of Box actions are the same for all observations, 0 at
    first (as in Stable-Baselines3 and CleanRL).
    """

    def __init__(self, observation_space: Any, action_space: Any, values: int = 1) -> None:
        super().__init__()
        whole = not isinstance(observation_space, gymnasium.spaces.Dict)
        spaces = {WHOLE: observation_space} if whole else observation_space.spaces
        self.trunks = nn.ModuleDict()
        features = 0
        for name, space in spaces.items():
            shape = space.shape or ()
            if len(shape) == 3:
                self.trunks[trunk_name(name)] = trunk = convolutions(shape)
                shape = trunk(torch.zeros(1, *shape)).shape
            features += prod(shape)
        self.hidden = nn.Sequential(
            nn.Linear(features, HIDDEN), nn.ReLU(), nn.Linear(HIDDEN, HIDDEN), nn.ReLU()
        )
        policy = policy_for(action_space)
        self.log_std: nn.Parameter | None = None
        outputs = policy.outputs
        if isinstance(policy, GaussianPolicy):
            outputs = policy.dimensions
            self.log_std = nn.Parameter(torch.zeros(outputs))
        self.policy = nn.Linear(HIDDEN, outputs)
        self.value = nn.Linear(HIDDEN, values)
        for layer in self.modules():
            if isinstance(layer, (nn.Linear, nn.Conv2d)):
                gain = 0.01 if layer is self.policy else 1.0 if layer is self.value else sqrt(2)
                nn.init.orthogonal_(layer.weight, gain)
                nn.init.zeros_(cast(Tensor, layer.bias))

    def forward(self, observations: Tensor | dict[str, Tensor]) -> tuple[Tensor, Tensor]:
        given = observations if isinstance(observations, dict) else {WHOLE: observations}
        parts = [
            self.trunks[trunk_name(name)](part) if part.dim() == 4 else part
            for name, part in given.items()
        ]
        hidden = self.hidden(torch.cat([part.reshape(len(part), -1) for part in parts], 1))
        outputs = self.policy(hidden)
        if self.log_std is not None:
            outputs = torch.cat((outputs, self.log_std.expand_as(outputs)), 1)
        return outputs, self.value(hidden)


def trunk_name(name: str) -> str:
    """What PyTorch lets an image's layers be called."""
    plain = name.replace(".", "/")
    return f"{plain}_" if not plain or hasattr(nn.ModuleDict, plain) else plain


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
