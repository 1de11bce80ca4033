"""How wide spectral texts should be: as many directions as rank held-back edges best.

Few directions suit small networks and short texts, many suit texts that name what they link to; no
rule of thumb was right for all networks tried. So every width is tried before training: the texts,
diffused with the weights λ and nothing learned, are asked about edges that were held back.
"""

from collections.abc import Sequence

import torch
from torch.nn.functional import normalize

from dmte.config import Settings
from dmte.errors import TrainingError
from dmte.network import TextualNetwork
from dmte.ranking import auc
from dmte.supervision import HeldBack
from dmte.text import EncoderInput, FeatureRows, FrozenFeatures, SpectralWords
from dmte.trained import build_model, embed_network

WIDTHS = (64, 128, 256, 512)
"""Widths to choose from."""
UNTRIED_WIDTH = 128
"""The width where there are too few edges to hold some back."""


FixedTexts = SpectralWords | FrozenFeatures
"""The encoders whose texts are fixed before training."""


def spectral_start(
    settings: Settings,
    splits: Sequence[tuple[TextualNetwork, HeldBack | None]],
    texts: EncoderInput,
    seed: int,
) -> FixedTexts:
    """Return the encoder with its directions found, as wide as the settings or the edges say.

    Raises:
        TrainingError: There are no words.
    """
    widths = _widths(texts) if settings.dim is None else (settings.half,)
    widest = _started(texts, max(widths), seed)
    if not bool(widest.directions.any()):
        raise TrainingError(
            "no text has a word, and texts are all this recipe learns from; the paper's "
            "recipe learns from the links alone as well"
        )
    if len(widths) == 1:
        return widest
    judged = [(train, held_back) for train, held_back in splits if held_back is not None]
    if not judged:
        return widest.narrowed(min(UNTRIED_WIDTH, widest.dim))
    none_linked = torch.empty(0, dtype=torch.int64)
    projected = widest.project(texts)  # type: ignore[arg-type]
    found = dict.fromkeys(widths, 0.0)
    for width in widths:
        model = build_model(settings.with_dim(width), 0, 0, seed)
        narrow = normalize(projected[:, :width])
        for train, held_back in judged:
            vectors = embed_network(model, train, narrow, none_linked)
            found[width] += auc(vectors.score(held_back.edges), vectors.score(held_back.non_edges))
    # Of equally good widths the smallest, which is the first.
    return widest.narrowed(max(found, key=lambda width: found[width]))


def _started(texts: EncoderInput, dim: int, seed: int) -> FixedTexts:
    if isinstance(texts, FeatureRows):
        features = FrozenFeatures(texts.vocabulary_size, dim, torch.Generator())
        features.start(texts, seed)
        return features
    words = SpectralWords(texts.vocabulary_size, dim, torch.Generator())
    words.start(texts, seed)
    return words


def _widths(texts: EncoderInput) -> tuple[int, ...]:
    """Return the widths to try: of given features up to the first that holds all of them."""
    if not isinstance(texts, FeatureRows):
        return WIDTHS
    needed = [width for width in WIDTHS if width < texts.vocabulary_size]
    return WIDTHS[: len(needed) + 1]
