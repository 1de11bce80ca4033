"""TADW: against its objective and its gradient, written out with dense matrices."""

from itertools import pairwise

import pytest
import torch
from torch import Tensor
from torch.nn.functional import normalize

from dmte.baselines.lsa import latent_features
from dmte.baselines.tadw import WALK_WEIGHTS, Tadw, solve_mapping, solve_structure
from dmte.baselines.tfidf import tfidf_vectors
from dmte.diffusion.operators import diffuse
from dmte.diffusion.transition import transition_matrix
from dmte.errors import ConfigError
from dmte.evaluation import strict_task
from dmte.network import TextualNetwork
from dmte.network.synthetic import PlantedTopics
from dmte.runtime.seeding import generator_for

LONELY, WORDLESS = 7, 11  # Of the network ``planted``.
DIM, FEATURE_DIM, REGULARIZATION = 6, 20, 0.2


class Dense:
    """The factorization of a network with every matrix formed."""

    def __init__(self, network: TextualNetwork) -> None:
        adjacency = torch.from_numpy(network.adjacency().toarray())
        stuck = (adjacency.sum(dim=1) == 0).double()
        kept = adjacency + stuck.diag()
        transition = kept / kept.sum(dim=1, keepdim=True)
        self.walks = (transition + transition @ transition) / 2
        self.features = latent_features(tfidf_vectors(network.texts), FEATURE_DIM, seed=0)
        self.walked = self.walks @ self.features

    def objective(self, structure: Tensor, mapping: Tensor) -> Tensor:
        error = self.walks - structure @ mapping @ self.features.T
        penalty = structure.square().sum() + mapping.square().sum()
        return error.square().sum() + REGULARIZATION / 2 * penalty

    def solve_structure(self, mapping: Tensor) -> Tensor:
        return solve_structure(self.walked, self.features, mapping, REGULARIZATION)

    def solve_mapping(self, structure: Tensor) -> Tensor:
        return solve_mapping(self.walked, self.features, structure, REGULARIZATION)


@pytest.fixture
def dense(planted: TextualNetwork) -> Dense:
    return Dense(planted)


@pytest.fixture
def mapping() -> Tensor:
    generator = torch.Generator().manual_seed(1)
    return torch.randn(DIM, FEATURE_DIM, generator=generator, dtype=torch.float64)


def test_walks_of_features_need_no_matrix_of_walks(planted: TextualNetwork, dense: Dense) -> None:
    transition = transition_matrix(planted.adjacency(), torch.float64)
    torch.testing.assert_close(diffuse(transition, dense.features, WALK_WEIGHTS), dense.walked)


def test_each_solution_has_a_zero_gradient(dense: Dense, mapping: Tensor) -> None:
    structure = dense.solve_structure(mapping).requires_grad_()
    (gradient,) = torch.autograd.grad(dense.objective(structure, mapping), structure)
    torch.testing.assert_close(gradient, torch.zeros_like(gradient), rtol=0, atol=1e-9)
    best = dense.solve_mapping(structure.detach()).requires_grad_()
    (gradient,) = torch.autograd.grad(dense.objective(structure.detach(), best), best)
    torch.testing.assert_close(gradient, torch.zeros_like(gradient), rtol=0, atol=1e-9)


def test_the_mapping_solves_the_dense_system(dense: Dense, mapping: Tensor) -> None:
    structure = dense.solve_structure(mapping)
    product = torch.kron(structure.T @ structure, dense.features.T @ dense.features)
    system = 2 * product + REGULARIZATION * torch.eye(DIM * FEATURE_DIM)
    target = 2 * (structure.T @ dense.walks @ dense.features).flatten()
    expected = torch.linalg.solve(system, target).view(DIM, FEATURE_DIM)
    torch.testing.assert_close(dense.solve_mapping(structure), expected)


def test_the_objective_never_increases(dense: Dense, mapping: Tensor) -> None:
    values = []
    for _ in range(15):
        structure = dense.solve_structure(mapping)
        values.append(float(dense.objective(structure, mapping)))
        mapping = dense.solve_mapping(structure)
        values.append(float(dense.objective(structure, mapping)))
    assert all(after <= before + 1e-9 for before, after in pairwise(values))
    assert values[-1] < values[0] - 0.1


