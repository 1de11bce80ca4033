"""FastRP: against its dense formula with the same random matrix."""

import pytest
import torch
from torch.nn.functional import normalize

from dmte.baselines.fastrp import FastRp, degree_scales, sparse_projection
from dmte.errors import ConfigError
from dmte.evaluation import strict_task
from dmte.network import TextualNetwork
from dmte.network.synthetic import PlantedTopics
from dmte.runtime.seeding import generator_for

LONELY = 7  # Of the network ``planted``.


@pytest.mark.parametrize("degree_power", [-1.0, -0.25, 0.0])
def test_vectors_are_the_dense_formula_projected(
    planted: TextualNetwork, degree_power: float
) -> None:
    adjacency = torch.from_numpy(planted.adjacency().toarray())
    degrees = adjacency.sum(dim=1)
    degrees[LONELY] = 1.0  # It has no edges, so whatever it is divided by.
    transition = adjacency / degrees.unsqueeze(1)
    scales = (degrees / adjacency.sum()).pow(degree_power).diag()
    powers = [torch.linalg.matrix_power(transition, power) for power in (1, 2, 3, 4)]
    similarity = 0.5 * powers[0] + 2.0 * powers[2] + powers[3]
    projection = sparse_projection(planted.num_vertices, 30, generator_for(2, "FastRP")).double()
    expected = normalize(similarity @ scales @ projection).float()
    method = FastRp(dim=30, power_weights=(0.5, 0.0, 2.0, 1.0), degree_power=degree_power)
    found = method.fit(planted, 2)
    torch.testing.assert_close(found.vectors, expected, rtol=1e-4, atol=1e-5)


def test_the_projection_is_very_sparse_and_keeps_lengths_on_average() -> None:
    num_rows, dim = 900, 400
    projection = sparse_projection(num_rows, dim, torch.Generator().manual_seed(0))
    assert projection.unique().tolist() == pytest.approx([-(30**0.5), 0.0, 30**0.5])
    shares = [float((projection.sign() == sign).double().mean()) for sign in (-1, 1)]
    assert shares == pytest.approx([1 / 60, 1 / 60], rel=0.05)
    assert float(projection.square().mean()) == pytest.approx(1, rel=0.05)


def test_degrees_of_a_directed_network_count_both_ways() -> None:
    network = TextualNetwork(
        ids=tuple("abcd"), texts=("",) * 4, edges=torch.tensor([[0, 1], [2, 1]]), directed=True
    )
    scales = degree_scales(network.adjacency(), 1.0)
    assert scales.tolist() == pytest.approx([0.25, 0.5, 0.25, 0.0])
    assert bool(FastRp().fit(network, 0).vectors.isfinite().all())


def test_a_vertex_without_edges_has_the_zero_vector(planted: TextualNetwork) -> None:
    vectors = FastRp().fit(planted, 0).vectors
    assert bool((vectors[LONELY] == 0).all())
    linked = torch.arange(planted.num_vertices) != LONELY
    torch.testing.assert_close(vectors[linked].norm(dim=1), torch.ones(int(linked.sum())))


def test_a_network_without_edges_has_zero_vectors() -> None:
    network = TextualNetwork(
        ids=("a", "b"), texts=("", ""), edges=torch.zeros(0, 2, dtype=torch.int64)
    )
    assert FastRp(dim=3).fit(network, 0).vectors.tolist() == [[0.0] * 3] * 2


def test_the_same_seed_gives_the_same_bits(planted: TextualNetwork) -> None:
    first = FastRp().fit(planted, 4).vectors
    torch.rand(3)
    assert torch.equal(first, FastRp().fit(planted, 4).vectors)
    assert not torch.equal(first, FastRp().fit(planted, 5).vectors)


def test_planted_links_are_found() -> None:
    network = PlantedTopics(num_vertices=400).draw(torch.Generator().manual_seed(0))
    task = strict_task(network, 0.8, seed=0)
    assert task.auc(FastRp().fit(task.train, 0)) > 0.65


@pytest.mark.parametrize("settings", [{"dim": 0}, {"power_weights": ()}])
def test_invalid_settings_raise(settings: dict[str, int | tuple[float, ...]]) -> None:
    with pytest.raises(ConfigError, match="must be"):
        FastRp(**settings)  # type: ignore[arg-type]
