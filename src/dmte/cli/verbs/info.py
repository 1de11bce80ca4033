"""``dmte info``: sizes of a network, likely mistakes, and the content of a model."""

import warnings
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dmte.cli.network_options import NetworkSource, with_network
from dmte.cli.options import JsonOption
from dmte.cli.output import print_json
from dmte.errors import DmteWarning, TrainingError
from dmte.model.history import outcome
from dmte.runtime.formatting import one_line
from dmte.storage.folder import is_stored, map_parts

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from dmte.network import TextualNetwork

QUANTILES = (0, 0.25, 0.5, 0.75, 0.95, 1)
BAR_WIDTH = 40


@with_network
def info(source: NetworkSource, as_json: JsonOption = False) -> None:
    """Show the sizes of NETWORK, likely mistakes, and the cost of training.

    If NETWORK is a model folder, show the model's settings and sizes.
    """
    if source.network is not None and is_stored(Path(source.network)):
        facts = _describe_model(Path(source.network))
    else:
        from dmte.training.preflight import review

        network, given = _open_with_warnings(source)
        facts = describe_network(network)
        facts["warnings"] = given + review(network)
    if as_json:
        print_json(facts)
        return
    doubts, bars = facts.pop("warnings", []), facts.pop("degree_histogram", [])
    width = max(map(len, facts)) + 1
    for name, value in facts.items():
        title = name.replace("_mb", ", MB").replace("_", " ")
        print(f"{title:<{width}}  {_readable(value)}")
    _print_bars(bars)
    print("".join(f"\nwarning: {doubt}" for doubt in doubts), end="\n" if doubts else "")


def _open_with_warnings(source: NetworkSource) -> "tuple[TextualNetwork, list[str]]":
    """The network and the warnings of its reader."""
    with warnings.catch_warnings(record=True) as given:
        warnings.simplefilter("always", DmteWarning)
        network = source.open()
    ours = [str(warning.message) for warning in given if issubclass(warning.category, DmteWarning)]
    for other in given:
        if not issubclass(other.category, DmteWarning):
            warnings.showwarning(other.message, other.category, other.filename, other.lineno)
    return network, ours


def describe_network(network: "TextualNetwork") -> dict[str, Any]:
    """Sizes of a network, and memory and time of training with the default settings."""
    import numpy as np

    from dmte.text import tokenized

    degrees = np.diff(network.adjacency().indptr)
    distinct, _ = network.distinct_edges()
    vocabulary, tokens = tokenized(network.texts)
    lengths = tokens.lengths().numpy()
    linked = len(distinct.unique())
    return {
        "vertices": network.num_vertices,
        "edges": len(network.edges),
        "directed": network.directed,
        "self_loops": int((network.edges[:, 0] == network.edges[:, 1]).sum()),
        "repeated_edges": len(network.edges) - len(distinct),
        "isolated_vertices": network.num_vertices - linked,
        "isolated_share": round(1 - linked / network.num_vertices, 4),
        "mean_degree": round(float(degrees.mean()), 2),
        "largest_degree": int(degrees.max()),
        "degree_quantiles": {
            f"{100 * share:g} %": int(np.quantile(degrees, share, method="lower"))
            for share in QUANTILES
        },
        "degree_histogram": histogram(degrees),
        "words": len(vocabulary),
        "mean_text_length": round(float(lengths.mean()), 1),
        "longest_text": int(lengths.max()),
        "empty_texts": int((lengths == 0).sum()),
        "repeated_texts": _repeated(network.texts),
        "labels": len(network.classes),
        "labelled_vertices": sum(bool(classes) for classes in network.labels or ()),
    } | _training_cost(network)


def histogram(degrees: "NDArray[np.integer[Any]]") -> list[dict[str, int]]:
    """Number of vertices with a degree of 0, 1, 2 to 3, 4 to 7, and so on.

    >>> import numpy as np
    >>> histogram(np.array([0, 1, 1, 5]))[1:3]
    [{'from': 1, 'to': 1, 'vertices': 2}, {'from': 2, 'to': 3, 'vertices': 0}]
    """
    import numpy as np

    _, exponents = np.frexp(degrees)  # 0, 1, 2, 2, 3, 3, 3, 3, 4, ...
    counts = np.bincount(exponents)
    return [
        {"from": 2**at // 2, "to": max(2**at - 1, 0), "vertices": int(count)}
        for at, count in enumerate(counts)
    ]


def _print_bars(bars: list[dict[str, int]]) -> None:
    """Print a histogram, one line per bar."""
    most = max((bar["vertices"] for bar in bars), default=0)
    for bar in bars:
        span = f"{bar['from']:,}" + (f" to {bar['to']:,}" if bar["to"] > bar["from"] else "")
        length = -(-BAR_WIDTH * bar["vertices"] // most)
        print(f"  degree {span:<18} {'#' * length} {bar['vertices']:,}")


def _repeated(texts: Sequence[str]) -> int:
    """Number of vertices with the text of another vertex."""
    counts = Counter(text for text in texts if text)
    return sum(count for count in counts.values() if count > 1)


def _training_cost(network: "TextualNetwork") -> dict[str, Any]:
    """Memory and time of training with the default settings, or why it is impossible."""
    from dmte.runtime.memory import release_freed_memory, resident_bytes
    from dmte.settings import Settings
    from dmte.training.estimate import Sizes, memory_bytes
    from dmte.training.timing import training_seconds

    settings = Settings()
    try:
        seconds = training_seconds(network, settings)
    except TrainingError as problem:
        return {"training": str(problem)}
    needed = memory_bytes(Sizes.of(network, settings), settings)
    release_freed_memory()
    held = resident_bytes()  # With Python, the network, and what torch has loaded to train.
    return {
        "training_memory_mb": round(needed / 1e6),
        "peak_memory_mb": None if held is None else round((held + needed) / 1e6),
        "training_seconds": round(seconds, 1),
    }


def _describe_model(folder: Path) -> dict[str, Any]:
    from dmte.model.model_parts import stored_config, stored_history
    from dmte.search.stored_vectors import VECTOR_PARTS, stored_vectors
    from dmte.storage.stored_parts import StoredParts

    parts = StoredParts(folder, map_parts(folder))
    facts: dict[str, Any] = {"model": str(folder)}
    if "history.json" in parts:  # A stored embedding has none.
        facts["training"] = outcome(stored_history(parts))
    if "config.json" in parts:
        config = stored_config(parts)
        facts |= {
            "vertices": config.num_vertices,
            "edges": config.num_edges,
            "directed": config.directed,
            "fingerprint": config.fingerprint,
            "seed": config.seed,
        }
        facts |= config.settings.to_dict()
        facts |= {f"{name}_version": number for name, number in config.versions.items()}
    has_vectors = all(name in parts for name in VECTOR_PARTS)
    facts |= {
        "vectors": len(stored_vectors(parts).ids) if has_vectors else 0,
        "megabytes": round(sum(map(len, parts.data.values())) / 1e6, 1),
    }
    return facts


def _readable(value: object) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, int):
        return f"{value:,}"
    if isinstance(value, (list, tuple)):
        return ", ".join(map(str, value))
    if isinstance(value, dict):
        return ", ".join(f"{name} {inner}" for name, inner in value.items())
    return "none" if value is None else one_line(str(value))
