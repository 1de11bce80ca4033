"""Frozen encoder of precomputed features, projected to their leading singular directions.

    X = F V, rows normalized to length 1

F has one row per vertex, normalized to length 1, such as the vectors of a sentence encoder. V holds
the singular directions of the training rows. If X is as wide as F, V is only a rotation.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass

import torch
from jaxtyping import Float, Int
from torch import Tensor
from torch.nn.functional import normalize

from dmte.distributed.columns import ALL_COLUMNS, Columns
from dmte.errors import ConfigError
from dmte.kernels.row_norms import unit_rows_
from dmte.settings import ENCODER_TRAITS
from dmte.text.directions import strongest_directions
from dmte.text.frozen import FrozenEncoder
from dmte.text.vocabulary import TokenizedTexts


@dataclass(frozen=True, slots=True, eq=False)
class FeatureRows:
    """Rows of F, used in place of texts."""

    rows: Float[Tensor, "vertices features"]

    def __len__(self) -> int:
        return len(self.rows)

    @property
    def vocabulary_size(self) -> int:
        """Number of features; stands in for the number of words."""
        return self.rows.shape[1]

    def select(self, vertices: Int[Tensor, " some"]) -> "FeatureRows":
        """Return the rows of ``vertices``."""
        return FeatureRows(self.rows[vertices])

    def dropout_words(self, share: float, generator: torch.Generator) -> "FeatureRows":  # noqa: ARG002
        """Return the same rows, because there are no words to drop."""
        return self


EncoderInput = TokenizedTexts | FeatureRows
"""The input of an encoder: texts or features."""


def encoder_input(
    encoder: str, texts: TokenizedTexts, features: Float[Tensor, "vertices features"] | None
) -> EncoderInput:
    """Return the input of the encoder of this name: ``texts`` or ``features``.

    Raises:
        ConfigError: The encoder needs features and ``features`` is None.
    """
    if ENCODER_TRAITS[encoder].reads_words:
        return texts
    if features is None:
        raise ConfigError(
            "the encoder 'features' needs a row of numbers per vertex, and the network has none; "
            "give them with --features, or with TextualNetwork.with_features"
        )
    return FeatureRows(features)


class PrecomputedFeatures(FrozenEncoder[FeatureRows, Tensor]):
    """X = F V with rows of length 1; zero until ``start`` is called."""

    def start(  # Features have no characters.
        self,
        texts: FeatureRows,
        seed: int,
        *,
        letters: bool | None = None,  # noqa: ARG002
        columns: Columns = ALL_COLUMNS,
    ) -> None:
        """Compute the own columns of V from the features."""
        rows = unit_features(texts.rows.double()).numpy()
        self.columns, dtype = columns, self.directions.dtype
        self.directions = strongest_directions(rows, self.dim, seed, columns=columns).to(dtype)

    def product_with(self, texts: FeatureRows) -> Callable[[Tensor], Tensor]:
        """Return the product with F."""
        rows = unit_features(texts.rows).to(self.directions.dtype)
        return lambda directions: rows @ directions

    def prepare(self, texts: FeatureRows) -> Float[Tensor, "vertices dim"]:
        """Compute X, which is constant during training."""
        return unit_rows_(self.project(texts), self.columns)

    def forward(self, prepared: Float[Tensor, "vertices dim"]) -> Float[Tensor, "vertices dim"]:
        """Return X unchanged."""
        return prepared


def unit_features(
    rows: Float[Tensor, "vertices features"],
) -> Float[Tensor, "vertices features"]:
    """Divide every row by its length, without overflow or underflow; zero rows stay zero.

    Squares of numbers above 1e19 or below 1e-19 do not fit into float32. Each row is first scaled
    to about 1 by a power of two, which is exact.

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
