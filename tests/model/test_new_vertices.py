"""Vectors of new vertices, which do not change the model."""

from contextlib import nullcontext
from dataclasses import replace

import numpy as np
import pytest
import torch
from jaxtyping import Float
from torch import Tensor
from torch.nn.functional import normalize

from dmte.errors import DmteWarning, NetworkError
from dmte.model.build import embed_network
from dmte.model.trained_model import TrainedModel
from dmte.network import TextualNetwork
from dmte.recipes import PAPER, VARIANTS
from dmte.settings import Settings
from dmte.training.method import DmteMethod

RECIPES = {
    "recommended": Settings(dim=16, epochs=2),
    "paper": replace(PAPER, dim=16, epochs=3),
    "no-diffusion": replace(VARIANTS["no-diffusion"], dim=16, epochs=3),
}
NO_EDGES = torch.zeros((0, 2), dtype=torch.int64)


def train(recipe: str, network: TextualNetwork) -> TrainedModel:
    return DmteMethod(RECIPES[recipe]).train(network, seed=0)


@pytest.fixture(params=RECIPES)
def trained(request: pytest.FixtureRequest, planted: TextualNetwork) -> TrainedModel:
    return train(request.param, planted)


def newcomers(network: TextualNetwork) -> TextualNetwork:
    """Three new vertices: text and edges, edges alone (one to a new vertex), text alone."""
    return TextualNetwork(
        ids=("old", "n1", "n2", "n3", "older"),
        texts=("", network.texts[0], "", f"unheard {network.texts[5]}", ""),
        edges=torch.tensor([[1, 0], [4, 1], [2, 1], [2, 4]]),
        weights=torch.tensor([1.0, 2.0, 1.0, 3.0]),
        directed=network.directed,
    )


def with_names(new: TextualNetwork, **names: str) -> TextualNetwork:
    return replace(new, ids=[names.get(name, name) for name in new.ids])


def extended_transition(
    network: TextualNetwork, new: TextualNetwork, *, is_symmetric: bool
) -> tuple[list[str], Float[Tensor, "all all"]]:
    """Return P' the slow and obvious way: old rows as they are, new rows from the new edges."""
    ids = [*network.ids, *(name for name in new.ids if name not in network.ids)]
    weights = np.zeros((len(ids), len(ids)))
    weights[: len(network.ids), : len(network.ids)] = network.adjacency().toarray()
    entries = new.adjacency().tocoo()
    for row, column, weight in zip(*entries.coords, entries.data, strict=True):
        source, target = ids.index(new.ids[row]), ids.index(new.ids[column])
        if source >= len(network.ids):
            weights[source, target] += weight
    if is_symmetric:
        num_old = len(network.ids)
        weights += np.eye(len(ids)) * network.adjacency().data.mean()
        outward = weights.sum(axis=1)
        # Old columns as they were trained; a new vertex of an undirected network has one degree.
        inward = weights.sum(axis=0) if network.directed else outward.copy()
        inward[:num_old] = weights[:num_old].sum(axis=0)[:num_old]
        return ids, torch.from_numpy(weights / np.sqrt(np.outer(outward, inward))).float()
    degrees = weights.sum(axis=1)
    weights[degrees == 0, degrees == 0] = 1
    return ids, torch.from_numpy(weights / weights.sum(axis=1, keepdims=True)).float()


def slow_text_half(trained: TrainedModel, new: TextualNetwork) -> Float[Tensor, "all dim"]:
    """Return V_t of old and new vertices by powers of the whole of P'."""
    model, settings = trained.model, trained.settings
    ids, transition = extended_transition(
        trained.network, new, is_symmetric=settings.transition == "symmetric"
    )
    texts = [*trained.network.texts, *(new.texts[new.position(n)] for n in ids[80:])]
    tokens = trained.vocabulary.encode(texts)
    features: Tensor = model.encoder(model.encoder.prepare(tokens))
    if model.convolution is None:
        return features
    hops = [torch.linalg.matrix_power(transition, h) @ features for h in range(settings.hops)]
    filtered = [f * hop for f, hop in zip(model.convolution.filters, hops, strict=True)]
    if settings.activation == "tanh":
        weighted = zip(settings.hop_weights, filtered, strict=True)
        return torch.stack([weight * hop.tanh() for weight, hop in weighted]).sum(dim=0)
    mixed = torch.stack(filtered).sum(dim=0)
    return normalize(mixed if model.mixing is None else mixed @ model.mixing.matrix)


