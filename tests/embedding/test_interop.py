"""Converted vectors are equal, and a missing library raises with its name."""

import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch

from dmte.embedding.embedding import Embedding
from dmte.embedding.export import export_vectors
from dmte.errors import MissingExtraError, UnknownVertexError
from dmte.model.trained_model import TrainedModel
from dmte.network import TextualNetwork, network_from_networkx


@pytest.fixture
def embedding(planted: TextualNetwork) -> Embedding:
    vectors = torch.randn(len(planted.ids), 6, generator=torch.Generator().manual_seed(1))
    return Embedding(planted.ids, vectors, 3)


def test_a_pandas_frame_holds_the_vectors_under_their_ids(embedding: Embedding) -> None:
    frame = embedding.to_pandas()
    assert list(frame.index) == list(embedding.ids)
    assert torch.equal(torch.from_numpy(frame.to_numpy().copy()), embedding.vectors)
    frame.iloc[0, 0] = 99
    assert embedding.vectors[0, 0] != 99


def test_a_polars_frame_equals_the_exported_file(embedding: Embedding, tmp_path: Path) -> None:
    import polars as pl

    frame = embedding.to_polars()
    assert torch.equal(torch.from_numpy(frame["vector"].to_numpy().copy()), embedding.vectors)
    assert frame.equals(pl.read_parquet(export_vectors(embedding, tmp_path / "v.parquet")))


def test_keyed_vectors_have_the_same_vectors_and_neighbors(embedding: Embedding) -> None:
    pytest.importorskip("gensim", reason="needs the extra gensim")
    keyed = embedding.to_keyed_vectors()
    assert keyed.index_to_key == list(embedding.ids)
    assert np.array_equal(keyed.vectors, embedding.vectors.numpy())
    name = embedding.ids[0]
    expected = [neighbor.id for neighbor in embedding.most_similar(name, k=3)]
    assert [found for found, _ in keyed.most_similar(name, topn=3)] == expected


@pytest.mark.parametrize("directed", [False, True])
def test_a_graph_converts_back_to_the_network(
    *, directed: bool, planted: TextualNetwork, embedding: Embedding
) -> None:
    twice = torch.cat([planted.edges, planted.edges[:5]])
    network = replace(planted, edges=twice, directed=directed)
    graph = embedding.to_networkx(network, vector="v")
    back = network_from_networkx(graph)
    assert np.array_equal(back.adjacency().toarray(), network.adjacency().toarray())
    assert (back.ids, back.texts) == (network.ids, network.texts)
    assert (back.labels, back.directed) == (network.labels, network.directed)
    last = network.ids[-1]
    assert np.array_equal(graph.nodes[last]["v"], embedding[last].numpy())


def test_a_vertex_without_a_vector_raises(planted: TextualNetwork) -> None:
    few = Embedding(planted.ids[1:], torch.ones(len(planted.ids) - 1, 2), 2)
    with pytest.raises(UnknownVertexError, match="there is no vertex"):
        few.to_networkx(planted)


@pytest.mark.parametrize("package", ["pandas", "polars", "gensim", "networkx"])
def test_a_missing_package_raises_with_its_name(
    package: str,
    embedding: Embedding,
    planted: TextualNetwork,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    conversions: dict[str, Callable[[], object]] = {
        "pandas": embedding.to_pandas,
        "polars": embedding.to_polars,
        "gensim": embedding.to_keyed_vectors,
        "networkx": lambda: embedding.to_networkx(planted),
    }
    for name in (package, f"{package}.models"):
        monkeypatch.setitem(sys.modules, name, None)
    with pytest.raises(MissingExtraError, match=rf"needs {package}.*'dmte\[{package}\]'") as found:
        conversions[package]()
    assert "\n" not in str(found.value)


def test_notebooks_show_a_short_escaped_table(planted: TextualNetwork) -> None:
    evil = "<script>alert(1)</script>"
    ids = (evil, *planted.ids[1:])
    network = replace(planted, ids=ids, texts=("x" * 500, *planted.texts[1:]))
    embedding = Embedding(ids, torch.ones(len(ids), 6), 3)
    for html in (network._repr_html_(), embedding._repr_html_()):
        assert "<script" not in html
        assert "&lt;script&gt;" in html
        assert html.count("<tr>") == 6
        assert "and 75 more" in html
        assert len(html) < 2000


def test_notebooks_show_the_settings_of_a_model(planted: TextualNetwork) -> None:
    from dmte.settings import Settings
    from dmte.training.method import DmteMethod

    trained: TrainedModel = DmteMethod(Settings(dim=8, epochs=1)).train(planted, seed=0)
    html = trained._repr_html_()
    assert "<td>epochs</td><td>1</td>" in html
    assert "hop_weights" in html
