"""Building a model from settings, and computing the halves of every vertex.

A vertex without edges has no row in E_s, since no gradient reaches it. Its structure half is zero.
"""

from typing import Any

import torch
from jaxtyping import Float, Int
from torch import Tensor

from dmte.diffusion.operators import ACTIVATIONS
from dmte.distributed.columns import ALL_COLUMNS, Columns
from dmte.embedding.embedding import Embedding
from dmte.kernels.sparse import SparseMatrix
from dmte.model.assemble import combine_halves
from dmte.model.diffusion_maps import DiffusionMaps, SquareMap, StructureEmbedding
from dmte.network import TextualNetwork
from dmte.runtime.seeding import generator_for
from dmte.settings import Settings
from dmte.text import ENCODERS


def build_model(
    settings: Settings,
    vocabulary_size: int,
    num_linked: int,
    seed: int,
    columns: Columns = ALL_COLUMNS,
) -> DiffusionMaps:
    """Return a model with initial parameters; ``num_linked`` vertices have a row in E_s.

    Parameters are drawn before they are divided, so the number of processes does not change them.
    """
    generator = generator_for(seed, "parameters")
    half, hop_weights = settings.half, settings.hop_weights
    encoder = ENCODERS[settings.encoder](vocabulary_size, half, generator)
    convolution = ACTIVATIONS[settings.activation](half, hop_weights, generator)
    structure = None
    if settings.structure:
        structure = StructureEmbedding(
            num_linked, half, settings.structure_hop_weights or hop_weights, generator
        )
    model = DiffusionMaps(
        encoder,
        convolution if settings.text_diffusion else None,
        structure,
        SquareMap(half) if settings.mixing else None,
        unit_rows=settings.unit_rows,
        transition=settings.transition,
    )
    if columns is not ALL_COLUMNS:
        model.divide(columns)
    return model


@torch.no_grad()
def embed_network(
    model: DiffusionMaps,
    network: TextualNetwork,
    texts: Any,
    linked: Int[Tensor, " linked"],
    transition: SparseMatrix | None = None,
) -> Embedding:
    """Return v_i = v_i^t ⊕ v_i^s of every vertex; ``linked`` are those with a row in E_s.

    ``texts`` holds the texts of ``network`` as the encoder prepared them, and ``transition`` is P
    if it is already computed.
    """
    transition = transition or model.transition_of(network.adjacency())
    text = model.text_embedding(texts, transition)
    structure = structure_half(model, network.num_vertices, linked)
    return Embedding(network.ids, combine_halves(text, structure), text.shape[1])


@torch.no_grad()
def structure_half(
    model: DiffusionMaps, num_vertices: int, linked: Int[Tensor, " linked"]
) -> Float[Tensor, "vertices own"] | None:
    """Return the own columns of V_s, if there is a structure half."""
    if model.structure is None:
        return None
    table: Tensor = model.structure()
    structure = table.new_zeros(num_vertices, table.shape[1])
    structure[linked] = table
    return structure
