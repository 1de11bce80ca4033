"""Explaining a score and labelling vertices; their JSON fits the schemas."""

import csv
import io
import json
import subprocess
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from dmte.network import TextualNetwork, read_network
from dmte.recipes import VARIANTS
from dmte.training.method import DmteMethod

jsonschema = pytest.importorskip("jsonschema")
Run = Callable[..., subprocess.CompletedProcess[str]]
SCHEMAS = Path(__file__).parents[3] / "docs" / "schemas"
Ask = Callable[..., str]
pytestmark = pytest.mark.usefixtures("areas")


@pytest.fixture(scope="module", autouse=True)
def models(cli_folder: Path, concepts_model: Path, network: TextualNetwork) -> None:
    """A model of the other kind beside that of the fixture, in the folder ``bilstm``."""
    assert concepts_model.parent == cli_folder
    bilstm = replace(VARIANTS["bilstm"], dim=16, epochs=1)
    DmteMethod(bilstm).train(network, seed=0).save(cli_folder / "bilstm")


@pytest.fixture
def ask(inside: Run) -> Ask:
    def run(*arguments: str) -> str:
        done = inside(*arguments)
        assert (done.returncode, done.stderr) == (0, "")
        return done.stdout

    return run


@pytest.fixture(scope="module")
def network() -> TextualNetwork:
    return read_network("concepts")


@pytest.fixture(scope="module")
def areas(cli_folder: Path, network: TextualNetwork) -> Path:
    """The labels of every third entry, and of some that are wrong, as a user would write them."""
    rows = list(zip(network.ids, (min(names) for names in network.labels or ()), strict=True))
    files = {
        "areas.csv": ["id,area", *(f"{name},{label}" for name, label in rows[::3])],
        "several.csv": [
            "id,area",
            *(f"{name},{label};{len(name) % 2}" for name, label in rows[::3]),
        ],
        "one.tsv": ["id\tlabel", *(f"{name}\tall" for name, _ in rows[:9])],
        "nobody.csv": ["id,label", "b-tre,databases"],
        "twice.csv": ["id,label", "b-tree,databases", "b-tree,algorithms"],
        "wide.csv": ["id,topic,year", "b-tree,databases,1970"],
        "topics.jsonl": [json.dumps({"node": name, "topic": [label]}) for name, label in rows[::3]],
    }
    for name, lines in files.items():
        (cli_folder / name).write_text("\n".join(lines) + "\n")
    return cli_folder / "areas.csv"


def checked(text: str, verb: str) -> Any:
    """The output of ``--json``, validated against its schema."""
    schema = json.loads((SCHEMAS / f"{verb}.json").read_text())
    jsonschema.Draft202012Validator.check_schema(schema)
    found = json.loads(text)
    jsonschema.validate(found, schema, cls=jsonschema.Draft202012Validator)
    return found


@pytest.mark.parametrize(
    ("arguments", "first"),
    [
        (["explain", "model", "b-tree", "red-black-tree"], "A  b-tree "),
        (["classify", "model", "--labels", "areas.csv"], "144 vertices labelled with 12 labels"),
    ],
)
def test_a_verb_runs_as_a_process(dmte: Run, arguments: list[str], first: str) -> None:
    done = dmte(*arguments)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith(first)
    assert "\x1b" not in done.stdout


def test_an_explanation_as_json_adds_up(ask: Ask) -> None:
    pair = ("b-tree", "red-black-tree")
    found = checked(ask("explain", "model", *pair, "-k", "5", "--json"), "explain")
    assert (found["a"], found["b"]) == pair
    assert len(found["words"]) == len(found["vertices"]) == 5
    for name in ("words", "vertices"):
        parts = [*found[name], found[f"other_{name}"]]
        total = sum(part["contribution"] for part in parts)
        assert total == pytest.approx(found["score"], abs=1e-4)
    assert sum(sum(row) for row in found["hop_pairs"]) == pytest.approx(found["score"], abs=1e-4)
    assert found["words"][0]["word"] == "tree"
    assert found["common_neighbors"] == ["binary-search-tree"]


def test_an_explanation_without_words_says_so(ask: Ask) -> None:
    pair = ("b-tree", "red-black-tree")
    found = checked(ask("explain", "bilstm", *pair, "--json"), "explain")
    assert found["words"] is found["pairs"] is found["other_words"] is None
    assert "a text is not the sum of its words" in ask("explain", "bilstm", *pair)


