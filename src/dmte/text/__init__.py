"""Text encoders: the vocabulary, the encoder interface and the table of encoders."""

import warnings
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

from dmte.text.bilstm import BiLSTM
from dmte.text.encoder import TextEncoder
from dmte.text.frozen import FrozenEncoder
from dmte.text.precomputed import EncoderInput, FeatureRows, PrecomputedFeatures, encoder_input
from dmte.text.spectral import SpectralWords
from dmte.text.vocabulary import TokenizedTexts, Vocabulary, tokenize, tokenized
from dmte.text.word_average import WordAverage
from dmte.text.word_weights import LearnedWeights

ENCODERS: Mapping[str, type[TextEncoder[Any, Any]]] = MappingProxyType(
    {
        "word-average": WordAverage,
        "bilstm": BiLSTM,
        "spectral": SpectralWords,
        "features": PrecomputedFeatures,
    }
)
"""Every text encoder, by the name the command line uses."""

__all__ = [
    "ENCODERS",
    "BiLSTM",
    "EncoderInput",
    "FeatureRows",
    "FrozenEncoder",
    "LearnedWeights",
    "PrecomputedFeatures",
    "SpectralWords",
    "TextEncoder",
    "TokenizedTexts",
    "Vocabulary",
    "WordAverage",
    "encoder_input",
    "tokenize",
    "tokenized",
]

_RENAMED: dict[str, Any] = {"FixedTexts": FrozenEncoder, "FrozenFeatures": PrecomputedFeatures}


def __getattr__(name: str) -> Any:
    """Resolve a former name, with a warning."""
    if name not in _RENAMED:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    found = _RENAMED[name]
    warnings.warn(f"{name} is now {found.__name__}", DeprecationWarning, stacklevel=2)
    return found
