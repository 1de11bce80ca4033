"""Fields of a dataclass with the docstring under each, for help."""

import ast
import inspect
import re
from dataclasses import MISSING, fields
from itertools import pairwise
from textwrap import dedent
from typing import Any, NamedTuple, get_type_hints


class Field(NamedTuple):
    """A field of a dataclass."""

    name: str
    type: Any
    """The annotation, without the metadata of ``Annotated``."""
    default: Any
    doc: str
    """The docstring under it, on one line."""


def fields_of(kind: type[Any]) -> list[Field]:
    """Fields of a dataclass, each with a default and a docstring.

    >>> from dmte.settings import ObjectiveWeights
    >>> fields_of(ObjectiveWeights)[0]
    Field(name='text_text', type=<class 'float'>, default=1.0, doc='α_tt.')
    """
    types, docs = get_type_hints(kind), _docstrings(kind)
    return [
        Field(
            field.name,
            types[field.name],
            field.default if field.default_factory is MISSING else field.default_factory(),
            docs[field.name],
        )
        for field in fields(kind)
    ]


def first_sentence(text: str) -> str:
    """Text up to its first full stop, except that of "Eq.".

    >>> first_sentence("A loss (Eq. 13). It is logistic.")
    'A loss (Eq. 13).'
    """
    return re.split(r"(?<=\.)(?<!Eq\.) ", text)[0]


def _docstrings(kind: type[Any]) -> dict[str, str]:
    """The string under each annotated name in the source of a class."""
    (definition,) = ast.parse(dedent(inspect.getsource(kind))).body
    assert isinstance(definition, ast.ClassDef)  # noqa: S101 - for type checkers
    return {
        ast.unparse(node.target): " ".join(str(after.value.value).split())
        for node, after in pairwise(definition.body)
        if isinstance(node, ast.AnnAssign)
        and isinstance(after, ast.Expr)
        and isinstance(after.value, ast.Constant)
    }
