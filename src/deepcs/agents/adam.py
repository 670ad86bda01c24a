"""Adam (Kingma & Ba 2015), on flat vectors that shards may share."""

from __future__ import annotations

import torch
from torch import Tensor


class Adam:
    """As in PyTorch: `w -= rate·m̂ / (sqrt(v̂) + epsilon)`.

    m̂ and v̂ are the running means of the gradient and of its square, corrected for their start at
    0. Those means are its only state: the caller gives the number of the step.
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
        self._number = torch.zeros((), device=parameters.device)

    def step(
        self,
        number: int,
        gradient: Tensor,
        learning_rate: float,
        scale: float = 1.0,
        part: slice = slice(None),
    ) -> None:
        """Step `number`, from 1 up, of a part of the parameters by that part of scale·gradient.

        The gradient is scaled in place.
        """
        p, g, m, v = (x[part] for x in (self.parameters, gradient, self.mean, self.mean_square))
        if scale != 1:
            g.mul_(scale)
        # What torch.optim.Adam(fused=True) calls: one pass over the vectors.
        torch._fused_adam_(
            [p],
            [g],
            [m],
            [v],
            [],
            [self._number.fill_(number)],
            lr=learning_rate,
            beta1=self.beta1,
            beta2=self.beta2,
            weight_decay=0.0,
            eps=self.epsilon,
            amsgrad=False,
            maximize=False,
        )
