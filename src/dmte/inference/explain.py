"""Why two vertices score as they do: v_a · v_b taken apart into parts that add up to it.

The text half of a vertex is, given a number per hop and column, a sum over everything it is
made of: hops h, vertices k whose texts came along, and words w of these texts.

    v_a^t = Σ_h r_ah        r_ah = (g_ah ⊙ Σ_k (P^h)_ak x_k) M        x_k = Σ_w a_kw d_w

    no activation           g_ah = s_a W_h
    tanh                    g_ah = s_a λ_h W_h tanh(z) / z, z = W_h ⊙ (P^h X)_a
    no diffusion            g_a0 = s_a

with s_a = 1 / length where rows have length 1, else 1, times √(1 - β) where links alone have a
share β of the score (``model.assemble``) and times the length that the edges of a give its vector
(its degree); M the square matrix, or none; a_kw the
amount of word w in text k and d_w its vector. Under a tanh this is a rule, not a property: what
goes in together comes out shared in proportion to what each brought in, before the tanh. Hops add
up without it.

    hops        r_ah · r_bg, for every pair of hops
    words       half of (what w brought to a) · v_b, and half of v_a · (what w brought to b)
    vertices    the same with k for w
    structure   v_a^s · v_b^s, learned or drawn as it is, with nothing inside

Every line sums to the score of its half. The mean of both sides treats a and b alike. An encoder
that reads words in order (bilstm) makes no sum over words, and then none is shown. P^h is
not formed: its rows a and b are two columns that Pᵀ is multiplied with.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple

import numpy as np
import scipy.sparse as sp
import torch
from jaxtyping import Float, Int
from torch import Tensor

from dmte.diffusion.transition import transition_matrix
from dmte.errors import ConfigError
from dmte.inference.paths import Route, common_neighbors, linked, strongest_routes
from dmte.kernels.sparse import SparseMatrix
from dmte.model.assemble import degrees, lengths
from dmte.model.diffusion_maps import DiffusionMaps
from dmte.model.trained_model import TrainedModel
from dmte.text import Vocabulary, encoder_input
from dmte.text.encoder import WordParts

POOL = 200
"""Of the words of either side, how many of the strongest are paired with each other."""
MOST_PAIRS = 100
MOST_ROUTES = 100
SMALLEST_LENGTH = 1e-12  # Shorter rows are not scaled to length 1; torch's normalize has it so.

Where = Literal["own", "near"]
Array = Float[np.ndarray, "..."]


class WordPart(NamedTuple):
    """What a word adds to the score."""

    word: str
    contribution: float
    """The mean of the next two; over all words it sums to the score of the text half."""
    from_a: float
    """What the word, wherever it came to A from, adds to v_a · v_b."""
    from_b: float
    in_a: Where | None
    """Whether A's own text has it, or one that came along; None: neither."""
    in_b: Where | None


class WordPair(NamedTuple):
    """What a word of A and a word of B, the same or another, add to the score by meeting."""

    a: str
    b: str
    contribution: float


class VertexPart(NamedTuple):
    """What the text of a vertex adds to the score."""

    id: str
    contribution: float
    """The mean of the next two; over all vertices it sums to the score of the text half."""
    from_a: float
    """What the text, as it came to A, adds to v_a · v_b."""
    from_b: float
    steps_a: int | None
    """In how many steps the text comes to A; None: not at all."""
    steps_b: int | None


class Connection(NamedTuple):
    """A route between A and B: walks from both that meet (see ``connections``)."""

    vertices: tuple[str, ...]
    meets_at: str
    strength: float


