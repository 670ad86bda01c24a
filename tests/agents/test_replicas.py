"""Updates as exchanges between shards: sums in order, the same for any number of processes."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest
import torch

from deepcs.agents.agent import Moment
from deepcs.agents.replicas import DivergedError, Replicas, add_up
from deepcs.runs.config import RunConfig


def replicas_of(shards: int, workers: int = 1) -> Replicas:
    config = RunConfig("KeyHallway", actors=6, shards=shards).resolved().fitted()
    made = Replicas(config.training(), workers)
    made.initialise()
    return made


def test_parts_are_added_in_the_order_of_the_shards() -> None:
    assert add_up([None, None]) is None
    assert add_up([1e16, 1.0, -1e16]) == 0.0  # in another order it would be 1
    assert add_up([np.array([1, 2]), np.array([3, 4])]).tolist() == [4, 6]
    assert add_up([Counter(a=1), Counter(a=2, b=1)]) == Counter(a=3, b=1)


@pytest.mark.parametrize("part", [float("nan"), np.array([1.0, np.inf])])
def test_a_sum_that_is_not_finite_ends_the_run(part: object) -> None:
    with pytest.raises(DivergedError, match="no longer finite"):
        add_up([part, part])


def test_approximate_kl_is_that_of_the_policy_before_and_after_the_update() -> None:
    replicas = replicas_of(shards=2)
    shards = replicas._own.shards
    before: list[torch.Tensor] = []
    evaluate = [shard.network.evaluate for shard in shards]
    for shard, look in zip(shards, evaluate, strict=True):

        def noting(observations: object, look=look) -> tuple[torch.Tensor, torch.Tensor]:  # type: ignore[no-untyped-def]
            logits, values = look(observations)
            before.append(logits)
            return logits, values

        shard.network.evaluate = noting  # type: ignore[method-assign]
    quiet = replicas.update(Moment(0, 0.1, logged=False))
    assert np.isnan(quiet.columns["approximate_kl"])
    before.clear()
    logged = replicas.update(Moment(1, 10.0, logged=True))
    after = [look(shard.actors.seen())[0] for shard, look in zip(shards, evaluate, strict=True)]
    old, new = (
        torch.distributions.Categorical(logits=torch.cat(logits)) for logits in (before[:2], after)
    )
    wanted = torch.distributions.kl_divergence(old, new).mean()
    assert wanted > 1e-4
    assert logged.columns["approximate_kl"] == pytest.approx(float(wanted), rel=1e-4)
    replicas.close()


@pytest.mark.long
def test_processes_change_no_bit_of_weights_vectors_and_columns() -> None:
    results = []
    for workers in (1, 2, 4):
        replicas = replicas_of(shards=4, workers=workers)
        outcomes = [replicas.update(Moment(k, 7e-4, logged=k == 4)) for k in range(5)]
        results.append(
            (
                {name: array.tobytes() for name, array in replicas.weights().items()},
                {name: array.tobytes() for name, array in replicas.vectors().items()},
                repr([outcome.columns for outcome in outcomes]),
            )
        )
        replicas.close()
    assert results[0] == results[1] == results[2]
