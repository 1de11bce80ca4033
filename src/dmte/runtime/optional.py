"""Optional packages, imported when they are needed."""

from importlib import import_module
from typing import Any

from dmte.errors import MissingExtraError


def require(module: str, *, extra: str, purpose: str, package: str | None = None) -> Any:
    """Import an optional module.

    Args:
        module: Name of the module.
        extra: The extra of this package that installs it.
        purpose: The feature that needs it, for the error message.
        package: Name of the package for pip, if it differs from the module.

    >>> require("json", extra="json", purpose="a list").dumps([1])
    '[1]'

    Raises:
        MissingExtraError: The module is not installed.
    """
    try:
        return import_module(module)
    except ImportError as problem:
        raise MissingExtraError(
            f"{purpose} needs {package or module}, which is not installed; "
            f"pip install 'dmte[{extra}]'"
        ) from problem
