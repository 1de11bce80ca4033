"""Packages that are not needed for most things, imported when they are."""

from importlib import import_module
from typing import Any

from dmte.errors import MissingExtraError


def require(module: str, *, extra: str, purpose: str, package: str | None = None) -> Any:
    """Return an optional module; ``package`` is what pip calls it, if not the same.

    >>> require("json", extra="json", purpose="a list").dumps([1])
    '[1]'

    Raises:
        MissingExtraError: It is not installed; says which extra installs it.
    """
    try:
        return import_module(module)
    except ImportError as problem:
        raise MissingExtraError(
            f"{purpose} needs {package or module}, which is not installed; "
            f"pip install 'dmte[{extra}]'"
        ) from problem
