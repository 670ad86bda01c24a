"""Kronecker-factored curvature (K-FAC): each layer's Fisher matrix as a product of two small ones.

For a layer with outputs s = W a, the gradient of log π for W is the outer product of
g = d log π / ds and a. Its covariance, the layer's block of the Fisher matrix, is taken to be
A ⊗ G with A = E[a aᵀ] and G = E[g gᵀ]: exact for one sample, and where inputs and output gradients
are independent. With the eigenbases A = Q_A diag(e_A) Q_Aᵀ, and G likewise, the damped natural
gradient (A ⊗ G + λ)⁻¹ vec(dW) needs no larger matrix than these:

    V = Q_G [ (Q_Gᵀ dW Q_A) / (e_G e_Aᵀ + λ) ] Q_Aᵀ

A convolution uses W at T spatial positions of each sample: A = Σ p pᵀ / T² over its patches p, and
G = T Σ g gᵀ. A bias has a separate block, with G alone; a convolution's is that of its output
gradients summed over all positions. (Martens & Grosse 2015; Grosse & Martens 2016; constants as in
Baselines.)
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

import torch
from torch import Tensor

from deepcs.agents.layers import Layer
from deepcs.agents.plan import Conv

NEGLIGIBLE = 1e-6  # eigenvalues up to this count as 0 (Baselines)
COLUMN_BLOCKS = 4  # of a symmetric product, each done from the diagonal on: 5/8 of the whole
STEEP = 100  # times the damping: curvature above which a shortcut's rounding is corrected
CHUNK = 16  # samples whose patches are cut out at a time, so that they stay in the cache


def factor_sides(layers: Sequence[Layer]) -> list[int]:
    """Sides of all factors: A and G of each layer, and after a convolution's the G of its bias."""
    sides = []
    for layer in layers:
        sides += [layer.weight[0].numel(), layer.spec.out]
        if isinstance(layer.spec, Conv):
            sides.append(layer.spec.out)
    return sides


def statistics_numbers(layers: Sequence[Layer]) -> int:
    """Numbers that `Statistics` of these layers keep."""
    return sum(side * side for side in factor_sides(layers))


def bases_numbers(layers: Sequence[Layer]) -> int:
    """Numbers that `Bases` of these layers keep."""
    return sum(side * side + side for side in factor_sides(layers))


class Statistics:
    """Running means of all factors; only upper triangles are used, as factors are symmetric."""

    def __init__(self, layers: Sequence[Layer], memory: Tensor) -> None:
        """`memory`: flat, of `statistics_numbers`; it holds the whole state."""
        self._layers = layers
        sides = factor_sides(layers)
        parts = torch.split(memory, [side * side for side in sides])
        self.factors = [part.view(side, side) for part, side in zip(parts, sides, strict=True)]
        """Symmetric (side, side) each, in the order of `factor_sides`."""

    def add(
        self, inputs: Sequence[Tensor], gradients: Sequence[Tensor], keep: float, share: float
    ) -> None:
        """factors = keep·factors + share·Σ over these samples, given for each layer

        | argument    | shape              | meaning                                         |
        | ----------- | ------------------ | ----------------------------------------------- |
        | `inputs`    | (B, *input_shape)  | what it saw                                     |
        | `gradients` | (B, *output_shape) | of each sample's log-likelihood, for its outputs |
        |             |                    | before the ReLU                                 |
        """
        factors = iter(self.factors)
        for layer, seen, gradient in zip(self._layers, inputs, gradients, strict=True):
            places = prod(layer.output_shape[:-1])
            a, g = next(factors).mul_(keep), next(factors).mul_(keep)
            for chunk in torch.split(seen, CHUNK if places > 1 else len(seen)):
                add_gram(a, layer.patches(chunk), share / places**2)
            add_gram(g, gradient.reshape(-1, layer.spec.out), share * places)
            if isinstance(layer.spec, Conv):
                add_gram(next(factors).mul_(keep), gradient.sum((1, 2)), share)


