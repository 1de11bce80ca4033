"""Store small models with the installed release, and what they answer.

    python tests/data/released/make.py

Run it once for every release, with the code of that release. The models and their answers go to a
folder named after the version and are never written again: ``tests/model/test_released.py`` loads
all of them with the code of today. Only names that are public since 0.1.0 are used.
"""

import json
from dataclasses import replace
from pathlib import Path
from types import MappingProxyType
from typing import Any

import torch

import dmte

HERE = Path(__file__).parent
SIZE = 48
"""Vertices of each network."""
VERTEX, OTHER, TEXT = "merge-sort", "quicksort", "sorting in memory by a pivot"


def network(*, directed: bool = False) -> dmte.TextualNetwork:
    """Return the first vertices of the bundled network, with the beginning of their texts."""
    whole = dmte.read_network("concepts")
    edges = whole.edges[(whole.edges < SIZE).all(dim=1)]
    return dmte.TextualNetwork(
        ids=whole.ids[:SIZE],
        texts=[" ".join(text.split()[:9]) for text in whole.texts[:SIZE]],
        edges=edges,
        weights=1.0 + torch.arange(len(edges)) % 3,
        directed=directed,
        labels=None if whole.labels is None else whole.labels[:SIZE],
    )


def with_features() -> dmte.TextualNetwork:
    """Return the same network with a row of numbers per vertex."""
    generator = torch.Generator().manual_seed(0)
    return network().with_features(torch.randn(SIZE, 6, generator=generator))


SETTINGS = MappingProxyType(
    {
        "recommended": dmte.Settings(dim=8, epochs=3),
        "directed": dmte.Settings(dim=8, structure_share=0.4, degree_power=0.3, epochs=2),
        "features": dmte.Settings(encoder="features", dim=4, epochs=2),
        "paper": replace(dmte.PAPER, dim=8, epochs=2),
        "bilstm": replace(dmte.VARIANTS["bilstm"], dim=8, epochs=2),
    }
)


def train(name: str) -> dmte.TrainedModel:
    """Return the trained model of a name in ``SETTINGS``."""
    chosen = with_features() if name == "features" else network(directed=name == "directed")
    return dmte.Dmte.of(SETTINGS[name], seed=1).fit(chosen).model_


def answers(folder: Path) -> dict[str, Any]:
    """Return what a stored model answers, as values for JSON."""
    model = dmte.TrainedModel.load(folder)
    embedding, reads_words = model.embedding, model.network.features is None
    new = dmte.TextualNetwork(
        ids=("new", VERTEX, "alone"),
        texts=("a heap of sorted runs", "", "hash functions"),
        edges=torch.tensor([[0, 1]]),
        directed=model.network.directed,
        features=None if reads_words else torch.ones(3, 6),
    )
    found = {
        "vectors": dmte.Embedding.load(folder).vectors.tolist(),
        "ids": list(embedding.ids),
        "text_dim": embedding.text_dim,
        "similar": embedding.most_similar(VERTEX, 5),
        "score": embedding.score(torch.tensor([[2, 3], [0, 9]])).tolist(),
        "new": model.embed(new).vectors.tolist(),
        "fingerprint": model.network.fingerprint(),
        "losses": [record.loss for record in model.history],
        "aucs": [record.validation_auc for record in model.history],
        "seed": model.seed,
    }
    if reads_words:
        found["text"] = model.embed_text(TEXT).tolist()
        found["similar to text"] = model.most_similar_to_text(TEXT, 3)
        found["hop pairs"] = dmte.explain(model, VERTEX, OTHER).hop_pairs.tolist()
    return found


def make() -> None:
    """Train, store and query every model."""
    torch.set_num_threads(1)
    place = HERE / dmte.__version__
    place.mkdir()
    for name in SETTINGS:
        train(name).save(place / name)
        (place / name / ".lock").unlink()
        text = json.dumps(answers(place / name), indent=1)
        (place / f"{name}.json").write_text(f"{text}\n", "utf-8")
    # Release 0.1.0 stored an index in the folder of its model.
    dmte.Embedding.load(place / "recommended").most_similar(VERTEX, 5, approximate=True)
    for lock in place.rglob(".lock"):
        lock.unlink()


if __name__ == "__main__":
    make()
