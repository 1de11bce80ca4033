"""Vertices that came after training, on the command line."""

import csv
import io
import json
import subprocess
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from dmte.model.trained_model import TrainedModel
from dmte.network import read_tables

jsonschema = pytest.importorskip("jsonschema")

Run = Callable[..., subprocess.CompletedProcess[str]]
SCHEMA = Path(__file__).parents[3] / "docs" / "schemas" / "embed.json"
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


def answer(run: Run, *arguments: str) -> str:
    done = run("embed", "model", *arguments)
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout


def test_json_has_vectors_and_neighbors_as_its_schema_says(dmte: Run, cli_folder: Path) -> None:
    before = {path: path.read_bytes() for path in (cli_folder / "model").iterdir()}
    found = json.loads(answer(dmte, "new.jsonl", "--similar", "3", "--json"))
    jsonschema.validate(found, json.loads(SCHEMA.read_text()))
    assert [row["id"] for row in found["vertices"]] == ["fractal-tree", "pool", "momentum"]
    assert [row["neighbors"][0]["id"] for row in found["vertices"][:2]] == ["b-tree", "b-tree"]
    assert found["vertices"][0]["neighbors"][0]["linked"]
    assert "gradient-descent" in [row["id"] for row in found["vertices"][2]["neighbors"]]
    assert {path: path.read_bytes() for path in (cli_folder / "model").iterdir()} == before


def test_a_file_has_the_same_vectors_as_the_library(inside: Run) -> None:
    tables = ("v.csv", "--edges", "e.csv", "--out", "new.npz")
    assert answer(inside, *tables) == "new.npz\n"
    trained = TrainedModel.load("model")
    new = read_tables("v.csv", "e.csv", known=trained.network.ids)
    stored = np.load("new.npz")
    assert stored["ids"].tolist() == ["n1", "n2"]
    assert np.array_equal(stored["vectors"], trained.embed(new).vectors.numpy())
    found = json.loads(answer(inside, "--vertices", *tables, "--force", "--json"))
    jsonschema.validate(found, json.loads(SCHEMA.read_text()))
    assert found["file"] == "new.npz"
    assert "vector" not in found["vertices"][0]


def test_csv_has_the_vectors_or_the_neighbors(inside: Run) -> None:
    vectors = list(csv.DictReader(io.StringIO(answer(inside, "new.jsonl", "--csv"))))
    assert [row["id"] for row in vectors] == ["fractal-tree", "pool", "momentum"]
    assert len(vectors[0]) == 65
    similar = answer(inside, "new.jsonl", "--similar", "2", "--csv")
    rows = list(csv.DictReader(io.StringIO(similar)))
    assert [row["new"] for row in rows[::2]] == ["fractal-tree", "pool", "momentum"]


def test_without_new_vertices_the_result_is_empty_with_a_warning(inside: Run) -> None:
    done = inside("embed", "model", "concepts", "--skip-known", "--out", "none.npz", "--json")
    assert done.returncode == 0
    assert done.stderr == ("dmte: warning: nothing is new: the model has every vertex already\n")
    found = json.loads(done.stdout)
    jsonschema.validate(found, json.loads(SCHEMA.read_text()))
    assert (found["vertices"], found["dim"]) == ([], 64)
    assert np.load("none.npz")["vectors"].shape == (0, 64)
    lines = answer(inside, "concepts", "--skip-known", "--csv", "--quiet").splitlines()
    assert [line[:5] for line in lines] == ["id,v0"]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["new.jsonl"], "--out FILE"),
        (["new.jsonl", "--out", "x.foo"], "must end in one of .parquet"),
        (["new.jsonl", "--similar", "0"], "--similar must be at least 1, not 0"),
        (["new.jsonl", "--json", "--csv"], "--json cannot be combined with --csv"),
        (["v.csv", "--edges", "lost.csv", "--csv"], "lost.csv, line 2: the target must be one of"),
        (["known.csv", "--csv"], "'b-tree' is in the model already"),
        (["nowhere.csv", "--csv"], "nowhere.csv"),
        (["--csv"], "name a network"),
    ],
)
def test_a_mistake_is_one_line(inside: Run, arguments: list[str], message: str) -> None:
    done = inside("embed", "model", *arguments)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.count("\n") == 1
    assert message in done.stderr
