"""Processes that the package starts do not run files of the current folder."""

import os
import shutil
import subprocess
import sys
from importlib import import_module
from pathlib import Path

import pytest

from dmte.runtime.children import SAFE_PATH, module_paths, python_command, safe_spawning
from dmte.text.tokenize import number_words

PLANTED = ("json.py", "torch.py", "sitecustomize.py", "pickle.py", "dmte/__init__.py")


@pytest.fixture
def planted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A current folder with modules that leave a file when they run."""
    folder, canary = tmp_path / "notes", tmp_path / "canary"
    (folder / "dmte").mkdir(parents=True)
    for name in (*PLANTED, "dmte/__main__.py"):
        (folder / name).write_text(f"open({str(canary)!r}, 'a').write(__file__)\n")
    monkeypatch.chdir(folder)
    return canary


def test_the_planted_modules_run_without_the_safe_path(planted: Path) -> None:
    command = python_command("-m", "dmte")
    subprocess.run([part for part in command if part != "-P"], check=True)
    assert "__main__" in planted.read_text()


@pytest.mark.medium
def test_workers_of_the_tokenizer_do_not_run_files_of_the_current_folder(
    planted: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(import_module("dmte.text.tokenize"), "MIN_PARALLEL_CHARACTERS", 0)
    monkeypatch.setattr(sys, "path", ["", ".", *sys.path])
    found = number_words(["to be or", "not to be"], processes=2)
    assert found.words == ["to", "be", "or", "not"]
    assert not planted.exists()


@pytest.mark.slow
@pytest.mark.parametrize(
    ("line", "path"),
    [
        ("train concepts --out model --processes 2 --epochs 1 --dim 8", None),
        ("evaluate links concepts --methods tfidf,random --workers 2 --seeds 1", "/absolute"),
    ],
)
def test_a_command_does_not_run_files_of_the_current_folder(
    planted: Path, line: str, path: str | None
) -> None:
    """Whether PYTHONPATH is unset or names another folder."""
    script = shutil.which("dmte", path=Path(sys.executable).parent)
    if script is None:
        pytest.skip("the script dmte is not installed")
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    if path is not None:
        environment["PYTHONPATH"] = path
    command = [script, *line.split()]
    done = subprocess.run(
        command, env=environment, capture_output=True, text=True, check=False, timeout=300
    )
    assert done.returncode == 0, done.stderr
    assert not planted.exists(), planted.read_text()


def test_spawned_processes_have_the_safe_path_for_a_moment(monkeypatch: pytest.MonkeyPatch) -> None:
    for value in (None, "", "1"):
        if value is None:
            monkeypatch.delenv(SAFE_PATH, raising=False)
        else:
            monkeypatch.setenv(SAFE_PATH, value)
        with safe_spawning():
            assert os.environ[SAFE_PATH] == "1"
        assert os.environ.get(SAFE_PATH) == value


def test_modules_are_found_in_absolute_folders_only(monkeypatch: pytest.MonkeyPatch) -> None:
    there = str(Path(sys.executable).parent)
    monkeypatch.setattr(sys, "path", ["", there, "."])
    assert module_paths() == [there]
