"""K-FAC against covariances summed sample by sample and against the dense Fisher matrix."""

from __future__ import annotations

import itertools

import pytest
import torch
import torch.nn.functional as F  # noqa: N812
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor

from deepcs.agents.kfac import (
    NEGLIGIBLE,
    Bases,
    Statistics,
    bases_numbers,
    eigenbasis,
    statistics_numbers,
    trust_scale,
)
from deepcs.agents.layers import Layer, planes_first
from deepcs.agents.plan import Conv, Linear

DAMPING = 0.01
DOUBLE = torch.float64


def layer(spec: Conv | Linear, input_shape: tuple[int, ...], dtype: torch.dtype = DOUBLE) -> Layer:
    shape = spec.weight_shape(input_shape)
    weight, bias = torch.zeros(shape, dtype=dtype), torch.zeros(spec.out, dtype=dtype)
    outputs = spec.output_shape(input_shape)
    return Layer("layer", spec, input_shape, outputs, *(weight, bias) * 3)


CONV = layer(Conv(3, 3, 2, padding=1), (5, 4, 2))
POINT = layer(Conv(3, 3, 1), (3, 3, 2))  # a convolution of one place
DENSE = layer(Linear(4), (5,))


def normal(*shape: int, seed: int = 0, dtype: torch.dtype = DOUBLE) -> Tensor:
    return torch.randn(shape, generator=torch.Generator().manual_seed(seed), dtype=dtype)


def samples(one: Layer, batch: int, seed: int = 0) -> tuple[Tensor, Tensor]:
    """Inputs and output gradients of a batch."""
    dtype = one.weight.dtype
    inputs = normal(batch, *one.input_shape, seed=seed, dtype=dtype)
    return inputs, normal(batch, *one.output_shape, seed=seed + 1, dtype=dtype)


def statistics(one: Layer, inputs: Tensor, gradients: Tensor) -> Statistics:
    memory = torch.zeros(statistics_numbers([one]), dtype=inputs.dtype)
    made = Statistics([one], memory)
    made.add([inputs], [gradients], 1.0, 1 / len(inputs))
    return made


def bases(one: Layer, factors: list[Tensor]) -> Bases:
    made = Bases([one], torch.zeros(bases_numbers([one]), dtype=factors[0].dtype))
    for which, factor in enumerate(factors):
        made.refresh(which, factor)
    return made


def symmetric(factor: Tensor) -> Tensor:
    return factor.triu() + factor.triu(1).t()


def natural(
    made: Bases, d_weight: Tensor, d_bias: Tensor, damping: float = DAMPING, tolerance: float = 0.0
) -> tuple[Tensor, Tensor]:
    every = [slice(None)]
    rotated = made.rotate([(d_weight, d_bias)], every, damping, tolerance)
    return made.rotate_back(rotated, every)[0]


@pytest.mark.parametrize("one", [CONV, POINT, DENSE])
def test_factors_equal_covariances_summed_sample_by_sample_and_place_by_place(one: Layer) -> None:
    inputs, gradients = samples(one, 7)
    a, g, *bias = (symmetric(factor) for factor in statistics(one, inputs, gradients).factors)
    by_hand = [torch.zeros_like(factor) for factor in (a, g, *bias)]
    for sample, gradient in zip(inputs, gradients, strict=True):
        if isinstance(one.spec, Conv):
            image = planes_first(sample[None])
            columns = F.unfold(image, one.spec.kernel, 1, one.spec.padding, one.spec.stride)[0]
            kernel = one.spec.kernel
            patches = columns.view(-1, kernel, kernel, columns.shape[1]).permute(3, 1, 2, 0)
            patches, places = patches.flatten(1), columns.shape[1]
            outs = gradient.reshape(places, -1)
            by_hand[2] += torch.outer(outs.sum(0), outs.sum(0)) / 7
        else:
            patches, outs, places = sample[None], gradient[None], 1
        for patch in patches:
            by_hand[0] += torch.outer(patch / places, patch / places) / 7
        for out in outs:
            by_hand[1] += torch.outer(out * places, out * places) / (7 * places)
    for factor, expected in zip((a, g, *bias), by_hand, strict=True):
        torch.testing.assert_close(factor, expected)


def dense_step(fisher: Tensor, gradient: Tensor, damping: float = DAMPING) -> Tensor:
    return torch.linalg.solve(fisher + damping * torch.eye(len(fisher), dtype=DOUBLE), gradient)


@pytest.mark.parametrize("one", [POINT, DENSE])
def test_for_one_sample_the_step_is_that_of_the_dense_fisher_matrix(one: Layer) -> None:
    inputs, gradients = samples(one, 1)
    score = torch.outer(gradients.flatten(), one.patches(inputs).flatten()).flatten()
    d_weight, d_bias = normal(*one.weight.flatten(1).shape, seed=5), normal(one.spec.out, seed=6)
    weight, bias = natural(bases(one, statistics(one, inputs, gradients).factors), d_weight, d_bias)
    expected = dense_step(torch.outer(score, score), d_weight.flatten())
    torch.testing.assert_close(weight.flatten(), expected)
    torch.testing.assert_close(
        bias, dense_step(torch.outer(gradients.flatten(), gradients.flatten()), d_bias)
    )


