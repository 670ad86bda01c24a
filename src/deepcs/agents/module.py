"""Any torch.nn.Module as the network, its gradient by autograd.

The user gives a function `make_network(observation_space, action_space)` that returns a module
with

    forward(observations) -> logits (B, actions), values (B,)

where actions that are not Discrete have other outputs in place of logits (policy.py). For a learner
with several values, values are (B, number of values); a function with a parameter `values` gets
that number. A network with memory is a module with an attribute `memory_size` and

    forward(observations, memory) -> logits, values, memory

where memory is (B, memory_size), all zeros when a game begins. Gradients flow back through the
memory to the beginning of the rollout (truncated backpropagation through time). Observations
arrive as float32, uint8 ones divided by 255; a Dict of arrays as a dict of tensors.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor, nn

from deepcs.agents.policy import policy_for
from deepcs.envs.seats import Spaces

Maker = Callable[..., nn.Module]
UNREPEATABLE = (nn.modules.batchnorm._BatchNorm, nn.modules.dropout._DropoutNd)


class ModuleNetwork:
    """A module whose weights and gradients are views of two flat vectors."""

    def __init__(
        self,
        name: str,
        make: Maker,
        spaces: Spaces,
        *,
        envs: int,
        values: int = 1,
        parameters: Tensor | None = None,
        gradient: Tensor | None = None,
        device: torch.device | str = "cpu",
    ) -> None:
        """`name`: for messages. `envs`: actors. The vectors may lie in shared memory."""
        self._name, self._make, self._spaces, self._value_count = name, make, spaces, values
        self.block: int | None = None  # it takes observations as they are
        self.policy = policy_for(spaces.action)
        self.module = make_checked(name, make, spaces, values).to(device)
        count = count_parameters(self.module)
        self.parameters = torch.zeros(count, device=device) if parameters is None else parameters
        self.gradient = torch.zeros(count, device=device) if gradient is None else gradient
        weights = self.named(self.parameters)
        gradients = self.named(self.gradient)
        for key, parameter in self.module.named_parameters():
            parameter.data = weights[key]
            parameter.grad = gradients[key]
        self._memory_size = int(getattr(self.module, "memory_size", 0))
        self.memory = self._no_memory(envs)
        self._kept: list[tuple[Tensor, Tensor]] = []

    @property
    def logits(self) -> Tensor:
        return torch.cat([logits.detach() for logits, _ in self._kept])

    @property
    def values(self) -> Tensor:
        return torch.cat([values.detach() for _, values in self._kept])

    def initialise(self, seed: int) -> None:
        """The module's own initial weights, drawn by the seed."""
        threads = torch.get_num_threads()
        torch.set_num_threads(1)
        try:
            with torch.random.fork_rng(devices=[]):
                torch.manual_seed(seed)
                fresh = make_checked(self._name, self._make, self._spaces, self._value_count)
        finally:
            torch.set_num_threads(threads)
        weights = self.named(self.parameters)
        for key, parameter in fresh.named_parameters():
            weights[key].copy_(parameter.data)

    def named(self, flat: Tensor) -> dict[str, Tensor]:
        """Views of a flat vector beside the parameters, under the module's own names."""
        named: dict[str, Tensor] = {}
        start = 0
        for key, parameter in self.module.named_parameters():
            end = start + parameter.numel()
            named[key] = flat[start:end].view(parameter.shape)
            start = end
        return named

    def forward(self, t: int, observations: Any) -> tuple[Tensor, Tensor]:
        """Logits (N, actions) and values (N,) of step t; keeps the graph for `backward`."""
        if t == 0:
            self._kept = []
            self.memory = None if self.memory is None else self.memory.detach()
        with torch.enable_grad():
            logits, values, self.memory = self._call(observations, self.memory)
        self._kept.append((logits, values))
        return logits.detach(), values.detach()

    def forget(self, ended: Tensor) -> None:
        """Clear the memory of those actors, bool (N,), whose game has ended."""
        if self.memory is not None:
            with torch.enable_grad():
                self.memory = self.memory * (~ended)[:, None]

    @torch.no_grad()
    def evaluate(self, observations: Any) -> tuple[Tensor, Tensor]:
        """Logits and values of the observations after the last step; nothing is kept."""
        logits, values, _ = self._call(observations, self.memory)
        return logits, values

    @torch.no_grad()
    def play(
        self, observations: Any, memory: Tensor | None
    ) -> tuple[Tensor, Tensor, Tensor | None]:
        """Logits, values and next memory of any number of games; memory None: they begin."""
        first = (
            next(iter(observations.values())) if isinstance(observations, dict) else observations
        )
        return self._call(observations, self._no_memory(len(first)) if memory is None else memory)

    def backward(self, d_logits: Tensor, d_values: Tensor) -> None:
        """Write the gradient of a loss, given its gradient for logits and values (T·N, …)."""
        self.gradient.zero_()
        outputs = [torch.cat(parts) for parts in zip(*self._kept, strict=True)]
        torch.autograd.backward(outputs, [d_logits, d_values])

    def _no_memory(self, envs: int) -> Tensor | None:
        return self.parameters.new_zeros(envs, self._memory_size) if self._memory_size else None

    def _call(
        self, observations: Any, memory: Tensor | None
    ) -> tuple[Tensor, Tensor, Tensor | None]:
        seen = scaled(observations)
        if memory is None:
            logits, values = self.module(seen)
        else:
            logits, values, memory = self.module(seen, memory)
        batch, actions = len(logits), self.policy.outputs
        count = self._value_count
        if logits.shape != (batch, actions) or (
            values.shape != (batch, count) and (count > 1 or values.shape != (batch,))
        ):
            wanted = "(batch,)" if count == 1 else f"(batch, {count}), or train with one value"
            raise ValueError(
                f"{self._name} gave logits {tuple(logits.shape)} and values {tuple(values.shape)};"
                f" return (batch, {actions}) and {wanted}."
            )
        return logits, values.reshape(batch) if count == 1 else values, memory


