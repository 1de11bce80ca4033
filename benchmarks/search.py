"""How long does a query take, exact and approximate, and how many neighbors does the index miss?

The vectors lie in clusters and have 200 columns. Measured are one query, a hundred at once,
building the index, and the share of the ten exact neighbors that it finds (recall), then ``dmte
similar`` on a stored model as a process from a cold start. An index of a million vectors takes at
least a quarter of an hour to build and needs ``--largest-index 1e6``. Prints a table and writes
search.json beside this file.

    python benchmarks/search.py [--largest 1e6] [--largest-index 1e5] [--threads 2]
"""

import os
import statistics
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory
from time import perf_counter
from typing import Any

import torch
from measuring import LARGEST, Survey, run, sizes_up_to

from dmte.embedding.embedding import Embedding
from dmte.storage.codec import encode_json, encode_tensors
from dmte.storage.folder import write_parts

DIM, K, QUERIES, ROUNDS = 200, 10, 100, 5


def draw(vertices: int) -> Embedding:
    """Draw vectors in clusters of about a hundred."""
    generator = torch.Generator().manual_seed(0)
    clusters = max(1, vertices // 100)
    centers = torch.randn(clusters, DIM, generator=generator)
    vectors = torch.randn(vertices, DIM, generator=generator)
    vectors += centers[torch.randint(clusters, (vertices,), generator=generator)]
    return Embedding([f"v{row}" for row in range(vertices)], vectors, DIM)


def median_ms(action: Callable[[], object]) -> float:
    """Measure the median milliseconds of an action after one unmeasured call."""
    action()
    times = []
    for _ in range(ROUNDS):
        began = perf_counter()
        action()
        times.append(perf_counter() - began)
    return round(1e3 * statistics.median(times), 2)


def measure(work: dict[str, Any]) -> dict[str, Any]:
    """Measure the milliseconds of queries and the recall of the index."""
    embedding = draw(work["vertices"])
    names = embedding.ids[:: max(1, len(embedding) // QUERIES)][:QUERIES]
    exact = embedding.most_similar_to_each(names, K)
    found: dict[str, Any] = {
        "exact_ms": median_ms(lambda: embedding.most_similar(names[0], K)),
        "exact_100_ms": median_ms(lambda: embedding.most_similar_to_each(names, K)),
        "cold_similar_s": cold_start(embedding),
    }
    if not work["approximate"]:
        return found
    began = perf_counter()
    embedding.most_similar(names[0], K, approximate=True)
    built = perf_counter() - began
    near = embedding.most_similar_to_each(names, K, approximate=True)
    right = sum(
        len({one.id for one in slow} & {one.id for one in fast})
        for slow, fast in zip(exact, near, strict=True)
    )
    return found | {
        "index_built_s": round(built, 1),
        "approximate_ms": median_ms(lambda: embedding.most_similar(names[0], K, approximate=True)),
        "approximate_100_ms": median_ms(
            lambda: embedding.most_similar_to_each(names, K, approximate=True)
        ),
        "recall_at_10": round(right / (K * len(names)), 4),
    }


def cold_start(embedding: Embedding) -> float:
    """Measure the median seconds of ``dmte similar``, from starting Python to the answer."""
    texts = [f"text of {name}" for name in embedding.ids]
    edges = torch.tensor([[0, 1]])
    parts = embedding.parts() | {
        "texts.json": encode_json({"texts": texts, "labels": None}),
        "edges.safetensors": encode_tensors({"edges": edges}),
    }
    with TemporaryDirectory() as folder:
        write_parts(Path(folder), parts)
        command = [sys.executable, "-m", "dmte", "similar", folder, "--vertex", embedding.ids[7]]

        def query() -> None:
            subprocess.run(command, check=True, stdout=subprocess.DEVNULL, env=dict(os.environ))

        return round(median_ms(query) / 1e3, 3)


def survey(searches: Survey) -> None:
    """Measure every size."""
    largest, largest_index = searches.arguments.largest, searches.arguments.largest_index
    sizes = sizes_up_to(largest)
    for size in sorted({*sizes, 60_744} if largest >= 60_744 else sizes):  # DBLP's
        searches.add({"vertices": size}, vertices=size, approximate=size <= largest_index)


if __name__ == "__main__":
    index_option = {"type": float, "default": 1e5, "help": "vertices of the largest index"}
    run(__file__, measure, survey, largest=LARGEST, largest_index=index_option)
