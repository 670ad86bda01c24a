"""Observations that users give to a trained agent, checked against those it was trained on."""

from __future__ import annotations

from typing import Any

import gymnasium
import numpy as np
import torch

HOW = "agent.make_envs(...) makes environments that show what it knows"


def as_batch(observations: Any, space: gymnasium.Space[Any]) -> tuple[Any, bool]:
    """The observations as arrays (N, …) of the space's dtype, and whether it was a single one.

    Takes one observation or a batch of them; NumPy arrays, tensors or lists, or dicts of these.
    Raises ValueError for what is not in the space.
    """
    if not isinstance(space, gymnasium.spaces.Dict):
        return _part(observations, space, "observations")
    if not isinstance(observations, dict) or observations.keys() != space.spaces.keys():
        given = sorted(observations) if isinstance(observations, dict) else type(observations)
        raise ValueError(
            f"Got {given} to act on; this agent takes a dict of {', '.join(space.spaces)} ({HOW})."
        )
    parts = {
        name: _part(observations[name], part, f"observations {name!r}")
        for name, part in space.spaces.items()
    }
    if len({(len(array), single) for array, single in parts.values()}) > 1:
        shapes = {name: np.shape(part) for name, part in observations.items()}
        raise ValueError(
            f"Got observations of shapes {shapes} to act on; give one of each, or as many of each."
        )
    _, single = next(iter(parts.values()))
    return {name: array for name, (array, _) in parts.items()}, single


def _part(given: Any, space: gymnasium.Space[Any], what: str) -> tuple[np.ndarray, bool]:
    shape, dtype = space.shape or (), np.dtype(space.dtype)
    try:
        array = np.asarray(given.detach().cpu() if isinstance(given, torch.Tensor) else given)
    except ValueError as error:
        raise ValueError(
            f"Got {what} whose rows differ in length to act on; this agent takes {dtype} {shape}, "
            f"or a batch of them (N, ...) ({HOW})."
        ) from error
    single = array.shape == shape
    # uint8 is divided by 255, so fractions or larger numbers would mean something else; floats of
    # any size, and whole numbers, may be given for floats.
    fits = array.dtype == dtype if dtype.kind != "f" else array.dtype.kind in "fiu"
    if not fits or 0 in array.shape[:1] or not (single or array.shape[1:] == shape):
        raise ValueError(
            f"Got {what} {array.dtype} {array.shape} to act on; this agent takes {dtype} {shape}, "
            f"or a batch of them (N, ...) ({HOW})."
        )
    if array.dtype.kind == "f" and not np.isfinite(array).all():
        raise ValueError(
            f"Got {what} with numbers that are not finite to act on; give finite ones."
        )
    whole = array[None] if single else array
    return np.ascontiguousarray(whole, dtype), single
