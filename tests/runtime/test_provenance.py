"""Provenance: revision and processor, without personal data."""

import json
import shutil
import subprocess
from pathlib import Path

import pytest

from dmte.runtime import provenance as module
from dmte.runtime.provenance import build_info, processor, revision


@pytest.fixture
def package(tmp_path: Path) -> Path:
    """A package in a checkout of one commit."""
    if shutil.which("git") is None:
        pytest.skip("there is no git here")
    folder = tmp_path / "src" / "package"
    folder.mkdir(parents=True)
    (folder / "__init__.py").write_text("")
    (tmp_path / "results.json").write_text("{}")
    (tmp_path / ".gitignore").write_text(".venv\n")
    named = ("-c", "user.name=nobody", "-c", "user.email=nobody@example.org")
    for words in (["init", "-q"], ["add", "."], [*named, "commit", "-qm", "Begin"]):
        subprocess.run(["git", *words], cwd=tmp_path, check=True)
    return folder


def test_a_revision_is_the_commit_the_package_is_run_from(package: Path) -> None:
    asked = ["git", "rev-parse", "HEAD"]
    commit = subprocess.run(asked, cwd=package, check=True, capture_output=True, text=True).stdout
    assert revision(package) == commit[:7]


def test_a_changed_package_shows_and_changed_results_do_not(package: Path) -> None:
    commit = revision(package)
    (package.parents[1] / "results.json").write_text("[]")
    assert revision(package) == commit
    (package / "new.py").write_text("")
    assert revision(package) == f"{commit}+"


def test_an_untracked_package_in_a_checkout_has_no_revision(package: Path) -> None:
    installed = package.parents[1] / ".venv" / "package"
    shutil.copytree(package, installed)
    assert revision(installed) is None


def test_a_package_outside_of_any_checkout_has_no_revision(
    package: Path, tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch
) -> None:
    outside = tmp_path_factory.mktemp("outside")
    (outside / "__init__.py").write_text("")
    assert revision(outside) is None
    monkeypatch.setenv("PATH", str(outside))  # A folder without git.
    assert revision(package) is None


def test_processors_with_the_same_name_are_distinguished(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "CPUINFO", tmp_path / "cpuinfo")
    assert processor()  # The architecture, if the model is unknown.
    core = "processor\t: {}\ncpu family\t: 6\nmodel\t\t: 207\nmodel name\t: A Processor\n"
    (tmp_path / "cpuinfo").write_text("\n".join(core.format(number) for number in range(2)))
    assert processor() == "A Processor, family 6, model 207"
    (tmp_path / "cpuinfo").write_text("processor : 0\n")
    assert "family" not in processor()


def test_build_info_contains_versions_but_no_people_or_places() -> None:
    made = build_info()
    assert set(made) == {"dmte", "revision", "torch", "processor"}
    said = json.dumps(made)
    assert str(module.PACKAGE.parents[1]) not in said
    assert str(Path.home()) not in said or Path.home() == Path("/")
