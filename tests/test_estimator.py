"""DMTE as an estimator of scikit-learn: parameters, cloning, pipelines and searches."""

import subprocess
import sys
from dataclasses import fields
from pathlib import Path

import numpy as np
import pytest
import torch
from sklearn.base import clone  # type: ignore[import-untyped]
from sklearn.exceptions import NotFittedError  # type: ignore[import-untyped]
from sklearn.model_selection import GridSearchCV  # type: ignore[import-untyped]
from sklearn.pipeline import Pipeline  # type: ignore[import-untyped]
from sklearn.svm import LinearSVC  # type: ignore[import-untyped]

from dmte.errors import ConfigError, NetworkError, UnknownVertexError
from dmte.estimator import Dmte
from dmte.model.trained_model import TrainedModel
from dmte.network import TextualNetwork
from dmte.settings import PAPER, Settings
from dmte.training.method import DmteMethod
from dmte.training.run import TrainingRun


def labels(network: TextualNetwork) -> np.ndarray:
    return np.array([min(classes) for classes in network.labels or ()])


def test_the_parameters_are_the_settings_with_their_defaults() -> None:
    parameters = Dmte().get_params()
    defaults = {setting.name: getattr(Settings(), setting.name) for setting in fields(Settings)}
    assert parameters == defaults | {"network": None, "seed": 0, "memory": None}
    paper = Dmte.of(PAPER, seed=2).get_params()
    assert paper["hop_weights"] is PAPER.hop_weights
    assert paper["seed"] == 2
    with pytest.raises(TypeError, match="no parameter 'dimm'"):
        Dmte(dimm=3)


def test_a_clone_is_alike_and_not_fitted(planted: TextualNetwork) -> None:
    fitted = Dmte(dim=16, epochs=1, seed=4).set_params(network=planted).fit()
    other = clone(fitted)
    assert other.get_params() == fitted.get_params()
    with pytest.raises(NotFittedError):
        other.transform(planted.ids)


def test_parameters_are_checked_by_fit_and_not_before(planted: TextualNetwork) -> None:
    wrong = Dmte(dim=-3)
    with pytest.raises(ConfigError, match="dim must be"):
        wrong.fit(planted)
    with pytest.raises(ConfigError, match="give a network"):
        Dmte().fit(["a"])
    with pytest.raises(UnknownVertexError, match="'nobody'"):
        Dmte(network=planted).fit(["nobody"])


def test_vectors_are_those_of_the_method(planted: TextualNetwork) -> None:
    expected = DmteMethod(Settings(dim=16, epochs=2)).fit(planted, seed=3).vectors
    estimator = Dmte(dim=16, epochs=2, seed=3)
    assert np.array_equal(estimator.fit_transform(planted), expected.numpy())
    ids = np.array([[planted.ids[7]], [planted.ids[2]]])
    assert np.array_equal(estimator.transform(ids), expected[[7, 2]].numpy())
    assert list(estimator.get_feature_names_out()) == [f"dmte{column}" for column in range(16)]
    with pytest.raises(ConfigError, match="one column"):
        estimator.transform(np.zeros((3, 2)))


def test_unseen_vertices_are_transformed_by_the_model(planted: TextualNetwork) -> None:
    estimator = Dmte(dim=16, epochs=1).fit(planted)
    new = TextualNetwork(
        ids=("n", planted.ids[0]), texts=("w0x1", ""), edges=torch.tensor([[0, 1]])
    )
    assert np.array_equal(estimator.transform(new), estimator.model_.embed(new).vectors.numpy())
    with pytest.raises(NetworkError, match="already"):
        estimator.transform(planted.with_edges(planted.edges[:-1]))


def test_a_search_over_a_pipeline_trains_once_for_all_folds(
    planted: TextualNetwork, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    trained = []
    result = TrainingRun.result

    def counted(run: TrainingRun) -> TrainedModel:
        trained.append(run)
        return result(run)

    monkeypatch.setattr(TrainingRun, "result", counted)
    vectors = Dmte(network=planted, epochs=1, memory=tmp_path / "memory")
    search = GridSearchCV(
        Pipeline([("vectors", vectors), ("svm", LinearSVC())]),
        {"vectors__dim": [8, 16], "svm__C": [0.1, 1.0]},
        cv=3,
    )
    search.fit(np.array(planted.ids), labels(planted))
    assert search.best_score_ > 0.6
    assert len(trained) == 2  # One for each width: 3 folds and 2 values of C share it.
    assert set(search.predict(planted.ids[:5])) <= set(planted.classes)


def test_importing_dmte_loads_neither_torch_nor_sklearn() -> None:
    asked = "import sys, dmte; sys.exit('torch' in sys.modules or 'sklearn' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", asked], check=False).returncode == 0
