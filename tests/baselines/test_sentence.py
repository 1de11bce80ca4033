"""Frozen sentence encoders: read from disk only, each text once; errors are one line."""

import json
import shutil
import socket
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file
from torch import Tensor
from torch.nn.functional import normalize

from dmte.baselines.sentence import Sentence, SentenceDiffused
from dmte.cli import main
from dmte.errors import ConfigError, DmteError, MissingExtraError, StorageError
from dmte.evaluation import LinkJob
from dmte.network import TextualNetwork
from dmte.text import sentence_model as loading
from dmte.text.sentence_model import VARIABLE, fingerprint


@pytest.fixture(autouse=True)
def _nothing_kept() -> None:
    loading.encode_texts.cache_clear()


@pytest.fixture
def letters(monkeypatch: pytest.MonkeyPatch, sentence_model: Path) -> Path:
    """A folder whose model is replaced by one that counts the letters a and b; needs no package."""

    def count(texts: Sequence[str]) -> Tensor:
        return torch.tensor([[text.count("a"), text.count("b")] for text in texts]).float()

    monkeypatch.setattr(loading, "find_spec", lambda _: True)
    monkeypatch.setitem(loading.READERS, "model2vec", lambda _: count)
    return sentence_model


NETWORK = TextualNetwork(
    ids=("p", "q", "r", "s"), texts=("aab b", "", " ", "b"), edges=torch.tensor([[0, 1], [1, 3]])
)


def test_a_vector_is_the_models_divided_by_its_length(letters: Path) -> None:
    found = Sentence(folder=str(letters)).fit(NETWORK, 0)
    expected = torch.tensor([[0.5**0.5, 0.5**0.5], [0, 0], [0, 0], [0, 1]])
    torch.testing.assert_close(found.vectors, expected)
    assert found.text_dim == 2


def test_diffused_vectors_are_the_dense_sum_over_hops(letters: Path) -> None:
    weights = (1.0, 0.5, 0.25)
    found = SentenceDiffused(folder=str(letters), hop_weights=weights).fit(NETWORK, 0)
    plain = Sentence(folder=str(letters)).fit(NETWORK, 0).vectors
    step = torch.tensor([[0, 1, 0, 0], [0.5, 0, 0, 0.5], [0, 0, 1, 0], [0, 1, 0, 0]])
    mixed = [w * torch.matrix_power(step, h) @ plain for h, w in enumerate(weights)]
    torch.testing.assert_close(found.vectors, normalize(torch.stack(mixed).sum(0)))
    with pytest.raises(ConfigError, match="at least one weight"):
        SentenceDiffused(folder=str(letters), hop_weights=()).fit(NETWORK, 0)


def test_a_network_without_words_has_zero_vectors(letters: Path) -> None:
    silent = replace(NETWORK, texts=("", " ", "", "\n"))
    assert not Sentence(folder=str(letters)).fit(silent, 0).vectors.any()


