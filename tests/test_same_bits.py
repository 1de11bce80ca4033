"""Stored models, checkpoints, journals and vectors load, and come out as they were.

``tests/data/make_fixtures.py`` wrote them and has the functions that compute them again. With the
processor and the packages that it recorded, numbers must agree to the bit. Elsewhere additions
happen in another order, and numbers must agree within ``TOLERANCE``. The name of every test ends
in which of the two was compared.
"""

import json
import runpy
import shutil
import tomllib
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import dmte

pytest.importorskip("optuna", reason="tuning needs the extra dmte[tune]")
pytest.importorskip("usearch", reason="approximate search needs the extra dmte[search]")
jsonschema = pytest.importorskip("jsonschema", reason="needs jsonschema, which make setup installs")

DATA = Path(__file__).parent / "data"
SCHEMAS = Path(__file__).parents[1] / "docs" / "schemas"
MADE = runpy.run_path(str(DATA / "make_fixtures.py"))
TOLERANCE = 1e-3
"""Of a number, or of 1. Older vector instructions and another kernel of BLAS, tried where the
fixtures were made, moved one number in a thousand by more than a tenth of this, and none beyond."""


def stored_json(name: str) -> Any:
    return json.loads((DATA / name).read_text("utf-8"))


IS_SAME_PLACE = MADE["environment"]() == stored_json("environment.json")
HOW = "to-the-bit" if IS_SAME_PLACE else f"within-{TOLERANCE:g}"


def each(names: Iterable[str]) -> pytest.MarkDecorator:
    return pytest.mark.parametrize("name", list(names))


def assert_same(found: np.ndarray, expected: np.ndarray) -> None:
    assert (found.dtype, found.shape) == (expected.dtype, expected.shape)
    if IS_SAME_PLACE:
        assert found.tobytes() == expected.tobytes()
    else:
        np.testing.assert_allclose(found, expected, atol=TOLERANCE, rtol=TOLERANCE)


def assert_same_json(found: Any, expected: Any) -> None:
    """Compare answers: numbers like vectors, everything else exactly."""
    if IS_SAME_PLACE:
        assert found == expected
        return
    assert type(found) is type(expected)
    if isinstance(expected, dict):
        assert list(found) == list(expected)
        assert_same_json(list(found.values()), list(expected.values()))
    elif isinstance(expected, list):
        assert len(found) == len(expected)
        for one, other in zip(found, expected, strict=True):
            assert_same_json(one, other)
    elif isinstance(expected, float):
        assert found == pytest.approx(expected, abs=TOLERANCE)
    else:
        assert found == expected


@pytest.fixture(autouse=True, params=[HOW])
def one_thread() -> Iterator[None]:
    with MADE["one_thread"]():
        yield


