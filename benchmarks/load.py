"""How long does it take to read a large network, and how much memory?

A network of ``LargeTopics`` is written once as Parquet, CSV and JSON Lines. Each file is read in a
separate process, which then numbers the words. *Held* is the memory of the network once it is read,
*peak* the maximum while reading. Prints a table and writes load.json beside this file.

    python benchmarks/load.py [--largest 1e6] [--threads 2]
"""

import json
from pathlib import Path
from tempfile import TemporaryDirectory
from time import perf_counter
from typing import Any

import pyarrow.csv as pc  # type: ignore[import-untyped]
import pyarrow.parquet as pq  # type: ignore[import-untyped]
from measuring import LARGEST, Survey, peak, reset_peak, run, sizes_up_to
from synthetic import LargeTopics

from dmte.network import read_tables
from dmte.text import tokenized

KINDS = ("parquet", "csv", "jsonl")


def measure(work: dict[str, Any]) -> dict[str, Any]:
    """Measure the seconds and megabytes of reading one network."""
    folder, kind = Path(work["folder"]), work["kind"]
    before = reset_peak()
    began = perf_counter()
    network = read_tables(folder / f"vertices.{kind}", folder / f"edges.{kind}")
    read = perf_counter() - began
    highest, held = peak() - before, reset_peak() - before
    began = perf_counter()
    vocabulary, _ = tokenized(network.texts)
    return {
        "read_s": round(read, 2),
        "peak_mb": round(highest / 1e6),
        "held_mb": round(held / 1e6),
        "words_s": round(perf_counter() - began, 2),
        "words": len(vocabulary),
    }


def write_as(folder: Path, kind: str) -> int:
    """Convert the Parquet files to another format, batch by batch; return the bytes."""
    total = 0
    for name in ("vertices", "edges"):
        target = folder / f"{name}.{kind}"
        file = pq.ParquetFile(folder / f"{name}.parquet")
        if kind == "csv":
            with pc.CSVWriter(target, file.schema_arrow) as writer:
                for batch in file.iter_batches():
                    writer.write_batch(batch)
        elif kind == "jsonl":
            with target.open("w", encoding="utf-8") as lines:
                for batch in file.iter_batches():
                    lines.writelines(json.dumps(row) + "\n" for row in batch.to_pylist())
        total += target.stat().st_size
    return total


def survey(networks: Survey) -> None:
    """Measure every size and format."""
    for size in sizes_up_to(networks.arguments.largest, smallest=1e4):
        with TemporaryDirectory() as name:
            began = perf_counter()
            LargeTopics(num_vertices=size).write(Path(name), seed=0)
            drawn = round(perf_counter() - began, 2)
            for kind in KINDS:
                written = round(write_as(Path(name), kind) / 1e6)
                about = {"vertices": size, "edges": 5 * size, "format": kind}
                about |= {"file_mb": written, "drawn_s": drawn}
                networks.add(about, folder=name, kind=kind)


if __name__ == "__main__":
    run(__file__, measure, survey, largest=LARGEST)
