"""Files that other programs read: citation, workflow, issue forms, the site's navigation."""

import re
import tomllib
from collections.abc import Iterator
from datetime import date
from pathlib import Path
from typing import Any

import pytest
import yaml

import dmte
from site_hooks import REPOSITORY_PAGES

ROOT = Path(__file__).parents[1]
YAML_FILES = sorted(
    [
        *ROOT.glob("*.yml"),
        *ROOT.glob("*.cff"),
        *ROOT.glob(".*.yaml"),
        *ROOT.rglob(".github/**/*.yml"),
    ]
)


def load(path: Path) -> Any:
    return yaml.safe_load(path.read_text("utf-8"))


def leaves(node: Any) -> Iterator[str]:
    """Yield the pages of a navigation."""
    if isinstance(node, str):
        yield node
    else:
        for part in node.values() if isinstance(node, dict) else node:
            yield from leaves(part)


@pytest.mark.parametrize("path", YAML_FILES, ids=lambda path: path.name)
def test_a_yaml_file_can_be_read(path: Path) -> None:
    assert isinstance(load(path), dict)


def test_the_citation_names_this_version_and_the_paper() -> None:
    citation = load(ROOT / "CITATION.cff")
    assert (citation["cff-version"], citation["version"]) == ("1.2.0", dmte.__version__)
    assert citation["license"] == project()["license"]
    assert [author["name"] for author in citation["authors"]] == [
        author["name"] for author in project()["authors"]
    ]
    paper = citation["preferred-citation"]
    names = [author["family-names"] for author in paper["authors"]]
    assert (paper["title"], paper["year"], names) == (
        "Diffusion Maps for Textual Network Embedding",
        2018,
        ["Zhang", "Li", "Shen", "Carin"],
    )


def project() -> dict[str, Any]:
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))
    return dict(settings["project"])


def test_the_changelog_has_the_released_version_with_its_date() -> None:
    changelog = (ROOT / "CHANGELOG.md").read_text("utf-8")
    heading = rf"^## {re.escape(dmte.__version__)} - (\S+)$"
    (day,) = re.findall(heading, changelog, flags=re.MULTILINE)
    assert date.fromisoformat(day).year >= 2026
    assert re.findall(r"^## (\S+)", changelog, flags=re.MULTILINE)[0] == "Unreleased"


def test_the_workflow_runs_the_checks_on_every_python_that_is_claimed() -> None:
    (job,) = load(ROOT / ".github" / "workflows" / "ci.yml")["jobs"].values()
    assert job["steps"][-1] == {"run": ".ci/run"}
    claimed = re.findall(r"Python :: (3\.\d+)", "\n".join(project()["classifiers"]))
    assert claimed
    assert set(claimed) <= set(job["strategy"]["matrix"]["python"])
    assert f">={claimed[0]}" == project()["requires-python"]


def test_an_issue_form_asks_for_something() -> None:
    for form in (ROOT / ".github" / "ISSUE_TEMPLATE").glob("[!c]*.yml"):
        content = load(form)
        assert {"name", "description", "body"} <= set(content)
        assert all({"type", "id", "attributes"} <= set(field) for field in content["body"])


def test_every_page_is_in_the_navigation_of_the_site() -> None:
    docs = ROOT / "docs"
    pages = {page.relative_to(docs).as_posix() for page in docs.rglob("*.md")} - {"README.md"}
    listed = list(leaves(load(ROOT / "mkdocs.yml")["nav"]))
    assert sorted(listed) == sorted(pages | set(REPOSITORY_PAGES.values()))


def test_the_site_fetches_nothing_from_elsewhere() -> None:
    settings = load(ROOT / "mkdocs.yml")
    assert settings["theme"]["font"] is False
    assert "://" not in (ROOT / "mkdocs.yml").read_text("utf-8")
