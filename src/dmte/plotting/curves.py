"""What happened, as lines: the epochs of a training, and results over the share trained on.

A result file is what ``dmte evaluate ... --json`` prints or ``dmte reproduce`` writes: rows, each a
method at one share of the edges or labels, with the mean over seeds and its 95 % interval.
"""

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import replace as changed
from pathlib import Path
from typing import Any

from dmte.errors import ConfigError, StorageError
from dmte.evaluation.summary import CLASS_FIGURES, LINK_FIGURES
from dmte.model.history import TOO_FEW, History, Kept, kept
from dmte.plotting.figure import COLORS, Line, Panel, draw_panels

MEASURES: Mapping[str, str] = {
    "auc": "AUC",
    "average_precision": "average precision",
    "mrr": "MRR",
    "hits_at_10": "Hits@10",
    "macro_f1": "Macro-F1",
    "micro_f1": "Micro-F1",
}
"""What results hold, by its name in the file, as people call it."""
FEWEST_SEEDS = 3
"""For a band: Student's interval of two is twelve times their distance, and covers the picture."""
SHARES: Mapping[str, str] = {
    "train_fraction": "edges trained on, %",
    "label_fraction": "labelled vertices trained on, %",
}
"""What results range over."""


def draw_training(history: History, path: Path | str, *, replace: bool = False) -> None:
    """Draw the loss, and the AUC on held-back edges where there are some, over the epochs.

    >>> from tempfile import TemporaryDirectory
    >>> from dmte import Dmte, read_network
    >>> trained = Dmte(dim=64, epochs=2).fit(read_network("concepts")).model_
    >>> with TemporaryDirectory() as folder:
    ...     draw_training(trained.history, f"{folder}/training.png")

    Raises:
        ConfigError: There is nothing to draw.
        MissingExtraError: matplotlib is not installed.
        StorageError: The picture cannot be written.
    """
    if not history:
        raise ConfigError(f"the model was not trained, as there were {TOO_FEW}")
    title = f"training, {history[-1].epoch:,} epochs"
    draw_panels(training_panels(history), Path(path), title=title, below=True, replace=replace)


def training_panels(history: History) -> list[Panel]:
    """Return the loss with its parts, if it has several, and the AUC, if somebody looked."""
    epochs = [record for record in history if record.loss is not None]
    x = [float(record.epoch) for record in epochs]
    lines = [Line("loss", x, [float(record.loss or 0) for record in epochs])]
    parts = list(epochs[0].parts) if epochs else []
    if len(parts) > 1:
        lines += [Line(part, x, [record.parts[part] for record in epochs]) for part in parts]
    panels = [Panel("", ("epoch", "loss"), lines)] if epochs else []
    best = kept(history)
    if best is not None:
        panels.append(_auc_panel([r for r in history if r.validation_auc is not None], best))
    return panels


def _auc_panel(looks: History, best: Kept) -> Panel:
    """Return the AUC of the looks, of several trainings the mean, each ringed at its best."""
    x = [float(look.epoch) for look in looks]
    folds = len(best.aucs)
    name = "AUC, held-back edges" + (f", mean of {folds}" if folds > 1 else "")
    mean = Line(name, x, [100 * (look.validation_auc or 0) for look in looks])
    each = [
        Line("", x, [100 * look.fold_aucs[fold] for look in looks])
        for fold in range(folds if folds > 1 else 0)
    ]
    title = f"{100 * best.auc:.1f}, best {best.when}"
    epochs, aucs = [float(epoch) for epoch in best.epochs], [100 * auc for auc in best.aucs]
    return Panel("", ("epoch", "AUC, %"), [mean, Line(title, epochs, aucs, is_ring=True)], each)


def draw_results(
    results: Mapping[str, Any],
    path: Path | str,
    *,
    measure: str | None = None,
    methods: Sequence[str] = (),
    replace: bool = False,
) -> None:
    """Draw a measure over the share trained on, a panel per protocol, with 95 % bands.

    The title says over how many seeds; where methods differ in it, each name does.

    >>> from tempfile import TemporaryDirectory
    >>> from dmte import read_network
    >>> from dmte.evaluation import evaluate_links
    >>> network = read_network("concepts")
    >>> rows = evaluate_links(network, ["adamic-adar"], [0.3, 0.6], num_seeds=1)
    >>> results = {"network": {"vertices": 432, "edges": 1393}, "results": rows}
    >>> with TemporaryDirectory() as folder:
    ...     draw_results(results, f"{folder}/auc.png", measure="mrr")

    Raises:
        ConfigError: The results have no such measure or methods.
        MissingExtraError: matplotlib is not installed.
        StorageError: The picture cannot be written.
    """
    panels = result_panels(results, measure, methods)
    title = f"{_title(results)}; {_said_of_seeds(panels)}"
    draw_panels(panels, Path(path), title=title, replace=replace)


def read_result_file(path: Path) -> dict[str, Any]:
    """Return the results in a file.

    Raises:
        StorageError: It cannot be read, or holds something else.
    """
    try:
        content = json.loads(path.read_text("utf-8"))
    except OSError as problem:
        raise StorageError(f"cannot read {path}: {problem.strerror}") from problem
    except ValueError as problem:  # Neither text nor JSON.
        raise StorageError(f"{path} is no result file: it is not JSON ({problem})") from problem
    if not isinstance(content, dict) or not _rows(content):
        raise StorageError(
            f"{path} holds no results; give what 'dmte evaluate links --json' printed or "
            "'dmte reproduce' wrote"
        )
    return content


