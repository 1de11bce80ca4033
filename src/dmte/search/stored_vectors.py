"""The vectors and ids of a stored folder, without torch."""

from dmte.search.index_cache import IndexCache
from dmte.search.vectors import VectorTable
from dmte.storage.codec import FLOAT_KINDS
from dmte.storage.stored_parts import StoredParts, require

VECTOR_PARTS = ("vectors.safetensors", "ids.json")


def stored_vectors(parts: StoredParts) -> VectorTable:
    """Return the vectors of a folder over the memory of its parts, and their ids.

    Raises:
        StorageError: A part is missing or invalid.
    """
    with parts.checking("vectors.safetensors"):
        table = parts.tensors("vectors.safetensors", {"vectors": FLOAT_KINDS})["vectors"]
        require(table.ndim == 2 and table.shape[1] > 0, f"vectors have the shape {table.shape}")
    with parts.checking("ids.json"):
        names = parts.object("ids.json")
        ids, text_dim = names.texts("ids"), names.whole("text_dim", table.shape[1])
        require(len(ids) == len(table), f"{len(ids)} ids are stored for {len(table)} vectors")
        positions = {name: position for position, name in enumerate(ids)}
        require(len(positions) == len(ids), "an id occurs more than once")
    return VectorTable(ids, table, text_dim, positions, IndexCache(is_stored=True))
