"""Random walks, and the two methods that read them as sentences: DeepWalk and Node2Vec.

A walker on v steps to x with probability proportional to

    DeepWalk (Perozzi et al. 2014)        s_vx
    Node2Vec (Grover and Leskovec 2016)   s_vx α(t, x), having come from t, with α = 1/p if x = t,
                                          1 if an edge leads from t to x, and 1/q otherwise

All walkers step together on the rows of S. Node2Vec proposes as DeepWalk steps and accepts with
probability α / max α, which needs no table per edge. A walk ends where no edge leads on. Both
then learn by skip-gram with negative sampling. That is Node2Vec's own objective (except for how
negatives are shared, see ``skipgram``), but DeepWalk's has a hierarchical softmax in its place:
ours is Node2Vec's case p = q = 1. Its walks are uniform, of networks without weights; ours follow
weights where there are some.

Isolated vertices get the zero vector.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp
import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from dmte.baselines.skipgram import (
    ENDED,
    SkipGram,
    linked_vertices,
    require_positive,
)
from dmte.embedding.embedding import Embedding
from dmte.network import TextualNetwork
from dmte.runtime.progress import track
from dmte.runtime.seeding import generator_for


@dataclass(frozen=True, slots=True, eq=False)
class Walker:
    """The rows of S, ready to be walked on; p and q are Node2Vec's, 1 and 1 DeepWalk's."""

    offsets: Int[Tensor, " rows_and_one"]
    targets: Int[Tensor, " entries"]
    ends: Float[Tensor, " entries"]
    """Row i is spread over [i, i + 1): where the stretch of each of its entries ends."""
    keys: Int[Tensor, " entries"]
    """Source and target of every entry as one number, ascending."""
    return_parameter: float = 1.0
    in_out_parameter: float = 1.0

    @classmethod
    def on(
        cls, adjacency: sp.csr_array, return_parameter: float = 1.0, in_out_parameter: float = 1.0
    ) -> "Walker":
        """Return a walker on S, whose columns are sorted."""
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
        """Return one walk of ``length`` vertices from every start; ENDED after a dead end."""
        walks = torch.full((len(starts), length), ENDED, dtype=torch.int64)
        walks[:, 0] = starts
        walking = torch.arange(len(starts))
        for step in range(1, length):
            at = walks[walking, step - 1]
            goes_on = self.offsets[at + 1] > self.offsets[at]
            walking, at = walking[goes_on], at[goes_on]
            if step == 1 or self.return_parameter == self.in_out_parameter == 1:
                walks[walking, step] = self._propose(at, generator)
            else:
                walks[walking, step] = self._step(walks[walking, step - 2], at, generator)
        return walks

    def walk_from_all(
        self, linked: Int[Tensor, " linked"], length: int, seed: int, number: int
    ) -> Int[Tensor, "linked length"]:
        """Return the walks of pass ``number``: one from every vertex, in a new order."""
        generator = generator_for(seed, "walks", number)
        starts = linked[torch.randperm(len(linked), generator=generator)]
        return self.walk(starts, length, generator)

    def _propose(
        self, at: Int[Tensor, " walks"], generator: torch.Generator
    ) -> Int[Tensor, " walks"]:
        """Return a step from each vertex by the weights of its edges alone."""
        points = at + torch.rand(len(at), generator=generator, dtype=torch.float64)
        entries = torch.searchsorted(self.ends, points, right=True)
        # Rounding may put a point beyond the end of its row.
        entries = torch.minimum(entries, self.offsets[at + 1] - 1)
        return self.targets[torch.maximum(entries, self.offsets[at])]

    def _step(
        self,
        before: Int[Tensor, " walks"],
        at: Int[Tensor, " walks"],
        generator: torch.Generator,
    ) -> Int[Tensor, " walks"]:
        """Return a step from each vertex by weight and bias: propose until accepted."""
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
class DeepWalk:
    """Walks that know nothing of where they came from, read by skip-gram (Perozzi et al. 2014)."""

    dim: int = 200
    """The width of a vector; DMTE's paper compares all methods at 200, DeepWalk's has 128."""
    walks_per_vertex: int = 80
    """Walks that start at every vertex, γ (Perozzi et al. 2014)."""
    walk_length: int = 40
    """Vertices per walk, t (Perozzi et al. 2014)."""
    window: int = 10
    """How far apart two positions predict each other, w (Perozzi et al. 2014)."""
    num_negatives: int = 5
    """Negatives per pair, K; DeepWalk has a hierarchical softmax, Mikolov et al. (2013) propose
    5 to 20 for small data."""
    learning_rate: float = 0.05
    """Where AdaGrad's step size starts, to fall to zero linearly. Word2vec's plain steps start at
    0.025; 0.05 did better for Node2Vec and about as well for DeepWalk on edges held back from the
    training edges of Cora's split 100."""

    def __post_init__(self) -> None:
        _check(self)

    def fit(self, network: TextualNetwork, seed: int) -> Embedding:
        """Walk and learn; the same seed gives the same vectors."""
        return _fit(self, Walker.on(network.adjacency()), network, seed)


