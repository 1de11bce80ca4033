"""The model, which computes V_t, V_s and U_s (section 4).

    text half        V_t = Σ_h λ_h tanh(W_h ⊙ P^h X)       X from a text encoder
    structure half   V_s = E_s, rows longer than 1 scaled to length 1
    diffusion map    U_s = Σ_h λ_h P^h V_s
    vertex           v_i = v_i^t ⊕ v_i^s                   (``model.assemble``)

The four versions of the paper are settings of this class: another encoder, no convolution
(V_t = X), or no structure half. The recommended recipe has spectral texts, filters without tanh,
and then a square matrix, which mixes the columns.

A model can be divided by columns (``distributed.columns``). Each process has some columns of the
tables and computes the same columns of the halves. Only a square matrix and rows of length 1 need
all columns of a row: ``text_columns`` is V_t before them, and ``mix`` applies them to whole rows.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple

import scipy.sparse as sp
import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

from dmte.diffusion.operators import Filters, diffuse
from dmte.diffusion.transition import transition_matrix
from dmte.distributed.columns import ALL_COLUMNS, Columns
from dmte.kernels.row_norms import divided_rows, unit_rows
from dmte.kernels.sparse import SparseMatrix
from dmte.runtime.seeding import truncated_gaussian
from dmte.text import TextEncoder

BLOCK = 1 << 14
"""Rows that are mixed at a time without autograd."""


class Halves(NamedTuple):
    """The tables that the objective compares, without structure in the text-only version."""

    text: Float[Tensor, "vertices dim"]
    """V_t."""
    structure: Float[Tensor, "vertices dim"] | None
    """V_s."""
    diffused_structure: Float[Tensor, "vertices dim"] | None
    """U_s."""


class DiffusionMaps(nn.Module):
    """V_t, V_s and U_s of the vertices of one network."""

    def __init__(
        self,
        encoder: TextEncoder[Any, Any],
        convolution: Filters | None,
        structure: "StructureEmbedding | None",
        mixing: "SquareMap | None" = None,
        *,
        unit_rows: bool = False,
        transition: str = "walk",
    ) -> None:
        super().__init__()
        self.encoder = encoder
        self.convolution = convolution
        self.structure = structure
        self.mixing = mixing
        self.unit_rows = unit_rows
        self.transition = transition
        self.columns = ALL_COLUMNS
        self.axes: dict[str, int] = {}
        """The axis along which each table is divided."""

    def transition_of(
        self, adjacency: sp.csr_array, dtype: torch.dtype = torch.float32
    ) -> SparseMatrix:
        """Return the model's kind of P for the edges S."""
        return transition_matrix(adjacency, dtype, self.transition)

    def divide(self, columns: Columns) -> None:
        """Keep only the own columns of every table except M."""
        self.columns = columns
        for name in ("encoder", "convolution", "structure"):
            part = getattr(self, name)
            axes = {} if part is None else part.divide(columns)
            self.axes |= {f"{name}.{table}": axis for table, axis in axes.items()}

    @property
    def mixes_columns(self) -> bool:
        """Whether ``mix`` changes V_t, so that it needs whole rows."""
        return self.mixing is not None or self.unit_rows

    def shared_parameters(self, *, with_encoder: bool = True) -> list[nn.Parameter]:
        """Return the parameters that are not divided."""
        return [
            parameter
            for name, parameter in self.named_parameters()
            if name not in self.axes and (with_encoder or not name.startswith("encoder."))
        ]

    def forward(
        self, texts: Any, transition: SparseMatrix, rows: Int[Tensor, " rows"] | None = None
    ) -> Halves:
        """Return the halves, or some rows; ``texts`` comes from the encoder's ``prepare``."""
        text = self.text_embedding(texts, transition, rows)
        return Halves(text, *self.structure_tables(transition, rows))

    def structure_tables(
        self, transition: SparseMatrix, rows: Int[Tensor, " rows"] | None = None
    ) -> tuple[Tensor, Tensor] | tuple[None, None]:
        """Return the own columns of V_s and U_s, or some rows, if there is a structure half."""
        if self.structure is None:
            return None, None
        structure = self.structure()
        diffused = self.structure.diffused(transition, structure)
        return chosen(structure, rows), chosen(diffused, rows)

    def text_embedding(
        self,
        texts: Any,
        transition: SparseMatrix,
        rows: Int[Tensor, " rows"] | None = None,
    ) -> Float[Tensor, "vertices dim"]:
        """Return V_t, or some rows, of a model that is not divided."""
        return self.mix(chosen(self.text_columns(texts, transition), rows))

    def text_columns(self, texts: Any, transition: SparseMatrix) -> Float[Tensor, "vertices own"]:
        """Return the own columns of V_t before M and before rows have length 1."""
        embedding = self.text_features(texts)
        return embedding if self.convolution is None else self.convolution(transition, embedding)

    def text_features(self, texts: Any) -> Float[Tensor, "vertices own"]:
        """Return the own columns of X."""
        features: Tensor = self.encoder(texts)
        # An encoder that is not divided computes all columns.
        is_whole = features.shape[1] == self.encoder.dim
        return features[:, self.columns.own(self.encoder.dim)] if is_whole else features

    @property
    def num_hops(self) -> int:
        """The number of hop tables that V_t is computed from."""
        return 1 if self.convolution is None else len(self.convolution.filters)

    def combine(self, hops: Float[Tensor, "rows hops own"]) -> Float[Tensor, "rows own"]:
        """Return rows of ``text_columns`` from those of the hop tables."""
        return hops[:, 0] if self.convolution is None else self.convolution.combine(hops)

    def mix(self, rows: Float[Tensor, "rows dim"]) -> Float[Tensor, "rows dim"]:
        """Return rows of V_t from all columns of ``text_columns``."""
        if not torch.is_grad_enabled() and len(rows) > BLOCK:
            found = torch.empty_like(rows)
            for block, part in zip(found.split(BLOCK), rows.split(BLOCK), strict=True):
                block.copy_(self.mix(part))
            return found
        mixed = rows if self.mixing is None else self.mixing(rows)
        return unit_rows(mixed) if self.unit_rows else mixed


