"""Lengths of vectors by degree, and the choice of the degree power by validation edges."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse as sp
import torch
from synthetic import LargeTopics
from torch import Tensor
from torch.nn.functional import normalize

from dmte.evaluation import strict_task
from dmte.metrics import PairScores
from dmte.model.assemble import DEGREE_UNIT, Assembly, degrees, scale_by_degree
from dmte.model.trained_model import TrainedModel
from dmte.network import TextualNetwork
from dmte.network.synthetic import PlantedTopics
from dmte.settings import Settings
from dmte.training.auto_settings import MIN_POWER_EDGES, POWERS, choose_degree_power
from dmte.training.method import DmteMethod

STRETCHED = Settings(dim=32, epochs=1, degree_power=0.5)
LONELY = 7  # The vertex without edges of the planted network.


@pytest.fixture(scope="module")
def with_hubs() -> TextualNetwork:
    """Eight topics whose edges lead mostly to a few of their vertices."""
    drawn = LargeTopics(
        num_vertices=400, vertices_per_topic=50, edges_per_vertex=2, hub_exponent=0.8
    )
    return each_edge_once(drawn.draw(seed=0))


def each_edge_once(network: TextualNetwork) -> TextualNetwork:
    """Return the network with edges of weight 1, so that edges can be counted."""
    edges = network.distinct_edges()[0]
    return network.with_edges(edges, torch.ones(len(edges)))


def edges_of(network: TextualNetwork, vertex: int) -> float:
    """Return how many edges a vertex has, by looking at every one; half counts if one way."""
    share = 0.5 if network.directed else 1.0
    return sum(
        share * (vertex in (source, target))
        for source, target in network.edges.tolist()
        if source != target
    )


@pytest.mark.parametrize("directed", [False, True])
def test_a_degree_counts_edges_without_self_loops(*, directed: bool) -> None:
    edges = torch.tensor([[0, 1], [1, 2], [3, 1], [2, 2]])
    network = TextualNetwork(ids=tuple("abcde"), texts=("",) * 5, edges=edges, directed=directed)
    counted = [edges_of(network, vertex) for vertex in range(5)]
    assert degrees(network.adjacency()) == pytest.approx(counted)


def test_the_unit_of_the_weights_does_not_change_degrees(planted: TextualNetwork) -> None:
    adjacency = planted.adjacency()
    adjacency.data = np.arange(1.0, 1 + adjacency.nnz)
    found = degrees(adjacency)
    assert degrees(sp.csr_array(60.0 * adjacency)) == pytest.approx(found)
    assert found[LONELY] == 0


def test_vectors_have_the_lengths_of_the_formula() -> None:
    vectors = normalize(torch.randn(4, 6, generator=torch.Generator().manual_seed(0)))
    found = np.array([0.0, 1.0, 3.0, 12.0])
    longer = scale_by_degree(vectors, found, 0.3)
    slow = torch.tensor([(1 + degree / DEGREE_UNIT) ** 0.3 for degree in found.tolist()])
    torch.testing.assert_close(longer.norm(dim=1), slow)
    torch.testing.assert_close(normalize(longer), vectors)
    torch.testing.assert_close(scale_by_degree(longer, found, -0.3), vectors)
    assert scale_by_degree(vectors, found, 0.0) is vectors


@pytest.mark.parametrize("share", [0.0, 0.36])
def test_new_vectors_from_the_parts_of_old_ones_equal_them(share: float) -> None:
    generator = torch.Generator().manual_seed(0)
    text, structure = torch.rand(3, 4, generator=generator), torch.rand(3, 2, generator=generator)
    found, assembly = np.array([0.0, 3.0, 12.0]), Assembly(share, power=0.5)
    vectors = assembly.vectors(text, structure, found)
    weighted = assembly.weighted_structure(vectors[:, 4:], found)
    torch.testing.assert_close(assembly.new_vectors(text, weighted, found), vectors)
    scales = torch.from_numpy(assembly.text_scales(found)).float()
    torch.testing.assert_close(text * scales.unsqueeze(1), vectors[:, :4])


def pair_scores(*, power: float, seed: int = 0) -> tuple[PairScores, PairScores]:
    """Return scores of pairs, whose ends' lengths matter with a power, and these lengths."""
    generator = torch.Generator().manual_seed(seed)
    unit: Tensor = torch.rand(4000, generator=generator)
    lengths = 1 + 5 * torch.rand(4000, generator=generator)
    is_edge = unit * lengths**power > (unit * lengths**power).median()
    return (
        PairScores(unit[is_edge], unit[~is_edge]),
        PairScores(lengths[is_edge], lengths[~is_edge]),
    )


