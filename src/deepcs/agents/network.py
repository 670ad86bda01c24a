"""The actor-critic network, with a backward pass written by hand.

Weights do not change during a rollout, so the update can use the rollout's forward passes. Each
layer's input is kept during the rollout, and one backward pass over all T·N samples gives
the gradient exactly, without a second forward pass and without autograd.
"""

from collections.abc import Callable
from dataclasses import dataclass
from math import sqrt

import torch
from torch import Tensor

from deepcs.agents.folding import fold_into, folded_shape
from deepcs.agents.layers import FoldedLayer, Layer, bind, planes_first
from deepcs.agents.plan import Precision, Shape, parameter_count
from deepcs.agents.policy import DiscretePolicy, Policy

ALIGNMENT = 64
"""Bytes. Matrix products may round differently at other addresses, so runs would not repeat."""


@dataclass(frozen=True)
class Tape:
    """What one forward pass reads and writes, and its steps in order."""

    pixels: Tensor
    layers: list[Callable[[], None]]
    logits: Tensor
    values: Tensor


class Network:
    """Policy logits and value of each observation, and the gradient of a whole rollout.

    `policy`: what the logits mean; None: one of that many Discrete actions.
    `values`: how many values each observation has; where these are one, arrays of them are (B,),
    else (B, values).
    `parameters` and `gradient` are flat vectors of `parameter_count(...)` numbers, which the caller
    may hand in, in shared memory for example: whoever writes them changes this network.
    uint8 observations are divided by 255, float observations are taken as they are.

    `narrow`: for images, half as many channels and units in each layer (plan.py).
    `precision` bfloat16: all layers but the head multiply in bfloat16, and their activations and
    gradients are kept in it; parameters, gradient, logits and values stay as they are. It is
    emulated, and slow, where the CPU has no instructions for it. Large images are then read in
    blocks (folding.py).
    """

    def __init__(
        self,
        observation_shape: Shape,
        actions: int,
        *,
        envs: int,
        steps: int,
        values: int = 1,
        narrow: bool = False,
        policy: Policy | None = None,
        parameters: Tensor | None = None,
        gradient: Tensor | None = None,
        device: torch.device | str = "cpu",
        dtype: torch.dtype = torch.float32,
        precision: Precision = "float32",
    ) -> None:
        self.observation_shape = observation_shape
        self.actions = actions
        self.policy = DiscretePolicy(actions) if policy is None else policy
        self.memory: Tensor | None = None  # it has none
        self.envs = envs
        self.steps = steps
        self.value_count = values
        self.narrow = narrow
        # Of the head's outputs: one column, or several.
        self._value_columns = -1 if values == 1 else slice(actions, None)
        count = parameter_count(observation_shape, actions, values, narrow=narrow)
        self.parameters = _flat("parameters", parameters, count, device, dtype)
        self.gradient = _flat("gradient", gradient, count, device, dtype)
        halved = precision == "bfloat16"
        self._half = self.parameters.to(torch.bfloat16) if halved else None
        self.layers = self._bind(self.parameters, self.gradient, self._half)
        """The trunk and, last, the head: policy and values as one layer."""
        first = self.layers[0]
        self._folded = first if isinstance(first, FoldedLayer) else None
        self.inputs = self._buffers(envs * steps)
        """What the rollout kept: the input (T·N, *input_shape) of each layer."""
        self._heads = self.parameters.new_zeros(envs * steps, actions + values)
        self._slots = [
            self._tape(
                [buffer[t * envs : (t + 1) * envs] for buffer in (*self.inputs, self._heads)]
            )
            for t in range(steps)
        ]
        self._scratch = self._tape([*self._buffers(0), self._heads[:0]])
        self._scale = torch.tensor(1 / 255, dtype=dtype, device=device)

    @property
    def block(self) -> int | None:
        """Images may be given folded into blocks of so many pixels squared; None: they may not."""
        return None if self._folded is None else self._folded.block

    @property
    def logits(self) -> Tensor:
        """What `forward` gave for the whole rollout: (T·N, A)."""
        return self._heads[:, : self.actions]

    @property
    def values(self) -> Tensor:
        """What `forward` gave for the whole rollout: (T·N,)."""
        return self._heads[:, self._value_columns]

    def named_parameters(self) -> dict[str, Tensor]:
        """Views under the names and in the shapes usual in PyTorch: (O, I, height, width)."""
        return self.named(self.parameters)

    def named_gradient(self) -> dict[str, Tensor]:
        """The gradient, named as the parameters are."""
        return self.named(self.gradient)

    def named(self, flat: Tensor) -> dict[str, Tensor]:
        """Views of any flat vector laid out as the parameters, with their names."""
        named: dict[str, Tensor] = {}
        *trunk, head = self._bind(flat, flat)
        for layer in trunk:
            named[f"{layer.name}.weight"] = planes_first(layer.weight)
            named[f"{layer.name}.bias"] = layer.bias
        policy, value = slice(self.actions), slice(self.actions, None)
        named["policy.weight"], named["policy.bias"] = head.weight[policy], head.bias[policy]
        named["value.weight"], named["value.bias"] = head.weight[value], head.bias[value]
        return named

    def matrices(self, flat: Tensor) -> list[tuple[Tensor, Tensor]]:
        """Views of any such vector: each layer's weight (outputs, inputs) and bias (outputs,)."""
        return [(layer.weight.flatten(1), layer.bias) for layer in self._bind(flat, flat)]

    def initialise(self, seed: int) -> None:
        """Orthogonal weights, scaled √2 in the trunk, 0.01 for the policy, 1 for the value.

        The same numbers on every device and with any number of threads.
        """
        generator = torch.Generator().manual_seed(seed)
        threads = torch.get_num_threads()
        torch.set_num_threads(1)
        try:
            for layer in self.layers[:-1]:
                _orthogonal_(layer.weight, sqrt(2), generator)
            _orthogonal_(self.layers[-1].weight[: self.actions], 0.01, generator)
            _orthogonal_(self.layers[-1].weight[self.actions :], 1.0, generator)
        finally:
            torch.set_num_threads(threads)
        for layer in self.layers:
            layer.bias.zero_()

    def forward(self, t: int, observations: Tensor) -> tuple[Tensor, Tensor]:
        """Logits (N, A) and values (N,) of step `t`'s observations (N, *observation_shape).

        Both are views, overwritten when step `t` of the next rollout comes. Weights may change only
        before step 0.
        """
        if t == 0:
            self._round_weights()
        return self._run(observations, self._slots[t])

    def evaluate(self, observations: Tensor) -> tuple[Tensor, Tensor]:
        """Logits (B, A) and values (B,) of any number of observations; the rollout is untouched."""
        batch = len(observations)
        if len(self._scratch.pixels) != batch:
            heads = self.parameters.new_zeros(batch, self.actions + self.value_count)
            self._scratch = self._tape([*self._buffers(batch), heads])
        self._round_weights()
        logits, values = self._run(observations, self._scratch)
        return logits.clone(), values.clone()

    def play(
        self, observations: Tensor, memory: Tensor | None = None
    ) -> tuple[Tensor, Tensor, Tensor | None]:
        """As `evaluate`, and the memory, of which there is none."""
        return *self.evaluate(observations), None

    def forget(self, ended: Tensor) -> None:
        """There is no memory to clear."""

    def backward(self, d_logits: Tensor, d_values: Tensor) -> list[Tensor]:
        """Write the gradient of a loss, given its gradient for logits (T·N, A) and values (T·N,).

        Returns what `output_gradients` does.
        """
        gradients = self.output_gradients(d_logits, d_values)
        for layer, inputs, d_outputs in zip(self.layers, self.inputs, gradients, strict=True):
            layer.write_gradient(inputs, d_outputs)
        return gradients

    def output_gradients(self, d_logits: Tensor, d_values: Tensor) -> list[Tensor]:
        """A loss's gradient (T·N, *output_shape) for each layer's outputs before the ReLU."""
        gradients = [torch.cat((d_logits, d_values.reshape(len(d_logits), -1)), 1)]
        for below, layer, inputs in zip(
            self.layers[-2::-1], self.layers[:0:-1], self.inputs[:0:-1], strict=True
        ):
            d_inputs = layer.input_gradient(inputs, gradients[-1])
            # The inputs are the ReLU's outputs: the gradient passes where they are positive.
            torch.ops.aten.threshold_backward.grad_input(d_inputs, inputs, 0, grad_input=d_inputs)
            gradients.append(d_inputs.reshape(-1, *below.output_shape).to(below.dtype))
        return gradients[::-1]

    def _bind(
        self, parameters: Tensor, gradient: Tensor, half: Tensor | None = None
    ) -> list[Layer]:
        kind = self.observation_shape, self.actions, self.value_count
        return bind(*kind, parameters, gradient, half, narrow=self.narrow)

    def _tape(self, buffers: list[Tensor]) -> Tape:
        """A forward pass through these buffers: each layer's inputs, then the head's outputs."""
        pixels, heads = buffers[0], buffers[-1]
        layers = [
            layer.between(inputs, outputs.view(-1, *layer.output_shape))
            for layer, inputs, outputs in zip(self.layers, buffers, buffers[1:], strict=False)
        ]
        logits, values = heads[:, : self.actions], heads[:, self._value_columns]
        return Tape(planes_first(pixels), layers, logits, values)

    def _run(self, observations: Tensor, tape: Tape) -> tuple[Tensor, Tensor]:
        if self._folded is not None:
            self._write_blocks(observations, tape.pixels)
        elif observations.dtype == torch.uint8 and observations.stride() == tape.pixels.stride():
            tape.pixels.copy_(observations).mul_(self._scale)  # the same bits, in half the time
        elif observations.dtype == torch.uint8:
            torch.mul(observations, self._scale, out=tape.pixels)
        else:
            tape.pixels.copy_(observations)
        for layer in tape.layers:
            layer()
        return tape.logits, tape.values

    def _write_blocks(self, images: Tensor, pixels: Tensor) -> None:
        """Images as they are or folded; what is not bytes is from 0 to 1, and made 0 to 255."""
        if images.shape[1:] == self.observation_shape:
            assert self.block is not None
            blocks = images.new_empty(len(images), *folded_shape(images.shape[1:], self.block))
            fold_into(images, self.block, blocks)
            images = planes_first(blocks)
        pixels.copy_(images if images.dtype == torch.uint8 else images * 255)

    def _buffers(self, batch: int) -> list[Tensor]:
        return [
            self.parameters.new_zeros(batch, *layer.input_shape, dtype=layer.dtype)
            for layer in self.layers
        ]

    def _round_weights(self) -> None:
        """Others may have changed the parameters since."""
        if self._half is not None:
            self._half.copy_(self.parameters)
        if self._folded is not None:
            self._folded.round_weight()


def _flat(
    name: str, given: Tensor | None, count: int, device: torch.device | str, dtype: torch.dtype
) -> Tensor:
    if given is None:
        return torch.zeros(count, dtype=dtype, device=device)
    if given.shape != (count,) or given.dtype != dtype or given.data_ptr() % ALIGNMENT:
        raise ValueError(
            f"`{name}` is {tuple(given.shape)} of {given.dtype} at address {given.data_ptr()}: give"
            f" ({count},) of {dtype} at a multiple of {ALIGNMENT} bytes."
        )
    return given


def _orthogonal_(weight: Tensor, gain: float, generator: torch.Generator) -> None:
    """Fill a weight, as a matrix (outputs, inputs), with orthonormal rows or columns times gain."""
    rows = weight.shape[0]
    columns = weight.numel() // rows
    normal = torch.randn(
        max(rows, columns), min(rows, columns), generator=generator, dtype=torch.float64
    )
    q, r = torch.linalg.qr(normal)
    q = q * r.diagonal().sign()
    weight.copy_((gain * (q if rows >= columns else q.t())).reshape(weight.shape))
