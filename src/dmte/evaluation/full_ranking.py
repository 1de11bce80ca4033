"""The rank of hidden links among all vertices: what a list of suggestions shows.

For a vertex i with hidden neighbors H and training neighbors T, all other vertices are ranked by
their score with i:

    rank of j in H          1 + the vertices without an edge to i that score higher, ties half
    precision of the list   |H ∩ the ten best outside T| / 10

MRR and Hits@10 are means over the hidden edges, counted from both ends; precision is a mean over
the vertices with a hidden edge. At most MAX_RANKED vertices are ranked, which are then drawn.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import scipy.sparse as sp
import torch
from jaxtyping import Float, Int
from torch import Tensor
from torch.nn.functional import normalize

from dmte.embedding.embedding import Embedding
from dmte.embedding.method import PairScorer, RowScorer
from dmte.metrics import FullRanks, mean_ranks
from dmte.network.textual_network import TextualNetwork, adjacency_matrix
from dmte.runtime.seeding import generator_for

MAX_RANKED = 5_000
"""Vertices that are ranked at most. The standard error of an MRR of 20 % is then below half a
point."""
BLOCK_SCORES = 1 << 23
"""Scores in memory at a time."""
MAX_PAIRS = 2_000_000
"""Scores of a method that scores pair by pair."""

ScoreRows = Callable[[Tensor], Tensor]


@dataclass(frozen=True, slots=True, eq=False)
class FullRanking:
    """The vertices whose hidden links are ranked, and their neighbors."""

    vertices: Int[Tensor, " ranked"]
    """In random order."""
    hidden: sp.csr_array
    """A row per ranked vertex, with its hidden neighbors."""
    known: sp.csr_array
    """A row per ranked vertex, with its training neighbors and itself."""

    @classmethod
    def draw(
        cls, train: TextualNetwork, hidden: Int[Tensor, "hidden 2"], seed: int
    ) -> "FullRanking | None":
        """Take the vertices with hidden edges, at most MAX_RANKED; None if there are none.

        A hidden edge that is also a training edge, or a self-loop, is not ranked.
        """
        known = _neighbors(train.edges, train.num_vertices) + sp.eye_array(train.num_vertices)
        wanted = _neighbors(hidden, train.num_vertices)
        wanted = sp.csr_array(wanted - wanted.multiply(known.astype(bool)))
        wanted.eliminate_zeros()
        vertices = torch.from_numpy(wanted.indptr).diff().nonzero().flatten()
        if len(vertices) == 0:
            return None
        order = torch.randperm(len(vertices), generator=generator_for(seed, "ranked vertices"))
        vertices = vertices[order[:MAX_RANKED]]
        rows = vertices.numpy()
        return cls(vertices, sp.csr_array(wanted[rows]), sp.csr_array(sp.csr_array(known)[rows]))

    def limited(self, num_scores: int) -> "FullRanking":
        """Return a part with at most this many scores, and at least one vertex."""
        count = max(1, num_scores // self.known.shape[1])
        return FullRanking(self.vertices[:count], self.hidden[:count], self.known[:count])

    def ranks(self, score_rows: ScoreRows) -> FullRanks:
        """Rank the hidden neighbors of every vertex by the scores of its row."""
        found = [self._block_ranks(score_rows, part) for part in self._blocks()]
        among_others, in_list = (torch.cat(ranks) for ranks in zip(*found, strict=True))
        return FullRanks(among_others, in_list, len(self.vertices))

    def _blocks(self) -> Iterator[slice]:
        size = max(1, BLOCK_SCORES // self.known.shape[1])
        for start in range(0, len(self.vertices), size):
            yield slice(start, start + size)

    def _block_ranks(
        self, score_rows: ScoreRows, part: slice
    ) -> tuple[Float[Tensor, " links"], Float[Tensor, " links"]]:
        scores = score_rows(self.vertices[part])
        scores = scores.masked_fill(scores.isnan(), -torch.inf)
        scores[_entries(self.known[part])] = -torch.inf
        rows, columns = _entries(self.hidden[part])
        own = scores[rows, columns]
        in_list = _ranks(own, scores, rows) - 0.5  # A link ties with itself.
        scores[rows, columns] = -torch.inf
        return _ranks(own, scores, rows), in_list


def full_ranks_by_way(scorer: PairScorer, ranking: FullRanking | None) -> dict[str, FullRanks]:
    """Rank by every way of ``scores_by_way``; none if there is nothing to rank."""
    if ranking is None:
        return {}
    if isinstance(scorer, Embedding):
        tables = {"dot": scorer.vectors, "cosine": normalize(scorer.vectors)}
        return {way: ranking.ranks(_products(table)) for way, table in tables.items()}
    if isinstance(scorer, RowScorer):
        return {"own": ranking.ranks(scorer.score_rows)}

    def score(vertices: Int[Tensor, " some"]) -> Float[Tensor, "some vertices"]:
        pairs = torch.cartesian_prod(vertices, torch.arange(ranking.known.shape[1]))
        return scorer.score(pairs).view(len(vertices), -1)

    return {"own": ranking.limited(MAX_PAIRS).ranks(score)}


def _products(table: Float[Tensor, "vertices dim"]) -> ScoreRows:
    return lambda vertices: table[vertices] @ table.T


def _ranks(
    own: Float[Tensor, " links"],
    scores: Float[Tensor, "rows vertices"],
    rows: Int[Tensor, " links"],
) -> Float[Tensor, " links"]:
    """Rank every score within its row; it may be one of them and is not counted twice."""
    size = max(1, BLOCK_SCORES // scores.shape[1])
    parts = [
        mean_ranks(some, scores[at])
        for some, at in zip(own.split(size), rows.split(size), strict=True)
    ]
    return torch.cat(parts)


def _entries(matrix: sp.csr_array) -> tuple[Int[Tensor, " entries"], Int[Tensor, " entries"]]:
    rows, columns = matrix.tocoo().coords
    return torch.from_numpy(rows).long(), torch.from_numpy(columns).long()


def _neighbors(edges: Int[Tensor, "edges 2"], num_vertices: int) -> sp.csr_array:
    ones = torch.ones(len(edges), dtype=torch.float64)
    found = adjacency_matrix(edges, ones, num_vertices, directed=False)
    found.data[:] = 1.0
    return found
