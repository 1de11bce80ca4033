"""The roles of the columns of a table: named by the user, or guessed from usual names.

A named column must exist. A guess takes the first match in a short list of usual names, ignoring
case. In an edge table of two or three columns, the ends may have any names.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, fields
from types import MappingProxyType

from dmte.errors import NetworkError

VERTEX_GUESSES: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {
        "id": ("id", "vertex", "vertex_id", "node", "node_id", "key", "name"),
        "text": ("text", "abstract", "description", "content", "body", "summary"),
        "label": ("label", "labels", "class", "classes", "area", "group", "category", "categories"),
        "title": ("title", "headline"),
        "links": ("links", "references", "cites", "referenced_works"),
    }
)
"""Usual names of the columns of a vertex table, best first."""

END_GUESSES = (
    ("source", "target"),
    ("from", "to"),
    ("src", "dst"),
    ("citing", "cited"),
    ("source_id", "target_id"),
    ("from_id", "to_id"),
    ("head", "tail"),
    ("start", "end"),
)
"""Usual names of the two ends of an edge, in pairs, best first."""

WEIGHT_GUESSES = ("weight", "weights")
"""Usual names of the weight s_ij, best first."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Columns:
    """The columns to read a network from; ``None`` means guess.

    >>> Columns(id="doi", text="abstract").label is None
    True
    """

    id: str | None = None
    """The id of a vertex."""
    text: str | None = None
    """The text of a vertex; if it is named, no title is prepended."""
    label: str | None = None
    """The labels of a vertex: none, one, or several."""
    title: str | None = None
    """The title of a vertex, prepended to its text."""
    links: str | None = None
    """The ids a vertex links to, instead of an edge table."""
    source: str | None = None
    """The id an edge starts from."""
    target: str | None = None
    """The id an edge leads to."""
    weight: str | None = None
    """The weight of an edge."""

    def check_tables(self, *, vertices: bool, edges: bool) -> None:
        """Check that the table of every named column is present.

        >>> Columns(text="abstract").check_tables(vertices=True, edges=False)

        Raises:
            NetworkError: A table is missing, or edges are given twice, as a table and as links.
        """
        for role in (entry.name for entry in fields(self)):
            name, kind = getattr(self, role), "vertex" if role in VERTEX_GUESSES else "edge"
            if name is not None and not (vertices if kind == "vertex" else edges):
                raise NetworkError(
                    f"the {role} column {name!r} belongs to the {kind} table, which is not given"
                )
        if edges and self.links is not None:
            raise NetworkError(
                f"the links column {self.links!r} cannot be combined with an edge table; drop one"
            )


GUESSED = Columns()
"""Guess every column."""


@dataclass(frozen=True, slots=True, kw_only=True)
class VertexColumns:
    """Names of the columns of a vertex table, by role."""

    id: str
    text: str | None
    label: str | None
    title: str | None
    links: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class EdgeColumns:
    """Names of the columns of an edge table, by role."""

    source: str
    target: str
    weight: str | None
    by_place: bool = False
    """Whether an end was chosen by the order of the columns, not by its name."""


def find_vertex_columns(table: str, present: Iterable[str], columns: Columns) -> VertexColumns:
    """Find the columns of a vertex table; ``table`` is its name in errors.

    >>> find_vertex_columns("papers.csv", ["ID", "Year", "Abstract"], Columns()).text
    'Abstract'

    Raises:
        NetworkError: A named column does not exist, or no column has a usual name of an id.
    """
    present = list(present)
    found = {role: _named(table, role, present, columns) for role in VERTEX_GUESSES}
    guesses = {role: _guess(present, names) for role, names in VERTEX_GUESSES.items()}
    if found["text"] is not None:
        del guesses["title"]
    for role, guess in guesses.items():
        if found[role] is None and guess not in found.values():
            found[role] = guess
    name = found.pop("id")
    if name is None:
        raise NetworkError(
            f"{table} has no column that is obviously the id, only {listed(present)}; "
            "rename one of them to 'id', or use --id-column"
        )
    return VertexColumns(id=name, **found)


def guess_column(present: Iterable[str], role: str) -> str | None:
    """Column of a vertex table with a usual name for this role, or ``None``.

    >>> guess_column(["ID", "Year"], "id"), guess_column(["ID", "Year"], "text")
    ('ID', None)
    """
    return _guess(list(present), VERTEX_GUESSES[role])


def find_edge_columns(table: str, present: Iterable[str], columns: Columns) -> EdgeColumns:
    """Find the columns of an edge table; ``table`` is its name in errors.

    >>> find_edge_columns("friends.csv", ["Year", "From", "To", "Weight"], Columns()).target
    'To'
    >>> find_edge_columns("friends.csv", ["her", "him"], Columns()).target
    'him'

    Raises:
        NetworkError: A named column does not exist, or the ends are not obvious.
    """
    present = list(present)
    named = [_named(table, role, present, columns) for role in ("source", "target", "weight")]
    source, target, weight = named
    if weight is None:
        weight = _guess([name for name in present if name not in named], WEIGHT_GUESSES)
    for usual_source, usual_target in END_GUESSES:
        start = _guess(present, (usual_source,)) if source is None else source
        end = _guess(present, (usual_target,)) if target is None else target
        if start is not None and end is not None and start != end:
            return EdgeColumns(source=start, target=end, weight=weight)
    return _take_by_place(table, present, (source, target, weight))


def _take_by_place(
    table: str, present: list[str], known: tuple[str | None, str | None, str | None]
) -> EdgeColumns:
    """Take the first unused columns as source and target, in this order.

    Another column counts as a weight only by its name: it could be a year.
    """
    left = iter([name for name in present if name not in known])
    source, target = (next(left, None) if name is None else name for name in known[:2])
    weight = known[2]
    if source is None or target in (None, source) or len(present) not in (2, 3):
        raise NetworkError(
            f"{table} has no columns that are obviously the ends of an edge, only "
            f"{listed(present)}; rename two of them to 'source' and 'target', or use "
            "--source-column and --target-column"
        )
    return EdgeColumns(source=source, target=target, weight=weight, by_place=True)


def _named(table: str, role: str, present: list[str], columns: Columns) -> str | None:
    name: str | None = getattr(columns, role)
    if name is not None and name not in present:
        raise NetworkError(
            f"{table} has no column {name!r} for the {role}; it has {listed(present)}"
        )
    return name


def _guess(present: list[str], names: tuple[str, ...]) -> str | None:
    spelled = {_spelling(name): name for name in reversed(present)}
    return next((spelled[name] for name in names if name in spelled), None)


def _spelling(name: str) -> str:
    return name.strip().casefold().replace(" ", "_").replace("-", "_")


def check_unique(place: str, names: Sequence[str]) -> None:
    """Check that no two columns share a name; ``place`` begins the error.

    Raises:
        NetworkError: Two columns do.
    """
    twice = next((name for name, count in Counter(names).items() if count > 1), None)
    if twice is not None:
        raise NetworkError(f"{place}: two columns have the name {twice!r}; rename one of them")


def listed(names: Iterable[str]) -> str:
    """Names of columns for an error message, at most 20."""
    present = list(names)
    shown = ", ".join(repr(name[:40]) for name in present[:20]) or "no columns"
    return f"{shown} and {len(present) - 20} more" if len(present) > 20 else shown
