"""Vectors for vertices that are added after training, without changing the model.

New vertices get rows in P, and old ones keep theirs: walks lead from a new vertex to old and new
ones, but never back from an old one. With the old vertices O and a new one n:

    P' = [ P      0    ]      text half        V_t by the model's own convolution over P'
         [ P_nO   P_nn ]      structure half   v_n^s along Σ_{h≥1} λ_h (P'^h V_s)_n

The symmetric P scales a new row by the degrees that the old vertices had in training. In a directed
network only edges out of a new vertex count. Unknown words are ignored, and word weights are those
of training.

A new vertex has no learned row in V_s. It gets the direction of its diffusion map U_s, without a
contribution of its own, at the mean length of the learned rows; without edges it is zero. In a
trial a fifth of the vertices were left out of training and given half of their edges. The AUC on
the other half, by dot products (the paper's recipe, seeds 0 and 1; the whole vector, then the
structure half alone):

                           concepts                        Cora
    zero                   91.25 93.24 / 50.00 50.00       93.22 93.30 / 50.00 50.00
    mean of neighbors      91.23 93.09 / 85.53 87.70       93.64 93.82 / 83.72 83.45
    diffusion map          91.22 93.07 / 85.64 87.66       93.65 93.83 / 83.90 83.60
    objective's maximum    91.35 93.17 / 85.95 88.10       93.71 93.82 / 85.15 84.27

The last row maximizes the objective with all old parameters fixed. It gains at most 0.13 for the
whole vector, but every step of it needs all old vertices. The others need only the vertices within
H - 1 hops of the new ones, and a single propagation over them.

In a random structure half (``diffusion.random_projection``) a new vertex gets the mean of its
neighbors, since its walks continue there. Its own edges determine the length of its vector.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp
import torch
from jaxtyping import Float, Int
from torch import Tensor
from torch.nn.functional import normalize

from dmte.diffusion.operators import diffuse
from dmte.diffusion.transition import extended_transition, mean_weight
from dmte.embedding.embedding import Embedding
from dmte.errors import NetworkError, warn
from dmte.kernels.sparse import SparseMatrix
from dmte.model.assemble import Assembly, degrees
from dmte.model.diffusion_maps import DiffusionMaps
from dmte.network import TextualNetwork
from dmte.text import EncoderInput, FeatureRows, PrecomputedFeatures, TokenizedTexts, Vocabulary


@dataclass(frozen=True, slots=True, eq=False)
class Extension:
    """The new vertices of a network, and their edges to old and new vertices."""

    ids: Sequence[str]
    texts: Sequence[str]
    features: Float[Tensor, "new features"] | None
    to_old: sp.csr_array
    """s_ij from every new vertex to every old one."""
    to_new: sp.csr_array
    """s_ij from every new vertex to every new one."""

    @property
    def is_linked(self) -> np.ndarray:
        """Whether each new vertex has an edge."""
        sums: np.ndarray = self.to_old.sum(axis=1) + self.to_new.sum(axis=1)
        return sums > 0


def embed_new_vertices(
    model: DiffusionMaps,
    vocabulary: Vocabulary,
    network: TextualNetwork,
    embedding: Embedding,
    extension: Extension,
    assembly: Assembly,
) -> Embedding:
    """Return the vectors of the new vertices; ``embedding`` has those of the old ``network``.

    Raises:
        NetworkError: The model reads features, and the new vertices have none or of another width.
    """
    old = network.adjacency()
    near = reached(old, extension.to_old.indices, _num_steps(model))
    transition = _extended_transition(network, near, extension, model.transition)
    texts = _texts(model, vocabulary, network, near, extension)
    with torch.no_grad():
        prepared = model.encoder.prepare(texts)
        text = model.text_embedding(prepared, transition)[len(near) :]
        structure = None
        if assembly.share:
            transition = _extended_transition(network, near, extension, "walk")
        if assembly.share or model.structure is not None:
            trained = assembly.weighted_structure(embedding.structure, degrees(old))
            structure = _structure_half(model, trained, torch.from_numpy(near), transition)
    vectors = assembly.new_vectors(text, structure, _new_degrees(network, extension))
    return Embedding(extension.ids, vectors, text.shape[1])


def _texts(
    model: DiffusionMaps,
    vocabulary: Vocabulary,
    network: TextualNetwork,
    near: Int[np.ndarray, " near"],
    extension: Extension,
) -> EncoderInput:
    """Return the encoder's input for the old vertices ``near`` and the new ones."""
    if not isinstance(model.encoder, PrecomputedFeatures):
        _warn_of_missing_words(extension, vocabulary.encode(extension.texts))
        return vocabulary.encode([*(network.texts[old] for old in near), *extension.texts])
    new, width = extension.features, len(model.encoder.directions)
    if network.features is None or new is None or new.shape[1] != width:
        raise NetworkError(
            f"the model reads {width} features of every vertex, but the new ones come with "
            f"{0 if new is None else new.shape[1]}; give features of the same encoder (--features)"
        )
    return FeatureRows(torch.cat([network.features[torch.from_numpy(near)], new]))