def add_gram(factor: Tensor, rows: Tensor, share: float) -> None:
    """factor += share·rowsᵀ rows in the upper triangle; factor (side, side), rows (n, side)."""
    side = len(factor)
    block = max(64, -(-side // COLUMN_BLOCKS))
    for start in range(0, side, block):
        columns = slice(start, min(start + block, side))
        factor[columns, start:].addmm_(rows[:, columns].t(), rows[:, start:], alpha=share)


class Bases:
    """Eigenvalues and eigenvectors of all factors, and the rotations into and out of them."""

    def __init__(self, layers: Sequence[Layer], memory: Tensor) -> None:
        """`memory`: flat, of `bases_numbers`; it holds the whole state."""
        self._layers = layers
        sides = factor_sides(layers)
        parts = torch.split(memory, [side * side + side for side in sides])
        self.values = [part[:side] for part, side in zip(parts, sides, strict=True)]
        """(side,) each, in the order of `factor_sides`."""
        self.vectors = [
            part[side:].view(side, side) for part, side in zip(parts, sides, strict=True)
        ]
        """(side, side) each: eigenvectors in columns."""

    def refresh(self, which: int, factor: Tensor) -> None:
        """Take over the eigenbasis of a factor, of which only the upper triangle counts."""
        values, vectors = eigenbasis(factor)
        self.values[which].copy_(values)
        self.vectors[which].copy_(vectors)

    def rotate(
        self,
        matrices: Sequence[tuple[Tensor, Tensor]],
        rows: Sequence[slice],
        damping: float,
        tolerance: float = 0.0,
        tolerant_above: int = 0,
    ) -> list[tuple[Tensor, Tensor]]:
        """The first half of the natural gradient: Z = [(Q_Gᵀ dW Q_A) / (e_G e_Aᵀ + λ)] Q_Aᵀ.

        matrices: each layer's dW (out, in) and d_bias (out,), whole. rows: those of Z to work out;
        each depends on no other, so shards may share the work. tolerance: curvature below this
        share of λ counts as none, which leaves fewer directions to rotate into; of layers with
        more inputs than `tolerant_above`. Returns the rows for each layer.
        """
        rotated = []
        factor = 0
        for layer, (d_weight, d_bias), some in zip(self._layers, matrices, rows, strict=True):
            bias = factor + 2 if isinstance(layer.spec, Conv) else factor + 1
            e_a, e_g = self.values[factor], self.values[factor + 1]
            largest = e_a * e_g.max()  # of each input direction; ascending
            flat = int((largest < tolerance * damping).sum()) if len(e_a) > tolerant_above else 0
            weight = divide(
                self.vectors[factor + 1][:, some].t() @ d_weight,
                torch.outer(e_g[some], e_a[flat:]),
                self.vectors[factor][:, flat:],
                damping,
                steep=int((largest >= STEEP * damping).sum()),
            )
            inside = self.vectors[bias][:, some].t() @ d_bias
            rotated.append((weight, inside / (self.values[bias][some] + damping)))
            factor = bias + 1
        return rotated

    def rotate_back(
        self, rotated: Sequence[tuple[Tensor, Tensor]], rows: Sequence[slice]
    ) -> list[tuple[Tensor, Tensor]]:
        """The second half: rows of V = Q_G Z, given all of Z; shapes as in `rotate`."""
        natural = []
        factor = 0
        for layer, (weight, bias_part), some in zip(self._layers, rotated, rows, strict=True):
            bias = factor + 2 if isinstance(layer.spec, Conv) else factor + 1
            natural.append(
                (
                    self.vectors[factor + 1][some] @ weight,
                    self.vectors[bias][some] @ bias_part,
                )
            )
            factor = bias + 1
        return natural


def divide(rows: Tensor, curvature: Tensor, vectors: Tensor, damping: float, steep: int) -> Tensor:
    """Rows (n, side) divided by curvature + λ along k orthonormal directions, by λ along others.

    curvature: (n, k), may be infinite. vectors: (side, k), the directions in columns. steep: how
    many of the last directions have so much curvature that what is left along them is smaller
    than the rounding of the others.
    """
    inside = rows @ vectors
    wanted = inside / (curvature + damping)
    side, directions = vectors.shape
    if directions == side:
        return wanted @ vectors.t()
    # All by λ, and along the k directions by the difference.
    divided = ((wanted - inside / damping) @ vectors.t()).add_(rows, alpha=1 / damping)
    last = vectors[:, directions - steep :]
    return divided.addmm_(wanted[:, directions - steep :] - divided @ last, last.t())


def eigenbasis(factor: Tensor) -> tuple[Tensor, Tensor]:
    """Eigenvalues (side,), those up to `NEGLIGIBLE` as 0, and eigenvectors in columns.

    Only the upper triangle is read, so rounding cannot make the factor asymmetric. A factor is
    scaled to 1 first, and where the solver fails in its own precision, done again in double.
    The eigenvalues of a factor that is no longer finite are not numbers.
    """
    if not factor.diagonal().isfinite().all():
        return torch.full_like(factor[0], torch.nan), torch.eye(len(factor)).to(factor)
    scale = factor.diagonal().max().clamp(min=NEGLIGIBLE)
    scaled = factor / scale
    try:
        values, vectors = torch.linalg.eigh(scaled, UPLO="U")
    except torch.linalg.LinAlgError:  # type: ignore[attr-defined]  # it did not converge
        values, vectors = torch.linalg.eigh(scaled.double(), UPLO="U")
    values = (values.to(factor.dtype) * scale).clamp(max=torch.finfo(factor.dtype).max)
    return torch.where(values > NEGLIGIBLE, values, 0.0), vectors.to(factor.dtype)


def trust_scale(product: float, learning_rate: float, kl_clip: float) -> float:
    """How much of a step keeps δᵀ(F + λ)δ within `kl_clip`.

    product: Σ V·dW over all weights; for the step δ = rate·V, δᵀ(F + λ)δ = rate²·product. It is
    twice the quadratic model of the KL divergence, which Baselines bounds without the half. What
    is below 0 can only be rounding: no step is known to be short enough then.
    """
    length = learning_rate**2 * product
    if length < 0:
        return 0.0
    return min(1.0, (kl_clip / length) ** 0.5) if length > 0 else 1.0
