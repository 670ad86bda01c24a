"""The layers, as specifications and as arithmetic: forward, backward, and what K-FAC needs.

Images lie channels-last in memory: an image layer's input and output are (B, height, width,
channels), its weight is (out, height, width, channels), and the first fully connected layer reads
its columns in the order (height, width, channels).
"""

from collections.abc import Callable
from dataclasses import dataclass
from math import prod

import torch
import torch.nn.functional as F  # noqa: N812
from torch import Tensor

Shape = tuple[int, ...]

PATCH_LIMIT = 2**22
"""Numbers. Patches that stay in the cache: one matrix product beats oneDNN's weight gradient."""
FEW_OUTPUTS = 32
"""Fewer outputs than this hardly repay the cutting of patches:"""
FEW_OUTPUTS_PATCH_LIMIT = 2**17
"""so it must be few numbers."""


@dataclass(frozen=True)
class Conv:
    """A square convolution, followed by a ReLU."""

    out: int
    kernel: int
    stride: int
    padding: int = 0

    def input_shape(self, incoming: Shape) -> Shape:
        return incoming

    def weight_shape(self, inputs: Shape) -> Shape:
        return (self.out, self.kernel, self.kernel, inputs[2])

    def output_shape(self, inputs: Shape) -> Shape:
        height, width = (
            (side + 2 * self.padding - self.kernel) // self.stride + 1 for side in inputs[:2]
        )
        return (height, width, self.out)


@dataclass(frozen=True)
class Linear:
    """A fully connected layer on the flattened input, followed by a ReLU but for the head."""

    out: int
    relu: bool = True

    def input_shape(self, incoming: Shape) -> Shape:
        return (prod(incoming),)

    def weight_shape(self, inputs: Shape) -> Shape:
        return (self.out, inputs[0])

    def output_shape(self, inputs: Shape) -> Shape:
        return (self.out,)


Spec = Conv | Linear

NATURE: tuple[Spec, ...] = (Conv(32, 8, 4), Conv(64, 4, 2), Conv(64, 3, 1), Linear(512))
"""Mnih et al. 2015, as in Baselines."""
SMALL: tuple[Spec, ...] = (Conv(8, 3, 1, padding=1), Linear(64))
"""For worlds drawn one pixel a cell."""
FLAT: tuple[Spec, ...] = (Linear(64), Linear(64))
"""Baselines' network for vectors (with ReLU)."""


def layers_for(observation_shape: Shape) -> tuple[Spec, ...]:
    """The trunk for observations of this shape: (features,) or (channels, height, width)."""
    if len(observation_shape) == 1:
        return FLAT
    if len(observation_shape) == 3 and max(observation_shape[1:]) <= 21:
        return SMALL
    if len(observation_shape) == 3 and min(observation_shape[1:]) >= 36:
        return NATURE
    raise ValueError(
        f"No network for observations of shape {observation_shape}: give (features,), or (channels,"
        " height, width) with both sides at most 21 or both at least 36, such as 84×84."
    )


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


def planes_first(images: Tensor) -> Tensor:
    """(B, height, width, channels) seen as (B, channels, height, width); matrices as they are."""
    return images.permute(0, 3, 1, 2) if images.dim() == 4 else images