def test_an_explanation_is_a_page_that_fits_the_terminal(ask: Ask) -> None:
    text = ask("explain", "model", "b-tree", "gradient-descent")
    assert "not linked" in text
    assert all(len(line) <= 90 and line == line.rstrip() for line in text.splitlines())
    for heading in ("halves", "hops of the text half", "words", "related words", "connections"):
        assert f"\n{heading}" in text


@pytest.mark.parametrize("file", ["areas.csv", "topics.jsonl"])
def test_labels_are_learned_from_a_file(ask: Ask, network: TextualNetwork, file: str) -> None:
    found = checked(ask("classify", "model", "--labels", file, "--json"), "classify")
    assert (found["labelled"], found["unlabelled"], found["multi_label"]) == (144, 288, False)
    truth = dict(zip(network.ids, network.labels or (), strict=True))
    right = [one["labels"][0]["label"] in truth[one["id"]] for one in found["predictions"]]
    assert len(right) == 288
    assert sum(right) / len(right) > 0.7
    assert abs(found["estimate"]["micro_f1"] - sum(right) / len(right)) < 0.12


def test_several_labels_as_csv_and_in_a_file(ask: Ask, cli_folder: Path) -> None:
    text = ask("classify", "model", "--labels", "several.csv", "--csv", "--out", "a.csv")
    rows = list(csv.DictReader(io.StringIO(text)))
    assert list(rows[0]) == ["id", "label", "confidence"]
    assert any(";" in row["label"] for row in rows)
    assert all(row["label"].count(";") == row["confidence"].count(";") for row in rows)
    with (cli_folder / "a.csv").open(newline="") as file:
        assert list(csv.DictReader(file)) == rows


def test_the_json_file_equals_the_printed_json(ask: Ask, cli_folder: Path) -> None:
    printed = ask("classify", "model", "--labels", "areas.csv", "--json", "--out", "a.json")
    assert json.loads((cli_folder / "a.json").read_text()) == json.loads(printed)


def test_labels_in_a_table(ask: Ask) -> None:
    lines = ask("classify", "model", "--labels", "areas.csv", "-k", "4").splitlines()
    assert lines[0] == "144 vertices labelled with 12 labels, 288 without"
    assert lines[1].startswith("cross-validation, 5 folds: Macro-F1 ")
    assert len(lines) == 3 + 4 + 1
    assert all(len(line) <= 90 for line in lines)
    assert "and 284 more" in lines[-1]


def test_with_every_vertex_labelled_only_the_estimate_is_shown(ask: Ask) -> None:
    text = ask("classify", "model")
    assert text.startswith("432 vertices labelled with 12 labels, 0 without\ncross-validation")
    assert text.endswith("every vertex already has a label\n")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["explain", "model", "b-tre", "trie"], "did you mean 'b-tree'"),
        (["explain", "model", "trie", "trie"], "must be two different vertices, not both 'trie'"),
        (["explain", "model", "trie"], "Missing argument 'B'"),
        (["explain", "model", "trie", "b-tree", "-k", "0"], "k must be at least 1"),
        (["explain", "nowhere", "trie", "b-tree"], "nowhere"),
        (["classify", "model", "--labels", "nobody.csv"], "nobody.csv, line 2: the id must be one"),
        (["classify", "model", "--labels", "twice.csv"], "twice.csv, line 3: the id 'b-tree'"),
        (["classify", "model", "--labels", "wide.csv"], "no column that is obviously the label"),
        (["classify", "model", "--labels", "one.tsv"], "have the label 'all'"),
        (["classify", "model", "--labels", "none.csv"], "none.csv does not exist"),
        (["classify", "model", "--label-column", "area"], "give it with --labels FILE"),
        (["classify", "model", "--labels", "areas.csv", "--out", "areas.csv"], "exists already"),
        (["classify", "model", "--out", "labels.xlsx"], "must end in .csv or .json"),
        (["classify", "model", "--json", "--csv"], "--json cannot be combined with --csv"),
    ],
)
def test_a_mistake_is_one_line(inside: Run, arguments: list[str], message: str) -> None:
    done = inside(*arguments)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.count("\n") == 1
    assert message in done.stderr
