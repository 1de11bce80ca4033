"""What every method promises, tested once for all of them."""

from collections.abc import Callable, Mapping
from dataclasses import fields, is_dataclass
from functools import cache
from typing import NamedTuple

import numpy as np
import pytest
import torch
from torch import Tensor

from dmte.embedding.embedding import Embedding
from dmte.embedding.method import LearnsFromLabels, Method, PairScorer, unavailable_reason
from dmte.errors import DmteError
from dmte.evaluation import METHODS, strict_task
from dmte.evaluation.jobs import HasVectors
from dmte.evaluation.methods import CLASSES_ONLY, LINKS_ONLY, configure, settings_of
from dmte.network import TextualNetwork
from dmte.network.synthetic import PlantedTopics
from dmte.runtime.progress import report_to
from dmte.text.sentence_model import VARIABLE, encode_texts
from dmte.training.method import DmteMethod


class Uses(NamedTuple):
    """What a method looks at."""

    text: bool
    edges: bool
    weights: bool


EVERYTHING = Uses(text=True, edges=True, weights=True)
TRAITS = {
    "dmte": EVERYTHING,
    "dmte-paper": EVERYTHING,
    "dmte-paper-no-diffusion": EVERYTHING,
    "dmte-paper-text-only": EVERYTHING,
    "dmte-paper-bilstm": EVERYTHING,
    "dmte-released": Uses(text=True, edges=True, weights=False),
    "deepwalk": Uses(text=False, edges=True, weights=True),
    "line": Uses(text=False, edges=True, weights=True),
    "node2vec": Uses(text=False, edges=True, weights=True),
    "tadw": EVERYTHING,
    "cene": EVERYTHING,
    "tridnr": EVERYTHING,
    "tridnr-labels": EVERYTHING,
    "cane": EVERYTHING,
    "random": Uses(text=False, edges=False, weights=False),
    "adamic-adar": Uses(text=False, edges=True, weights=False),
    "tfidf": Uses(text=True, edges=False, weights=False),
    "lsa": Uses(text=True, edges=False, weights=False),
    "lsa-diffused": EVERYTHING,
    "fastrp": Uses(text=False, edges=True, weights=True),
    "doc2vec": Uses(text=True, edges=False, weights=False),
    "sentence": Uses(text=True, edges=False, weights=False),
    "sentence-diffused": EVERYTHING,
}
"""What each method claims to use; a method that is not here is not tested."""
DRAW_NOTHING = {"adamic-adar", "tfidf", "sentence", "sentence-diffused"}
"""The methods to which seeds are all the same; no other may be."""
MAY_BE_SILENT = {"random", "adamic-adar", "tfidf", "lsa", "lsa-diffused", "fastrp"}
"""Methods too fast to report progress."""


def test_every_method_is_tested() -> None:
    assert set(TRAITS) == set(METHODS)


