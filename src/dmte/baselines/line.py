"""LINE: large-scale information network embedding (Tang et al. 2015).

Two objectives are maximized separately. A vertex's two vectors are scaled to length one and
concatenated:

    first order    Σ_ij s_ij (log σ(u_i · u_j) + K E_{n ~ P_n} log σ(-u_i · u_n))
    second order   Σ_ij s_ij (log σ(u_i · c_j) + K E_{n ~ P_n} log σ(-u_i · c_n))

with c the context vectors and P_n(v) ∝ d_v^{3/4}. Vertices with few neighbors first get their
neighbors' neighbors as well. The first order ignores directions. In the second order a vertex
that no edge leaves has the zero vector; an isolated vertex has it in both. Edges are sampled in
proportion to their weights. Unlike in the paper, a step sums the gradients of many edges and
scales them by AdaGrad, since single steps would need compiled code.
"""

import math
from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp
import torch
from jaxtyping import Float, Int
from torch import Tensor
from torch.nn.functional import normalize

from dmte.baselines.skipgram import (
    AdagradTable,
    Gradients,
    Noise,
    linked_vertices,
    require_even,
    require_positive,
    small_vectors,
)
from dmte.embedding.embedding import Embedding
from dmte.errors import ConfigError
from dmte.network import TextualNetwork
from dmte.runtime.progress import track
from dmte.runtime.seeding import generator_for

UPDATES_PER_ROUND = 8
"""Updates per round, in which as many edges are sampled as the network has."""
CHUNK = 512  # Edges whose rows fit in the cache.
BLOCK = 1024  # Rows of second-order neighbors in memory at once.


def edge_gradients(
    sources: Float[Tensor, "edges dim"],
    targets: Float[Tensor, "edges dim"],
    negatives: Float[Tensor, "edges negatives dim"],
) -> Gradients:
    """Return the gradients of Σ_ij (log σ(u_i · c_j) + Σ_n log σ(-u_i · c_n))."""
    attraction = torch.sigmoid(-(sources * targets).sum(dim=1, keepdim=True))
    repulsion = -torch.sigmoid(torch.bmm(negatives, sources.unsqueeze(2)))
    return Gradients(
        attraction * targets + torch.bmm(repulsion.transpose(1, 2), negatives).squeeze(1),
        attraction * sources,
        repulsion * sources.unsqueeze(1),
    )


def add_second_neighbors(adjacency: sp.csr_array, min_neighbors: int) -> sp.csr_array:
    """Return S with Σ_k s_ik s_kj / d_k added for the strongest j, up to ``min_neighbors`` of i.

    Empty rows and rows with enough neighbors do not change; no loop is added.
    """
    degrees = adjacency.sum(axis=1)
    inverse = np.divide(1.0, degrees, out=np.zeros_like(degrees), where=degrees > 0)
    steps = sp.csr_array(sp.diags_array(inverse) @ adjacency)
    room = np.maximum(min_neighbors - np.diff(adjacency.indptr), 0)
    blocks = []
    for first in range(0, adjacency.shape[0], BLOCK):
        found = (adjacency[first : first + BLOCK] @ steps).tocoo()
        row = found.row.astype(np.int64) + first
        proper = (row != found.col) & (room[row] > 0)
        row, column, strength = row[proper], found.col[proper], found.data[proper]
        order = np.lexsort((column, -strength, row))
        row, column, strength = row[order], column[order], strength[order]
        rank = np.arange(len(row)) - np.searchsorted(row, row)
        kept = rank < room[row]
        blocks.append((row[kept], column[kept], strength[kept]))
    rows, columns, strengths = (np.concatenate(parts) for parts in zip(*blocks, strict=True))
    added = sp.csr_array((strengths, (rows, columns)), shape=adjacency.shape)
    return sp.csr_array(adjacency + added)


class EdgeSampler:
    """Draws directed edges in proportion to their weights."""

    def __init__(self, adjacency: sp.csr_array) -> None:
        entries = adjacency.tocoo()
        self.sources, self.targets = (
            torch.from_numpy(ends.astype(np.int64)) for ends in (entries.row, entries.col)
        )
        self._ends = torch.from_numpy(entries.data).cumsum(0)

    def __len__(self) -> int:
        return len(self.sources)

    def draw(
        self, num_draws: int, generator: torch.Generator
    ) -> tuple[Int[Tensor, " draws"], Int[Tensor, " draws"]]:
        """Draw the sources and targets of ``num_draws`` edges."""
        points = torch.rand(num_draws, generator=generator, dtype=torch.float64) * self._ends[-1]
        drawn = torch.searchsorted(self._ends, points, right=True).clamp_(max=len(self) - 1)
        return self.sources[drawn], self.targets[drawn]


