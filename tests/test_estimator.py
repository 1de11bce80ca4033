"""DMTE as an estimator of scikit-learn: parameters, cloning, pipelines and searches."""

import inspect
import os
import re
import subprocess
import sys
from dataclasses import fields
from pathlib import Path
from typing import Any, get_type_hints

import numpy as np
import pytest
import torch
from sklearn.base import clone  # type: ignore[import-untyped]
from sklearn.exceptions import NotFittedError  # type: ignore[import-untyped]
from sklearn.model_selection import GridSearchCV  # type: ignore[import-untyped]
from sklearn.pipeline import Pipeline  # type: ignore[import-untyped]
from sklearn.svm import LinearSVC  # type: ignore[import-untyped]

import dmte
from dmte.cli.field_docs import fields_of, first_sentence
from dmte.errors import ConfigError, NetworkError, UnknownVertexError
from dmte.estimator import Dmte
from dmte.model.trained_model import TrainedModel
from dmte.network import TextualNetwork
from dmte.recipes import PAPER
from dmte.settings import Settings
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
    with pytest.raises(TypeError, match="unexpected keyword argument 'dimm'"):
        Dmte(dimm=3)  # type: ignore[call-arg]


def test_the_parameters_are_declared_and_documented_as_the_settings_are() -> None:
    parameters = inspect.signature(Dmte).parameters
    settings = fields_of(Settings)
    assert list(parameters) == [*(one.name for one in settings), "network", "seed", "memory"]
    types = get_type_hints(Dmte.__init__)
    described = documented_arguments(Dmte)
    assert list(described) == list(parameters)
    for setting in settings:
        assert types[setting.name] == setting.type, setting.name
        assert parameters[setting.name].default == setting.default, setting.name
        assert described[setting.name] == first_sentence(setting.doc), setting.name


def documented_arguments(kind: type) -> dict[str, str]:
    """Return the descriptions in the section Args of a class by name, each on one line."""
    section = (inspect.getdoc(kind) or "").partition("Args:\n")[2].partition("\n\n")[0]
    found = re.findall(r"^    (\w+): (.*(?:\n {8}.*)*)", section, flags=re.MULTILINE)
    return {name: " ".join(words.split()) for name, words in found}


PROGRAM = """\
from typing import assert_type

import dmte

network = dmte.read_network("concepts")
model = dmte.Dmte(dim=64, loss="ranking", hop_weights=(1.0, 0.5), network=network, seed=3)
assert_type(model.fit(network), dmte.Dmte)
assert_type(model.dim, int | None)
assert_type(model.embedding_, dmte.Embedding)
assert_type(dmte.Dmte.of(dmte.PAPER, seed=2), dmte.Dmte)
dmte.Settings(dim=64, encoder="bilstm")
dmte.Dmte(dimm=3)  # wrong
dmte.Dmte(dim="x")  # wrong
dmte.Dmte(loss="hinge")  # wrong
dmte.Dmte.of(dmte.PAPER, sed=2)  # wrong
dmte.Settings(dim="x")  # wrong
dmte.Settings(transition="jump")  # wrong
"""
WRONG_LINES = {at for at, line in enumerate(PROGRAM.splitlines(), 1) if line.endswith("# wrong")}
CHECKERS = {
    # Without site-packages mypy leaves torch out, which takes it a minute and a half to read.
    "mypy": (
        *("mypy", "--config-file=", "--no-site-packages", "--ignore-missing-imports"),
        *("--follow-imports=silent", "--cache-dir=cache"),
    ),
    "pyright": ("pyright", f"--pythonpath={sys.executable}"),
}


@pytest.mark.slow
@pytest.mark.parametrize("checker", CHECKERS)
def test_type_checkers_know_the_parameters(checker: str, tmp_path: Path) -> None:
    pytest.importorskip(checker, reason=f"needs {checker}, which the extra dev brings")
    (tmp_path / "program.py").write_text(PROGRAM)
    source = str(Path(dmte.__file__).parents[1])
    known = {"MYPYPATH": source, "PYTHONPATH": source, "PYRIGHT_PYTHON_IGNORE_WARNINGS": "1"}
    done = subprocess.run(
        [sys.executable, "-m", *CHECKERS[checker], "program.py"],
        cwd=tmp_path,
        env=os.environ | known,
        capture_output=True,
        text=True,
        check=False,
    )
    found = re.findall(r"program\.py:(\d+):.* error: ", done.stdout)
    assert sorted(map(int, found)) == sorted(WRONG_LINES), done.stdout + done.stderr


def test_a_clone_is_alike_and_not_fitted(planted: TextualNetwork) -> None:
    fitted = Dmte(dim=16, epochs=1, seed=4).set_params(network=planted).fit()
    other = clone(fitted)
    assert other.get_params() == fitted.get_params()
    with pytest.raises(NotFittedError):
        other.transform(planted.ids)


def test_fit_checks_the_parameters(planted: TextualNetwork) -> None:
    wrong = Dmte(dim=-3)
    with pytest.raises(ConfigError, match="dim must be"):
        wrong.fit(planted)
    with pytest.raises(ConfigError, match="give a network"):
        Dmte().fit(["a"])
    with pytest.raises(UnknownVertexError, match="'nobody'"):
        Dmte(network=planted).fit(["nobody"])


@pytest.mark.medium
def test_vectors_are_those_of_the_method(planted: TextualNetwork) -> None:
    expected = DmteMethod(Settings(dim=16, epochs=2)).fit(planted, seed=3).vectors
    estimator = Dmte(dim=16, epochs=2, seed=3)
    assert np.array_equal(estimator.fit_transform(planted), expected.numpy())
    ids = np.array([[planted.ids[7]], [planted.ids[2]]])
    assert np.array_equal(estimator.transform(ids), expected[[7, 2]].numpy())
    assert list(estimator.get_feature_names_out()) == [f"dmte{column}" for column in range(16)]
    with pytest.raises(ConfigError, match="one column"):
        estimator.transform(np.zeros((3, 2)))


@pytest.mark.medium
def test_unseen_vertices_are_transformed_by_the_model(planted: TextualNetwork) -> None:
    estimator = Dmte(dim=16, epochs=1).fit(planted)
    new = TextualNetwork(
        ids=("n", planted.ids[0]), texts=("w0x1", ""), edges=torch.tensor([[0, 1]])
    )
    assert np.array_equal(estimator.transform(new), estimator.model_.embed(new).vectors.numpy())
    with pytest.raises(NetworkError, match="already"):
        estimator.transform(planted.with_edges(planted.edges[:-1]))


@pytest.mark.medium
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


@pytest.mark.medium
def test_importing_dmte_loads_neither_torch_nor_sklearn() -> None:
    code = "import sys, dmte; sys.exit('torch' in sys.modules or 'sklearn' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


@pytest.mark.parametrize("seed", ["a", 1.5, None, True])
def test_a_seed_that_is_not_a_whole_number_raises(seed: Any, planted: TextualNetwork) -> None:
    with pytest.raises(ConfigError, match="seed must be a whole number, not"):
        Dmte(dim=16, seed=seed).fit(planted)
