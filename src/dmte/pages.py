"""The commands on the pages of the documentation: run, compared with what is shown, shown anew.

The ``sh`` and ``console`` blocks of a page run in order, in an empty folder. An ``sh`` block makes
the files that commands read. In a ``console`` block a command of dmte stands after every ``$``,
perhaps fed by a pipe, after variables, or with its output sent to a file. Under it may stand what
it prints, results and warnings as they come, on a terminal of 100 columns; a line of three dots
stands for lines that are left out, three dots inside a line for words.

What is printed is compared with what is shown:

- words, order and layout must be the same, but for blanks in front of a number;
- a whole number must be the same, one with decimals or in per cent within 2 of its last digit or
  2 % of itself, since the last bits depend on the machine and its number of threads;
- seconds, megabytes and the epoch that was best are the machine's and may be anything.

A block whose first line is ``# not run: WHY`` is read by people only. ``python -m dmte.pages FILE
...``, a part of ``make document``, runs the pages and writes what differs anew.
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

from dmte.cli import main

NOT_RUN = "# not run: "
DOTS = "..."
SHARED = ("train", "concepts")
"""How commands begin whose model all pages share: with the same words, training runs once."""
COLUMNS = "100"

BLOCK = re.compile(r"^```(sh|console)\n(.*?)^```", re.DOTALL | re.MULTILINE)
COMMAND = re.compile(r"^\$ (.*)\n((?:(?!\$ ).*\n)*)", re.MULTILINE)
NUMBER = re.compile(r" *(\d[\d,]*(?:\.\d+)?)")
OF_THE_MACHINE = re.compile(
    r"\d[\d.]* s\b|\d[\d,.]* MB\b|(?<=epoch )\d+"
    r"|^(?:training memory, MB|peak memory, MB|epoch seconds|training seconds|megabytes) .*$"
    r"|\d\.\d {3,}[\d,]{3,}$",  # the last columns of evaluate: seconds of a fit, megabytes
    re.MULTILINE,
)


@dataclass(frozen=True, slots=True)
class Asked:
    """A command on a page, and what is shown under it."""

    command: str
    shown: str
    why_not: str | None = None
    """Why it is not run, if it is not."""

    def words(self) -> tuple[str, dict[str, str], list[str], str | None]:
        """Return what feeds it, its variables, its arguments and the file it prints to.

        Raises:
            ValueError: It is no command of dmte.
        """
        feeder, _, last = self.command.rpartition(" | ")
        words = shlex.split(last, comments=True)
        out = words[words.index(">") + 1] if ">" in words else None
        words = words[: words.index(">")] if ">" in words else words
        variables = {}
        while words and re.match(r"[A-Z_]+=", words[0]):
            name, _, value = words.pop(0).partition("=")
            variables[name] = value
        if not words or words[0] != "dmte":
            raise ValueError(f"only dmte is run, not {self.command!r}")
        return feeder, variables, words[1:], out


def asked_on(page: str) -> Iterator[str | Asked]:
    r"""Yield what a page has run, in order: the text of an ``sh`` block, or a command.

    >>> list(asked_on("```console\n$ dmte --version\ndmte 1.0\n```\n"))
    [Asked(command='dmte --version', shown='dmte 1.0\n', why_not=None)]
    """
    for block in BLOCK.finditer(page):
        kind, lines = block.groups()
        first = lines.partition("\n")[0]
        why = first.removeprefix(NOT_RUN) if first.startswith(NOT_RUN) else None
        if kind == "sh":
            yield lines
            continue
        for command in COMMAND.finditer(lines):
            yield Asked(command[1], command[2], why)


@dataclass(slots=True)
class Runner:
    """Runs the commands of pages in this process, and trains the model they share once."""

    shelf: Path
    """The folder that keeps the models."""
    trained: dict[str, tuple[str, Path, str]] = field(default_factory=dict)
    """What a command that trains printed, where its model is kept, and the model's name."""

    def run_page(self, page: str, folder: Path) -> Iterator[tuple[Asked, str]]:
        """Yield every command of a page that is run, and what it prints, in ``folder``.

        Raises:
            RuntimeError: One ended otherwise than well without a line that says why.
        """
        for asked in asked_on(page):
            if isinstance(asked, str):
                make_files(asked, folder)
            elif asked.why_not is None:
                yield asked, self.run(asked, folder)

    def run(self, asked: Asked, folder: Path) -> str:
        """Return what one command prints."""
        feeder, variables, arguments, out = asked.words()
        if asked.command in self.trained:
            printed, kept, name = self.trained[asked.command]
            shutil.copytree(kept, folder / name, dirs_exist_ok=True)
            return printed
        fed = _fed_by(feeder, folder)
        with _environment({"COLUMNS": COLUMNS} | variables), chdir(folder), _stdin(fed):
            code, printed, results = _call(arguments)
        mistakes = re.findall(r"^dmte: (?!warning: ).*$", printed, flags=re.MULTILINE)
        if code != (2 if mistakes else 0):
            raise RuntimeError(f"$ {asked.command}\nended with {code} and printed\n{printed}")
        if out is not None:
            (folder / out).write_text(results, "utf-8")
            printed = ""
        if tuple(arguments[:2]) == SHARED and not mistakes:
            name = arguments[arguments.index("--out") + 1]
            kept = self.shelf / str(len(self.trained))
            shutil.copytree(folder / name, kept)
            self.trained[asked.command] = (printed, kept, name)
        return printed


