"""Cells that a spreadsheet shows as they are."""

FORMULA_STARTS = ("=", "+", "-", "@", "\t", "\r")
"""A cell that begins so is taken for a formula by spreadsheets."""


def spreadsheet_safe(cell: str) -> str:
    """Return the cell with an apostrophe in front if a spreadsheet would take it for a formula.

    >>> spreadsheet_safe("=1+1"), spreadsheet_safe("a-1")
    ("'=1+1", 'a-1')
    """
    return f"'{cell}" if cell.startswith(FORMULA_STARTS) else cell