@dataclass(frozen=True, slots=True, kw_only=True)
class Node2Vec:
    """Biased walks read by skip-gram (Grover and Leskovec 2016)."""

    dim: int = 200
    """The width of a vector; DMTE's paper compares all methods at 200, Node2Vec's has 128."""
    return_parameter: float = 4.0
    """p: the larger, the rarer a step back. Grover and Leskovec choose p and q among 1/4, 1/2, 1,
    2 and 4 per network; (4, 1) was best of (1, 1), (4, 1) and (1, 1/4), and those three among the
    best of seven, on edges held back from the training edges of Cora's splits 100 and 101."""
    in_out_parameter: float = 1.0
    """q: the larger, the closer a walk stays to where it came from; chosen with p."""
    walks_per_vertex: int = 10
    """Walks that start at every vertex, r (Grover and Leskovec 2016)."""
    walk_length: int = 80
    """Vertices per walk, l (Grover and Leskovec 2016)."""
    window: int = 10
    """How far apart two positions predict each other, k (Grover and Leskovec 2016)."""
    num_negatives: int = 5
    """Negatives per pair, K; word2vec's default, on which Node2Vec's authors rely."""
    learning_rate: float = 0.05
    """Where AdaGrad's step size starts, to fall to zero linearly; chosen as DeepWalk's."""

    def __post_init__(self) -> None:
        _check(self)
        require_positive("return_parameter", self.return_parameter)
        require_positive("in_out_parameter", self.in_out_parameter)

    def fit(self, network: TextualNetwork, seed: int) -> Embedding:
        """Walk and learn; the same seed gives the same vectors."""
        return _fit(self, self._walker(network), network, seed)

    def _walker(self, network: TextualNetwork) -> Walker:
        return Walker.on(network.adjacency(), self.return_parameter, self.in_out_parameter)


def _check(method: DeepWalk | Node2Vec) -> None:
    require_positive("walks_per_vertex", method.walks_per_vertex)
    require_positive("walk_length", method.walk_length)
    _skip_gram(method)


def _skip_gram(method: DeepWalk | Node2Vec) -> SkipGram:
    return SkipGram(
        dim=method.dim,
        window=method.window,
        num_negatives=method.num_negatives,
        learning_rate=method.learning_rate,
    )


def _fit(
    method: DeepWalk | Node2Vec, walker: Walker, network: TextualNetwork, seed: int
) -> Embedding:
    """Return the vectors of the linked vertices in their places, zeros in the others."""
    linked = linked_vertices(network)
    vectors = torch.zeros(network.num_vertices, method.dim)
    if len(linked):
        passes = _passes(method, walker, linked, seed)
        vectors[linked] = _skip_gram(method).fit(passes, method.walks_per_vertex, len(linked), seed)
    return Embedding(network.ids, vectors, text_dim=0)


def _passes(
    method: DeepWalk | Node2Vec, walker: Walker, linked: Int[Tensor, " linked"], seed: int
) -> Iterator[Int[Tensor, "walks length"]]:
    """Yield a walk from every linked vertex, in a new order, once per pass.

    Vertices are numbered by their place in ``linked``.
    """
    for number in track(range(method.walks_per_vertex)):
        walks = walker.walk_from_all(linked, method.walk_length, seed, number)
        places = torch.searchsorted(linked, walks)
        yield torch.where(walks == ENDED, ENDED, places)
