"""The model, which computes V_t, V_s and U_s (section 4).

    text half        V_t = Σ_h λ_h tanh(W_h ⊙ P^h X)       X from a text encoder
    structure half   V_s = E_s, rows longer than 1 scaled to length 1
    diffusion map    U_s = Σ_h λ_h P^h V_s
    vertex           v_i = v_i^t ⊕ v_i^s                   (``model.assemble``)

The four versions of the paper are settings of this class: another encoder, no convolution
(V_t = X), or no structure half. The recommended recipe has spectral texts, filters without tanh,
and then a square matrix, which mixes the columns.

A model can be divided over a group of processes (``distributed.group``). Each process has some
columns of every table and computes the same columns of the halves. With word averages, columns
affect each other only in scores and in the length of the rows of E_s.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple

import scipy.sparse as sp
import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

from dmte.diffusion.operators import Filters, diffuse
from dmte.diffusion.transition import transition_matrix
from dmte.distributed.group import SINGLE_PROCESS, ProcessGroup
from dmte.kernels.row_norms import divided_rows, unit_rows
from dmte.kernels.sparse import SparseMatrix
from dmte.runtime.seeding import truncated_gaussian
from dmte.text import TextEncoder


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
        self.group = SINGLE_PROCESS
        self.axes: dict[str, int] = {}
        """The axis along which each table is divided over the group."""

    def transition_of(
        self, adjacency: sp.csr_array, dtype: torch.dtype = torch.float32
    ) -> SparseMatrix:
        """Return the model's kind of P for the edges S."""
        return transition_matrix(adjacency, dtype, self.transition)

    def divide(self, group: ProcessGroup) -> None:
        """Keep only the own columns of every table."""
        if group.size == 1:
            return
        self.group = group
        for name in ("encoder", "convolution", "structure", "mixing"):
            part = getattr(self, name)
            axes = {} if part is None else part.divide(group)
            self.axes |= {f"{name}.{table}": axis for table, axis in axes.items()}

    @property
    def exchanges_rows(self) -> bool:
        """Whether each row of V_t is exchanged between processes, so that fewer rows are faster."""
        return self.group.size > 1 and (self.mixing is not None or self.unit_rows)

    def shared_parameters(self) -> list[nn.Parameter]:
        """Return the parameters that are not divided over the group."""
        return [p for name, p in self.named_parameters() if name not in self.axes]

    def forward(
        self, texts: Any, transition: SparseMatrix, rows: Int[Tensor, " rows"] | None = None
    ) -> Halves:
        """Return the halves, or some rows; ``texts`` comes from the encoder's ``prepare``."""
        text = self.text_embedding(texts, transition, rows)
        if self.structure is None:
            return Halves(text, None, None)
        structure = self.structure()
        diffused = self.structure.diffused(transition, structure)
        return Halves(text, _chosen(structure, rows), _chosen(diffused, rows))

    def text_embedding(
        self,
        texts: Any,
        transition: SparseMatrix,
        rows: Int[Tensor, " rows"] | None = None,
    ) -> Float[Tensor, "vertices dim"]:
        """Return V_t, or some rows."""
        embedding = self._own_columns(self.encoder(texts))
        if self.convolution is not None:
            embedding = self.convolution(transition, embedding)
        embedding = _chosen(embedding, rows)
        if self.mixing is not None:
            embedding = self.mixing(embedding)
        return unit_rows(embedding, self.group) if self.unit_rows else embedding

    def _own_columns(self, features: Float[Tensor, "vertices width"]) -> Tensor:
        """Return the own columns of X, which an undivided encoder computes in full."""
        is_whole = self.group.size > 1 and not any(
            name.startswith("encoder.") for name in self.axes
        )
        return features[:, self.group.column_slice(self.encoder.dim)] if is_whole else features


class SquareMap(nn.Module):
    """V M with a square matrix M, initialised as the identity."""

    def __init__(self, dim: int) -> None:
        super().__init__()
        self._group = SINGLE_PROCESS
        self.matrix = nn.Parameter(torch.eye(dim))

    def forward(self, embedding: Float[Tensor, "vertices dim"]) -> Float[Tensor, "vertices dim"]:
        """Return V M; each process multiplies its columns of V by its rows of M."""
        return self._group.reduce_scatter(embedding @ self.matrix)

    def divide(self, group: ProcessGroup) -> dict[str, int]:
        """Keep the rows of M for the own columns of V."""
        self._group = group
        self.matrix = nn.Parameter(
            self.matrix.detach()[group.column_slice(len(self.matrix))].clone()
        )
        return {"matrix": 0}


class StructureEmbedding(nn.Module):
    """V_s with a learned row per vertex, and its diffusion map U_s."""

    def __init__(
        self, num_vertices: int, dim: int, hop_weights: Sequence[float], generator: torch.Generator
    ) -> None:
        super().__init__()
        self.hop_weights = tuple(hop_weights)
        self._group = SINGLE_PROCESS
        self.table = truncated_gaussian(num_vertices, dim, generator)

    def forward(self) -> Float[Tensor, "vertices dim"]:
        """Return V_s: E_s with rows longer than 1 scaled to length 1."""
        return divided_rows(self.table, 1.0, self._group)

    def divide(self, group: ProcessGroup) -> dict[str, int]:
        """Keep the own columns of E_s."""
        self._group = group
        self.table = nn.Parameter(
            self.table.detach()[:, group.column_slice(self.table.shape[1])].clone()
        )
        return {"table": 1}

    def diffused(
        self, transition: SparseMatrix, structure: Float[Tensor, "vertices dim"]
    ) -> Float[Tensor, "vertices dim"]:
        """Return U_s of ``structure``."""
        return diffuse(transition, structure, self.hop_weights)


def _chosen(table: Float[Tensor, "vertices dim"], rows: Int[Tensor, " rows"] | None) -> Tensor:
    return table if rows is None else table.index_select(0, rows)