def test_for_independent_inputs_and_gradients_the_step_is_that_of_the_dense_fisher_matrix() -> None:
    some_inputs, some_gradients = normal(4, 5), normal(3, 4, seed=1)
    pairs = list(itertools.product(some_inputs, some_gradients))  # all pairs: independent
    inputs = torch.stack([a for a, _ in pairs])
    gradients = torch.stack([g for _, g in pairs])
    scores = torch.stack([torch.outer(g, a).flatten() for a, g in pairs])
    d_weight, d_bias = normal(4, 5, seed=7), normal(4, seed=8)
    weight, _ = natural(
        bases(DENSE, statistics(DENSE, inputs, gradients).factors), d_weight, d_bias
    )
    expected = dense_step(scores.t() @ scores / len(pairs), d_weight.flatten())
    torch.testing.assert_close(weight.flatten(), expected)


@given(st.integers(0, 10_000), st.floats(1e-3, 1e3), st.floats(1e-4, 1.0))
def test_the_quadratic_model_of_the_clipped_step_never_exceeds_the_bound(
    seed: int, size: float, rate: float
) -> None:
    inputs, gradients = samples(DENSE, 6, seed)
    made = statistics(DENSE, inputs, gradients)
    a, g = (symmetric(factor) for factor in made.factors)
    d_weight, d_bias = size * normal(4, 5, seed=seed + 2), size * normal(4, seed=seed + 3)
    weight, bias = natural(bases(DENSE, made.factors), d_weight, d_bias)
    product = float((weight * d_weight).sum() + (bias * d_bias).sum())
    step = rate * trust_scale(product, rate, 0.001)
    divergence = step**2 * ((g @ weight @ a * weight).sum() + bias @ g @ bias)
    assert 0 <= divergence <= 0.001 * (1 + 1e-9)


def test_the_trust_region_leaves_short_steps_and_shortens_long_ones_to_its_bound() -> None:
    assert trust_scale(0.0, 0.25, 0.001) == 1.0
    assert trust_scale(0.01, 0.25, 0.001) == 1.0  # 0.25²·0.01 = 0.000625
    assert trust_scale(1.6, 0.25, 0.001) == pytest.approx(0.1)  # 0.25²·1.6 = 0.1
    assert trust_scale(-1e-9, 0.25, 0.001) == 0.0  # rounding: no length is known


def test_rotating_into_the_basis_and_back_changes_nothing() -> None:
    for one in (CONV, DENSE):
        made = bases(one, statistics(one, *samples(one, 9)).factors)
        for values in made.values:
            values.zero_()
        d_weight, d_bias = normal(*one.weight.flatten(1).shape), normal(one.spec.out, seed=1)
        weight, bias = natural(made, d_weight, d_bias, damping=1.0)
        torch.testing.assert_close(weight, d_weight)
        torch.testing.assert_close(bias, d_bias)


@pytest.mark.parametrize("tolerance", [0.01, 0.3])
def test_curvature_within_the_tolerance_changes_the_step_by_no_more_than_it(
    tolerance: float,
) -> None:
    one = layer(Linear(6), (40,))
    inputs, gradients = samples(one, 50)
    inputs *= 10.0 ** torch.linspace(1, -4, 40, dtype=DOUBLE)  # some directions hardly occur
    made = bases(one, statistics(one, inputs, gradients).factors)
    d_weight, d_bias = normal(6, 40, seed=2), normal(6, seed=3)
    exact, _ = natural(made, d_weight, d_bias)
    near, _ = natural(made, d_weight, d_bias, tolerance=tolerance)
    assert not torch.equal(near, exact)
    assert (near - exact).norm() <= tolerance * exact.norm()


@pytest.mark.parametrize("curvature", [1.0, 1e3, 1e5, 1e7, 1e9, 1e12])
@pytest.mark.parametrize("tolerance", [0.0, 0.01])
def test_steep_directions_stay_within_the_bound_in_single_precision(
    curvature: float, tolerance: float
) -> None:
    one = layer(Linear(8), (60,), torch.float32)
    steep = normal(60, seed=1) / normal(60, seed=1).norm()
    a, g = curvature * torch.outer(steep, steep), torch.eye(8, dtype=DOUBLE)
    a += torch.diag(torch.logspace(-8, -1, 60, dtype=DOUBLE))
    made = bases(one, [a.float(), g.float()])
    d_weight = torch.outer(normal(8, seed=2), steep) + 0.01 * normal(8, 60, seed=3)
    weight, bias = natural(made, d_weight.float(), torch.zeros(8), tolerance=tolerance)
    product = float((weight * d_weight).sum())
    assert product > 0
    step = 0.25 * trust_scale(product, 0.25, 0.001) * weight.double()
    # At 1e12 what is left along the steep direction is rounding, which differs between CPUs.
    slack = 1.5 if curvature == 1e12 else 1.1
    assert (g @ step @ a * step).sum() <= 0.001 * slack
    exact = natural(bases(layer(Linear(8), (60,)), [a, g]), d_weight, torch.zeros(8, dtype=DOUBLE))
    error = weight.double() - exact[0]
    if curvature <= 1e5:  # beyond, the eigenvectors' own rounding is larger
        assert (g @ error @ a * error).sum() <= 0.02 * (g @ exact[0] @ a * exact[0]).sum()
    assert not bias.any()


