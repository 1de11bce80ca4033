"""Sanity checks report common mistakes in networks."""

import pytest
import torch

from dmte.network import TextualNetwork, read_network
from dmte.training.preflight import review

WORDS = ("red fox", "a den", "old oak", "the river", "cold rain")


def network(**changes: object) -> TextualNetwork:
    """A ring of forty vertices about which nothing is findingful, but for the changes."""
    names = range(40)
    fields: dict[str, object] = {
        "ids": tuple(f"v{name}" for name in names),
        "texts": tuple(f"{WORDS[name % 5]} {name}" for name in names),
        "edges": torch.tensor([[name, (name + 1) % 40] for name in names]),
        "labels": tuple(frozenset({str(name % 4)}) for name in names),
    }
    return TextualNetwork(**fields | changes)  # type: ignore[arg-type]


def test_a_good_network_has_no_findings() -> None:
    assert review(network()) == []
    assert review(read_network("concepts")) == []


ends = torch.arange(40)


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        (
            {"ids": ("v 1", *(f"v{name}" for name in range(1, 40)))},
            "the ids 'v 1' and 'v1' differ only in case or spaces (1 such pair)",
        ),
        ({"edges": torch.tensor([[0, 1]])}, "95 % (38) of the vertices have no edge to another"),
        (
            {"edges": torch.stack([ends, ends], dim=1)},
            "every edge is a self-loop: no vertex is linked to another",
        ),
        (
            {"edges": torch.tensor([[0, 0]] * 3 + [[i, i + 1] for i in (0, 1)])},
            "60 % (3) of the edges are self-loops",
        ),
        (
            {"edges": torch.tensor([[i, i ^ 1] for i in range(40)])},
            "50 % (20) of the edges are repeated, perhaps in the opposite direction",
        ),
        (
            {"edges": torch.tensor([[7, i] for i in range(40) if i != 7])},
            "'v7' is linked to 98 % (39) of the network, so that diffusion mixes all",
        ),
        ({"texts": ("a word", *[""] * 39)}, "98 % (39) of the vertices have no words: their"),
        (
            {"texts": tuple(f"w{i}" for i in range(40))},
            "100 % (40) of the texts are a single word; is this the right column?",
        ),
        (
            {"texts": tuple(f"the same {i // 2}" for i in range(40))},
            "100 % (40) of the vertices share their text with another, for example 'v0' and 'v1'",
        ),
        (
            {"labels": (frozenset({"x"}),) * 39 + (frozenset({"y"}),)},
            "98 % (39) of the labelled vertices have the label 'x': there is little to classify",
        ),
        (
            {"labels": tuple(frozenset({f"name {i}"}) for i in range(40))},
            "every label occurs once: perhaps they are names or titles, not classes",
        ),
    ],
    ids=lambda value: value[:40] if isinstance(value, str) else "",
)
def test_a_finding_is_one_sentence(changes: dict[str, object], expected: str) -> None:
    findings = review(network(**changes))
    assert any(finding.startswith(expected) for finding in findings), findings
    assert not any("\n" in finding for finding in findings)


def test_missing_links_or_texts_are_not_reported() -> None:
    assert review(network(edges=torch.zeros((0, 2), dtype=torch.int64))) == []
    assert review(network(texts=("",) * 40)) == []
