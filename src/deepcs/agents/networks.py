"""What a network is to a learner, and how one is chosen by name.

`fast` (network.py) is the default: the layers of the paper with a backward pass written by hand,
for observations that are one array; `narrow` is the same at half the width, for large images.
`joint` (joint.py) is for observations of several arrays and for Box actions, by autograd. Any other
is the user's own function, given as `module:function` (module.py).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from math import prod
from typing import Any, Protocol

import gymnasium
import numpy as np
import torch
from gymnasium.vector.utils import create_empty_array
from torch import Tensor

from deepcs.agents.joint import JointNetwork
from deepcs.agents.module import ModuleNetwork, count_parameters, make_checked
from deepcs.agents.network import Network
from deepcs.agents.plan import Precision, parameter_count, plan_layers
from deepcs.agents.policy import GaussianPolicy, Policy, policy_for
from deepcs.envs.seats import Spaces
from deepcs.system.importing import is_path, load_object

Observations = Tensor | dict[str, Tensor]
NETWORKS = ("fast", "narrow", "joint")
COPIES = 3  # of observations and activations, gradients included: 2.5 to 2.8 measured


class ActorCritic(Protocol):
    """Policy logits and value of each observation, and the gradient of a whole rollout.

    Logits are the outputs for the policy; for actions that are not Discrete see policy.py.

    T is the number of steps of a rollout, N of the actors; samples are in the order t·N + n.
    Where a network has several values, arrays of them have one more axis, the last.
    """

    policy: Policy
    """what its outputs mean"""
    parameters: Tensor
    """all weights, one flat vector"""
    gradient: Tensor
    """beside the parameters: what `backward` writes"""
    memory: Tensor | None
    """(N, size): what the network remembers of each actor's game; None: it has no memory"""

    @property
    def block(self) -> int | None:
        """Observations may be given folded into blocks of so many pixels squared (folding.py)."""

    @property
    def logits(self) -> Tensor:
        """What `forward` gave for the whole rollout: (T·N, actions)."""

    @property
    def values(self) -> Tensor:
        """What `forward` gave for the whole rollout: (T·N,)."""

    def initialise(self, seed: int) -> None:
        """Fresh weights."""

    def named(self, flat: Tensor) -> dict[str, Tensor]:
        """Views of a flat vector beside the parameters, by PyTorch's names and in its shapes."""

    def forward(self, t: int, observations: Any) -> tuple[Tensor, Tensor]:
        """Logits (N, actions) and values (N,) of step t, keeping what `backward` needs."""

    def forget(self, ended: Tensor) -> None:
        """Clear the memory of those actors, bool (N,), whose game has ended."""

    def evaluate(self, observations: Any) -> tuple[Tensor, Tensor]:
        """Logits and values of the observations after step t; nothing is kept."""

    def play(
        self, observations: Any, memory: Tensor | None
    ) -> tuple[Tensor, Tensor, Tensor | None]:
        """Logits, values and next memory of any number of games; memory None: they begin."""

    def backward(self, d_logits: Tensor, d_values: Tensor) -> Any:
        """Write the gradient of a loss, given its gradient for logits and values."""


@dataclass(frozen=True)
class NetworkPlan:
    """A network that can be built, as often as there are shards."""

    name: str
    """fast, narrow, joint or module:function"""
    spaces: Spaces
    size: int
    """numbers in its flat vectors"""
    values: int = 1
    """how many values each observation has"""
    has_memory: bool = False

    @property
    def is_fast(self) -> bool:
        """Whether it is the hand-written network, `fast` or `narrow`."""
        return self.name in ("fast", "narrow")

    @property
    def is_narrow(self) -> bool:
        return self.name == "narrow"

    @property
    def shape(self) -> tuple[int, ...]:
        """Of the observations, which are one array."""
        return self.spaces.observation.shape or ()

    @property
    def policy(self) -> Policy:
        return policy_for(self.spaces.action)

    @property
    def actions(self) -> int:
        """Outputs for the policy: logits of the actions, or what other actions need."""
        return self.policy.outputs

    def build(
        self,
        *,
        envs: int,
        steps: int,
        parameters: Tensor | None = None,
        gradient: Tensor | None = None,
        device: torch.device | str = "cpu",
        precision: Precision = "float32",
    ) -> ActorCritic:
        """A network for rollouts of `steps` steps of `envs` actors; its vectors may be shared.

        precision: other than float32 for `fast` and `narrow` only.
        """
        given: dict[str, Any] = {
            "envs": envs,
            "values": self.values,
            "parameters": parameters,
            "gradient": gradient,
            "device": device,
        }
        if self.is_fast:
            own: dict[str, Any] = {"policy": self.policy, "precision": precision}
            own["narrow"] = self.is_narrow
            return Network(self.shape, self.actions, steps=steps, **own, **given)
        return ModuleNetwork(self.name, _maker(self.name), self.spaces, **given)


