"""The layers of the built-in network: forward, and backward written by hand.

Images are channels-last. Most of the training time is spent here, so views and the steps of a
forward pass are made only once, and each gradient is computed in the faster of two ways.
"""

from collections.abc import Callable
from dataclasses import dataclass
from math import prod

import torch
import torch.nn.functional as F  # noqa: N812
from torch import Tensor

from deepcs.agents.folding import folded_kernels
from deepcs.agents.plan import Conv, Linear, Shape, Spec, parameter_count, plan_layers

PATCH_LIMIT = 2**22
"""Numbers. Patches that stay in the cache: one matrix product beats oneDNN's weight gradient."""
FEW_OUTPUTS = 32
"""With fewer outputs than this, cutting patches hardly pays:"""
FEW_OUTPUTS_PATCH_LIMIT = 2**17
"""so patches must be smaller than this."""


@dataclass(frozen=True)
class Layer:
    """A layer's weights and their gradient, both views of the network's flat vectors.

    For a batch of B, `inputs` are (B, *input_shape), `outputs` and `d_outputs`, the gradient of
    a loss with respect to the outputs before the ReLU, are (B, *output_shape).

    Inputs and `d_outputs` are of the type that the layer multiplies in; `outputs` may be wider. In
    half precision each product is accumulated in float32 and rounded once.
    """

    name: str
    spec: Spec
    input_shape: Shape
    output_shape: Shape
    weight: Tensor
    bias: Tensor
    d_weight: Tensor
    d_bias: Tensor
    used_weight: Tensor
    """what is multiplied with: the weight itself, or its copy in half precision"""
    used_bias: Tensor

    @property
    def dtype(self) -> torch.dtype:
        """That the layer multiplies in."""
        return self.used_weight.dtype

    def between(self, inputs: Tensor, outputs: Tensor) -> Callable[[], None]:
        """What writes this layer's outputs, after the ReLU; all views are made here, once."""
        bias = self.used_bias
        if isinstance(self.spec, Linear):
            relu, columns = self.spec.relu, self.used_weight.t()

            def widen() -> None:
                outputs.copy_(torch.addmm(bias, inputs, columns).relu_())

            if outputs.dtype != self.dtype:
                return widen

            def multiply() -> None:
                torch.addmm(bias, inputs, columns, out=outputs)
                if relu:
                    outputs.relu_()

            return multiply
        stride, padding = self.spec.stride, self.spec.padding
        images, kernels, maps = map(planes_first, (inputs, self.used_weight, outputs))

        def convolve() -> None:
            torch.clamp_min(F.conv2d(images, kernels, bias, stride, padding), 0, out=maps)

        return convolve

    def input_gradient(self, inputs: Tensor, d_outputs: Tensor) -> Tensor:
        """The gradient with respect to the inputs, (B, *input_shape)."""
        if isinstance(self.spec, Linear):
            return torch.mm(d_outputs, self.used_weight)
        d_images = self._convolution_backward(inputs, d_outputs, [True, False, False])[0]
        return d_images.permute(0, 2, 3, 1)

    def write_gradient(self, inputs: Tensor, d_outputs: Tensor) -> None:
        """Write the gradient of weight and bias."""
        rows = d_outputs.reshape(-1, self.spec.out)
        torch.sum(rows, 0, dtype=self.d_bias.dtype, out=self.d_bias)
        if isinstance(self.spec, Linear) or self._patch_numbers(inputs) <= self._patch_limit:
            d_weight = self.d_weight.view(self.spec.out, -1)
            if self.dtype == d_weight.dtype:
                torch.mm(rows.t(), self.patches(inputs), out=d_weight)
            else:
                d_weight.copy_(torch.mm(rows.t(), self.patches(inputs)))
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
            planes_first(self.used_weight),
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
class FoldedLayer(Layer):
    """A convolution in half precision that reads bytes, 0 to 255, in blocks (folding.py).

    `weight` is as ever, for pixels from 0 to 1; `used_weight` and `d_weight` are for blocks, the
    former divided by 255: dividing a few weights is faster than dividing all pixels.
    """

    block: int
    d_pixels: Tensor
    """the gradient of `weight`, a view of the network's flat vector"""

    def round_weight(self) -> None:
        """Take over the weight as it is now."""
        used = self.used_weight.view(folded_kernels(self.weight, self.block).shape)
        used.copy_(folded_kernels(self.weight, self.block) / 255)

    def write_gradient(self, inputs: Tensor, d_outputs: Tensor) -> None:
        super().write_gradient(inputs, d_outputs)
        unfolded = folded_kernels(self.d_pixels, self.block)
        unfolded.copy_(self.d_weight.view(unfolded.shape) / 255)


def layers_of(
    observation_shape: Shape, actions: int, values: int = 1, *, narrow: bool = False
) -> list[Layer]:
    """The layers of such a network, without numbers: for their shapes."""
    count = parameter_count(observation_shape, actions, values, narrow=narrow)
    nothing = torch.empty(count, device="meta")
    return bind(observation_shape, actions, values, nothing, nothing, narrow=narrow)


def bind(
    observation_shape: Shape,
    actions: int,
    values: int,
    parameters: Tensor,
    gradient: Tensor,
    half: Tensor | None = None,
    *,
    narrow: bool = False,
) -> list[Layer]:
    """The layers as views of the flat vectors: each layer's weight, then its bias.

    half: beside the parameters, what all layers but the head multiply with. With it, a first layer
    that can be folded is a FoldedLayer.
    """
    layers: list[Layer] = []
    start = 0
    planned = list(plan_layers(observation_shape, actions, values, narrow=narrow))
    for name, spec, inputs in planned:
        shape = spec.weight_shape(inputs)
        middle = start + prod(shape)
        end = middle + spec.out
        used = parameters if half is None or name == planned[-1][0] else half
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
                used[start:middle].view(shape),
                used[middle:end],
            )
        )
        start = end
    if half is not None:
        layers[0] = _folded(layers[0])
    return layers


def _folded(layer: Layer) -> Layer:
    """The same layer over blocks, if they fit its kernel and its images."""
    spec, (*sides, channels) = layer.spec, layer.input_shape
    if not isinstance(spec, Conv) or spec.stride == 1 or spec.padding:
        return layer
    block = spec.stride
    if any(size % block for size in (*sides, spec.kernel)):
        return layer
    numbers = channels * block**2
    over = Conv(spec.out, spec.kernel // block, 1)
    shape = over.weight_shape((0, 0, numbers))
    return FoldedLayer(
        layer.name,
        over,
        (*(side // block for side in sides), numbers),
        layer.output_shape,
        layer.weight,
        layer.bias,
        layer.d_weight.new_zeros(shape),
        layer.d_bias,
        layer.used_weight.new_zeros(shape),
        layer.used_bias,
        block,
        layer.d_weight,
    )


def planes_first(images: Tensor) -> Tensor:
    """(B, height, width, channels) seen as (B, channels, height, width); matrices as they are."""
    return images.permute(0, 3, 1, 2) if images.dim() == 4 else images
