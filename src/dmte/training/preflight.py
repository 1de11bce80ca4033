"""Sanity checks of a network before training.

None of the findings is an error, but each is often a mistake in the data: a wrong id column, a page
that everything links to, missing texts.
"""

from collections import Counter, defaultdict
from collections.abc import Iterator

import numpy as np

from dmte.network import TextualNetwork
from dmte.text import tokenize

MANY = 0.5
"""Share of the vertices or edges that counts as most of them."""
NOTABLE = 0.1
"""Share of repeated edges or texts to report."""
ONE_LABEL = 0.95
"""Share of the labelled vertices with the same label to report."""
HUB = 1 / 3
"""Share of the network that a hub is linked to."""
FEWEST = 20
"""Number of vertices below which shares of hubs and labels are not reported."""


def review(network: TextualNetwork) -> list[str]:
    """Return the findings about a network, one sentence each.

    A network without links or without texts is not reported here.

    >>> import torch
    >>> edges = torch.tensor([[0, 0], [1, 1]])
    >>> review(TextualNetwork(ids=("a", "A"), texts=("red fox", "den"), edges=edges))[0]
    "the ids 'a' and 'A' differ only in case or spaces (1 such pair); are they the same vertex?"
    """
    return [*_ids(network), *_edges(network), *_texts(network), *_labels(network)]


def _ids(network: TextualNetwork) -> Iterator[str]:
    alike: dict[str, list[str]] = defaultdict(list)
    for name in network.ids:
        alike["".join(name.split()).casefold()].append(name)
    groups = [names for names in alike.values() if len(names) > 1]
    if groups:
        one, other, *_ = groups[0]
        number = f"{len(groups):,} such {'pair' if len(groups) == 1 else 'groups'}"
        yield (
            f"the ids {one!r} and {other!r} differ only in case or spaces ({number}); "
            "are they the same vertex?"
        )


def _edges(network: TextualNetwork) -> Iterator[str]:
    num_vertices, num_edges = network.num_vertices, len(network.edges)
    if not num_edges:
        return
    distinct, _ = network.distinct_edges()
    loops = int((network.edges[:, 0] == network.edges[:, 1]).sum())
    if loops == num_edges:
        yield "every edge is a self-loop: no vertex is linked to another"
    elif loops > MANY * num_edges:
        yield f"{_share(loops, num_edges)} of the edges are self-loops"
    repeated = num_edges - len(distinct)
    if repeated > NOTABLE * num_edges:
        yield (
            f"{_share(repeated, num_edges)} of the edges are repeated, perhaps in the opposite "
            "direction; their weights are summed"
        )
    proper = distinct[distinct[:, 0] != distinct[:, 1]]
    isolated = num_vertices - len(proper.unique())
    if isolated > MANY * num_vertices and loops < num_edges:
        yield (
            f"{_share(isolated, num_vertices)} of the vertices have no edge to another: "
            "their vectors depend only on their texts"
        )
    degrees = np.bincount(proper.flatten().numpy(), minlength=num_vertices)
    hub = int(degrees.argmax())
    if num_vertices >= FEWEST and degrees[hub] > HUB * num_vertices:
        yield (
            f"{network.ids[hub]!r} is linked to {_share(int(degrees[hub]), num_vertices)} of the "
            "network, so that diffusion mixes all of them; consider removing it"
        )


def _texts(network: TextualNetwork) -> Iterator[str]:
    num_vertices = network.num_vertices
    if not any(network.texts):
        return
    lengths = np.array([len(tokenize(text)) for text in network.texts])
    empty, single = int((lengths == 0).sum()), int((lengths == 1).sum())
    if empty > MANY * num_vertices:
        yield (
            f"{_share(empty, num_vertices)} of the vertices have no words: their vectors depend "
            "only on their links"
        )
    if single > MANY * num_vertices:
        yield (
            f"{_share(single, num_vertices)} of the texts are a single word; is this the right "
            "column?"
        )
    holders: dict[str, list[str]] = defaultdict(list)
    for name, text in zip(network.ids, network.texts, strict=True):
        if text:
            holders[text].append(name)
    groups = [names for names in holders.values() if len(names) > 1]
    if sum(map(len, groups)) > NOTABLE * num_vertices:
        one, other, *_ = max(groups, key=len)
        yield (
            f"{_share(sum(map(len, groups)), num_vertices)} of the vertices share their text with "
            f"another, for example {one!r} and {other!r}"
        )


def _labels(network: TextualNetwork) -> Iterator[str]:
    labelled = [classes for classes in network.labels or () if classes]
    if len(labelled) < FEWEST:
        return
    counts = Counter(name for classes in labelled for name in classes)
    name, most = counts.most_common(1)[0]
    if most > ONE_LABEL * len(labelled):
        yield (
            f"{_share(most, len(labelled))} of the labelled vertices have the label {name!r}: "
            "there is little to classify"
        )
    if len(counts) > (1 - NOTABLE) * len(labelled) and most == 1:
        yield "every label occurs once: perhaps they are names or titles, not classes"


def _share(part: int, whole: int) -> str:
    return f"{100 * part / whole:.0f} % ({part:,})"
