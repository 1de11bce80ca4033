"""One vector per vertex, v_i = v_i^t ⊕ v_i^s (Definition 3), by the vertex's id.

DMTE and the baselines all return an ``Embedding``, so evaluation and search treat them alike.
"""

import mmap
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, get_args

import numpy as np
import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor
from torch.nn.functional import normalize

from dmte.embedding import interop
from dmte.errors import ConfigError
from dmte.kernels.pair_scores import dot_products
from dmte.network.textual_network import TextualNetwork
from dmte.runtime.formatting import html_table, numbers, plural
from dmte.runtime.spelling import find_position
from dmte.search.index_cache import IndexCache
from dmte.search.stored_vectors import VECTOR_PARTS, stored_vectors
from dmte.search.vectors import Neighbor as Neighbor
from dmte.search.vectors import SearchOptions, VectorTable, columns_of
from dmte.settings import Half
from dmte.storage import codec
from dmte.storage.folder import map_parts, write_parts
from dmte.storage.stored_parts import StoredParts, is_finite, require

if TYPE_CHECKING:
    import pandas as pd
    import polars as pl

Similarity = Literal["dot", "cosine"]


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Embedding:
    """One vector per vertex.

    >>> vectors = torch.tensor([[1.0, 0.0], [1.0, 0.1], [0.0, 1.0]])
    >>> embedding = Embedding(("a", "b", "c"), vectors, text_dim=1)
    >>> [neighbor.id for neighbor in embedding.most_similar("a", k=2)]
    ['b', 'c']
    >>> embedding["c"].tolist(), embedding.position("c")
    ([0.0, 1.0], 2)
    >>> embedding.text.tolist(), embedding.score(torch.tensor([[0, 1]])).tolist()
    ([[1.0], [1.0], [0.0]], [1.0])
    >>> embedding.structure.shape, embedding.half("both").shape
    (torch.Size([3, 1]), torch.Size([3, 2]))
    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     embedding.save(folder)
    ...     Embedding.load(folder)
    Embedding(3 vertices × 2, of which 1 from text)
    >>> Embedding.from_parts(embedding.parts()).ids
    ('a', 'b', 'c')
    >>> Embedding.of(stored_vectors(StoredParts(Path("folder"), embedding.parts())))
    Embedding(3 vertices × 2, of which 1 from text)
    """

    ids: Sequence[str]
    """The id of every row."""
    vectors: Float[Tensor, "vertices dim"]
    text_dim: int
    """The number of columns of the text half, which come first."""
    _positions: Mapping[str, int] = field(init=False)
    _indexes: IndexCache = field(init=False, default_factory=IndexCache)

    def __post_init__(self) -> None:
        if len(self.ids) != len(self.vectors):
            raise ConfigError(f"there are {len(self.ids)} ids for {len(self.vectors)} vectors")
        positions = {name: position for position, name in enumerate(self.ids)}
        if len(positions) < len(self.ids):
            raise ConfigError("an id occurs more than once; every vector needs its own")
        object.__setattr__(self, "_positions", positions)

    def __repr__(self) -> str:
        size = f"{len(self):,} {plural(len(self), 'vertex')} × {self.vectors.shape[1]}"
        return f"Embedding({size}, of which {self.text_dim} from text)"

    def _repr_html_(self) -> str:
        rows = zip(self.ids, self.vectors, strict=True)
        shown = ((name, numbers(row.tolist())) for name, row in rows)
        return html_table(repr(self), ("id", "vector"), shown, len(self))

    def __len__(self) -> int:
        return len(self.ids)

    def __getitem__(self, name: str) -> Float[Tensor, " dim"]:
        return self.vectors[self.position(name)]

    @property
    def text(self) -> Float[Tensor, "vertices text"]:
        """The text half V_t."""
        return self.vectors[:, : self.text_dim]

    @property
    def structure(self) -> Float[Tensor, "vertices structure"]:
        """The structure half V_s, without columns in the text-only version."""
        return self.vectors[:, self.text_dim :]

    def position(self, name: str) -> int:
        """Return the row of the vertex ``name``.

        Raises:
            UnknownVertexError: No vertex has this name; the message suggests similar ones.
        """
        return find_position(self._positions, name)

    def score(
        self, pairs: Int[Tensor, "pairs 2"], by: Similarity = "dot"
    ) -> Float[Tensor, " pairs"]:
        """Return v_i · v_j, or its cosine, for pairs of positions.

        Raises:
            ConfigError: ``by`` is neither dot nor cosine.
        """
        if by not in ("dot", "cosine"):
            raise ConfigError(f"by must be dot or cosine, not {by!r}")
        return dot_products(normalize(self.vectors) if by == "cosine" else self.vectors, pairs)

    def scores(self, pairs: Int[Tensor, "pairs 2"]) -> dict[Similarity, Float[Tensor, " pairs"]]:
        """Return the scores of pairs by dot product and cosine.

        >>> embedding = Embedding(("a", "b"), torch.tensor([[2.0, 0.0], [3.0, 0.0]]), 2)
        >>> {by: scores.tolist() for by, scores in embedding.scores(torch.tensor([[0, 1]])).items()}
        {'dot': [6.0], 'cosine': [1.0]}
        """
        return {by: self.score(pairs, by) for by in get_args(Similarity)}

    def half(self, which: Half) -> Float[Tensor, "vertices some"]:
        """Return the columns of a half, or of both.

        Raises:
            ConfigError: The half is unknown or has no columns.
        """
        return self.vectors[:, columns_of(which, self.text_dim, self.vectors.shape[1])]

    def most_similar(
        self,
        name: str,
        k: int = 10,
        *,
        half: Half = "both",
        among: Bool[Tensor, " vertices"] | None = None,
        approximate: bool = False,
    ) -> list[Neighbor]:
        """Return the ``k`` vertices closest to ``name`` by cosine (section 5.3), best first.

        ``half`` selects the columns to compare and ``among`` the vertices to search. Approximate
        search uses an index, which is built at the first call and may miss some vertices; a search
        with ``among`` is always exact.

        Raises:
            UnknownVertexError: No vertex has this name; the message suggests similar ones.
            MissingExtraError: The search is approximate, and usearch is not installed.
        """
        search = SearchOptions(k, half, _as_array(among), approximate)
        return self._named().most_similar([name], search)[0]

    def most_similar_to_each(
        self,
        names: Sequence[str],
        k: int = 10,
        *,
        half: Half = "both",
        among: Bool[Tensor, " vertices"] | None = None,
        approximate: bool = False,
    ) -> list[list[Neighbor]]:
        """Return ``most_similar`` for each of ``names``, faster than one by one.

        >>> embedding = Embedding(("a", "b", "c"), torch.tensor([[1.0], [2.0], [-1.0]]), 1)
        >>> [closest.id for (closest,) in embedding.most_similar_to_each(("a", "b"), k=1)]
        ['b', 'a']
        """
        search = SearchOptions(k, half, _as_array(among), approximate)
        return self._named().most_similar(names, search)

    def closest(
        self,
        query: Float[Tensor, " dim"],
        k: int = 10,
        *,
        half: Half = "both",
        among: Bool[Tensor, " vertices"] | None = None,
        approximate: bool = False,
    ) -> list[Neighbor]:
        """Return the ``k`` vertices closest to a vector by cosine, best first.

        >>> Embedding(("a", "b"), torch.eye(2), 2).closest(torch.tensor([0.0, 5.0]), k=1)
        [Neighbor(id='b', score=1.0)]

        The cosine of a zero vector is 0.
        """
        search = SearchOptions(k, half, _as_array(among), approximate)
        return self._named().closest(query.detach().unsqueeze(0).numpy(), search)[0]

    def _named(self) -> VectorTable:
        table = self.vectors.detach().numpy()
        return VectorTable(self.ids, table, self.text_dim, self._positions, self._indexes)

    def to_pandas(self) -> "pd.DataFrame":
        """Return a frame with a row per vertex, indexed by id, and a column per dimension.

        >>> Embedding(("a", "b"), torch.eye(2), 2).to_pandas().loc["b"].tolist()
        [0.0, 1.0]

        Raises:
            MissingExtraError: pandas is not installed.
        """
        return interop.to_pandas(self.ids, self.vectors)

    def to_polars(self) -> "pl.DataFrame":
        """Return a frame of ids and vectors, as ``dmte export`` writes them to Parquet.

        >>> Embedding(("a", "b"), torch.eye(2), 2).to_polars().columns
        ['id', 'vector']

        Raises:
            MissingExtraError: polars is not installed.
        """
        return interop.to_polars(self.ids, self.vectors)

    def to_keyed_vectors(self) -> Any:
        """Return gensim's KeyedVectors with the ids as keys.

        >>> Embedding(("a", "b"), torch.eye(2), 2).to_keyed_vectors()["b"].tolist()
        [0.0, 1.0]

        Raises:
            MissingExtraError: gensim is not installed.
        """
        return interop.to_keyed_vectors(self.ids, self.vectors)

    def to_networkx(self, network: TextualNetwork | None = None, *, vector: str = "vector") -> Any:
        """Return ``network`` as a networkx graph with the vectors as attributes of the vertices.

        Vertices also have a ``text`` and, if labelled, a list ``label``. Edges have a ``weight``,
        summed over repeated edges. Without ``network`` there are only vertices.

        >>> embedding = Embedding(("a", "b"), torch.eye(2), 2)
        >>> edges = torch.tensor([[0, 1]])
        >>> network = TextualNetwork(ids=("a", "b"), texts=("left", "right"), edges=edges)
        >>> graph = embedding.to_networkx(network)
        >>> graph.nodes["b"]["text"], graph.nodes["b"]["vector"].tolist()
        ('right', [0.0, 1.0])

        Raises:
            MissingExtraError: networkx is not installed.
            UnknownVertexError: A vertex of the network has no vector.
        """
        if network is None:
            no_edges = torch.empty((0, 2), dtype=torch.int64)
            network = TextualNetwork(ids=self.ids, texts=("",) * len(self), edges=no_edges)
        rows = [self.position(name) for name in network.ids]
        return interop.to_networkx(network, self.vectors[rows], vector)

    def save(self, folder: Path | str) -> None:
        """Store the embedding in ``folder``; an older one stays intact until it is replaced.

        Raises:
            StorageError: The folder has other contents or cannot be written, or a vector has
                numbers that are not finite.
        """
        write_parts(Path(folder), self.parts(), card=f"# A dmte embedding\n\n{self!r}\n")

    def parts(self) -> dict[str, bytes]:
        """Return the files that ``save`` writes, by name.

        Raises:
            StorageError: A vector has numbers that are not finite.
        """
        require(is_finite(self.vectors.detach().numpy()), "vectors must be finite numbers")
        return {
            "vectors.safetensors": codec.encode_tensors({"vectors": self.vectors}),
            "ids.json": codec.encode_json({"ids": list(self.ids), "text_dim": self.text_dim}),
        }

    @classmethod
    def load(cls, folder: Path | str) -> "Embedding":
        """Return the embedding stored in the folder of an embedding or a model.

        Raises:
            StorageError: The folder does not hold an embedding, or it is damaged.
        """
        place = Path(folder)
        return cls.from_parts(map_parts(place, VECTOR_PARTS), place)

    @classmethod
    def from_parts(
        cls, parts: Mapping[str, bytes | mmap.mmap], folder: Path | None = None
    ) -> "Embedding":
        """Return the embedding stored in files that were read together.

        Raises:
            StorageError: A part is missing or invalid.
        """
        return cls.of(stored_vectors(StoredParts(folder or Path("the embedding"), parts)))

    @classmethod
    def of(cls, stored: VectorTable) -> "Embedding":
        """Return an embedding of stored vectors, over the same memory if it can be written."""
        table = stored.table if stored.table.flags.writeable else stored.table.copy()
        embedding = cls(tuple(stored.ids), torch.from_numpy(table), stored.text_dim)
        embedding._indexes.is_stored = True
        return embedding


def _as_array(among: Bool[Tensor, " vertices"] | None) -> Bool[np.ndarray, " vertices"] | None:
    return None if among is None else among.numpy()
