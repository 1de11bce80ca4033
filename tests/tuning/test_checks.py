"""Untunable networks raise before any training."""

import pytest
import torch

from dmte.errors import TrainingError
from dmte.network import TextualNetwork
from dmte.tuning.checks import check_tunable


def linked(num_vertices: int, num_links: int) -> TextualNetwork:
    """Return a network with ``num_links`` different links, a repeated link and a loop."""
    pairs = torch.combinations(torch.arange(num_vertices))[:num_links]
    return TextualNetwork(
        ids=tuple(map(str, range(num_vertices))),
        texts=["word"] * num_vertices,
        edges=torch.cat([pairs, pairs[:1].flip(1), torch.tensor([[0, 0]])]),
    )


def test_fewer_than_a_hundred_links_raise() -> None:
    check_tunable(linked(40, 100))
    with pytest.raises(TrainingError, match="too few links to tune on: 19 of 99 would be held out"):
        check_tunable(linked(40, 99))


@pytest.mark.parametrize("num_free", [0, 3, 19])
def test_fewer_than_twenty_unlinked_pairs_raise(num_free: int) -> None:
    check_tunable(linked(30, 435 - 20))
    with pytest.raises(TrainingError, match=rf"without a link .*: {num_free}, and"):
        check_tunable(linked(30, 435 - num_free))


def test_a_network_without_input_for_the_default_raises(
    planted: TextualNetwork,
) -> None:
    """The advice names a command that works: tuning itself has no recipes."""
    wordless = TextualNetwork(ids=planted.ids, texts=["", "--"] * 40, edges=planted.edges)
    with pytest.raises(TrainingError, match=r"no text has a word, .*: dmte train --recipe paper$"):
        check_tunable(wordless)
    with pytest.raises(TrainingError, match="no feature is other than zero"):
        check_tunable(planted.with_features(torch.zeros(80, 3)))
    check_tunable(wordless.with_features(torch.ones(80, 3)))
