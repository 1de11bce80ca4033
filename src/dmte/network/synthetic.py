"""Small random networks with planted topics, for tests and experiments.

Every vertex has a topic. Its words are the topic's own or common to all topics. Its edges lead to
the same topic or anywhere. A method that reads texts or edges can recover the topics.
"""

from dataclasses import dataclass

import torch

from dmte.network.textual_network import TextualNetwork


@dataclass(frozen=True, slots=True, kw_only=True)
class PlantedTopics:
    """Distribution of networks with planted topics.

    >>> network = PlantedTopics(num_vertices=60, num_topics=3).draw(torch.Generator())
    >>> network
    TextualNetwork(60 vertices, 180 undirected edges, 3 labels)
    """

    num_vertices: int = 120
    num_topics: int = 4
    edges_per_vertex: int = 3
    words_per_text: int = 12
    words_per_topic: int = 40
    same_topic_probability: float = 0.9
    """Probability that an edge stays within its topic."""
    own_word_probability: float = 0.6
    """Probability that a word is the topic's own."""

    def draw(self, generator: torch.Generator) -> TextualNetwork:
        """Draw a network; vertex i has topic i modulo the number of topics."""
        topics = torch.arange(self.num_vertices) % self.num_topics
        return TextualNetwork(
            ids=tuple(f"v{vertex}" for vertex in range(self.num_vertices)),
            texts=self._texts(topics, generator),
            edges=self._edges(topics, generator),
            labels=tuple(frozenset({f"topic {topic}"}) for topic in topics.tolist()),
        )

    def _texts(self, topics: torch.Tensor, generator: torch.Generator) -> tuple[str, ...]:
        shape = (self.num_vertices, self.words_per_text)
        numbers = torch.randint(self.words_per_topic, shape, generator=generator)
        is_own = torch.rand(shape, generator=generator) < self.own_word_probability
        owners = torch.where(is_own, topics.unsqueeze(1), self.num_topics)
        return tuple(
            " ".join(f"w{owner}x{number}" for owner, number in zip(*row, strict=True))
            for row in zip(owners.tolist(), numbers.tolist(), strict=True)
        )

    def _edges(self, topics: torch.Tensor, generator: torch.Generator) -> torch.Tensor:
        sources = torch.arange(self.num_vertices).repeat_interleave(self.edges_per_vertex)
        anywhere = torch.randint(1, self.num_vertices, sources.shape, generator=generator)
        per_topic = -(-self.num_vertices // self.num_topics)
        steps = torch.randint(1, per_topic, sources.shape, generator=generator) * self.num_topics
        within = torch.rand(sources.shape, generator=generator) < self.same_topic_probability
        # Past the last vertex, wrap around to the first one of the same topic.
        same = sources + steps
        wrapped = topics[sources] + (same - self.num_vertices) // self.num_topics * self.num_topics
        same = torch.where(same < self.num_vertices, same, wrapped)
        same = torch.where(same == sources, (sources + 1) % self.num_vertices, same)
        targets = torch.where(within, same, (sources + anywhere) % self.num_vertices)
        return torch.stack([sources, targets], dim=1)
