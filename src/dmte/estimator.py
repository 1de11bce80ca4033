"""DMTE as a scikit-learn transformer: parameters, ``fit``, ``transform``, a step of a pipeline.

Training uses a network and never labels. So the network is a parameter, and the samples that go
through a pipeline are ids of its vertices:

    X, y         ids and their labels, which scikit-learn splits and searches over
    fit          trains on the whole network; the ids X must be in it, y is ignored
    transform    returns the vectors of the ids X

Without the parameter, ``fit`` takes the network itself. ``transform`` of another network returns
vectors of its new vertices (``model.new_vertices``). The trained model depends only on the network,
the settings and the seed. A folder given as ``memory`` stores it for every fold and grid point that
has these in common. A pipeline's own ``memory`` cannot do this, since its keys include X.
"""

import hashlib
import json
from collections.abc import Iterable
from dataclasses import fields
from pathlib import Path
from typing import Any

import numpy as np
from jaxtyping import Float
from sklearn.base import (  # type: ignore[import-untyped]
    BaseEstimator,
    ClassNamePrefixFeaturesOutMixin,
    TransformerMixin,
    clone,
)
from sklearn.utils.validation import check_is_fitted  # type: ignore[import-untyped]

from dmte.constraints import check_value
from dmte.embedding.embedding import Embedding
from dmte.errors import ConfigError
from dmte.model.trained_model import TrainedModel
from dmte.network import TextualNetwork
from dmte.runtime.provenance import environment
from dmte.settings import Activation, Encoder, Favor, Loss, ObjectiveWeights, Settings, Transition
from dmte.storage.folder import is_stored
from dmte.training.method import DmteMethod

Ids = Iterable[object]
"""Ids of vertices, strings or numbers, in one column."""


