"""Embeddings find vertices by id, score pairs, and survive storage."""

from pathlib import Path

import pytest
import torch

from dmte.embedding.embedding import Embedding
from dmte.errors import ConfigError, StorageError, UnknownVertexError


@pytest.fixture
def embedding() -> Embedding:
    vectors = torch.randn(6, 5, generator=torch.Generator().manual_seed(0))
    return Embedding(("a", "b", "ü", "d d", "", "図"), vectors, text_dim=3)


def test_the_halves_are_the_left_and_the_right_columns(embedding: Embedding) -> None:
    assert torch.equal(torch.cat([embedding.text, embedding.structure], 1), embedding.vectors)
    assert embedding.text.shape == (6, 3)


def test_a_vertex_is_found_by_its_id(embedding: Embedding) -> None:
    assert torch.equal(embedding["ü"], embedding.vectors[2])


def test_scores_equal_the_slow_formula(embedding: Embedding) -> None:
    pairs = torch.tensor([[0, 1], [2, 2], [5, 3]])
    for (i, j), dot, cosine in zip(
        pairs.tolist(), embedding.score(pairs), embedding.score(pairs, by="cosine"), strict=True
    ):
        v, w = embedding.vectors[i], embedding.vectors[j]
        assert float(dot) == pytest.approx(float(v @ w), abs=1e-6)
        assert float(cosine) == pytest.approx(float(v @ w / (v.norm() * w.norm())), abs=1e-6)


def test_most_similar_equals_sorting_all_cosines(embedding: Embedding) -> None:
    v = embedding["b"]
    slow = sorted(
        (-float(v @ w / (v.norm() * w.norm())), name)
        for name, w in zip(embedding.ids, embedding.vectors, strict=True)
        if name != "b"
    )
    found = embedding.most_similar("b", k=5)
    assert [neighbor.id for neighbor in found] == [name for _, name in slow]
    assert [neighbor.score for neighbor in found] == pytest.approx([-s for s, _ in slow], abs=1e-6)


def test_vertices_with_equal_vectors_find_each_other() -> None:
    embedding = Embedding(("a", "twin", "other"), torch.tensor([[1.0], [1.0], [-1.0]]), 1)
    assert [n.id for n in embedding.most_similar("a", k=2)] == ["twin", "other"]
    assert [n.id for n in embedding.most_similar("twin", k=1)] == ["a"]


def test_a_k_above_the_number_of_vertices_returns_all(embedding: Embedding) -> None:
    assert len(embedding.most_similar("a", k=100)) == 5


def test_a_zero_vector_is_similar_to_nothing() -> None:
    rows = torch.tensor([[0.0, 0.0], [1.0, 0.0], [-1.0, 0.0]])
    embedding = Embedding(("zero", "one", "two"), rows, text_dim=2)
    assert embedding.closest(rows[1], 3) == [("one", 1.0), ("zero", 0.0), ("two", -1.0)]


def test_one_half_may_be_compared_and_some_vertices_found() -> None:
    rows = torch.tensor([[1.0, 1.0], [1.0, -1.0], [-1.0, 1.0], [1.0, 0.9]])
    embedding = Embedding(("a", "text", "structure", "both"), rows, text_dim=1)
    assert embedding.most_similar("a", 1)[0].id == "both"
    assert [n.id for n in embedding.most_similar("a", 2, half="text")] == ["text", "both"]
    assert embedding.most_similar("a", 1, half="structure")[0].id == "structure"
    only = torch.tensor([True, True, True, False])
    assert {n.id for n in embedding.most_similar("a", 9, among=only)} == {"text", "structure"}


def test_a_missing_half_raises() -> None:
    embedding = Embedding(("a", "b"), torch.eye(2), text_dim=2)
    with pytest.raises(ConfigError, match="no structure half"):
        embedding.most_similar("a", half="structure")


def test_an_unknown_vertex_raises_with_a_similar_name(embedding: Embedding) -> None:
    with pytest.raises(UnknownVertexError, match=r"no vertex 'd  d'; did you mean 'd d'\?"):
        embedding.most_similar("d  d")


def test_a_k_below_one_raises(embedding: Embedding) -> None:
    with pytest.raises(ConfigError, match="k must be at least 1, not 0"):
        embedding.closest(embedding["a"], 0)
    with pytest.raises(ConfigError, match="k must be at least 1, not 0"):
        embedding.most_similar("a", k=0)


def test_an_embedding_survives_saving_and_loading(embedding: Embedding, tmp_path: Path) -> None:
    embedding.save(tmp_path / "stored")
    loaded = Embedding.load(tmp_path / "stored")
    assert loaded.ids == embedding.ids
    assert loaded.text_dim == embedding.text_dim
    assert torch.equal(loaded.vectors, embedding.vectors)


def test_saving_again_replaces_the_old_one(embedding: Embedding, tmp_path: Path) -> None:
    embedding.save(tmp_path / "stored")
    Embedding(("x",), torch.ones(1, 2), 2).save(tmp_path / "stored")
    assert Embedding.load(tmp_path / "stored").ids == ("x",)


def test_loading_a_missing_folder_raises(tmp_path: Path) -> None:
    with pytest.raises(StorageError, match="nowhere"):
        Embedding.load(tmp_path / "nowhere")


def test_ids_and_vectors_must_match() -> None:
    with pytest.raises(ConfigError, match="2 ids for 1 vectors"):
        Embedding(("a", "b"), torch.ones(1, 2), 2)


def test_a_note_is_found_by_the_last_part_of_its_path() -> None:
    embedding = Embedding(("garden/Roses", "music/Prose"), torch.eye(2), text_dim=2)
    with pytest.raises(UnknownVertexError, match="did you mean 'garden/Roses'"):
        embedding.position("roses")
