"""The commands in the documentation: those of ``docs`` run and print what is shown.

``docs/tools/run_pages.py`` runs a page, and ``make document`` rewrites what differs. Commands that
are not run are listed here, so that no new one is missed; they are parsed.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import typer
from typer.core import TyperGroup

from compare_output import matches, update_shown
from dmte.cli.app import app
from run_pages import Command, Runner, parse_page, rewrite

ROOT = Path(__file__).parents[1]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
PARSED = {"README.md", "docs/evaluation.md", "docs/networks.md"}
"""Pages with commands for a folder of the reader's, or with those that a verb's page runs."""
NOT_RUN = {
    "docs/scale.md": ["papers.parquet is yours"],
    "docs/verbs/datasets.md": ["needs the network"],
    "docs/verbs/demo.md": ["trains twice; another test runs it"],
    "docs/verbs/evaluate.md": ["takes minutes"],
    "docs/verbs/plot.md": ["takes minutes"],
    "docs/verbs/reproduce.md": ["needs the data sets, and hours"],
    "docs/verbs/tune.md": ["takes minutes"],
}


def name_of(page: Path) -> str:
    return str(page.relative_to(ROOT))


def commands(page: Path) -> Iterator[Command]:
    return (part for part in parse_page(page.read_text("utf-8")) if isinstance(part, Command))


def is_run(page: Path) -> bool:
    return name_of(page) not in PARSED and any(one.skip_reason is None for one in commands(page))


def understand(command: Any, arguments: list[str]) -> None:
    """Parse a line down to its last verb, and run nothing."""
    if isinstance(command, TyperGroup):
        verb, *rest = arguments
        understand(command.get_command(typer.Context(command), verb), rest)
    else:
        command.make_context("dmte", arguments)


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_the_commands_on_a_page_are_understood(page: Path) -> None:
    for command in commands(page):
        if "dmte" in command.line and not command.shown.startswith("dmte: "):  # An error is shown.
            understand(typer.main.get_command(app), list(command.parse().arguments))


@pytest.fixture(scope="module")
def runner(tmp_path_factory: pytest.TempPathFactory) -> Runner:
    return Runner(tmp_path_factory.mktemp("shelf"))


def by_effort(page: Path) -> Any:
    """Return a page as a parameter: what a newcomer runs first is medium, all else is slow."""
    marks = pytest.mark.medium if name_of(page) == "docs/quick-start.md" else pytest.mark.slow
    return pytest.param(page, marks=marks, id=name_of(page))


@pytest.mark.parametrize("page", [by_effort(page) for page in PAGES if is_run(page)])
def test_a_page_shows_what_its_commands_print(page: Path, tmp_path: Path, runner: Runner) -> None:
    for command, printed in runner.run_page(page.read_text("utf-8"), tmp_path):
        is_shown = not command.shown or matches(command.shown, printed)
        assert is_shown, f"make document updates the page\n$ {command.line}\n{printed}"


def test_commands_that_are_not_run_are_listed() -> None:
    found: dict[str, list[str]] = {}
    for page in PAGES:
        for reason in dict.fromkeys(command.skip_reason for command in commands(page)):
            if reason is not None:
                found.setdefault(name_of(page), []).append(reason)
    assert found == NOT_RUN
    assert {name_of(page) for page in PAGES if "```console" in page.read_text("utf-8")} >= PARSED


@pytest.mark.parametrize(
    ("shown", "printed", "is_same"),
    [
        ("a 0.512\n...\nend", "a 0.513\nmiddle\nend\n", True),
        ("a 0.512\nend", "a 0.512\nmiddle\nend\n", False),
        ("a 0.512", "a 0.612", False),
        ("vertex b", "vertex c", False),
        ("432 vertices", "431 vertices", False),
        ("  9.5   1", " 10.5   1", False),
        ("   9.9   1", "  10.0   1", True),
        ("5 epochs in 0.8 s", "5 epochs in 11.2 s", True),
        ("95 % sure", "96 % sure", True),
        ("in ... s, seed 0", "in 4 s, seed 0", True),
        ("in ... s, seed 0", "in 4 s, seed 1", False),
    ],
)
def test_output_is_compared_except_for_what_depends_on_the_machine(
    shown: str, printed: str, *, is_same: bool
) -> None:
    assert matches(shown, printed) == is_same


def test_omitted_lines_stay_omitted() -> None:
    shown = "vertices 3\n...\nlabels 2\n...\nin ... s, seed 0\n"
    printed = "vertices 4\nedges 5\nlabels 1\nmore\nin 0.1 s, seed 1\n"
    assert update_shown(shown, printed) == "vertices 4\n...\nlabels 1\n...\nin ... s, seed 1\n"
    assert update_shown("", printed) == ""


@pytest.mark.medium
def test_wrong_output_on_a_page_is_replaced(runner: Runner) -> None:
    page = "```sh\ntrue\n```\n\n```console\n$ dmte datasets path conceps\n?\n$ dmte --help\n```\n"
    new = rewrite(page, runner)
    assert new.startswith("```sh\ntrue\n```\n\n```console\n$ dmte datasets path conceps\ndmte: ")
    assert new.endswith("\n$ dmte --help\n```\n")
    assert rewrite(new, runner) == new
