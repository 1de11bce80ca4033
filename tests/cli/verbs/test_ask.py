"""Asking a model: similar, suggest and export."""

import csv
import io
import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pyarrow.parquet as pq  # type: ignore[import-untyped]
import pytest
import torch

from dmte.embedding.embedding import Embedding
from dmte.network import read_network
from dmte.search import index_cache

Run = Callable[..., subprocess.CompletedProcess[str]]
pytestmark = pytest.mark.usefixtures("concepts_model")


def answer(run: Run, *arguments: str) -> str:
    done = run(*arguments)
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout


def test_similar_vertices_of_one_label(inside: Run) -> None:
    found = json.loads(
        answer(inside, "similar", "model", "--vertex", "b-tree", "--label", "databases", "--json")
    )
    assert len(found["neighbors"]) == 10
    assert all(row["labels"] == ["databases"] for row in found["neighbors"])
    assert "b-tree" not in [row["id"] for row in found["neighbors"]]


def test_similar_by_one_half_differs_from_the_other(inside: Run) -> None:
    few = ("--epochs", "20", "--dim", "32", "--quiet")
    answer(inside, "train", "concepts", "--recipe", "paper", "--out", "paper", *few)
    by_half = {
        half: answer(inside, "similar", "paper", "--vertex", "b-tree", "--half", half)
        for half in ("text", "structure", "both")
    }
    assert len(set(by_half.values())) == 3


def test_similar_as_csv(inside: Run) -> None:
    text = answer(inside, "similar", "model", "--text", "sorted keys on disk", "-k", "3", "--csv")
    rows = list(csv.DictReader(io.StringIO(text)))
    assert list(rows[0]) == ["id", "score", "linked", "labels", "text"]
    assert len(rows) == 3


