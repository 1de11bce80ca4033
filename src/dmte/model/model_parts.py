"""The parts of a model folder, checked: texts, edges, settings and words. torch is not imported."""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from jaxtyping import Float, Int

from dmte.errors import StorageError
from dmte.model.history import EpochRecord, history_from_json
from dmte.search.vectors import VectorTable
from dmte.settings import Settings
from dmte.storage.codec import FLOAT_KINDS, WHOLE_KINDS
from dmte.storage.stored_json import Stored, check_texts
from dmte.storage.stored_parts import StoredParts, require

LINKS = {"edges": WHOLE_KINDS, "weights": FLOAT_KINDS}


class StoredTexts(NamedTuple):
    """The texts and labels of the vertices."""

    texts: list[str]
    labels: list[list[str]] | None


class StoredLinks(NamedTuple):
    """The edges of a network and their weights."""

    edges: Int[np.ndarray, "edges 2"]
    weights: Float[np.ndarray, " edges"]


@dataclass(frozen=True, slots=True)
class StoredConfig:
    """How a model was trained."""

    settings: Settings
    seed: int
    num_vertices: int
    num_edges: int
    directed: bool
    fingerprint: str
    versions: dict[str, str]


def stored_texts(parts: StoredParts, num_vertices: int) -> StoredTexts:
    """Return the texts and labels, one per vertex.

    Raises:
        StorageError: The part is missing or invalid.
    """
    with parts.checking("texts.json"):
        content = parts.object("texts.json")
        texts, labels = content.texts("texts"), content.values.get("labels")
        require(len(texts) == num_vertices, f"{len(texts)} texts for {num_vertices} vertices")
        if labels is None:
            return StoredTexts(texts, None)
        require(isinstance(labels, list), "labels must be a list")
        require(len(labels) == num_vertices, f"labels of {len(labels)} of {num_vertices} vertices")
        found = [check_texts(one, f"labels.{at}") for at, one in enumerate(labels)]
        return StoredTexts(texts, found)


def stored_links(parts: StoredParts, num_vertices: int) -> StoredLinks:
    """Return the edges and their weights.

    Raises:
        StorageError: The part is missing or invalid.
    """
    with parts.checking("edges.safetensors"):
        tensors = parts.tensors("edges.safetensors", LINKS)
        edges, weights = tensors["edges"], tensors["weights"]
        require(edges.ndim == 2 and edges.shape[1] == 2, f"edges have the shape {edges.shape}")
        require(
            edges.size == 0 or 0 <= edges.min() <= edges.max() < num_vertices,
            f"the ends of edges must be from 0 to {num_vertices - 1}",
        )
        require(weights.shape == (len(edges),), f"{weights.shape} weights for {len(edges)} edges")
        require(weights.size == 0 or weights.min() > 0, "weights must be above 0")
        return StoredLinks(edges, weights)


def stored_config(parts: StoredParts) -> StoredConfig:
    """Return how the model was trained.

    Raises:
        StorageError: The part is missing or invalid.
    """
    with parts.checking("config.json"):
        config = parts.object("config.json")
        network, versions = config.inner("network"), config.inner("versions")
        return StoredConfig(
            Settings.from_stored(config.inner("settings").values),
            stored_seed(config),
            network.whole("vertices"),
            network.whole("edges"),
            network.flag("directed"),
            network.text("fingerprint"),
            {name: versions.text(name) for name in versions.values},
        )


def stored_seed(content: Stored) -> int:
    """Return the seed, which may be below 0.

    Raises:
        StorageError: It is not a whole number.
    """
    seed = content.values.get("seed")
    if type(seed) is not int:
        raise StorageError(f"the seed must be a whole number, not {str(seed)[:60]}")
    return seed


def stored_words(parts: StoredParts) -> tuple[str, ...]:
    """Return the words of the vocabulary.

    Raises:
        StorageError: The part is missing or invalid.
    """
    with parts.checking("vocabulary.json"):
        words = check_texts(parts.json("vocabulary.json"), "everything")
        require(len(set(words)) == len(words), "a word occurs more than once")
        return tuple(words)


def stored_history(parts: StoredParts) -> list[EpochRecord]:
    """Return the epochs of the training.

    Raises:
        StorageError: The part is missing or invalid.
    """
    with parts.checking("history.json"):
        return history_from_json(parts.json("history.json"))


def check_sizes(
    parts: StoredParts, config: StoredConfig, vectors: VectorTable, links: StoredLinks
) -> None:
    """Check that settings, vectors and edges fit together.

    Raises:
        StorageError: They do not.
    """
    settings, (rows, width) = config.settings, vectors.table.shape
    with parts.checking("config.json"):
        found = (config.num_vertices, config.num_edges)
        require(found == (rows, len(links.edges)), f"there are not {found} vertices and edges")
        require(settings.half == vectors.text_dim, f"the text half is not {vectors.text_dim} wide")
        halves = 2 if settings.structure or settings.structure_share else 1
        require(width == halves * settings.half, f"the vectors are not {width} wide")
