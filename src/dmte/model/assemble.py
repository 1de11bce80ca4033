"""The vector of a vertex, put together from its halves.

    v_i = (1 + d_i / 3)^a (√(1 - β) v_i^t ⊕ √β v_i^s)

β is the share of a score that a random structure half has (``diffusion.random_projection``). A
learned structure half, the paper's, is appended as it is. d_i are the edges of i, each by its
weight, and a is a power: the length of a vector says how readily its vertex is linked.

What a vertex is about is the direction of its vector, and cosines see nothing else. A dot product,
by which links are predicted, counts both: of two texts that are as close, the one that many link to
is the likelier end of a link. How much that is worth differs from packages, which have hubs, to
glossaries, which have none. So validation edges choose a, and 0 leaves vectors as they are.
"""

from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp
import torch
from jaxtyping import Float, Int
from torch import Tensor

from dmte.diffusion.transition import mean_weight
from dmte.metrics import PairScores
from dmte.settings import Settings

DOUBLING = 3.0
"""Edges that make a vector 2^a times as long as one without. Of 1, 3, 6, 10 and 20 this was about
the best on average; few suit networks in which most vertices have none, many suit dense ones."""


@dataclass(frozen=True, slots=True)
class Assembly:
    """How halves become vectors.

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
        """Return the assembly of a trained model, whose settings are all chosen."""
        return cls(settings.structure_share or 0.0, settings.degree_power or 0.0)

    @property
    def text_weight(self) -> float:
        """√(1 - β), the factor of the text half."""
        return half_weights(self.share)[0]

    def vectors(
        self,
        text: Float[Tensor, "vertices text"],
        structure: Float[Tensor, "vertices structure"] | None,
        degrees: Float[np.ndarray, " vertices"],
    ) -> Float[Tensor, "vertices dim"]:
        """Return v of vertices with these halves and degrees."""
        return scale_by_degree(combine_halves(text, structure, self.share), degrees, self.power)


def combine_halves(
    text: Float[Tensor, "vertices text"],
    structure: Float[Tensor, "vertices structure"] | None,
    share: float = 0.0,
) -> Float[Tensor, "vertices dim"]:
    """Return √(1 - β) V_t ⊕ √β V_s, or V_t ⊕ V_s without a share, or V_t alone."""
    if structure is None:
        return text
    if share == 0:
        return torch.cat([text, structure], dim=1)
    of_text, of_structure = half_weights(share)
    return torch.cat([text * of_text, structure * of_structure], dim=1)


def half_weights(share: float) -> tuple[float, float]:
    """Return √(1 - β) and √β."""
    return (1 - share) ** 0.5, share**0.5


def scale_by_degree(
    vectors: Float[Tensor, "vertices dim"], degrees: Float[np.ndarray, " vertices"], power: float
) -> Float[Tensor, "vertices dim"]:
    """Return the vectors (1 + d / 3)^a times as long.

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
    found: np.ndarray = (1 + degrees / DOUBLING) ** power
    return found


def degrees(adjacency: sp.csr_array) -> Float[np.ndarray, " vertices"]:
    """Return d: the sums of S over its mean weight, without self-loops.

    An edge that leads one way counts half at either end.

    >>> degrees(sp.csr_array([[0.0, 4.0, 4.0], [4.0, 0.0, 0.0], [4.0, 0.0, 0.0]])).tolist()
    [2.0, 1.0, 1.0]
    """
    sums = (adjacency.sum(axis=0) + adjacency.sum(axis=1)) / 2 - adjacency.diagonal()
    found: np.ndarray = sums / mean_weight(adjacency)
    return found


def combine_scores(text: PairScores, walks: PairScores, share: float) -> PairScores:
    """Return the scores of pairs of combined halves."""
    return PairScores(*((1 - share) * a + share * b for a, b in zip(text, walks, strict=True)))


def scale_scores(scores: PairScores, products: PairScores, power: float) -> PairScores:
    """Return the scores of pairs of scaled vectors; ``products`` are those of ``length_products``.

    A pair's score grows with both lengths: v_i · v_j = (l_i l_j)^a u_i · u_j, l = 1 + d / 3.
    """
    return PairScores(*(a * b**power for a, b in zip(scores, products, strict=True)))


def length_products(
    degrees: Float[np.ndarray, " vertices"], pairs: Int[Tensor, "pairs 2"]
) -> Float[Tensor, " pairs"]:
    """Return the products of the two lengths of pairs, for a = 1."""
    return torch.from_numpy(lengths(degrees, 1.0))[pairs].prod(dim=1)
