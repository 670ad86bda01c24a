"""The layers of the built-in network, chosen by the shape of observations.

Images are channels-last in memory: an image layer's input and output are (B, height, width,
channels), its weight is (out, height, width, channels), and the first fully connected layer reads
its columns in the order (height, width, channels).
"""

from collections.abc import Iterator
from dataclasses import dataclass
from math import prod
from typing import Literal

Shape = tuple[int, ...]
Precision = Literal["float32", "bfloat16"]
"""In which layers multiply."""


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
NARROW: tuple[Spec, ...] = (Conv(16, 8, 4), Conv(32, 4, 2), Conv(32, 3, 1), Linear(256))
"""The same with half as many channels and units: a third of the work."""
SMALL: tuple[Spec, ...] = (Conv(8, 3, 1, padding=1), Linear(64))
"""For small images, such as the mazes', of one pixel per tile."""
FLAT: tuple[Spec, ...] = (Linear(64), Linear(64))
"""Baselines' network for vectors (with ReLU)."""


def is_large_image(observation_shape: Shape) -> bool:
    """Whether observations are (channels, height, width) of the size that Atari's have."""
    return len(observation_shape) == 3 and min(observation_shape[1:]) >= 36


def layers_for(observation_shape: Shape, *, narrow: bool = False) -> tuple[Spec, ...]:
    """The trunk for observations of this shape: (features,) or (channels, height, width)."""
    if is_large_image(observation_shape):
        return NARROW if narrow else NATURE
    if narrow:
        raise ValueError(
            f"Got network 'narrow' for observations of shape {observation_shape}; it is for images "
            "(channels, height, width) of 36×36 or more: choose fast."
        )
    if len(observation_shape) == 1:
        return FLAT
    if len(observation_shape) == 3 and max(observation_shape[1:]) <= 21:
        return SMALL
    raise ValueError(
        f"No network for observations of shape {observation_shape}: give (features,), or (channels,"
        " height, width) with both sides at most 21 or both at least 36, such as 84×84."
    )


def parameter_count(
    observation_shape: Shape, actions: int, values: int = 1, *, narrow: bool = False
) -> int:
    """How many numbers the flat vectors of such a network hold."""
    return sum(
        prod(spec.weight_shape(inputs)) + spec.out
        for _, spec, inputs in plan_layers(observation_shape, actions, values, narrow=narrow)
    )


def plan_layers(
    observation_shape: Shape, actions: int, values: int = 1, *, narrow: bool = False
) -> Iterator[tuple[str, Spec, Shape]]:
    """Name, kind and input shape of each layer."""
    specs = layers_for(observation_shape, narrow=narrow)
    shape = observation_shape[1:] + observation_shape[:1]
    for index, spec in enumerate(specs):
        kind = "conv" if isinstance(spec, Conv) else "fc"
        alike = [i for i, other in enumerate(specs) if type(other) is type(spec)]
        name = f"{kind}{alike.index(index) + 1}" if len(alike) > 1 else kind
        shape = spec.input_shape(shape)
        yield name, spec, shape
        shape = spec.output_shape(shape)
    yield "head", Linear(actions + values, relu=False), shape
