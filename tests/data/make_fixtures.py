"""Write the files in this folder: models, runs and answers that later code must repeat.

    python tests/data/make_fixtures.py

``tests/test_same_bits.py`` reads them and computes them again with the functions below. Only
public names and the command line are used, so both still run when modules have moved. Run this
script again only if a change of the numbers is intended, and say so in the changelog.
"""

import hashlib
import io
import json
import os
import platform
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import chdir, contextmanager, redirect_stderr, redirect_stdout
from dataclasses import replace
from importlib.metadata import version
from pathlib import Path
from tempfile import TemporaryDirectory
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np
import torch
from threadpoolctl import threadpool_limits  # type: ignore[import-untyped]

import dmte
from dmte.__main__ import main
from dmte.storage.stored_json import read_checked

DATA = Path(__file__).parent
VECTORS, MODELS, RUNS, TUNED = (DATA / name for name in ("vectors", "models", "runs", "tuned"))
SMALL = 100
"""Vertices of the part of ``concepts`` that most fixtures are trained on."""


# ── What is trained ──


def concepts() -> dmte.TextualNetwork:
    """Return the whole bundled network."""
    return dmte.read_network("concepts")


def part(*, directed: bool = False) -> dmte.TextualNetwork:
    """Return the first vertices of ``concepts``, whose edges here have different weights."""
    whole = concepts()
    edges = whole.edges[(whole.edges < SMALL).all(dim=1)]
    return dmte.TextualNetwork(
        ids=whole.ids[:SMALL],
        texts=whole.texts[:SMALL],
        edges=edges,
        weights=1.0 + torch.arange(len(edges)) % 3,
        directed=directed,
    )


def directed_part() -> dmte.TextualNetwork:
    """Return the same vertices, with edges that lead one way."""
    return part(directed=True)


def part_with_features() -> dmte.TextualNetwork:
    """Return the same vertices, with a row of numbers each."""
    rows = torch.randn(SMALL, 12, generator=torch.Generator().manual_seed(0))
    return part().with_features(rows)


def new_vertices(*, directed: bool) -> dmte.TextualNetwork:
    """Return two vertices that no model has: one linked to known ones, one without an edge."""
    return dmte.TextualNetwork(
        ids=("fractal-tree", "b-tree", "binary-search", "lonely"),
        texts=("a search tree with buffers in its nodes", "", "", "a lock of the kernel"),
        edges=torch.tensor([[0, 1], [0, 2]]),
        directed=directed,
    )


class Case(NamedTuple):
    """Settings, and the network to train on."""

    settings: dmte.Settings
    network: Callable[[], dmte.TextualNetwork] = concepts
    seed: int = 0


