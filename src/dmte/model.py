"""The model: text, diffusion and structure joined into V_t, V_s and U_s (section 4).

    text half        V_t = Σ_h λ_h tanh(W_h ⊙ P^h X)       X from a text encoder
    structure half   V_s = E_s, rows longer than 1 scaled to length 1
    diffusion map    U_s = Σ_h λ_h P^h V_s
    a vertex         v_i = v_i^t ⊕ v_i^s

The four versions of the paper are settings of this one class: another encoder, no convolution
(V_t = X), or no structure half. With word averages every column of V_t, V_s and U_s depends only
on the same column of the parameters, but for one number per vertex, the length of its row of E_s;
otherwise columns meet only in scores.py. The recommended recipe, which is not the paper's, has
spectral texts, filters without tanh, and a square matrix after them that mixes the columns.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple

import scipy.sparse as sp
import torch
from jaxtyping import Float
from torch import Tensor, nn
from torch.nn.functional import normalize

from dmte.diffusion import TRANSITIONS, DiffusionConvolution, HopFilters, diffuse
from dmte.randomness import truncated_gaussian
from dmte.sparse import SparseMatrix
from dmte.text import TextEncoder


class Halves(NamedTuple):
    """What the objective compares; the structure is missing in the text-only version."""

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
        convolution: DiffusionConvolution | HopFilters | None,
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

    def transition_of(
        self, adjacency: sp.csr_array, dtype: torch.dtype = torch.float32
    ) -> SparseMatrix:
        """Return P of the edges S, as this model diffuses over it."""
        return TRANSITIONS[self.transition](adjacency, dtype)

    def forward(self, texts: Any, transition: SparseMatrix) -> Halves:
        """Return the halves; ``texts`` is what the encoder's ``prepare`` returned."""
        text = self.text_embedding(texts, transition)
        if self.structure is None:
            return Halves(text, None, None)
        structure = self.structure()
        return Halves(text, structure, self.structure.diffused(transition, structure))

    def text_embedding(
        self,
        texts: Any,
        transition: SparseMatrix,
    ) -> Float[Tensor, "vertices dim"]:
        """Return V_t: X, diffused unless this is the version without diffusion."""
        embedding: Tensor = self.encoder(texts)
        if self.convolution is not None:
            embedding = self.convolution(transition, embedding)
        if self.mixing is not None:
            embedding = self.mixing(embedding)
        return normalize(embedding) if self.unit_rows else embedding


class SquareMap(nn.Module):
    """V M, with a square matrix M that starts as the identity: the one place columns mix."""

    def __init__(self, dim: int) -> None:
        super().__init__()
        self.matrix = nn.Parameter(torch.eye(dim))

    def forward(self, embedding: Float[Tensor, "vertices dim"]) -> Float[Tensor, "vertices dim"]:
        """Return V M."""
        return embedding @ self.matrix


class StructureEmbedding(nn.Module):
    """V_s, a learned row per vertex, and its diffusion map U_s."""

    def __init__(
        self, num_vertices: int, dim: int, hop_weights: Sequence[float], generator: torch.Generator
    ) -> None:
        super().__init__()
        self.hop_weights = tuple(hop_weights)
        self.table = truncated_gaussian(num_vertices, dim, generator)

    def forward(self) -> Float[Tensor, "vertices dim"]:
        """Return V_s: the rows of E_s, those longer than 1 scaled to length 1."""
        lengths = torch.linalg.vector_norm(self.table, dim=1, keepdim=True)
        scaled: Tensor = self.table / lengths.clamp(min=1.0)
        return scaled

    def diffused(
        self, transition: SparseMatrix, structure: Float[Tensor, "vertices dim"]
    ) -> Float[Tensor, "vertices dim"]:
        """Return U_s of ``structure``."""
        return diffuse(transition, structure, self.hop_weights)
