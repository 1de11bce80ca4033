"""Large synthetic networks: the same however they are drawn, with hubs and with topics."""

from collections import Counter
from dataclasses import replace
from pathlib import Path

import numpy as np
from synthetic import LargeTopics

from dmte.network import read_tables

SMALL = LargeTopics(num_vertices=2500, batch_size=1000)


def test_what_is_written_is_what_is_drawn(tmp_path: Path) -> None:
    drawn, stored = SMALL.draw(seed=3), read_tables(*SMALL.write(tmp_path, seed=3))
    assert (stored.ids, stored.texts, stored.labels) == (drawn.ids, drawn.texts, drawn.labels)
    assert stored.edges.equal(drawn.edges)
    assert not SMALL.draw(seed=4).edges.equal(drawn.edges)


def test_there_are_hubs_and_no_loops() -> None:
    network = SMALL.draw(seed=0)
    degrees = np.sort(np.diff(network.adjacency().indptr))
    assert degrees[0] >= SMALL.edges_per_vertex // 2
    assert degrees[-1] > 10 * degrees.mean()
    assert bool((network.edges[:, 0] != network.edges[:, 1]).all())


def test_texts_and_edges_tell_the_topic() -> None:
    network = replace(SMALL, num_vertices=500).draw(seed=0)
    assert network.labels is not None
    same = [network.labels[i] == network.labels[j] for i, j in network.edges.tolist()]
    assert 0.7 < np.mean(same) < 0.95
    of_topic: dict[frozenset[str], Counter[str]] = {}
    for text, label in zip(network.texts, network.labels, strict=True):
        assert len(text.split()) == SMALL.words_per_text
        of_topic.setdefault(label, Counter()).update(text.split())
    commonest = {label: words.most_common(3)[-1][0] for label, words in of_topic.items()}
    assert len(set(commonest.values())) == len(commonest)
