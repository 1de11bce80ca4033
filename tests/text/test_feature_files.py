"""Precomputed features in place of words: reading, training, storage."""

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
from safetensors.torch import load_file
from torch.nn.functional import normalize

from dmte.embedding.embedding import Embedding
from dmte.embedding.export import export_vectors
from dmte.errors import ConfigError, NetworkError
from dmte.evaluation import METHODS, strict_task
from dmte.evaluation.methods import choose_methods, left_out
from dmte.evaluation.summary import evaluate_classes, evaluate_links
from dmte.inference.explain import explain
from dmte.model.trained_model import TrainedModel
from dmte.network import TextualNetwork
from dmte.network.synthetic import PlantedTopics
from dmte.recipes import PAPER
from dmte.settings import Settings
from dmte.text import FeatureRows, PrecomputedFeatures
from dmte.text.feature_files import read_features
from dmte.text.precomputed import unit_features
from dmte.training.method import DmteMethod


@pytest.fixture(scope="module")
def topics() -> TextualNetwork:
    """A network without texts, whose features are community centers with noise."""
    network = PlantedTopics(num_vertices=160).draw(torch.Generator().manual_seed(4))
    generator = torch.Generator().manual_seed(0)
    classes = network.classes
    centers = torch.randn(len(classes), 20, generator=generator)
    which = [classes.index(min(own)) for own in network.labels or ()]
    features = centers[which] + torch.randn(160, 20, generator=generator)
    return TextualNetwork(
        ids=network.ids,
        texts=("",) * 160,
        edges=network.edges,
        labels=network.labels,
        features=features,
    )


def test_keeping_all_directions_is_a_rotation() -> None:
    rows = torch.randn(30, 8, generator=torch.Generator().manual_seed(0))
    encoder = PrecomputedFeatures(8, 8, torch.Generator())
    encoder.start(FeatureRows(rows), seed=0)
    found = encoder(encoder.prepare(FeatureRows(rows)))
    torch.testing.assert_close(found @ found.T, normalize(rows) @ normalize(rows).T)


def test_row_lengths_do_not_affect_the_directions() -> None:
    generator = torch.Generator().manual_seed(0)
    rows = torch.randn(30, 8, generator=generator) * torch.tensor([5.0, 4, 3, 2.5, 2, 1.5, 1, 0.5])
    lengths = 100 * torch.rand(30, 1, generator=generator) + 0.01
    started = []
    for given in (rows, rows * lengths):
        encoder = PrecomputedFeatures(8, 3, torch.Generator())
        encoder.start(FeatureRows(given), seed=0)
        started.append(encoder.directions)
    torch.testing.assert_close(*started, atol=1e-4, rtol=0)


@pytest.mark.parametrize("scale", [1e37, 1e20, 1e-20, 1e-37])
def test_numbers_whose_squares_overflow_or_underflow_are_read(scale: float) -> None:
    rows = torch.randn(30, 8, generator=torch.Generator().manual_seed(0))
    rows[4] = 0
    found = []
    for given in (rows, rows * scale, rows.double() * scale**6):
        encoder = PrecomputedFeatures(8, 3, torch.Generator())
        encoder.start(FeatureRows(given), seed=0)
        found.append(encoder(encoder.prepare(FeatureRows(given))))
    assert not found[0][4].any()
    for other in found[1:]:
        torch.testing.assert_close(other, found[0], atol=1e-5, rtol=0)


def test_the_smallest_and_largest_floats_have_a_direction() -> None:
    """The power of two that would bring the smallest near 1 is itself too large."""
    smallest, largest = 2.0**-149, 2.0**125
    rows = torch.tensor([[3.0, 4.0]]) * torch.tensor([[smallest], [largest]])
    torch.testing.assert_close(unit_features(rows), torch.tensor([[0.6, 0.8]] * 2))


def test_ordinary_features_are_normalized_to_the_same_bits() -> None:
    generator = torch.Generator().manual_seed(0)
    rows = torch.randn(30, 8, generator=generator) * torch.rand(30, 1, generator=generator) * 1000
    assert torch.equal(unit_features(rows), normalize(rows))
    assert torch.equal(unit_features(rows.double()), normalize(rows.double()))


