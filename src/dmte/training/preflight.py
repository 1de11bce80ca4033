"""What a careful colleague would say of a network before anybody trains on it.

Nothing here is an error: such networks are read and trained on. But what one sees in them is often
not what was meant: an id column that is no id, a page that everything links to, a missing text.
"""

from collections import Counter, defaultdict
from collections.abc import Iterator

import numpy as np

from dmte.network import TextualNetwork
from dmte.text import tokenize

MANY = 0.5
"""The share of the vertices or edges from which on something is true of most."""
NOTABLE = 0.1
"""The share of the vertices or edges from which on a repetition is worth a word."""
ONE_LABEL = 0.95
"""The share of the labelled vertices that leaves a classifier little to learn."""
HUB = 1 / 3
"""The share of the network that a vertex is linked to that makes it a hub."""
FEWEST = 20
"""The number of vertices below which shares say nothing."""


def review(network: TextualNetwork) -> list[str]:
    """Return what is doubtful about a network, a sentence each.

    That it has no links at all, or no texts at all, is left to whoever reads it.

    >>> import torch
    >>> edges = torch.tensor([[0, 0], [1, 1]])
    >>> review(TextualNetwork(ids=("a", "A"), texts=("red fox", "den"), edges=edges))[0]
    "the ids 'a' and 'A' differ only in case or spaces, and 1 such pair is there; is it one vertex?"
    """
    return [*_ids(network), *_edges(network), *_texts(network), *_labels(network)]


def _ids(network: TextualNetwork) -> Iterator[str]:
    alike: dict[str, list[str]] = defaultdict(list)
    for name in network.ids:
        alike["".join(name.split()).casefold()].append(name)
    groups = [names for names in alike.values() if len(names) > 1]
    if groups:
        one, other, *_ = groups[0]
        number = f"{len(groups):,} such {'pair is' if len(groups) == 1 else 'groups are'} there"
        yield (
            f"the ids {one!r} and {other!r} differ only in case or spaces, and {number}; "
            f"is it one vertex?"
        )


def _edges(network: TextualNetwork) -> Iterator[str]:
    num_vertices, num_edges = network.num_vertices, len(network.edges)
    if not num_edges:
        return
    distinct, _ = network.distinct_edges()
    loops = int((network.edges[:, 0] == network.edges[:, 1]).sum())
    if loops == num_edges:
        yield "every edge is a self-loop: nothing links one vertex to another"
    elif loops > MANY * num_edges:
        yield f"{_share(loops, num_edges)} of the edges are self-loops, which link nothing"
    repeated = num_edges - len(distinct)
    if repeated > NOTABLE * num_edges:
        yield (
            f"{_share(repeated, num_edges)} of the edges are repetitions, perhaps of a link seen "
            "from its other end; their weights are added up"
        )
    proper = distinct[distinct[:, 0] != distinct[:, 1]]
    isolated = num_vertices - len(proper.unique())
    if isolated > MANY * num_vertices and loops < num_edges:
        yield (
            f"{_share(isolated, num_vertices)} of the vertices are linked to no other: their "
            "vectors come from their texts alone"
        )
    degrees = np.bincount(proper.flatten().numpy(), minlength=num_vertices)
    hub = int(degrees.argmax())
    if num_vertices >= FEWEST and degrees[hub] > HUB * num_vertices:
        yield (
            f"{network.ids[hub]!r} is linked to {_share(int(degrees[hub]), num_vertices)} of the "
            "network, so that all diffuse into each other through it; consider leaving it out"
        )


def _texts(network: TextualNetwork) -> Iterator[str]:
    num_vertices = network.num_vertices
    if not any(network.texts):
        return
    lengths = np.array([len(tokenize(text)) for text in network.texts])
    empty, single = int((lengths == 0).sum()), int((lengths == 1).sum())
    if empty > MANY * num_vertices:
        yield (
            f"{_share(empty, num_vertices)} of the vertices have no words: their vectors come "
            "from their links alone"
        )
    if single > MANY * num_vertices:
        yield (
            f"{_share(single, num_vertices)} of the texts are a single word; is it the right "
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
            f"another, as {one!r} and {other!r} do"
        )


def _labels(network: TextualNetwork) -> Iterator[str]:
    labelled = [classes for classes in network.labels or () if classes]
    if len(labelled) < FEWEST:
        return
    counts = Counter(name for classes in labelled for name in classes)
    name, most = counts.most_common(1)[0]
    if most > ONE_LABEL * len(labelled):
        yield (
            f"the label {name!r} is on {_share(most, len(labelled))} of the labelled vertices: "
            "there is little to tell apart"
        )
    if len(counts) > (1 - NOTABLE) * len(labelled) and most == 1:
        yield "every label occurs once: perhaps they are names or titles, not classes"


def _share(part: int, whole: int) -> str:
    return f"{100 * part / whole:.0f} % ({part:,})"