def factorize_slowly(dense: Dense, rounds: int, regularization: float) -> tuple[Tensor, Tensor]:
    """Return W and T Hᵀ, from M as a matrix and from systems written out."""
    mapping = torch.randn(
        DIM, FEATURE_DIM, generator=generator_for(0, "TADW's H"), dtype=torch.float64
    )
    ridge, wide_ridge = (regularization * torch.eye(n) for n in (DIM, DIM * FEATURE_DIM))
    for _ in range(rounds):
        mapped = dense.features @ mapping.T
        structure = 2 * dense.walks @ mapped @ torch.linalg.inv(2 * mapped.T @ mapped + ridge)
        product = torch.kron(structure.T @ structure, dense.features.T @ dense.features)
        target = 2 * (structure.T @ dense.walks @ dense.features).flatten()
        mapping = torch.linalg.solve(2 * product + wide_ridge, target).view(DIM, FEATURE_DIM)
    return structure, dense.features @ mapping.T


@pytest.mark.parametrize(("rounds", "regularization"), [(1, 0.2), (3, 0.5)])
def test_a_fit_is_the_slow_factorization_of_one_and_two_steps(
    planted: TextualNetwork, dense: Dense, rounds: int, regularization: float
) -> None:
    method = Tadw(dim=DIM, feature_dim=FEATURE_DIM, rounds=rounds, regularization=regularization)
    found = method.fit(planted, 0)
    structure, text = factorize_slowly(dense, rounds, regularization)
    torch.testing.assert_close(found.structure, normalize(structure).float())
    torch.testing.assert_close(found.text, normalize(text).float())


def test_the_vectors_are_both_halves_with_length_one(planted: TextualNetwork) -> None:
    embedding = Tadw(dim=DIM, feature_dim=FEATURE_DIM).fit(planted, 0)
    assert embedding.text.shape == embedding.structure.shape == (planted.num_vertices, DIM)
    ones = torch.ones(planted.num_vertices)
    torch.testing.assert_close(embedding.structure.norm(dim=1), ones)
    ones[WORDLESS] = 0
    torch.testing.assert_close(embedding.text.norm(dim=1), ones, rtol=1e-5, atol=0)


def test_the_text_half_is_a_linear_map_of_the_text(planted: TextualNetwork) -> None:
    same = list(planted.texts)
    same[LONELY] = same[0]
    network = TextualNetwork(ids=planted.ids, texts=same, edges=planted.edges)
    text = Tadw(dim=DIM, feature_dim=FEATURE_DIM).fit(network, 0).text
    torch.testing.assert_close(text[LONELY], text[0])


@pytest.mark.parametrize("texts", [("", "", "", ""), ("red fox", "", "fox", "")])
@pytest.mark.parametrize("num_edges", [0, 1])
def test_hardly_any_words_or_edges_give_finite_vectors(
    texts: tuple[str, ...], num_edges: int
) -> None:
    edges = torch.tensor([[0, 1]])[:num_edges]
    network = TextualNetwork(ids=tuple("abcd"), texts=texts, edges=edges)
    vectors = Tadw().fit(network, 0).vectors
    assert vectors.shape == (4, 160)
    assert bool(vectors.isfinite().all())


def test_the_same_seed_gives_the_same_bits(planted: TextualNetwork) -> None:
    method = Tadw(dim=DIM, feature_dim=FEATURE_DIM)
    first = method.fit(planted, 4).vectors
    torch.rand(3)
    assert torch.equal(first, method.fit(planted, 4).vectors)
    assert not torch.equal(first, method.fit(planted, 5).vectors)


def test_planted_links_are_found() -> None:
    network = PlantedTopics(num_vertices=400).draw(torch.Generator().manual_seed(0))
    task = strict_task(network, 0.8, seed=0)
    assert task.auc(Tadw().fit(task.train, 0)) > 0.65


@pytest.mark.parametrize(
    "settings", [{"dim": 0}, {"feature_dim": 0}, {"rounds": 0}, {"regularization": 0.0}]
)
def test_invalid_settings_raise(settings: dict[str, int | float]) -> None:
    with pytest.raises(ConfigError, match="must be"):
        Tadw(**settings)  # type: ignore[arg-type]
