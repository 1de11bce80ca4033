"""One real training step, against the paper written out densely in float64."""

from dataclasses import replace
from pathlib import Path

import pytest
import torch
from torch import Tensor
from torch.nn.functional import logsigmoid

from dmte.model.trained_model import TrainedModel
from dmte.network import TextualNetwork
from dmte.network.synthetic import PlantedTopics
from dmte.recipes import PAPER
from dmte.runtime.seeding import generator_for
from dmte.settings import ObjectiveWeights, Settings
from dmte.storage.folder import read_parts
from dmte.training.edges import SupervisedEdges
from dmte.training.run import TrainingRun

ALPHA = (1.0, 0.7, 0.4, 0.2)  # tt, ss, st, ts: all different, so that a swap shows
SETTINGS = replace(
    PAPER,
    dim=8,
    hop_weights=(1.0, 0.5, 0.2),
    structure_hop_weights=(0.9, 0.4),
    num_negatives=3,
    objective=ObjectiveWeights(
        text_text=ALPHA[0],
        structure_structure=ALPHA[1],
        structure_text=ALPHA[2],
        text_structure=ALPHA[3],
    ),
    batch_size=20,
)


def weighted(*, directed: bool) -> TextualNetwork:
    generator = torch.Generator().manual_seed(5)
    drawn = PlantedTopics(num_vertices=40).draw(generator)
    weights = torch.rand(len(drawn.edges), dtype=torch.float64, generator=generator) * 3 + 0.2
    return TextualNetwork(
        ids=drawn.ids, texts=drawn.texts, edges=drawn.edges, weights=weights, directed=directed
    )


def dense_transition(adjacency: Tensor) -> Tensor:
    degrees = adjacency.sum(dim=1, keepdim=True)
    stays = torch.eye(len(adjacency), dtype=torch.float64)
    return torch.where(degrees > 0, adjacency / degrees.clamp(min=1e-300), stays)


def dense_halves(
    parameters: dict[str, Tensor], words: Tensor, transition: Tensor
) -> tuple[Tensor, Tensor, Tensor]:
    """Return V_t, V_s and U_s by powers of P."""
    features = words @ parameters["encoder.words"]
    text = sum(
        weight * torch.tanh(filters * (torch.linalg.matrix_power(transition, hop) @ features))
        for hop, (weight, filters) in enumerate(
            zip(SETTINGS.hop_weights, parameters["convolution.filters"], strict=True)
        )
    )
    table = parameters["structure.table"]
    structure = table / table.norm(dim=1, keepdim=True).clamp(min=1)
    assert isinstance(text, Tensor)
    return text, structure, 0.9 * structure + 0.4 * transition @ structure


@pytest.mark.parametrize("hides", [False, True], ids=["all in P", "hidden from P"])
@pytest.mark.parametrize("directed", [False, True], ids=["undirected", "directed"])
def test_a_step_has_the_losses_and_gradients_of_the_paper(*, directed: bool, hides: bool) -> None:
    network = weighted(directed=directed)
    settings = Settings.from_dict(SETTINGS.to_dict() | {"hide_supervised": hides})
    run = TrainingRun(network, settings, seed=0)
    edges, batch = SupervisedEdges.of(network), torch.arange(run.folds[0].sizes.batch)
    scored = {frozenset(pair) for pair in edges.edges[batch].tolist()} if hides else set()
    adjacency = torch.zeros(
        len(run.folds[0].edges.members), len(run.folds[0].edges.members), dtype=torch.float64
    )
    for (i, j), weight in zip(edges.edges.tolist(), edges.weights.tolist(), strict=True):
        if frozenset((i, j)) not in scored:
            adjacency[i, j] += weight
            if not directed and i != j:
                adjacency[j, i] += weight
    chosen = edges.directed(batch)
    expected = set(map(tuple, edges.edges[batch].tolist()))
    expected |= set() if directed else {(j, i) for i, j in expected}
    assert set(zip(chosen.source.tolist(), chosen.target.tolist(), strict=True)) == expected
    negatives = run.folds[0].sampler.draw(chosen.source, chosen.target, 3, generator_for(0, "test"))
    parameters = {
        name: value.detach().double().requires_grad_()
        for name, value in run.folds[0].model.named_parameters()
    }
    texts = [network.texts[vertex] for vertex in edges.members.tolist()]
    words = torch.from_numpy(run.vocabulary.encode(texts).bag_of_words().toarray())
    text, structure, diffused = dense_halves(parameters, words, dense_transition(adjacency))
    weights = chosen.weights.double()

    def part(predicted: Tensor, given: Tensor) -> Tensor:
        right = given[chosen.target]
        gained = logsigmoid((predicted[chosen.source] * right).sum(1))
        gained = gained + logsigmoid(-(predicted[negatives] * right[:, None]).sum(2)).sum(1)
        return -(weights * gained).sum() / weights.sum()

    parts = [
        part(text, text),
        part(structure, diffused),
        part(structure, text),
        part(text, diffused),
    ]
    sum(a * loss for a, loss in zip(ALPHA, parts, strict=True)).backward()  # type: ignore[union-attr]
    ((found, _),) = run.folds[0].train_round(batch, generator_for(0, "test"))
    torch.testing.assert_close(found.double(), torch.stack(parts).detach(), rtol=1e-5, atol=1e-5)
    for name, parameter in run.folds[0].model.named_parameters():
        slow, fast = parameters[name].grad, parameter.grad
        assert slow is not None
        assert fast is not None
        torch.testing.assert_close(
            fast.double(), slow, rtol=1e-3, atol=2e-5 * float(slow.abs().max())
        )


