"""Explanations: why two vertices score as they do, in parts that add up to the score.

    v_a · v_b = v_a^t · v_b^t + v_a^s · v_b^s

The text part is a sum over hops, over vertices and over words (``score_parts``). The structure part
is a single number, since structure halves are learned or drawn as they are.
"""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import scipy.sparse as sp
import torch
from jaxtyping import Float

from dmte.diffusion.transition import transition_matrix
from dmte.errors import ConfigError
from dmte.inference.paths import Route, common_neighbors, linked, strongest_routes
from dmte.inference.score_parts import TextParts, VertexPart, WordPair, WordPart
from dmte.model.trained_model import TrainedModel

MAX_ROUTES = 100


class Connection(NamedTuple):
    """A route between A and B: walks from both that meet (``inference.paths``)."""

    vertices: tuple[str, ...]
    meets_at: str
    strength: float


@dataclass(frozen=True, slots=True, eq=False)
class Explanation:
    """The parts of a score.

    >>> from dmte import Dmte, read_network
    >>> trained = Dmte(dim=64, epochs=1).fit(read_network("concepts")).model_
    >>> why = explain(trained, "b-tree", "red-black-tree")
    >>> why.is_linked, why.common_neighbors, why.words[0].word
    (True, ('binary-search-tree',), 'tree')
    >>> bool(abs(why.hops.sum() - why.text) < 1e-5)
    True
    """

    a: str
    b: str
    score: float
    """v_a · v_b, the sum of ``text`` and ``structure``."""
    text: float
    structure: float | None
    """None if the model has no structure half."""
    hop_pairs: Float[np.ndarray, "hops hops"]
    """The contribution of hop h of A and hop g of B, in row h and column g; sums to ``text``."""
    words: tuple[WordPart, ...] | None
    """Every word in A or B, largest contributions first; None with an encoder that depends on the
    order of words."""
    pairs: tuple[WordPair, ...] | None
    """The strongest pairs of a word in A and a word in B."""
    vertices: tuple[VertexPart, ...]
    """Every vertex whose text reaches A or B, largest contributions first."""
    is_linked: bool
    common_neighbors: tuple[str, ...]
    connections: tuple[Connection, ...]
    """Routes between A and B, strongest first."""

    @property
    def hops(self) -> Float[np.ndarray, " hops"]:
        """The contribution of each hop, the mean of both sides; sums to ``text``."""
        means: np.ndarray = (self.hop_pairs.sum(axis=0) + self.hop_pairs.sum(axis=1)) / 2
        return means


def explain(trained: TrainedModel, a: str, b: str) -> Explanation:
    """Explain the score of two vertices of a model.

    >>> from dmte import Dmte, read_network
    >>> trained = Dmte(dim=64, epochs=1).fit(read_network("concepts")).model_
    >>> found = explain(trained, "b-tree", "red-black-tree")
    >>> abs(sum(part.contribution for part in found.words) - found.score) < 1e-5
    True

    Raises:
        UnknownVertexError: A vertex is not in the model.
        ConfigError: Both vertices are the same.
    """
    network, embedding = trained.network, trained.embedding
    i, j = embedding.position(a), embedding.position(b)
    if i == j:
        raise ConfigError(f"a and b must be two different vertices, not both {a!r}")
    parts = TextParts.of(trained, i, j)
    hop_pairs = parts.hop_pairs()
    structure = embedding.structure[[i, j]].double()
    words, pairs = parts.words(trained.vocabulary)
    ids = network.ids
    return Explanation(
        a=a,
        b=b,
        score=float(embedding.score(torch.tensor([[i, j]]))),
        text=float(hop_pairs.sum()),
        structure=float(structure[0] @ structure[1]) if structure.shape[1] else None,
        hop_pairs=hop_pairs,
        words=words,
        pairs=pairs,
        vertices=parts.vertices(ids),
        is_linked=linked(network, i, j),
        common_neighbors=tuple(ids[k] for k in common_neighbors(network, i, j)),
        connections=tuple(
            Connection(
                tuple(ids[k] for k in route.vertices),
                ids[route.vertices[route.meeting]],
                route.strength,
            )
            for route in _routes(trained, i, j)
        ),
    )


def _routes(trained: TrainedModel, i: int, j: int) -> list[Route]:
    rows = transition_matrix(trained.network.adjacency(), torch.float64).rows
    size = len(rows.offsets) - 1
    stored = (rows.values.numpy(), rows.columns.numpy(), rows.offsets.numpy())
    matrix = sp.csr_array(stored, shape=(size, size))
    return strongest_routes(matrix, i, j, trained.settings.hops - 1)[:MAX_ROUTES]
