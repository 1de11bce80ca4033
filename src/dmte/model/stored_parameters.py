"""The network and the parameters in a model folder, checked before memory is allocated for them."""

from collections.abc import Sequence

import numpy as np
import torch

from dmte.errors import StorageError
from dmte.model.build import build_model
from dmte.model.diffusion_maps import DiffusionMaps
from dmte.model.model_parts import StoredConfig, StoredLinks, stored_texts
from dmte.network import TextualNetwork
from dmte.storage.codec import FLOAT_KINDS, WHOLE_KINDS
from dmte.storage.stored_parts import StoredParts, check_shapes, require
from dmte.text import Vocabulary, encoder_input


def stored_network(
    parts: StoredParts, config: StoredConfig, ids: Sequence[str], links: StoredLinks
) -> TextualNetwork:
    """Return the network that a model was trained on.

    Raises:
        StorageError: A part is missing or invalid.
    """
    texts, labels = stored_texts(parts, len(ids))
    name, features = "features.safetensors", None
    if name in parts:
        with parts.checking(name):
            kinds = {"features": (*FLOAT_KINDS, *WHOLE_KINDS)}
            rows = parts.tensors(name, kinds)["features"]
        is_float = np.issubdtype(rows.dtype, np.floating)
        features = torch.from_numpy(rows.copy() if is_float else rows.astype(np.float32))
    with parts.checking("texts.json" if features is None else name):
        return TextualNetwork(
            ids=ids,
            texts=texts,
            edges=torch.from_numpy(links.edges.copy()),
            weights=torch.from_numpy(links.weights.copy()),
            directed=config.directed,
            labels=None if labels is None else tuple(map(frozenset, labels)),
            features=features,
        )


def stored_parameters(
    parts: StoredParts, config: StoredConfig, vocabulary: Vocabulary, network: TextualNetwork
) -> DiffusionMaps:
    """Return the model with the stored parameters, whose shapes are checked first.

    Raises:
        StorageError: The part is missing or invalid.
    """
    name = "parameters.safetensors"
    with parts.checking(name):
        found = {table: entry.shape for table, entry in parts.entries(name).items()}
        num_linked, *_ = found.get("structure.table") or (0,)
        require(num_linked <= network.num_vertices, "it has rows for more vertices than there are")
        texts = encoder_input(config.settings.encoder, vocabulary.encode(()), network.features)
        model = _model_without_memory(config, texts.vocabulary_size, num_linked)
        expected = {table: tuple(value.shape) for table, value in model.state_dict().items()}
        check_shapes(found, expected)
        tables = parts.tensors(name, dict.fromkeys(expected, FLOAT_KINDS))
    copies = {table: torch.from_numpy(rows.astype(np.float32)) for table, rows in tables.items()}
    model.load_state_dict(copies, assign=True)
    return model


def _model_without_memory(
    config: StoredConfig, vocabulary_size: int, num_linked: int
) -> DiffusionMaps:
    """Return a model whose tables have shapes but no numbers.

    Raises:
        StorageError: A table has more numbers than can be counted.
    """
    try:
        with torch.device("meta"):
            return build_model(config.settings, vocabulary_size, num_linked, config.seed)
    except RuntimeError as problem:
        raise StorageError(f"its settings make tables that are too large: {problem}") from problem
