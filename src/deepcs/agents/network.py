"""The actor-critic network, with a backward pass written by hand.

Weights do not change during a rollout, so its forward passes are those of the update too. Each
layer's input is kept as the rollout goes along, and one backward pass over all T·N samples gives
the gradient exactly, without a second forward pass and without autograd.
"""

from collections.abc import Callable
from dataclasses import dataclass
from math import prod, sqrt

import torch
import torch.nn.functional as F  # noqa: N812
from torch import Tensor

from deepcs.agents.plan import Conv, Linear, Shape, Spec, parameter_count, plan_layers
from deepcs.agents.policy import DiscretePolicy, Policy

ALIGNMENT = 64
"""Bytes. Matrix products may round differently at other addresses, so runs would not repeat."""


PATCH_LIMIT = 2**22
"""Numbers. Patches that stay in the cache: one matrix product beats oneDNN's weight gradient."""
FEW_OUTPUTS = 32
"""Fewer outputs than this hardly repay the cutting of patches:"""
FEW_OUTPUTS_PATCH_LIMIT = 2**17
"""so it must be few numbers."""


@dataclass(frozen=True)
class Layer:
    """A layer's weights and their gradient, both views of the network's flat vectors.

    For a batch of B, `inputs` are (B, *input_shape), `outputs` and `d_outputs`, the gradient of
    a loss with respect to the outputs before the ReLU, are (B, *output_shape).
    """

    name: str
    spec: Spec
    input_shape: Shape
    output_shape: Shape
    weight: Tensor
    bias: Tensor
    d_weight: Tensor
    d_bias: Tensor

    def between(self, inputs: Tensor, outputs: Tensor) -> Callable[[], None]:
        """What writes this layer's outputs, after the ReLU; all views are made here, once."""
        bias = self.bias
        if isinstance(self.spec, Linear):
            relu, columns = self.spec.relu, self.weight.t()

            def multiply() -> None:
                torch.addmm(bias, inputs, columns, out=outputs)
                if relu:
                    outputs.relu_()

            return multiply
        stride, padding = self.spec.stride, self.spec.padding
        images, kernels, maps = map(planes_first, (inputs, self.weight, outputs))

        def convolve() -> None:
            torch.clamp_min(F.conv2d(images, kernels, bias, stride, padding), 0, out=maps)

        return convolve

    def input_gradient(self, inputs: Tensor, d_outputs: Tensor) -> Tensor:
        """The gradient with respect to the inputs, (B, *input_shape)."""
        if isinstance(self.spec, Linear):
            return torch.mm(d_outputs, self.weight)
        d_images = self._convolution_backward(inputs, d_outputs, [True, False, False])[0]
        return d_images.permute(0, 2, 3, 1)

    def write_gradient(self, inputs: Tensor, d_outputs: Tensor) -> None:
        """Write the gradient of weight and bias."""
        rows = d_outputs.reshape(-1, self.spec.out)
        torch.sum(rows, 0, out=self.d_bias)
        if isinstance(self.spec, Linear) or self._patch_numbers(inputs) <= self._patch_limit:
            torch.mm(rows.t(), self.patches(inputs), out=self.d_weight.view(self.spec.out, -1))
        else:
            wanted = [False, True, False]
            d_weight = self._convolution_backward(inputs, d_outputs, wanted)[1]
            planes_first(self.d_weight).copy_(d_weight)

    def patches(self, inputs: Tensor) -> Tensor:
        """What the weight is multiplied with, (B·places, inputs of one output); one place in fc."""
        if isinstance(self.spec, Linear):
            return inputs
        size, stride, padding = self.spec.kernel, self.spec.stride, self.spec.padding
        images = F.pad(inputs, (0, 0, *[padding] * 4)) if padding else inputs
        windows = images.unfold(1, size, stride).unfold(2, size, stride).permute(0, 1, 2, 4, 5, 3)
        return windows.reshape(-1, self.weight[0].numel())

    @property
    def _patch_limit(self) -> int:
        return PATCH_LIMIT if self.spec.out >= FEW_OUTPUTS else FEW_OUTPUTS_PATCH_LIMIT

    def _patch_numbers(self, inputs: Tensor) -> int:
        return len(inputs) * prod(self.output_shape[:2]) * self.weight[0].numel()

    def _convolution_backward(
        self, inputs: Tensor, d_outputs: Tensor, wanted: list[bool]
    ) -> tuple[Tensor, Tensor, Tensor]:
        assert isinstance(self.spec, Conv)
        gradients: tuple[Tensor, Tensor, Tensor] = torch.ops.aten.convolution_backward(
            planes_first(d_outputs),
            planes_first(inputs),
            planes_first(self.weight),
            [self.spec.out],
            [self.spec.stride] * 2,
            [self.spec.padding] * 2,
            [1, 1],
            False,
            [0, 0],
            1,
            wanted,
        )
        return gradients


@dataclass(frozen=True)
class Tape:
    """What one forward pass reads and writes, and its steps in order."""

    pixels: Tensor
    layers: list[Callable[[], None]]
    logits: Tensor
    values: Tensor


