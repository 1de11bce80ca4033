"""What several tests start from."""

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
import torch
import torch.distributed as dist
from filelock import FileLock
from safetensors.torch import save_file

from dmte.cli import main
from dmte.distributed.gloo import GlooGroup
from dmte.distributed.group import ProcessGroup
from dmte.network import TextualNetwork, read_network
from dmte.network.synthetic import PlantedTopics
from dmte.search import index_cache
from dmte.settings import Settings
from dmte.training.method import DmteMethod

# The networks of the tests are so small that threads gain nothing, and two threads that wait for
# each other lose a lot on a busy machine. This holds for the processes that tests start as well.
torch.set_num_threads(1)
os.environ.setdefault("OMP_NUM_THREADS", "1")

Run = Callable[..., subprocess.CompletedProcess[str]]
SHARED_DATA = Path(__file__).parents[2] / "shared" / "data"


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark as medium what starts the command line as a process, and examples that train."""
    for item in items:
        if "dmte" in getattr(item, "fixturenames", ()) or trains(item):
            item.add_marker(pytest.mark.medium)


def trains(item: pytest.Item) -> bool:
    """Return whether this is the example of a docstring, and one that trains."""
    if not isinstance(item, pytest.DoctestItem):
        return False
    return any(call in str(item.dtest.docstring) for call in (".fit(", ".train(", "tune(", "Run("))


@pytest.fixture(autouse=True)
def _own_cache(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> None:
    """Keep indexes out of the cache of whoever runs the tests."""
    folder = tmp_path_factory.getbasetemp() / "cache"
    monkeypatch.setattr(index_cache, "cache_folder", lambda: folder)


@pytest.fixture
def planted() -> TextualNetwork:
    """A network of four topics with a vertex without edges and one without text."""
    drawn = PlantedTopics(num_vertices=80).draw(torch.Generator().manual_seed(5))
    lonely = 7
    kept = drawn.edges[(drawn.edges != lonely).all(dim=1)]
    texts = ["" if vertex == 11 else text for vertex, text in enumerate(drawn.texts)]
    return TextualNetwork(ids=drawn.ids, texts=texts, edges=kept, labels=drawn.labels)


@pytest.fixture
def together() -> Callable[[int, Callable[[ProcessGroup], Any]], list[Any]]:
    """Members of a group: threads, each with a gloo of its own, and what every one returns."""

    def run(size: int, act: Callable[[ProcessGroup], Any]) -> list[Any]:
        store: Any = dist.HashStore()  # type: ignore[attr-defined]

        def join(rank: int) -> Any:
            connection: Any = dist.ProcessGroupGloo(store, rank, size, timedelta(seconds=300))
            return act(GlooGroup(connection, rank, size))

        before = sys.getswitchinterval()
        sys.setswitchinterval(1e-4)  # Whoever has been answered goes on soon.
        try:
            with ThreadPoolExecutor(size) as pool:
                return [done.result() for done in [pool.submit(join, rank) for rank in range(size)]]
        finally:
            sys.setswitchinterval(before)

    return run


@pytest.fixture
def data_folder() -> Path:
    """The folder of the real data sets, named by DMTE_DATA or beside the repository."""
    folder = Path(os.environ.get("DMTE_DATA", SHARED_DATA))
    if not (folder / "cora" / "data.txt").is_file():
        pytest.skip(f"no data sets in {folder}; set DMTE_DATA to a folder that holds them")
    return folder


@pytest.fixture(scope="module")
def cli_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where the command line of a test module runs."""
    return tmp_path_factory.mktemp("cli")


@pytest.fixture(scope="module")
def dmte(cli_folder: Path) -> Run:
    """The command line as a process."""

    def run(*arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [sys.executable, "-m", "dmte", *arguments],
            cwd=cli_folder,
            capture_output=True,
            text=True,
            check=False,
            timeout=300,
            env=os.environ | {"COLUMNS": "90"} | environment,
        )

    return run


@pytest.fixture
def inside(
    cli_folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Run:
    """The command line in this process: another one takes seconds to load torch."""
    monkeypatch.chdir(cli_folder)
    monkeypatch.setenv("COLUMNS", "90")

    def run(*arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
        for name, value in environment.items():
            monkeypatch.setenv(name, value)
        with pytest.raises(SystemExit) as stopped:
            main(list(arguments))
        return subprocess.CompletedProcess(
            arguments, int(stopped.value.code or 0), *capsys.readouterr()
        )

    return run


@pytest.fixture(scope="session")
def shared_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder that all workers of this run have in common."""
    own = tmp_path_factory.getbasetemp()
    return own.parent if "PYTEST_XDIST_WORKER" in os.environ else own


@pytest.fixture(scope="session")
def trained_on_concepts(shared_folder: Path) -> Path:
    """A model of the bundled network, to be read only; one worker trains it for all."""
    folder = shared_folder / "trained-on-concepts"
    with FileLock(shared_folder / "trained-on-concepts.lock"):
        if not folder.exists():
            trained = DmteMethod(Settings(dim=64, epochs=5)).train(read_network("concepts"), seed=0)
            trained.save(folder)
    return folder


@pytest.fixture(scope="module")
def concepts_model(trained_on_concepts: Path, cli_folder: Path) -> Path:
    """A model of the bundled network to ask, in the folder ``model``."""
    return Path(shutil.copytree(trained_on_concepts, cli_folder / "model"))


@pytest.fixture(scope="session")
def sentence_model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a vector for every word of planted topics, as model2vec stores one."""
    folder = tmp_path_factory.mktemp("sentence-model")
    words = ["[UNK]", *(f"w{topic}x{number}" for topic in range(5) for number in range(40))]
    tokenizer = {
        "version": "1.0",
        "added_tokens": [],
        "pre_tokenizer": {"type": "WhitespaceSplit"},
        "model": {
            "type": "WordLevel",
            "vocab": {word: number for number, word in enumerate(words)},
            "unk_token": "[UNK]",
        },
    }
    (folder / "tokenizer.json").write_text(json.dumps(tokenizer))
    (folder / "config.json").write_text('{"model_type": "model2vec", "normalize": false}')
    vectors = torch.randn(len(words), 24, generator=torch.Generator().manual_seed(6))
    save_file({"embeddings": vectors}, folder / "model.safetensors")
    return folder