def result_panels(
    results: Mapping[str, Any], measure: str | None = None, methods: Sequence[str] = ()
) -> list[Panel]:
    """Return a panel per protocol with a line per method, the best in color.

    Vectors are compared by dot product, as in the tables; those without have a score of their own.

    Raises:
        ConfigError: The results have no such measure or methods.
    """
    rows = [row for row in _rows(results) if row.get("score") != "cosine"]
    share = next((name for name in SHARES if rows and name in rows[0]), None)
    if share is None:
        raise ConfigError("these results have no share trained on that they could be drawn over")
    measure = _known_measure(rows, measure)
    rows = _of_methods(rows, methods)
    panels = []
    for protocol in dict.fromkeys(row.get("protocol", "") for row in rows):
        own = [row for row in rows if row.get("protocol", "") == protocol]
        lines = _lines(own, share, measure)
        lines.sort(key=lambda line: -line.y[-1])
        panels.append((protocol and f"{protocol} protocol", lines))
    chosen = {line.name for line in panels[0][1][: len(COLORS)]}
    names = (SHARES[share], f"{MEASURES[measure]}, %")
    return [
        Panel(
            title,
            names,
            [line for line in lines if line.name in chosen],
            [line for line in lines if line.name not in chosen],
        )
        for title, lines in panels
    ]


def _rows(results: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    rows = results.get("results", results.get("rows"))
    is_table = isinstance(rows, list) and all(isinstance(row, dict) for row in rows)
    return list(rows) if is_table and rows else []


def _known_measure(rows: Sequence[Mapping[str, Any]], measure: str | None) -> str:
    there = [name for name in (*LINK_FIGURES, *CLASS_FIGURES) if name in rows[0]]
    if not there:
        raise ConfigError("these results hold nothing that can be drawn")
    if measure is not None and measure not in there:
        raise ConfigError(f"measure must be one of {', '.join(there)}, not {measure!r}")
    return measure or there[0]


def _of_methods(
    rows: Sequence[Mapping[str, Any]], methods: Sequence[str]
) -> list[Mapping[str, Any]]:
    there = list(dict.fromkeys(row["method"] for row in rows))
    for method in methods:
        if method not in there:
            raise ConfigError(f"there is no result of {method!r}; there are {', '.join(there)}")
    return [row for row in rows if not methods or row["method"] in methods]


def _lines(rows: Sequence[Mapping[str, Any]], share: str, measure: str) -> list[Line]:
    """Return a line per method, or per method and settings where it was run with several."""
    groups: dict[tuple[str, str], list[Mapping[str, Any]]] = {}
    for row in rows:
        groups.setdefault((row["method"], _written(row["settings"])), []).append(row)
    alone = [method for method, _ in groups]
    lines = []
    for (method, settings), own in groups.items():
        own.sort(key=lambda row: float(row[share]))
        figures = [row[measure] for row in own]
        counts = [len(figure["values"]) for figure in figures]
        lines.append(
            Line(
                method if alone.count(method) == 1 else f"{method}, {settings}",
                x=[100 * row[share] for row in own],
                y=[100 * figure["mean"] for figure in figures],
                band=[_band(figure) for figure in figures] if max(counts) >= FEWEST_SEEDS else (),
                seeds=(min(counts), max(counts)),
            )
        )
    if len({line.seeds for line in lines}) == 1:
        return lines
    return [changed(line, name=f"{line.name} ({_span(line.seeds)})") for line in lines]


def _band(figure: Mapping[str, Any]) -> tuple[float, float]:
    """Return the 95 % interval, within what is possible; none for fewer seeds than tell it."""
    if len(figure["values"]) < FEWEST_SEEDS or not figure["interval"]:
        return math.nan, math.nan
    low, high = figure["interval"]
    return 100 * max(low, 0.0), 100 * min(high, 1.0)


def _said_of_seeds(panels: Sequence[Panel]) -> str:
    """Return over how many seeds the lines are, and whether there are bands."""
    lines = [line for panel in panels for line in panel.lines]
    span = min(line.seeds[0] for line in lines), max(line.seeds[1] for line in lines)
    if span[1] == 1:
        return "one seed"
    bands = "95 % intervals" if span[1] >= FEWEST_SEEDS else "too few for 95 % intervals"
    return f"mean of {_span(span)} seeds, {bands}"


def _span(counts: tuple[int, int]) -> str:
    return str(counts[0]) if counts[0] == counts[1] else f"{counts[0]} to {counts[1]}"


def _written(settings: Mapping[str, Any]) -> str:
    def number(value: Any) -> str:
        return f"{value:g}" if isinstance(value, float) else str(value)

    return ", ".join(
        f"{name} {' '.join(map(number, value)) if isinstance(value, list) else number(value)}"
        for name, value in settings.items()
    )


def _title(results: Mapping[str, Any]) -> str:
    network = results["network"]
    sizes = f"{network['vertices']:,} vertices, {network['edges']:,} edges"
    return str(results.get("title", sizes))
