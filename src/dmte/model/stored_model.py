"""The vectors, texts, labels and edges in a model folder, without its parameters.

Vectors are read from their file when they are used, and torch is not imported.
"""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from jaxtyping import Bool, Int

from dmte.errors import ConfigError
from dmte.model.model_parts import stored_links, stored_texts
from dmte.runtime.spelling import find_position
from dmte.search.stored_vectors import VECTOR_PARTS, stored_vectors
from dmte.search.vectors import VectorTable
from dmte.storage.folder import map_parts
from dmte.storage.stored_parts import StoredParts

PARTS = (*VECTOR_PARTS, "texts.json", "edges.safetensors")


@dataclass(frozen=True, slots=True, eq=False)
class StoredModel:
    """The vectors of a model and the network it was trained on."""

    vectors: VectorTable
    texts: Sequence[str]
    edges: Int[np.ndarray, "edges 2"]
    labels: Sequence[Collection[str]] | None

    @classmethod
    def read(cls, folder: Path | str) -> "StoredModel":
        """Return the model in a folder, after checking every file that is read.

        Raises:
            StorageError: The folder has no model, or it is damaged.
        """
        place = Path(folder)
        parts = StoredParts(place, map_parts(place, PARTS))
        vectors = stored_vectors(parts)
        texts, labels = stored_texts(parts, len(vectors.ids))
        return cls(vectors, texts, stored_links(parts, len(vectors.ids)).edges, labels)

    def position(self, name: str) -> int:
        """Return the row of the vertex ``name``.

        Raises:
            UnknownVertexError: No vertex has this name; the message suggests similar ones.
        """
        return find_position(self.vectors.positions, name)


def with_label(
    labels: Sequence[Collection[str]] | None, label: str
) -> Bool[np.ndarray, " vertices"]:
    """Return whether each vertex has a label.

    >>> with_label([{"tree"}, {"graph", "tree"}, ()], "graph").tolist()
    [False, True, False]

    Raises:
        ConfigError: No vertex has it; the message lists the labels.
    """
    which = np.array([label in classes for classes in labels or ()], dtype=np.bool_)
    if not which.any():
        known = sorted({one for classes in labels or () for one in classes})
        named = ", ".join(known[:20]) or "none"
        raise ConfigError(f"no vertex has the label {label!r}; the labels are {named}")
    return which