def test_the_power_that_generated_the_edges_is_chosen() -> None:
    for power in (0.0, 0.2, 0.8):
        assert choose_degree_power([pair_scores(power=power)]) == power
    assert (
        choose_degree_power([pair_scores(power=0.4, seed=1), pair_scores(power=0.4, seed=2)]) == 0.4
    )


def test_the_power_is_best_on_average_over_folds() -> None:
    none, most = pair_scores(power=0.0), pair_scores(power=0.8, seed=1)
    assert 0 < choose_degree_power([none, most]) < 0.8


def test_the_power_is_zero_with_few_validation_edges() -> None:
    unit, lengths = pair_scores(power=0.8)
    few = MIN_POWER_EDGES - 1
    cut = [PairScores(one.edges[:few], one.non_edges) for one in (unit, lengths)]
    assert choose_degree_power([(cut[0], cut[1])]) == 0.0
    cut = [PairScores(one.edges[: few + 1], one.non_edges) for one in (unit, lengths)]
    assert choose_degree_power([(cut[0], cut[1])]) > 0.0


def test_the_smallest_of_equally_good_powers_is_chosen() -> None:
    apart = PairScores(torch.full((20,), 9.0), torch.tensor([0.1]))
    assert choose_degree_power([(apart, PairScores(torch.ones(20), torch.ones(1)))]) == 0.0
    assert choose_degree_power([]) == 0.0


def test_a_power_may_win_pairs_and_lose_the_top_of_lists() -> None:
    """An edge between hubs beats pairs by its length, but a longer hub beats it in its list."""
    unit = PairScores(torch.full((20,), 0.5), torch.full((20,), 0.6), torch.full((40, 1), 0.4))
    lengths = PairScores(torch.full((20,), 4.0), torch.full((20,), 1.0), torch.full((40, 1), 64.0))
    assert choose_degree_power([(unit, lengths)], "auc") == 0.15
    assert choose_degree_power([(unit, lengths)], "top") == 0.0
    # AUC 0 and MRR 1 at 0; AUC 1 and MRR 1/2 at 0.15.
    assert choose_degree_power([(unit, lengths)], "balanced") == 0.15


@pytest.mark.medium
def test_lengths_improve_the_prediction_of_links_to_hubs(with_hubs: TextualNetwork) -> None:
    task = strict_task(with_hubs, 0.7, seed=0)
    chosen = DmteMethod(Settings(epochs=2)).train(task.train, seed=0)
    plain = DmteMethod(Settings(epochs=2, degree_power=0.0)).train(task.train, seed=0)
    power = chosen.settings.degree_power
    assert power in POWERS
    assert power > 0
    assert chosen.assembly.power == power
    assert task.auc(chosen.embedding) > task.auc(plain.embedding) + 0.005
    # Directions stay, and with them what is similar.
    torch.testing.assert_close(normalize(chosen.embedding.vectors), plain.embedding.vectors)
    sums = [edges_of(task.train, vertex) for vertex in range(400)]
    slow = torch.tensor([(1 + degree / DEGREE_UNIT) ** power for degree in sums])
    torch.testing.assert_close(chosen.embedding.vectors.norm(dim=1), slow)


@pytest.mark.medium
def test_vectors_have_length_one_if_degrees_do_not_predict_links() -> None:
    drawn = PlantedTopics(num_vertices=200).draw(torch.Generator().manual_seed(2))
    trained = DmteMethod(Settings(epochs=2)).train(drawn, seed=0)
    assert trained.settings.degree_power == 0.0
    torch.testing.assert_close(trained.embedding.vectors.norm(dim=1), torch.ones(200))