def check_network(name: str) -> None:
    """Raise ValueError for a name that can be no network's."""
    if name not in ("auto", *NETWORKS) and not is_path(name):
        raise ValueError(
            f"Got network {name!r}; choose {', '.join(NETWORKS)}, or give module:function of a "
            "function that returns a torch.nn.Module."
        )


def is_fast_shape(observation: gymnasium.Space[Any]) -> bool:
    """Whether observations are one array of features or one image, as `fast` takes them."""
    return isinstance(observation, gymnasium.spaces.Box) and len(observation.shape) in (1, 3)


def plan_network(name: str, spaces: Spaces, values: int = 1) -> NetworkPlan:
    """The network of that name for a world, or a ValueError; `auto`: fast where that fits."""
    check_network(name)
    observation, policy = spaces.observation, policy_for(spaces.action)
    continuous = isinstance(policy, GaussianPolicy)
    if name == "auto":
        name = "fast" if is_fast_shape(observation) and not continuous else "joint"
    if name in ("fast", "narrow"):
        if not isinstance(observation, gymnasium.spaces.Box):
            raise ValueError(
                f"Got network {name!r} for observations {observation}; it takes one array: choose "
                "joint, or give module:function of a network of your own."
            )
        if continuous:
            raise ValueError(
                f"Got network {name!r} for actions {spaces.action}; it has none of a Box: choose "
                "joint, or give module:function of a network of your own."
            )
        narrow = name == "narrow"
        size = parameter_count(observation.shape, policy.outputs, values, narrow=narrow)
        return NetworkPlan(name, spaces, size, values)
    module = make_checked(name, _maker(name), spaces, values)
    has_memory = bool(getattr(module, "memory_size", 0))
    plan = NetworkPlan(name, spaces, count_parameters(module), values, has_memory)
    if values > 1:  # most networks have one: refused before anything is written
        plan.build(envs=1, steps=1).evaluate(as_tensors(create_empty_array(observation)))
    return plan


def seen_bytes(plan: NetworkPlan) -> int:
    """Bytes that the observations of one sample take, about, until the next rollout."""
    spaces = plan.spaces.observation
    parts = spaces.spaces.values() if isinstance(spaces, gymnasium.spaces.Dict) else [spaces]
    return COPIES * sum(prod(part.shape or ()) * np.dtype(part.dtype).itemsize for part in parts)


def activation_bytes(plan: NetworkPlan) -> int:
    """Bytes that one sample's activations take, about, where the built-in network keeps them."""
    if not plan.is_fast:
        return 0
    layers = plan_layers(plan.shape, plan.actions, narrow=plan.is_narrow)
    return COPIES * 4 * sum(prod(spec.output_shape(inputs)) for _, spec, inputs in layers)


def _maker(name: str) -> Callable[..., torch.nn.Module]:
    if name == "joint":
        return JointNetwork
    maker: Callable[..., torch.nn.Module] = load_object(
        name, "module:function of a function that returns a torch.nn.Module"
    )
    return maker


def as_tensors(observations: Any) -> Observations:
    """The same memory as tensors."""
    if isinstance(observations, dict):
        return {name: torch.from_numpy(part) for name, part in observations.items()}
    return torch.from_numpy(observations)
