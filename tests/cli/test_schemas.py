"""The output of ``--json`` matches the schemas in docs/schemas."""

import json
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

jsonschema = pytest.importorskip("jsonschema", reason="needs jsonschema, which make setup installs")

Run = Callable[..., subprocess.CompletedProcess[str]]
SCHEMAS = Path(__file__).parents[2] / "docs" / "schemas"
FEW = ("--methods", "tfidf", "--seeds", "2", "--workers", "1", "--quiet")
ANSWERS = [
    ("info", ("info", "concepts")),
    ("info", ("info", "model")),
    ("train", ("train", "concepts", "--out", "anew", "--epochs", "1", "--dim", "16", "--quiet")),
    ("similar", ("similar", "model", "--vertex", "b-tree")),
    ("similar", ("similar", "model", "--text", "a balanced tree")),
    ("suggest", ("suggest", "model", "-k", "2")),
    ("suggest", ("suggest", "model", "--vertex", "b-tree")),
    ("plot", ("plot", "model", "--by", "pca", "--out", "map.png")),
    ("plot", ("plot", "model", "--what", "training", "--out", "training.png")),
    ("datasets-list", ("datasets", "list")),
    pytest.param(
        "evaluate-links", ("evaluate", "links", "concepts", *FEW), marks=pytest.mark.medium
    ),
    pytest.param(
        "evaluate-classes",
        ("evaluate", "classes", "concepts", "--label-fraction", ".5", *FEW),
        marks=pytest.mark.slow,
    ),
]


def schema_of(name: str) -> dict[str, object]:
    schema: dict[str, object] = json.loads((SCHEMAS / f"{name}.json").read_text("utf-8"))
    return schema


@pytest.mark.usefixtures("concepts_model")
@pytest.mark.parametrize(("name", "arguments"), ANSWERS)
def test_json_output_matches_its_schema(name: str, arguments: tuple[str, ...], inside: Run) -> None:
    done = inside(*arguments, "--json")
    assert done.returncode == 0, done.stderr
    jsonschema.Draft202012Validator(schema_of(name)).validate(json.loads(done.stdout))


@pytest.mark.parametrize("path", sorted(SCHEMAS.glob("*.json")), ids=lambda path: path.stem)
def test_a_schema_is_valid_and_rejects_an_empty_object(path: Path) -> None:
    schema = schema_of(path.stem)
    jsonschema.Draft202012Validator.check_schema(schema)
    assert not jsonschema.Draft202012Validator(schema).is_valid({})