_EPOCHS = {"bilstm": 5}
_VERSIONS = {
    name: Case(replace(settings, dim=16, epochs=_EPOCHS.get(name, 15)))
    for name, settings in dmte.VARIANTS.items()
}
CASES = MappingProxyType(
    _VERSIONS
    | {
        "recommended": Case(dmte.Settings(dim=32, epochs=15)),
        "open-width": Case(dmte.Settings(epochs=5)),
        "share": Case(dmte.Settings(dim=32, structure_share=0.3, epochs=5), part, seed=1),
        "power": Case(dmte.Settings(dim=16, degree_power=0.5, epochs=5), part, seed=2),
        "directed": Case(
            dmte.Settings(dim=32, structure_share=0.4, degree_power=0.3, epochs=5), directed_part
        ),
        "directed-paper": Case(replace(dmte.PAPER, dim=16, epochs=20), directed_part, seed=3),
        "features": Case(dmte.Settings(encoder="features", epochs=5, dim=16), part_with_features),
        "structure": Case(
            dmte.Settings(
                dim=32,
                structure=True,
                structure_hop_weights=(1.0, 0.5),
                transition="walk",
                activation="tanh",
                unit_rows=False,
                loss="pointwise",
                noise_power=0.75,
                hide_supervised=False,
                letters=True,
                max_vocabulary=300,
                epochs=5,
            ),
            part,
        ),
        "letters": Case(
            dmte.Settings(
                dim=16, letters=True, word_weights=False, mixing=False, batch_size=20, epochs=5
            ),
            part,
        ),
    }
)
"""Vectors to be learned again, by name."""
DIGEST_ONLY = "open-width"
"""The case whose vectors are too many to store: a digest, the width and a few rows stand for it."""
STORED_MODELS = MappingProxyType(
    {
        "recommended": Case(dmte.Settings(dim=16, min_count=5, epochs=3)),
        "paper": Case(replace(dmte.PAPER, dim=16, epochs=3), part),
        "directed": Case(
            dmte.Settings(dim=32, structure_share=0.4, degree_power=0.3, min_count=2, epochs=2),
            directed_part,
        ),
    }
)
"""Model folders, by name."""
INTERRUPTED = MappingProxyType(
    {
        "recommended": (
            ("--dim", "16", "--min-count", "3", "--patience", "100000", "--epochs", "60"),
            ("--checkpoint-every", "6"),
            (),
        ),
        "paper": (
            ("--recipe", "paper", "--dim", "8", "--min-count", "4", "--seed", "4"),
            ("--checkpoint-every", "60"),
            ("--epochs", "70"),
        ),
    }
)
"""Options of trainings that were killed, when they wrote a checkpoint, and where they end.

A killed training has 100,000 epochs, unless its options have another number: the step sizes of the
recommended recipe depend on it, and so it must be the same in the end.
"""
QUESTIONS = MappingProxyType(
    {
        "similar": ("similar", "{model}", "--vertex", "b-tree", "-k", "5"),
        "similar-text": ("similar", "{model}", "--text", "a balanced search tree", "-k", "5"),
        "suggest": ("suggest", "{model}", "-k", "5"),
        "explain": ("explain", "{model}", "b-tree", "binary-search-tree", "-k", "4"),
    }
)
"""What every stored model is asked on the command line, with ``--json``."""
APPROXIMATE = (*QUESTIONS["similar"], "--approximate")
TUNE = ("tune", "concepts", "--splits", "1", "--trials", "2", "--out", "tuned.toml")
JOURNAL, TRIALS = "trials.jsonl", 15
"""A search on the part of ``concepts``: the next trial is the second that optuna proposes."""


# ── How it is made, and made again ──


def train(case: Case) -> dmte.TrainedModel:
    """Return the trained model of a case."""
    return dmte.Dmte.of(case.settings, seed=case.seed).fit(case.network()).model_


def outputs(model: dmte.TrainedModel) -> dict[str, np.ndarray]:
    """Return what a loaded model computes: vectors of new vertices and texts, a score in parts."""
    new = new_vertices(directed=model.network.directed)
    return {
        "new": model.embed(new).vectors.numpy(),
        "text": model.embed_text("a balanced search tree").numpy(),
        "hop_pairs": dmte.explain(model, "b-tree", "binary-search-tree").hop_pairs,
    }


def digest(vectors: np.ndarray) -> dict[str, Any]:
    """Return what stands for vectors that are too many to store."""
    return {
        "shape": list(vectors.shape),
        "sha256": hashlib.sha256(np.ascontiguousarray(vectors).tobytes()).hexdigest(),
    }


def dmte_command(*words: str) -> tuple[str, str]:
    """Return what the command line, run in this process, prints to both streams."""
    out, error, before = io.StringIO(), io.StringIO(), sys.argv
    sys.argv = ["dmte", *words]
    try:
        with redirect_stdout(out), redirect_stderr(error):
            main()
    except SystemExit as stopped:
        if stopped.code:
            raise RuntimeError(f"{' '.join(words)}: {error.getvalue()}") from stopped
    finally:
        sys.argv = before
    return out.getvalue(), error.getvalue()


def ask(model: str | Path, question: tuple[str, ...]) -> Any:
    """Return the answer about a stored model, as JSON."""
    words = [word.format(model=model) for word in question]
    return json.loads(dmte_command(*words, "--json")[0])


def resume(name: str) -> np.ndarray:
    """Return the vectors that the checkpoint ``name.checkpoint`` in this folder leads to."""
    options, every, epochs = INTERRUPTED[name]
    dmte_command(
        *("train", "concepts", "--out", name, "--resume", "--quiet"), *options, *every, *epochs
    )
    return dmte.Embedding.load(name).vectors.numpy()


def search(journal: Path, trials: int) -> Any:
    """Return the outcome of a search of so many trials, which goes on with a journal."""
    return timeless(dmte.tune(part(), seed=5, trials=trials, journal=journal).to_dict())


def lines_of(journal: Path) -> list[Any]:
    """Return the lines of a journal, without the seconds and checksums in them."""
    return [timeless(read_checked(line)[0]) for line in journal.read_bytes().splitlines()]


