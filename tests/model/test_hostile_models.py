"""Models and checkpoints of a stranger, with right checksums: they load, or one error says why."""

import resource
import shutil
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from types import MappingProxyType

import pytest
import torch

from dmte.cli.verbs.info import _describe_model
from dmte.embedding.embedding import Embedding
from dmte.errors import DmteError
from dmte.model.stored_model import StoredModel
from dmte.model.trained_model import TrainedModel
from dmte.network import TextualNetwork
from dmte.settings import Settings
from dmte.storage.folder import read_parts
from dmte.training.checkpoint import load_checkpoint, save_checkpoint
from dmte.training.run import TrainingRun
from hostile_files import within
from hostile_models import mutants, write_folder

pytestmark = [
    pytest.mark.skipif(sys.platform != "linux", reason="limits memory and time of Linux"),
    pytest.mark.filterwarnings("ignore::RuntimeWarning"),  # Huge numbers overflow when used.
]
MODELS = Path(__file__).parents[1] / "data" / "released" / "0.1.0"
NAMES = ("recommended", "directed", "features", "paper", "bilstm")
ROOM = 1 << 30
"""Bytes that reading a model of some kilobytes may allocate at most."""


def similar(folder: Path) -> object:
    stored = StoredModel.read(folder)
    return stored.vectors.half("both")[0] @ stored.vectors.half("both")[-1], stored.labels


def answers(folder: Path) -> object:
    model = TrainedModel.load(folder)
    names = model.embedding.ids
    new = TextualNetwork(
        ids=("new vertex", names[0]),
        texts=("a heap", ""),
        edges=torch.tensor([[0, 1]]),
        directed=model.network.directed,
        features=None if model.network.features is None else torch.ones(2, 6),
    )
    return (
        model.embedding.most_similar(names[0], 3),
        model.embed(new),
        repr(model),
        model.describe(),
    )


READERS: Mapping[str, Callable[[Path], object]] = MappingProxyType(
    {"similar": similar, "embedding": Embedding.load, "model": answers, "info": _describe_model}
)
"""All ways in which a model is read."""


@contextmanager
def limits(seconds: int = 10) -> Iterator[None]:
    """Limit the time, and what is allocated from now on."""
    pages = int(Path("/proc/self/statm").read_text("utf-8").split()[0])
    soft, hard = resource.getrlimit(resource.RLIMIT_AS)
    resource.setrlimit(resource.RLIMIT_AS, (pages * resource.getpagesize() + ROOM, hard))
    try:
        with within(seconds):
            yield
    finally:
        resource.setrlimit(resource.RLIMIT_AS, (soft, hard))


def outcome(read: Callable[[Path], object], folder: Path) -> DmteError | None:
    """Read a folder; return the error, after checking that it is one short line."""
    with limits():
        try:
            read(folder)
        except DmteError as problem:
            words = str(problem)
            assert "\n" not in words
            assert len(words) < 700, words
            return problem
    return None


def read_all(parts: Mapping[str, bytes], folder: Path, seed: int, count: int) -> dict[str, int]:
    """Read mutants of a model in every way; return how many of them each way has refused."""
    refused = dict.fromkeys(READERS, 0)
    for words, altered in mutants(parts, seed, count):
        write_folder(folder, altered)
        for way, read in READERS.items():
            try:
                problem = outcome(read, folder)
            except BaseException as error:
                error.add_note(f"{way} of {words}")
                raise
            refused[way] += problem is not None
        shutil.rmtree(folder)
    return refused


@pytest.mark.parametrize("name", NAMES)
def test_a_model_that_is_not_altered_is_read_in_every_way(name: str, tmp_path: Path) -> None:
    write_folder(tmp_path / "model", read_parts(MODELS / name))
    for way, read in READERS.items():
        assert outcome(read, tmp_path / "model") is None, way


@pytest.mark.parametrize("name", NAMES[:1])
def test_forty_altered_models_load_or_raise_one_error(name: str, tmp_path: Path) -> None:
    refused = read_all(read_parts(MODELS / name), tmp_path / "model", seed=0, count=40)
    assert min(refused.values()) > 5


@pytest.mark.medium
@pytest.mark.parametrize("name", NAMES)
def test_altered_models_load_or_raise_one_error(name: str, tmp_path: Path) -> None:
    refused = read_all(read_parts(MODELS / name), tmp_path / "model", seed=1, count=60)
    assert min(refused.values()) > 10
    assert refused["model"] > 30


@pytest.mark.slow
@pytest.mark.parametrize("name", NAMES)
def test_a_thousand_altered_models_load_or_raise_one_error(name: str, tmp_path: Path) -> None:
    read_all(read_parts(MODELS / name), tmp_path / "model", seed=2, count=1000)


# ── Checkpoints ──


@pytest.fixture(
    params=[
        Settings(dim=8, epochs=3),
        Settings(
            dim=8,
            epochs=3,
            structure=True,
            unit_rows=False,
            encoder="word-average",
            word_dropout=0.0,
        ),
    ],
    ids=["recipe", "structure"],
)
def run(request: pytest.FixtureRequest, planted: TextualNetwork) -> TrainingRun:
    run = TrainingRun(planted, request.param, seed=0)
    next(run.epochs())
    return run


def resume_all(run: TrainingRun, folder: Path, seed: int, count: int) -> int:
    """Resume mutants of a checkpoint; return how many of them are refused."""

    def resume(place: Path) -> object:
        found = load_checkpoint(place, run.network, run.requested_settings, seed=0)
        return list(found.epochs())

    save_checkpoint(run, folder / "whole")
    assert outcome(resume, folder / "whole") is None
    refused = 0
    for words, altered in mutants(read_parts(folder / "whole"), seed, count):
        write_folder(folder / "altered", altered)
        try:
            refused += outcome(resume, folder / "altered") is not None
        except BaseException as error:
            error.add_note(words)
            raise
        shutil.rmtree(folder / "altered")
    return refused


@pytest.mark.medium
def test_altered_checkpoints_resume_or_raise_one_error(run: TrainingRun, tmp_path: Path) -> None:
    assert resume_all(run, tmp_path, seed=3, count=25) > 10


@pytest.mark.slow
def test_many_altered_checkpoints_resume_or_raise_one_error(
    run: TrainingRun, tmp_path: Path
) -> None:
    resume_all(run, tmp_path, seed=4, count=200)
