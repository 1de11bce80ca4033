"""How long does the whole job take, from file to stored vectors, beside what else one could pick?

The job reads Parquet files of vertices and edges, learns from all edges and stores a vector per
vertex. For ``dmte`` it is the command ``dmte train``, which also stores the model; for the others
it is peers.py. Each job is a process of its own. The methods take turns, so that a busy machine
slows all of them, and figures are medians; a job of over a minute is done once. *Peak mb* includes
the interpreter.

For AUC, average precision (AP) and MRR, the same job is done again, without its time, on 55 % of
the edges (strict split of seed 0). All methods score by dot product or cosine, whichever has the
higher AUC. On large networks NUM_SCORED of the hidden edges are scored.

A method that is not installed, fails or takes too long has a row that says so. Prints a table per
network and writes train.json beside this file; rows that were not measured again are kept.

    DMTE_DATA=... python benchmarks/train.py [--networks cora,drawn-1e5] [--methods tadw,vgae]
        [--turns 3] [--limit 900] [--threads 2]
"""

import argparse
import json
import os
import shutil
import statistics
import subprocess
import sys
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import pyarrow as pa  # type: ignore[import-untyped]
import pyarrow.parquet as pq  # type: ignore[import-untyped]
import torch
from measuring import Survey, run, run_in_process, store, table
from synthetic import LargeTopics

from dmte.embedding.embedding import Embedding
from dmte.errors import DmteError
from dmte.evaluation.link_prediction import LinkTask, strict_task
from dmte.network import TextualNetwork, read_network, read_tables

FOLDER = Path(__file__).parent
DMTE = "dmte"
PEERS = "lsa-diffused,tadw,deepwalk-gensim,pycleora,vgae,sentence"
SMALLEST = "concepts"
DRAWN = "drawn-"
NETWORKS = f"{SMALLEST},cora,dblp,drawn-long,drawn-1e4,drawn-1e5,drawn-1e6"
LONG = LargeTopics(num_vertices=4000, words_per_text=500)
SHARE = 0.55
NUM_SCORED = 50_000
"""Hidden edges of a network that are scored at most."""
MAX_REPEATED = 60.0
"""Seconds above which a job is done once."""
PACKAGES = {
    "deepwalk-gensim": ["gensim"],
    "pycleora": ["pycleora"],
    "vgae": ["torch_geometric", "torch"],
    "sentence": ["sentence-transformers", "torch"],
    "sentence-diffused": ["sentence-transformers", "torch"],
}
"""Packages that a method runs on; torch for the others."""


def read(name: str) -> TextualNetwork:
    """Read a network by its name, or draw one: ``drawn-long`` or, say, ``drawn-1e5``."""
    if not name.startswith(DRAWN):
        return read_network(name)
    size = name.removeprefix(DRAWN)
    drawn = LONG if size == "long" else LargeTopics(num_vertices=int(float(size)))
    return drawn.draw(seed=0)


def write(network: TextualNetwork, folder: Path) -> None:
    """Write vertices.parquet and edges.parquet into a new folder."""
    folder.mkdir()
    ids = pa.array(network.ids)
    vertices = pa.table({"id": ids, "text": pa.array(network.texts)})
    source, target = (ids.take(pa.array(ends.numpy())) for ends in network.edges.T.contiguous())
    pq.write_table(vertices, folder / "vertices.parquet")
    pq.write_table(pa.table({"source": source, "target": target}), folder / "edges.parquet")


def prepare(work: dict[str, Any]) -> dict[str, Any]:
    """Write the files of a network with all its edges and with those to learn from."""
    folder = Path(work["folder"])
    try:
        network = read(work["network"])
    except DmteError as problem:
        sys.exit(f"train.py: {problem}")
    task = strict_task(network, SHARE, seed=0, max_scored=NUM_SCORED)
    write(network, folder / "all")
    write(task.train, folder / "learned")
    torch.save((task.edges, task.non_edges, task.candidates), folder / "links.pt")
    return {"vertices": network.num_vertices}


def score(work: dict[str, Any]) -> dict[str, Any]:
    """Score the hidden links by stored vectors, by dot product or cosine."""
    folder = Path(work["folder"])
    train = read_tables(*(folder / "learned" / f"{name}.parquet" for name in ("vertices", "edges")))
    edges, non_edges, candidates = torch.load(folder / "links.pt")
    task = LinkTask(train, edges, non_edges, candidates, is_paired=False)
    stored = folder / "out" / "vectors.npy"
    if stored.exists():
        vectors = torch.from_numpy(np.load(stored))
        found = Embedding(train.ids, vectors, text_dim=vectors.shape[1])
    else:
        found = Embedding.load(stored.parent)
    scores = max(task.evaluate_ways(found).values(), key=lambda scores: scores.auc)
    named = {"auc": "auc", "ap": "average_precision", "mrr": "mrr"}
    shown = {name: round(100 * scores[metric], 1) for name, metric in named.items()}
    return shown | {"width": found.vectors.shape[1]}


