"""Griffe extension: the examples of docstrings as code, for pages that mkdocstrings makes.

Examples stand in docstrings without a heading, as ``>>>`` lines after a blank line. Markdown would
read these as quotations.
"""

import re
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from griffe import Object

try:
    from griffe import Extension
except ImportError:  # The function below is tested without the extra docs.
    Extension = object

EXAMPLE = re.compile(r"^>>> .*(?:\n(?!\s*$).*)*", re.MULTILINE)


class FenceExamples(Extension):  # type: ignore[misc]  # mypy skips griffe
    """Puts the examples of every docstring into fenced blocks."""

    def on_object(self, *, obj: "Object", **_: Any) -> None:
        """Change the docstring of an object that Griffe has read."""
        if obj.docstring is not None:
            obj.docstring.value = fence_examples(obj.docstring.value)


def fence_examples(docstring: str) -> str:
    r"""Return a docstring with its examples in fenced blocks.

    >>> fence_examples("Add.\n\n>>> 1 + 1\n2")
    'Add.\n\n```pycon\n>>> 1 + 1\n2\n```'
    """
    return EXAMPLE.sub(lambda found: f"```pycon\n{found[0]}\n```", docstring)