def extend(network: TextualNetwork, new: TextualNetwork, *, skip_known: bool) -> Extension:
    """Return the vertices of ``new`` that are not in ``network``, with their edges to both.

    ``new`` may name vertices of ``network`` in its edges, without a text. With ``skip_known`` it
    may also repeat others.

    Raises:
        NetworkError: A vertex of the network is repeated, none is new, or only one of the networks
            is directed.
    """
    if new.directed != network.directed and len(new.edges):
        raise NetworkError(
            f"edges lead {_ways(new)} in the new network and {_ways(network)} in that of the "
            "model; both must be directed or undirected"
        )
    positions = {name: position for position, name in enumerate(network.ids)}
    is_old = np.array([name in positions for name in new.ids])
    named = set(new.edges.flatten().tolist())
    repeated = [
        name
        for at, (name, text) in enumerate(zip(new.ids, new.texts, strict=True))
        if name in positions and (text or at not in named)
    ]
    if repeated and not skip_known:
        raise NetworkError(
            f"the vertex {repeated[0]!r} is in the model already"
            f"{_and_others(len(repeated) - 1)}, and its vector does not change; skip known "
            "vertices (--skip-known), give new vertices other ids, or train again"
        )
    if is_old.all():
        raise NetworkError("every vertex is in the model already; there is no new one to embed")
    rows = new.adjacency()[np.flatnonzero(~is_old)]
    ends = [positions[name] for name in new.ids if name in positions]
    _warn_of_ignored_edges(new, is_old, skip_known=skip_known)
    return Extension(
        ids=tuple(name for name in new.ids if name not in positions),
        texts=tuple(
            text for name, text in zip(new.ids, new.texts, strict=True) if name not in positions
        ),
        features=None if new.features is None else new.features[torch.from_numpy(~is_old)],
        to_old=_in_columns(rows[:, np.flatnonzero(is_old)], ends, network.num_vertices),
        to_new=rows[:, np.flatnonzero(~is_old)],
    )


def reached(
    adjacency: sp.csr_array, starts: Int[np.ndarray, " starts"], steps: int
) -> Int[np.ndarray, " reached"]:
    """Return, in order, the vertices on walks of ``steps`` steps whose first leads to a start.

    >>> chain = sp.csr_array([[0, 1, 0, 0], [0, 0, 1, 0], [0, 0, 0, 1], [0, 0, 0, 0]])
    >>> reached(chain, np.array([1]), steps=2).tolist()
    [1, 2]
    """
    found = frontier = np.unique(starts if steps > 0 else starts[:0]).astype(np.int64)
    for _ in range(steps - 1):
        frontier = np.setdiff1d(adjacency[frontier].indices, found)
        found = np.union1d(found, frontier).astype(np.int64)
    return found


def _num_steps(model: DiffusionMaps) -> int:
    """Return the number of steps of a walk that a vector depends on."""
    text = 0 if model.convolution is None else len(model.convolution.filters) - 1
    structure = 0 if model.structure is None else len(_hop_weights_beyond(model)) - 1
    return max(text, structure)


