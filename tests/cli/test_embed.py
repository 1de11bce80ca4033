"""Vertices that came after training, on the command line."""

import csv
import io
import json
import subprocess
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from dmte.cli import main
from dmte.network import read_tables
from dmte.trained import TrainedModel

jsonschema = pytest.importorskip("jsonschema")

Run = Callable[..., subprocess.CompletedProcess[str]]
SCHEMA = Path(__file__).parents[2] / "docs" / "schemas" / "embed.json"
NEW = """\
{"id": "fractal-tree", "text": "A search tree whose nodes buffer writes.", "links": ["b-tree"]}
{"id": "pool", "text": "", "links": ["b-tree", "fractal-tree"]}
{"id": "momentum", "text": "Gradient steps that remember earlier gradients."}
"""
pytestmark = pytest.mark.usefixtures("concepts_model", "files")


@pytest.fixture(scope="module")
def files(cli_folder: Path) -> None:
    (cli_folder / "new.jsonl").write_text(NEW)
    (cli_folder / "v.csv").write_text("id,text\nn1,walks on a graph\nn2,\n")
    (cli_folder / "e.csv").write_text("source,target\nn1,tree\nn2,n1\n")
    (cli_folder / "lost.csv").write_text("source,target\nn1,b-tre\n")
    (cli_folder / "known.csv").write_text("id,text\nb-tree,another text\nn1,graph\n")


def answer(dmte: Run, *arguments: str) -> str:
    done = dmte(*arguments)
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout


def test_json_has_vectors_and_neighbors_as_its_schema_says(dmte: Run, cli_folder: Path) -> None:
    before = {path: path.read_bytes() for path in (cli_folder / "model").iterdir()}
    found = json.loads(answer(dmte, "embed", "model", "new.jsonl", "--similar", "3", "--json"))
    jsonschema.validate(found, json.loads(SCHEMA.read_text()))
    assert [row["id"] for row in found["vertices"]] == ["fractal-tree", "pool", "momentum"]
    assert [row["neighbors"][0]["id"] for row in found["vertices"][:2]] == ["b-tree", "b-tree"]
    assert found["vertices"][0]["neighbors"][0]["linked"]
    assert "gradient-descent" in [row["id"] for row in found["vertices"][2]["neighbors"]]
    assert {path: path.read_bytes() for path in (cli_folder / "model").iterdir()} == before


def inside(capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    """Return what the command line prints, run in this process, which is quicker."""
    with pytest.raises(SystemExit) as stopped:
        main(["embed", "model", *arguments])
    printed = capsys.readouterr()
    assert (stopped.value.code, printed.err) == (0, "")
    return printed.out


def test_a_file_holds_what_the_library_finds(
    cli_folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(cli_folder)
    tables = ("v.csv", "--edges", "e.csv", "--out", "new.npz")
    assert inside(capsys, *tables) == "new.npz\n"
    trained = TrainedModel.load("model")
    new = read_tables("v.csv", "e.csv", known=trained.network.ids)
    stored = np.load("new.npz")
    assert stored["ids"].tolist() == ["n1", "n2"]
    assert np.array_equal(stored["vectors"], trained.embed(new).vectors.numpy())
    found = json.loads(inside(capsys, "--vertices", *tables, "--force", "--json"))
    jsonschema.validate(found, json.loads(SCHEMA.read_text()))
    assert found["file"] == "new.npz"
    assert "vector" not in found["vertices"][0]


def test_csv_has_the_vectors_or_the_neighbors(
    cli_folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(cli_folder)
    vectors = list(csv.DictReader(io.StringIO(inside(capsys, "new.jsonl", "--csv"))))
    assert [row["id"] for row in vectors] == ["fractal-tree", "pool", "momentum"]
    assert len(vectors[0]) == 65
    similar = inside(capsys, "new.jsonl", "--similar", "2", "--csv")
    rows = list(csv.DictReader(io.StringIO(similar)))
    assert [row["new"] for row in rows[::2]] == ["fractal-tree", "pool", "momentum"]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["new.jsonl"], "--out FILE"),
        (["new.jsonl", "--out", "x.foo"], "must end in one of .parquet"),
        (["new.jsonl", "--similar", "0"], "--similar must be at least 1, not 0"),
        (["new.jsonl", "--json", "--csv"], "choose --json or --csv"),
        (["v.csv", "--edges", "lost.csv", "--csv"], "lost.csv, line 2: the target must be one of"),
        (["known.csv", "--csv"], "'b-tree' is in the model already"),
        (["concepts", "--skip-known", "--csv"], "every vertex is in the model already"),
        (["nowhere.csv", "--csv"], "nowhere.csv"),
        (["--csv"], "name a network"),
    ],
)
def test_a_mistake_is_one_line(
    arguments: list[str],
    message: str,
    cli_folder: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(cli_folder)
    with pytest.raises(SystemExit) as stopped:
        main(["embed", "model", *arguments])
    printed = capsys.readouterr()
    assert (stopped.value.code, printed.out) == (2, "")
    assert printed.err.count("\n") == 1
    assert message in printed.err