def timeless(value: Any) -> Any:
    """Return JSON without the seconds in it, which no two runs have in common."""
    if isinstance(value, dict):
        return {k: timeless(v) for k, v in value.items() if not k.endswith("seconds")}
    return [timeless(one) for one in value] if isinstance(value, list | tuple) else value


@contextmanager
def one_thread() -> Iterator[None]:
    """Compute with one thread: several add in another order, in BLAS too."""
    torch.set_num_threads(1)
    with threadpool_limits(1):
        yield


def environment() -> dict[str, str]:
    """Return what must be the same for the same bits."""
    cpuinfo = Path("/proc/cpuinfo")
    facts = dict.fromkeys(("model name", "cpu family", "model"), "")
    for line in cpuinfo.read_text("utf-8").splitlines() if cpuinfo.exists() else ():
        name, _, value = line.partition(":")
        if name.strip() in facts:
            facts[name.strip()] = value.strip()
    packages = ("torch", "numpy", "scipy", "optuna", "usearch")
    return {
        "processor": ", ".join(facts.values()) or platform.machine(),
        "instructions": torch.backends.cpu.get_cpu_capability(),
        **{package: version(package) for package in packages},
    }


# ── Writing the fixtures ──


def write_vectors() -> None:
    """Store the vectors of every case."""
    for name, case in CASES.items():
        model = train(case)
        vectors = model.embedding.vectors.numpy()
        if name == DIGEST_ONLY:
            about = {**digest(vectors), "settings": model.settings.to_dict()}
            write_json(VECTORS / f"{name}.json", about)
            vectors = vectors[:4]
        np.save(VECTORS / f"{name}.npy", vectors)


def write_models() -> None:
    """Store every model, and what it answers."""
    for name, case in STORED_MODELS.items():
        train(case).save(MODELS / name)
        model = dmte.TrainedModel.load(MODELS / name)
        np.savez(MODELS / f"{name}.npz", allow_pickle=False, **outputs(model))
        answers = {key: ask(MODELS / name, words) for key, words in QUESTIONS.items()}
        if name == "recommended":
            answers["approximate"] = ask(MODELS / name, APPROXIMATE)
        write_json(MODELS / f"{name}.json", answers)


def write_interrupted() -> None:
    """Kill trainings after their first checkpoint, keep it, and store what it leads to."""
    for name, (options, every, _) in INTERRUPTED.items():
        with TemporaryDirectory() as folder, chdir(folder):
            words = ("train", "concepts", "--out", name, "--quiet")
            many = () if "--epochs" in options else ("--epochs", "100000")
            run = subprocess.Popen([sys.executable, "-m", "dmte", *words, *options, *every, *many])
            try:
                while not Path(f"{name}.checkpoint", "README.md").exists():  # The last file.
                    time.sleep(0.002)
            finally:
                run.kill()
                run.wait()
            shutil.copytree(f"{name}.checkpoint", RUNS / f"{name}.checkpoint")
            np.save(RUNS / f"{name}.npy", resume(name))


def write_tuned() -> None:
    """Store two journals, one by either way to search, and what they lead to."""
    with chdir(TUNED):
        out, _ = dmte_command(*TUNE, "--json", "--quiet")
    write_json(TUNED / "tuned.json", json.loads(out))
    outcomes: dict[str, Any] = {"read": search(TUNED / JOURNAL, TRIALS)}
    with TemporaryDirectory() as folder:
        longer = Path(shutil.copy(TUNED / JOURNAL, folder))
        outcomes["continued"] = search(longer, TRIALS + 1)
        added = lines_of(longer)[len(lines_of(TUNED / JOURNAL)) :]
    write_json(TUNED / "outcomes.json", outcomes | {"added": added})


def write_json(path: Path, value: Any) -> None:
    """Store JSON, for people too."""
    path.write_text(json.dumps(value, indent=1, ensure_ascii=False) + "\n", "utf-8")


def make() -> None:
    """Write all files of this folder again."""
    os.environ["OMP_NUM_THREADS"] = "1"  # For the trainings that are killed.
    for folder in (VECTORS, MODELS, RUNS, TUNED):
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir()
    write_json(DATA / "environment.json", environment())
    with one_thread():
        for write in (write_vectors, write_models, write_interrupted, write_tuned):
            write()
    for lock in DATA.rglob("*lock"):
        lock.unlink()


if __name__ == "__main__":
    make()