def _hop_weights_beyond(model: DiffusionMaps) -> tuple[float, ...]:
    """Return λ with 0 for hop 0, or the weights (0, 1) if nothing else is left."""
    beyond = () if model.structure is None else model.structure.hop_weights[1:]
    return (0.0, *beyond) if any(beyond) else (0.0, 1.0)


def _extended_transition(
    network: TextualNetwork, near: Int[np.ndarray, " near"], extension: Extension, kind: str
) -> SparseMatrix:
    """Return P' of the old vertices ``near`` and the new ones."""
    return extended_transition(
        network.adjacency(),
        near,
        extension.to_old,
        extension.to_new,
        directed=network.directed,
        kind=kind,
    )


def _structure_half(
    model: DiffusionMaps,
    trained: Float[Tensor, "vertices dim"],
    near: Int[Tensor, " near"],
    transition: SparseMatrix,
) -> Float[Tensor, "new dim"]:
    """Return the rows along the diffusion maps, at the mean length of the trained rows."""
    lengths = trained.norm(dim=1)
    num_new = len(transition.rows.offsets) - 1 - len(near)
    rows = torch.cat([trained[near], trained.new_zeros(num_new, trained.shape[1])])
    diffused = diffuse(transition, rows, _hop_weights_beyond(model))[len(near) :]
    scaled: Tensor = normalize(diffused) * lengths[lengths > 0].mean()
    return scaled


def _new_degrees(network: TextualNetwork, extension: Extension) -> Float[np.ndarray, " new"]:
    """Return ``assemble.degrees`` of the new vertices, by their edges in P'."""
    outward = extension.to_old.sum(axis=1) + extension.to_new.sum(axis=1)
    # In an undirected network both sums are the same.
    inward = extension.to_new.sum(axis=0) if network.directed else outward
    sums = (outward + inward) / 2 - extension.to_new.diagonal()
    found: np.ndarray = sums / mean_weight(network.adjacency())
    return found


def _in_columns(rows: sp.csr_array, columns: Sequence[int], width: int) -> sp.csr_array:
    """Return the rows with column c at ``columns[c]`` of ``width`` columns."""
    entries = rows.tocoo()
    places = (entries.row, np.array(columns, dtype=np.int64)[entries.col])
    return sp.coo_array((entries.data, places), shape=(rows.shape[0], width)).tocsr()


def _warn_of_ignored_edges(new: TextualNetwork, is_old: np.ndarray, *, skip_known: bool) -> None:
    """Warn of edges without an effect, since they leave only old vertices.

    With ``skip_known``, edges between old vertices are skipped without a warning.
    """
    source_is_old, target_is_old = is_old[new.edges.numpy()].T
    useless = source_is_old & np.where(target_is_old, not skip_known, new.directed)
    if useless.any():
        warn(
            f"{int(useless.sum()):,} of {len(useless):,} edges leave only vertices of the model; "
            "they are ignored, since the model does not change"
        )


def _warn_of_missing_words(extension: Extension, words: TokenizedTexts) -> None:
    """Warn of texts without a known word, and of vertices that have no edge either."""
    is_wordless = words.lengths().numpy() == 0
    has_text = np.array([bool(text.strip()) for text in extension.texts])
    unknown, nothing = is_wordless & has_text, is_wordless & ~extension.is_linked
    if unknown.any():
        warn(
            f"{int(unknown.sum()):,} of {len(unknown):,} new texts have no word of the model's "
            f"vocabulary, such as that of {extension.ids[int(unknown.argmax())]!r}; "
            "they count as empty"
        )
    if nothing.any():
        warn(
            f"{int(nothing.sum()):,} of {len(nothing):,} new vertices have neither a known word "
            f"nor an edge, such as {extension.ids[int(nothing.argmax())]!r}; "
            "their vectors are zero"
        )


def _ways(network: TextualNetwork) -> str:
    return "one way" if network.directed else "both ways"


def _and_others(count: int) -> str:
    return f", as are {count:,} others" if count else ""
