"""The width of a frozen encoder is chosen by validation AUC."""

import pytest
import torch
from torch.nn.functional import normalize

from dmte.network import TextualNetwork
from dmte.settings import Settings
from dmte.training.run import TrainingRun


def linked_by_features(num_vertices: int, strength: float) -> TextualNetwork:
    """Link vertices with similar values of 60 features; 64 others are noise of strength 1."""
    generator = torch.Generator().manual_seed(0)
    telling, silent = (
        torch.linalg.qr(torch.randn(num_vertices, number, generator=generator)).Q
        for number in (60, 64)
    )
    alike = (normalize(telling) @ normalize(telling).T).triu(1)
    closest = alike.flatten().topk(2 * num_vertices).indices
    return TextualNetwork(
        ids=tuple(map(str, range(num_vertices))),
        texts=("",) * num_vertices,
        edges=torch.stack([closest // num_vertices, closest % num_vertices], dim=1),
        features=torch.cat([strength * telling, silent], dim=1),
    )


@pytest.mark.medium
@pytest.mark.parametrize(
    ("strength", "width"), [(1.5, 64), (0.8, 128)], ids=["telling first", "telling last"]
)
def test_the_width_with_the_best_validation_auc_is_chosen(strength: float, width: int) -> None:
    network = linked_by_features(200, strength)
    aucs = {}
    for dim in (64, 128):
        run = TrainingRun(network, Settings(encoder="features", dim=dim, epochs=1), seed=0)
        next(run.epochs())
        aucs[dim] = run.history[0].validation_auc or 0.0
    assert aucs[width] == max(aucs.values()) > min(aucs.values())
    assert TrainingRun(network, Settings(encoder="features"), seed=0).settings.dim == width
