"""DeepWalk and Node2Vec: random walks read as sentences.

A walker on v steps to x with probability proportional to

    DeepWalk (Perozzi et al. 2014)        s_vx
    Node2Vec (Grover and Leskovec 2016)   s_vx α(t, x), having come from t, with α = 1/p if x = t,
                                          1 if an edge leads from t to x, and 1/q otherwise

All walkers step together on the rows of S. Node2Vec proposes DeepWalk's step and accepts it with
probability α / max α, which needs no table per edge. A walk ends at a vertex that no edge leaves.
Both learn by skip-gram with negative sampling, as Node2Vec's authors do (except for shared
negatives, see ``skipgram``). DeepWalk's authors use a hierarchical softmax and networks without
weights; our walks follow the weights, and ours is Node2Vec with p = q = 1.

An isolated vertex has the zero vector.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp
import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from dmte.baselines.skipgram import ENDED, SkipGram, linked_vertices, require_positive
from dmte.embedding.embedding import Embedding
from dmte.network import TextualNetwork
from dmte.runtime.progress import track
from dmte.runtime.seeding import generator_for


@dataclass(frozen=True, slots=True, eq=False)
class Walker:
    """The rows of S, and p and q of Node2Vec; DeepWalk has 1 and 1."""

    offsets: Int[Tensor, " rows_and_one"]
    targets: Int[Tensor, " entries"]
    ends: Float[Tensor, " entries"]
    """Cumulative shares: the entries of row i divide [i, i + 1) by weight."""
    keys: Int[Tensor, " entries"]
    """Source and target of every entry as one number, ascending."""
    return_parameter: float = 1.0
    in_out_parameter: float = 1.0

    @classmethod
    def on(
        cls, adjacency: sp.csr_array, return_parameter: float = 1.0, in_out_parameter: float = 1.0
    ) -> "Walker":
        """Prepare walks on S, whose columns must be sorted."""
        num_vertices = adjacency.shape[0]
        counts = np.diff(adjacency.indptr)
        sources = np.repeat(np.arange(num_vertices), counts)
        shares = adjacency.data / adjacency.sum(axis=1)[sources]
        sums = np.concatenate([[0.0], np.cumsum(shares)])
        ends = sources + (sums[1:] - sums[adjacency.indptr[sources]])
        return cls(
            torch.from_numpy(adjacency.indptr.astype(np.int64)),
            torch.from_numpy(adjacency.indices.astype(np.int64)),
            torch.from_numpy(ends),
            torch.from_numpy(sources * num_vertices + adjacency.indices),
            return_parameter,
            in_out_parameter,
        )

    def walk(
        self, starts: Int[Tensor, " walks"], length: int, generator: torch.Generator
    ) -> Int[Tensor, "walks length"]:
        """Walk ``length`` vertices from every start; ENDED follows a dead end."""
        walks = torch.full((len(starts), length), ENDED, dtype=torch.int64)
        walks[:, 0] = starts
        walking = torch.arange(len(starts))
        for step in range(1, length):
            at = walks[walking, step - 1]
            has_edge = self.offsets[at + 1] > self.offsets[at]
            walking, at = walking[has_edge], at[has_edge]
            if step == 1 or self.return_parameter == self.in_out_parameter == 1:
                walks[walking, step] = self._propose(at, generator)
            else:
                walks[walking, step] = self._step(walks[walking, step - 2], at, generator)
        return walks

    def walk_from_all(
        self, linked: Int[Tensor, " linked"], length: int, seed: int, number: int
    ) -> Int[Tensor, "linked length"]:
        """Draw the walks of pass ``number``: one from every linked vertex, in random order."""
        generator = generator_for(seed, "walks", number)
        starts = linked[torch.randperm(len(linked), generator=generator)]
        return self.walk(starts, length, generator)

    def _propose(
        self, at: Int[Tensor, " walks"], generator: torch.Generator
    ) -> Int[Tensor, " walks"]:
        """Draw a step from each vertex by the weights of its edges."""
        points = at + torch.rand(len(at), generator=generator, dtype=torch.float64)
        entries = torch.searchsorted(self.ends, points, right=True)
        # Rounding may put a point beyond the end of its row.
        entries = torch.minimum(entries, self.offsets[at + 1] - 1)
        return self.targets[torch.maximum(entries, self.offsets[at])]

    def _step(
        self, before: Int[Tensor, " walks"], at: Int[Tensor, " walks"], generator: torch.Generator
    ) -> Int[Tensor, " walks"]:
        """Draw a step from each vertex by weight and bias: propose until accepted."""
        inverse = (1 / self.return_parameter, 1.0, 1 / self.in_out_parameter)
        has_choice = self.offsets[at + 1] - self.offsets[at] > 1
        reached = torch.empty_like(at)
        waiting = torch.arange(len(at))
        while len(waiting):
            proposed = self._propose(at[waiting], generator)
            other = torch.where(self._is_edge(before[waiting], proposed), inverse[1], inverse[2])
            bias = torch.where(proposed == before[waiting], inverse[0], other)
            bar = torch.rand(len(waiting), generator=generator) * max(inverse)
            accepted = (bar < bias) | ~has_choice[waiting]
            reached[waiting[accepted]] = proposed[accepted]
            waiting = waiting[~accepted]
        return reached

    def _is_edge(
        self, sources: Int[Tensor, " pairs"], targets: Int[Tensor, " pairs"]
    ) -> Bool[Tensor, " pairs"]:
        keys = sources * (len(self.offsets) - 1) + targets
        found = torch.searchsorted(self.keys, keys).clamp_(max=len(self.keys) - 1)
        return self.keys[found] == keys


@dataclass(frozen=True, slots=True, kw_only=True)
class WalkSettings:
    """Walks and skip-gram over them; a method gives the defaults and their sources."""

    dim: int
    walks_per_vertex: int
    walk_length: int
    window: int
    num_negatives: int
    learning_rate: float

    def __post_init__(self) -> None:
        require_positive(self, "walks_per_vertex", "walk_length")
        self.skip_gram()

    def skip_gram(self) -> SkipGram:
        """Return skip-gram with these settings."""
        return SkipGram(
            dim=self.dim,
            window=self.window,
            num_negatives=self.num_negatives,
            learning_rate=self.learning_rate,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class DeepWalk(WalkSettings):
    """Uniform or weighted walks, read by skip-gram (Perozzi et al. 2014)."""

    dim: int = 200
    """The width of a vector; DMTE's paper compares all methods at 200, DeepWalk's has 128."""
    walks_per_vertex: int = 80
    """Walks that start at every vertex, γ (Perozzi et al. 2014)."""
    walk_length: int = 40
    """Vertices per walk, t (Perozzi et al. 2014)."""
    window: int = 10
    """Largest distance of two positions that predict each other, w (Perozzi et al. 2014)."""
    num_negatives: int = 5
    """Negatives per pair, K; DeepWalk has a hierarchical softmax, Mikolov et al. (2013) propose
    5 to 20 for small data."""
    learning_rate: float = 0.05
    """AdaGrad's initial step size, decayed linearly to zero. Word2vec's plain steps start at 0.025;
    0.05 did better for Node2Vec and about as well for DeepWalk on edges held out from the training
    edges of Cora's split 100."""

    def fit(self, network: TextualNetwork, seed: int) -> Embedding:
        """Walk and learn; the same seed gives the same vectors."""
        return _fit(self, Walker.on(network.adjacency()), network, seed)


