"""RMSProp as TensorFlow has it, and so Baselines: PyTorch's own differs in start and epsilon."""

import torch
from torch import Tensor


class RMSProp:
    """`ms = decay·ms + (1 - decay)·g²; w -= rate·g / sqrt(ms + epsilon)`, with ms = 1 at first.

    The mean square `ms` is all its state: a flat vector beside the parameters, which the caller
    may hand in, filled, in shared memory for example.
    """

    def __init__(
        self,
        parameters: Tensor,
        *,
        decay: float,
        epsilon: float,
        mean_square: Tensor | None = None,
    ) -> None:
        self.parameters = parameters
        self.decay = decay
        self.epsilon = epsilon
        self.mean_square = torch.ones_like(parameters) if mean_square is None else mean_square
        self._root = torch.empty_like(parameters)

    def step(
        self, gradient: Tensor, learning_rate: float, scale: float = 1.0, part: slice = slice(None)
    ) -> None:
        """Update the `part` of the parameters with that part of scale·gradient (whole vectors)."""
        g, ms, root = gradient[part], self.mean_square[part], self._root[part]
        ms.mul_(self.decay).addcmul_(g, g, value=(1 - self.decay) * scale * scale)
        torch.add(ms, self.epsilon, out=root).rsqrt_()
        self.parameters[part].addcmul_(g, root, value=-learning_rate * scale)
