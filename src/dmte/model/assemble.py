"""The vector of a vertex, assembled from its halves.

    v_i = (1 + d_i / 3)^a (√(1 - β) v_i^t ⊕ √β v_i^s)

β is the weight of a random structure half (``diffusion.random_projection``). A learned structure
half, as in the paper, is appended without a weight. d_i is the weighted degree of i.

The degree power a sets the length of a vector. Cosines ignore it. Dot products, which predict
links, favor vertices with many edges. How much this helps depends on the network: package
dependencies have hubs, glossaries have none. So validation edges choose a; 0 disables it.
"""

from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp
import torch
from jaxtyping import Float
from torch import Tensor

from dmte.diffusion.transition import mean_weight
from dmte.metrics import PairScores
from dmte.settings import Settings

DEGREE_UNIT = 3.0
"""Degree at which a vector is 2^a times as long as without edges. Of 1, 3, 6, 10 and 20 it was
about the best on average; small values suit sparse networks, large ones dense networks."""


@dataclass(frozen=True, slots=True)
class Assembly:
    """The weights that combine halves to vectors.

    >>> assembly = Assembly(share=0.36, power=0.5)
    >>> assembly.vectors(torch.ones(1, 1), torch.ones(1, 1), np.array([9.0])).tolist()
    [[1.600000023841858, 1.2000000476837158]]
    """

    share: float = 0.0
    """β; 0 unless there is a random structure half."""
    power: float = 0.0
    """a."""

    @classmethod
    def of(cls, settings: Settings) -> "Assembly":
        """Return the assembly for the settings of a trained model."""
        return cls(settings.structure_share or 0.0, settings.degree_power or 0.0)

    @property
    def text_weight(self) -> float:
        """√(1 - β), the factor of the text half."""
        weight: float = (1 - self.share) ** 0.5
        return weight

    def vectors(
        self,
        text: Float[Tensor, "vertices text"],
        structure: Float[Tensor, "vertices structure"] | None,
        degrees: Float[np.ndarray, " vertices"],
    ) -> Float[Tensor, "vertices dim"]:
        """Return v for vertices with these halves and degrees."""
        return scale_by_degree(combine_halves(text, structure, self.share), degrees, self.power)

    def weighted_structure(
        self,
        structure: Float[Tensor, "vertices structure"],
        degrees: Float[np.ndarray, " vertices"],
    ) -> Float[Tensor, "vertices structure"]:
        """Return √β V_s, or V_s with a share of 0, from the structure columns of vectors."""
        return scale_by_degree(structure, degrees, -self.power)

    def new_vectors(
        self,
        text: Float[Tensor, "new text"],
        weighted_structure: Float[Tensor, "new structure"] | None,
        degrees: Float[np.ndarray, " new"],
    ) -> Float[Tensor, "new dim"]:
        """Return v for new vertices from V_t and the ``weighted_structure`` of their walks."""
        halves = combine_halves(text * self.text_weight, weighted_structure)
        return scale_by_degree(halves, degrees, self.power)

    def text_scales(
        self, degrees: Float[np.ndarray, " vertices"]
    ) -> Float[np.ndarray, " vertices"]:
        """Return (1 + d / 3)^a √(1 - β), the factors of the text halves."""
        scales: np.ndarray = lengths(degrees, self.power) * self.text_weight
        return scales


def combine_halves(
    text: Float[Tensor, "vertices text"],
    structure: Float[Tensor, "vertices structure"] | None,
    share: float = 0.0,
) -> Float[Tensor, "vertices dim"]:
    """Return √(1 - β) V_t ⊕ √β V_s, V_t ⊕ V_s with a share of 0, or V_t alone."""
    if structure is None:
        return text
    if share == 0:
        return torch.cat([text, structure], dim=1)
    return torch.cat([text * (1 - share) ** 0.5, structure * share**0.5], dim=1)


def scale_by_degree(
    vectors: Float[Tensor, "vertices dim"], degrees: Float[np.ndarray, " vertices"], power: float
) -> Float[Tensor, "vertices dim"]:
    """Multiply vectors by (1 + d / 3)^a.

    >>> scale_by_degree(torch.eye(2), np.array([0.0, 9.0]), 0.5).tolist()
    [[1.0, 0.0], [0.0, 2.0]]
    """
    if power == 0:
        return vectors
    return vectors * torch.from_numpy(lengths(degrees, power)).to(vectors.dtype).unsqueeze(1)


def lengths(
    degrees: Float[np.ndarray, " vertices"], power: float
) -> Float[np.ndarray, " vertices"]:
    """Return (1 + d / 3)^a."""
    found: np.ndarray = (1 + degrees / DEGREE_UNIT) ** power
    return found


def degrees(adjacency: sp.csr_array) -> Float[np.ndarray, " vertices"]:
    """Return d: the row and column sums of S by its mean weight, without self-loops.

    A directed edge counts half at each end.

    >>> degrees(sp.csr_array([[0.0, 4.0, 4.0], [4.0, 0.0, 0.0], [4.0, 0.0, 0.0]])).tolist()
    [2.0, 1.0, 1.0]
    """
    sums = (adjacency.sum(axis=0) + adjacency.sum(axis=1)) / 2 - adjacency.diagonal()
    found: np.ndarray = sums / mean_weight(adjacency)
    return found


def combine_scores(text: PairScores, walks: PairScores, share: float) -> PairScores:
    """Return the scores of pairs with combined halves."""
    return PairScores(*((1 - share) * a + share * b for a, b in zip(text, walks, strict=True)))


def scale_scores(scores: PairScores, products: PairScores, power: float) -> PairScores:
    """Return v_i · v_j = (l_i l_j)^a u_i · u_j with lengths l = 1 + d / 3.

    ``scores`` are u_i · u_j and ``products`` are l_i l_j.
    """
    return PairScores(*(a * b**power for a, b in zip(scores, products, strict=True)))
