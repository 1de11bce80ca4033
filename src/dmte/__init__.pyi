from .embedding.embedding import Embedding as Embedding
from .errors import DmteError as DmteError
from .errors import DmteWarning as DmteWarning
from .estimator import Dmte as Dmte
from .inference.classify import Labelling as Labelling
from .inference.classify import label_vertices as label_vertices
from .inference.explain import Explanation as Explanation
from .inference.explain import explain as explain
from .model.trained_model import TrainedModel as TrainedModel
from .network import DATASETS as DATASETS
from .network import Columns as Columns
from .network import TextualNetwork as TextualNetwork
from .network import network_from_frames as network_from_frames
from .network import network_from_networkx as network_from_networkx
from .network import network_from_scipy as network_from_scipy
from .network import read_folder as read_folder
from .network import read_labels as read_labels
from .network import read_network as read_network
from .network import read_tables as read_tables
from .network import write_folder as write_folder
from .network import write_tables as write_tables
from .plotting.curves import draw_results as draw_results
from .plotting.curves import draw_training as draw_training
from .plotting.map import Map as Map
from .recipes import PAPER as PAPER
from .recipes import RECIPES as RECIPES
from .recipes import VARIANTS as VARIANTS
from .search.vectors import Neighbor as Neighbor
from .settings import Settings as Settings
from .settings_file import read_settings as read_settings
from .text.feature_files import read_features as read_features
from .training.run import EpochReport as EpochReport
from .training.run import TrainingRun as TrainingRun
from .tuning import tune as tune

__version__: str
__all__: list[str]
