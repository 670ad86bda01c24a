"""Which part of an observation is the image that cells and bonuses use."""

from __future__ import annotations

from typing import Any

import gymnasium
import numpy as np
from gymnasium.spaces import Box

from deepcs.envs.layout import Layout, image_layout, is_image, named_parts, picture_size
from deepcs.envs.pictures import grey_frame


class Sight:
    """The grey frame of observations: of an image, or of the first image in a Dict."""

    def __init__(self, space: gymnasium.Space[Any], layouts: dict[str, Layout]) -> None:
        """`layouts`: known ones, by name. Raises ValueError for a space without pixels."""
        images = [
            (name, part)
            for name, part in named_parts(space).items()
            if is_image(part) and part.dtype == np.uint8
        ]
        if not images:
            raise ValueError(
                f"Got observations {space}, which have no pixels; cells of the screen, "
                "pseudo-counts and RND need a uint8 image: choose a treatment that goes by "
                "position, such as deepcs or counts."
            )
        self._name, part = images[0]
        assert isinstance(part, Box)
        self._layout = image_layout(part.shape, layouts.get(self._name), self._name)
        self.shape = picture_size(part.shape, self._layout)
        """height and width"""

    def frame(self, observation: Any) -> np.ndarray:
        """The mean of the image's channels: uint8 (height, width)."""
        image = observation[self._name] if self._name else observation
        return grey_frame(np.asarray(image), self._layout)
