"""Exit codes: 2 for what the user can correct, 1 for failures of the system, as the page says."""

import errno
import os
import pickle
import re
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

import dmte.errors
from dmte.cli.exit_codes import exit_code
from dmte.errors import (
    ConfigError,
    DmteError,
    DownloadError,
    NetworkError,
    StorageError,
    TrainingError,
)
from dmte.network import read_network
from dmte.settings import Settings
from dmte.training.method import DmteMethod

Run = Callable[..., subprocess.CompletedProcess[str]]
PAGE = Path(__file__).parents[2] / "docs" / "command-line.md"
CLASSES = {
    name: found
    for name, found in vars(dmte.errors).items()
    if isinstance(found, type) and issubclass(found, DmteError)
}


def documented() -> dict[str, int]:
    """The exit code of every class of errors in the table of the page."""
    row = re.compile(r"^\| (`\w+Error`.*|`Interrupted`) \| (\d+) \|$", re.MULTILINE)
    rows = row.findall(PAGE.read_text("utf-8"))
    return {name: int(code) for names, code in rows for name in re.findall(r"`(\w+)`", names)}


def test_the_page_lists_the_exit_code_of_every_error() -> None:
    assert documented() == {
        name: exit_code(found("words")) for name, found in CLASSES.items() if found is not DmteError
    }


def caused_by(number: int, kind: type[DmteError] = StorageError) -> DmteError:
    """An error of ours that an error of the system led to."""
    found = kind("x cannot be written")
    found.__cause__ = OSError(number, os.strerror(number))
    return found


@pytest.mark.parametrize("kind", [StorageError, NetworkError, ConfigError, TrainingError])
@pytest.mark.parametrize(
    ("number", "code"),
    [
        (errno.ENOSPC, 1),
        (errno.EDQUOT, 1),
        (errno.EFBIG, 1),
        (errno.EIO, 1),
        (errno.EMFILE, 1),
        (errno.ENOENT, 2),
        (errno.EACCES, 2),
        (errno.EROFS, 2),
        (errno.ENOTDIR, 2),
        (errno.ENAMETOOLONG, 2),
    ],
)
def test_the_cause_decides_between_a_mistake_and_a_failure(
    kind: type[DmteError], number: int, code: int
) -> None:
    found = caused_by(number, kind)
    assert exit_code(found) == code
    assert exit_code(pickle.loads(pickle.dumps(found))) == code  # As from a worker.
    again = TrainingError("longer")
    again.__cause__ = found
    assert exit_code(again) == code
    unchained = StorageError("from None")
    unchained.__context__, unchained.__suppress_context__ = found.__cause__, True
    assert exit_code(unchained) == code


def test_an_error_of_another_process_keeps_its_kind() -> None:
    assert exit_code(pickle.loads(pickle.dumps(DownloadError("lost")))) == 1
    assert exit_code(ConfigError("process 1: no space", is_system_failure=True)) == 1
    assert str(pickle.loads(pickle.dumps(ConfigError("a\x1bb")))) == r"a\x1bb"


@pytest.fixture(scope="module", autouse=True)
def _files(cli_folder: Path) -> None:
    lines = [
        f'{{"id": "{name}", "text": "red {name}", "links": ["{other}"], "label": "{label}"}}\n'
        for name, other, label in ("abx", "bcy", "cdx", "dey", "efx", "fay")
    ]
    (cli_folder / "net.jsonl").write_text("".join(lines))
    (cli_folder / "new.jsonl").write_text('{"id": "w", "text": "red a"}\n')
    trained = DmteMethod(Settings(dim=4, epochs=1)).train(
        read_network(cli_folder / "net.jsonl"), seed=0
    )
    trained.save(cli_folder / "model")


WRITING = [
    "train net.jsonl --out full --dim 4 --epochs 1",
    "tune concepts --out full.toml --trials 1",
    "embed model new.jsonl --out full.csv",
    "classify model --labels net.jsonl --out full.csv",
    "plot model --by pca --out full.png",
    "plot model --by pca --out full.pdf",
    *(f"export model --out full.{ending}" for ending in ("parquet", "npz", "csv", "txt")),
    "export model --format projector --out full",
]


@pytest.mark.parametrize("command", WRITING)
@pytest.mark.parametrize(("number", "code"), [(errno.ENOSPC, 1), (errno.EIO, 1), (errno.EACCES, 2)])
def test_a_full_disk_is_a_failure_and_leaves_nothing(
    command: str,
    number: int,
    code: int,
    inside: Run,
    cli_folder: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def fail(_: int) -> None:
        raise OSError(number, os.strerror(number))

    before = sorted(path for path in cli_folder.rglob("*") if path.is_file())
    monkeypatch.setattr("os.fsync", fail)
    done = inside(*command.split())
    assert (done.returncode, done.stdout) == (code, ""), done.stderr
    assert done.stderr.count("\n") == 1
    assert done.stderr.startswith("dmte: ")
    assert os.strerror(number) in done.stderr
    left = [path for path in cli_folder.rglob("*") if path.is_file() and path not in before]
    assert {path.name for path in left} <= {".lock", "full.toml.trials.jsonl"}
    for path in left:
        path.unlink()
