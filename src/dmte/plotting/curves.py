"""Line charts: loss and AUC over epochs, and results over the training fraction.

A result file is the output of ``dmte evaluate ... --json`` or ``dmte reproduce``. Each row is one
method at one fraction of the edges or labels, with the mean over seeds and its 95 % interval.
"""

import dataclasses
import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from dmte.errors import ConfigError, StorageError
from dmte.metrics import CLASS_METRICS, LINK_METRICS, Metric, find_metric
from dmte.model.history import TOO_FEW, BestValidation, History, best_validation
from dmte.plotting.figure import COLORS, Line, Panel, draw_panels
from dmte.storage.stored_json import ChecksumError, read_checked

MIN_BAND_SEEDS = 3
"""Seeds needed for a band; with two, Student's interval is twelve times their difference."""
FRACTIONS: Mapping[str, str] = {
    "train_fraction": "edges trained on, %",
    "label_fraction": "labelled vertices trained on, %",
}
"""Axis label of every training fraction in a result file."""


def draw_training(history: History, path: Path | str, *, replace: bool = False) -> None:
    """Draw the loss over the epochs, and the AUC on validation edges if there are any.

    >>> from tempfile import TemporaryDirectory
    >>> from dmte import Dmte, read_network
    >>> trained = Dmte(dim=64, epochs=2).fit(read_network("concepts")).model_
    >>> with TemporaryDirectory() as folder:
    ...     draw_training(trained.history, f"{folder}/training.png")

    Raises:
        ConfigError: The history is None or empty.
        MissingExtraError: matplotlib is not installed.
        StorageError: The picture cannot be written.
    """
    if not history:
        raise ConfigError(f"the model was not trained, because there were {TOO_FEW}")
    title = f"training, {history[-1].epoch:,} epochs"
    draw_panels(training_panels(history), Path(path), title=title, below=True, replace=replace)


def training_panels(history: History) -> list[Panel]:
    """Build the panels of the loss with its parts, and of the validation AUC if there is one."""
    epochs = [record for record in history if record.loss is not None]
    x = [float(record.epoch) for record in epochs]
    lines = [Line("loss", x, [float(record.loss or 0) for record in epochs])]
    parts = list(epochs[0].parts) if epochs else []
    if len(parts) > 1:
        lines += [Line(part, x, [record.parts[part] for record in epochs]) for part in parts]
    panels = [Panel("", ("epoch", "loss"), lines)] if epochs else []
    best = best_validation(history)
    if best is not None:
        panels.append(_auc_panel([r for r in history if r.validation_auc is not None], best))
    return panels


