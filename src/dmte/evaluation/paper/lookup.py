"""Figures of results by what was asked, ours and the paper's, as pages show them."""

from collections.abc import Mapping, Sequence
from typing import Any

from dmte.evaluation.paper.tables import load_experiments

Row = Mapping[str, Any]
Rows = Sequence[Row]
Results = Mapping[str, Any]
Everything = Mapping[str, Results]
"""The results of every target that has some, by its name."""

NAMES = {
    "tridnr-labels": "TriDNR with labels",
    "random": "random vectors",
    "adamic-adar": "Adamic-Adar",
    "tfidf": "TF-IDF",
    "lsa": "LSA",
    "lsa-diffused": "LSA diffused",
    "fastrp": "FastRP",
    "sentence": "sentence encoder",
    "sentence-diffused": "sentence encoder diffused",
    "dmte-paper": "DMTE (WAvg)",
}
NOTHING = ""


def rows_of(everything: Everything, target: str) -> Rows:
    """Return the rows of a target; none if it has no results."""
    rows: Rows = everything[target]["rows"] if target in everything else []
    return rows


def find_row(
    rows: Rows, method: str, protocol: str, percent: int, hops: int | None = None
) -> Row | None:
    """Return the row scored by dot product, or by a method's own score; none if not measured."""
    for row in rows:
        weights = row["settings"].get("hop_weights", ())
        asked = (method, protocol, percent / 100)
        is_it = (row["method"], row["protocol"], row["train_fraction"]) == asked
        if is_it and row["score"] != "cosine" and (hops is None or len(weights) == hops):
            return row
    return None


def auc_percent(row: Row) -> float:
    """Return the mean AUC of a row in per cent."""
    return 100 * float(row["auc"]["mean"])


def shown_auc(rows: Rows, method: str, protocol: str, percent: int, hops: int | None = None) -> str:
    """Return mean and spread of an AUC, or nothing if it was not measured."""
    row = find_row(rows, method, protocol, percent, hops)
    return NOTHING if row is None else shown(row["auc"])


def shown(summary: Mapping[str, Any]) -> str:
    """Return mean and spread of a figure in per cent."""
    spread = NOTHING if summary["std"] is None else f" ± {100 * summary['std']:.1f}"
    return f"{100 * summary['mean']:.1f}{spread}"


def method_name(method: str) -> str:
    """Return what the paper calls a method, or we do."""
    rows = {row.method: row.row for row in load_experiments()}
    return NAMES.get(method) or rows.get(method) or method


def printed_figures(network: str, method: str) -> Mapping[int, float]:
    """Return the AUCs that the paper prints, by the percentage trained on."""
    rows = load_experiments()
    return next(row.printed for row in rows if (row.network, row.method) == (network, method))