class SquareMap(nn.Module):
    """V M with a square matrix M, initialised as the identity."""

    def __init__(self, dim: int) -> None:
        super().__init__()
        self.matrix = nn.Parameter(torch.eye(dim))

    def forward(self, embedding: Float[Tensor, "vertices dim"]) -> Float[Tensor, "vertices dim"]:
        """Return V M."""
        return embedding @ self.matrix


class StructureEmbedding(nn.Module):
    """V_s with a learned row per vertex, and its diffusion map U_s."""

    def __init__(
        self, num_vertices: int, dim: int, hop_weights: Sequence[float], generator: torch.Generator
    ) -> None:
        super().__init__()
        self.hop_weights = tuple(hop_weights)
        self._columns = ALL_COLUMNS
        self.table = truncated_gaussian(num_vertices, dim, generator)

    def forward(self) -> Float[Tensor, "vertices dim"]:
        """Return V_s: E_s with rows longer than 1 scaled to length 1."""
        return divided_rows(self.table, 1.0, self._columns)

    def divide(self, columns: Columns) -> dict[str, int]:
        """Keep the own columns of E_s."""
        self._columns = columns
        self.table = nn.Parameter(self.table.detach()[:, columns.own(self.table.shape[1])].clone())
        return {"table": 1}

    def diffused(
        self, transition: SparseMatrix, structure: Float[Tensor, "vertices dim"]
    ) -> Float[Tensor, "vertices dim"]:
        """Return U_s of ``structure``."""
        return diffuse(transition, structure, self.hop_weights)


def chosen(table: Float[Tensor, "vertices ..."], rows: Int[Tensor, " rows"] | None) -> Tensor:
    """Return some rows of a table, or the table."""
    return table if rows is None else table.index_select(0, rows)
