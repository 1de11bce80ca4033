"""The textual network G = (V, E, T): what it is, where it comes from, how its edges are split."""

from dmte.network.columns import Columns
from dmte.network.conversion import network_from_networkx, network_from_scipy
from dmte.network.datasets import DATASETS
from dmte.network.files import read_labels, read_network, read_tables
from dmte.network.folders import read_folder, write_folder
from dmte.network.frames import network_from_frames
from dmte.network.textual_network import TextualNetwork
from dmte.network.writing import write_tables

__all__ = [
    "DATASETS",
    "Columns",
    "TextualNetwork",
    "network_from_frames",
    "network_from_networkx",
    "network_from_scipy",
    "read_folder",
    "read_labels",
    "read_network",
    "read_tables",
    "write_folder",
    "write_tables",
]