@dataclass(frozen=True, slots=True, kw_only=True)
class Node2Vec(WalkSettings):
    """Biased walks read by skip-gram (Grover and Leskovec 2016)."""

    dim: int = 200
    """The width of a vector; DMTE's paper compares all methods at 200, Node2Vec's has 128."""
    return_parameter: float = 4.0
    """p: the larger, the rarer a step back. Grover and Leskovec choose p and q among 1/4, 1/2, 1,
    2 and 4 per network; (4, 1) was best of (1, 1), (4, 1) and (1, 1/4), and those three among the
    best of seven, on edges held out from the training edges of Cora's splits 100 and 101."""
    in_out_parameter: float = 1.0
    """q: the larger, the closer a walk stays to its previous vertex; chosen with p."""
    walks_per_vertex: int = 10
    """Walks that start at every vertex, r (Grover and Leskovec 2016)."""
    walk_length: int = 80
    """Vertices per walk, l (Grover and Leskovec 2016)."""
    window: int = 10
    """Largest distance of two positions that predict each other, k (Grover and Leskovec 2016)."""
    num_negatives: int = 5
    """Negatives per pair, K; the default of word2vec, which Node2Vec's authors use."""
    learning_rate: float = 0.05
    """AdaGrad's initial step size, decayed linearly to zero; chosen as DeepWalk's."""

    def __post_init__(self) -> None:
        WalkSettings.__post_init__(self)
        require_positive(self, "return_parameter", "in_out_parameter")

    def fit(self, network: TextualNetwork, seed: int) -> Embedding:
        """Walk and learn; the same seed gives the same vectors."""
        walker = Walker.on(network.adjacency(), self.return_parameter, self.in_out_parameter)
        return _fit(self, walker, network, seed)


def _fit(method: WalkSettings, walker: Walker, network: TextualNetwork, seed: int) -> Embedding:
    """Learn the vectors of the linked vertices; the others are zero."""
    linked = linked_vertices(network)
    vectors = torch.zeros(network.num_vertices, method.dim)
    if len(linked):
        passes = _passes(method, walker, linked, seed)
        skip_gram = method.skip_gram()
        vectors[linked] = skip_gram.fit(passes, method.walks_per_vertex, len(linked), seed)
    return Embedding(network.ids, vectors, text_dim=0)


def _passes(
    method: WalkSettings, walker: Walker, linked: Int[Tensor, " linked"], seed: int
) -> Iterator[Int[Tensor, "walks length"]]:
    """Yield the walks of every pass, with vertices numbered by their place in ``linked``."""
    for number in track(range(method.walks_per_vertex)):
        walks = walker.walk_from_all(linked, method.walk_length, seed, number)
        yield torch.where(walks == ENDED, ENDED, torch.searchsorted(linked, walks))