@pytest.mark.medium
@pytest.mark.parametrize("ways", ["one way", "both ways"])
@pytest.mark.parametrize("recipe", RECIPES)
def test_the_text_half_is_the_convolution_over_the_extended_transition(
    recipe: str, ways: str, planted: TextualNetwork
) -> None:
    directed = ways == "one way"
    trained = train(recipe, replace(planted, directed=directed))
    new = with_names(newcomers(trained.network), old=planted.ids[3], older=planted.ids[9])
    warned = (
        pytest.warns(DmteWarning, match="1 of 4 edges leave only") if directed else nullcontext()
    )
    with warned:
        found = trained.embed(new)
    slow = slow_text_half(trained, new).detach()
    assert found.ids == ("n1", "n2", "n3")
    torch.testing.assert_close(found.text, slow[80:], atol=1e-5, rtol=1e-4)
    torch.testing.assert_close(trained.embedding.text, slow[:80], atol=1e-5, rtol=1e-4)


def test_embedding_new_vertices_does_not_change_the_model(trained: TrainedModel) -> None:
    before = trained.embedding.vectors.clone()
    state = {name: value.clone() for name, value in trained.model.state_dict().items()}
    network = trained.network
    trained.embed(with_names(newcomers(network), old=network.ids[3], older=network.ids[9]))
    assert torch.equal(trained.embedding.vectors, before)
    assert all(
        torch.equal(value, state[name]) for name, value in trained.model.state_dict().items()
    )
    tokens = trained.vocabulary.encode(network.texts)
    linked = torch.unique(network.edges)
    again = embed_network(trained.model, network, trained.model.encoder.prepare(tokens), linked)
    assert torch.equal(again.vectors, before)


@pytest.mark.medium
def test_a_twin_of_an_old_vertex_gets_its_text_half_and_nearly_its_structure_half(
    planted: TextualNetwork,
) -> None:
    settings = replace(PAPER, dim=32, epochs=80, learning_rate=0.01)
    trained = DmteMethod(settings).train(planted, seed=0)
    adjacency = planted.adjacency()
    old = int(np.diff(adjacency.indptr).argmax())
    near = adjacency[[old]].indices.tolist()
    twin = TextualNetwork(
        ids=("twin", *(planted.ids[vertex] for vertex in near)),
        texts=(planted.texts[old], *("" for _ in near)),
        edges=torch.tensor([[0, at + 1] for at in range(len(near))]),
        weights=torch.from_numpy(adjacency[[old]].data),
    )
    found = trained.embed(twin)
    torch.testing.assert_close(found.text[0], trained.embedding.text[old])
    structure = trained.embedding.structure
    closeness = normalize(structure) @ normalize(found.structure[0], dim=0)
    assert float(closeness[old]) > 0.9
    assert float(found.structure[0].norm()) == pytest.approx(float(structure[old].norm()), rel=1e-3)


def test_a_removed_vertex_gets_the_vector_of_the_whole_network(
    planted: TextualNetwork,
) -> None:
    """With one hop of diffusion no walk comes back, so that old rows without it do not matter.

    Symmetric diffusion would scale by the degrees of its neighbors, which lose it.
    """
    settings = replace(RECIPES["recommended"], hop_weights=(1.0, 0.7), transition="walk")
    whole = DmteMethod(settings).train(planted, seed=0)
    out = int(np.diff(planted.adjacency().indptr).argmax())
    kept = (planted.edges != out).all(dim=1)
    rest = TextualNetwork(
        ids=[*planted.ids[:out], *planted.ids[out + 1 :]],
        texts=[*planted.texts[:out], *planted.texts[out + 1 :]],
        edges=planted.edges[kept] - (planted.edges[kept] > out).long(),
    )
    texts = whole.model.encoder.prepare(whole.vocabulary.encode(rest.texts))
    embedding = embed_network(whole.model, rest, texts, NO_EDGES[:, 0])
    without = replace(whole, network=rest, embedding=embedding)
    back = planted.with_edges(planted.edges[~kept])
    found = without.embed(back, skip_known=True)
    assert found.ids == (planted.ids[out],)
    torch.testing.assert_close(found.vectors[0], whole.embedding.vectors[out])


