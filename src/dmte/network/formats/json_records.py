"""Read JSON as a table: one object per line or one list of objects, plain records or works.

A *work* is a record of a bibliographic service or a reference manager: OpenAlex with
``referenced_works`` and ``abstract_inverted_index``, or CSL-JSON as exported by Zotero and others.
Its abstract, title and labels are moved to the usual column names, unless those are present.

Lines are parsed and packed in batches. A list is parsed as a whole, so its text and its records
are in memory together: write large files with one record per line. PyArrow's reader of JSON is not
used: it accepts several objects on a line, turns 1 into 1.0, and crashes on a line ``null``.
"""

import json
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import chain
from typing import Any

from dmte.errors import NetworkError
from dmte.network.formats.packed_columns import PackedColumns, batches_of
from dmte.network.formats.source import Source
from dmte.network.formats.table import LazyColumns, Table
from dmte.runtime.progress import track

LISTS = ("results", "items", "works")
"""Keys under which an object may hold its list of records."""

LABELS = ("topics", "concepts", "keywords", "keyword", "categories")
"""Keys under which a work may hold its labels, best first."""

OPENALEX_SIGNS = frozenset({"referenced_works", "abstract_inverted_index"})
CSL_SIGNS = frozenset({"container-title", "issued", "citation-key", "citation-label"})

BETWEEN = 7046029254386353131
"""A number that is in no line, put between lines; no other spelling in JSON has this value."""

EXAMPLE = 'such as {"id": "a", "text": "..."}'


def read_json_lines(source: Source) -> Table:
    """Read one object per line.

    Raises:
        NetworkError: A line is not a JSON object, or a work has a malformed field.
    """
    with source.text_errors_first():
        return _read_lines(source, are_works=False)


def _read_lines(source: Source, *, are_works: bool) -> Table:
    """Read all lines; if one record is a work, all records are treated as works."""
    packed, objects = PackedColumns(), _objects(source)
    for lines, rows in objects:
        if not are_works and _has_works(rows):
            if packed.num_rows:  # Earlier rows were read as plain records: start over.
                return _read_lines(source, are_works=True)
            are_works = True
        records = _complete_all(source.name, lines, rows, objects) if are_works else rows
        packed.add_records(lines, records)
    return packed.table(source.name, packed.names(), open_links=are_works)


def _objects(source: Source) -> Iterator[tuple[list[int], list[dict[str, Any]]]]:
    """Yield the numbers and the objects of the lines that are not blank, in batches."""
    for numbers, lines in batches_of(enumerate(source.lines(newline="\n"), start=1)):
        if any(map(str.isspace, lines)):
            numbered = zip(numbers, lines, strict=True)
            numbers = [number for number, line in numbered if not line.isspace()]
            lines = [line for line in lines if not line.isspace()]
        objects = parse_together(lines)
        if objects is None:
            objects = parse_one_by_one(source.name, numbers, lines)
        yield numbers, objects


def parse_together(lines: Sequence[str]) -> list[dict[str, Any]] | None:
    """Parse lines by one call of the parser; return ``None`` if one may not be a valid object.

    The objects must alternate with the number put between the lines.

    >>> parse_together(['{"id": 1}', '{"id": 2}']), parse_together(['{"id": 1', '"n": 2}'])
    ([{'id': 1}, {'id': 2}], None)
    """
    if not lines:
        return []
    text = f",{BETWEEN},".join(lines)
    try:
        found: list[Any] = json.loads(f"[{text}]")
        if "\\u" in text:
            json.dumps(found, ensure_ascii=False).encode()
    except (ValueError, RecursionError):  # Including halves of surrogate pairs.
        return None
    objects, between = found[::2], found[1::2]
    num_between = len(lines) - 1
    if text.count(str(BETWEEN)) != num_between or len(found) != len(lines) + num_between:
        return None
    if between.count(BETWEEN) != num_between or not set(map(type, objects)) <= {dict}:
        return None
    return objects


def parse_one_by_one(
    name: str, numbers: Iterable[int], lines: Iterable[str]
) -> list[dict[str, Any]]:
    """Parse the lines of the file ``name``.

    Raises:
        NetworkError: A line is not an object; the message names its number.
    """
    objects = []
    for number, line in zip(numbers, lines, strict=True):
        place, text = f"{name}, line {number}", line.removesuffix("\n")
        objects.append(_object(place, _parse(place, text), escaped="\\u" in text))
    return objects


def _complete_all(
    name: str, lines: Iterable[int], works: Iterable[dict[str, Any]], rest: Iterator[object]
) -> list[dict[str, Any]]:
    numbered = zip(lines, works, strict=True)
    try:
        return [_complete(f"{name}, line {number}", work) for number, work in numbered]
    except NetworkError:
        deque(rest, maxlen=0)  # A later line that is not JSON takes precedence.
        raise


