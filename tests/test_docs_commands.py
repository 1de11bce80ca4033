"""The commands in the documentation: every one is understood, and those of a walk-through run.

A ``console`` block has a command after every ``$`` and perhaps what it prints; an ``sh`` block
makes the files that commands read. What is printed are the lines shown, but for their digits
(scores and seconds are the machine's) and for what ``...`` stands for.
"""

import io
import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import typer
from typer.core import TyperGroup

from dmte.cli import app, main

ROOT = Path(__file__).parents[1]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
WALKS = [ROOT / "docs" / "quick-start.md", *sorted((ROOT / "docs" / "how-to").glob("*.md"))]


def name_of(page: Path) -> str:
    return str(page.relative_to(ROOT))


def blocks(page: Path, *kinds: str) -> Iterator[tuple[str, str]]:
    """Yield the kind and the lines of every block of these kinds."""
    found = re.findall(r"^```(\w+)\n(.*?)^```", page.read_text("utf-8"), re.DOTALL | re.MULTILINE)
    yield from (block for block in found if block[0] in kinds)


def commands(console: str) -> Iterator[tuple[str, str]]:
    """Yield every command of a block, and what it prints as far as that is shown."""
    for part in re.split(r"^\$ ", console, flags=re.MULTILINE)[1:]:
        command, _, output = part.partition("\n")
        yield command, output


def split(command: str) -> tuple[str, list[str] | None]:
    """Return what feeds a command of dmte, and its arguments; None if it is not one."""
    feeder, pipe, asked = command.rpartition(" | ")
    words = shlex.split(asked if pipe else command, comments=True)
    return feeder, words[1:] if words[0] == "dmte" else None


def understand(command: Any, arguments: list[str]) -> None:
    """Parse a line down to its last verb, and run nothing."""
    if isinstance(command, TyperGroup):
        verb, *rest = arguments
        understand(command.get_command(typer.Context(command), verb), rest)
    else:
        command.make_context("dmte", arguments)


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_the_commands_on_a_page_are_understood(page: Path) -> None:
    for _, console in blocks(page, "console"):
        for command, _ in commands(console):
            before_redirection = re.sub(r" > \S+", "", command)
            _, arguments = split(before_redirection)
            if arguments:
                understand(typer.main.get_command(app), arguments)


@pytest.mark.parametrize("page", WALKS, ids=name_of)
def test_a_walk_through_prints_what_it_shows(
    page: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "100")
    for kind, lines in blocks(page, "sh", "console"):
        if kind == "sh":
            subprocess.run(["sh", "-ec", lines], check=True)
            continue
        for command, shown in commands(lines):
            printed = run(command, monkeypatch, capsys)
            assert not shown or matches(shown, printed), f"$ {command}\n{printed}"


def run(command: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> str:
    """Run a command of dmte, which must end well unless it prints an error; return what it says."""
    feeder, arguments = split(command)
    assert arguments is not None, f"only dmte can be run, not {command}"
    if feeder:
        fed = subprocess.run(["sh", "-c", feeder], check=True, capture_output=True).stdout
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(fed)))
    with pytest.raises(SystemExit) as stopped:
        main(arguments)
    out, error = capsys.readouterr()
    mistakes = re.findall(r"^dmte: (?!warning: ).*$", error, flags=re.MULTILINE)
    assert stopped.value.code == (2 if mistakes else 0), error
    return out or error


def matches(shown: str, printed: str) -> bool:
    """Tell whether this was printed, whatever the digits and what dots leave out."""
    parts = re.split(r"\.\.\.", re.sub(r"\d", "0", shown).strip())
    pattern = r".*?".join(map(re.escape, parts))
    return re.fullmatch(pattern, re.sub(r"\d", "0", printed).strip(), re.DOTALL) is not None


def test_what_is_shown_is_compared_but_for_digits_and_dots() -> None:
    assert matches("a 1.5 s\n...\nend", "a 2.7 s\nmiddle\nend\n")
    assert not matches("a 1.5 s\nend", "a 2.7 s\nmiddle\nend\n")
    assert not matches("vertex b", "vertex c\n")
