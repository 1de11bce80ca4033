"""Explanations add up to the score and equal the formulas."""

from dataclasses import replace

import numpy as np
import pytest
import scipy.sparse as sp
import torch

from dmte.diffusion.transition import transition_matrix
from dmte.errors import ConfigError, UnknownVertexError
from dmte.inference.explain import Explanation, explain
from dmte.inference.paths import common_neighbors, strongest_routes
from dmte.model.trained_model import TrainedModel
from dmte.network import TextualNetwork
from dmte.network.synthetic import PlantedTopics
from dmte.recipes import PAPER, VARIANTS
from dmte.settings import Settings
from dmte.training.method import DmteMethod

RECIPES = {
    "recommended": Settings(dim=32, epochs=3, degree_power=0.0),
    "recommended with structure": Settings(dim=32, epochs=3, structure=True),
    "recommended with walks": Settings(dim=32, epochs=3, structure_share=0.3),
    "recommended with lengths": Settings(dim=32, epochs=3, structure_share=0.3, degree_power=0.4),
    "mixed tanh": replace(PAPER, dim=16, epochs=3, mixing=True, unit_rows=True),
} | {name: replace(settings, dim=16, epochs=3) for name, settings in VARIANTS.items()}
LONELY, WORDLESS = 7, 11  # The vertices without edges and without text of the planted network.
PAIRS = [(0, 4), (0, LONELY), (WORDLESS, 3), (LONELY, WORDLESS)]


@pytest.fixture(scope="module", params=list(RECIPES))
def trained(request: pytest.FixtureRequest) -> TrainedModel:
    network = planted_network()
    return DmteMethod(RECIPES[request.param]).train(network, seed=3)


def planted_network() -> TextualNetwork:
    drawn = PlantedTopics(num_vertices=80).draw(torch.Generator().manual_seed(5))
    kept = drawn.edges[(drawn.edges != LONELY).all(dim=1)]
    texts = ["" if vertex == WORDLESS else text for vertex, text in enumerate(drawn.texts)]
    return TextualNetwork(ids=drawn.ids, texts=texts, edges=kept)


def explained(trained: TrainedModel, i: int, j: int) -> Explanation:
    return explain(trained, trained.network.ids[i], trained.network.ids[j])


@pytest.mark.parametrize(("i", "j"), PAIRS)
def test_the_parts_add_up_to_the_score(trained: TrainedModel, i: int, j: int) -> None:
    found, embedding = explained(trained, i, j), trained.embedding
    assert found.score == float(embedding.score(torch.tensor([[i, j]])))
    assert found.text + (found.structure or 0.0) == pytest.approx(found.score, abs=1e-5)
    assert found.text == pytest.approx(float(embedding.text[i] @ embedding.text[j]), abs=1e-5)
    sums = [found.hop_pairs.sum(), found.hops.sum()]
    for parts in (found.vertices, found.words):
        sides = ("contribution", "from_a", "from_b")
        sums.extend(sum(getattr(part, side) for part in parts or ()) for side in sides)
    if trained.settings.encoder == "bilstm":
        assert found.words is None
        assert found.pairs is None
        sums = sums[:-3]
    # X comes in single precision from the encoder, and word by word in double.
    assert sums == pytest.approx([found.text] * len(sums), abs=1e-6)


def test_both_ends_are_treated_alike(trained: TrainedModel) -> None:
    there, back = explained(trained, 0, 4), explained(trained, 4, 0)
    assert there.hop_pairs == pytest.approx(back.hop_pairs.T)
    assert {part.id: part.contribution for part in there.vertices} == pytest.approx(
        {part.id: part.contribution for part in back.vertices}
    )