@pytest.fixture
def copy_of(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """A function that copies a fixture into an empty working folder and returns its name there."""
    monkeypatch.chdir(tmp_path)

    def copy(name: str) -> Path:
        source, target = DATA / name, Path(Path(name).name)
        if source.is_dir():
            shutil.copytree(source, target)
        else:
            shutil.copy(source, target)
        return target

    return copy


@pytest.mark.medium
@each(MADE["CASES"])
def test_training_gives_the_stored_vectors(name: str) -> None:
    model = MADE["train"](MADE["CASES"][name])
    vectors, expected = model.embedding.vectors.numpy(), np.load(DATA / f"vectors/{name}.npy")
    if name != MADE["DIGEST_ONLY"]:
        assert_same(vectors, expected)
        return
    assert_same(vectors[: len(expected)], expected)
    about = stored_json(f"vectors/{name}.json")
    assert model.settings == dmte.Settings.from_dict(about.pop("settings"))
    assert list(vectors.shape) == about["shape"]
    if IS_SAME_PLACE:
        assert MADE["digest"](vectors) == about


@pytest.mark.medium
@each(MADE["STORED_MODELS"])
def test_a_stored_model_loads_and_is_what_training_gives_today(name: str, copy_of: Any) -> None:
    stored = dmte.TrainedModel.load(copy_of(f"models/{name}"))
    trained = MADE["train"](MADE["STORED_MODELS"][name])
    assert_same(stored.embedding.vectors.numpy(), trained.embedding.vectors.numpy())
    for key, found in trained.model.state_dict().items():
        assert_same(found.numpy(), stored.model.state_dict()[key].numpy())
    assert stored.settings == trained.settings
    assert stored.network.fingerprint() == trained.network.fingerprint()
    assert stored.vocabulary == trained.vocabulary


@each(MADE["STORED_MODELS"])
def test_a_stored_model_gives_new_vertices_and_texts_the_same_vectors(
    name: str, copy_of: Any
) -> None:
    found = MADE["outputs"](dmte.TrainedModel.load(copy_of(f"models/{name}")))
    with np.load(DATA / f"models/{name}.npz") as expected:
        assert set(found) == set(expected)
        for key in expected:
            assert_same(found[key], expected[key])


@each(MADE["STORED_MODELS"])
def test_a_model_saved_today_has_the_files_of_the_stored_one(name: str, copy_of: Any) -> None:
    folder = copy_of(f"models/{name}")
    dmte.TrainedModel.load(folder).save("again")
    parts, again = (
        json.loads(Path(one, "manifest.json").read_text())["parts"] for one in (folder, "again")
    )
    assert set(again) == set(parts)
    # config.json names the versions and the number of threads.
    del parts["config.json"], again["config.json"]
    assert again == parts


@each(MADE["STORED_MODELS"])
@pytest.mark.parametrize("question", MADE["QUESTIONS"])
def test_a_stored_model_answers_the_command_line_as_before(
    name: str, question: str, copy_of: Any
) -> None:
    words = MADE["QUESTIONS"][question]
    found = MADE["ask"](copy_of(f"models/{name}"), words)
    assert_same_json(found, stored_json(f"models/{name}.json")[question])
    assert_valid(words[0], found)


@each(MADE["STORED_MODELS"])
def test_what_info_prints_about_a_stored_model_is_what_its_schema_says(
    name: str, copy_of: Any
) -> None:
    assert_valid("info", MADE["ask"](copy_of(f"models/{name}"), ("info", "{model}")))


def assert_valid(schema: str, answer: Any) -> None:
    path = SCHEMAS / f"{schema}.json"
    jsonschema.Draft202012Validator(json.loads(path.read_text("utf-8"))).validate(answer)


def test_an_approximate_search_answers_as_before(copy_of: Any) -> None:
    folder = copy_of("models/recommended")
    found = MADE["ask"](folder, MADE["APPROXIMATE"])
    assert_same_json(found, stored_json("models/recommended.json")["approximate"])


@pytest.mark.medium
@each(MADE["INTERRUPTED"])
def test_a_stored_checkpoint_resumes_to_the_stored_vectors(name: str, copy_of: Any) -> None:
    folder = copy_of(f"runs/{name}.checkpoint")
    assert_same(MADE["resume"](name), np.load(DATA / f"runs/{name}.npy"))
    assert not folder.exists()


def test_a_stored_search_of_the_command_line_is_read_and_not_repeated(copy_of: Any) -> None:
    for name in ("tuned.toml", "tuned.toml.trials.jsonl"):
        copy_of(f"tuned/{name}")
    settings = tomllib.loads(Path("tuned.toml").read_text("utf-8"))
    journal = Path("tuned.toml.trials.jsonl").read_bytes()
    out, error = MADE["dmte_command"](*MADE["TUNE"], "--json", "--quiet")
    assert (json.loads(out), error) == (stored_json("tuned/tuned.json"), "")
    added_since = {"favor": "auc"}
    assert tomllib.loads(Path("tuned.toml").read_text("utf-8")) == settings | added_since
    # If comments of the file are in other words today, its digest is noted again; no trial is.
    added = Path("tuned.toml.trials.jsonl").read_bytes().removeprefix(journal).splitlines()
    assert len(added) <= 1
    assert all(line.startswith(b'{"written":') for line in added)


def test_a_stored_journal_is_read_and_not_repeated(copy_of: Any) -> None:
    journal = copy_of("tuned/trials.jsonl")
    before = journal.read_bytes()
    assert MADE["search"](journal, MADE["TRIALS"]) == stored_json("tuned/outcomes.json")["read"]
    assert journal.read_bytes() == before


@pytest.mark.medium
def test_a_stored_search_goes_on_with_the_same_trial(copy_of: Any) -> None:
    journal, expected = copy_of("tuned/trials.jsonl"), stored_json("tuned/outcomes.json")
    known = len(MADE["lines_of"](journal))
    outcome = MADE["search"](journal, MADE["TRIALS"] + 1)
    assert_same_json(MADE["lines_of"](journal)[known:], expected["added"])
    assert_same_json(outcome, expected["continued"])
