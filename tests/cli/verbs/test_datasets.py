"""``dmte datasets``, against a mirror folder."""

import json
import re
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import NamedTuple

import pytest

from dmte.cli import main
from dmte.network.datasets import DATASETS, DataFile, Dataset, Origin, blob_id

VERB: ModuleType = import_module("dmte.cli.verbs.datasets")  # the package's name for it is the verb


class Done(NamedTuple):
    """Exit code and output of a command."""

    code: int | str | None
    out: str
    error: str


@pytest.fixture(autouse=True)
def root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder of data sets, and a mirror with the data set ``tiny``."""
    texts = tmp_path / "mirror" / "tiny" / "data.txt"
    texts.parent.mkdir(parents=True)
    texts.write_text("one\ntwo\n")
    (texts.parent / "graph.txt").write_text("0\t1\n")
    files = tuple(
        DataFile(path.name, blob_id(path), path.stat().st_size)
        for path in (texts, texts.parent / "graph.txt")
    )
    tiny = Dataset("tiny", "two texts", 2, 1, files, Origin("some/where", "tiny"))
    known = {"concepts": DATASETS["concepts"], "tiny": tiny}
    for module in (VERB, import_module("dmte.network.datasets")):
        monkeypatch.setattr(module, "DATASETS", known)
    monkeypatch.setenv("DMTE_MIRROR", (tmp_path / "mirror").as_uri())
    monkeypatch.setenv("DMTE_DATA", str(tmp_path / "root"))
    for variable in ("FORCE_COLOR", "TTY_COMPATIBLE"):
        monkeypatch.delenv(variable, raising=False)
    return tmp_path / "root"


def dmte(capsys: pytest.CaptureFixture[str], *arguments: str) -> Done:
    with pytest.raises(SystemExit) as stopped:
        main(["datasets", *arguments])
    return Done(stopped.value.code, *capsys.readouterr())


def error_line(done: Done, code: int = 2) -> str:
    """The single line of an error."""
    assert done.code == code
    assert done.out == ""
    assert done.error.startswith("dmte: ")
    assert done.error.count("\n") == 1
    return done.error


def test_without_a_subcommand_help_is_shown(capsys: pytest.CaptureFixture[str]) -> None:
    done = dmte(capsys)
    assert (done.code, done.error) == (0, "")
    assert all(verb in done.out for verb in ("list", "download", "path"))


def test_a_data_set_is_downloaded_and_found(root: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert dmte(capsys, "download", "tiny") == (0, f"tiny is in {root / 'tiny'}\n", "")
    assert dmte(capsys, "path", "tiny") == (0, f"{root / 'tiny'}\n", "")
    assert (root / "tiny" / "data.txt").read_text() == "one\ntwo\n"


def test_a_terminal_sees_progress_unless_it_is_quiet(
    capsys: pytest.CaptureFixture[str], root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FORCE_COLOR", "1")
    done = dmte(capsys, "download", "tiny", "concepts")
    assert "tiny/data.txt" in done.error
    assert len(done.out.splitlines()) == 2
    for path in (root / "tiny").iterdir():
        path.unlink()
    assert dmte(capsys, "download", "tiny", "--quiet").error == ""


def test_the_list_shows_the_state_of_a_data_set(
    root: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "200")

    def state() -> str:
        line = dmte(capsys, "list").out.splitlines()[2]
        found = re.fullmatch(r"tiny +2 +1 +(.*?) +two texts", line)
        assert found is not None
        return found[1]

    assert "comes with dmte" in dmte(capsys, "list").out
    assert state() == "no"
    dmte(capsys, "download", "tiny")
    assert state() == "yes"
    (root / "tiny" / "data.txt").write_text("mine")
    assert state() == "yes, data.txt not as published"
    (root / "tiny" / "graph.txt").unlink()
    assert state() == "incomplete, graph.txt missing, data.txt not as published"


def test_the_list_is_json_for_machines(root: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (root / "tiny").mkdir(parents=True)
    (root / "tiny" / "graph.txt").write_text("0\t1\n")
    found = json.loads(dmte(capsys, "list", "--json").out)
    assert found["folder"] == str(root)
    concepts, tiny = found["datasets"]
    assert concepts["bundled"]
    assert concepts["complete"]
    assert tiny == {
        "name": "tiny",
        "description": "two texts",
        "vertices": 2,
        "edges": 1,
        "bundled": False,
        "origin": "some/where/tiny",
        "folder": str(root / "tiny"),
        "files": ["data.txt", "graph.txt"],
        "missing": ["data.txt"],
        "different": [],
        "complete": False,
    }


def test_the_bundled_data_set_is_always_available(capsys: pytest.CaptureFixture[str]) -> None:
    folder = dmte(capsys, "path", "concepts").out.strip()
    assert (Path(folder) / "concepts.jsonl").is_file()
    assert dmte(capsys, "download", "concepts").out == f"concepts is in {folder}\n"


def test_the_path_of_a_missing_data_set_says_how_to_get_it(
    root: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    line = error_line(dmte(capsys, "path", "tiny"))
    assert f"DMTE_DATA is {root}, which lacks tiny/data.txt and tiny/graph.txt" in line
    assert "'dmte datasets download tiny'" in line


def test_an_unknown_name_fails_before_any_download(
    root: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    line = error_line(dmte(capsys, "download", "tiny", "tinny"))
    assert line == "dmte: there is no data set 'tinny'; did you mean tiny?\n"
    assert not root.exists()


def test_a_failed_download_is_one_line(
    root: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "mirror" / "tiny" / "data.txt").write_text("one\ntwO\n")
    failed = dmte(capsys, "download", "tiny")
    assert "is not the published file" in error_line(failed, code=1)
    assert not root.exists()


def test_an_interrupt_says_how_to_resume(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupt(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(VERB, "download", interrupt)
    done = dmte(capsys, "download", "tiny")
    line = "dmte: interrupted; 'dmte datasets download tiny' resumes the download\n"
    assert done == (130, "", line)
