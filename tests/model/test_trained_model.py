"""Trained models survive storage and embed new texts."""

from dataclasses import replace
from pathlib import Path

import pytest
import torch

from dmte.embedding.embedding import Embedding
from dmte.errors import ConfigError, StorageError
from dmte.model.trained_model import TrainedModel
from dmte.network import TextualNetwork
from dmte.recipes import VARIANTS
from dmte.settings import Settings
from dmte.storage.codec import decode_json, encode_json
from dmte.storage.folder import read_parts, write_parts
from dmte.training.method import DmteMethod


@pytest.fixture(params=list(VARIANTS))
def trained(request: pytest.FixtureRequest, planted: TextualNetwork) -> TrainedModel:
    settings = replace(VARIANTS[request.param], dim=16, epochs=2)
    return DmteMethod(settings).train(planted, seed=3)


def test_a_model_survives_saving_and_loading(trained: TrainedModel, tmp_path: Path) -> None:
    trained.save(tmp_path / "model")
    loaded = TrainedModel.load(tmp_path / "model")
    assert loaded.settings == trained.settings
    assert loaded.seed == 3
    assert loaded.vocabulary == trained.vocabulary
    assert loaded.network.fingerprint() == trained.network.fingerprint()
    assert torch.equal(loaded.embedding.vectors, trained.embedding.vectors)
    assert loaded.history == trained.history
    assert [record.epoch for record in loaded.history] == [1, 2]
    assert torch.equal(loaded.embed_text("w1x3 w2x2"), trained.embed_text("w1x3 w2x2"))


def test_a_model_of_an_earlier_version_loads(trained: TrainedModel, tmp_path: Path) -> None:
    trained.save(tmp_path / "model")
    parts = read_parts(tmp_path / "model")
    config = decode_json(parts["config.json"])
    for name in ("share_negatives", "round_edges", "decay", "softmax_weight"):
        del config["settings"][name]
    write_parts(tmp_path / "model", parts | {"config.json": encode_json(config)})
    loaded = TrainedModel.load(tmp_path / "model")
    assert loaded.settings == trained.settings
    assert torch.equal(loaded.embed_text("w1x3 w2x2"), trained.embed_text("w1x3 w2x2"))


def test_a_model_folder_is_also_an_embedding_folder(trained: TrainedModel, tmp_path: Path) -> None:
    trained.save(tmp_path / "model")
    assert torch.equal(Embedding.load(tmp_path / "model").vectors, trained.embedding.vectors)


def test_an_embedding_folder_is_not_a_model(trained: TrainedModel, tmp_path: Path) -> None:
    trained.embedding.save(tmp_path / "embedding")
    with pytest.raises(StorageError, match=r"is not the folder of a model: config\.json"):
        TrainedModel.load(tmp_path / "embedding")


def test_a_text_is_embedded_like_an_isolated_vertex(trained: TrainedModel) -> None:
    lonely = 7
    alone = trained.embed_text(trained.network.texts[lonely])
    torch.testing.assert_close(alone, trained.embedding.text[lonely])
    neighbors = trained.most_similar_to_text(trained.network.texts[lonely], k=1)
    assert neighbors[0].score == pytest.approx(1.0, abs=1e-5)


def test_a_text_without_a_known_word_raises(trained: TrainedModel) -> None:
    with pytest.raises(ConfigError, match="no word of 'zebra' occurs"):
        trained.embed_text("zebra")


def test_the_card_describes_the_model(trained: TrainedModel, tmp_path: Path) -> None:
    trained.save(tmp_path / "model")
    card = (tmp_path / "model" / "README.md").read_text()
    assert repr(trained.embedding) in card
    assert trained.network.fingerprint() in card
    assert f"| encoder | {trained.settings.encoder} |" in card


HOSTILE = (
    '"); import os; os.remove("x") #',
    "a\n\n# A heading\n\n    rm -rf ~\n",
    "``` `code` ```",
    "<script>alert(1)</script>",
    "[click](javascript:alert(1)) ](javascript:alert(1))",
    "| a | b |\r\x1b[2J\u2028<img src=x onerror=y>",
)


def test_the_card_has_nothing_of_a_hostile_network(planted: TextualNetwork, tmp_path: Path) -> None:
    """The cards of two networks that differ only in ids, texts and labels are equal."""
    hostile = replace(
        planted,
        ids=[f"{HOSTILE[at % len(HOSTILE)]}{at}" for at in range(planted.num_vertices)],
        texts=[f"{text} {HOSTILE[at % len(HOSTILE)]}" for at, text in enumerate(planted.texts)],
        labels=[frozenset({HOSTILE[len(one) % len(HOSTILE)]}) for one in planted.texts],
    )
    plain = replace(hostile, ids=[str(at) for at in range(planted.num_vertices)])
    cards = []
    for at, network in enumerate((plain, hostile)):
        DmteMethod(Settings(dim=8, epochs=1)).train(network, seed=0).save(tmp_path / str(at))
        card = (tmp_path / str(at) / "README.md").read_text()
        cards.append(card.replace(network.fingerprint(), "its fingerprint"))
    assert cards[0] == cards[1]
    assert not any(part in cards[1] for part in ("script", "javascript", "os.remove", "\x1b"))


def test_the_example_of_the_card_runs(trained: TrainedModel, tmp_path: Path) -> None:
    trained.save(tmp_path)
    card = (tmp_path / "README.md").read_text()
    lines = [line.strip() for line in card.splitlines() if line.startswith("    ")]
    code = "\n".join(lines).replace("this folder", str(tmp_path)).replace("any words", "w1x3")
    names: dict[str, object] = {}
    exec(code, names)
    assert isinstance(names["vectors"], Embedding)


def test_vectors_that_are_not_finite_are_not_stored(tmp_path: Path) -> None:
    for number in (float("nan"), float("inf"), -float("inf")):
        vectors = torch.tensor([[1.0, 0.0], [0.0, number]])
        with pytest.raises(StorageError, match="vectors must be finite numbers"):
            Embedding(("a", "b"), vectors, 2).save(tmp_path)
