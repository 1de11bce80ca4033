"""Diffusion over the graph (Definitions 2 and 4, sections 4.1 and 4.2).

A walker on vertex i steps to vertex j with probability P[i, j]. Diffusing V over H hops, and the
diffusion convolution of X with one filter per hop and feature:

    U   = Σ_{h=0}^{H-1} λ_h P^h V
    V_t = Σ_{h=0}^{H-1} λ_h tanh(W_h ⊙ P^h X)

P^h is never formed: it turns dense, while P @ X costs one pass over the edges. Both operations act
on every column by itself. The paper leaves the row of a vertex without outgoing edges undefined:
here such a vertex keeps its walker, P[i, i] = 1.

The recommended recipe takes for P what graph convolutions do (Kipf and Welling 2017):

    P = D_out^{-1/2} (S + w I) D_in^{-1/2}, w the mean weight of an edge, D the sums of S + w I

A vertex keeps a share of what it has at every hop, and a hub tells each of its many neighbors less.
"""

from collections.abc import Sequence
from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor, nn
from torch.autograd.function import once_differentiable

from dmte.distributed.group import ProcessGroup
from dmte.kernels.sparse import SparseMatrix
from dmte.runtime.seeding import truncated_gaussian


def diffuse(
    transition: SparseMatrix, features: Float[Tensor, "vertices dim"], hop_weights: Sequence[float]
) -> Float[Tensor, "vertices dim"]:
    """Return Σ_h λ_h P^h V, the features mixed over ``len(hop_weights)`` hops."""
    hops = tuple(hop_weights)
    mixed: Tensor = _Diffusion.apply(features, transition, hops)  # type: ignore[no-untyped-call]
    return mixed


class Filters(nn.Module):
    """W, a row per hop and a column per feature, each of which acts by itself."""

    filters: Float[nn.Parameter, "hops dim"]

    def divide(self, group: ProcessGroup) -> dict[str, int]:
        """Keep the own columns of W."""
        whole = self.filters.detach()
        self.filters = nn.Parameter(whole[:, group.column_slice(whole.shape[1])].clone())
        return {"filters": 1}


class DiffusionConvolution(Filters):
    """Σ_h λ_h tanh(W_h ⊙ P^h X), with the filters W learned."""

    def __init__(self, dim: int, hop_weights: Sequence[float], generator: torch.Generator) -> None:
        super().__init__()
        self.hop_weights = tuple(hop_weights)
        self.filters = truncated_gaussian(len(self.hop_weights), dim, generator)

    def forward(
        self, transition: SparseMatrix, features: Float[Tensor, "vertices dim"]
    ) -> Float[Tensor, "vertices dim"]:
        """Return V_t."""
        embedding: Tensor = _Convolution.apply(  # type: ignore[no-untyped-call]
            features, self.filters, transition, self.hop_weights
        )
        return embedding


class HopFilters(Filters):
    """Σ_h W_h ⊙ P^h X, with the filters W learned, started at λ: nothing but the hops' weights."""

    def __init__(self, dim: int, hop_weights: Sequence[float]) -> None:
        super().__init__()
        start = torch.tensor(hop_weights, dtype=torch.float32)
        self.filters = nn.Parameter(start.unsqueeze(1).repeat(1, dim))

    def forward(
        self, transition: SparseMatrix, features: Float[Tensor, "vertices dim"]
    ) -> Float[Tensor, "vertices dim"]:
        """Return V_t."""
        embedding: Tensor = _Filtering.apply(features, self.filters, transition)  # type: ignore[no-untyped-call]
        return embedding


class _Diffusion(torch.autograd.Function):
    """U = λ_0 V + P (λ_1 V + P (λ_2 V + ...)); backwards the same with Pᵀ."""

    @staticmethod
    def forward(
        ctx: Any, features: Tensor, transition: SparseMatrix, hops: tuple[float, ...]
    ) -> Tensor:
        ctx.transition, ctx.hops = transition, hops
        return _horner(transition, features, hops)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor, None, None]:
        return _horner(ctx.transition.transpose(), gradient.contiguous(), ctx.hops), None, None


