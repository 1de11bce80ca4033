"""Flags that every verb has: ``--quiet`` and ``--debug``."""

import inspect
import warnings
from collections.abc import Callable
from contextvars import ContextVar
from inspect import Parameter
from typing import Annotated, Any

import typer

from dmte.errors import DmteWarning

QuietOption = Annotated[
    bool, typer.Option("--quiet", "-q", help="Show no progress and no warnings.")
]

IS_DEBUGGING: ContextVar[bool] = ContextVar("IS_DEBUGGING", default=False)
"""Whether the line that runs has ``--debug``."""


def _note(asked: bool) -> bool:
    """Remember the flag as soon as it is read: what comes after it may be the mistake."""
    if asked:
        IS_DEBUGGING.set(True)
    return asked


DebugOption = Annotated[
    bool, typer.Option("--debug", callback=_note, help="Show the traceback of an error.")
]


def with_flags(command: Callable[..., None]) -> Callable[..., None]:
    """Give a verb the flags; one that shows progress has its own ``quiet``, which it is told."""
    own = inspect.signature(command).parameters
    flags = {"quiet": QuietOption, "debug": DebugOption}
    added = [
        Parameter(name, Parameter.KEYWORD_ONLY, default=False, annotation=option)
        for name, option in flags.items()
        if name not in own
    ]

    def run(**given: Any) -> None:
        if given["quiet"]:
            warnings.simplefilter("ignore", DmteWarning)  # main puts the filters back.
        command(**{name: value for name, value in given.items() if name in own})

    parameters = [parameter.replace(kind=Parameter.KEYWORD_ONLY) for parameter in own.values()]
    run.__name__, run.__doc__ = command.__name__, command.__doc__
    run.__signature__ = inspect.Signature([*parameters, *added])  # type: ignore[attr-defined]
    run.__annotations__ = {p.name: p.annotation for p in [*parameters, *added]} | {"return": None}
    return run


LINE: ContextVar[tuple[str, ...]] = ContextVar("LINE", default=())
"""The arguments after ``dmte``."""
