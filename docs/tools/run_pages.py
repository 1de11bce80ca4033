"""The commands on the pages of the documentation: run them and update what they print.

The ``sh`` and ``console`` blocks of a page run in order, in an empty folder. An ``sh`` block makes
the files that commands read. In a ``console`` block a command of dmte follows every ``$``: it may
be fed by a pipe, follow variables, or send its output to a file. The lines under it are what it
prints on a terminal of 100 columns, results and warnings together. ``compare_output`` has the
rules of the comparison. A block whose first line is ``# not run: WHY`` is not run.

``python docs/tools/run_pages.py FILE ...``, a part of ``make document``, runs the pages and
rewrites the outputs that differ.
"""

import io
import os
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import chdir, contextmanager, redirect_stderr, redirect_stdout
from dataclasses import dataclass, field
from pathlib import Path

import torch

from compare_output import matches, update_shown
from dmte.cli import main

NOT_RUN = "# not run: "
SHARED = ("train", "concepts")
"""Start of the commands whose model is shared by all pages: equal commands train once."""
COLUMNS = "100"

BLOCK = re.compile(r"^```(sh|console)\n(.*?)^```", re.DOTALL | re.MULTILINE)
COMMAND = re.compile(r"^\$ (.*)\n((?:(?!\$ ).*\n)*)", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Command:
    """A command on a page, and the output shown under it."""

    line: str
    shown: str
    skip_reason: str | None = None
    """Why it is not run; ``None`` runs it."""

    def parse(self) -> "Call":
        """Split the line into its parts.

        Raises:
            ValueError: It is not a command of dmte.
        """
        feeder, _, last = self.line.rpartition(" | ")
        words = shlex.split(last, comments=True)
        out = words[words.index(">") + 1] if ">" in words else None
        words = words[: words.index(">")] if ">" in words else words
        variables = {}
        while words and re.match(r"[A-Z_]+=", words[0]):
            name, _, value = words.pop(0).partition("=")
            variables[name] = value
        if not words or words[0] != "dmte":
            raise ValueError(f"only dmte is run, not {self.line!r}")
        return Call(feeder, variables, words[1:], out)


@dataclass(frozen=True, slots=True)
class Call:
    """The parts of a command line."""

    feeder: str
    """The shell command whose output is piped into dmte."""
    variables: Mapping[str, str]
    arguments: Sequence[str]
    out: str | None
    """The file that receives the results."""


def parse_page(page: str) -> Iterator[str | Command]:
    r"""Yield what a page runs, in order: the text of an ``sh`` block, or a command.

    >>> list(parse_page("```console\n$ dmte --version\ndmte 1.0\n```\n"))
    [Command(line='dmte --version', shown='dmte 1.0\n', skip_reason=None)]
    """
    for block in BLOCK.finditer(page):
        kind, lines = block.groups()
        first = lines.partition("\n")[0]
        reason = first.removeprefix(NOT_RUN) if first.startswith(NOT_RUN) else None
        if kind == "sh":
            yield lines
            continue
        for command in COMMAND.finditer(lines):
            yield Command(command[1], command[2], reason)


@dataclass(slots=True)
class Runner:
    """Runs the commands of pages in this process, and trains a shared model once."""

    shelf: Path
    """The folder that keeps the models."""
    trained: dict[str, tuple[str, Path, str]] = field(default_factory=dict)
    """By training command: its output, the kept folder of the model, and the model's name."""

    def run_page(self, page: str, folder: Path) -> Iterator[tuple[Command, str]]:
        """Run a page in ``folder``; yield every command with its output.

        Raises:
            RuntimeError: A command failed without printing an error message.
        """
        for part in parse_page(page):
            if isinstance(part, str):
                make_files(part, folder)
            elif part.skip_reason is None:
                yield part, self.run(part, folder)

    def run(self, command: Command, folder: Path) -> str:
        """Run one command and return its output."""
        if command.line in self.trained:
            printed, kept, name = self.trained[command.line]
            shutil.copytree(kept, folder / name, dirs_exist_ok=True)
            return printed
        call = command.parse()
        fed = _output_of(call.feeder, folder)
        with _environment({"COLUMNS": COLUMNS, **call.variables}), chdir(folder), _stdin(fed):
            code, printed, results = _call(call.arguments)
        errors = re.findall(r"^dmte: (?!warning: ).*$", printed, flags=re.MULTILINE)
        if code != (2 if errors else 0):
            raise RuntimeError(f"$ {command.line}\nended with {code} and printed\n{printed}")
        if call.out is not None:
            (folder / call.out).write_text(results, "utf-8")
            printed = ""
        if tuple(call.arguments[:2]) == SHARED and not errors:
            self._keep(command, call.arguments, printed, folder)
        return printed

    def _keep(self, command: Command, arguments: Sequence[str], printed: str, folder: Path) -> None:
        name = arguments[arguments.index("--out") + 1]
        kept = self.shelf / str(len(self.trained))
        shutil.copytree(folder / name, kept)
        self.trained[command.line] = (printed, kept, name)


def rewrite(page: str, runner: Runner) -> str:
    """Return a page with the outputs that no longer match replaced."""
    with tempfile.TemporaryDirectory() as folder:
        found = list(runner.run_page(page, Path(folder)))
    outputs = iter(
        command.shown if matches(command.shown, printed) else update_shown(command.shown, printed)
        for command, printed in found
    )

    def command(part: re.Match[str]) -> str:
        return f"$ {part[1]}\n{next(outputs)}"

    def block(part: re.Match[str]) -> str:
        if part[1] == "sh" or part[2].startswith(NOT_RUN):
            return part[0]
        return f"```console\n{COMMAND.sub(command, part[2])}```"

    return BLOCK.sub(block, page)


def make_files(script: str, folder: Path) -> None:
    """Run a block that makes files; dmte and python are those of this process."""
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    environment = os.environ | {"PATH": path}
    subprocess.run(["sh", "-ec", script], cwd=folder, check=True, env=environment)


def _output_of(feeder: str, folder: Path) -> bytes:
    if not feeder:
        return b""
    return subprocess.run(["sh", "-c", feeder], cwd=folder, check=True, capture_output=True).stdout


def _call(arguments: Sequence[str]) -> tuple[int, str, str]:
    """Run dmte; return its exit code, all that it printed, and its results alone."""
    everything, results = io.StringIO(), io.StringIO()
    code: object = 0
    with redirect_stderr(everything), redirect_stdout(_Tee(everything, results)):
        try:
            main(list(arguments))
        except SystemExit as ended:
            code = ended.code
    printed = everything.getvalue().replace("\r\n", "\n")  # CSV lines end in \r\n.
    return int(str(code or 0)), printed, results.getvalue()


class _Tee(io.StringIO):
    """Writes to several files."""

    def __init__(self, *files: io.StringIO) -> None:
        super().__init__()
        self._files = files

    def write(self, text: str) -> int:
        for file in self._files:
            file.write(text)
        return len(text)


@contextmanager
def _environment(variables: Mapping[str, str]) -> Iterator[None]:
    before = dict(os.environ)
    os.environ.update(variables)
    try:
        yield
    finally:
        os.environ.clear()
        os.environ.update(before)


@contextmanager
def _stdin(content: bytes) -> Iterator[None]:
    before, sys.stdin = sys.stdin, io.TextIOWrapper(io.BytesIO(content))
    try:
        yield
    finally:
        sys.stdin = before


def _rewrite_all(paths: Sequence[Path]) -> None:
    """Rewrite the pages whose output changed, and print their names."""
    torch.set_num_threads(1)  # As the tests do, for the same bits.
    with tempfile.TemporaryDirectory() as shelf:
        runner = Runner(Path(shelf))
        for path in paths:
            page = path.read_text("utf-8")
            new = rewrite(page, runner)
            if new != page:
                path.write_text(new, "utf-8")
                print(path)


if __name__ == "__main__":
    _rewrite_all([Path(name) for name in sys.argv[1:]])
