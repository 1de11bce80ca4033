"""The scores of a batch: by the own columns of all edges, or by all columns of a share of them.

M and rows of length 1 need all columns of a row. Then every process scores a share of the edges,
and gathers all columns of their ends. Otherwise it scores its own columns of all edges, and the
scores are summed.
"""

from dataclasses import dataclass
from typing import NamedTuple

import torch
from jaxtyping import Bool, Int
from torch import Tensor

from dmte.diffusion.transition import TransitionTemplate
from dmte.distributed.columns import ALL_COLUMNS, Columns
from dmte.kernels.sparse import SparseMatrix, ranges
from dmte.model.diffusion_maps import DiffusionMaps, Halves
from dmte.training.edges import DirectedEdges
from dmte.training.objective import Scores, score_edges
from dmte.training.rounds import Numbering, TextRows, gathered

SMALL_HALF = 512
"""Directed edges up to which half of a batch is not worth a thread of its own."""


class Batch(NamedTuple):
    """The edges that a step scores, and their negatives."""

    edges: DirectedEdges
    negatives: Int[Tensor, "batch negatives"] | Int[Tensor, " negatives"]
    """Those of each edge, or the same for all edges."""

    def part(self, part: slice) -> "Batch":
        """Return a part of the batch."""
        source, target, weights = self.edges.source, self.edges.target, self.edges.weights
        edges = DirectedEdges(source[part], target[part], weights[part])
        return Batch(edges, self.negatives if self.negatives.ndim == 1 else self.negatives[part])

    def halves(self) -> "list[Batch]":
        """Divide a large batch into two parts; a small one is one part."""
        middle = len(self.edges.source) // 2
        if middle <= SMALL_HALF:
            return [self]
        return [self.part(slice(0, middle)), self.part(slice(middle, None))]

    def ends(self) -> Int[Tensor, " ends"]:
        """Return all vertices that the edges are scored by."""
        return torch.cat([self.edges.source, self.edges.target, self.negatives.flatten()])


@dataclass(frozen=True, slots=True, eq=False)
class BatchScorer:
    """Scores batches of one network."""

    model: DiffusionMaps
    template: TransitionTemplate
    """All edges, which shared negatives must not be."""
    columns: Columns
    width: int
    """The columns of a half."""

    @property
    def num_vertices(self) -> int:
        """The number of vertices in training."""
        return len(self.template.loops)

    def share(self, batch: Batch) -> Batch:
        """Return the part of a batch that this process scores."""
        if not self.model.mixes_columns:
            return batch
        return batch.part(self.columns.own(len(batch.edges.source)))

    def score(self, batch: Batch, texts: TextRows, transition: SparseMatrix) -> Scores:
        """Return the scores of the own share of a batch."""
        structure = self.model.structure_tables(transition)
        if not self.model.mixes_columns:
            numbering = Numbering.of_all(self.num_vertices)
            return self._score(Halves(texts.columns(), *structure), batch, numbering, self.columns)
        parts = self.columns.shares(len(batch.edges.source))
        numberings = [Numbering.of(batch.part(part).ends(), self.num_vertices) for part in parts]
        shares = [numbering.vertices for numbering in numberings]
        own = texts.columns(torch.cat(shares))
        whole = self.columns.gather(own, [len(share) for share in shares], self.width)
        numbering = numberings[parts.index(self.columns.own(len(batch.edges.source)))]
        halves = Halves(
            self.model.mix(whole),
            *(gathered(table, shares, self.columns, self.width) for table in structure),
        )
        return self._score(halves, self.share(batch), numbering, ALL_COLUMNS)

    def _score(
        self, halves: Halves, batch: Batch, numbering: Numbering, columns: Columns
    ) -> Scores:
        ends = batch.edges.source, batch.edges.target, batch.negatives
        source, target, negatives = (numbering.positions[vertices] for vertices in ends)
        scores = score_edges(halves, source, target, negatives, columns)
        if negatives.ndim == 2:
            return scores
        known = self._known(batch.negatives, numbering).index_select(0, target)
        return Scores(scores.positive, scores.negative.masked_fill(known, -torch.inf))

    def _known(
        self, negatives: Int[Tensor, " negatives"], numbering: Numbering
    ) -> Bool[Tensor, "rows negatives"]:
        """Return for every vertex which negatives have an edge with it or are the vertex itself."""
        known = torch.zeros(len(numbering.vertices), len(negatives), dtype=torch.bool)
        both = (self.template.by_row, self.template.by_column)
        for layout in both if self.template.directed else both[:1]:
            entries, begins = ranges(
                layout.offsets[negatives].long(), layout.offsets[negatives + 1].long()
            )
            neighbors = layout.columns[entries]
            columns = torch.arange(len(negatives)).repeat_interleave(begins.diff())
            kept = numbering.is_included[neighbors]
            known[numbering.positions[neighbors[kept]], columns[kept]] = True
        return known