def test_rows_may_be_worked_out_apart() -> None:
    made = bases(CONV, statistics(CONV, *samples(CONV, 9)).factors)
    matrices = [(normal(3, 18), normal(3, seed=1))]
    whole = made.rotate(matrices, [slice(None)], DAMPING)[0]
    top, bottom = (made.rotate(matrices, [rows], DAMPING)[0] for rows in (slice(2), slice(2, 3)))
    torch.testing.assert_close(torch.cat((top[0], bottom[0])), whole[0])
    torch.testing.assert_close(torch.cat((top[1], bottom[1])), whole[1])


@pytest.mark.parametrize(
    "factor",
    [
        torch.zeros(6, 6),
        torch.ones(6, 6) * 3,
        torch.ones(6, 6) * 1e38,
        torch.outer(normal(6), normal(6)).float() * 1e30,
        torch.eye(6) * 1e-30,
        normal(6, 6).float() @ normal(6, 6).float().t() + 1e-7 * normal(6, 6, seed=1).float(),
        torch.diag(torch.tensor([1e38, 1.0, 1e-20, 0.0, -1e-9, 1e20])),
    ],
    ids=[
        "zero",
        "rank one",
        "eigenvalue beyond float32",
        "huge",
        "tiny",
        "not quite symmetric",
        "of all sizes",
    ],
)
def test_any_factor_has_a_basis_and_gives_a_finite_step(factor: Tensor) -> None:
    values, vectors = eigenbasis(factor)
    assert values.isfinite().all()
    assert ((values == 0) | (values > NEGLIGIBLE)).all()
    torch.testing.assert_close(vectors.t() @ vectors, torch.eye(6), atol=1e-5, rtol=0)
    one = layer(Linear(6), (6,), torch.float32)
    made = bases(one, [factor, factor])
    d_weight, d_bias = normal(6, 6).float(), normal(6).float()
    for tolerance in (0.0, 0.01):
        weight, bias = natural(made, d_weight, d_bias, tolerance=tolerance)
        assert weight.isfinite().all()
        assert bias.isfinite().all()


@pytest.mark.parametrize("bad", [torch.inf, torch.nan])
def test_a_factor_that_is_no_longer_finite_is_seen_in_the_step(bad: float) -> None:
    factor = torch.eye(5)
    factor[2, 2] = bad
    one = layer(Linear(4), (5,), torch.float32)
    weight, _ = natural(bases(one, [factor, torch.eye(4)]), torch.ones(4, 5), torch.zeros(4))
    assert not weight.isfinite().any()


def test_where_the_solver_fails_in_single_precision_it_is_done_in_double(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    solve = torch.linalg.eigh

    def fails_in_single(matrix: Tensor, UPLO: str) -> tuple[Tensor, Tensor]:  # noqa: N803
        if matrix.dtype == torch.float32:
            raise torch.linalg.LinAlgError("did not converge")
        return solve(matrix, UPLO=UPLO)

    factor = normal(6, 6).float() @ normal(6, 6).float().t()
    expected, _ = eigenbasis(factor)
    monkeypatch.setattr(torch.linalg, "eigh", fails_in_single)
    values, vectors = eigenbasis(factor)
    assert values.dtype == vectors.dtype == torch.float32
    torch.testing.assert_close(values, expected, rtol=1e-4, atol=1e-4)


def test_a_layer_that_saw_only_zeros_steps_as_if_there_were_no_curvature() -> None:
    inputs, gradients = samples(DENSE, 4)
    made = bases(DENSE, statistics(DENSE, 0 * inputs, gradients).factors)
    d_weight = normal(4, 5)
    torch.testing.assert_close(natural(made, d_weight, normal(4))[0], d_weight / DAMPING)


def test_only_the_upper_triangle_of_a_factor_counts() -> None:
    factor = statistics(DENSE, *samples(DENSE, 9)).factors[0]
    disturbed = factor + torch.ones_like(factor).tril(-1)
    for one, other in zip(eigenbasis(factor), eigenbasis(disturbed), strict=True):
        torch.testing.assert_close(one, other)