@pytest.mark.medium
def test_training_on_features_beats_the_features_alone(topics: TextualNetwork) -> None:
    task = strict_task(topics, 0.6, seed=0)
    trained = DmteMethod(Settings(encoder="features", epochs=5)).train(task.train, seed=0)
    plain = Embedding(topics.ids, normalize(topics.features), text_dim=20)  # type: ignore[arg-type]
    assert task.auc(trained.embedding) > task.auc(plain) + 0.02
    assert trained.settings.dim == 64


def test_the_paper_s_objective_accepts_features(topics: TextualNetwork) -> None:
    settings = Settings.from_dict(PAPER.to_dict() | {"encoder": "features", "epochs": 2})
    assert DmteMethod(settings).fit(topics, seed=0).vectors.shape == (160, 200)


@pytest.mark.medium
def test_a_stored_model_contains_the_features(topics: TextualNetwork, tmp_path: Path) -> None:
    trained = DmteMethod(Settings(encoder="features", epochs=1)).train(topics, seed=0)
    trained.save(tmp_path / "model")
    loaded = TrainedModel.load(tmp_path / "model")
    assert loaded.network.fingerprint() == topics.fingerprint()
    new = TextualNetwork(
        ids=("n", topics.ids[0]),
        texts=("", ""),
        edges=torch.tensor([[0, 1]]),
        features=torch.ones(2, 20),
    )
    assert torch.equal(loaded.embed(new).vectors, trained.embed(new).vectors)
    assert explain(loaded, *topics.ids[:2]).words is None
    with pytest.raises(ConfigError, match="reads features, not words"):
        loaded.embed_text("any")
    bare = TextualNetwork(ids=("n",), texts=("x",), edges=torch.zeros((0, 2), dtype=torch.int64))
    with pytest.raises(NetworkError, match=r"reads 20 features of every vertex.* come with 0"):
        loaded.embed(bare)


