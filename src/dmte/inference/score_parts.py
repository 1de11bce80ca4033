"""The text score of two vertices as sums over hops, vertices and words.

The text half of a vertex is a sum over hops h, vertices k whose texts are diffused to it, and words
w of these texts:

    v_a^t = Σ_h r_ah        r_ah = (g_ah ⊙ Σ_k (P^h)_ak x_k) M        x_k = Σ_w a_kw d_w

    no activation           g_ah = s_a W_h
    tanh                    g_ah = s_a λ_h W_h tanh(z) / z, z = W_h ⊙ (P^h X)_a
    no diffusion            g_a0 = s_a

M is the square matrix, or the identity. a_kw is the amount of word w in text k, and d_w its vector.
s_a is the factor √(1 - β) of the text half (``model.assemble``) times the length that the degree of
a gives its vector, divided by the length of the row if rows are normalised. So v_a^t · v_b^t is

    hops        Σ_hg r_ah · r_bg
    vertices    Σ_k of half of (the part of k in a) · v_b, and half of v_a · (the part of k in b)
    words       the same sum over w

The mean of both sides treats a and b alike. With a tanh the split within a hop is a convention:
the output is shared in proportion to the inputs. An encoder that depends on the order of words
(bilstm) has no sum over words. P^h is not formed: its rows a and b are two columns multiplied by
Pᵀ.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple

import numpy as np
import torch
from jaxtyping import Float, Int
from torch import Tensor

from dmte.kernels.sparse import SparseMatrix
from dmte.model.assemble import degrees
from dmte.model.diffusion_maps import DiffusionMaps
from dmte.model.trained_model import TrainedModel
from dmte.text import Vocabulary, encoder_input
from dmte.text.encoder import WordParts

MAX_PAIRED_WORDS = 200
"""Number of words of each vertex that are paired, the strongest ones."""
MAX_PAIRS = 100
SMALLEST_LENGTH = 1e-12  # Shorter rows are not normalised, as in torch's ``normalize``.

Place = Literal["own", "near"]
Array = Float[np.ndarray, "..."]


class WordPart(NamedTuple):
    """The contribution of a word to the score."""

    word: str
    contribution: float
    """The mean of ``from_a`` and ``from_b``; sums to the text score over all words."""
    from_a: float
    """The contribution of the word in v_a."""
    from_b: float
    """The contribution of the word in v_b."""
    in_a: Place | None
    """Whether the word is in A's own text or in one diffused to A; None if in neither."""
    in_b: Place | None


class WordPair(NamedTuple):
    """The contribution of a word in v_a and a word in v_b to the score."""

    a: str
    b: str
    contribution: float


class VertexPart(NamedTuple):
    """The contribution of the text of a vertex to the score."""

    id: str
    contribution: float
    """The mean of ``from_a`` and ``from_b``; sums to the text score over all vertices."""
    from_a: float
    """The contribution of the text in v_a."""
    from_b: float
    """The contribution of the text in v_b."""
    steps_a: int | None
    """The number of hops from the vertex to A; None if its text does not reach A."""
    steps_b: int | None


class _Side(NamedTuple):
    """The sums that make up the text half of one vertex."""

    reach: Float[np.ndarray, "hops reached"]
    """(P^h)_ak for the vertices whose texts reach a or b."""
    gains: Float[np.ndarray, "hops dim"]
    """g_ah."""
    rows: Float[np.ndarray, "hops dim"]
    """r_ah, which sum to v_a^t."""

    def pieces(
        self, amounts: Float[np.ndarray, "hops items"], items: Float[np.ndarray, "items dim"]
    ) -> Float[np.ndarray, "items dim"]:
        """Return the part of each item in the text half, before M."""
        pieces: np.ndarray = (amounts.T @ self.gains) * items
        return pieces


