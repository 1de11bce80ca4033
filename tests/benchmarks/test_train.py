"""The benchmark of the whole job: what it writes, runs and scores."""

import sys
from argparse import Namespace
from itertools import pairwise
from pathlib import Path

import numpy as np
import peers
import pytest
import torch
import train

from dmte.evaluation import METHODS, strict_task
from dmte.network import TextualNetwork, read_tables
from dmte.network.synthetic import PlantedTopics


@pytest.fixture
def network() -> TextualNetwork:
    return PlantedTopics(num_vertices=60).draw(torch.Generator().manual_seed(0))


def test_peers_and_dmte_read_the_same_network(network: TextualNetwork, tmp_path: Path) -> None:
    train.write(network, tmp_path / "all")
    ours = read_tables(*(tmp_path / "all" / f"{name}.parquet" for name in peers.FILES))
    theirs = peers.Tables.read(tmp_path / "all", threads=1)
    assert (list(ours.ids), list(ours.texts)) == (list(network.ids), list(network.texts))
    assert theirs.texts == list(network.texts)
    assert ours.edges.tolist() == theirs.edges.tolist() == network.edges.tolist()


def test_walks_follow_edges_and_start_at_every_linked_vertex() -> None:
    edges = np.array([[0, 1], [1, 3], [3, 0]])  # Nothing leads to vertex 2.
    walks = peers.Walks(edges=edges, walks_per_vertex=2, length=5)
    found = list(walks)
    assert found == list(walks)
    assert sorted(walk[0] for walk in found) == ["0", "0", "1", "1", "3", "3"]
    steps = {frozenset(step) for walk in found for step in pairwise(walk)}
    assert steps <= {frozenset(map(str, edge)) for edge in edges.tolist()}
    assert {len(walk) for walk in found} == {5}


def test_a_vertex_without_edges_has_the_zero_vector() -> None:
    tables = peers.Tables(["a", "b", "c"], np.array([[0, 2]]), threads=1)
    filled = tables.filled(np.array([2, 0]), np.array([[1.0, 2.0], [3.0, 4.0]]))
    assert filled.tolist() == [[3.0, 4.0], [0.0, 0.0], [1.0, 2.0]]


def test_texts_of_the_same_words_have_the_same_latent_features() -> None:
    features = peers.latent_features(["red green", "green red", "blue sky", "blue sea"])
    assert features.shape == (4, 4)
    np.testing.assert_allclose(features[0], features[1], atol=1e-6)


def test_a_peer_that_is_not_installed_says_so(
    network: TextualNetwork, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    train.write(network, tmp_path / "all")
    monkeypatch.setitem(sys.modules, "pycleora", None)
    monkeypatch.setattr(
        sys, "argv", ["peers.py", "pycleora", str(tmp_path / "all"), str(tmp_path / "out"), "1"]
    )
    with pytest.raises(SystemExit, match=r"pycleora is not installed; pip install .*benchmarks"):
        peers.main()


def test_every_method_of_the_defaults_exists() -> None:
    assert set(train.PEERS.split(",")) <= {*peers.PEERS, *METHODS}


@pytest.mark.medium
def test_a_row_has_time_memory_and_quality(network: TextualNetwork, tmp_path: Path) -> None:
    task = strict_task(network, train.SHARE, seed=0)
    train.write(network, tmp_path / "all")
    train.write(task.train, tmp_path / "learned")
    torch.save((task.edges, task.non_edges, task.candidates), tmp_path / "links.pt")
    options = Namespace(turns=1, limit=60, threads=1)
    fast, unknown = train.compare("planted", ["lsa-diffused", "no-such"], tmp_path, options)
    assert (fast["network"], fast["method"]) == ("planted", "`lsa-diffused`")
    assert (fast["time_to_dmte"], fast["seconds"] > 0) == (1.0, True)  # To the first method.
    assert fast["cpu_seconds"] > 0
    assert fast["peak_mb"] > 50
    assert fast["auc"] > 60
    assert "there is no method 'no-such'" in unknown["problem"]