class Dmte(ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator):  # type: ignore[misc]
    """One vector per vertex, learned from texts and links.

    The parameters are those of ``Settings``, whose documentation has their details and sources.
    The defaults are the recommended recipe; ``Dmte.of(dmte.PAPER)`` has the paper's.

    >>> import dmte
    >>> network = dmte.read_network("concepts")
    >>> vectors = Dmte(dim=64, epochs=2).fit(network)
    >>> vectors.embedding_
    Embedding(432 vertices × 64, of which 64 from text)
    >>> vectors.transform(["b-tree", "r-tree"]).shape
    (2, 64)
    >>> Dmte(dim=64, seed=3), Dmte.of(dmte.PAPER).encoder
    (Dmte(dim=64, seed=3), 'word-average')

    Args:
        encoder: Text encoder that produces X, one row per vertex.
        dim: Width d of a vertex's vector; with None, validation edges choose 64, 128, 256 or 512.
        hop_weights: Importance λ of the hops 0, 1, 2, ..., one number per hop.
        structure_hop_weights: Importance λ of the hops in the structure half.
        text_diffusion: Compute V_t as the diffusion convolution of X; otherwise V_t = X (version
            i).
        transition: Matrix P that texts are diffused by.
        activation: Nonlinearity applied to each hop before hops are summed.
        mixing: Multiply V_t by a learned square matrix, initialised as the identity.
        unit_rows: Normalise the rows of V_t to length 1, so that dot products are cosines.
        structure: Add a structure half, a learned row per vertex; otherwise v_i = v_i^t (version
            ii).
        structure_share: Weight β of links in a score, next to texts; 0 disables it.
        degree_power: Exponent a of the length (1 + d/3)^a of a vertex with d edges; 0 is length 1.
        min_count: Minimum number of occurrences of a word in the vocabulary.
        max_vocabulary: Maximum number of words in the vocabulary, the most frequent first.
        letters: Add character n-grams to the words of spectral texts, to match inflected words.
        word_weights: Learn a weight per word of spectral texts, initialised from its IDF.
        word_dropout: Fraction of words dropped from the texts, drawn again each epoch.
        objective: Weights α of the four parts: text-text, structure-structure, structure-text,
            text-structure.
        loss: Loss function: "pointwise" (logistic, Eq. 13) or "ranking" (edges outscore negatives).
        sharpness: Factor τ of score differences in the ranking loss.
        softmax_weight: Weight μ of a softmax in the ranking loss, which improves the top of a
            ranking.
        num_negatives: Negatives per edge, K; 1 in the paper (section 5).
        share_negatives: Draw one set of K negatives for all edges of a step; the paper draws a set
            for each edge.
        noise_power: Exponent of the out-degree in the noise distribution; 0.75 in the paper
            (section 4.4).
        epochs: Maximum number of passes over the edges, or over 20,480 of them if X is fixed.
        batch_size: Edges per step.
        round_edges: Edges that one or more steps score while all are removed from P
            (``hide_supervised``).
        learning_rate: Step size of Adam.
        mixing_learning_rate: Step size of Adam for the square matrix of the setting mixing.
        decay: Decrease all step sizes linearly to zero over ``epochs``.
        word_learning_rate: Step size of Adam for the logarithms of the word weights, which have one
            step per round.
        hide_supervised: Remove the edges of a step from P while they are scored (see
            ``round_edges``).
        validation_fraction: Fraction of edges held out for early stopping.
        folds: Trainings with different validation edges, whose parameters are averaged.
        validate_every: Epochs between two evaluations on the validation edges.
        patience: Evaluations without a better validation result before training stops.
        favor: Criterion by which validation edges choose: "auc", "top" or "balanced".
        network: Network to train on; None if ``fit`` receives it.
        seed: Seed of all random numbers; the same seed gives the same vectors.
        memory: Folder that stores trained models, to load instead of training again.

    Attributes:
        model_: The trained model (``TrainedModel``), which can be saved.
        embedding_: Its vectors (``Embedding``).
    """

    model_: TrainedModel
    embedding_: Embedding

    def __init__(  # noqa: PLR0913, PLR0915 - scikit-learn reads the parameters from this signature
        self,
        *,
        encoder: Encoder = "spectral",
        dim: int | None = None,
        hop_weights: tuple[float, ...] = (1.0, 0.7, 0.5, 0.35),
        structure_hop_weights: tuple[float, ...] | None = None,
        text_diffusion: bool = True,
        transition: Transition = "symmetric",
        activation: Activation = "none",
        mixing: bool = True,
        unit_rows: bool = True,
        structure: bool = False,
        structure_share: float | None = None,
        degree_power: float | None = None,
        min_count: int = 1,
        max_vocabulary: int | None = 200_000,
        letters: bool | None = None,
        word_weights: bool | None = None,
        word_dropout: float | None = None,
        objective: ObjectiveWeights = ObjectiveWeights(),
        loss: Loss = "ranking",
        sharpness: float = 10.0,
        softmax_weight: float | None = None,
        num_negatives: int = 128,
        share_negatives: bool = True,
        noise_power: float = 0.0,
        epochs: int = 8,
        batch_size: int | None = None,
        round_edges: int | None = None,
        learning_rate: float = 0.03,
        mixing_learning_rate: float = 0.002,
        decay: bool = True,
        word_learning_rate: float = 0.05,
        hide_supervised: bool = True,
        validation_fraction: float = 0.1,
        folds: int | None = None,
        validate_every: int = 1,
        patience: int = 8,
        favor: Favor = "auc",
        network: TextualNetwork | None = None,
        seed: int = 0,
        memory: Path | str | None = None,
    ) -> None:
        """Store the parameters unchanged; ``fit`` checks them."""
        self.encoder = encoder
        self.dim = dim
        self.hop_weights = hop_weights
        self.structure_hop_weights = structure_hop_weights
        self.text_diffusion = text_diffusion
        self.transition = transition
        self.activation = activation
        self.mixing = mixing
        self.unit_rows = unit_rows
        self.structure = structure
        self.structure_share = structure_share
        self.degree_power = degree_power
        self.min_count = min_count
        self.max_vocabulary = max_vocabulary
        self.letters = letters
        self.word_weights = word_weights
        self.word_dropout = word_dropout
        self.objective = objective
        self.loss = loss
        self.sharpness = sharpness
        self.softmax_weight = softmax_weight
        self.num_negatives = num_negatives
        self.share_negatives = share_negatives
        self.noise_power = noise_power
        self.epochs = epochs
        self.batch_size = batch_size
        self.round_edges = round_edges
        self.learning_rate = learning_rate
        self.mixing_learning_rate = mixing_learning_rate
        self.decay = decay
        self.word_learning_rate = word_learning_rate
        self.hide_supervised = hide_supervised
        self.validation_fraction = validation_fraction
        self.folds = folds
        self.validate_every = validate_every
        self.patience = patience
        self.favor = favor
        self.network = network
        self.seed = seed
        self.memory = memory

    @classmethod
    def of(
        cls,
        settings: Settings,
        *,
        network: TextualNetwork | None = None,
        seed: int = 0,
        memory: Path | str | None = None,
    ) -> "Dmte":
        """Return the estimator with these settings."""
        return cls(**_values(settings), network=network, seed=seed, memory=memory)

    def __sklearn_clone__(self) -> "Dmte":
        """Return an unfitted copy, which shares the immutable network."""
        parameters = self.get_params(deep=False)
        network = parameters.pop("network")
        return type(self)(network=network, **clone(parameters, safe=False))

    def fit(self, X: TextualNetwork | Ids | None = None, y: object = None) -> "Dmte":  # noqa: ARG002, N803
        """Train on the network X, or on the parameter ``network`` if X are ids of its vertices.

        Raises:
            ConfigError: There is no network, or a parameter is out of range.
            UnknownVertexError: An id is not in the network.
            TrainingError: There is too little to learn from, or the loss diverged.
        """
        check_value("seed", self.seed, int)
        network = X if isinstance(X, TextualNetwork) else self.network
        if network is None:
            raise ConfigError("give a network, to fit(...) or as the parameter network=...")
        if X is not network and X is not None:
            for name in _as_ids(X):
                network.position(name)
        self.model_ = self._train(network, Settings(**_values(self)))
        self.embedding_ = self.model_.embedding
        self._n_features_out = self.embedding_.vectors.shape[1]
        return self

    def transform(self, X: TextualNetwork | Ids) -> Float[np.ndarray, "rows dim"]:  # noqa: N803
        """Return the vectors of ids, or those of the new vertices of another network.

        The network of the training itself gives all vectors.

        Raises:
            UnknownVertexError: An id is not in the network of the training.
            NetworkError: Another network has no new vertex, or repeats a known one.
        """
        check_is_fitted(self)
        if not isinstance(X, TextualNetwork):
            rows = [self.embedding_.position(name) for name in _as_ids(X)]
            return self.embedding_.vectors[rows].numpy()
        if X.fingerprint() == self.model_.network.fingerprint():
            return self.embedding_.vectors.numpy()
        return self.model_.embed(X).vectors.numpy()

    def _train(self, network: TextualNetwork, settings: Settings) -> TrainedModel:
        """Return the trained model, loaded from ``memory`` if it is stored there."""
        method = DmteMethod(settings)
        if self.memory is None:
            return method.train(network, self.seed)
        made_of = [network.fingerprint(), settings.to_dict(), self.seed, environment()]
        name = hashlib.sha256(json.dumps(made_of).encode()).hexdigest()
        folder = Path(self.memory) / name[:32]
        if not is_stored(folder):
            method.train(network, self.seed).save(folder)
        return TrainedModel.load(folder)


def _values(holder: Settings | Dmte) -> dict[str, Any]:
    """Return the value of every setting by name."""
    return {setting.name: getattr(holder, setting.name) for setting in fields(Settings)}


def _as_ids(ids: Any) -> list[str]:
    """Return ids in one column, as a list, an array or a frame holds them, as strings.

    Raises:
        ConfigError: There are several columns.
    """
    column = np.asarray(ids, dtype=object)
    if column.ndim == 2 and column.shape[1] == 1:
        column = column[:, 0]
    if column.ndim != 1:
        raise ConfigError(f"give ids of vertices in one column, not of the shape {column.shape}")
    return [str(name) for name in column]