def matches(shown: str, printed: str) -> bool:
    r"""Tell whether what is shown is what was printed, as the head of this module has it.

    >>> matches("a 0.512\n...\nend", "a 0.513\nmiddle\nend\n")
    True
    >>> matches("432 vertices in 1.5 s", "431 vertices in 1.5 s")
    False
    """
    shown, printed = shown.strip(), printed.strip()
    free = [found.span() for found in OF_THE_MACHINE.finditer(shown)]
    pattern, expected, at = "", [], 0
    for number in NUMBER.finditer(shown):
        pattern += _literally(shown[at : number.start()]) + r" *(\d[\d,]*(?:\.\d+)?)"
        is_free = any(low <= number.start(1) < high for low, high in free)
        expected.append(None if is_free else _Number(number[1], shown[number.end() :]))
        at = number.end()
    found = re.fullmatch(pattern + _literally(shown[at:]), printed, re.DOTALL)
    return found is not None and all(
        number is None or number.is_close(other)
        for number, other in zip(expected, found.groups(), strict=True)
    )


def show_anew(shown: str, printed: str) -> str:
    r"""Return what was printed with that left out which was left out before.

    >>> show_anew("vertices 3\n...\nin ... s\n", "vertices 4\nmore\nin 5 s\n")
    'vertices 4\n...\nin ... s\n'
    """
    if not shown:
        return ""
    new = [line.rstrip() for line in printed.strip("\n").split("\n")]
    parts = _split(shown.rstrip("\n").split("\n"))
    if len(parts) == 1:
        places = [range(len(new))]
    else:
        middle = [_place(part, new) for part in parts[1:-1]]
        tail = len(new) - len(parts[-1])
        places = [range(len(parts[0])), *middle, range(tail, len(new))]
    lines = [[new[at] for at in place] for place in places]
    kept = [
        [_with_dots(old, line) for old, line in zip(part, found, strict=True)]
        if len(part) == len(found)
        else found
        for part, found in zip(parts, lines, strict=True)
    ]
    return "\n".join(line for part in _joined(kept) for line in part) + "\n"


