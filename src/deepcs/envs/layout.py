"""Image layouts: (channels, height, width), as the networks here take them, and others."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal, get_args

import gymnasium
import numpy as np
from gymnasium.spaces import Box, Dict

Layout = Literal["HW", "HWC", "CHW"]
LAYOUTS: tuple[Layout, ...] = get_args(Layout)
FEW = 5  # channels: never taken for a side of the picture
HOW_TO_SAY = (
    "say which: layout='HWC' (height, width, channels) or layout='CHW', of "
    "deepcs.CuriosityWrapper or of deepcs.ChannelsFirst(env, layout)"
)
HOW_TO_SAY_IN_A_DICT = (
    "say which: wrap the environment in deepcs.ChannelsFirst(env, {{{name!r}: 'HWC'}}) (height, "
    "width, channels) or 'CHW'"
)


def named_parts(space: gymnasium.Space[Any]) -> Mapping[str, gymnasium.Space[Any]]:
    """The parts of a Dict; any other space is one part, named ''."""
    return space.spaces if isinstance(space, Dict) else {"": space}


def is_image(space: gymnasium.Space[Any]) -> bool:
    """Whether observations are images: three dimensions, or uint8 in two."""
    if not isinstance(space, Box):
        return False
    return len(space.shape) == 3 or (len(space.shape) == 2 and space.dtype == np.uint8)


def check_dimensions(space: gymnasium.Space[Any]) -> None:
    """Refuse pixels in four and more dimensions, such as a stack of images in colour."""
    for part in named_parts(space).values():
        if isinstance(part, Box) and part.dtype == np.uint8 and len(part.shape) > 3:
            raise ValueError(
                f"Got images of shape {part.shape}, which have more than height, width and "
                "channels; stack the frames as channels, in gymnasium.wrappers."
                "TransformObservation."
            )


def image_layout(shape: tuple[int, ...], stated: Layout | None = None, name: str = "") -> Layout:
    """The layout of an image of that shape; raises ValueError where it is ambiguous.

    name: the image's in a Dict, for the message.

    Channels are the end of the shape that is smaller than the other, if they are few or the
    image is a square: (7, 7, 4) is HWC, (4, 84, 84) is CHW, and (20, 7, 7) may be either.
    """
    if stated is not None:
        if stated not in LAYOUTS or len(stated) != len(shape):
            fitting = [layout for layout in LAYOUTS if len(layout) == len(shape)]
            raise ValueError(
                f"Got layout {stated!r} for observations of shape {shape}; choose "
                f"{' or '.join(fitting) or 'none'}."
            )
        return stated
    if len(shape) == 2:
        return "HW"
    first, middle, last = shape
    if first < last and _are_channels(first, middle, last):
        return "CHW"
    if last < first and _are_channels(last, first, middle):
        return "HWC"
    how = HOW_TO_SAY_IN_A_DICT.format(name=name) if name else HOW_TO_SAY
    raise ValueError(f"Got images of shape {shape}, whose channels may come first or last; {how}.")


def _are_channels(channels: int, height: int, width: int) -> bool:
    return height == width or channels <= FEW or 4 * channels <= min(height, width)


def known_layouts(env: gymnasium.Env[Any, Any]) -> dict[str, Layout]:
    """Layouts that a wrapper has stated of an environment's images, by their names in a Dict.

    Those whose shape a wrapper further outside has changed are not known.
    """
    layer, shown = env, named_parts(env.observation_space)
    while isinstance(layer, gymnasium.Wrapper):
        if hasattr(type(layer), "image_layouts"):
            parts = named_parts(layer.observation_space)
            layouts: dict[str, Layout] = layer.get_wrapper_attr("image_layouts")
            return {
                name: layout
                for name, layout in layouts.items()
                if name in shown and shown[name].shape == parts[name].shape
            }
        layer = layer.env
    return {}


def picture_size(shape: tuple[int, ...], layout: Layout) -> tuple[int, int]:
    """Height and width."""
    height, width = shape[-2:] if layout == "CHW" else shape[:2]
    return height, width


def add_channel(image: np.ndarray, plane: np.ndarray, layout: Layout) -> np.ndarray:
    """The image with the plane as its last channel; HW becomes HWC."""
    if layout == "CHW":
        return np.concatenate((image, plane[None]))
    if layout == "HW":
        image = image[..., None]
    return np.concatenate((image, plane[..., None]), axis=-1)


def to_channels_first(image: np.ndarray, layout: Layout) -> np.ndarray:
    """The image as (channels, height, width)."""
    if layout == "HW":
        return image[None]
    return np.ascontiguousarray(np.moveaxis(image, -1, 0)) if layout == "HWC" else image


class ChannelsFirst(
    gymnasium.ObservationWrapper[Any, Any, Any], gymnasium.utils.RecordConstructorArgs
):
    """Returns images as (channels, height, width), also those in a Dict.

    `deepcs train` wraps your own environments with it where images are recognised as (height,
    width, channels) or (height, width).

    >>> env = ChannelsFirst(gymnasium.make("ALE/Pitfall-v5"))
    >>> env.observation_space.shape
    (3, 210, 160)
    """

    def __init__(
        self,
        env: gymnasium.Env[Any, Any],
        layout: Layout | Mapping[str, Layout] | None = None,
    ) -> None:
        """`layout`: of the environment's images, or of some by their names in a Dict; None:
        recognised by their shapes.
        """
        gymnasium.utils.RecordConstructorArgs.__init__(self, layout=layout)
        super().__init__(env)
        space = env.observation_space
        parts = named_parts(space)
        named = layout if isinstance(layout, Mapping) else dict.fromkeys(parts, layout)
        self._layouts = {
            name: image_layout(part.shape or (), named.get(name), name)
            for name, part in parts.items()
            if is_image(part)
        }
        turned = {name: self._turned_space(name, part) for name, part in parts.items()}
        self.observation_space = Dict(turned) if isinstance(space, Dict) else turned[""]

    @property
    def image_layouts(self) -> dict[str, Layout]:
        """Of the images that it returns, by their names in a Dict."""
        return dict.fromkeys(self._layouts, "CHW")

    @property
    def changes(self) -> bool:
        """Whether any image has another layout."""
        return any(layout != "CHW" for layout in self._layouts.values())

    def _turned_space(self, name: str, space: gymnasium.Space[Any]) -> gymnasium.Space[Any]:
        if name not in self._layouts or not isinstance(space, Box):
            return space
        low, high = (to_channels_first(end, self._layouts[name]) for end in (space.low, space.high))
        return Box(low, high, dtype=space.dtype.type)

    def observation(self, observation: Any) -> Any:
        """The observation with its images transposed."""
        if isinstance(observation, dict):
            return {name: self._turned(name, part) for name, part in observation.items()}
        return self._turned("", observation)

    def _turned(self, name: str, part: Any) -> Any:
        if name not in self._layouts:
            return part
        return to_channels_first(np.asarray(part), self._layouts[name])