def scaled(observations: Any) -> Any:
    """float32 tensors; uint8 ones are divided by 255."""
    if isinstance(observations, dict):
        return {name: scaled(part) for name, part in observations.items()}
    return observations / 255 if observations.dtype == torch.uint8 else observations.float()


def make_checked(name: str, make: Maker, spaces: Spaces, values: int = 1) -> nn.Module:
    """Make the module; refuses what could not be shared, saved and repeated."""
    if not callable(make):
        raise ValueError(f"Got network {name!r}, which is {make!r}; give module:function.")
    try:
        signature = inspect.signature(make)
        told = {"values": values} if "values" in signature.parameters else {}
        signature.bind(spaces.observation, spaces.action, **told)
    except (TypeError, ValueError) as error:
        raise ValueError(
            f"Got network {name!r}, which cannot be called with the two spaces ({error}); give a "
            "function of (observation_space, action_space) that returns a torch.nn.Module."
        ) from error
    module = make(spaces.observation, spaces.action, **told)
    if not isinstance(module, nn.Module):
        raise ValueError(
            f"{name} returned {type(module).__name__}; return a torch.nn.Module whose forward "
            "gives logits and values."
        )
    for part in module.modules():
        if isinstance(part, UNREPEATABLE):
            raise ValueError(
                f"{name} has a {type(part).__name__}, whose state or noise is not the run's: a "
                "resumed run would differ; leave it out."
            )
    for key, parameter in module.named_parameters():
        if parameter.dtype != torch.float32:
            raise ValueError(f"{name} has {key} of {parameter.dtype}; weights must be float32.")
    return module


def count_parameters(module: nn.Module) -> int:
    """Numbers in all weights."""
    return sum(parameter.numel() for parameter in module.parameters())