def test_texts_are_encoded_once_whatever_the_seed_and_the_edges(
    letters: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    loads: list[Path] = []
    load = loading.READERS["model2vec"]

    def count_and_load(folder: Path) -> loading.Encode:
        loads.append(folder)
        return load(folder)

    monkeypatch.setitem(loading.READERS, "model2vec", count_and_load)
    method = SentenceDiffused(folder=str(letters))
    method.fit(NETWORK, 0)
    method.fit(NETWORK.with_edges(NETWORK.edges[:1]), 1)
    assert len(loads) == 1


def test_a_real_model_reads_from_disk_alone_and_in_any_order(
    sentence_model: Path, planted: TextualNetwork, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("model2vec", reason="model2vec is not installed")

    def refuse(*_: object) -> None:
        raise AssertionError("a connection was made")

    monkeypatch.setattr(socket.socket, "connect", refuse)
    found = Sentence(folder=str(sentence_model)).fit(planted, 0).vectors
    words = load_file(sentence_model / "model.safetensors")["embeddings"]
    vocabulary = json.loads((sentence_model / "tokenizer.json").read_text())["model"]["vocab"]
    mean = torch.stack([words[vocabulary[word]] for word in planted.texts[0].split()]).mean(0)
    torch.testing.assert_close(found[0], normalize(mean, dim=0))
    turned = replace(planted, texts=planted.texts[::-1])
    again = Sentence(folder=str(sentence_model)).fit(turned, 0).vectors.flip(0)
    assert torch.equal(again, found)


@pytest.mark.slow
def test_a_transformer_made_of_nothing_is_read(tmp_path: Path, planted: TextualNetwork) -> None:
    models = pytest.importorskip(
        "sentence_transformers", reason="sentence-transformers is not installed"
    )
    parts = pytest.importorskip("sentence_transformers.sentence_transformer.modules")
    bag = parts.BoW(vocab=sorted({w for text in planted.texts for w in text.split()}))
    models.SentenceTransformer(modules=[bag], device="cpu").save(str(tmp_path / "model"))
    found = Sentence(folder=str(tmp_path / "model")).fit(planted, 0)
    assert len(found) == planted.num_vertices
    counts = {word: planted.texts[0].split().count(word) for word in planted.texts[0].split()}
    expected = normalize(torch.tensor([float(n) for n in counts.values()]), dim=0)
    nonzero = found.vectors[0][found.vectors[0] > 0]
    torch.testing.assert_close(nonzero.sort().values, expected.sort().values)


def test_a_model_with_another_fingerprint_raises(letters: Path, tmp_path: Path) -> None:
    other = shutil.copytree(letters, tmp_path / "other")
    assert fingerprint(other) == fingerprint(letters)
    (other / "config.json").write_text('{"model_type": "model2vec", "normalize": true}')
    assert fingerprint(other) != fingerprint(letters)
    pinned = Sentence(folder=str(letters), fingerprint=fingerprint(letters))
    assert pinned.unavailable_reason() is None
    reason = replace(pinned, folder=str(other)).unavailable_reason()
    assert reason is not None
    assert fingerprint(letters) in reason


def test_the_key_of_a_result_names_the_model_and_not_its_folder(
    letters: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    job = LinkJob(network="", method="sentence", protocol="strict", train_fraction=0.5, seed=0)
    monkeypatch.setenv(VARIABLE, str(letters))
    key = job.key
    other = shutil.copytree(letters, tmp_path / "other")
    monkeypatch.setenv(VARIABLE, str(other))
    assert job.key == key
    (other / "config.json").write_text('{"model_type": "model2vec", "normalize": true}')
    assert job.key != key
    monkeypatch.delenv(VARIABLE)
    pinned = replace(job, settings={"fingerprint": "0123456789ab"})
    assert "0123456789ab" in pinned.key


def test_a_missing_model_raises_with_advice_in_one_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, sentence_model: Path
) -> None:
    monkeypatch.delenv(VARIABLE, raising=False)
    refusals: list[tuple[str | None, type[DmteError], str]] = [
        (None, ConfigError, f"set {VARIABLE} to the folder"),
        ("sentence-transformers/all-MiniLM-L6-v2", StorageError, "not downloaded"),
        (str(tmp_path), StorageError, "does not contain a sentence encoder"),
        (str(sentence_model), MissingExtraError, r"pip install 'dmte\[sentence\]'"),
    ]
    monkeypatch.setattr(loading, "find_spec", lambda _: None)
    for folder, kind, message in refusals:
        with pytest.raises(kind, match=message):
            Sentence(folder=folder).fit(NETWORK, 0)
        assert "\n" not in str(Sentence(folder=folder).unavailable_reason())


def test_vectors_that_are_changed_do_not_change_the_next_ones(sentence_model: Path) -> None:
    pytest.importorskip("model2vec", reason="model2vec is not installed")
    method = Sentence(folder=str(sentence_model))
    vectors = method.fit(NETWORK, 0).vectors
    before = vectors.clone()
    vectors.zero_()
    assert torch.equal(method.fit(NETWORK, 0).vectors, before)


def test_a_damaged_model_raises_in_one_sentence(sentence_model: Path, tmp_path: Path) -> None:
    pytest.importorskip("model2vec", reason="model2vec is not installed")
    damaged = shutil.copytree(sentence_model, tmp_path / "damaged")
    (damaged / "model.safetensors").write_bytes(b"no tensors")
    with pytest.raises(StorageError, match="cannot be read by model2vec"):
        Sentence(folder=str(damaged)).fit(NETWORK, 0)


def test_all_omits_an_unavailable_method_and_its_name_raises(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.delenv(VARIABLE, raising=False)
    with pytest.raises(SystemExit) as stopped:
        main(["evaluate", "links", "concepts", "--methods", "sentence"])
    assert stopped.value.code == 2
    error = capsys.readouterr().err
    assert error.startswith("dmte: sentence cannot run here: no sentence encoder was given; set")
    with pytest.raises(SystemExit):
        main(["evaluate", "links", "concepts", "--methods", "all", "--seeds", "0"])
    assert "sentence-diffused: left out, no sentence encoder was given" in capsys.readouterr().err