def measure(work: dict[str, Any]) -> dict[str, Any]:
    """Do a step that needs the network in memory."""
    return {"prepare": prepare, "score": score}[work["step"]](work)


def job(method: str, edges: str, folder: Path, options: argparse.Namespace) -> dict[str, Any]:
    """Measure the job of a method on ``all`` edges or those ``learned`` from."""
    tables, out, threads = folder / edges, folder / "out", str(options.threads)
    shutil.rmtree(out, ignore_errors=True)
    command = [str(FOLDER / "peers.py"), method, str(tables), str(out), threads]
    if method == DMTE:
        files = [f"--{name}={tables / name}.parquet" for name in ("vertices", "edges")]
        command = ["-m", "dmte", "train", *files, f"--out={out}", f"--threads={threads}", "--quiet"]
    timed = [sys.executable, str(FOLDER / "timed.py"), str(options.limit), sys.executable]
    names = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "RAYON_NUM_THREADS")
    environment = os.environ | dict.fromkeys(names, threads) | {"HF_HUB_OFFLINE": "1"}
    done = subprocess.run([*timed, *command], capture_output=True, check=True, env=environment)
    found: dict[str, Any] = json.loads(done.stdout)
    print(f"{method}: {found}", file=sys.stderr)
    return found


def compare(
    network: str, methods: list[str], folder: Path, options: argparse.Namespace
) -> list[dict[str, Any]]:
    """Measure the methods in turns, dmte first; return a row for each."""
    turns: dict[str, list[dict[str, Any]]] = {method: [] for method in methods}
    for _ in range(options.turns):
        for method, done in turns.items():
            if all(one.get("seconds", MAX_REPEATED) < MAX_REPEATED for one in done):
                done.append(job(method, "all", folder, options))
    rows = []
    base = summary(turns[methods[0]]).get("seconds")
    for method, done in turns.items():
        row = {"network": network, "method": f"`{method}`"} | summary(done)
        if "problem" not in row:
            row["time_to_dmte"] = round(row["seconds"] / base, 2) if base else None
            row |= quality(method, folder, options)
        rows.append(row | {"versions": versions(method)})
    return rows


def summary(turns: list[dict[str, Any]]) -> dict[str, Any]:
    """Return the medians of a method's jobs, or the first problem.

    >>> summary([{"seconds": 3.0}, {"seconds": 1.0}, {"seconds": 2.0}])
    {'seconds': 2.0}
    >>> summary([{"seconds": 3.0}, {"problem": "stopped after 9 s"}])
    {'problem': 'stopped after 9 s'}
    """
    problems = [turn for turn in turns if "problem" in turn]
    if problems:
        return problems[0]
    return {name: statistics.median(turn[name] for turn in turns) for name in turns[0]}


def quality(method: str, folder: Path, options: argparse.Namespace) -> dict[str, Any]:
    """Do a method's job on 55 % of the edges and score the hidden ones."""
    done = job(method, "learned", folder, options)
    if "problem" in done:
        return done
    case = {"step": "score", "folder": str(folder), "threads": options.threads}
    found = run_in_process(Path(__file__), **case)
    return {"problem": f"no scores: {found['error']}"} if "error" in found else found


def versions(method: str) -> str:
    """Name the installed versions of the packages that a method runs on."""
    found = []
    for package in PACKAGES.get(method, ["torch"]):
        try:
            found.append(f"{package} {version(package)}")
        except PackageNotFoundError:
            continue
    return ", ".join(found)


def survey(jobs: Survey) -> None:
    """Compare the methods on every network, after a job of each that does not count."""
    options = jobs.arguments
    jobs.keys[:] = ("network", "method")
    methods = list(dict.fromkeys((DMTE, *filter(None, options.methods.split(",")))))
    for number, network in enumerate([SMALLEST, *options.networks.split(",")]):
        with TemporaryDirectory() as name:
            case = {"step": "prepare", "network": network, "folder": name}
            if "error" in run_in_process(jobs.script, **case, threads=options.threads):
                continue  # The process has printed why.
            if not number:  # Reads libraries from the disk and compiles their modules.
                for method in methods:
                    job(method, "all", Path(name), options)
                continue
            jobs.rows.extend(compare(network, methods, Path(name), options))
            print(table(jobs.rows[-len(methods) :]), flush=True)
            # An interrupted run keeps the networks that are done.
            store(__file__, jobs.rows, options.threads, keys=jobs.keys)


if __name__ == "__main__":
    run(
        __file__,
        measure,
        survey,
        networks={"default": NETWORKS},
        methods={"default": PEERS},
        turns={"type": int, "default": 3, "help": "jobs of each method"},
        limit={"type": float, "default": 900, "help": "seconds of a job"},
    )