def test_the_power_is_zero_without_validation_edges(with_hubs: TextualNetwork) -> None:
    settings = Settings(dim=32, epochs=1, validation_fraction=0.0)
    assert DmteMethod(settings).train(with_hubs, seed=0).settings.degree_power == 0.0


@pytest.mark.medium
@pytest.mark.parametrize(
    ("settings", "is_chosen"),
    [
        (Settings(dim=32, epochs=2), True),
        (Settings(dim=64, epochs=1, structure=True), False),
        (Settings(dim=32, epochs=1, unit_rows=False), False),
    ],
)
def test_a_power_requires_a_frozen_encoder_and_unit_rows(
    with_hubs: TextualNetwork, settings: Settings, *, is_chosen: bool
) -> None:
    trained = DmteMethod(settings).train(with_hubs, seed=0)
    assert (trained.settings.degree_power != 0.0) is is_chosen


@pytest.mark.medium
def test_the_unit_of_the_weights_does_not_change_new_vertices(with_hubs: TextualNetwork) -> None:
    heavy = with_hubs.with_edges(with_hubs.edges, 60.0 * with_hubs.edge_weights)
    found = []
    for network, weight in ((with_hubs, 1.0), (heavy, 60.0)):
        new = TextualNetwork(
            ids=("new", network.ids[4]),
            texts=(network.texts[0], ""),
            edges=torch.tensor([[0, 1]]),
            weights=torch.tensor([weight]),
        )
        found.append(DmteMethod(STRETCHED).train(network, seed=0).embed(new).vectors.norm())
    torch.testing.assert_close(*found)


@pytest.fixture(scope="module", params=[0.0, 0.3], ids=["texts", "texts and walks"])
def longer(request: pytest.FixtureRequest, with_hubs: TextualNetwork) -> TrainedModel:
    settings = replace(STRETCHED, structure_share=request.param)
    return DmteMethod(settings).train(with_hubs, seed=0)


@pytest.mark.medium
def test_a_model_with_lengths_survives_saving_and_loading(
    longer: TrainedModel, tmp_path: Path
) -> None:
    longer.save(tmp_path / "model")
    again = TrainedModel.load(tmp_path / "model")
    assert again.settings == longer.settings
    assert again.assembly.power == 0.5
    assert torch.equal(again.embedding.vectors, longer.embedding.vectors)


def test_a_new_vertex_has_the_length_of_its_own_edges(longer: TrainedModel) -> None:
    network, old = longer.network, longer.embedding
    near = [4, 9]
    new = TextualNetwork(
        ids=("new", "alone", *(network.ids[vertex] for vertex in near)),
        texts=(network.texts[0], network.texts[1], "", ""),
        edges=torch.tensor([[0, 2], [0, 3], [0, 0]]),
    )
    found = longer.embed(new)
    alone = 1.0 if old.structure.shape[1] == 0 else 0.7**0.5  # No walk ends anywhere.
    expected = torch.tensor([(1 + 2 / DEGREE_UNIT) ** 0.5, alone])
    torch.testing.assert_close(found.vectors.norm(dim=1), expected)
    if old.structure.shape[1]:
        ends = normalize(normalize(old.structure[near]).sum(dim=0), dim=0)
        torch.testing.assert_close(normalize(found.structure[0], dim=0), ends, atol=1e-5, rtol=0)
    torch.testing.assert_close(found.text[1], longer.embed_text(network.texts[1]))


def test_new_vertices_of_a_directed_network_count_edges_by_halves() -> None:
    drawn = PlantedTopics(num_vertices=80).draw(torch.Generator().manual_seed(5))
    directed = TextualNetwork(ids=drawn.ids, texts=drawn.texts, edges=drawn.edges, directed=True)
    trained = DmteMethod(STRETCHED).train(each_edge_once(directed), seed=0)
    new = TextualNetwork(
        ids=("citing", "cited", drawn.ids[3]),
        texts=(drawn.texts[0], drawn.texts[1], ""),
        edges=torch.tensor([[0, 1], [0, 2]]),
        directed=True,
    )
    expected = torch.tensor([(1 + 1 / DEGREE_UNIT) ** 0.5, (1 + 0.5 / DEGREE_UNIT) ** 0.5])
    torch.testing.assert_close(trained.embed(new).vectors.norm(dim=1), expected)
