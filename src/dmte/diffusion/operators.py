"""Diffusion over the graph with P (Definition 4, sections 4.1 and 4.2).

Diffusing V over H hops, and the diffusion convolution of X with one filter per hop and feature:

    U   = Σ_{h=0}^{H-1} λ_h P^h V
    V_t = Σ_{h=0}^{H-1} λ_h tanh(W_h ⊙ P^h X)

P^h is never formed: it is dense, while P @ X costs one pass over the edges. All operations act on
each column separately. The recommended recipe has no tanh, and learns λ_h as part of W_h.
"""

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any, ClassVar

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor, nn
from torch.autograd.function import once_differentiable

from dmte.diffusion.hop_tables import column_blocks
from dmte.distributed.columns import Columns
from dmte.kernels.sparse import CompressedRows, SparseMatrix
from dmte.runtime.seeding import truncated_gaussian


def diffuse(
    transition: SparseMatrix, features: Float[Tensor, "vertices dim"], hop_weights: Sequence[float]
) -> Float[Tensor, "vertices dim"]:
    """Return Σ_h λ_h P^h V, the features diffused over ``len(hop_weights)`` hops."""
    hops = tuple(hop_weights)
    mixed: Tensor = _Diffusion.apply(features, transition, hops)  # type: ignore[no-untyped-call]
    return mixed


class Filters(nn.Module, ABC):
    """A map from X to V_t with filters W, which have a row per hop and a column per feature."""

    filters: Float[nn.Parameter, "hops dim"]
    tables_per_hop: ClassVar[int]
    """Tables of the size of X that each hop stores for the backward pass."""

    @abstractmethod
    def __init__(self, dim: int, hop_weights: Sequence[float], generator: torch.Generator) -> None:
        super().__init__()

    @abstractmethod
    def combine(self, hops: Float[Tensor, "rows hops dim"]) -> Float[Tensor, "rows dim"]:
        """Return V_t of some vertices from their rows of X, P X, P² X and so on."""

    @abstractmethod
    def gains(self, diffused: Float[np.ndarray, "hops dim"]) -> Float[np.ndarray, "hops dim"]:
        """Return g_h of a vertex with V_t = Σ_h g_h ⊙ P^h X, given its rows of P^h X."""

    def divide(self, columns: Columns) -> dict[str, int]:
        """Keep the own columns of W."""
        whole = self.filters.detach()
        self.filters = nn.Parameter(whole[:, columns.own(whole.shape[1])].clone())
        return {"filters": 1}


class DiffusionConvolution(Filters):
    """Σ_h λ_h tanh(W_h ⊙ P^h X) with learned filters W."""

    tables_per_hop = 2

    def __init__(self, dim: int, hop_weights: Sequence[float], generator: torch.Generator) -> None:
        super().__init__(dim, hop_weights, generator)
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

    def combine(self, hops: Float[Tensor, "rows hops dim"]) -> Float[Tensor, "rows dim"]:
        """Return Σ_h λ_h tanh(W_h ⊙ X_h)."""
        weights = hops.new_tensor(self.hop_weights).unsqueeze(1)
        return (torch.tanh(hops * self.filters) * weights).sum(dim=1)

    def gains(self, diffused: Float[np.ndarray, "hops dim"]) -> Float[np.ndarray, "hops dim"]:
        """Return λ_h W_h tanh(z) / z with z = W_h ⊙ P^h X."""
        filters = self.filters.detach().double().numpy()
        inputs = filters * diffused
        slopes = np.divide(np.tanh(inputs), inputs, out=np.ones_like(inputs), where=inputs != 0)
        gains: np.ndarray = np.array(self.hop_weights)[:, None] * filters * slopes
        return gains


