"""How an agent is shown the plane: as a channel of its image, or beside its observation."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from typing import Any, Literal

import gymnasium
import numpy as np
from gymnasium.spaces import Box, Dict, Tuple

from deepcs.curiosity.grid import Curiosity, CuriosityGrid
from deepcs.curiosity.unbounded import VIEW
from deepcs.envs.layout import Layout, add_channel, image_layout, is_image, picture_size
from deepcs.system.warning import DeepcsWarning

GridShown = bool | Literal["beside"]
CROWD = 16  # tiles in a pixel: with more, the plane shows next to nothing


class Showing:
    """The observation with the plane in it, and its space."""

    def __init__(
        self,
        space: gymnasium.Space[Any],
        grid: GridShown,
        shape: tuple[int, int],
        layouts: dict[str, Layout],
    ) -> None:
        """`space`: without the plane. `shape`: of the plane in a Dict. `layouts`: of the space's
        images, by name, where they are known; one that is not in a Dict is named ''.
        """
        if grid not in (True, False, "beside"):
            raise ValueError(f"Got grid {grid!r}; choose True, False or 'beside'.")
        size = space.shape if isinstance(space, Box) else None
        layout = layouts.get("")
        if layout is not None:
            if size is None:
                raise ValueError(f"Got layout {layout!r} for observations {space}; leave it out.")
            image_layout(size, layout)
        self._inner, self._grid = space, grid
        self._boxes = dict(_boxes(space))
        self.shape = _checked_shape(shape)
        """height and width of the plane"""
        self._image: Layout | None = None  # of an image that gets the plane as a channel
        if grid is True and size is not None and len(size) in (2, 3) and space.dtype == np.uint8:
            self._image = image_layout(size, layout)
            self.shape = picture_size(size, self._image)
        self.space = self._shown_space()
        """with the plane"""
        self.layouts = self._shown_layouts(layouts)
        """of the images that are shown, by name, where they are known"""

    def _shown_space(self) -> gymnasium.Space[Any]:
        space = self._inner
        if not self._grid:
            return space
        if self._image is not None and isinstance(space, Box):
            dark = np.zeros(self.shape, np.uint8)
            low = add_channel(space.low, dark, self._image)
            high = add_channel(space.high, ~dark, self._image)
            return Box(low, high, dtype=np.uint8)
        plane = Box(0, 255, (1, *self.shape), np.uint8)
        if not isinstance(space, Dict):
            return Dict({"observation": space, "grid": plane})
        if "grid" in space.spaces:
            raise ValueError(
                "Got an environment whose observation already has a 'grid'; rename it with "
                "gymnasium.wrappers.TransformObservation, or pass grid=False."
            )
        return Dict({**space.spaces, "grid": plane})

    def _shown_layouts(self, layouts: dict[str, Layout]) -> dict[str, Layout]:
        if not self._grid:
            return layouts
        if self._image is not None:
            return {"": "HWC" if self._image == "HW" else self._image}
        named = {name or "observation": layout for name, layout in layouts.items()}
        return {**named, "grid": "CHW"}

    def check(self, observation: Any) -> None:
        """Refuse an observation, without the plane, whose arrays have other shapes than the space
        says, or whose images are not uint8 where it says so.
        """
        for path, (box, pixels) in self._boxes.items():
            part = observation
            try:
                for step in path:
                    part = part[step]
            except (KeyError, IndexError, TypeError) as error:
                raise ValueError(
                    f"Got an observation without {_name(path).rstrip()}, which the environment's "
                    "observation_space has; fix the environment."
                ) from error
            if np.shape(part) != box.shape or (pixels and np.asarray(part).dtype != np.uint8):
                array = np.asarray(part)
                raise ValueError(
                    f"Got an observation {_name(path)}of {array.dtype} {array.shape} from an "
                    f"environment whose observation_space has {box.dtype} {box.shape}; fix the "
                    "environment."
                )

    def show(self, observation: Any, plane: np.ndarray) -> Any:
        """The observation with the plane in it; only where it is shown."""
        if self._image is not None:
            return add_channel(np.asarray(observation), plane, self._image)
        plane = plane[None].copy()
        if isinstance(self._inner, Dict):
            return {**observation, "grid": plane}
        return {"observation": observation, "grid": plane}

    def warn_of_crowds(self, grid: Curiosity) -> None:
        """Warn where the image is too small for the grid."""
        if self._image is None:
            return
        rows, columns = VIEW, VIEW
        if isinstance(grid, CuriosityGrid):
            rows, columns = grid.rows, grid.columns
        height, width = self.shape
        crowd = max(rows / height, 1) * max(columns / width, 1)
        if crowd > CROWD:
            warnings.warn(
                f"The plane has the image's {height}x{width} pixels for {rows}x{columns} tiles, "
                f"about {crowd:.0f} in a pixel, so it says little; pass grid='beside' to have it "
                "beside the image in a Dict, or give larger tiles.",
                DeepcsWarning,
                stacklevel=4,
            )


def _checked_shape(shape: Any) -> tuple[int, int]:
    is_pair = isinstance(shape, (tuple, list)) and len(shape) == 2
    if not is_pair or not all(isinstance(side, (int, np.integer)) and side >= 1 for side in shape):
        raise ValueError(
            f"Got shape {shape!r}; give the plane's height and width in pixels, such as (84, 84)."
        )
    return int(shape[0]), int(shape[1])


def _name(path: tuple[Any, ...]) -> str:
    return f"{'/'.join(map(str, path))!r} " if path else ""


def _boxes(
    space: gymnasium.Space[Any], path: tuple[Any, ...] = ()
) -> Iterator[tuple[tuple[Any, ...], tuple[Box, bool]]]:
    """Where the arrays of an observation are, their spaces, and whether they are uint8 images."""
    if isinstance(space, Box):
        yield path, (space, is_image(space) and space.dtype == np.uint8)
    elif isinstance(space, (Dict, Tuple)):
        inner = space.spaces.items() if isinstance(space, Dict) else enumerate(space.spaces)
        for step, part in inner:
            yield from _boxes(part, (*path, step))
