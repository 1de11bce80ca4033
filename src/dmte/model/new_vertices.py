"""Vectors for vertices that came after training; nothing that was trained moves.

New vertices get rows in P, old ones keep theirs: a walker leaves a new vertex for old and new ones
and never comes back from an old one. With O the old vertices and n a new one:

    P' = [ P      0    ]      text half        V_t by the model's own convolution over P'
         [ P_nO   P_nn ]      structure half   v_n^s along Σ_{h≥1} λ_h (P'^h V_s)_n

Where P is symmetric, a new row is scaled by the degrees that the old vertices were trained with.
Edges count as in P: in a directed network those that leave the new vertex. Words that the model
does not know are passed over, and weights of words are those of the texts it was trained on.

A new vertex has no trained row in V_s. It gets the direction of its diffusion map U_s, to which it
adds nothing itself, at the mean length of the trained rows; without edges the zero vector. The row
that maximizes the objective with everything old fixed was tried as well. A fifth of the vertices
left out of training and given half of their edges, AUC of the other half by dot products (a trial
script, the paper's recipe, seeds 0 and 1; the whole vector, then the structure half alone):

                           concepts                        Cora
    zero                   91.25 93.24 / 50.00 50.00       93.22 93.30 / 50.00 50.00
    mean of neighbors      91.23 93.09 / 85.53 87.70       93.64 93.82 / 83.72 83.45
    diffusion map          91.22 93.07 / 85.64 87.66       93.65 93.83 / 83.90 83.60
    objective's maximum    91.35 93.17 / 85.95 88.10       93.71 93.82 / 85.15 84.27

In a random structure half (``diffusion.random_projection``) a new vertex gets the mean of its
neighbors, since its walks continue from there. Its own edges give its vector the length.

The maximum gains 0.13 at most where it counts, and every step to it looks at every old vertex.
The others only look at what a walker reaches: the cost is that of one propagation over the old
vertices within H - 1 hops of the new ones, at worst over the whole graph, whose edges are listed
once in any case.
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
from dmte.model.assemble import Assembly, combine_halves, degrees, scale_by_degree
from dmte.model.diffusion_maps import DiffusionMaps
from dmte.network import TextualNetwork
from dmte.text import EncoderInput, FeatureRows, PrecomputedFeatures, TokenizedTexts, Vocabulary


@dataclass(frozen=True, slots=True, eq=False)
class Extension:
    """The new vertices of a network that may name old ones, and where their edges lead."""

    ids: Sequence[str]
    texts: Sequence[str]
    features: Float[Tensor, "new features"] | None
    to_old: sp.csr_array
    """s_ij from every new vertex to every old one."""
    to_new: sp.csr_array
    """s_ij from every new vertex to every new one."""

    @property
    def is_linked(self) -> np.ndarray:
        """Which of the new vertices have an edge."""
        sums: np.ndarray = self.to_old.sum(axis=1) + self.to_new.sum(axis=1)
        return sums > 0


def embed_unseen(
    model: DiffusionMaps,
    vocabulary: Vocabulary,
    network: TextualNetwork,
    embedding: Embedding,
    extension: Extension,
    assembly: Assembly,
) -> Embedding:
    """Return the vectors of the new vertices; ``embedding`` are those of the old ``network``.

    Raises:
        NetworkError: The model reads features, and the new vertices have none or others.
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
            trained = scale_by_degree(embedding.structure, degrees(old), -assembly.power)
            structure = _structure_half(model, trained, torch.from_numpy(near), transition)
    halves = combine_halves(text * assembly.text_weight, structure)  # √β is in ``trained`` already.
    vectors = scale_by_degree(halves, _new_degrees(network, extension), assembly.power)
    return Embedding(extension.ids, vectors, text.shape[1])


def _texts(
    model: DiffusionMaps,
    vocabulary: Vocabulary,
    network: TextualNetwork,
    near: Int[np.ndarray, " near"],
    extension: Extension,
) -> EncoderInput:
    """Return the texts of the old vertices ``near`` and of the new ones, as the encoder reads."""
    if not isinstance(model.encoder, PrecomputedFeatures):
        _tell_of_gaps(extension, vocabulary.encode(extension.texts))
        return vocabulary.encode([*(network.texts[old] for old in near), *extension.texts])
    new, width = extension.features, len(model.encoder.directions)
    if network.features is None or new is None or new.shape[1] != width:
        raise NetworkError(
            f"the model reads {width} features of every vertex, and the new ones come with "
            f"{0 if new is None else new.shape[1]}; give them with --features, by the same encoder"
        )
    return FeatureRows(torch.cat([network.features[torch.from_numpy(near)], new]))


