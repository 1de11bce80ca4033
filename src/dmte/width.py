"""How wide spectral texts should be: as many directions as rank held-back edges best.

Few directions suit small networks and short texts, many suit texts that name what they link to; no
rule of thumb was right for all networks tried. So every width is tried before training: the texts,
diffused with the weights λ and nothing learned, are asked about edges that were held back.
"""

from collections.abc import Sequence
from typing import Any

import torch
from torch.nn.functional import normalize

from dmte.config import Settings
from dmte.distributed.group import Team
from dmte.errors import ConfigError, TrainingError
from dmte.model.build import build_model, embed_network
from dmte.network import TextualNetwork
from dmte.ranking import auc
from dmte.supervision import HeldBack
from dmte.text import ENCODERS, EncoderInput, FeatureRows, FixedTexts

WIDTHS = (64, 128, 256, 512)
"""Widths to choose from."""
UNTRIED_WIDTH = 128
"""The width where there are too few edges to hold some back."""


def spectral_start(
    settings: Settings,
    splits: Sequence[tuple[TextualNetwork, HeldBack | None]],
    texts: EncoderInput,
    seed: int,
) -> FixedTexts[Any]:
    """Return the encoder with its directions found, as wide as the settings or the edges say.

    Raises:
        TrainingError: There are no words.
    """
    widths = _widths(texts) if settings.dim is None else (settings.half,)
    kind = ENCODERS[settings.encoder]
    widest = kind(texts.vocabulary_size, max(widths), torch.Generator())
    if not isinstance(widest, FixedTexts):
        raise ConfigError(f"the texts of the encoder {settings.encoder!r} are learned, not fixed")
    widest.start(texts, seed, letters=settings.letters)
    if not bool(widest.directions.any()):
        raise TrainingError(_nothing_to_read(texts))
    if len(widths) == 1:
        return widest
    judged = [(train, held_back) for train, held_back in splits if held_back is not None]
    if not judged:
        return widest.narrowed(min(UNTRIED_WIDTH, widest.dim))
    none_linked = torch.empty(0, dtype=torch.int64)
    projected = widest.project(texts)
    found = dict.fromkeys(widths, 0.0)
    for width in widths:
        model = build_model(settings.with_half(width), 0, 0, seed)
        narrow = normalize(projected[:, :width])
        for train, held_back in judged:
            vectors = embed_network(model, train, narrow, none_linked)
            found[width] += auc(vectors.score(held_back.edges), vectors.score(held_back.non_edges))
    # Of equally good widths the smallest, which is the first.
    return widest.narrowed(max(found, key=lambda width: found[width]))


def divided_start(
    settings: Settings,
    splits: Sequence[tuple[TextualNetwork, HeldBack | None]],
    texts: EncoderInput,
    seed: int,
    team: Team,
) -> FixedTexts[Any]:
    """Return the own columns of the encoder that the first process of a team has found.

    Others do not look for themselves: another processor may find another sign or another width.

    Raises:
        TrainingError: There are no words.
    """
    found = team.let_first(lambda: spectral_start(settings, splits, texts, seed))
    if team.size == 1 and found is not None:
        return found
    width = int(team.say("" if found is None else str(found.dim)))
    own: FixedTexts[Any] = ENCODERS[settings.encoder](  # type: ignore[assignment]
        texts.vocabulary_size, width, torch.Generator()
    )
    axes = own.divide(team)
    for name, table in list(own.named_buffers()):
        whole = None if found is None else found.get_buffer(name)
        if name in axes:
            own.register_buffer(name, team.from_first(whole, len(table), width, table.dtype))
        else:
            own.register_buffer(name, team.copy_of_first(table if whole is None else whole))
    return own


def _nothing_to_read(texts: EncoderInput) -> str:
    """Return what to say where no direction is other than zero, whichever verb was asked."""
    if isinstance(texts, FeatureRows):
        return (
            "all features of all vertices are zero, and the encoder 'features' reads nothing else; "
            "give others, or leave them out to read the texts"
        )
    return (
        "no text has a word, and the encoder 'spectral' reads nothing else; the paper's recipe "
        "('dmte train --recipe paper', the method dmte-paper) learns from links alone"
    )


def _widths(texts: EncoderInput) -> tuple[int, ...]:
    """Return the widths to try: of given features up to the first that holds all of them."""
    if not isinstance(texts, FeatureRows):
        return WIDTHS
    needed = [width for width in WIDTHS if width < texts.vocabulary_size]
    return WIDTHS[: len(needed) + 1]
