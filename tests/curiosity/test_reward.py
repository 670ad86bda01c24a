"""How the game's reward and the intrinsic reward become one."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from deepcs.curiosity.reward import Weight, check_weight, mix_rewards, separate_rewards


def mixed(game: float, intrinsic: float, weight: Weight, *, paid: bool = True) -> float:
    return float(mix_rewards(np.array(game), np.array(intrinsic), weight, paid=paid))


@pytest.mark.parametrize(
    ("game", "intrinsic", "total"),
    [(0, 1, 0.75), (1, 0, 0.25), (100, 1, 1.0), (-3, 0, -0.25), (-3, 1, 0.5), (0, 0.5, 0.375)],
)
def test_a_weight_gives_beta_of_the_clipped_reward_and_the_rest_of_the_intrinsic(
    game: float, intrinsic: float, total: float
) -> None:
    assert mixed(game, intrinsic, 0.25) == total


@pytest.mark.parametrize(
    ("game", "intrinsic", "total"),
    [(0, 1, 1), (1, 1, 1), (400, 0, 1), (-1, 1, 0), (-50, 0, -1), (0.25, 0.5, 0.75)],
)
def test_equal_weight_is_the_clipped_sum(game: float, intrinsic: float, total: float) -> None:
    assert mixed(game, intrinsic, "equal") == total


@pytest.mark.parametrize("weight", [0.25, "equal"])
def test_where_nothing_intrinsic_is_paid_the_reward_keeps_its_scale(weight: Weight) -> None:
    assert mixed(100, 1, weight, paid=False) == 1.0
    assert mixed(0, 1, weight, paid=False) == 0.0


def test_rewards_kept_apart_are_the_clipped_one_and_the_intrinsic_or_that_one_alone() -> None:
    game, intrinsic = np.array([[100.0, -3.0]]), np.array([[1.0, 0.5]])
    assert separate_rewards(game, intrinsic).tolist() == [[[1, 1], [-1, 0.5]]]
    assert separate_rewards(game, intrinsic, paid=False).tolist() == [[1, -1]]


def test_the_ends_of_the_range_are_pure_curiosity_and_the_pure_game() -> None:
    assert [mixed(-1, 1, 0), mixed(-1, 1, 1)] == [1.0, -1.0]


def test_arrays_keep_their_shape() -> None:
    total = mix_rewards(np.array([[0, 5], [-5, 0]]), np.array([[1, 0], [1, 0]]), 0.25)
    assert total.tolist() == [[0.75, 0.25], [0.5, 0.0]]


@given(st.floats(-1e6, 1e6), st.floats(0, 1), st.one_of(st.just("equal"), st.floats(0, 1)))
def test_the_learners_reward_never_leaves_minus_one_to_one(
    game: float, intrinsic: float, weight: Weight
) -> None:
    assert -1 <= mixed(game, intrinsic, weight) <= 1


@pytest.mark.parametrize(
    "weight", [-0.1, 1.5, float("nan"), "half", None, True, "sum:", "sum:-1", "sum:1e999"]
)
def test_a_weight_out_of_range_is_refused(weight: object) -> None:
    with pytest.raises(
        ValueError, match=r"^Got reward weight .*; give β from 0 .* 'equal', or .*\.$"
    ):
        check_weight(weight)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="reward weight"):
        mix_rewards(np.zeros(2), np.zeros(2), weight)  # type: ignore[arg-type]


@pytest.mark.parametrize(("weight", "c"), [("sum", 1.0), ("sum:0.5", 0.5), ("sum:20", 20.0)])
@pytest.mark.parametrize(("game", "intrinsic"), [(1, 1), (1, 0), (-16.3, 1), (20, 0)])
def test_a_sum_is_not_clipped(weight: str, c: float, game: float, intrinsic: float) -> None:
    assert mixed(game, intrinsic, weight) == game + c * intrinsic
    assert mixed(game, intrinsic, weight, paid=False) == game


def test_a_sum_has_one_spelling() -> None:
    assert [check_weight(w) for w in ("sum", "sum:1.0", "sum:0.50")] == [
        "sum:1",
        "sum:1",
        "sum:0.5",
    ]
    assert check_weight("sum:1e-3") == "sum:0.001"


@pytest.mark.parametrize("weight", [np.float32(0.5), np.int64(1), 0, 0.25, "equal"])
def test_a_weight_may_be_any_number_in_range(weight: Weight) -> None:
    assert check_weight(weight) == weight
