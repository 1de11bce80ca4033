"""TriDNR: what it predicts and with which weight, and that it learns from no label not given."""

from dataclasses import replace

import pytest
import torch
from torch import Tensor

from dmte.baselines.doc2vec import TextReader, kept_probabilities
from dmte.baselines.skipgram import ENDED, WalkReader
from dmte.baselines.tridnr import Readings, TriDnr, TriDnrLabels, TriDnrTrainer, count_pairs
from dmte.errors import ConfigError, UnknownVertexError
from dmte.network import TextualNetwork
from dmte.text import Vocabulary

LONELY, WORDLESS = 7, 11  # Of the network ``planted``.
QUICK = TriDnr(dim=16, walks_per_vertex=1, walk_length=8, window=2)


@pytest.mark.medium
def test_the_networks_own_labels_are_never_used(planted: TextualNetwork) -> None:
    assert planted.labels
    other = [frozenset({"elsewhere"})] * planted.num_vertices
    expected = QUICK.fit(planted, 0).vectors
    for labels in (None, other, list(planted.labels[::-1])):
        assert torch.equal(QUICK.fit(replace(planted, labels=labels), 0).vectors, expected)


def test_only_given_labels_are_learned_from(planted: TextualNetwork) -> None:
    given = ((planted.ids[0], "cat"), (planted.ids[3], "dog"))
    method = replace(QUICK, labels=given)
    vectors = method.fit(planted, 0).vectors
    assert not torch.equal(vectors, QUICK.fit(planted, 0).vectors)
    assert torch.equal(vectors, method.fit(replace(planted, labels=None), 0).vectors)


def test_tridnr_labels_equals_tridnr_with_labels_and_raises_without(
    planted: TextualNetwork,
) -> None:
    given = ((planted.ids[0], "cat"), (planted.ids[0], "pet"), (planted.ids[3], "dog"))
    whole = TriDnrLabels(dim=16, walks_per_vertex=1, walk_length=8, window=2)
    found = whole.with_labels(given).fit(planted, 0).vectors
    assert torch.equal(found, replace(QUICK, labels=given).fit(planted, 0).vectors)
    assert whole.labels == ()
    with pytest.raises(ConfigError, match="tridnr-labels needs labels and was given none"):
        whole.fit(planted, 0)


def test_a_class_predicts_the_words_of_its_vertices(planted: TextualNetwork) -> None:
    ids, size = planted.ids, planted.num_vertices
    labels = ((ids[4], "dog"), (ids[2], "cat"), (ids[2], "dog"))
    readings = Readings.of(planted, labels)
    assert readings.texts.tolist() == [*range(size), 4, 2, 2]
    assert readings.rows.tolist() == [*range(size), size + 1, size, size + 1]
    assert readings.num_rows == size + 2


@pytest.mark.medium
def test_classes_bring_the_texts_of_their_vertices_together() -> None:
    # Four words of either class, each text two of them, and no edges.
    words = [("ant", "bee"), ("cod", "dab"), ("elm", "fir"), ("gum", "hop")] * 6
    network = TextualNetwork(
        ids=[str(number) for number in range(24)],
        texts=[" ".join(pair) for pair in words],
        edges=torch.empty(0, 2).long(),
    )
    labels = [(name, "animal" if int(name) % 4 < 2 else "plant") for name in network.ids]
    method = TriDnr(dim=8, walks_per_vertex=12, learning_rate=0.3)

    def gap(vectors: Tensor) -> float:
        cosine = vectors @ vectors.T
        return float(cosine[0, 1] + cosine[2, 3] - cosine[0, 2] - cosine[1, 3])

    without = gap(method.fit(network, 0).vectors)
    assert gap(replace(method, labels=labels).fit(network, 0).vectors) > without + 1.0


@pytest.mark.parametrize("share", [0.25, 0.8])
@pytest.mark.parametrize("walk_length", [4, 8])
def test_text_weight_is_the_share_of_words_for_any_walk_length(
    planted: TextualNetwork, monkeypatch: pytest.MonkeyPatch, share: float, walk_length: int
) -> None:
    counted = {}

    def record(reader: object, some: Tensor, generator: object, weight: float) -> None:  # noqa: ARG001
        counted[type(reader)] = weight

    for reader in (WalkReader, TextReader):
        monkeypatch.setattr(reader, "collect", record)
    trainer = TriDnrTrainer(
        replace(QUICK, text_weight=share, walk_length=walk_length), planted, seed=0
    )
    trainer.read(0)
    texts = Vocabulary.of(planted.texts).encode(planted.texts)
    words = kept_probabilities(torch.bincount(texts.tokens), QUICK.subsampling)[texts.tokens].sum()
    of_words = counted[TextReader] * float(words)
    of_pairs = counted[WalkReader] * count_pairs(trainer.walk(0), QUICK.window)
    assert of_words / (of_words + of_pairs) == pytest.approx(share, rel=1e-5)


def test_a_vertex_without_edges_has_its_text_and_one_without_text_its_walks(
    planted: TextualNetwork,
) -> None:
    texts = list(planted.texts)
    texts[LONELY] = ""
    neither = TextualNetwork(ids=planted.ids, texts=texts, edges=planted.edges)
    lengths = QUICK.fit(planted, 0).vectors.norm(dim=1)
    torch.testing.assert_close(lengths, torch.ones(planted.num_vertices))
    assert not QUICK.fit(neither, 0).vectors[LONELY].any()


def test_pairs_are_counted_both_ways() -> None:
    walks = torch.tensor([[0, 1, 2, 1], [3, 0, ENDED, ENDED], [4, ENDED, ENDED, ENDED]])
    # At most two apart: 3 + 2 pairs in the first walk and one in the second.
    assert count_pairs(walks, window=2) == 2 * (5 + 1)


def test_a_label_of_an_unknown_vertex_raises(planted: TextualNetwork) -> None:
    with pytest.raises(UnknownVertexError, match="nobody"):
        replace(QUICK, labels=(("nobody", "cat"),)).fit(planted, 0)


@pytest.mark.parametrize(
    "settings", [{"dim": 0}, {"walks_per_vertex": 0}, {"walk_length": 0}, {"subsampling": 0.0}]
)
def test_a_setting_of_zero_raises(settings: dict[str, int]) -> None:
    with pytest.raises(ConfigError, match=f"{next(iter(settings))} must be above 0, not 0"):
        TriDnr(**settings)  # type: ignore[arg-type]


@pytest.mark.parametrize("weight", [0.0, 1.0, 1.5])
def test_a_text_weight_of_zero_or_one_raises(weight: float) -> None:
    with pytest.raises(ConfigError, match="text_weight must be between 0 and 1"):
        TriDnr(text_weight=weight)