class Network:
    """Policy logits and value of each observation, and the gradient of a whole rollout.

    `policy`: what the logits mean; None: one of so many actions.
    `values`: how many values each observation has; where these are one, arrays of them are (B,),
    else (B, values).
    `parameters` and `gradient` are flat vectors of `parameter_count(...)` numbers, which the caller
    may hand in, in shared memory for example: whoever writes them changes this network.
    uint8 observations are divided by 255, float observations are taken as they are.
    """

    def __init__(
        self,
        observation_shape: Shape,
        actions: int,
        *,
        envs: int,
        steps: int,
        values: int = 1,
        policy: Policy | None = None,
        parameters: Tensor | None = None,
        gradient: Tensor | None = None,
        device: torch.device | str = "cpu",
        dtype: torch.dtype = torch.float32,
    ) -> None:
        self.observation_shape = observation_shape
        self.actions = actions
        self.policy = DiscretePolicy(actions) if policy is None else policy
        self.memory: Tensor | None = None  # it has none
        self.envs = envs
        self.steps = steps
        self.value_count = values
        # Of the head's outputs: one column, or several.
        self._value_columns = -1 if values == 1 else slice(actions, None)
        count = parameter_count(observation_shape, actions, values)
        self.parameters = _flat("parameters", parameters, count, device, dtype)
        self.gradient = _flat("gradient", gradient, count, device, dtype)
        self.layers = _bind(observation_shape, actions, values, self.parameters, self.gradient)
        """The trunk and, last, the head: policy and values as one layer."""
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
        """Views of any flat vector that lies beside the parameters, named as they are."""
        named: dict[str, Tensor] = {}
        *trunk, head = _bind(self.observation_shape, self.actions, self.value_count, flat, flat)
        for layer in trunk:
            named[f"{layer.name}.weight"] = planes_first(layer.weight)
            named[f"{layer.name}.bias"] = layer.bias
        policy, value = slice(self.actions), slice(self.actions, None)
        named["policy.weight"], named["policy.bias"] = head.weight[policy], head.bias[policy]
        named["value.weight"], named["value.bias"] = head.weight[value], head.bias[value]
        return named

    def matrices(self, flat: Tensor) -> list[tuple[Tensor, Tensor]]:
        """Views of any such vector: each layer's weight (outputs, inputs) and bias (outputs,)."""
        layers = _bind(self.observation_shape, self.actions, self.value_count, flat, flat)
        return [(layer.weight.flatten(1), layer.bias) for layer in layers]

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

        Both are views, overwritten when step `t` of the next rollout comes.
        """
        return self._run(observations, self._slots[t])

    def evaluate(self, observations: Tensor) -> tuple[Tensor, Tensor]:
        """Logits (B, A) and values (B,) of any number of observations; the rollout is untouched."""
        batch = len(observations)
        if len(self._scratch.pixels) != batch:
            heads = self.parameters.new_zeros(batch, self.actions + self.value_count)
            self._scratch = self._tape([*self._buffers(batch), heads])
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
            # The inputs are the ReLU's outputs: it let pass what is positive.
            torch.ops.aten.threshold_backward.grad_input(d_inputs, inputs, 0, grad_input=d_inputs)
            gradients.append(d_inputs.reshape(-1, *below.output_shape))
        return gradients[::-1]

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
        if observations.dtype == torch.uint8 and observations.stride() == tape.pixels.stride():
            tape.pixels.copy_(observations).mul_(self._scale)  # the same bits, in half the time
        elif observations.dtype == torch.uint8:
            torch.mul(observations, self._scale, out=tape.pixels)
        else:
            tape.pixels.copy_(observations)
        for layer in tape.layers:
            layer()
        return tape.logits, tape.values

    def _buffers(self, batch: int) -> list[Tensor]:
        return [self.parameters.new_zeros(batch, *layer.input_shape) for layer in self.layers]


def layers_of(observation_shape: Shape, actions: int, values: int = 1) -> list[Layer]:
    """The layers of such a network, without numbers: for their shapes."""
    nothing = torch.empty(parameter_count(observation_shape, actions, values), device="meta")
    return _bind(observation_shape, actions, values, nothing, nothing)


def _bind(
    observation_shape: Shape, actions: int, values: int, parameters: Tensor, gradient: Tensor
) -> list[Layer]:
    """The layers as views of the flat vectors: each layer's weight, then its bias."""
    layers = []
    start = 0
    for name, spec, inputs in plan_layers(observation_shape, actions, values):
        shape = spec.weight_shape(inputs)
        middle = start + prod(shape)
        end = middle + spec.out
        layers.append(
            Layer(
                name,
                spec,
                inputs,
                spec.output_shape(inputs),
                parameters[start:middle].view(shape),
                parameters[middle:end],
                gradient[start:middle].view(shape),
                gradient[middle:end],
            )
        )
        start = end
    return layers


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


def planes_first(images: Tensor) -> Tensor:
    """(B, height, width, channels) seen as (B, channels, height, width); matrices as they are."""
    return images.permute(0, 3, 1, 2) if images.dim() == 4 else images
