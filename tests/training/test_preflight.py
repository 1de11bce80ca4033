"""What is doubtful about a network."""

import pytest
import torch

from dmte.network import TextualNetwork, read_network
from dmte.training.preflight import review

WORDS = ("red fox", "a den", "old oak", "the river", "cold rain")


def network(**changes: object) -> TextualNetwork:
    """A ring of forty vertices about which nothing is doubtful, but for the changes."""
    names = range(40)
    fields: dict[str, object] = {
        "ids": tuple(f"v{name}" for name in names),
        "texts": tuple(f"{WORDS[name % 5]} {name}" for name in names),
        "edges": torch.tensor([[name, (name + 1) % 40] for name in names]),
        "labels": tuple(frozenset({str(name % 4)}) for name in names),
    }
    return TextualNetwork(**fields | changes)  # type: ignore[arg-type]


def test_nothing_is_said_of_a_good_network() -> None:
    assert review(network()) == []
    assert review(read_network("concepts")) == []


ends = torch.arange(40)


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        (
            {"ids": ("v 1", *(f"v{name}" for name in range(1, 40)))},
            "the ids 'v 1' and 'v1' differ only in case or spaces, and 1 such pair is there",
        ),
        ({"edges": torch.tensor([[0, 1]])}, "95 % (38) of the vertices are linked to no other"),
        (
            {"edges": torch.stack([ends, ends], dim=1)},
            "every edge is a self-loop: nothing links one vertex to another",
        ),
        (
            {"edges": torch.tensor([[0, 0]] * 3 + [[i, i + 1] for i in (0, 1)])},
            "60 % (3) of the edges are self-loops, which link nothing",
        ),
        (
            {"edges": torch.tensor([[i, i ^ 1] for i in range(40)])},
            "50 % (20) of the edges are repetitions, perhaps of a link seen from its other end",
        ),
        (
            {"edges": torch.tensor([[7, i] for i in range(40) if i != 7])},
            "'v7' is linked to 98 % (39) of the network, so that all diffuse into each other",
        ),
        ({"texts": ("a word", *[""] * 39)}, "98 % (39) of the vertices have no words: their"),
        (
            {"texts": tuple(f"w{i}" for i in range(40))},
            "100 % (40) of the texts are a single word; is it the right column?",
        ),
        (
            {"texts": tuple(f"the same {i // 2}" for i in range(40))},
            "100 % (40) of the vertices share their text with another, as 'v0' and 'v1' do",
        ),
        (
            {"labels": (frozenset({"x"}),) * 39 + (frozenset({"y"}),)},
            "the label 'x' is on 98 % (39) of the labelled vertices: there is little to tell",
        ),
        (
            {"labels": tuple(frozenset({f"name {i}"}) for i in range(40))},
            "every label occurs once: perhaps they are names or titles, not classes",
        ),
    ],
    ids=lambda value: value[:40] if isinstance(value, str) else "",
)
def test_a_doubt_is_one_sentence(changes: dict[str, object], expected: str) -> None:
    doubts = review(network(**changes))
    assert any(doubt.startswith(expected) for doubt in doubts), doubts
    assert not any("\n" in doubt for doubt in doubts)


def test_that_there_are_no_links_or_no_texts_is_left_to_the_reader() -> None:
    assert review(network(edges=torch.zeros((0, 2), dtype=torch.int64))) == []
    assert review(network(texts=("",) * 40)) == []
