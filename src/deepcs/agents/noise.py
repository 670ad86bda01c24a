"""How an action is drawn, with noise that depends on seed, step and actor and on nothing else."""

from math import prod

import numpy as np
from numpy.random import Generator, Philox
from numpy.typing import NDArray
from torch import Tensor


class ActionNoise:
    """Uniform numbers for each actor at each step: one, or an array of a shape.

    Counter-based: step and actor determine a number's position in Philox's output, so it is the
    same in every process, and a resumed run needs no saved generator.
    """

    def __init__(self, seed: int, shape: tuple[int, ...] = ()) -> None:
        self._shape, self._numbers = shape, prod(shape)
        self._philox = Philox(key=seed)
        self._uniform = Generator(self._philox)
        self._state = self._philox.state
        self._counter = self._state["state"]["counter"]

    def __call__(self, step: int, actors: range) -> NDArray[np.float64]:
        """Uniforms in [0, 1) for these actors, (len(actors), *shape)."""
        # Rewinding one generator takes 2 µs, making a new one 20.
        self._counter[1] = step
        self._philox.state = self._state
        drawn = self._uniform.random(actors.stop * self._numbers)
        return drawn.reshape(actors.stop, *self._shape)[actors.start :: actors.step]


def sample(logits: Tensor, uniforms: NDArray[np.float64]) -> NDArray[np.int64]:
    """Actions (N,) drawn from softmax(logits (N, A)) by inverting its distribution function."""
    # In NumPy, which takes a third of the time on so few numbers.
    scores = logits.cpu().numpy().astype(np.float64)
    scores -= np.maximum.reduce(scores, 1, keepdims=True)
    reached = np.add.accumulate(np.exp(scores), 1)
    # An aim is below the last sum, unless rounding takes it there.
    aims = uniforms * reached[:, -1]
    passed = reached[:, :-1] <= aims[:, None]
    actions: NDArray[np.int64] = np.add.reduce(passed, 1, np.int64)
    return actions


def greedy(logits: Tensor) -> NDArray[np.int64]:
    """The likeliest actions (N,)."""
    actions: NDArray[np.int64] = logits.argmax(1).cpu().numpy()
    return actions
