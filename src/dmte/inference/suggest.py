"""Link suggestion: the unlinked pairs with the highest scores.

The score is that of link prediction, v_i · v_j (section 5.1). A pair linked in either direction is
not suggested.
"""

from typing import NamedTuple

import numpy as np

from dmte.embedding.embedding import Embedding
from dmte.network import TextualNetwork
from dmte.search.exact import highest
from dmte.search.pairs import closest_pairs


class Suggestion(NamedTuple):
    """Two vertices without an edge between them, and the dot product of their vectors."""

    source: str
    target: str
    score: float


def suggest_links(
    embedding: Embedding, network: TextualNetwork, k: int = 10, vertex: str | None = None
) -> list[Suggestion]:
    """Return the ``k`` best missing links of ``vertex``, or of the whole network, best first.

    For the whole network, all pairs are scored: N² d / 2 products (DBLP, 60,744 vertices: 20 s).

    Raises:
        UnknownVertexError: ``vertex`` is not a vertex id.
        ConfigError: ``k`` is below 1.
    """
    ids, adjacency = embedding.ids, network.adjacency()
    if vertex is None:
        pairs = closest_pairs(embedding.vectors, k, adjacency)
        return [Suggestion(ids[i], ids[j], score) for i, j, score in pairs]
    position = embedding.position(vertex)
    linked = np.union1d(adjacency[[position]].indices, adjacency[:, [position]].tocoo().row)
    unlinked = np.ones(len(embedding), dtype=np.bool_)
    unlinked[linked] = False
    unlinked[position] = False
    scores = embedding.vectors @ embedding.vectors[position]
    found = highest(scores.numpy(), k, unlinked)
    others = zip(found.rows.tolist(), found.scores.tolist(), strict=True)
    return [Suggestion(vertex, ids[row], score) for row, score in others]
