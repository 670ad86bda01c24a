"""How an agent is shown the plane: as a channel of its image, or beside its observation."""

from __future__ import annotations

import warnings
from typing import Any, Literal

import gymnasium
import numpy as np
from gymnasium.spaces import Box, Dict

from deepcs.curiosity.grid import Curiosity, CuriosityGrid
from deepcs.curiosity.unbounded import VIEW
from deepcs.envs.layout import Layout, add_channel, image_layout, picture_size

GridShown = bool | Literal["beside"]
CROWD = 16  # tiles in a pixel: with more, the plane shows next to nothing


class Showing:
    """The observation with the plane in it, and its space."""

    def __init__(
        self,
        space: gymnasium.Space[Any],
        grid: GridShown,
        shape: tuple[int, int],
        layout: Layout | None,
    ) -> None:
        """`space`: without the plane. `shape`: of the plane in a Dict. `layout`: if stated."""
        if grid not in (True, False, "beside"):
            raise ValueError(f"Got grid {grid!r}; choose True, False or 'beside'.")
        if len(shape) != 2 or min(shape) < 1:
            raise ValueError(f"Got shape {shape}; give the plane's height and width in pixels.")
        size = space.shape if isinstance(space, Box) else None
        if layout is not None:
            if size is None:
                raise ValueError(f"Got layout {layout!r} for observations {space}; leave it out.")
            image_layout(size, layout)
        self._inner, self._grid = space, grid
        self.shape = shape
        """height and width of the plane"""
        self._image: Layout | None = None  # of an image that gets the plane as a channel
        self.layout: Layout | None = layout if grid is False else None
        """of the images that are shown, where it is known"""
        if grid is True and size is not None and len(size) in (2, 3) and space.dtype == np.uint8:
            self._image = image_layout(size, layout)
            self.shape = picture_size(size, self._image)
            self.layout = "HWC" if self._image == "HW" else self._image
        self.space = self._shown_space()
        """with the plane"""

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

    def show(self, observation: Any, plane: np.ndarray) -> Any:
        """The observation with the plane in it; only where it is shown."""
        if self._image is not None:
            image, wanted = np.asarray(observation), self._inner.shape
            if image.shape != wanted:
                raise ValueError(
                    f"Got an observation of shape {image.shape} from an environment whose "
                    f"observation_space has {wanted}; fix the environment."
                )
            return add_channel(image, plane, self._image)
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
                stacklevel=4,
            )
