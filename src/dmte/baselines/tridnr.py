"""TriDNR, tri-party deep network representation (Pan et al. 2016).

One vector u per vertex learns to predict the vertices met on walks and the words of the vertex's
text; where classes are handed in, the vector of a class predicts the words of its vertices:

    (1 - α) Σ_walks log p(v_j | u_i) + α Σ_texts log p(w | u_i) + α Σ_given log p(w | u_class)

with v_i and v_j at most a window apart. The words are shared, so a class moves its vertices
through the words they have in common. The first sum is that of ``skipgram``, the others are that of
``doc2vec``, all with negative sampling where the paper has a hierarchical softmax.

As the sums stand, their balance hangs on how many walks there are and how long. Here they are means
over the pairs of the walks and over the words, so that α is what it says on any network. The
vectors are one table, as in the formula. The code that the authors released differs: it trains two
models by turns, moves the vectors of each to a mean of both, weighted by α, before its turn, and
returns those of the texts.

The network's own labels are never looked at, since those of test vertices may be among them: only
``TriDnr.labels`` counts. ``tridnr`` has none, and learns from walks and texts. ``tridnr-labels`` is
the paper's whole method: classification hands it the labels of the training vertices. Link
prediction has no such vertices, and leaves it out. Every vector is divided by its length, so a dot
product is a cosine. A vertex without edges has a vector of its text alone, one without text a
vector of its walks alone, and one with neither the zero vector.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import torch
from jaxtyping import Float, Int
from torch import Tensor
from torch.nn.functional import normalize

from dmte.baselines.doc2vec import TextReader
from dmte.baselines.random_walks import Walker
from dmte.baselines.skipgram import (
    CHUNK,
    ENDED,
    UPDATES_PER_PASS,
    AdagradTable,
    SkipGram,
    WalkReader,
    count_visits,
    linked_vertices,
    pair_weights,
    require_positive,
    small_vectors,
)
from dmte.embedding.embedding import Embedding
from dmte.errors import ConfigError
from dmte.network import TextualNetwork
from dmte.runtime.progress import track
from dmte.runtime.seeding import generator_for
from dmte.text import tokenized


class Readings(NamedTuple):
    """Which texts are read, and the row that predicts the words of each."""

    texts: Int[Tensor, " readings"]
    rows: Int[Tensor, " readings"]
    num_rows: int

    @classmethod
    def of(cls, network: TextualNetwork, labels: Sequence[tuple[str, str]]) -> "Readings":
        """Return every text for its vertex, and those in ``labels`` once more for their class.

        Raises:
            UnknownVertexError: A label is that of no vertex.
        """
        everyone = torch.arange(network.num_vertices)
        classes = sorted({name for _, name in labels})
        rows = {name: len(everyone) + number for number, name in enumerate(classes)}
        again = torch.tensor([network.position(vertex) for vertex, _ in labels]).long()
        of_classes = torch.tensor([rows[name] for _, name in labels]).long()
        return cls(
            torch.cat([everyone, again]),
            torch.cat([everyone, of_classes]),
            len(everyone) + len(classes),
        )


class TriDnrTrainer:
    """The vectors of vertices and classes, and what they predict, while they are learned."""

    def __init__(self, method: "TriDnr", network: TextualNetwork, seed: int) -> None:
        self._method, self._seed, self._num_vertices = method, seed, network.num_vertices
        self._linked, self._walker = linked_vertices(network), Walker.on(network.adjacency())
        walks = self.walk(0)
        visits = count_visits(walks, network.num_vertices)
        _, texts = tokenized(network.texts)
        readings = Readings.of(network, method.labels)
        start = small_vectors(readings.num_rows, method.dim, generator_for(seed, "tridnr start"))
        start[: network.num_vertices][(visits == 0) & (texts.lengths() == 0)] = 0
        self._inputs = AdagradTable(start)
        self._walk_reader = WalkReader(method.skip_gram(), self._inputs, visits)
        self._text_reader = TextReader(
            texts.select(readings.texts),
            readings.rows,
            self._inputs,
            num_negatives=method.num_negatives,
            subsampling=method.subsampling,
        )
        pairs, words = count_pairs(walks, method.window), self._text_reader.words_per_pass()
        self._pairs_per_word = pairs / words if pairs and words else 1.0

    def vectors(self) -> Float[Tensor, "vertices dim"]:
        """Return u of every vertex."""
        return self._inputs.values[: self._num_vertices]

    def walk(self, number: int) -> Int[Tensor, "linked length"]:
        """Return the walks of pass ``number``."""
        length = self._method.walk_length
        return self._walker.walk_from_all(self._linked, length, self._seed, number)

    def read(self, number: int) -> None:
        """Learn from a walk from every vertex and from every text once."""
        generator = generator_for(self._seed, "tridnr", number)
        for step, (walks, texts) in enumerate(self.batches(number, generator)):
            done = (number + step / UPDATES_PER_PASS) / self._method.walks_per_vertex
            self.update(walks, texts, self._method.learning_rate * (1 - done), generator)

    def batches(
        self, number: int, generator: torch.Generator
    ) -> list[tuple[Int[Tensor, "some length"], Int[Tensor, " others"]]]:
        """Return the walks and the texts of every update of a pass; some may be none."""
        walks = self.walk(number).tensor_split(UPDATES_PER_PASS)
        texts = self._text_reader.draw_order(generator).tensor_split(UPDATES_PER_PASS)
        return list(zip(walks, texts, strict=True))

    def update(
        self,
        walks: Int[Tensor, "some length"],
        texts: Int[Tensor, " others"],
        rate: float,
        generator: torch.Generator,
    ) -> None:
        """Make one step along the weighted gradients of both."""
        text_weight = self._method.text_weight
        self._walk_reader.collect(walks, generator, 1 - text_weight)
        self._text_reader.collect(texts, generator, text_weight * self._pairs_per_word)
        for table in (self._inputs, self._walk_reader, self._text_reader):
            table.climb(rate)


@dataclass(frozen=True, slots=True, kw_only=True)
class TriDnr:
    """Walks, texts and, if handed in, classes in one vector (Pan et al. 2016)."""

    dim: int = 200
    """The width of a vector; DMTE's paper compares all methods at 200, the authors' code has
    300."""
    text_weight: float = 0.8
    """α, the share of the texts; 0.8 in the authors' code. On edges held back from the training
    edges of Cora's split 100, after 20 walks, the AUC was 92.0 with it and 90.5 with 0.5."""
    walks_per_vertex: int = 40
    """Walks that start at every vertex, and passes over the texts. The authors' code has 20 walks
    of 8 to 10 vertices and passes 10 times over them and the texts. On the same edges the AUC
    was 89.8, 92.0 and 92.8 after 10, 20 and 40."""
    walk_length: int = 40
    """Vertices per walk; DeepWalk's, which the paper builds on."""
    window: int = 10
    """How far apart two positions predict each other; DeepWalk's."""
    num_negatives: int = 5
    """Negatives per vertex and per word, K; 5 in the authors' code, beside its softmax."""
    subsampling: float = 1e-3
    """t: words of a higher frequency are thinned out; as Doc2Vec's. With 1e-5 the AUC on the same
    edges was 87.7 after 20 walks."""
    learning_rate: float = 0.05
    """Where AdaGrad's step size starts, to fall to zero linearly; as DeepWalk's."""
    labels: Sequence[tuple[str, str]] = ()
    """(id, class) of the vertices whose class may be learned from; one with several classes stands
    there several times. Whoever evaluates must hand in no more than the training vertices."""

    def __post_init__(self) -> None:
        for name in ("walks_per_vertex", "walk_length", "subsampling"):
            require_positive(name, getattr(self, name))
        if not 0 < self.text_weight < 1:
            raise ConfigError(
                f"text_weight must be between 0 and 1, not {self.text_weight}; "
                "deepwalk reads walks alone and doc2vec texts alone"
            )
        self.skip_gram()

    def skip_gram(self) -> SkipGram:
        """Return what the walks are read with."""
        return SkipGram(
            dim=self.dim,
            window=self.window,
            num_negatives=self.num_negatives,
            learning_rate=self.learning_rate,
        )

    def fit(self, network: TextualNetwork, seed: int) -> Embedding:
        """Learn from walks, texts and the classes handed in; the same seed gives the same bits."""
        trainer = TriDnrTrainer(self, network, seed)
        for number in track(range(self.walks_per_vertex)):
            trainer.read(number)
        # Every column comes from the text, and from the walks as well.
        return Embedding(network.ids, normalize(trainer.vectors()), text_dim=self.dim)


@dataclass(frozen=True, slots=True, kw_only=True)
class TriDnrLabels(TriDnr):
    """All three parties: walks, texts and the classes of training vertices (Pan et al. 2016)."""

    def with_labels(self, labels: Sequence[tuple[str, str]]) -> "TriDnrLabels":
        """Return the method that learns from these (id, class)."""
        return replace(self, labels=tuple(labels))

    def fit(self, network: TextualNetwork, seed: int) -> Embedding:
        """Learn from walks, texts and the classes handed in; the same seed gives the same bits.

        Raises:
            ConfigError: There are none, with which it would be another method.
        """
        if not self.labels:
            raise ConfigError(
                "tridnr-labels learns from labels and was given none; with_labels hands them in, "
                "and tridnr does without"
            )
        return TriDnr.fit(self, network, seed)


def count_pairs(walks: Int[Tensor, "walks length"], window: int) -> int:
    """Return how many pairs of positions predict each other, both ways."""
    chunks = walks.split(CHUNK)
    return sum(int(pair_weights(chunk != ENDED, window).sum()) for chunk in chunks)