class OrderTrainer:
    """Learns the vectors of one order of proximity."""

    def __init__(
        self, adjacency: sp.csr_array, method: "Line", *, is_first: bool, seed: int
    ) -> None:
        if is_first:
            adjacency = sp.csr_array(adjacency + adjacency.T)
        degrees = torch.from_numpy(adjacency.sum(axis=1))
        purpose = f"line order {1 if is_first else 2}"
        start = small_vectors(len(degrees), method.dim // 2, generator_for(seed, purpose))
        self._sampler = EdgeSampler(adjacency)
        self._noise = Noise(degrees)
        self._vectors = AdagradTable(start * (degrees > 0).unsqueeze(1))
        self._contexts = self._vectors if is_first else AdagradTable(torch.zeros_like(start))
        self._batch_size = math.ceil(len(self._sampler) / UPDATES_PER_ROUND)
        self._method, self._part = method, 0 if is_first else 1
        self._generator = generator_for(seed, f"line edges {self._part + 1}")

    def run(self) -> Float[Tensor, "vertices half"]:
        """Learn u of every vertex, scaled to length one."""
        num_updates = self._method.samples_per_edge * UPDATES_PER_ROUND
        for update in track(range(num_updates), part=self._part, of=2):
            for first in range(0, self._batch_size, CHUNK):
                self._collect(min(CHUNK, self._batch_size - first))
            for table in dict.fromkeys((self._vectors, self._contexts)):
                table.climb(self._method.learning_rate * (1 - update / num_updates))
        return normalize(self._vectors.values)

    def _collect(self, num_edges: int) -> None:
        """Sample edges and negatives and add their gradients."""
        sources, targets = self._sampler.draw(num_edges, self._generator)
        drawn = self._noise.draw(num_edges * self._method.num_negatives, self._generator)
        gradients = edge_gradients(
            self._vectors.values.index_select(0, sources),
            self._contexts.values.index_select(0, targets),
            self._contexts.values.index_select(0, drawn).unflatten(0, (num_edges, -1)),
        )
        self._vectors.collect(sources, gradients.inputs)
        self._contexts.collect(targets, gradients.contexts)
        self._contexts.collect(drawn, gradients.negatives.flatten(0, 1))


@dataclass(frozen=True, slots=True, kw_only=True)
class Line:
    """First- and second-order proximity, concatenated (Tang et al. 2015)."""

    dim: int = 200
    """The width of a vector, half of it for each order; DMTE's paper compares all methods at 200
    (the authors' scripts have 128 or 200 for each order)."""
    num_negatives: int = 5
    """Negatives per edge, K (Tang et al. 2015)."""
    min_neighbors: int = 20
    """Vertices with fewer neighbors get their strongest second-order ones up to this number, direct
    neighbors included again; 0 adds none. The authors' script goes up to 1000 on YouTube's sparse
    network; on edges held out from the training edges of Cora's split 100, 20 gains nearly as
    much."""
    samples_per_edge: int = 50
    """Edges sampled for each order, divided by the number of directed edges. The authors' script
    draws ten billion for YouTube; 50 did as well as 100 on Cora's training edges."""
    learning_rate: float = 0.025
    """Initial step size, decayed linearly to zero (Tang et al. 2015, without AdaGrad)."""

    def __post_init__(self) -> None:
        require_positive(self, "dim", "num_negatives", "samples_per_edge", "learning_rate")
        require_even(self.dim)
        if self.min_neighbors < 0:
            raise ConfigError(f"min_neighbors must be at least 0, not {self.min_neighbors}")

    def fit(self, network: TextualNetwork, seed: int) -> Embedding:
        """Learn both orders; the same seed gives the same vectors."""
        vectors = torch.zeros(network.num_vertices, self.dim)
        linked = linked_vertices(network)
        if len(linked):
            direct = network.adjacency()[linked.numpy()][:, linked.numpy()]
            adjacency = add_second_neighbors(direct, self.min_neighbors)
            orders = [
                OrderTrainer(adjacency, self, is_first=is_first, seed=seed).run()
                for is_first in (True, False)
            ]
            vectors[linked] = torch.cat(orders, dim=1)
        return Embedding(network.ids, vectors, text_dim=0)