@pytest.fixture(params=list(METHODS))
def name(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture(autouse=True)
def _able(request: pytest.FixtureRequest) -> None:
    """Give a method what it needs; skip the test if it cannot run all the same."""
    if "name" not in request.fixturenames:
        return
    folder = request.getfixturevalue("sentence_model")
    request.getfixturevalue("monkeypatch").setenv(VARIABLE, str(folder))
    reason = unavailable_reason(METHODS[request.getfixturevalue("name")])
    if reason is not None:
        pytest.skip(reason)


LESS_WORK = {"epochs": 4, "dim": 16, "walks_per_vertex": 2, "samples_per_edge": 5}

LEARNS_BLOCKS = LESS_WORK | {"epochs": 60, "walks_per_vertex": 10, "learning_rate": 0.1}
"""As little as lets every method tell blocks apart that nothing connects."""


def quick(name: str, settings: Mapping[str, float] = LESS_WORK) -> Method:
    """Return the method with less work, since the contract does not test quality."""
    method = METHODS[name]
    own = {setting.name for setting in fields(settings_of(method))}
    return given_labels(configure(method, {k: v for k, v in settings.items() if k in own}))


def given_labels(method: Method) -> Method:
    """Return the method with the labels of a few vertices, if it learns from some."""
    some = [(f"v{vertex}", "odd" if vertex % 2 else "even") for vertex in range(12)]
    return method.with_labels(some) if isinstance(method, LearnsFromLabels) else method


@cache
def network() -> TextualNetwork:
    """Four topics, weights, a vertex without edges, one without text and one with neither."""
    drawn = PlantedTopics(num_vertices=60).draw(torch.Generator().manual_seed(2))
    kept = drawn.edges[((drawn.edges != 7) & (drawn.edges != 9)).all(dim=1)]
    texts = ["" if vertex in (9, 11) else text for vertex, text in enumerate(drawn.texts)]
    weights = torch.rand(len(kept), generator=torch.Generator().manual_seed(3)) + 0.5
    return TextualNetwork(ids=drawn.ids, texts=texts, edges=kept, weights=weights)


def all_pairs(size: int) -> Tensor:
    return torch.cartesian_prod(torch.arange(size), torch.arange(size))


@cache
def fitted(name: str) -> PairScorer:
    return quick(name).fit(network(), 0)


class Again(NamedTuple):
    """A second fit, and what was seen of it."""

    scorer: PairScorer
    heard: list[float]
    states: list[list[int]]
    """Of the global generators, before it and after it."""


@cache
def fitted_again(name: str) -> Again:
    heard: list[float] = []
    encode_texts.cache_clear()  # Texts whose vectors are known are not waited for.
    before = global_states()
    with report_to(heard.append):
        scorer = quick(name).fit(network(), 0)
    return Again(scorer, heard, [before, global_states()])


def global_states() -> list[int]:
    """Return the states of the global generators of torch and NumPy."""
    numpy_state = np.random.get_state(legacy=False)["state"]["key"]  # noqa: NPY002
    return [*torch.get_rng_state().tolist(), *numpy_state.tolist()]


def scores(scorer: PairScorer) -> Tensor:
    return scorer.score(all_pairs(60))


def test_a_method_is_its_settings(name: str) -> None:
    assert is_dataclass(METHODS[name])
    with pytest.raises((AttributeError, TypeError)):
        METHODS[name].anything = 1  # type: ignore[attr-defined]


def test_every_pair_has_a_finite_score(name: str) -> None:
    found = scores(fitted(name))
    assert found.shape == (3600,)
    assert torch.isfinite(found).all()


def test_an_embedding_has_the_networks_ids_in_their_order(name: str) -> None:
    found = fitted(name)
    if isinstance(found, Embedding):
        assert list(found.ids) == list(network().ids)
        assert torch.isfinite(found.vectors).all()
        assert found.vectors.dtype == torch.float32


@cache
def blocks() -> Tensor:
    """Return the block of each of 60 vertices: 12, 20 and 28 of them, in no order that repeats."""
    sizes = torch.tensor([12, 20, 28])
    mixed = torch.randperm(60, generator=torch.Generator().manual_seed(5))
    return torch.arange(3).repeat_interleave(sizes)[mixed]


@cache
def network_of_blocks() -> TextualNetwork:
    """Links and words within blocks only; a vertex without edges and one without text."""
    pairs = all_pairs(60)
    within = (pairs[:, 0] < pairs[:, 1]) & (blocks()[pairs[:, 0]] == blocks()[pairs[:, 1]])
    edges = pairs[within & (torch.rand(3600, generator=torch.Generator().manual_seed(6)) < 0.5)]
    texts = [
        " ".join(f"w{block}x{(vertex + word) % 6}" for word in range(4))
        for vertex, block in enumerate(blocks().tolist())
    ]
    texts[5] = ""
    ids = tuple(f"v{vertex}" for vertex in range(60))
    return TextualNetwork(ids=ids, texts=texts, edges=edges[(edges != 3).all(dim=1)])


def contrast(found: Tensor, block: Tensor) -> float:
    """Return how far pairs within a block score above those across, in standard deviations."""
    within = block[:, None] == block
    apart = ~torch.eye(60, dtype=torch.bool)
    gap = found[within & apart].mean() - found[~within].mean()
    return float(gap / found[apart].std())


@pytest.mark.medium
@pytest.mark.parametrize("name", [name for name in METHODS if name != "random"])
def test_a_row_belongs_to_the_vertex_of_its_place(name: str) -> None:
    """Blocks stand out where they are, and not once the vertices are turned by any number."""
    found = scores(quick(name, LEARNS_BLOCKS).fit(network_of_blocks(), 0)).view(60, 60)
    turned = max(contrast(found, blocks().roll(turn)) for turn in range(1, 60))
    assert contrast(found, blocks()) > max(0.5, 3 * turned)


def test_links_only_names_those_that_have_no_vectors(name: str) -> None:
    assert isinstance(fitted(name), HasVectors) != (name in LINKS_ONLY)


def test_classes_only_names_those_that_learn_from_labels(name: str) -> None:
    assert isinstance(METHODS[name], LearnsFromLabels) == (name in CLASSES_ONLY)


@pytest.mark.medium
def test_the_same_seed_gives_the_same_bits(name: str) -> None:
    assert torch.equal(scores(fitted_again(name).scorer), scores(fitted(name)))


@pytest.mark.medium
def test_another_seed_gives_other_bits_if_the_method_is_random(name: str) -> None:
    other = quick(name).fit(network(), 1)
    assert torch.equal(scores(other), scores(fitted(name))) == (name in DRAW_NOTHING)


@pytest.mark.medium
def test_global_generators_are_left_alone(name: str) -> None:
    before, after = fitted_again(name).states
    assert before == after


def changed(name: str, change: Callable[[TextualNetwork], TextualNetwork]) -> bool:
    """Return whether the scores differ once the network is changed so."""
    return not torch.equal(scores(quick(name).fit(change(network()), 0)), scores(fitted(name)))


def with_other_texts(source: TextualNetwork) -> TextualNetwork:
    turned = [*source.texts[20:], *source.texts[:20]]
    return TextualNetwork(
        ids=source.ids, texts=turned, edges=source.edges, weights=source.edge_weights
    )


def with_fewer_edges(source: TextualNetwork) -> TextualNetwork:
    return source.with_edges(source.edges[20:], source.edge_weights[20:])


def with_other_weights(source: TextualNetwork) -> TextualNetwork:
    return source.with_edges(source.edges, source.edge_weights.flip(0))


@pytest.mark.medium
def test_a_method_uses_exactly_its_declared_inputs(name: str) -> None:
    uses = TRAITS[name]
    assert changed(name, with_other_texts) == uses.text
    assert changed(name, with_fewer_edges) == uses.edges
    assert changed(name, with_other_weights) == uses.weights


@pytest.mark.medium
def test_directed_edges_are_taken(name: str) -> None:
    source = network()
    directed = TextualNetwork(ids=source.ids, texts=source.texts, edges=source.edges, directed=True)
    assert torch.isfinite(scores(quick(name).fit(directed, 0))).all()


@pytest.mark.medium
@pytest.mark.parametrize(
    "strange",
    [
        TextualNetwork(ids=("a",), texts=("one word",), edges=torch.empty(0, 2).long()),
        TextualNetwork(ids=("a", "b"), texts=("x", "x"), edges=torch.empty(0, 2).long()),
        TextualNetwork(ids=("a", "b"), texts=("", ""), edges=torch.tensor([[0, 1]])),
        TextualNetwork(ids=("a", "b"), texts=("x", "y"), edges=torch.tensor([[0, 0], [1, 1]])),
        TextualNetwork(ids=("a", "b", "c"), texts=("x", "", "z"), edges=torch.tensor([[0, 1]])),
    ],
    ids=["one vertex", "no edges", "no words", "loops only", "one edge"],
)
def test_an_unusual_network_is_embedded_or_raises_in_one_sentence(
    name: str, strange: TextualNetwork
) -> None:
    try:
        found = quick(name).fit(strange, 0)
    except DmteError:
        return
    assert torch.isfinite(found.score(all_pairs(strange.num_vertices))).all()


@pytest.mark.medium
def test_a_fit_reports_progress_unless_it_is_instant(name: str) -> None:
    heard = fitted_again(name).heard
    assert heard or name in MAY_BE_SILENT
    assert heard == sorted(heard)
    assert not heard or 0 < heard[0] <= heard[-1] == pytest.approx(1.0)


LESS_IS_EXPECTED = {"adamic-adar": 0.58, "sentence": 0.58}
"""Most pairs of a topic have no common neighbor; the encoder of the tests knows no topics."""


@pytest.mark.slow
@pytest.mark.parametrize("name", [name for name in METHODS if name != "random"])
def test_a_method_beats_chance_on_planted_topics(name: str) -> None:
    planted = PlantedTopics(num_vertices=160).draw(torch.Generator().manual_seed(4))
    task = strict_task(planted, 0.8, seed=0)
    changes: dict[str, int] = {}
    if name in ("deepwalk", "node2vec"):
        changes = {"walks_per_vertex": 10, "dim": 64}
    elif name == "dmte-released":
        changes = {"max_words": 12}  # All else is padding.
    elif isinstance(METHODS[name], DmteMethod):
        changes = {"dim": 64}
    method = configure(METHODS[name], changes)
    assert task.auc(given_labels(method).fit(task.train, 0)) > LESS_IS_EXPECTED.get(name, 0.7)