def test_a_vector_does_not_depend_on_the_order_or_number_of_new_vertices(
    trained: TrainedModel,
) -> None:
    network = trained.network
    new = with_names(newcomers(network), old=network.ids[3], older=network.ids[9])
    order = torch.tensor([4, 2, 1, 0, 3])
    shuffled = replace(
        new,
        ids=[new.ids[at] for at in order],
        texts=[new.texts[at] for at in order],
        edges=order.argsort()[new.edges].flip(0),
        weights=new.edge_weights.flip(0),
    )
    one, other = trained.embed(new), trained.embed(shuffled)
    assert other.ids == ("n2", "n1", "n3")
    for name in one.ids:
        torch.testing.assert_close(one[name], other[name])
    alone = TextualNetwork(ids=("n3",), texts=(new.texts[3],), edges=NO_EDGES)
    torch.testing.assert_close(trained.embed(alone)["n3"], one["n3"])


def test_a_vertex_without_edges_equals_embed_text(trained: TrainedModel) -> None:
    text = trained.network.texts[4]
    found = trained.embed(TextualNetwork(ids=("n",), texts=(text,), edges=NO_EDGES))
    torch.testing.assert_close(found.text[0], trained.embed_text(text))
    assert not found.structure.any()


def test_the_structure_half_follows_the_diffusion_map(planted: TextualNetwork) -> None:
    trained = train("paper", planted)
    new = with_names(newcomers(planted), old=planted.ids[3], older=planted.ids[9])
    _, transition = extended_transition(planted, new, is_symmetric=False)
    rows = torch.cat([trained.embedding.structure, torch.zeros(3, 8)])
    weights = enumerate(PAPER.hop_weights[1:], start=1)
    maps = [w * torch.linalg.matrix_power(transition, h) @ rows for h, w in weights]
    slow = normalize(torch.stack(maps).sum(dim=0)[80:])
    lengths = trained.embedding.structure.norm(dim=1)
    torch.testing.assert_close(
        trained.embed(new).structure, slow * lengths[lengths > 0].mean(), atol=1e-5, rtol=1e-4
    )


def test_warnings_count_unknown_words_and_empty_vertices(
    planted: TextualNetwork,
) -> None:
    trained = train("recommended", planted)
    new = TextualNetwork(
        ids=("a", "b", "c", planted.ids[0]),
        texts=("qwrtz", "blorf", planted.texts[0], ""),
        edges=torch.tensor([[0, 3]]),
    )
    with pytest.warns(DmteWarning) as given:
        found = trained.embed(new)
    messages = [str(warning.message) for warning in given]
    assert "2 of 3 new texts have no word" in messages[0]
    assert "1 of 3 new vertices have neither" in messages[1]
    assert found["a"].any()
    assert not found["b"].any()


def test_known_vertices_raise_or_are_skipped(planted: TextualNetwork) -> None:
    trained = train("recommended", planted)
    grown = TextualNetwork(
        ids=(*planted.ids, "n"),
        texts=(*planted.texts, "w0x1"),
        edges=torch.cat([planted.edges, torch.tensor([[80, 2]])]),
    )
    with pytest.raises(NetworkError, match="is in the model already, as are 78 others"):
        trained.embed(grown)
    textless = TextualNetwork(ids=("n", planted.ids[2]), texts=("w0x1", ""), edges=NO_EDGES)
    with pytest.raises(NetworkError, match=f"{planted.ids[2]!r} is in the model already, and"):
        trained.embed(textless)
    found = trained.embed(grown, skip_known=True)
    named = TextualNetwork(
        ids=("n", planted.ids[2]), texts=("w0x1", ""), edges=torch.tensor([[0, 1]])
    )
    assert found.ids == ("n",)
    assert torch.equal(found.vectors, trained.embed(named).vectors)
    with pytest.warns(DmteWarning, match="nothing is new"):
        assert trained.embed(planted, skip_known=True).vectors.shape == (0, found.vectors.shape[1])
    old = TextualNetwork(ids=planted.ids[:2], texts=("", ""), edges=torch.tensor([[0, 1]]))
    with pytest.raises(NetworkError, match="no new one"):
        trained.embed(old)
    with pytest.raises(NetworkError, match="lead one way in the new network and both ways"):
        trained.embed(replace(named, directed=True))