def extend(network: TextualNetwork, new: TextualNetwork, *, skip_known: bool) -> Extension:
    """Return the vertices of ``new`` that are not in ``network``, with their edges to both.

    A vertex of ``network`` with edges and without a text in ``new`` stands for the old one, which
    the edges name. Any other is refused, or treated alike if known ones are to be skipped.

    Raises:
        NetworkError: A vertex is in the network already, none is new, or edges of one network
            lead one way and those of the other both ways.
    """
    if new.directed != network.directed and len(new.edges):
        raise NetworkError(
            f"edges lead {_ways(new)} in the new network and {_ways(network)} in the one that the "
            "model was trained on; read the new one like that"
        )
    positions = {name: position for position, name in enumerate(network.ids)}
    is_old = np.array([name in positions for name in new.ids])
    named = set(new.edges.flatten().tolist())
    given_again = [
        name
        for at, (name, text) in enumerate(zip(new.ids, new.texts, strict=True))
        if name in positions and (text or at not in named)
    ]
    if given_again and not skip_known:
        raise NetworkError(
            f"the vertex {given_again[0]!r} is in the model already"
            f"{_and_others(len(given_again) - 1)}, and its vector does not change; skip what is "
            "known (--skip-known), give new vertices ids of their own, or train again"
        )
    if is_old.all():
        raise NetworkError("every vertex is in the model already; there is no new one to embed")
    rows = new.adjacency()[np.flatnonzero(~is_old)]
    ends = [positions[name] for name in new.ids if name in positions]
    _tell_of_old_rows(new, is_old, skip_known=skip_known)
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
    """Return in order the vertices that a walk of ``steps`` steps meets, the first one to a start.

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
    """Return how many steps of a walk matter to a vector."""
    text = 0 if model.convolution is None else len(model.convolution.filters) - 1
    structure = 0 if model.structure is None else len(_hop_weights_beyond(model)) - 1
    return max(text, structure)


def _hop_weights_beyond(model: DiffusionMaps) -> tuple[float, ...]:
    """Return λ without a vertex's own; where nothing is left of it, its neighbors count."""
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
    """Return the rows along the diffusion maps, as long as the trained rows are on average."""
    lengths = trained.norm(dim=1)
    num_new = len(transition.rows.offsets) - 1 - len(near)
    rows = torch.cat([trained[near], trained.new_zeros(num_new, trained.shape[1])])
    diffused = diffuse(transition, rows, _hop_weights_beyond(model))[len(near) :]
    scaled: Tensor = normalize(diffused) * lengths[lengths > 0].mean()
    return scaled


def _new_degrees(network: TextualNetwork, extension: Extension) -> Float[np.ndarray, " new"]:
    """Return d of the new vertices, as ``assemble.degrees`` counts it, by their edges in P'."""
    outward = extension.to_old.sum(axis=1) + extension.to_new.sum(axis=1)
    # Where edges lead both ways, as many arrive as leave.
    inward = extension.to_new.sum(axis=0) if network.directed else outward
    sums = (outward + inward) / 2 - extension.to_new.diagonal()
    found: np.ndarray = sums / mean_weight(network.adjacency())
    return found


def _in_columns(rows: sp.csr_array, columns: Sequence[int], width: int) -> sp.csr_array:
    """Return the rows with column c at ``columns[c]`` of ``width`` columns."""
    entries = rows.tocoo()
    places = (entries.row, np.array(columns, dtype=np.int64)[entries.col])
    return sp.coo_array((entries.data, places), shape=(rows.shape[0], width)).tocsr()


def _tell_of_old_rows(new: TextualNetwork, is_old: np.ndarray, *, skip_known: bool) -> None:
    """Warn of edges that can have no effect, since they leave an old vertex only.

    Where known vertices are to be skipped, so are the edges between them.
    """
    source_is_old, target_is_old = is_old[new.edges.numpy()].T
    useless = source_is_old & np.where(target_is_old, not skip_known, new.directed)
    if useless.any():
        warn(
            f"edges that leave vertices of the model only, {int(useless.sum()):,} of "
            f"{len(useless):,}, are left out: what was trained does not change"
        )


def _tell_of_gaps(extension: Extension, words: TokenizedTexts) -> None:
    """Warn of texts in which no word is known, and of vertices of which nothing is."""
    is_wordless = words.lengths().numpy() == 0
    has_text = np.array([bool(text.strip()) for text in extension.texts])
    unknown, nothing = is_wordless & has_text, is_wordless & ~extension.is_linked
    if unknown.any():
        warn(
            f"{int(unknown.sum()):,} of {len(unknown):,} new texts have no word that the model "
            f"knows, such as that of {extension.ids[int(unknown.argmax())]!r}; they count as empty"
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
