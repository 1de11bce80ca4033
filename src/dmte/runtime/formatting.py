"""HTML tables for notebooks, text on one line, cells safe for spreadsheets, plurals, sizes."""

import math
from collections.abc import Iterable, Sequence
from html import escape
from itertools import islice

MOST_ROWS = 5

LONGEST = 80  # Characters of a cell.

MOST_NUMBERS = 4


def html_table(
    title: str,
    columns: Sequence[str],
    rows: Iterable[Sequence[str]],
    num_rows: int,
    *,
    most: int = MOST_ROWS,
) -> str:
    """HTML table of the first rows, escaped, and the number of further rows.

    >>> html_table("Two", ["a"], [["<b>"], ["c"]], 2, most=1)
    '<p>Two</p><table><tr><th>a</th></tr><tr><td>&lt;b&gt;</td></tr></table><p>and 1 more</p>'
    """
    lines = [_row("th", columns), *(_row("td", row) for row in islice(rows, most))]
    more = f"<p>and {num_rows - most:,} more</p>" if num_rows > most else ""
    return f"<p>{escape(title)}</p><table>{''.join(lines)}</table>{more}"


def numbers(row: Sequence[float]) -> str:
    """First numbers of a row, rounded.

    >>> numbers([1.0, 0.25, 0.0, 0.0, 0.0])
    '1.000, 0.250, 0.000, 0.000, …'
    """
    shown = ", ".join(f"{float(number):.3f}" for number in row[:MOST_NUMBERS])
    return f"{shown}, …" if len(row) > MOST_NUMBERS else shown


def _row(kind: str, cells: Sequence[str]) -> str:
    return f"<tr>{''.join(f'<{kind}>{escape(_shortened(cell))}</{kind}>' for cell in cells)}</tr>"


def _shortened(cell: str) -> str:
    return cell if len(cell) <= LONGEST else cell[: LONGEST - 1] + "…"


def one_line(text: str) -> str:
    r"""Replace line breaks and other unprintable characters by blanks.

    >>> one_line("a\n b\x1b[2J")
    'a b [2J'
    """
    return " ".join("".join(c if c.isprintable() else " " for c in text).split())


FORMULA_STARTS = ("=", "+", "-", "@", "\t", "\r")
"""First characters of a cell that spreadsheets interpret as a formula."""


def spreadsheet_safe(cell: str) -> str:
    """Prepend an apostrophe to a cell that a spreadsheet would interpret as a formula.

    >>> spreadsheet_safe("=1+1"), spreadsheet_safe("a-1")
    ("'=1+1", 'a-1')
    """
    return f"'{cell}" if cell.startswith(FORMULA_STARTS) else cell


def plural(count: int, noun: str) -> str:
    """Noun in the singular or plural, depending on the count.

    >>> plural(1, "vertex"), plural(2, "vertex"), plural(0, "edge")
    ('vertex', 'vertices', 'edges')
    """
    return noun if count == 1 else {"vertex": "vertices"}.get(noun, noun + "s")


def readable_bytes(count: float) -> str:
    """Format a number of bytes.

    >>> readable_bytes(1_240_000_000), readable_bytes(49_000_000), readable_bytes(1000)
    ('1.2 GB', '49 MB', '1 MB')
    """
    return f"{math.ceil(count / 1e6)} MB" if count < 0.1e9 else f"{count / 1e9:.1f} GB"