def rewrite(page: str, runner: Runner) -> str:
    """Return a page with the outputs that no longer match replaced."""
    with tempfile.TemporaryDirectory() as folder:
        found = list(runner.run_page(page, Path(folder)))
    anew = iter(
        asked.shown if matches(asked.shown, printed) else show_anew(asked.shown, printed)
        for asked, printed in found
    )

    def command(part: re.Match[str]) -> str:
        return f"$ {part[1]}\n{next(anew)}"

    def block(part: re.Match[str]) -> str:
        if part[1] == "sh" or part[2].startswith(NOT_RUN):
            return part[0]
        return f"```console\n{COMMAND.sub(command, part[2])}```"

    return BLOCK.sub(block, page)


@dataclass(frozen=True, slots=True)
class _Number:
    """A number on a page and what follows it."""

    written: str
    after: str

    def is_close(self, other: str) -> bool:
        decimals = len(self.written.partition(".")[2])
        if not decimals and not self.after.startswith(" %"):
            return other == self.written
        mine, theirs = (float(number.replace(",", "")) for number in (self.written, other))
        return abs(mine - theirs) <= max(2.001 * 10.0**-decimals, 0.02 * mine)


def _literally(text: str) -> str:
    return ".*?".join(map(re.escape, text.split(DOTS)))


def _split(lines: Sequence[str]) -> list[list[str]]:
    """Return the lines between lines of dots."""
    parts: list[list[str]] = [[]]
    for line in lines:
        if line == DOTS:
            parts.append([])
        else:
            parts[-1].append(line)
    return parts


def _joined(parts: Sequence[list[str]]) -> Iterator[list[str]]:
    for number, part in enumerate(parts):
        yield [DOTS, *part] if number else part


def _place(part: Sequence[str], lines: Sequence[str]) -> range:
    """Return where the lines are that begin like the first of a part, whatever its numbers."""
    start = NUMBER.sub("", part[0]).split(DOTS)[0]
    at = next(at for at, line in enumerate(lines) if NUMBER.sub("", line).startswith(start))
    return range(at, at + len(part))


def _with_dots(old: str, new: str) -> str:
    """Return a new line with the words left out that three dots stood for in the old one."""
    kept = [re.sub(r"\\?\d+", r"\\d+", re.escape(part)) for part in old.split(DOTS)]
    found = re.fullmatch("(" + ").*?(".join(kept) + ")", new)
    return new if found is None else DOTS.join(found.groups())


def make_files(script: str, folder: Path) -> None:
    """Run a block that makes files; dmte and python are those of this process."""
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    environment = os.environ | {"PATH": path}
    subprocess.run(["sh", "-ec", script], cwd=folder, check=True, env=environment)


def _fed_by(feeder: str, folder: Path) -> bytes:
    if not feeder:
        return b""
    return subprocess.run(["sh", "-c", feeder], cwd=folder, check=True, capture_output=True).stdout


def _call(arguments: Sequence[str]) -> tuple[int, str, str]:
    """Return how a command ended, all that it said, and its results alone."""
    everything, results = io.StringIO(), io.StringIO()
    code: object = 0
    with redirect_stderr(everything), redirect_stdout(_Both(everything, results)):
        try:
            main(list(arguments))
        except SystemExit as ended:
            code = ended.code
    said = everything.getvalue().replace("\r\n", "\n")  # Lines of CSV end so.
    return int(str(code or 0)), said, results.getvalue()


class _Both(io.StringIO):
    """Writes to two files."""

    def __init__(self, *files: io.StringIO) -> None:
        super().__init__()
        self._files = files

    def write(self, text: str) -> int:
        """Write to both."""
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
    """Write the pages anew that show what is no longer printed, and name them."""
    torch.set_num_threads(1)  # As the tests do, for the same bits.
    with tempfile.TemporaryDirectory() as shelf:
        runner = Runner(Path(shelf))
        for path in paths:
            page = path.read_text("utf-8")
            anew = rewrite(page, runner)
            if anew != page:
                path.write_text(anew, "utf-8")
                print(path)  # noqa: T201


if __name__ == "__main__":
    _rewrite_all([Path(name) for name in sys.argv[1:]])
