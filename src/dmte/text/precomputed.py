"""Features that somebody else's model made, fixed, in their strongest directions.

    X = F V, every row divided by its length

with F a row of numbers per vertex, such as the vectors of a sentence encoder, its rows of length 1,
and V the directions of the rows it was started from. As wide as F, V only turns F.
"""

import math
from dataclasses import dataclass

import torch
from jaxtyping import Float, Int
from torch import Tensor
from torch.nn.functional import normalize

from dmte.errors import ConfigError
from dmte.settings import ENCODER_TRAITS
from dmte.text.frozen import FrozenEncoder
from dmte.text.tfidf import strongest_directions
from dmte.text.vocabulary import TokenizedTexts


@dataclass(frozen=True, slots=True, eq=False)
class FeatureRows:
    """Rows of F, in place of texts."""

    rows: Float[Tensor, "vertices features"]

    def __len__(self) -> int:
        return len(self.rows)

    @property
    def vocabulary_size(self) -> int:
        """How many features there are; words to an encoder that reads words."""
        return self.rows.shape[1]

    def select(self, vertices: Int[Tensor, " some"]) -> "FeatureRows":
        """Return the rows of ``vertices``."""
        return FeatureRows(self.rows[vertices])

    def dropout_words(self, share: float, generator: torch.Generator) -> "FeatureRows":  # noqa: ARG002
        """Return the same rows: there are no words to leave out."""
        return self


EncoderInput = TokenizedTexts | FeatureRows
"""What an encoder may read of vertices."""


def encoder_input(
    encoder: str, texts: TokenizedTexts, features: Float[Tensor, "vertices features"] | None
) -> EncoderInput:
    """Return what the encoder of this name reads of vertices: their texts or their features.

    Raises:
        ConfigError: It reads features, and there are none.
    """
    if ENCODER_TRAITS[encoder].reads_words:
        return texts
    if features is None:
        raise ConfigError(
            "the encoder 'features' reads a row of numbers per vertex, and the network has none; "
            "give them with --features, or with TextualNetwork.with_features"
        )
    return FeatureRows(features)


class PrecomputedFeatures(FrozenEncoder[FeatureRows]):
    """X = F V with rows of length 1; zero until it is started."""

    def start(  # Features have no letters.
        self,
        texts: FeatureRows,
        seed: int,
        *,
        letters: bool | None = None,  # noqa: ARG002
    ) -> None:
        """Find the strongest directions of the features."""
        rows = unit_features(texts.rows.double()).numpy()
        self.directions.copy_(torch.from_numpy(strongest_directions(rows, self.dim, seed)))

    def project(self, texts: FeatureRows) -> Float[Tensor, "vertices dim"]:
        """Return F V."""
        return unit_features(texts.rows).to(self.directions.dtype) @ self.directions


def unit_features(
    rows: Float[Tensor, "vertices features"],
) -> Float[Tensor, "vertices features"]:
    """Return every row but zeros divided by its length, however large or small its numbers are.

    Squares of what is beyond 1e19 or below 1e-19 do not fit into four bytes, so a row is brought
    near 1 first, by a power of two, which leaves the digits of its numbers what they are.

    >>> unit_features(torch.tensor([[3e30, 4e30], [0.0, 0.0]]))
    tensor([[0.6000, 0.8000],
            [0.0000, 0.0000]])
    """
    wide = rows.to(torch.promote_types(rows.dtype, torch.float32))
    if not wide.numel():
        return wide
    _, exponents = torch.frexp(wide.abs().amax(dim=1, keepdim=True))
    most = -math.frexp(torch.finfo(wide.dtype).tiny)[1]
    scaled = wide * torch.exp2(-exponents.clamp(-most, most).to(wide.dtype))
    return normalize(scaled, out=scaled)
