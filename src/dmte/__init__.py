"""Diffusion maps for textual network embedding: one vector per vertex, from text and links.

>>> import dmte
>>> network = dmte.read_network("concepts")
>>> embedding = dmte.Dmte(epochs=100).fit(network, seed=0)
>>> embedding
Embedding(432 vertices × 200, of which 100 from text)
>>> neighbors = embedding.most_similar("b-tree", k=5)
"""

from dmte.config import VARIANTS, Settings
from dmte.embedding import Embedding, Neighbor
from dmte.errors import DmteError
from dmte.network import (
    DATASETS,
    Columns,
    TextualNetwork,
    network_from_frames,
    network_from_networkx,
    network_from_scipy,
    read_folder,
    read_network,
    read_tables,
    write_folder,
    write_tables,
)
from dmte.trained import TrainedModel
from dmte.training import Dmte, EpochReport, TrainingRun

__version__ = "0.1.0"

__all__ = [
    "DATASETS",
    "VARIANTS",
    "Columns",
    "Dmte",
    "DmteError",
    "Embedding",
    "EpochReport",
    "Neighbor",
    "Settings",
    "TextualNetwork",
    "TrainedModel",
    "TrainingRun",
    "network_from_frames",
    "network_from_networkx",
    "network_from_scipy",
    "read_folder",
    "read_network",
    "read_tables",
    "write_folder",
    "write_tables",
]
