"""Large random networks with hubs and planted topics.

They are drawn in batches of vertices, in linear time, and can be written to Parquet without being
in memory as a whole. Words follow Zipf's law. An edge leads to the j-th of n vertices with a
probability ∝ j^-γ, found from a uniform u as n u^(1 / (1 - γ)), which gives the degrees a power law
of exponent 1 + 1 / γ.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa  # type: ignore[import-untyped]
import pyarrow.compute as pc  # type: ignore[import-untyped]
import pyarrow.parquet as pq  # type: ignore[import-untyped]
import torch
from jaxtyping import Float, Int

from dmte.network.textual_network import TextualNetwork


@dataclass(frozen=True, slots=True, kw_only=True)
class LargeTopics:
    """Parameters of a large network; drawing a million vertices takes about a minute.

    >>> network = LargeTopics(num_vertices=1000).draw(seed=0)
    >>> network
    TextualNetwork(1,000 vertices, 5,000 undirected edges, 10 labels)
    >>> bool(network.adjacency().sum(axis=1).max() > 10 * 5)
    True
    """

    num_vertices: int
    edges_per_vertex: int = 5
    words_per_text: int = 30
    vertices_per_topic: int = 100
    words_per_topic: int = 50
    same_topic_probability: float = 0.8
    """Probability that an edge stays within its topic."""
    own_word_probability: float = 0.4
    """Probability that a word is one of the topic's own."""
    hub_exponent: float = 0.6
    """Exponent γ: the larger it is, the fewer vertices most edges lead to."""
    words_per_root: int = 20
    """Size of the vocabulary per square root of the number of words (Heaps' law)."""
    batch_size: int = 1 << 16
    """Vertices drawn at a time."""

    @property
    def num_topics(self) -> int:
        """Number of topics."""
        return max(1, self.num_vertices // self.vertices_per_topic)

    @property
    def vocabulary_size(self) -> int:
        """Number of different words to draw from."""
        tokens = self.num_vertices * self.words_per_text
        return max(self.words_per_topic, int(self.words_per_root * tokens**0.5))

    def draw(self, seed: int) -> TextualNetwork:
        """Draw a network in memory."""
        vertices = pa.Table.from_batches(self.vertex_batches(seed))
        ends = [np.stack(ends, axis=1) for ends in self._edges(seed)]
        return TextualNetwork(
            ids=vertices["id"].to_pylist(),
            texts=vertices["text"].to_pylist(),
            edges=torch.from_numpy(np.concatenate(ends)),
            labels=[frozenset({label}) for label in vertices["label"].to_pylist()],
        )

    def write(self, folder: Path, seed: int) -> tuple[Path, Path]:
        """Write vertices.parquet and edges.parquet, batch by batch; return their paths."""
        paths = folder / "vertices.parquet", folder / "edges.parquet"
        for path, batches in zip(
            paths, (self.vertex_batches(seed), self.edge_batches(seed)), strict=True
        ):
            first = next(batches)
            with pq.ParquetWriter(path, first.schema) as writer:
                writer.write_batch(first)
                for batch in batches:
                    writer.write_batch(batch)
        return paths

    def vertex_batches(self, seed: int) -> Iterator[pa.RecordBatch]:
        """Yield ids, texts and labels."""
        words = pa.array([f"w{number}" for number in range(self.vocabulary_size)])
        topic_of = self._places(seed) % self.num_topics
        for first, draws in self._batches(seed, "texts"):
            topics = topic_of[first : first + self.batch_size]
            numbers = self._words(topics, draws)
            bounds = np.arange(0, numbers.size + 1, self.words_per_text, dtype=np.int32)
            lists = pa.ListArray.from_arrays(bounds, words.take(pa.array(numbers.reshape(-1))))
            ids = [f"v{vertex}" for vertex in range(first, first + len(topics))]
            labels = [f"topic {topic}" for topic in topics.tolist()]
            yield pa.record_batch(
                {"id": pa.array(ids), "text": pc.binary_join(lists, " "), "label": pa.array(labels)}
            )

    def edge_batches(self, seed: int) -> Iterator[pa.RecordBatch]:
        """Yield the ends of edges, by id."""
        for sources, targets in self._edges(seed):
            ends = {"source": sources, "target": targets}
            yield pa.record_batch(
                {
                    name: pc.binary_join_element_wise("v", pa.array(end).cast(pa.string()), "")
                    for name, end in ends.items()
                }
            )

    def _edges(
        self, seed: int
    ) -> Iterator[tuple[Int[np.ndarray, " some"], Int[np.ndarray, " some"]]]:
        """Yield sources and targets of the edges drawn by each batch of vertices."""
        place_of = self._places(seed)
        vertex_at = np.argsort(place_of)
        for first, draws in self._batches(seed, "edges"):
            batch = np.arange(first, min(first + self.batch_size, self.num_vertices))
            sources = np.repeat(batch, self.edges_per_vertex)
            places = self._targets(place_of[sources], draws)
            targets = vertex_at[places]
            # A vertex that drew itself takes its neighbor in rank.
            yield sources, np.where(targets == sources, vertex_at[places - 1], targets)

    def _places(self, seed: int) -> Int[np.ndarray, " vertices"]:
        """Return the rank of every vertex, hubs first; topics alternate along the ranks."""
        return np.random.default_rng([seed, 0]).permutation(self.num_vertices)

    def _batches(self, seed: int, purpose: str) -> Iterator[tuple[int, np.random.Generator]]:
        """Yield the first vertex of every batch and its random generator."""
        for first in range(0, self.num_vertices, self.batch_size):
            yield first, np.random.default_rng([seed, 1 + len(purpose), ord(purpose[0]), first])

    def _targets(
        self, places: Int[np.ndarray, " some"], draws: np.random.Generator
    ) -> Int[np.ndarray, " some"]:
        anywhere = self._power_law(np.float64(self.num_vertices), draws, len(places))
        topics, sizes = places % self.num_topics, self.num_vertices / self.num_topics
        within = self._power_law(np.float64(int(sizes)), draws, len(places))
        stays = draws.random(len(places)) < self.same_topic_probability
        return np.where(stays, within * self.num_topics + topics, anywhere)

    def _power_law(
        self, size: np.float64, draws: np.random.Generator, count: int
    ) -> Int[np.ndarray, " count"]:
        shares: Float[np.ndarray, " count"] = draws.random(count) ** (1 / (1 - self.hub_exponent))
        return (size * shares).astype(np.int64)

    def _words(
        self, topics: Int[np.ndarray, " batch"], draws: np.random.Generator
    ) -> Int[np.ndarray, "batch words"]:
        shape = len(topics), self.words_per_text
        common = self.vocabulary_size ** draws.random(shape) - 1
        own = self.words_per_topic ** draws.random(shape) - 1
        # A topic's own words are consecutive, at an arbitrary place in the vocabulary.
        offset = topics * 7919 % (self.vocabulary_size - self.words_per_topic + 1)
        is_own = draws.random(shape) < self.own_word_probability
        return np.where(is_own, own + offset[:, None], common).astype(np.int64)