@pytest.mark.parametrize("recipe", ["recommended", "word-average"])
def test_words_and_pairs_equal_the_slow_formula(recipe: str) -> None:
    """Dense powers of P, and word by word."""
    trained = DmteMethod(RECIPES[recipe]).train(planted_network(), seed=3)
    model, network = trained.model, trained.network
    found = explained(trained, 0, 4)
    transition = model.transition_of(network.adjacency(), torch.float64)
    dense = (transition @ torch.eye(network.num_vertices, dtype=torch.float64)).numpy()
    powers = [np.linalg.matrix_power(dense, hop) for hop in range(4)]
    tokens = trained.vocabulary.encode(network.texts)
    parts = model.encoder.word_parts(tokens)
    assert parts is not None
    assert model.convolution is not None
    amounts, directions = parts.amounts.toarray(), parts.directions.double().numpy()
    filters = model.convolution.filters.detach().double().numpy()
    mixing = np.eye(trained.settings.half)
    if model.mixing is not None:
        mixing = model.mixing.matrix.detach().double().numpy()

    def row(vertex: int, word: int | None) -> np.ndarray:
        """The text half of a vertex, or the part of a word in it."""
        total = np.zeros(len(mixing))
        for hop, power in enumerate(powers):
            whole = filters[hop] * (power[vertex] @ amounts @ directions)
            some = whole
            if word is not None:
                some = filters[hop] * (power[vertex] @ amounts[:, word]) * directions[word]
            if recipe == "word-average":
                some = trained.settings.hop_weights[hop] * np.tanh(whole) * some / whole
            total += some @ mixing
        return total

    lengths = [1.0, 1.0]
    if trained.settings.unit_rows:
        lengths = [float(np.linalg.norm(row(vertex, None))) for vertex in (0, 4)]
    for part in (found.words or ())[:5]:
        word = trained.vocabulary.words.index(part.word)
        from_a = row(0, word) @ row(4, None) / (lengths[0] * lengths[1])
        assert part.from_a == pytest.approx(from_a, abs=1e-6)
    pair = (found.pairs or ())[0]
    one, other = (trained.vocabulary.words.index(word) for word in (pair.a, pair.b))
    met = row(0, one) @ row(4, other) / (lengths[0] * lengths[1])
    assert pair.contribution == pytest.approx(met, abs=1e-6)


def _dense(network: TextualNetwork) -> np.ndarray:
    transition = transition_matrix(network.adjacency(), torch.float64)
    return (transition @ torch.eye(network.num_vertices, dtype=torch.float64)).numpy()


def test_an_isolated_vertex_is_explained_by_its_own_text(trained: TrainedModel) -> None:
    found = explained(trained, 0, LONELY)
    steps = {part.id: part.steps_b for part in found.vertices if part.steps_b is not None}
    assert steps == {trained.network.ids[LONELY]: 0}
    assert (found.is_linked, found.common_neighbors, found.connections) == (False, (), ())


def test_unknown_and_equal_vertices_raise(trained: TrainedModel) -> None:
    with pytest.raises(UnknownVertexError, match="no vertex 'nobody'"):
        explain(trained, trained.network.ids[0], "nobody")
    with pytest.raises(ConfigError, match="must be two different vertices"):
        explained(trained, 0, 0)


def test_routes_and_neighbors_known_by_eye() -> None:
    """0 and 3 have the neighbors 1 and 2 in common; 2 has two more edges, so 1 is the stronger."""
    edges = torch.tensor([[0, 1], [1, 3], [0, 2], [2, 3], [2, 4], [2, 5]])
    network = TextualNetwork(ids=tuple("abcdef"), texts=("",) * 6, edges=edges)
    transition = sp.csr_array(_dense(network))
    routes = strongest_routes(transition, 0, 3, steps=1)
    assert [route.vertices for route in routes] == [(0, 1, 3), (0, 2, 3)]
    assert routes[0].strength == pytest.approx(1 / 2 * 1 / 2)
    assert common_neighbors(network, 0, 3) == [1, 2]
    assert strongest_routes(transition, 4, 5, steps=3)[0].vertices == (4, 2, 5)


def test_directed_routes_meet_where_both_lead() -> None:
    """Both 0 and 1 cite 2; 3 cites both, which brings no text to either."""
    edges = torch.tensor([[0, 2], [1, 2], [3, 0], [3, 1]])
    network = TextualNetwork(ids=tuple("abcd"), texts=("",) * 4, edges=edges, directed=True)
    routes = strongest_routes(sp.csr_array(_dense(network)), 0, 1, steps=2)
    assert [(route.vertices, route.meeting) for route in routes] == [((0, 2, 1), 1)]
    assert common_neighbors(network, 0, 1) == [2, 3]
