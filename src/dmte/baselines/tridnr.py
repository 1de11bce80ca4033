"""TriDNR, tri-party deep network representation (Pan et al. 2016).

One vector u per vertex learns to predict the vertices on its walks and the words of its text. If
labels are given, a vector per class predicts the words of the vertices of that class:

    (1 - α) Σ_walks log p(v_j | u_i) + α Σ_texts log p(w | u_i) + α Σ_given log p(w | u_class)

with v_i and v_j at most a window apart. Words are shared, so a class affects its vertices through
their common words. The first sum is that of ``skipgram``, the others that of ``doc2vec``, with
negative sampling in place of the paper's hierarchical softmax.

The balance of plain sums depends on the number and length of walks. Here they are means over pairs
and over words, so α means the same on any network. The authors' released code instead alternates
between two models: before its turn, a model's vectors are replaced by the mean of both models'
vectors, weighted by α. It returns the vectors of the text model.

The network's own labels are never used, since they may include those of test vertices; only
``TriDnr.labels`` counts. ``tridnr`` has none and learns from walks and texts. ``tridnr-labels`` is
the paper's complete method, which classification gives the labels of the training vertices; link
prediction has no training vertices and leaves it out. Every vector is divided by its length, so a
dot product is a cosine. A vertex without edges has a vector of its text alone, one without text a
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
from dmte.baselines.random_walks import Walker, WalkSettings
from dmte.baselines.skipgram import (
    CHUNK,
    ENDED,
    UPDATES_PER_PASS,
    AdagradTable,
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
    """The texts to read, and the row that predicts the words of each."""

    texts: Int[Tensor, " readings"]
    rows: Int[Tensor, " readings"]
    num_rows: int

    @classmethod
    def of(cls, network: TextualNetwork, labels: Sequence[tuple[str, str]]) -> "Readings":
        """Read every text for its vertex, and labelled ones again for their class.

        Raises:
            UnknownVertexError: The network has no vertex with the id of a label.
        """
        vertices = torch.arange(network.num_vertices)
        classes = sorted({name for _, name in labels})
        rows = {name: len(vertices) + number for number, name in enumerate(classes)}
        labelled = torch.tensor([network.position(vertex) for vertex, _ in labels]).long()
        class_rows = torch.tensor([rows[name] for _, name in labels]).long()
        return cls(
            torch.cat([vertices, labelled]),
            torch.cat([vertices, class_rows]),
            len(vertices) + len(classes),
        )


class TriDnrTrainer:
    """Learns the vectors of vertices and classes."""

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
        """Draw the walks of pass ``number``."""
        length = self._method.walk_length
        return self._walker.walk_from_all(self._linked, length, self._seed, number)

    def read(self, number: int) -> None:
        """Learn from a walk from every vertex and from every text."""
        method, generator = self._method, generator_for(self._seed, "tridnr", number)
        walks = self.walk(number).tensor_split(UPDATES_PER_PASS)
        texts = self._text_reader.draw_order(generator).tensor_split(UPDATES_PER_PASS)
        for step, (some_walks, some_texts) in enumerate(zip(walks, texts, strict=True)):
            self._walk_reader.collect(some_walks, generator, 1 - method.text_weight)
            text_weight = method.text_weight * self._pairs_per_word
            self._text_reader.collect(some_texts, generator, text_weight)
            done = (number + step / UPDATES_PER_PASS) / method.walks_per_vertex
            for table in (self._inputs, self._walk_reader, self._text_reader):
                table.climb(method.learning_rate * (1 - done))


@dataclass(frozen=True, slots=True, kw_only=True)
class TriDnr(WalkSettings):
    """Walks, texts and, if given, classes in one vector (Pan et al. 2016)."""

    dim: int = 200
    """The width of a vector; DMTE's paper compares all methods at 200, the authors' code has
    300."""
    text_weight: float = 0.8
    """α, the share of the texts; 0.8 in the authors' code. On edges held out from the training
    edges of Cora's split 100, after 20 walks, the AUC was 92.0 with it and 90.5 with 0.5."""
    walks_per_vertex: int = 40
    """Walks that start at every vertex, and passes over the texts. The authors' code has 20 walks
    of 8 to 10 vertices and makes 10 passes over walks and texts. On the same edges the AUC was
    89.8, 92.0 and 92.8 after 10, 20 and 40."""
    walk_length: int = 40
    """Vertices per walk; DeepWalk's, which the paper builds on."""
    window: int = 10
    """Largest distance of two positions that predict each other; DeepWalk's."""
    num_negatives: int = 5
    """Negatives per vertex and per word, K; the authors' code has 5 and a softmax as well."""
    subsampling: float = 1e-3
    """t: words of a higher frequency are subsampled; as Doc2Vec's. With 1e-5 the AUC on the same
    edges was 87.7 after 20 walks."""
    learning_rate: float = 0.05
    """AdaGrad's initial step size, decayed linearly to zero; as DeepWalk's."""
    labels: Sequence[tuple[str, str]] = ()
    """(id, class) of the vertices whose classes are learned from, one entry per class. An
    evaluation must give those of training vertices only."""

    def __post_init__(self) -> None:
        WalkSettings.__post_init__(self)
        require_positive(self, "subsampling")
        if not 0 < self.text_weight < 1:
            raise ConfigError(
                f"text_weight must be between 0 and 1, not {self.text_weight}; "
                "use deepwalk for walks alone, doc2vec for texts alone"
            )

    def fit(self, network: TextualNetwork, seed: int) -> Embedding:
        """Learn from walks, texts and the given labels; the same seed gives the same vectors."""
        trainer = TriDnrTrainer(self, network, seed)
        for number in track(range(self.walks_per_vertex)):
            trainer.read(number)
        # Every column is learned from the text as well as from the walks.
        return Embedding(network.ids, normalize(trainer.vectors()), text_dim=self.dim)


@dataclass(frozen=True, slots=True, kw_only=True)
class TriDnrLabels(TriDnr):
    """Walks, texts and the classes of training vertices (Pan et al. 2016)."""

    def with_labels(self, labels: Sequence[tuple[str, str]]) -> "TriDnrLabels":
        """Return the method with these pairs of id and class."""
        return replace(self, labels=tuple(labels))

    def fit(self, network: TextualNetwork, seed: int) -> Embedding:
        """Learn from walks, texts and labels; the same seed gives the same vectors.

        Raises:
            ConfigError: There are no labels.
        """
        if not self.labels:
            raise ConfigError(
                "tridnr-labels needs labels and was given none; pass them to with_labels or use "
                "tridnr"
            )
        return TriDnr.fit(self, network, seed)


def count_pairs(walks: Int[Tensor, "walks length"], window: int) -> int:
    """Count the pairs of positions that predict each other, in both directions."""
    chunks = walks.split(CHUNK)
    return sum(int(pair_weights(chunk != ENDED, window).sum()) for chunk in chunks)
