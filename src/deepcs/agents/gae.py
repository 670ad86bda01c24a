"""Generalised advantage estimation (GAE, Schulman et al. 2016), for any number of values."""

from __future__ import annotations

from math import sqrt

import numpy as np
import torch
from torch import Tensor

TINY = 1e-8  # added to the standard deviation, as everywhere


def gae(
    rewards: Tensor,
    ends: Tensor,
    values: Tensor,
    bootstrap: Tensor,
    discounts: Tensor,
    gae_lambda: float,
    final_values: Tensor | None = None,
) -> Tensor:
    """Advantages (T, N, K): of each step's value errors from here on, discounted by γλ.

    | argument       | shape     | meaning                                                        |
    | -------------- | --------- | -------------------------------------------------------------- |
    | `rewards`      | (T, N, K) | of each step                                                   |
    | `ends`         | (T, N)    | bool: nothing after this step counts, for none of the values   |
    | `values`       | (T, N, K) | of what was seen before each step                              |
    | `bootstrap`    | (N, K)    | of what is seen after the last step                            |
    | `discounts`    | (K,)      | γ                                                              |
    | `final_values` | (T, N, K) | where a game was truncated: its last observation's; else 0     |
    """
    if final_values is not None:
        rewards = rewards + discounts * final_values
    ahead = discounts * (~ends).to(rewards.dtype)[..., None]
    result = rewards + ahead * torch.cat((values[1:], bootstrap[None])) - values
    ahead *= gae_lambda
    for t in reversed(range(len(result) - 1)):
        result[t].addcmul_(ahead[t], result[t + 1])
    return result


def normalised(advantages: Tensor, sums: np.ndarray, count: int) -> Tensor:
    """Normalised by mean and standard deviation, given the sums of all `count` samples and of their
    squares.
    """
    total, squares = map(float, sums)
    mean = total / count
    variance = max(squares - total * mean, 0.0) / max(count - 1, 1)
    return (advantages - mean) / (sqrt(variance) + TINY)