@pytest.mark.medium
def test_a_query_by_vertex_does_not_load_torch(cli_folder: Path) -> None:
    script = """
import sys
from dmte.cli import main
try:
    main(["similar", "model", "--vertex", "b-tree", "-k", "1"])
except SystemExit as stopped:
    print(stopped.code, "torch" in sys.modules, "scipy" in sys.modules)
"""
    command = [sys.executable, "-c", script]
    done = subprocess.run(command, cwd=cli_folder, capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[-1] == "0 False False"


def test_an_approximate_search_keeps_its_index_in_the_cache_of_the_user(
    inside: Run, cli_folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("usearch")
    monkeypatch.setattr(index_cache, "cache_folder", lambda: tmp_path)
    before = sorted(cli_folder.rglob("*"))
    question = ("similar", "model", "--vertex", "b-tree", "--json")
    exact = answer(inside, *question)
    building = "building an index of model for later searches\n"
    for said in (building, ""):
        done = inside(*question, "--approximate")
        assert (done.stderr, done.returncode) == (said, 0)
    by_text = (
        "similar",
        "model",
        "--text",
        "sorted keys on disk",
        "-k",
        "3",
        "--approximate",
        "-q",
    )
    assert len(answer(inside, *by_text, "--csv").splitlines()) == 4
    # The text half is all there is, so both searches use one index.
    assert len(list(tmp_path.glob("indexes/*.index"))) == 1
    assert sorted(cli_folder.rglob("*")) == before
    assert answer(inside, *question) == exact


def test_suggestions_are_not_linked_yet(inside: Run) -> None:
    network = read_network("concepts")
    linked = {frozenset(pair) for pair in network.edges.tolist()}
    found = json.loads(answer(inside, "suggest", "model", "-k", "50", "--json"))["suggestions"]
    scores = [row["score"] for row in found]
    assert scores == sorted(scores, reverse=True)
    assert len(found) == 50
    for row in found:
        assert {network.position(row["source"]), network.position(row["target"])} not in linked


def test_suggestions_for_one_vertex_in_a_table(dmte: Run) -> None:
    lines = answer(dmte, "suggest", "model", "--vertex", "b-tree", "-k", "4").splitlines()
    assert len(lines) == 4
    assert all("b-tree — " in line and len(line) <= 90 for line in lines)


def test_suggestions_as_csv(inside: Run) -> None:
    rows = list(csv.reader(io.StringIO(answer(inside, "suggest", "model", "-k", "1", "--csv"))))
    assert rows[0] == ["source", "target", "score"]
    assert len(rows) == 2


def test_exported_vectors_equal_those_of_the_model(dmte: Run, cli_folder: Path) -> None:
    assert answer(dmte, "export", "model", "--out", "vectors.parquet") == "vectors.parquet\n"
    table = pq.read_table(cli_folder / "vectors.parquet")
    embedding = Embedding.load(cli_folder / "model")
    assert table["id"].to_pylist() == list(embedding.ids)
    assert torch.equal(torch.tensor(table["vector"].to_pylist()), embedding.vectors)


def test_export_replaces_a_file_only_with_force(inside: Run, cli_folder: Path) -> None:
    (cli_folder / "mine.csv").write_text("mine")
    refused = inside("export", "model", "--out", "mine.csv")
    assert refused.returncode == 2
    assert "exists already" in refused.stderr
    assert (cli_folder / "mine.csv").read_text() == "mine"
    answer(inside, "export", "model", "--out", "mine.csv", "--force")
    assert (cli_folder / "mine.csv").read_text().startswith("id,v0,v1,")


def test_the_projector_gets_texts_and_labels(inside: Run, cli_folder: Path) -> None:
    answer(inside, "export", "model", "--format", "projector", "--out", "projector")
    lines = (cli_folder / "projector" / "metadata.tsv").read_text("utf-8").splitlines()
    assert lines[0] == "id\ttext\tlabel"
    assert len(lines) == 433


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["similar", "model"], "give either --vertex ID or --text TEXT"),
        (["similar", "model", "--vertex", "b-tree", "--text", "x"], "give either"),
        (["similar", "model", "--vertex", "b-tre"], "did you mean 'b-tree'"),
        (["similar", "model", "--vertex", "b-tree", "-k", "0"], "k must be at least 1, not 0"),
        (["similar", "model", "--vertex", "b-tree", "--half", "words"], "'both', 'text'"),
        (["similar", "model", "--vertex", "b-tree", "--half", "structure"], "no structure half"),
        (["train", "concepts", "--recipe", "best", "--out", "x"], "recipe must be one of"),
        (
            ["train", "concepts", "--recipe", "recommended", "--variant", "bilstm", "--out", "x"],
            "--variant needs the recipe paper",
        ),
        (["similar", "model", "--text", "tree", "--half", "structure"], "a text has no links"),
        (["similar", "model", "--text", "tree", "--label", "cats"], "the labels are algebra"),
        (
            ["similar", "model", "--vertex", "b-tree", "--label", "trees", "--approximate"],
            "--approximate cannot be combined with --label",
        ),
        (
            ["similar", "model", "--text", "tree", "--json", "--csv"],
            "--json cannot be combined with --csv",
        ),
        (["similar", "nowhere", "--text", "tree"], "nowhere"),
        (["suggest", "model", "--vertex", "b-tre"], "did you mean 'b-tree'"),
        (["suggest", "model", "-k", "0"], "k must be at least 1, not 0"),
        (["export", "model"], "--out FILE"),
        (["export", "model", "--out", "vectors.foo"], "give --format"),
        (["export", "model", "--out", "v.csv", "--format", "xlsx"], "not 'xlsx'"),
        (["export", "model", "--out", ".", "--format", "npz"], "is a folder"),
    ],
)
def test_a_mistake_is_one_line(inside: Run, arguments: list[str], message: str) -> None:
    done = inside(*arguments)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.count("\n") == 1
    assert message in done.stderr


def test_data_sets_are_listed_by_a_process(dmte: Run) -> None:
    done = dmte("datasets", "list")
    assert done.returncode == 0, done.stderr
    assert "concepts" in done.stdout