@pytest.mark.medium
def test_evaluation_sets_the_features_encoder(
    topics: TextualNetwork, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The network has no words, so the result depends on the features alone."""
    settings = Settings(dim=16, epochs=2)
    monkeypatch.setattr(
        "dmte.evaluation.methods.METHODS", {**METHODS, "dmte": DmteMethod(settings)}
    )
    links = evaluate_links(topics, ["dmte", "random"], [0.6], num_seeds=1)
    task = strict_task(topics, 0.6, seed=0)
    expected = task.auc(DmteMethod(replace(settings, encoder="features")).fit(task.train, seed=0))
    assert links[0]["auc"]["mean"] == pytest.approx(expected, abs=1e-5)
    classes = evaluate_classes(topics, ["dmte", "random"], [0.5], num_seeds=1)
    assert classes[0]["macro_f1"]["mean"] > classes[1]["macro_f1"]["mean"] + 0.3
    for rows in (links, classes):
        assert (rows[0]["settings"], rows[-1]["settings"]) == ({"encoder": "features"}, {})


def test_all_selects_the_methods_that_accept_features() -> None:
    chosen = choose_methods(["all"], from_features=True)
    cannot = {"dmte-paper-bilstm", "dmte-paper-no-diffusion"}
    assert set(choose_methods(["all"])) - set(chosen) == cannot
    assert cannot <= set(left_out(["all"], from_features=True))
    for name in cannot:
        with pytest.raises(ConfigError, match=f"{name} cannot learn from features"):
            choose_methods([name], from_features=True)


def test_a_network_without_features_raises() -> None:
    network = PlantedTopics(num_vertices=40).draw(torch.Generator().manual_seed(0))
    with pytest.raises(ConfigError, match="the network has none; give them with --features"):
        DmteMethod(Settings(encoder="features")).fit(network, seed=0)


def test_rows_are_matched_by_order_or_by_id(topics: TextualNetwork, tmp_path: Path) -> None:
    assert topics.features is not None
    np.save(tmp_path / "rows.npy", topics.features.numpy())
    order = torch.randperm(160, generator=torch.Generator().manual_seed(0))
    shuffled = Embedding([topics.ids[at] for at in order], topics.features[order], text_dim=20)
    export_vectors(shuffled, tmp_path / "rows.npz", "npz")
    for name in ("rows.npy", "rows.npz"):
        found = read_features(tmp_path / name, topics).features
        assert found is not None
        assert torch.equal(found, topics.features)


def test_the_model_in_a_folder_encodes_the_texts(
    sentence_model: Path, planted: TextualNetwork
) -> None:
    pytest.importorskip("model2vec", reason="model2vec is not installed")
    found = read_features(sentence_model, planted).features
    assert found is not None
    words = load_file(sentence_model / "model.safetensors")["embeddings"]
    numbers = json.loads((sentence_model / "tokenizer.json").read_text())["model"]["vocab"]
    for row, text in zip(found, planted.texts, strict=True):
        own = [words[numbers[word]] for word in text.split()]
        mean = torch.stack(own).mean(0) if own else torch.zeros(24)
        torch.testing.assert_close(row, normalize(mean, dim=0))


def _damaged(path: Path) -> None:
    path.write_bytes(b"\x93NUMPY nothing")


def _few(path: Path) -> None:
    np.savez(path, ids=np.array(["a"]), vectors=np.ones((1, 3)))


def _uneven(path: Path) -> None:
    np.savez(path, ids=np.array(["a", "b"]), vectors=np.ones((1, 3)))


def _words(path: Path) -> None:
    np.save(path, np.array([["a", "b"]]))


def _not_finite(path: Path) -> None:
    np.save(path, _with_row_7_of(160, np.nan))


def _too_large(path: Path) -> None:
    np.save(path, _with_row_7_of(160, 1e300))


def _of_nothing(path: Path) -> None:
    np.save(path, np.ones((160, 0)))


def _with_row_7_of(count: int, number: float) -> np.ndarray:
    rows = np.ones((count, 3))
    rows[6:, 1] = number
    return rows


def _short(path: Path) -> None:
    np.save(path, np.ones((3, 3)))


@pytest.mark.parametrize(
    ("name", "write", "message"),
    [
        ("f.npy", _damaged, "the file is damaged or not a NumPy file"),
        ("f.npz", _damaged, "the file is damaged or not a NumPy file"),
        ("f.npz", _few, "has no features for .* and 159 others"),
        ("f.npz", _uneven, "has 2 ids for 1 vectors"),
        ("f.npy", _words, "must contain a matrix of numbers"),
        ("f.npy", _not_finite, r"f\.npy, row 7 of 160: nan is not a finite number"),
        ("f.npy", _too_large, r"f\.npy, row 7 of 160: 1e\+300 is too large for float32"),
        ("f.npy", _of_nothing, r"f\.npy has rows without features"),
        ("f.npy", _short, r"f\.npy must have one row .* 3 rows for 160 vertices"),
        ("f.csv", _damaged, "must be a .npy file, a .npz file or the folder"),
        ("f.npy", None, "No such file"),
    ],
)
def test_an_invalid_features_file_raises_with_the_reason(
    topics: TextualNetwork, tmp_path: Path, name: str, write: object, message: str
) -> None:
    if callable(write):
        write(tmp_path / name)
    with pytest.raises(NetworkError, match=message):
        read_features(tmp_path / name, topics)


def test_booleans_are_read_as_1_and_0(topics: TextualNetwork, tmp_path: Path) -> None:
    np.save(tmp_path / "f.npy", np.arange(160 * 3).reshape(160, 3) % 2 == 0)
    found = read_features(tmp_path / "f.npy", topics).features
    assert found is not None
    assert found[:2].tolist() == [[1, 0, 1], [0, 1, 0]]


def test_rows_of_unused_ids_are_not_checked(topics: TextualNetwork, tmp_path: Path) -> None:
    names = ["elsewhere", *topics.ids]
    rows = np.ones((161, 3))
    rows[0] = np.inf
    np.savez(tmp_path / "f.npz", ids=np.array(names), vectors=rows)
    assert read_features(tmp_path / "f.npz", topics).features is not None
    rows[5] = -np.inf
    np.savez(tmp_path / "f.npz", ids=np.array(names), vectors=rows)
    with pytest.raises(NetworkError, match=r"f\.npz, row 6 of 161: -inf is not a finite number"):
        read_features(tmp_path / "f.npz", topics)
