"""P of a graph, without some edges and with new vertices, from one table of kinds."""

from types import MappingProxyType
from typing import Any, get_args

import numpy as np
import pytest
import scipy.sparse as sp
import torch
from jaxtyping import Float
from torch import Tensor

from dmte.diffusion import transition
from dmte.diffusion.transition import (
    TRANSITIONS,
    TransitionKind,
    TransitionTemplate,
    extended_transition,
    transition_matrix,
)
from dmte.kernels.sparse import SparseMatrix
from dmte.model.trained_model import TrainedModel
from dmte.network import TextualNetwork
from dmte.network.textual_network import adjacency_matrix
from dmte.settings import Settings, Transition
from dmte.training.method import DmteMethod

WEIGHTS = torch.arange(1.0, 7.0)


def distinct_edges(*, directed: bool) -> Tensor:
    """Edges 1 and 4 are each other's opposites if directed, 2 is a self-loop, 6 has no edge."""
    return torch.tensor([[0, 1], [1, 2], [3, 3], [4, 5], [2, 1] if directed else [0, 4], [0, 5]])


def lazy_walk(adjacency: np.ndarray) -> np.ndarray:
    """Return (S + w I) with rows that sum to one, the slow and obvious way."""
    looped = adjacency + np.eye(len(adjacency)) * adjacency[adjacency > 0].mean()
    lazy: np.ndarray = looped / looped.sum(axis=1, keepdims=True)
    return lazy


@pytest.fixture
def kinds(monkeypatch: pytest.MonkeyPatch) -> dict[str, TransitionKind]:
    """Two more kinds of P: a lazy walk, and the symmetric one by another name."""
    more = {
        "lazy": TransitionKind(
            loops=torch.full_like, rows=torch.reciprocal, columns=torch.ones_like
        ),
        "same": TRANSITIONS["symmetric"],
    }
    monkeypatch.setattr(transition, "TRANSITIONS", MappingProxyType({**TRANSITIONS, **more}))
    monkeypatch.setattr(Settings, "__post_init__", lambda _: None)  # It checks names.
    return more


def train(network: TextualNetwork, kind: Any) -> TrainedModel:
    # Without validation edges the last epoch counts, and not the untrained start.
    settings = Settings(dim=16, epochs=2, transition=kind, validation_fraction=0.0)
    assert settings.hide_supervised
    return DmteMethod(settings).train(network, seed=0)


def dense(matrix: SparseMatrix, size: int) -> Float[Tensor, "size size"]:
    return matrix @ torch.eye(size, dtype=matrix.rows.values.dtype)


def test_settings_name_every_kind() -> None:
    assert set(get_args(Transition)) == set(TRANSITIONS)


@pytest.mark.medium
@pytest.mark.usefixtures("kinds")
def test_training_and_new_vertices_use_a_kind_that_was_added(planted: TextualNetwork) -> None:
    same, symmetric, walk = (train(planted, kind) for kind in ("same", "symmetric", "walk"))
    assert not torch.equal(symmetric.embedding.vectors, walk.embedding.vectors)
    assert torch.equal(same.embedding.vectors, symmetric.embedding.vectors)
    new = TextualNetwork(
        ids=("new", "newer", planted.ids[3], planted.ids[9]),
        texts=("", "", "", ""),
        edges=torch.tensor([[0, 2], [0, 3], [1, 0], [1, 2]]),
    )
    assert torch.equal(same.embed(new).vectors, symmetric.embed(new).vectors)


@pytest.mark.usefixtures("kinds")
@pytest.mark.parametrize("directed", [False, True])
def test_an_added_kind_is_its_formula_in_all_three_uses(*, directed: bool) -> None:
    edges = distinct_edges(directed=directed)
    adjacency = adjacency_matrix(edges, WEIGHTS.double(), 7, directed=directed)
    whole = transition_matrix(adjacency, torch.float64, "lazy")
    np.testing.assert_allclose(dense(whole, 7), lazy_walk(adjacency.toarray()))

    kept = torch.tensor([False, True, True, True, True, True])
    fewer = adjacency_matrix(edges[kept], WEIGHTS[kept].double(), 7, directed=directed)
    template = TransitionTemplate.of(edges, WEIGHTS, 7, directed=directed)
    found = template.transition("lazy", torch.tensor([0]), torch.float64)
    np.testing.assert_allclose(dense(found, 7), lazy_walk(fewer.toarray()))

    extended = extended_transition(
        adjacency,
        np.arange(7),
        sp.csr_array(np.eye(2, 7)),
        sp.csr_array((2, 2)),
        directed=directed,
        kind="lazy",
    )
    w = adjacency.data.mean()
    new_rows = np.hstack([np.eye(2, 7), w * np.eye(2)]) / (1 + w)
    old_rows = np.hstack([lazy_walk(adjacency.toarray()), np.zeros((7, 2))])
    np.testing.assert_allclose(dense(extended, 9), np.vstack([old_rows, new_rows]), rtol=1e-6)


def test_hidden_edges_leave_p_in_both_directions() -> None:
    edges = torch.tensor([[0, 1], [1, 2]])
    template = TransitionTemplate.of(edges, torch.tensor([1.0, 2.0]), 3, directed=False)
    hidden = template.transition("walk", without=torch.tensor([0]))
    assert dense(hidden, 3).tolist() == [[1, 0, 0], [0, 0, 1], [0, 1, 0]]


@pytest.mark.parametrize("directed", [False, True])
@pytest.mark.parametrize("kind", list(TRANSITIONS))
@pytest.mark.parametrize("without", [[], [0], [1, 3, 4], [0, 1, 2, 3, 4, 5]])
def test_p_without_edges_is_p_of_a_graph_without_them(
    kind: str, without: list[int], *, directed: bool
) -> None:
    edges = distinct_edges(directed=directed)
    hidden = {frozenset(edges[number].tolist()) for number in without}
    kept = torch.tensor([frozenset(pair) not in hidden for pair in edges.tolist()])
    fewer = adjacency_matrix(edges[kept], WEIGHTS[kept], 7, directed=directed)
    template = TransitionTemplate.of(edges, WEIGHTS, 7, directed=directed)
    found = template.transition(kind, torch.tensor(without, dtype=torch.int64))
    slow = transition_matrix(fewer, kind=kind)
    torch.testing.assert_close(dense(found, 7), dense(slow, 7))
    torch.testing.assert_close(dense(found.transpose(), 7), dense(slow.transpose(), 7))