class HopFilters(Filters):
    """Σ_h W_h ⊙ P^h X with learned filters W, initialised with λ."""

    tables_per_hop = 1

    def __init__(self, dim: int, hop_weights: Sequence[float], generator: torch.Generator) -> None:
        super().__init__(dim, hop_weights, generator)
        start = torch.tensor(hop_weights, dtype=torch.float32)
        self.filters = nn.Parameter(start.unsqueeze(1).repeat(1, dim))

    def forward(
        self, transition: SparseMatrix, features: Float[Tensor, "vertices dim"]
    ) -> Float[Tensor, "vertices dim"]:
        """Return V_t."""
        if not torch.is_grad_enabled():
            return self._in_blocks(transition.rows, features)
        embedding: Tensor = _Filtering.apply(features, self.filters, transition)  # type: ignore[no-untyped-call]
        return embedding

    def _in_blocks(
        self, transition: CompressedRows, features: Float[Tensor, "vertices dim"]
    ) -> Float[Tensor, "vertices dim"]:
        """Return V_t with two temporary tables that are as wide as a block of columns."""
        embedding = torch.empty_like(features)
        for block in column_blocks(*features.shape):
            table, filters = features[:, block].contiguous(), self.filters[:, block]
            some = table * filters[0]
            for weights in filters[1:]:
                table = transition.times(table)
                some.addcmul_(table, weights)
            embedding[:, block] = some
        return embedding

    def combine(self, hops: Float[Tensor, "rows hops dim"]) -> Float[Tensor, "rows dim"]:
        """Return Σ_h W_h ⊙ X_h."""
        embedding: Tensor = _Combination.apply(hops, self.filters)  # type: ignore[no-untyped-call]
        return embedding

    def gains(
        self,
        diffused: Float[np.ndarray, "hops dim"],  # noqa: ARG002
    ) -> Float[np.ndarray, "hops dim"]:
        """Return W_h."""
        filters: np.ndarray = self.filters.detach().double().numpy()
        return filters


ACTIVATIONS: Mapping[str, type[Filters]] = MappingProxyType(
    {"tanh": DiffusionConvolution, "none": HopFilters}
)
"""The map from X to V_t of every activation."""


class _Diffusion(torch.autograd.Function):
    """U = λ_0 V + P (λ_1 V + P (λ_2 V + ...)); the backward pass uses Pᵀ."""

    @staticmethod
    def forward(
        ctx: Any, features: Tensor, transition: SparseMatrix, hops: tuple[float, ...]
    ) -> Tensor:
        ctx.transition, ctx.hops = transition, hops
        return _horner(transition.rows, features, hops)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor, None, None]:
        return _horner(ctx.transition.columns, gradient.contiguous(), ctx.hops), None, None


def _horner(transition: CompressedRows, features: Tensor, hops: tuple[float, ...]) -> Tensor:
    mixed = features * hops[-1]
    for weight in reversed(hops[:-1]):
        mixed = transition.times(mixed).add_(features, alpha=weight)
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


class _Combination(torch.autograd.Function):
    """V_t = Σ_h W_h ⊙ X_h. With G = ∂L/∂V_t: ∂L/∂W_h = Σ_i (G ⊙ X_h)_i and ∂L/∂X_h = W_h ⊙ G."""

    @staticmethod
    def forward(ctx: Any, hops: Tensor, filters: Tensor) -> Tensor:
        ctx.save_for_backward(hops, filters)
        embedding = hops[:, 0] * filters[0]
        for hop in range(1, len(filters)):
            embedding.addcmul_(hops[:, hop], filters[hop])
        return embedding

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor | None, Tensor]:
        hops, filters = ctx.saved_tensors
        to_filters = torch.stack([(gradient * hop).sum(dim=0) for hop in hops.unbind(1)])
        to_hops = gradient.unsqueeze(1) * filters if ctx.needs_input_grad[0] else None
        return to_hops, to_filters


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
    """Return tanh(W ⊙ X) as 2 σ(2 W ⊙ X) - 1; torch computes σ in a third of the time of tanh."""
    gates = (features * (2 * filters)).sigmoid_()
    return torch.add(gates.new_tensor(-1.0), gates, alpha=2, out=gates)
