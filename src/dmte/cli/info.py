"""``dmte info``: what a network or a model is, before anything is done with it."""

import json
import sys
from pathlib import Path
from typing import Any

import numpy as np

from dmte.cli.networks import (
    DirectedOption,
    EdgesOption,
    JsonOption,
    NetworkArgument,
    VerticesOption,
    open_network,
)
from dmte.config import Settings
from dmte.errors import TrainingError
from dmte.estimate import estimate
from dmte.network import TextualNetwork
from dmte.storage import is_stored, read_parts, unpack_json
from dmte.text import Vocabulary


def info(
    network: NetworkArgument = None,
    vertices: VerticesOption = None,
    edges: EdgesOption = None,
    directed: DirectedOption = False,
    as_json: JsonOption = False,
) -> None:
    """Show the sizes of NETWORK and what training it would take, or what a model folder holds."""
    if network is not None and is_stored(Path(network)):
        facts = _describe_model(Path(network))
    else:
        facts = describe_network(open_network(network, vertices, edges, directed=directed))
    if as_json:
        json.dump(facts, sys.stdout, indent=2)
        print()
        return
    width = max(map(len, facts))
    for name, value in facts.items():
        print(f"{name.replace('_', ' '):<{width}}  {_readable(value)}")


def describe_network(network: TextualNetwork) -> dict[str, Any]:
    """Return the sizes of a network and the cost of training it with the default settings."""
    degrees = np.diff(network.adjacency().indptr)
    distinct, _ = network.distinct_edges()
    vocabulary = Vocabulary.of(network.texts)
    tokens = vocabulary.encode(network.texts)
    lengths = tokens.lengths().numpy()
    linked = len(distinct.unique())
    return {
        "vertices": network.num_vertices,
        "edges": len(network.edges),
        "directed": network.directed,
        "self_loops": int((network.edges[:, 0] == network.edges[:, 1]).sum()),
        "repeated_edges": len(network.edges) - len(distinct),
        "isolated_vertices": network.num_vertices - linked,
        "mean_degree": round(float(degrees.mean()), 2),
        "largest_degree": int(degrees.max()),
        "words": len(vocabulary),
        "mean_text_length": round(float(lengths.mean()), 1),
        "longest_text": int(lengths.max()),
        "empty_texts": int((lengths == 0).sum()),
        "labels": len(network.classes),
        "labelled_vertices": sum(bool(classes) for classes in network.labels or ()),
    } | _training_cost(network)


def _training_cost(network: TextualNetwork) -> dict[str, Any]:
    """Return what training takes, or why there is nothing to train on."""
    try:
        cost = estimate(network, Settings())
    except TrainingError as problem:
        return {"training": str(problem)}
    return {
        "training_memory_mb": round(cost.memory_bytes / 1e6),
        "training_seconds": round(cost.seconds, 1),
    }


def _describe_model(folder: Path) -> dict[str, Any]:
    parts = read_parts(folder)
    facts: dict[str, Any] = {"model": str(folder)}
    if "config.json" in parts:
        config = unpack_json(parts["config.json"])
        facts |= config["network"] | {"seed": config["seed"]} | config["settings"]
        facts |= {f"{name}_version": number for name, number in config["versions"].items()}
    names = unpack_json(parts["ids.json"]) if "ids.json" in parts else {"ids": []}
    facts |= {
        "vectors": len(names["ids"]),
        "megabytes": round(sum(map(len, parts.values())) / 1e6, 1),
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
    return "none" if value is None else str(value)
