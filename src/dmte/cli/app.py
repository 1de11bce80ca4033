"""The command line: verbs on a network or a model.

Results go to stdout, progress and warnings to stderr. An error is one line. The exit code is 2 for
a mistake of the user and 1 for a failure of the system (``exit_codes``). ``--debug`` shows the
traceback instead.
"""

import sys
import traceback
import warnings
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from importlib import import_module
from io import TextIOWrapper
from types import MappingProxyType
from typing import Annotated, Any

import typer
from typer.core import TyperGroup
from typer.exceptions import TyperException

from dmte.cli.exit_codes import INTERRUPTED, SYSTEM_FAILURE, USERS_MISTAKE, exit_code
from dmte.cli.options import IS_DEBUGGING, LINE, DebugOption, with_flags
from dmte.cli.terminal import visible_output
from dmte.errors import ConfigError, DmteError, DmteWarning
from dmte.runtime.spelling import propose

VERBS: Mapping[str, str] = MappingProxyType(
    {
        "demo": "Train on the bundled network; show scores, neighbors and a map.",
        "info": "Describe a network or a model, and the cost of training.",
        "train": "Learn one vector per vertex and store the model.",
        "tune": "Search for better settings for a network.",
        "similar": "Find the vertices closest to a vertex or to a text.",
        "suggest": "Suggest missing links.",
        "explain": "Explain the score of two vertices.",
        "classify": "Predict labels for vertices without one.",
        "embed": "Compute vectors for new vertices.",
        "plot": "Plot a model, its training curves, or results.",
        "export": "Export vectors for other programs.",
        "evaluate": "Evaluate methods by link prediction or classification.",
        "reproduce": "Reproduce the tables and figures of the paper.",
        "datasets": "List, download and locate data sets.",
    }
)
"""The verbs with their summaries. A verb is imported only when it runs, because torch is slow."""


class Verbs(TyperGroup):
    """The verbs, each imported when it runs."""

    _only_names = False  # Completion needs no options.

    def list_commands(self, ctx: Any) -> list[str]:  # noqa: ARG002
        """Names of the verbs."""
        return list(VERBS)

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        """A verb as a command.

        Raises:
            ConfigError: The verb is unknown.
        """
        if cmd_name not in VERBS:
            if ctx.resilient_parsing:  # Shell completion cannot show an error.
                return None
            raise ConfigError(f"there is no command {cmd_name!r}; {propose(cmd_name, VERBS)}")
        single = typer.Typer(rich_markup_mode=None, add_completion=False)
        if self._only_names:
            single.command(cmd_name, help=VERBS[cmd_name])(lambda: None)
            return typer.main.get_command(single)
        verb = getattr(import_module(f"dmte.cli.verbs.{cmd_name}"), cmd_name)
        if isinstance(verb, typer.Typer):
            return typer.main.get_command(verb)
        single.command(cmd_name)(with_flags(verb))
        return typer.main.get_command(single)

    def shell_complete(self, ctx: Any, incomplete: str) -> Any:
        """Complete verbs and options without importing any verb."""
        self._only_names = True
        return super().shell_complete(ctx, incomplete)

    def format_commands(self, ctx: Any, formatter: Any) -> None:  # noqa: ARG002
        """List the verbs without importing any."""
        with formatter.section("Commands"):
            formatter.write_dl(list(VERBS.items()))


app = typer.Typer(
    name="dmte",
    cls=Verbs,
    help="Learn one vector per vertex of a network of linked texts, and query the vectors.",
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _show_version(show: bool) -> bool:
    if show:
        from importlib.metadata import version

        print(f"dmte {version('dmte')}")
        raise typer.Exit
    return show


@app.callback()
def _options(
    show_version: Annotated[
        bool,
        typer.Option("--version", callback=_show_version, is_eager=True, help="Show the version."),
    ] = False,
    debug: DebugOption = False,
) -> None: ...


def main(arguments: list[str] | None = None) -> None:
    """Run the command line and exit the process."""
    given = sys.argv[1:] if arguments is None else arguments
    LINE.set(tuple(given))
    IS_DEBUGGING.set(False)
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper):
            stream.reconfigure(errors="replace")  # A terminal may lack λ.
    with visible_output(), warnings.catch_warnings():
        warnings.simplefilter("always", DmteWarning)
        warnings.showwarning = partial(_show_warning, warnings.showwarning)
        sys.exit(_run(given or ["--help"]))


def _run(arguments: Sequence[str]) -> int:
    """Run a command, print its error if it fails, and return the exit code."""
    try:
        code: int | None = app(arguments, prog_name="dmte", standalone_mode=False)
    except BrokenPipeError:
        sys.stderr.close()
        return SYSTEM_FAILURE
    except Exception as problem:
        message, code = _explain(problem)
        if message is None or IS_DEBUGGING.get():
            traceback.print_exc()
        else:
            _print_error(message)
    else:
        if code == INTERRUPTED:
            _print_error("interrupted")
    return code or 0


def _explain(problem: Exception) -> tuple[str | None, int]:
    """Error message and exit code; a bug of our own has a traceback instead of a message."""
    if isinstance(problem, TyperException):
        return problem.format_message(), USERS_MISTAKE
    if isinstance(problem, DmteError):
        return str(problem), exit_code(problem)
    return _system_failure(problem), SYSTEM_FAILURE


def _show_warning(
    show_others: Callable[..., None], message: Warning | str, kind: type[Warning], *place: Any
) -> None:
    if issubclass(kind, DmteWarning):
        print(f"dmte: warning: {' '.join(str(message).split())}", file=sys.stderr)
    else:
        show_others(message, kind, *place)


def _system_failure(problem: Exception) -> str | None:
    """Message of a system failure, if it is one."""
    from dmte.runtime.memory import is_out_of_memory

    if is_out_of_memory(problem):
        return "out of memory; use smaller settings, for example --dim"
    if not isinstance(problem, OSError):
        return None
    where = "" if problem.filename is None else f"{problem.filename}: "
    return f"{where}{problem.strerror or problem}"


def _print_error(message: str) -> None:
    print(f"dmte: {' '.join(message.split())}", file=sys.stderr)