def read_json(source: Source) -> Table:
    """Read a list of objects, or an object that holds such a list under a key in ``LISTS``.

    Raises:
        NetworkError: The file is not JSON, or does not hold a list of objects.
    """
    text = source.text()
    document, escaped = _parse(source.name, text), "\\u" in text
    if isinstance(document, dict):
        document = next((document[name] for name in LISTS if name in document), None)
    if not isinstance(document, list):
        raise NetworkError(
            f"{source.name} does not hold a list of records; write a list of objects, {EXAMPLE}, "
            f"or an object with one under {', '.join(map(repr, LISTS))}"
        )

    def place(row: int) -> str:
        return f"{source.name}, record {row + 1}"

    rows = [
        _object(place(row), record, escaped=escaped) for row, record in enumerate(track(document))
    ]
    return _table(source.name, rows, place)


def _table(name: str, rows: list[dict[str, Any]], place: Callable[[int], str]) -> Table:
    are_works = _has_works(rows)
    records = [
        _complete(place(number), row) if are_works else row for number, row in enumerate(rows)
    ]
    names = dict.fromkeys(column for record in records for column in record)
    return Table(
        name=name,
        columns=LazyColumns(names, lambda column: [record.get(column) for record in records]),
        place=place,
        open_links=are_works,
    )


def _parse(place: str, text: str) -> Any:
    try:
        return json.loads(text)
    except json.JSONDecodeError as error:
        where = place if ", line " in place else f"{place}, line {error.lineno}"
        hint = f"write one object per line, {EXAMPLE}"
        if where != place:
            hint = "fix it, or rename a file with one object per line to end in .jsonl"
        raise NetworkError(
            f"{where}: not JSON at character {error.colno} ({error.msg}); {hint}"
        ) from None
    except (ValueError, RecursionError):
        raise NetworkError(
            f"{place}: a number is too long or lists are nested too deeply; simplify it"
        ) from None


def _object(place: str, row: object, *, escaped: bool) -> dict[str, Any]:
    if not isinstance(row, dict):
        raise NetworkError(
            f"{place}: found a {type(row).__name__} where an object is expected; "
            f"write one object per {'line' if ', line ' in place else 'record'}, {EXAMPLE}"
        )
    if escaped:  # Text is valid UTF-8, so a lone surrogate can only come from an escape.
        _check_surrogates(place, row)
    return row


def _check_surrogates(place: str, row: dict[str, Any]) -> None:
    try:
        json.dumps(row, ensure_ascii=False).encode()
    except UnicodeEncodeError as error:
        half = json.dumps(error.object[error.start])
        raise NetworkError(
            f"{place}: the escape {half} is half of a surrogate pair; write both halves or neither"
        ) from None
    except RecursionError:
        raise NetworkError(f"{place}: lists are nested too deeply; simplify it") from None


def _has_works(rows: Sequence[Mapping[str, Any]]) -> bool:
    all_names = dict.fromkeys(chain.from_iterable(rows))
    return _is_work(all_names) and any(map(_is_work, rows))


def _is_work(row: Mapping[str, Any]) -> bool:
    is_described = {"title", "keyword"} <= row.keys()  # In CSL, keyword is one string.
    return is_described or not (OPENALEX_SIGNS | CSL_SIGNS).isdisjoint(row)


def _complete(place: str, work: dict[str, Any]) -> dict[str, Any]:
    """Add the abstract, title and labels of a work under the usual column names."""
    index = work.get("abstract_inverted_index")
    found: dict[str, Any] = {
        "abstract": None if index is None else _words_in_order(place, index),
        "title": work.get("display_name"),
        "labels": next(filter(None, (_labels(work.get(name)) for name in LABELS)), None),
    }
    return {name: value for name, value in found.items() if value is not None} | {
        name: value for name, value in work.items() if name not in found or value is not None
    }


def _words_in_order(place: str, index: object) -> str:
    """Abstract of a work of OpenAlex, which stores the positions of every word.

    >>> _words_in_order("", {"walks": [1], "on": [2], "Random": [0], "graphs": [3]})
    'Random walks on graphs'
    """
    if not isinstance(index, dict) or not all(map(_is_list_of_numbers, index.values())):
        raise NetworkError(
            f"{place}: the abstract_inverted_index must hold a list of positions for every word, "
            'such as {"graph": [0, 7]}'
        )
    places = ((number, word) for word, numbers in index.items() for number in numbers)
    return " ".join(word for _, word in sorted(places))


def _is_list_of_numbers(value: object) -> bool:
    return isinstance(value, list) and all(type(number) is int for number in value)


def _labels(value: object) -> list[str]:
    """Names in a list of strings or of objects with a name, or in a string with commas.

    >>> _labels([{"display_name": "Graphs", "score": 0.7}, "Trees"]), _labels("trees; graphs")
    (['Graphs', 'Trees'], ['trees', 'graphs'])
    """
    if isinstance(value, str):
        value = value.replace(";", ",").split(",")
    if not isinstance(value, Iterable) or isinstance(value, Mapping):
        return []
    names = (
        next(filter(None, (item.get(key) for key in ("display_name", "name", "label"))), None)
        if isinstance(item, Mapping)
        else item
        for item in value
    )
    return [name.strip() for name in names if isinstance(name, str) and name.strip()]