@dataclass(frozen=True, slots=True, eq=False)
class TextParts:
    """The sums that make up the text halves of two vertices."""

    a: _Side
    b: _Side
    reached: Int[np.ndarray, " reached"]
    """Positions of the vertices whose texts reach a or b."""
    features: Float[np.ndarray, "reached dim"]
    """Their rows of X."""
    parts: WordParts | None
    mixing: Float[np.ndarray, "dim dim"]

    @classmethod
    def of(cls, trained: TrainedModel, i: int, j: int) -> "TextParts":
        """Return the sums for the vertices at the positions ``i`` and ``j``."""
        model, network = trained.model, trained.network
        adjacency = network.adjacency()
        transition = model.transition_of(adjacency, torch.float64)
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
        scales = trained.assembly.text_scales(degrees(adjacency)[[i, j]])
        a, b = (
            _side(model, rows[:, reached], features, mixing, scale)
            for rows, scale in zip(reach, scales, strict=True)
        )
        return cls(a, b, reached, features, model.encoder.word_parts(texts), mixing)

    def hop_pairs(self) -> Float[np.ndarray, "hops hops"]:
        """Return r_ah · r_bg for hop h of A and hop g of B."""
        pairs: np.ndarray = self.a.rows @ self.b.rows.T
        return pairs

    def vertices(self, ids: Sequence[str]) -> tuple[VertexPart, ...]:
        """Return the part of every vertex, largest contributions first."""
        amounts = self.a.reach, self.b.reach
        from_a, from_b = self._contributions(*amounts, self.features)
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
        """Return the part of every word and the strongest pairs, or None for a bilstm."""
        if self.parts is None:
            return None, None
        to_a, to_b = (side.reach @ self.parts.amounts for side in (self.a, self.b))
        there = np.flatnonzero(to_a.any(axis=0) | to_b.any(axis=0))
        amounts = to_a[:, there], to_b[:, there]
        directions = _plain(self.parts.directions[torch.from_numpy(there)])
        from_a, from_b = self._contributions(*amounts, directions)
        in_a, in_b = (_places(some) for some in amounts)
        names = [vocabulary.words[word] for word in there.tolist()]
        parts = [
            WordPart(name, (one + other) / 2, one, other, *where)
            for name, one, other, *where in zip(names, from_a, from_b, in_a, in_b, strict=True)
        ]
        pairs = self._pairs(names, amounts, directions, (from_a, from_b))
        return tuple(sorted(parts, key=lambda part: -abs(part.contribution))), pairs

    def _contributions(
        self, to_a: Array, to_b: Array, items: Float[np.ndarray, "items dim"]
    ) -> tuple[list[float], list[float]]:
        """Return the contributions of each item in A and in B, given its amounts per hop."""
        from_a = self.a.pieces(to_a, items) @ (self.mixing @ self.b.rows.sum(axis=0))
        from_b = self.b.pieces(to_b, items) @ (self.mixing @ self.a.rows.sum(axis=0))
        return from_a.tolist(), from_b.tolist()

    def _pairs(
        self,
        names: list[str],
        amounts: tuple[Array, Array],
        directions: Float[np.ndarray, "words dim"],
        sides: tuple[list[float], list[float]],
    ) -> tuple[WordPair, ...]:
        """Return the strongest pairs among the strongest words of each side."""
        top_a, top_b = (
            np.argsort(-np.abs(some), kind="stable")[:MAX_PAIRED_WORDS] for some in sides
        )
        left = self.a.pieces(amounts[0][:, top_a], directions[top_a]) @ self.mixing
        right = self.b.pieces(amounts[1][:, top_b], directions[top_b]) @ self.mixing
        products = left @ right.T
        order = np.argsort(-np.abs(products), axis=None, kind="stable")[:MAX_PAIRS]
        rows, columns = np.unravel_index(order, products.shape)
        return tuple(
            WordPair(names[top_a[row]], names[top_b[column]], float(products[row, column]))
            for row, column in zip(rows, columns, strict=True)
            if products[row, column] != 0
        )


def _reach(
    transition: SparseMatrix, pair: tuple[int, int], hops: int
) -> Float[np.ndarray, "2 hops vertices"]:
    """Return the rows of two vertices in I, P, P², ..., each multiplied from the one before."""
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
    """Return the sums of a vertex whose assembly multiplies its text half by ``scale``."""
    diffused = reach @ features
    convolution = model.convolution
    gains = np.ones_like(diffused) if convolution is None else convolution.gains(diffused)
    rows = (gains * diffused) @ mixing
    divisor = np.linalg.norm(rows.sum(axis=0)) if model.unit_rows else 1.0
    scaled = scale / max(float(divisor), SMALLEST_LENGTH)
    return _Side(reach, scaled * gains, scaled * rows)


def _first_hop(reach: Float[np.ndarray, "hops items"]) -> list[int | None]:
    """Return the first hop with an amount of each item, or None without any."""
    arrives = reach != 0
    first = arrives.argmax(axis=0).tolist()
    return [
        hop if does else None for hop, does in zip(first, arrives.any(axis=0).tolist(), strict=True)
    ]


def _places(amounts: Float[np.ndarray, "hops words"]) -> list[Place | None]:
    return [None if hop is None else "near" if hop else "own" for hop in _first_hop(amounts)]


def _plain(parameter: Tensor) -> Array:
    values: np.ndarray = parameter.detach().double().numpy()
    return values