def _horner(transition: SparseMatrix, features: Tensor, hops: tuple[float, ...]) -> Tensor:
    mixed = features * hops[-1]
    for weight in reversed(hops[:-1]):
        mixed = transition.rows.times(mixed).add_(features, alpha=weight)
    return mixed


class _Filtering(torch.autograd.Function):
    """V_t = Σ_h W_h ⊙ X_h with X_h = P X_{h-1}.

    With G = ∂L/∂V_t:

        ∂L/∂W_h = Σ_i (G ⊙ X_h)_i
        ∂L/∂X   = Σ_h (Pᵀ)^h (W_h ⊙ G)
    """

    @staticmethod
    def forward(ctx: Any, features: Tensor, filters: Tensor, transition: SparseMatrix) -> Tensor:
        ctx.transition = transition
        powers, embedding = [features], features * filters[0]
        for hop in range(1, len(filters)):
            powers.append(transition.rows.times(powers[-1]))
            embedding.addcmul_(powers[-1], filters[hop])
        ctx.save_for_backward(filters, *powers)
        return embedding

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor | None, Tensor, None]:
        filters, *powers = ctx.saved_tensors
        to_filters = torch.stack([(gradient * power).sum(dim=0) for power in powers])
        if not ctx.needs_input_grad[0]:
            return None, to_filters, None
        to_features = gradient * filters[-1]
        for hop in reversed(range(len(filters) - 1)):
            to_features = ctx.transition.columns.times(to_features)
            to_features.addcmul_(gradient, filters[hop])
        return to_features, to_filters, None


class _Convolution(torch.autograd.Function):
    """V_t = Σ_h λ_h A_h with A_h = tanh(W_h ⊙ X_h) and X_h = P X_{h-1}.

    With G = ∂L/∂V_t and D_h = λ_h (1 - A_h²) ⊙ G:

        ∂L/∂W_h = Σ_i (D_h ⊙ X_h)_i
        ∂L/∂X   = Σ_h (Pᵀ)^h (W_h ⊙ D_h)
    """

    @staticmethod
    def forward(
        ctx: Any,
        features: Tensor,
        filters: Tensor,
        transition: SparseMatrix,
        hops: tuple[float, ...],
    ) -> Tensor:
        ctx.transition, ctx.hops = transition, hops
        powers, activations = [features], [_tanh_of_product(features, filters[0])]
        embedding = activations[0] * hops[0]
        for hop in range(1, len(hops)):
            powers.append(transition.rows.times(powers[-1]))
            activations.append(_tanh_of_product(powers[-1], filters[hop]))
            embedding.add_(activations[-1], alpha=hops[hop])
        ctx.save_for_backward(filters, *powers, *activations)
        return embedding

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor, Tensor, None, None]:
        filters, *saved = ctx.saved_tensors
        powers, activations = saved[: len(ctx.hops)], saved[len(ctx.hops) :]
        to_filters = torch.empty_like(filters)
        to_features = gradient
        for hop in reversed(range(len(ctx.hops))):
            slope = torch.ops.aten.tanh_backward(gradient, activations[hop])
            to_filters[hop] = (slope * powers[hop]).sum(dim=0) * ctx.hops[hop]
            slope.mul_(filters[hop] * ctx.hops[hop])
            if hop < len(ctx.hops) - 1:
                slope.add_(ctx.transition.columns.times(to_features))
            to_features = slope
        return to_features, to_filters, None, None


def _tanh_of_product(features: Tensor, filters: Tensor) -> Tensor:
    """Return tanh(W ⊙ X) as 2 σ(2 W ⊙ X) - 1: torch's σ takes a third of the time of its tanh."""
    gates = (features * (2 * filters)).sigmoid_()
    return torch.add(gates.new_tensor(-1.0), gates, alpha=2, out=gates)
