"""Adam (Kingma & Ba 2015), on flat vectors that shards may share."""

from __future__ import annotations

from math import sqrt

import torch
from torch import Tensor


class Adam:
    """As PyTorch has it: `w -= rate·m̂ / (sqrt(v̂) + epsilon)`.

    m̂ and v̂ are the running means of the gradient and of its square, corrected for their start at
    0. Those means are all its state: which step it is, the caller says.
    """

    def __init__(
        self,
        parameters: Tensor,
        mean: Tensor,
        mean_square: Tensor,
        *,
        beta1: float,
        beta2: float,
        epsilon: float,
    ) -> None:
        self.parameters, self.mean, self.mean_square = parameters, mean, mean_square
        self.beta1, self.beta2, self.epsilon = beta1, beta2, epsilon
        self._root = torch.empty_like(parameters)

    def step(
        self,
        number: int,
        gradient: Tensor,
        learning_rate: float,
        scale: float = 1.0,
        part: slice = slice(None),
    ) -> None:
        """Step `number`, from 1 up, of a part of the parameters by that part of scale·gradient."""
        g, m, v, root = (x[part] for x in (gradient, self.mean, self.mean_square, self._root))
        m.mul_(self.beta1).add_(g, alpha=(1 - self.beta1) * scale)
        v.mul_(self.beta2).addcmul_(g, g, value=(1 - self.beta2) * scale * scale)
        torch.sqrt(v, out=root).div_(sqrt(1 - self.beta2**number)).add_(self.epsilon)
        rate = learning_rate / (1 - self.beta1**number)
        self.parameters[part].addcdiv_(m, root, value=-rate)
