"""How readily a vertex is linked, told by the length of its vector.

    v_i = (1 + d_i / 3)^a u_i        u_i of length 1, d_i the edges of i, each by its weight

What a vertex is about is the direction of its vector, and cosines see nothing else. A dot product,
by which links are predicted, counts both: of two texts that are as close, the one that many link to
is the likelier end of a link. How much that is worth differs from packages, which have hubs, to
glossaries, which have none, so held-back edges choose a, and 0 leaves vectors as they are.
"""

import numpy as np
import scipy.sparse as sp
import torch
from jaxtyping import Float, Int
from torch import Tensor

from dmte.diffusion.transition import mean_weight
from dmte.metrics import PairScores

DOUBLING = 3.0
"""Edges that make a vector 2^a times as long as one without. Of 1, 3, 6, 10 and 20 this was about
the best on average; few suit networks in which most vertices have none, many suit dense ones."""


def degrees(adjacency: sp.csr_array) -> Float[np.ndarray, " vertices"]:
    """Return d: the sums of S over its mean weight, loops aside.

    An edge that leads one way counts half at either end.

    >>> degrees(sp.csr_array([[0.0, 4.0, 4.0], [4.0, 0.0, 0.0], [4.0, 0.0, 0.0]])).tolist()
    [2.0, 1.0, 1.0]
    """
    sums = (adjacency.sum(axis=0) + adjacency.sum(axis=1)) / 2 - adjacency.diagonal()
    found: np.ndarray = sums / mean_weight(adjacency)
    return found


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


def length_products(
    degrees: Float[np.ndarray, " vertices"], pairs: Int[Tensor, "pairs 2"]
) -> Float[Tensor, " pairs"]:
    """Return the products of the two lengths of pairs, for a = 1."""
    return torch.from_numpy(lengths(degrees, 1.0))[pairs].prod(dim=1)


def text_half(text: Float[Tensor, "*vertices dim"], share: float) -> Float[Tensor, "*vertices dim"]:
    """Return √(1 - β) V_t."""
    return torch.mul(text, (1 - share) ** 0.5)


def joined(
    text: Float[Tensor, "vertices text"], structure: Float[Tensor, "vertices walks"], share: float
) -> Float[Tensor, "vertices dim"]:
    """Return √(1 - β) V_t ⊕ √β V_s."""
    return torch.cat([text_half(text, share), structure * share**0.5], dim=1)


def shared(text: PairScores, walks: PairScores, share: float) -> PairScores:
    """Return the scores of ``joined`` vectors."""
    return PairScores(*((1 - share) * a + share * b for a, b in zip(text, walks, strict=True)))