def _auc_panel(checks: History, best: BestValidation) -> Panel:
    """Build the panel of the validation AUC; with several folds, their mean, with each in grey."""
    x = [float(check.epoch) for check in checks]
    folds = len(best.aucs)
    name = "AUC, validation edges" + (f", mean of {folds}" if folds > 1 else "")
    mean = Line(name, x, [100 * (check.validation_auc or 0) for check in checks])
    each = [
        Line("", x, [100 * check.fold_aucs[fold] for check in checks])
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
    """Draw a measure over the training fraction, one panel per protocol, with 95 % bands.

    The title has the number of seeds. If it differs between methods, the legend has it too.

    >>> from tempfile import TemporaryDirectory
    >>> from dmte import read_network
    >>> from dmte.evaluation import evaluate_links
    >>> network = read_network("concepts")
    >>> rows = evaluate_links(network, ["adamic-adar"], [0.3, 0.6], num_seeds=1)
    >>> results = {"network": {"vertices": 432, "edges": 1393}, "results": rows}
    >>> with TemporaryDirectory() as folder:
    ...     draw_results(results, f"{folder}/auc.png", measure="mrr")

    Raises:
        ConfigError: The results do not have the measure or one of the methods.
        MissingExtraError: matplotlib is not installed.
        StorageError: The picture cannot be written.
    """
    panels = result_panels(results, measure, methods)
    title = f"{_title(results)}; {_seeds_note(panels)}"
    draw_panels(panels, Path(path), title=title, replace=replace)


def read_result_file(path: Path) -> dict[str, Any]:
    """Read a result file.

    Raises:
        StorageError: The file cannot be read, or does not contain results.
    """
    try:
        content, _ = read_checked(path.read_bytes())
    except OSError as problem:
        raise StorageError(f"cannot read {path}: {problem.strerror}") from problem
    except ChecksumError as problem:
        raise StorageError(f"{path} is {problem}; write it again") from problem
    except ValueError as problem:  # Neither text nor JSON.
        raise StorageError(f"{path} is not a result file: it is not JSON ({problem})") from problem
    if not isinstance(content, dict) or not _rows(content):
        raise StorageError(
            f"{path} does not contain results; give the output of 'dmte evaluate links --json' or "
            "'dmte reproduce'"
        )
    return content


def result_panels(
    results: Mapping[str, Any], measure: str | None = None, methods: Sequence[str] = ()
) -> list[Panel]:
    """Build one panel per protocol with one line per method, the best methods in color.

    Rows scored by cosine are omitted, as in the tables.

    Raises:
        ConfigError: The results do not have the measure or one of the methods.
    """
    rows = [row for row in _rows(results) if row.get("score") != "cosine"]
    fraction = next((name for name in FRACTIONS if rows and name in rows[0]), None)
    if fraction is None:
        raise ConfigError(f"results must have {' or '.join(FRACTIONS)} to be drawn")
    measure = _known_measure(rows, measure)
    metric = find_metric(measure)
    rows = _of_methods(rows, methods)
    panels = []
    for protocol in dict.fromkeys(row.get("protocol", "") for row in rows):
        own = [row for row in rows if row.get("protocol", "") == protocol]
        lines = _lines(own, fraction, measure, metric)
        lines.sort(key=lambda line: line.y[-1], reverse=metric.higher_is_better)
        panels.append((protocol and f"{protocol} protocol", lines))
    chosen = {line.name for line in panels[0][1][: len(COLORS)]}
    names = (FRACTIONS[fraction], ", ".join(filter(None, (metric.title, metric.unit))))
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
    available = [name for name in (*LINK_METRICS, *CLASS_METRICS) if name in rows[0]]
    if not available:
        raise ConfigError("the results contain no measure that can be drawn")
    if measure is not None and measure not in available:
        raise ConfigError(f"measure must be one of {', '.join(available)}, not {measure!r}")
    return measure or available[0]


def _of_methods(
    rows: Sequence[Mapping[str, Any]], methods: Sequence[str]
) -> list[Mapping[str, Any]]:
    available = list(dict.fromkeys(row["method"] for row in rows))
    for method in methods:
        if method not in available:
            raise ConfigError(f"methods must be among {', '.join(available)}, not {method!r}")
    return [row for row in rows if not methods or row["method"] in methods]


def _lines(
    rows: Sequence[Mapping[str, Any]], fraction: str, measure: str, metric: Metric
) -> list[Line]:
    """Build one line per method, or per method and settings if it has results for several."""
    groups: dict[tuple[str, str], list[Mapping[str, Any]]] = {}
    for row in rows:
        groups.setdefault((row["method"], _format_settings(row["settings"])), []).append(row)
    all_methods = [method for method, _ in groups]
    lines = []
    for (method, settings), own in groups.items():
        own.sort(key=lambda row: float(row[fraction]))
        figures = [row[measure] for row in own]
        counts = [len(figure["values"]) for figure in figures]
        lines.append(
            Line(
                method if all_methods.count(method) == 1 else f"{method}, {settings}",
                x=[100 * row[fraction] for row in own],
                y=[metric.scale * figure["mean"] for figure in figures],
                band=[_band(figure, metric) for figure in figures]
                if max(counts) >= MIN_BAND_SEEDS
                else (),
                seeds=(min(counts), max(counts)),
            )
        )
    if len({line.seeds for line in lines}) == 1:
        return lines
    return [dataclasses.replace(line, name=f"{line.name} ({_span(line.seeds)})") for line in lines]


def _band(figure: Mapping[str, Any], metric: Metric) -> tuple[float, float]:
    """Return the 95 % interval, percentages clipped to 0 to 100; NaN with too few seeds."""
    if len(figure["values"]) < MIN_BAND_SEEDS or not figure["interval"]:
        return math.nan, math.nan
    low, high = figure["interval"]
    if metric.unit:
        low, high = max(low, 0.0), min(high, 1.0)
    return metric.scale * low, metric.scale * high


def _seeds_note(panels: Sequence[Panel]) -> str:
    """Describe the number of seeds, and whether the bands are drawn."""
    lines = [line for panel in panels for line in panel.lines]
    span = min(line.seeds[0] for line in lines), max(line.seeds[1] for line in lines)
    if span[1] == 1:
        return "one seed"
    bands = "95 % intervals" if span[1] >= MIN_BAND_SEEDS else "too few for 95 % intervals"
    return f"mean of {_span(span)} seeds, {bands}"


def _span(counts: tuple[int, int]) -> str:
    return str(counts[0]) if counts[0] == counts[1] else f"{counts[0]} to {counts[1]}"


def _format_settings(settings: Mapping[str, Any]) -> str:
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
