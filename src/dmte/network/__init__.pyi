from .convert import network_from_networkx as network_from_networkx
from .convert import network_from_scipy as network_from_scipy
from .datasets import DATASETS as DATASETS
from .formats.cane_folder import read_folder as read_folder
from .formats.cane_folder import write_folder as write_folder
from .formats.columns import Columns as Columns
from .formats.frames import network_from_frames as network_from_frames
from .formats.read import read_labels as read_labels
from .formats.read import read_network as read_network
from .formats.read import read_tables as read_tables
from .formats.write import write_tables as write_tables
from .textual_network import TextualNetwork as TextualNetwork

__all__: list[str]
