"""P of a graph, without some edges and for new vertices: one table of kinds serves all three."""

from types import MappingProxyType

import pytest
import torch

from dmte.diffusion import transition
from dmte.model import diffusion_maps
from dmte.model.trained_model import TrainedModel
from dmte.network import TextualNetwork
from dmte.settings import Settings
from dmte.training.method import DmteMethod


@pytest.fixture
def third_kind(monkeypatch: pytest.MonkeyPatch) -> str:
    """Add a third kind of P to the table: the symmetric one, by another name."""
    kinds = transition.TRANSITIONS
    more = MappingProxyType({**kinds, "third": kinds["symmetric"]})
    for module in (transition, diffusion_maps):
        monkeypatch.setattr(module, "TRANSITIONS", more, raising=False)
    monkeypatch.setattr(Settings, "__post_init__", lambda self: None)
    return "third"


def train(network: TextualNetwork, kind: str) -> TrainedModel:
    # Without validation edges the last epoch counts, and not the untrained start.
    settings = Settings(dim=16, epochs=2, transition=kind, validation_fraction=0.0)
    assert settings.hide_supervised
    return DmteMethod.of(settings).train(network, seed=0)


def test_training_and_new_vertices_use_a_kind_that_was_added(
    planted: TextualNetwork, third_kind: str
) -> None:
    added, same, walk = (train(planted, kind) for kind in (third_kind, "symmetric", "walk"))
    assert not torch.equal(same.embedding.vectors, walk.embedding.vectors)
    assert torch.equal(added.embedding.vectors, same.embedding.vectors)
    new = TextualNetwork(
        ids=("new", "newer", planted.ids[3], planted.ids[9]),
        texts=("", "", "", ""),
        edges=torch.tensor([[0, 2], [0, 3], [1, 0], [1, 2]]),
    )
    assert torch.equal(added.embed(new).vectors, same.embed(new).vectors)
