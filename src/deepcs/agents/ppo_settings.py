"""The numbers of PPO, and which of them have an effect with one value and with two."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
from typing import Any, Literal

from deepcs.agents.checks import check_numbers
from deepcs.agents.imitation import check_imitation, samples_of
from deepcs.system.schedule import Scheduled, number_at

OF_VALUES = {
    "one": {"gamma": 0.99},
    "two": {
        "gamma_game": 0.999,
        "gamma_intrinsic": 0.99,
        "weight_game": 2.0,
        "weight_intrinsic": 1.0,
    },
}
"""What has an effect with one value and with two, and its default."""


@dataclass(frozen=True)
class PPOSettings:
    """Schulman et al.'s numbers for Atari and Baselines', and for two values Burda et al.'s."""

    n_steps: int = 128
    """steps of each actor between two updates (Schulman et al.)"""
    epochs: int = 3
    """passes over each rollout (Schulman et al.; Baselines: 4)"""
    minibatch: int = 256
    """samples of one gradient step, over all shards (Schulman et al.)"""
    learning_rate: float = 2.5e-4
    """learning rate of Adam at the start (Schulman et al.)"""
    schedule: Literal["linear", "constant"] = "constant"
    """the learning rate over the run: linear to 0 (Baselines), or constant"""
    clip: float = 0.2
    """clip range, around 1, of the ratio of new to old policy (Baselines; for Atari: 0.1)"""
    gae_lambda: float = 0.95
    """λ of the advantages: 0 trusts the next value, 1 the rewards alone (Schulman et al.)"""
    normalise: bool = True
    """normalise advantages by their mean and standard deviation over the whole rollout"""
    entropy: Scheduled = 0.01
    """weight of the policy's entropy, in nats, in the loss (Schulman et al.); 0.01:0.001 changes"""
    value: float = 0.5
    """weight of each value's half squared error in the loss (Baselines)"""
    max_gradient_norm: float = 0.5
    """global norm to which gradients are clipped (Baselines)"""
    adam_beta1: float = 0.9
    """decay per gradient step of Adam's mean gradient"""
    adam_beta2: float = 0.999
    """decay per gradient step of Adam's mean square"""
    adam_epsilon: float = 1e-5
    """added to the root of Adam's mean square (Baselines)"""
    values: Literal["two", "one"] = "two"
    """two: R and I have a value each; one: they are mixed by --weight and have one value"""
    gamma: float | None = None
    """one value: discount per step; None: 0.99 (Baselines)"""
    gamma_game: float | None = None
    """two values: discount per step of R; None: 0.999 (Burda et al.)"""
    gamma_intrinsic: float | None = None
    """two values: discount per step of I; None: 0.99 (Burda et al.)"""
    weight_game: float | None = None
    """two values: weight of R's advantage in the sum; None: 2 (Burda et al.)"""
    weight_intrinsic: Scheduled | None = None
    """two values: weight of I's advantage in the sum; None: 1 (Burda et al.); 1:0.1 changes"""

    imitation: int = 0
    """minibatches of self-imitation per update, from the best episodes so far (Oh et al.)"""
    imitation_samples: int | None = None
    """with imitation: steps of these episodes that are kept; None: 16,384"""

    @staticmethod
    def unused(numbers: Mapping[str, Any]) -> Collection[str]:
        """Names of what has no effect beside these numbers."""
        return OF_VALUES["two" if numbers.get("values") == "one" else "one"]

    def check(self) -> None:
        check_numbers(
            "ppo",
            self,
            whole=("n_steps", "epochs", "minibatch", "imitation_samples"),
            shares=("adam_beta1", "adam_beta2"),
            portions=("gae_lambda",),
            least={"clip": 1e-6, "adam_epsilon": 1e-12},  # less: no step, or of any length
            unbounded=("max_gradient_norm",),
            scheduled=("entropy", "weight_intrinsic"),
        )
        check_imitation("ppo", self)
        if self.values not in OF_VALUES:
            raise ValueError(f"Got ppo.values {self.values!r}; choose two or one.")
        if not isinstance(self.normalise, bool):
            raise ValueError(f"Got ppo.normalise {self.normalise!r}; choose True or False.")
        other = "one" if self.values == "two" else "two"
        for name in OF_VALUES[other]:
            if (given := getattr(self, name)) is not None:
                raise ValueError(
                    f"Got ppo.{name} {given!r}, which has no effect where ppo.values is "
                    f"{self.values!r}; leave it out, or set ppo.values to {other!r}."
                )

    def resolved(self) -> PPOSettings:
        """With all defaults resolved."""
        defaults = OF_VALUES[self.values].items()
        open_ones: Any = {name: number for name, number in defaults if getattr(self, name) is None}
        return replace(self, imitation_samples=samples_of(self), **open_ones)

    def at(self, progress: float) -> PPOSettings:
        """As they are after a share of the run's steps, all of them numbers."""
        used = self.resolved()
        entropy, weight = number_at(used.entropy, progress), used.weight_intrinsic
        if weight is not None:
            weight = number_at(weight, progress)
        return replace(used, entropy=entropy, weight_intrinsic=weight)

    def of_streams(self, streams: int) -> tuple[list[float], list[float]]:
        """Discounts and weights of the rewards that the learner gets.

        Of two values only R's is left without intrinsic reward.
        """
        used = self.resolved()
        if used.values == "one":
            return [used.gamma], [1.0]  # type: ignore[list-item]
        discounts = [used.gamma_game, used.gamma_intrinsic]
        weights = [used.weight_game, used.weight_intrinsic]
        return discounts[:streams], weights[:streams]  # type: ignore[return-value]
