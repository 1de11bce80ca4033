"""Scores of methods as tables."""

import sys
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from dmte.cli.output import terminal_width

if TYPE_CHECKING:
    from dmte.metrics import Metric


def side_by_side(rows: Sequence[dict[str, Any]], name: str, shares: Sequence[float]) -> str:
    """One metric with its standard deviation, a line per method and a column per share.

    Columns that do not fit into the terminal continue below.
    """
    from dmte.metrics import find_metric

    width = _method_width(rows)
    head = _head(rows, width)
    found: dict[str, dict[float, str]] = {}
    for row in rows:
        share = row["train_fraction" if "train_fraction" in row else "label_fraction"]
        found.setdefault(_name(row, width), {})[share] = _value(row[name], find_metric(name))
    room = terminal_width() - len(head) if sys.stdout.isatty() else 10**6
    most = max(room // 16, 1)
    blocks = [shares[start : start + most] for start in range(0, len(shares), most)]
    return "\n\n".join(_block(head, found, block) for block in blocks)


def _block(head: str, found: Mapping[str, Mapping[float, str]], shares: Sequence[float]) -> str:
    lines = [head + "".join(f"{f'{100 * share:g} %':>10}{'±':>6}" for share in shares)]
    for name, cells in found.items():
        lines.append(name + "".join(cells.get(share, " " * 16) for share in shares))
    return "\n".join(line.rstrip() for line in lines)


def table(rows: Sequence[dict[str, Any]], metrics: Mapping[str, "Metric"]) -> str:
    """Every metric's mean and standard deviation over seeds, a line per method."""
    width = _method_width(rows)
    head = _head(rows, width)
    first, *others = metrics
    # Method, score, first metric with its interval, seconds, memory; 16 per further metric.
    room = terminal_width() - (len(head) + 32 + 17) if sys.stdout.isatty() else 10**6
    others, hidden = others[: max(room, 0) // 16], others[max(room, 0) // 16 :]
    heads = f"{metrics[first].title:>10}{'±':>6}{'95 % interval':>16}"
    heads += "".join(f"{metrics[name].title:>10}{'±':>6}" for name in others)
    lines = [f"{head}{heads}{'fit s':>9}{'MB':>8}"]
    for row in rows:
        memory = "" if row["peak_mb"] is None else f"{row['peak_mb']:,}"
        cells = f"{_value(row[first], metrics[first])}{_interval(row[first], metrics[first]):>16}"
        cells += "".join(_value(row[name], metrics[name]) for name in others)
        lines.append(f"{_name(row, width)}{cells}{row['fit_seconds']:>9.1f}{memory:>8}")
    if hidden:
        left_out = ", ".join(metrics[name].title for name in hidden)
        lines.append(f"not shown: {left_out}; use a wider window, a file or --json")
    return "\n".join(lines)


def _method_width(rows: Sequence[dict[str, Any]]) -> int:
    return max(map(len, ["method", *(row["method"] for row in rows)]))


def _head(rows: Sequence[dict[str, Any]], width: int) -> str:
    ways = any("score" in row for row in rows)
    return f"{'method':<{width}}{'  score ' if ways else ''}"


def _name(row: dict[str, Any], width: int) -> str:
    """The method, and its score function if there are several."""
    way = f"  {row['score']:<6}" if "score" in row else ""
    return f"{row['method']:<{width}}{way}"


def _value(summary: dict[str, Any], metric: "Metric") -> str:
    std = "" if summary["std"] is None else f"{metric.scale * summary['std']:.1f}"
    return f"{metric.scale * summary['mean']:>10.1f}{std:>6}"


def _interval(summary: dict[str, Any], metric: "Metric") -> str:
    if summary["interval"] is None:
        return ""
    low, high = summary["interval"]
    return f"{metric.scale * low:.1f} to {metric.scale * high:.1f}"


def hidden_edges(rows: Sequence[dict[str, Any]]) -> str:
    """What distinguishes the scored hidden edges: a limit of their number, or leaks.

    The published protocol skips hidden lines with an end that kept no edge, so it scores fewer.
    """
    if not rows:
        return ""
    first, words = rows[0], ""
    scored = first["hidden_edges"]
    if unscored := first.get("unscored_edges"):
        words += f"; {scored:,.0f} of {scored + unscored:,.0f} hidden edges are scored"
    if first["self_loops"] or first["trained_on"]:
        words += (
            f"; of the {scored:,.0f} hidden lines that are scored, "
            f"{first['self_loops']:,.0f} are self-loops and {first['trained_on']:,.0f} are also "
            "trained on, mostly reversed"
        )
    return words
