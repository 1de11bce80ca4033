"""Random vectors, a lower bound: d independent standard Gaussian numbers per vertex.

Vertices without edges and empty texts get vectors like any other.
"""

from dataclasses import dataclass

import torch

from dmte.embedding.embedding import Embedding
from dmte.errors import ConfigError
from dmte.network import TextualNetwork
from dmte.runtime.seeding import generator_for


@dataclass(frozen=True, slots=True, kw_only=True)
class RandomVectors:
    """Gaussian vectors, independent of the network."""

    dim: int = 200
    """The width of a vector; the paper's."""

    def __post_init__(self) -> None:
        if self.dim < 1:
            raise ConfigError(f"dim must be at least 1, not {self.dim}")

    def fit(self, network: TextualNetwork, seed: int) -> Embedding:
        """Draw one vector per vertex."""
        generator = generator_for(seed, "random vectors")
        vectors = torch.randn(network.num_vertices, self.dim, generator=generator)
        return Embedding(network.ids, vectors, text_dim=0)
