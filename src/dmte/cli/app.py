"""The command line: verbs on a network or a model.

Results go to stdout, progress and warnings to stderr. A mistake of the user's is one line and exit
code 2; a failure of the system is one line and exit code 1. ``--debug`` shows the traceback
instead.
"""

import sys
import traceback
import warnings
from collections.abc import Callable, Mapping
from functools import partial
from importlib import import_module
from io import TextIOWrapper
from types import MappingProxyType
from typing import Annotated, Any

import typer
from typer.core import TyperGroup
from typer.exceptions import TyperException

from dmte.cli.options import IS_DEBUGGING, LINE, DebugOption, with_flags
from dmte.errors import ConfigError, DmteError, DmteWarning, Interrupted, LostProcessError
from dmte.runtime.spelling import propose

INTERRUPTED = 130
"""The exit code of a process that Ctrl-C ended, by the shell's convention; typer's as well."""

VERBS: Mapping[str, str] = MappingProxyType(
    {
        "demo": "Train on the bundled network: scores, neighbors, a picture.",
        "info": "Show what a network or a model is, and what training takes.",
        "train": "Learn one vector per vertex and store the model.",
        "tune": "Search better settings for one network.",
        "similar": "Find the vertices closest to a vertex or to a text.",
        "suggest": "Find links that are missing.",
        "explain": "Show why two vertices score as they do.",
        "classify": "Label the vertices that have no label yet.",
        "embed": "Find vectors for vertices that came after training.",
        "plot": "Draw a map of a model, its training, or results.",
        "export": "Write the vectors to a file for other programs.",
        "evaluate": "Measure methods by hidden links or by labels.",
        "reproduce": "Measure the tables and figures of the paper again.",
        "datasets": "List, fetch and find networks known by name.",
    }
)
"""Every verb in a line. ``dmte.cli.VERB`` holds it, imported when it is used: torch is slow."""


def _nothing() -> None:
    """Stand for a verb that is not imported."""


class Verbs(TyperGroup):
    """The verbs, each imported when it is used."""

    _is_listed = False  # Whether only their names and lines are asked for.

    def list_commands(self, ctx: Any) -> list[str]:  # noqa: ARG002
        """Return the names of the verbs."""
        return list(VERBS)

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        """Return a verb as a command.

        Raises:
            ConfigError: There is no such verb.
        """
        if cmd_name not in VERBS:
            if ctx.resilient_parsing:  # A shell completes; it has no place for a message.
                return None
            raise ConfigError(f"there is no command {cmd_name!r}; {propose(cmd_name, VERBS)}")
        alone = typer.Typer(rich_markup_mode=None, add_completion=False)
        if self._is_listed:
            alone.command(cmd_name, help=VERBS[cmd_name])(_nothing)
            return typer.main.get_command(alone)
        verb = getattr(import_module(f"dmte.cli.verbs.{cmd_name}"), cmd_name)
        if isinstance(verb, typer.Typer):
            return typer.main.get_command(verb)
        alone.command(cmd_name)(with_flags(verb))
        return typer.main.get_command(alone)

    def shell_complete(self, ctx: Any, incomplete: str) -> Any:
        """Return the verbs and options that begin so, without importing any verb."""
        self._is_listed = True
        return super().shell_complete(ctx, incomplete)

    def format_commands(self, ctx: Any, formatter: Any) -> None:  # noqa: ARG002
        """Write a line per verb, without importing any."""
        with formatter.section("Commands"):
            formatter.write_dl(list(VERBS.items()))


app = typer.Typer(
    name="dmte",
    cls=Verbs,
    help="Turn a network of linked texts into one vector per vertex, and ask it things.",
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _show_version(asked: bool) -> bool:
    if asked:
        from importlib.metadata import version

        print(f"dmte {version('dmte')}")
        raise typer.Exit
    return asked


@app.callback()
def _options(
    show_version: Annotated[
        bool,
        typer.Option("--version", callback=_show_version, is_eager=True, help="Show the version."),
    ] = False,
    debug: DebugOption = False,
) -> None: ...


def main(arguments: list[str] | None = None) -> None:
    """Run the command line; exits the process."""
    given = sys.argv[1:] if arguments is None else arguments
    LINE.set(tuple(given))
    IS_DEBUGGING.set(False)
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper):
            stream.reconfigure(errors="replace")  # A terminal may not know λ.
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("always", DmteWarning)
            warnings.showwarning = partial(_show_warning, warnings.showwarning)
            code = app(given or ["--help"], prog_name="dmte", standalone_mode=False)
    except BrokenPipeError:
        sys.stderr.close()
        sys.exit(1)
    except (TyperException, DmteError, OSError, MemoryError, RuntimeError) as problem:
        message, code = _explain(problem)
        if IS_DEBUGGING.get():
            traceback.print_exc()
        _stop(message, code, is_said=IS_DEBUGGING.get())
    if code == INTERRUPTED:
        _stop("interrupted", code)
    sys.exit(code or 0)


def _explain(problem: Exception) -> tuple[str, int]:
    """Return what went wrong in a sentence, and the exit code."""
    if isinstance(problem, Interrupted):
        return str(problem), INTERRUPTED
    if isinstance(problem, TyperException):
        return problem.format_message(), 2
    if isinstance(problem, LostProcessError):  # No mistake of the user's.
        return str(problem), 1
    if isinstance(problem, DmteError):
        return str(problem), 2
    return _why_the_system_failed(problem), 1


def _show_warning(
    show_others: Callable[..., None], message: Warning | str, kind: type[Warning], *place: Any
) -> None:
    if issubclass(kind, DmteWarning):
        print(f"dmte: warning: {' '.join(str(message).split())}", file=sys.stderr)
    else:
        show_others(message, kind, *place)


def _why_the_system_failed(problem: Exception) -> str:
    """Return a sentence; a failure that is our own mistake is raised again, with its traceback."""
    # torch has no error class of its own for want of memory.
    if isinstance(problem, MemoryError) or "allocate memory" in str(problem):
        return "out of memory; smaller settings, such as --dim, need less"
    if isinstance(problem, RuntimeError):
        raise problem
    return str(problem)


def _stop(message: str, code: int, *, is_said: bool = False) -> None:
    if not is_said:
        print(f"dmte: {' '.join(message.split())}", file=sys.stderr)
    sys.exit(code)
