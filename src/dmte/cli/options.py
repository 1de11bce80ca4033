"""Options that several verbs share, and the flags that every verb has: --quiet and --debug."""

import inspect
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextvars import ContextVar
from inspect import Parameter
from pathlib import Path
from typing import Annotated, Any, no_type_check

import typer

from dmte.errors import DmteWarning

LINE: ContextVar[tuple[str, ...]] = ContextVar("LINE", default=())
"""The arguments after ``dmte``."""
IS_DEBUGGING: ContextVar[bool] = ContextVar("IS_DEBUGGING", default=False)
"""Whether the arguments include ``--debug``."""


def _set_debugging(debug: bool) -> bool:
    """Take effect at once: a later argument may be the mistake."""
    if debug:
        IS_DEBUGGING.set(True)
    return debug


QuietOption = Annotated[
    bool, typer.Option("--quiet", "-q", help="Show no progress and no warnings.")
]
DebugOption = Annotated[
    bool, typer.Option("--debug", callback=_set_debugging, help="Show the traceback of an error.")
]
JsonOption = Annotated[bool, typer.Option("--json", help="Print one JSON object.")]
CsvOption = Annotated[bool, typer.Option("--csv", help="Print comma-separated values.")]
ForceOption = Annotated[bool, typer.Option("--force", help="Replace existing files.")]
SeedOption = Annotated[int, typer.Option(help="Seed; the same seed gives the same result.")]
ModelArgument = Annotated[Path, typer.Argument(metavar="MODEL", help="Model folder.")]
CountOption = Annotated[int, typer.Option("-k", help="Number of results.")]


def keyword_parameters(command: Callable[..., None]) -> list[Parameter]:
    """The parameters of a command as keywords, without ``**settings``."""
    return [
        parameter.replace(kind=Parameter.KEYWORD_ONLY)
        for parameter in inspect.signature(command).parameters.values()
        if parameter.kind is not Parameter.VAR_KEYWORD
    ]


def added_parameters(options: Mapping[str, Any], default: object = None) -> Iterator[Parameter]:
    """A keyword parameter per option, with its annotation."""
    for name, annotation in options.items():
        yield Parameter(name, Parameter.KEYWORD_ONLY, default=default, annotation=annotation)


def with_parameters(
    run: Callable[..., None], command: Callable[..., None], parameters: Iterable[Parameter]
) -> Callable[..., None]:
    """Give ``run`` the name and help of a command, and the parameters typer makes options of."""
    signature = inspect.Signature([*parameters])
    run.__name__, run.__doc__ = command.__name__, command.__doc__
    run.__signature__ = signature  # type: ignore[attr-defined]
    run.__annotations__ = {p.name: p.annotation for p in signature.parameters.values()}
    run.__annotations__["return"] = None
    return run


def with_flags(command: Callable[..., None]) -> Callable[..., None]:
    """Add the flags of every verb; a verb that shows progress takes ``quiet`` itself."""
    own = keyword_parameters(command)
    names = {parameter.name for parameter in own}
    flags = {"quiet": QuietOption, "debug": DebugOption}
    missing = {name: option for name, option in flags.items() if name not in names}

    def run(**given: Any) -> None:
        if given["quiet"]:
            warnings.simplefilter("ignore", DmteWarning)  # main restores the filters.
        command(**{name: value for name, value in given.items() if name in names})

    return with_parameters(run, command, [*own, *added_parameters(missing, default=False)])


def verb_group(help_line: str) -> typer.Typer:
    """A verb with subcommands; without one it prints its help."""
    group = typer.Typer(
        help=help_line, invoke_without_command=True, add_completion=False, rich_markup_mode=None
    )

    @group.callback()
    @no_type_check  # typer requires its own Context but passes that of click.
    def show_help(context: typer.Context) -> None:
        if context.invoked_subcommand is None:
            print(context.get_help())

    return group


def complete(known: Callable[[], Iterable[str]]) -> Callable[[str], list[str]]:
    """Shell completion of a name, or of the last name in a list with commas.

    >>> complete(lambda: ["tadw", "tfidf", "dmte"])("dmte,t")
    ['dmte,tadw', 'dmte,tfidf']
    """

    def completions(incomplete: str) -> list[str]:
        before, comma, begun = incomplete.rpartition(",")
        return [f"{before}{comma}{name}" for name in known() if name.startswith(begun)]

    return completions


def names_in(text: str) -> list[str]:
    """Names separated by commas.

    >>> names_in("dmte, tfidf,")
    ['dmte', 'tfidf']
    """
    return [name.strip() for name in text.split(",") if name.strip()]