@dataclass(frozen=True, slots=True, eq=False)
class Explanation:
    """The parts of a score; see the module for what adds up to what.

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
    """v_a · v_b, as ``Embedding.score`` gives it; text and structure are its two parts."""
    text: float
    structure: float | None
    """None if the model has no structure half."""
    hop_pairs: Float[np.ndarray, "hops hops"]
    """What hop h of A and hop g of B add, in row h and column g; sums to ``text``."""
    words: tuple[WordPart, ...] | None
    """Every word that came to A or B, what adds or takes most first; None for an encoder whose
    texts are no sums of words."""
    pairs: tuple[WordPair, ...] | None
    """The strongest meetings of words, among the strongest words of both sides."""
    vertices: tuple[VertexPart, ...]
    """Every vertex whose text came to A or B, what adds or takes most first."""
    is_linked: bool
    common_neighbors: tuple[str, ...]
    connections: tuple[Connection, ...]
    """Routes between the two, the strongest first."""

    @property
    def hops(self) -> Float[np.ndarray, " hops"]:
        """What each hop adds, the mean of A's and B's side; sums to ``text``."""
        means: np.ndarray = (self.hop_pairs.sum(axis=0) + self.hop_pairs.sum(axis=1)) / 2
        return means


def explain(trained: TrainedModel, a: str, b: str) -> Explanation:
    """Return why the vertices ``a`` and ``b`` of a model score as they do.

    >>> from dmte import Dmte, read_network
    >>> trained = Dmte(dim=64, epochs=1).fit(read_network("concepts")).model_
    >>> found = explain(trained, "b-tree", "red-black-tree")
    >>> abs(sum(part.contribution for part in found.words) - found.score) < 1e-5
    True

    Raises:
        UnknownVertexError: There is no such vertex.
        ConfigError: Both are the same.
    """
    network, embedding = trained.network, trained.embedding
    i, j = embedding.position(a), embedding.position(b)
    if i == j:
        raise ConfigError(f"{a!r} is given twice; name two vertices to compare")
    adjacency = network.adjacency()
    made = _Making.of(trained, trained.model.transition_of(adjacency, torch.float64), i, j)
    walk = transition_matrix(adjacency, torch.float64)
    structure = embedding.structure[[i, j]].double()
    words, pairs = made.words(trained.vocabulary)
    ids = network.ids
    return Explanation(
        a=a,
        b=b,
        score=float(embedding.score(torch.tensor([[i, j]]))),
        text=float(made.hop_pairs().sum()),
        structure=float(structure[0] @ structure[1]) if structure.shape[1] else None,
        hop_pairs=made.hop_pairs(),
        words=words,
        pairs=pairs,
        vertices=made.vertices(ids),
        is_linked=linked(network, i, j),
        common_neighbors=tuple(ids[k] for k in common_neighbors(network, i, j)),
        connections=tuple(
            Connection(
                tuple(ids[k] for k in route.vertices),
                ids[route.vertices[route.meeting]],
                route.strength,
            )
            for route in _routes(walk, i, j, trained.settings.hops - 1)
        ),
    )


class _Side(NamedTuple):
    """How the text half of one vertex is made."""

    reach: Float[np.ndarray, "hops reached"]
    """(P^h)_ak of the vertices that are reached by either side."""
    gains: Float[np.ndarray, "hops dim"]
    """g_ah."""
    rows: Float[np.ndarray, "hops dim"]
    """r_ah, which sum to v_a^t."""

    def pieces(
        self, amounts: Float[np.ndarray, "hops items"], items: Float[np.ndarray, "items dim"]
    ) -> Float[np.ndarray, "items dim"]:
        """Return what each item brings to the vertex, before M."""
        pieces: np.ndarray = (amounts.T @ self.gains) * items
        return pieces


@dataclass(frozen=True, slots=True, eq=False)
class _Making:
    """How the text halves of both vertices are made, from the texts that reach either."""

    a: _Side
    b: _Side
    reached: Int[np.ndarray, " reached"]
    """The vertices whose texts come to a or b, as positions."""
    features: Float[np.ndarray, "reached dim"]
    """Their rows of X."""
    parts: WordParts | None
    mixing: Float[np.ndarray, "dim dim"]

    @classmethod
    def of(cls, trained: TrainedModel, transition: SparseMatrix, i: int, j: int) -> "_Making":
        model, network = trained.model, trained.network
        hops = 1 if model.convolution is None else trained.settings.hops
        reach = _reach(transition, (i, j), hops)
        reached = np.flatnonzero(reach.any(axis=(0, 1)))
        texts = encoder_input(
            trained.settings.encoder,
            trained.vocabulary.encode([network.texts[k] for k in reached.tolist()]),
            None if network.features is None else network.features[torch.from_numpy(reached)],
        )
        with torch.no_grad():
            encoded = model.encoder(model.encoder.prepare(texts))
        features = encoded.double().numpy()
        mixing = np.eye(features.shape[1]) if model.mixing is None else _plain(model.mixing.matrix)
        ends, assembly = degrees(network.adjacency())[[i, j]], trained.assembly
        a, b = (
            _side(model, rows[:, reached], features, mixing, length * assembly.text_weight)
            for rows, length in zip(reach, lengths(ends, assembly.power), strict=True)
        )
        return cls(a, b, reached, features, model.encoder.word_parts(texts), mixing)

    def hop_pairs(self) -> Float[np.ndarray, "hops hops"]:
        pairs: np.ndarray = self.a.rows @ self.b.rows.T
        return pairs

    def vertices(self, ids: Sequence[str]) -> tuple[VertexPart, ...]:
        amounts = self.a.reach, self.b.reach
        from_a, from_b = self._brought(*amounts, self.features)
        steps_a, steps_b = (_first_hop(rows) for rows in amounts)
        parts = [
            VertexPart(ids[k], (one + other) / 2, one, other, *steps)
            for k, one, other, *steps in zip(
                self.reached.tolist(), from_a, from_b, steps_a, steps_b, strict=True
            )
        ]
        return tuple(sorted(parts, key=lambda part: -abs(part.contribution)))

    def words(
        self, vocabulary: Vocabulary
    ) -> tuple[tuple[WordPart, ...] | None, tuple[WordPair, ...] | None]:
        """Return every word that came along, and the strongest pairs, if there are words."""
        if self.parts is None:
            return None, None
        to_a, to_b = (side.reach @ self.parts.amounts for side in (self.a, self.b))
        there = np.flatnonzero(to_a.any(axis=0) | to_b.any(axis=0))
        amounts = to_a[:, there], to_b[:, there]
        directions = _plain(self.parts.directions[torch.from_numpy(there)])
        from_a, from_b = self._brought(*amounts, directions)
        in_a, in_b = (_whereabouts(some) for some in amounts)
        names = [vocabulary.words[word] for word in there.tolist()]
        parts = [
            WordPart(name, (one + other) / 2, one, other, *where)
            for name, one, other, *where in zip(names, from_a, from_b, in_a, in_b, strict=True)
        ]
        pairs = self._pairs(names, amounts, directions, (from_a, from_b))
        return tuple(sorted(parts, key=lambda part: -abs(part.contribution))), pairs

    def _brought(
        self, to_a: Array, to_b: Array, items: Float[np.ndarray, "items dim"]
    ) -> tuple[list[float], list[float]]:
        """Return what each item, in these amounts per hop, adds to the score from either side."""
        from_a = self.a.pieces(to_a, items) @ (self.mixing @ self.b.rows.sum(axis=0))
        from_b = self.b.pieces(to_b, items) @ (self.mixing @ self.a.rows.sum(axis=0))
        return from_a.tolist(), from_b.tolist()

    def _pairs(
        self,
        names: list[str],
        amounts: tuple[Array, Array],
        directions: Float[np.ndarray, "words dim"],
        brought: tuple[list[float], list[float]],
    ) -> tuple[WordPair, ...]:
        """Return the strongest meetings among the ``POOL`` strongest words of either side."""
        top_a, top_b = (np.argsort(-np.abs(some), kind="stable")[:POOL] for some in brought)
        left = self.a.pieces(amounts[0][:, top_a], directions[top_a]) @ self.mixing
        right = self.b.pieces(amounts[1][:, top_b], directions[top_b]) @ self.mixing
        meetings = left @ right.T
        order = np.argsort(-np.abs(meetings), axis=None, kind="stable")[:MOST_PAIRS]
        rows, columns = np.unravel_index(order, meetings.shape)
        return tuple(
            WordPair(names[top_a[row]], names[top_b[column]], float(meetings[row, column]))
            for row, column in zip(rows, columns, strict=True)
            if meetings[row, column] != 0
        )


def _reach(
    transition: SparseMatrix, pair: tuple[int, int], hops: int
) -> Float[np.ndarray, "2 hops vertices"]:
    """Return the two rows of I, P, P², ..., each by multiplying the one before with P."""
    num_vertices = len(transition.rows.offsets) - 1
    rows = torch.zeros(num_vertices, 2, dtype=torch.float64)
    rows[list(pair), [0, 1]] = 1.0
    powers, backwards = [rows], transition.transpose()
    for _ in range(hops - 1):
        powers.append(backwards @ powers[-1])
    found: np.ndarray = torch.stack(powers).permute(2, 0, 1).numpy()
    return found


def _side(
    model: DiffusionMaps,
    reach: Float[np.ndarray, "hops reached"],
    features: Float[np.ndarray, "reached dim"],
    mixing: Float[np.ndarray, "dim dim"],
    scale: float,
) -> _Side:
    """Return how the text half is made of a vertex, whose assembly multiplies it by ``scale``."""
    diffused = reach @ features
    convolution = model.convolution
    gains = np.ones_like(diffused) if convolution is None else convolution.gains(diffused)
    rows = (gains * diffused) @ mixing
    divisor = np.linalg.norm(rows.sum(axis=0)) if model.unit_rows else 1.0
    scaled = scale / max(float(divisor), SMALLEST_LENGTH)
    return _Side(reach, scaled * gains, scaled * rows)


def _first_hop(reach: Float[np.ndarray, "hops items"]) -> list[int | None]:
    """Return the first hop in which something of each item arrives, None if none does."""
    arrives = reach != 0
    first = arrives.argmax(axis=0).tolist()
    return [
        hop if does else None for hop, does in zip(first, arrives.any(axis=0).tolist(), strict=True)
    ]


def _whereabouts(amounts: Float[np.ndarray, "hops words"]) -> list[Where | None]:
    return [None if hop is None else "near" if hop else "own" for hop in _first_hop(amounts)]


def _routes(transition: SparseMatrix, i: int, j: int, steps: int) -> list[Route]:
    rows = transition.rows
    places = rows.columns.numpy(), rows.offsets.numpy()
    size = len(rows.offsets) - 1
    matrix = sp.csr_array((rows.values.numpy(), *places), shape=(size, size))
    return strongest_routes(matrix, i, j, steps)[:MOST_ROUTES]


def _plain(parameter: Tensor) -> Array:
    values: np.ndarray = parameter.detach().double().numpy()
    return values
