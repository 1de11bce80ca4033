"""The methods DMTE is compared with, one file each, and all of them by name."""

from collections.abc import Mapping
from types import MappingProxyType

from dmte.baselines.adamic_adar import AdamicAdar
from dmte.baselines.random_vectors import RandomVectors
from dmte.baselines.tfidf import TfIdf
from dmte.embedding import Method

BASELINES: Mapping[str, Method] = MappingProxyType(
    {"random": RandomVectors(), "adamic-adar": AdamicAdar(), "tfidf": TfIdf()}
)
"""Every baseline with its default settings, by the name the command line uses."""

__all__ = ["BASELINES", "AdamicAdar", "RandomVectors", "TfIdf"]
