"""The methods that DMTE is compared with, one file each."""

from collections.abc import Mapping
from types import MappingProxyType

from dmte.baselines.adamic_adar import AdamicAdar
from dmte.baselines.cane.method import Cane
from dmte.baselines.cene import Cene
from dmte.baselines.dmte_released import ReleasedDmte
from dmte.baselines.doc2vec import Doc2Vec
from dmte.baselines.fastrp import FastRp
from dmte.baselines.line import Line
from dmte.baselines.lsa import Lsa, LsaDiffused
from dmte.baselines.random_vectors import RandomVectors
from dmte.baselines.random_walks import DeepWalk, Node2Vec
from dmte.baselines.sentence import Sentence, SentenceDiffused
from dmte.baselines.tadw import Tadw
from dmte.baselines.tfidf import TfIdf
from dmte.baselines.tridnr import TriDnr, TriDnrLabels
from dmte.embedding.method import Method

BASELINES: Mapping[str, Method] = MappingProxyType(
    {
        "dmte-released": ReleasedDmte(),
        "deepwalk": DeepWalk(),
        "line": Line(),
        "node2vec": Node2Vec(),
        "tadw": Tadw(),
        "tridnr": TriDnr(),
        "tridnr-labels": TriDnrLabels(),
        "cene": Cene(),
        "cane": Cane(),
        "random": RandomVectors(),
        "adamic-adar": AdamicAdar(),
        "tfidf": TfIdf(),
        "lsa": Lsa(),
        "lsa-diffused": LsaDiffused(),
        "fastrp": FastRp(),
        "doc2vec": Doc2Vec(),
        "sentence": Sentence(),
        "sentence-diffused": SentenceDiffused(),
    }
)
"""Every baseline with its default settings, by the name the command line uses."""

__all__ = [
    "BASELINES",
    "AdamicAdar",
    "Cane",
    "Cene",
    "DeepWalk",
    "Doc2Vec",
    "FastRp",
    "Line",
    "Lsa",
    "LsaDiffused",
    "Node2Vec",
    "RandomVectors",
    "ReleasedDmte",
    "Sentence",
    "SentenceDiffused",
    "Tadw",
    "TfIdf",
    "TriDnr",
    "TriDnrLabels",
]
