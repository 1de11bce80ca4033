"""The command line: verbs on a network or a model.

Results go to stdout, progress and warnings to stderr. A mistake of the user's is one line and exit
code 2; a failure of the system is one line and exit code 1.
"""

import sys
from importlib.metadata import version
from io import TextIOWrapper
from typing import Annotated

import typer
from typer.exceptions import TyperException

from dmte.cli.datasets import datasets
from dmte.cli.demo import demo
from dmte.cli.evaluate import evaluate
from dmte.cli.info import info
from dmte.cli.reproduce import reproduce
from dmte.cli.similar import similar
from dmte.cli.train import train
from dmte.errors import DmteError, Interrupted

INTERRUPTED = 130
"""The exit code of a process that Ctrl-C ended, by the shell's convention; typer's as well."""

app = typer.Typer(
    name="dmte",
    help="Turn a network of linked texts into one vector per vertex, and ask it things.",
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"]},
)
for verb in (demo, info, train, similar, reproduce):
    app.command()(verb)
app.add_typer(evaluate, name="evaluate")
app.add_typer(datasets, name="datasets")


def _show_version(asked: bool) -> bool:
    if asked:
        print(f"dmte {version('dmte')}")
        raise typer.Exit
    return asked


@app.callback()
def _options(
    show_version: Annotated[
        bool,
        typer.Option("--version", callback=_show_version, is_eager=True, help="Show the version."),
    ] = False,
) -> None: ...


def main(arguments: list[str] | None = None) -> None:
    """Run the command line; exits the process."""
    given = sys.argv[1:] if arguments is None else arguments
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper):
            stream.reconfigure(errors="replace")  # A terminal may not know λ.
    try:
        code = app(given or ["--help"], standalone_mode=False)
    except Interrupted as problem:
        _stop(str(problem), code=INTERRUPTED)
    except (TyperException, DmteError) as problem:
        message = problem.format_message() if isinstance(problem, TyperException) else str(problem)
        _stop(message, code=2)
    except BrokenPipeError:
        sys.stderr.close()
        sys.exit(1)
    except (OSError, MemoryError, RuntimeError) as problem:
        _stop(_why_the_system_failed(problem), code=1)
    if code == INTERRUPTED:
        _stop("interrupted", code)
    sys.exit(code or 0)


def _why_the_system_failed(problem: Exception) -> str:
    """Return a sentence; a failure that is our own mistake is raised again, with its traceback."""
    # torch has no error class of its own for want of memory.
    if isinstance(problem, MemoryError) or "allocate memory" in str(problem):
        return "out of memory; smaller settings, such as --dim, need less"
    if isinstance(problem, RuntimeError):
        raise problem
    return str(problem)


def _stop(message: str, code: int) -> None:
    print(f"dmte: {' '.join(message.split())}", file=sys.stderr)
    sys.exit(code)
