from .columns import Columns as Columns
from .conversion import network_from_networkx as network_from_networkx
from .conversion import network_from_scipy as network_from_scipy
from .datasets import DATASETS as DATASETS
from .files import read_labels as read_labels
from .files import read_network as read_network
from .files import read_tables as read_tables
from .folders import read_folder as read_folder
from .folders import write_folder as write_folder
from .frames import network_from_frames as network_from_frames
from .textual_network import TextualNetwork as TextualNetwork
from .writing import write_tables as write_tables

__all__: list[str]
