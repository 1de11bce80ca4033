"""DMTE in the manner of scikit-learn: parameters, ``fit``, ``transform``, a place in a pipeline.

Training looks at a network and never at labels, so the network is a parameter, and what goes
through a pipeline are ids of its vertices:

    X, y     ids and their labels, split and searched over as scikit-learn likes
    fit      train on the whole network; X has to be in it, y is not looked at
    transform    the vectors of the ids X

Without the parameter, ``fit`` takes the network itself. ``transform`` of another network gives the
vectors of its unseen vertices (``unseen.py``). What is trained depends on the network, the settings
and the seed alone, so a folder named by ``memory`` keeps it for every fold and every grid point
that has these in common. A pipeline's own ``memory`` cannot: it tells folds apart by their X.
"""

import hashlib
import inspect
import json
from collections.abc import Iterable
from dataclasses import fields
from inspect import Parameter
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

from dmte.embedding.embedding import Embedding
from dmte.errors import ConfigError
from dmte.model.trained_model import TrainedModel
from dmte.network import TextualNetwork
from dmte.runtime.provenance import environment
from dmte.settings import Settings
from dmte.storage.folder import is_stored
from dmte.training.method import DmteMethod

Ids = Iterable[object]
"""Ids of vertices, strings or numbers, in one column."""


class Dmte(ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator):  # type: ignore[misc]
    """One vector per vertex, learned from texts and links; the parameters are those of Settings.

    By default they are the recommended recipe; ``Dmte.of(dmte.PAPER)`` is the paper's.

    >>> import dmte
    >>> network = dmte.read_network("concepts")
    >>> vectors = Dmte(dim=64, epochs=2).fit(network)
    >>> vectors.embedding_
    Embedding(432 vertices × 64, of which 64 from text)
    >>> vectors.transform(["b-tree", "r-tree"]).shape
    (2, 64)
    >>> Dmte(dim=64, seed=3), Dmte.of(dmte.PAPER).encoder
    (Dmte(dim=64, seed=3), 'word-average')

    Attributes:
        model_: The trained model, which can be saved and asked.
        embedding_: Its vectors.
    """

    network: TextualNetwork | None
    seed: int
    memory: Path | str | None
    model_: TrainedModel
    embedding_: Embedding

    def __init__(
        self,
        *,
        network: TextualNetwork | None = None,
        seed: int = 0,
        memory: Path | str | None = None,
        **settings: Any,
    ) -> None:
        """Keep the parameters as they are; ``fit`` checks them."""
        unknown = sorted(set(settings) - set(_DEFAULTS))
        if unknown:
            raise TypeError(f"Dmte() has no parameter {unknown[0]!r}")
        self.network = network
        self.seed = seed
        self.memory = memory
        for name, default in _DEFAULTS.items():
            setattr(self, name, settings.get(name, default))

    @classmethod
    def of(cls, settings: Settings, **others: Any) -> "Dmte":
        """Return the estimator with these settings; network, seed and memory may be given too."""
        return cls(**{name: getattr(settings, name) for name in _DEFAULTS}, **others)

    def __sklearn_clone__(self) -> "Dmte":
        """Return one like it that is not fitted; the network, which is frozen, is shared."""
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
        network = X if isinstance(X, TextualNetwork) else self.network
        if network is None:
            raise ConfigError("give a network, to fit(...) or as the parameter network=...")
        if X is not network and X is not None:
            for name in _as_ids(X):
                network.position(name)
        settings = Settings(**{name: getattr(self, name) for name in _DEFAULTS})
        self.model_ = self._train(network, settings)
        self.embedding_ = self.model_.embedding
        self._n_features_out = self.embedding_.vectors.shape[1]
        return self

    def transform(self, X: TextualNetwork | Ids) -> Float[np.ndarray, "rows dim"]:  # noqa: N803
        """Return the vectors of ids, or of those vertices of a network that are not known yet.

        Of the network that was trained on, all vectors.

        Raises:
            UnknownVertexError: An id is not in the network that was trained on.
            NetworkError: A network has no new vertex, or one that is known already.
        """
        check_is_fitted(self)
        if not isinstance(X, TextualNetwork):
            rows = [self.embedding_.position(name) for name in _as_ids(X)]
            return self.embedding_.vectors[rows].numpy()
        if X.fingerprint() == self.model_.network.fingerprint():
            return self.embedding_.vectors.numpy()
        return self.model_.embed(X).vectors.numpy()

    def _train(self, network: TextualNetwork, settings: Settings) -> TrainedModel:
        """Return the trained model, from memory if it is there."""
        method = DmteMethod(settings)
        if self.memory is None:
            return method.train(network, self.seed)
        made_of = [network.fingerprint(), settings.to_dict(), self.seed, environment()]
        name = hashlib.sha256(json.dumps(made_of).encode()).hexdigest()
        folder = Path(self.memory) / name[:32]
        if not is_stored(folder):
            method.train(network, self.seed).save(folder)
        return TrainedModel.load(folder)


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


_DEFAULTS = {setting.name: getattr(Settings(), setting.name) for setting in fields(Settings)}
"""Every setting and its default, which is written in Settings alone."""


def _signature() -> inspect.Signature:
    """Return the parameters of ``Dmte`` one by one, by which scikit-learn knows them."""
    own = inspect.signature(Dmte.__init__).parameters
    settings = [
        Parameter(setting.name, Parameter.KEYWORD_ONLY, default=default, annotation=setting.type)
        for setting, default in zip(fields(Settings), _DEFAULTS.values(), strict=True)
    ]
    others = [own[name] for name in ("network", "seed", "memory")]
    return inspect.Signature([own["self"], *settings, *others])


Dmte.__init__.__signature__ = _signature()  # type: ignore[attr-defined]