def test_noise_is_the_out_degree_to_three_quarters() -> None:
    network = weighted(directed=True)
    run = TrainingRun(network, SETTINGS, seed=0)
    degrees = torch.from_numpy(network.adjacency().sum(axis=1))[SupervisedEdges.of(network).members]
    torch.testing.assert_close(run.folds[0].sampler.noise, degrees**0.75)


def test_final_vectors_diffuse_along_the_direction_of_the_edges() -> None:
    network = weighted(directed=True)
    run = TrainingRun(network, SETTINGS, seed=0)
    trained = run.result()
    parameters = {name: value.double() for name, value in trained.model.state_dict().items()}
    words = torch.from_numpy(run.vocabulary.encode(network.texts).bag_of_words().toarray())
    transition = dense_transition(torch.from_numpy(network.adjacency().toarray()))
    text, structure, _ = dense_halves(parameters, words, transition)
    expected = torch.cat([text, structure], dim=1).float()
    torch.testing.assert_close(trained.embedding.vectors, expected, rtol=1e-4, atol=1e-5)


def test_validation_diffuses_over_training_edges_only() -> None:
    network = weighted(directed=False)
    settings = Settings.from_dict(
        SETTINGS.to_dict() | {"validation_fraction": 0.4, "validate_every": 1, "epochs": 1}
    )
    run = TrainingRun(network, settings, seed=0)
    seen = run.folds[0].train.adjacency()
    assert run.folds[0].validation_edges is not None
    for i, j in run.folds[0].validation_edges.edges.tolist():
        assert seen[i, j] == 0
    (report,) = run.epochs()
    train = TrainingRun(run.folds[0].train, SETTINGS, seed=0)
    train.folds[0].model.load_state_dict(run.folds[0].model.state_dict())
    embedding = train.result().embedding
    validation = run.folds[0].validation_edges
    wins = [
        float(p > n) + float(p == n) / 2
        for p in embedding.score(validation.edges)
        for n in embedding.score(validation.non_edges)
    ]
    assert report.validation_auc == pytest.approx(sum(wins) / len(wins), abs=1e-6)


def test_the_settings_limit_the_vocabulary(planted: TextualNetwork) -> None:
    limits = SETTINGS.to_dict() | {"min_count": 3, "max_vocabulary": 20}
    run = TrainingRun(planted, Settings.from_dict(limits), seed=0)
    assert len(run.vocabulary) == 20
    assert len(run.folds[0].model.encoder.get_parameter("words")) == 20


def test_a_model_overwritten_during_a_read_is_never_a_mixture(
    planted: TextualNetwork, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first, second = (
        TrainingRun(planted, replace(PAPER, dim=8, epochs=1), seed=seed).result() for seed in (1, 2)
    )
    first.save(tmp_path / "model")

    def read_then_replace(folder: Path) -> dict[str, bytes]:
        parts = read_parts(folder)
        second.save(folder)
        return parts

    monkeypatch.setattr("dmte.model.trained_model.read_parts", read_then_replace)
    loaded = TrainedModel.load(tmp_path / "model")
    assert loaded.seed == 1
    assert torch.equal(loaded.embedding.vectors, first.embedding.vectors)
