"""The case study (section 5.3): the papers of DBLP closest to one paper."""

from dataclasses import dataclass
from typing import Any, ClassVar

from dmte.embedding.embedding import Embedding
from dmte.errors import ConfigError
from dmte.evaluation.jobs import Job, cost
from dmte.network import TextualNetwork
from dmte.runtime.memory import measure

QUERY = "The K-D-B-Tree: A Search Structure For Large Multidimensional Dynamic Indexes."
PRINTED = (
    "The R+-Tree: A Dynamic Index for Multi-Dimensional Objects.",
    "The SR-tree: An Index Structure for High-Dimensional Nearest Neighbor Queries.",
    "Segment Indexes: Dynamic Indexing Techniques for Multi-Dimensional Interval Data.",
    "Generalized Search Trees for Database Systems.",
    "High Performance Clustering Based on the Similarity Join.",
)
"""Table 3, best first."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CaseJob(Job):
    """The five vertices closest to ``QUERY`` by cosine."""

    kind: ClassVar[str] = "CaseCell"

    def check(self, network: TextualNetwork) -> None:
        """Find the query and the papers of Table 3."""
        for title in (QUERY, *PRINTED):
            _find(network, title)

    def run(self, network: TextualNetwork) -> dict[str, Any]:
        """Fit, and return the closest titles and those of Table 3 with ranks and links."""
        query = _find(network, QUERY)
        fit = measure(lambda: self.configured_method().fit(network, self.seed))
        if not isinstance(fit.result, Embedding):
            raise ConfigError(f"{self.method} has no vectors to search")
        ranked = fit.result.most_similar(network.ids[query], network.num_vertices)
        ranks = {neighbor.id: rank for rank, neighbor in enumerate(ranked, start=1)}
        touching = network.edges[(network.edges == query).any(dim=1)]
        linked = set(touching.flatten().tolist())
        closest = [network.position(neighbor.id) for neighbor in ranked[: len(PRINTED)]]
        rows = {
            name: [
                {
                    "text": network.texts[vertex],
                    "rank": ranks[network.ids[vertex]],
                    "linked": vertex in linked,
                }
                for vertex in vertices
            ]
            for name, vertices in (
                ("closest", closest),
                ("printed", [_find(network, title) for title in PRINTED]),
            )
        }
        return {"query": QUERY} | rows | cost(fit)


def _find(network: TextualNetwork, title: str) -> int:
    """Find the vertex whose text is ``title``.

    Raises:
        ConfigError: No vertex has this text.
    """
    try:
        return list(network.texts).index(title)
    except ValueError as problem:
        raise ConfigError(
            f"no text of the network is {title!r}; use the data set dblp"
        ) from problem
