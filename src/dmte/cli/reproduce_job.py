"""What ``dmte reproduce`` does: fits that are missing are made, tables and figures written.

It stands apart from the verb's options, which help shows without loading all this.
"""

import os
import sys
from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from functools import partial
from itertools import chain
from pathlib import Path
from typing import Any, TextIO

from dmte.cli.progress import run_with_progress, show_plan
from dmte.errors import ConfigError, Interrupted, MissingExtraError, NetworkError, StorageError
from dmte.evaluation.dry_run import Planned, plan
from dmte.evaluation.jobs import Cell, unable
from dmte.evaluation.methods import ALL, METHODS, choose_methods
from dmte.evaluation.paper.aims import aims_table
from dmte.evaluation.paper.journal import Journal
from dmte.evaluation.paper.lookup import find_row
from dmte.evaluation.paper.page import document, section
from dmte.evaluation.paper.results import read_results, write_results
from dmte.evaluation.paper.targets import HOP_WEIGHTS, RECIPE, TARGETS, Target, is_quick, journal_of
from dmte.evaluation.paper.verdict import verdict_table, verdicts
from dmte.network import TextualNetwork, read_network
from dmte.network.datasets import check_published
from dmte.plotting.figure import Line, draw_lines
from dmte.runtime.formatting import plural

JUDGED = "recipe"
"""The group whose tables end in a verdict."""
GROUPS = {JUDGED: RECIPE, "all": tuple(TARGETS)}
"""Names of several targets."""


def measure(
    target: str,
    out: Path,
    is_wanted: Callable[[Cell], bool],
    workers: int | None,
    *,
    dry_run: bool,
    quiet: bool,
) -> None:
    """Make the fits of a target that are wanted and missing; print and write what is there then.

    Raises:
        NetworkError: Its data set is not here, or is not what the paper's figures stand on.
        ConfigError: No method that was asked for can run here.
        StorageError: Another run makes the same fits, or what was kept is damaged.
    """
    plans: dict[str, list[Planned]] = {}
    found: dict[str, Mapping[str, Any]] = {}
    grouped = _by_network(_targets(target))
    for name in grouped:
        check_published(name)  # All of them now, and none after hours with another.
    for targets in grouped.values():
        network = _read(targets, is_optional=target in GROUPS)
        if network is None:
            continue
        journals = {one.name: journal_of(out, one) for one in targets}
        wanted = {one.name: list(filter(is_wanted, one.cells(network))) for one in targets}
        _refuse_unable(wanted, journals)
        name = targets[0].network
        if dry_run:
            missing = _missing(wanted, journals, quiet=quiet)
            plans[name] = plan(chain(*missing.values()), _recorded(targets, network, journals))
            continue
        with _growing(journals[one] for one, cells in wanted.items() if cells):
            missing = _missing(wanted, journals, quiet=quiet)
            _complete(name, missing, journals, workers, quiet=quiet)
            for one in targets:
                found[one.name] = one.results(network, journals[one.name])
                _show(out, found[one.name], one)
    if dry_run:
        show_plan(plans)
    elif target == JUDGED and verdicts(found):
        print(f"## The recommended recipe\n\n{aims_table(found)}\n{verdict_table(found)}", end="")


def _recorded(
    targets: Sequence[Target], network: TextualNetwork, journals: Mapping[str, Journal]
) -> Iterator[tuple[Cell, Mapping[str, Any]]]:
    """Yield every finished fit of the targets with its result."""
    for target in targets:
        journal = journals[target.name]
        yield from ((cell, journal[cell]) for cell in target.cells(network) if cell in journal)


def chooser(
    target: str, methods: Sequence[str] | None, seeds: int | None, *, quick: bool
) -> Callable[[Cell], bool]:
    """Return what tells whether a cell was asked for; with no seeds at all none is.

    Raises:
        ConfigError: There is no such method, the seeds are fewer than none, or the target has no
            cell that was asked for.
    """
    if seeds is not None and seeds < 0:
        raise ConfigError(f"seeds must be at least 1, or 0 to fit nothing, not {seeds}")
    named = list(METHODS) if methods is None else choose_methods(methods)
    # Of all methods, those that cannot run here are told of, like any other that was planned.
    chosen = set(METHODS if ALL in (methods or ()) else named)

    def is_wanted(cell: Cell) -> bool:
        return (
            cell.method in chosen
            and (seeds is None or cell.seed < seeds)
            and (not quick or is_quick(cell, slow_too=methods is not None))
        )

    cells = [cell for one in _targets(target) for cell in one.plan(one.network)]
    if seeds != 0 and not any(map(is_wanted, cells)):
        raise _nothing_left(target, cells, chosen)
    return is_wanted


def _nothing_left(target: str, cells: Sequence[Cell], chosen: Container[str]) -> ConfigError:
    """Return why no cell of a target was asked for."""
    measured = list(dict.fromkeys(cell.method for cell in cells))
    if any(method in chosen for method in measured):
        return ConfigError(f"{target} has no fit that is quick; leave out --quick")
    return ConfigError(f"{target} has no fit of the methods named; it has {', '.join(measured)}")


def _targets(name: str) -> list[Target]:
    return [TARGETS[member] for member in GROUPS.get(name, (name,))]


def _read(targets: Sequence[Target], *, is_optional: bool) -> TextualNetwork | None:
    """Return the network of the targets; if one is not there and may be missing, say so."""
    try:
        return read_network(targets[0].network)
    except NetworkError as problem:
        if not is_optional:
            raise
        print(f"{', '.join(one.name for one in targets)}: left out, {problem}", file=sys.stderr)
        return None


def _able(cells: Sequence[Cell]) -> list[Cell]:
    """Return the cells whose method can run here, having said which cannot and why."""
    reasons = unable(cells)
    for method, reason in reasons.items():
        print(f"{method}: left out, {reason}", file=sys.stderr)
    return [cell for cell in cells if cell.method not in reasons]


def _by_network(targets: Sequence[Target]) -> dict[str, list[Target]]:
    """Return the targets of every network, which are measured together to keep all cores busy."""
    grouped: dict[str, list[Target]] = {}
    for target in targets:
        grouped.setdefault(target.network, []).append(target)
    return grouped


def _show(out: Path, results: Mapping[str, Any], target: Target) -> None:
    """Print a target's table and write its files."""
    if not results["rows"]:
        print(f"{target.name}: left out, no fit of it was asked for", file=sys.stderr)
        return
    _write(out, results)
    print(f"## {target.title}\n\n{section(results, read_results(out))}")


def report(out: Path, page: Path) -> None:
    """Write one page of all results in ``out``.

    Raises:
        ConfigError: There are none.
        StorageError: They are damaged, or there is no place for the page.
    """
    found = read_results(out)
    if not found:
        raise ConfigError(
            f"{out} holds no results; make some with dmte reproduce TARGET --out {out}"
        )
    folder = os.path.relpath(out, page.parent)
    text = document(found, folder)
    with _opened(page) as file:
        file.write(text)
    print(page)


def _opened(page: Path) -> TextIO:
    """Return the page to write to, in a folder that is made where there is none.

    Raises:
        StorageError: There is no such place.
    """
    try:
        if not page.parent.exists():
            page.parent.mkdir(parents=True)
        return page.open("w", encoding="utf-8")
    except OSError as problem:
        raise StorageError(
            f"{page} cannot be written: {problem.strerror}; give --page another place"
        ) from problem


@contextmanager
def _growing(journals: Iterable[Journal]) -> Iterator[None]:
    """Keep the journals to this run."""
    with ExitStack() as held:
        for journal in journals:
            held.enter_context(journal.growing())
        yield


def _refuse_unable(wanted: Mapping[str, Sequence[Cell]], journals: Mapping[str, Journal]) -> None:
    """Refuse a run of which nothing was done before and nothing can be done here.

    Raises:
        ConfigError: It is one; says why its methods cannot run.
    """
    cells = [(cell, cell in journals[name]) for name, some in wanted.items() for cell in some]
    reasons = unable(cell for cell, _ in cells)
    if cells and not any(is_done or cell.method not in reasons for cell, is_done in cells):
        why = "; ".join(dict.fromkeys(reasons.values()))
        raise ConfigError(f"{', '.join(reasons)} cannot run here: {why}")


def _missing(
    wanted: Mapping[str, Sequence[Cell]], journals: Mapping[str, Journal], *, quiet: bool
) -> dict[str, list[Cell]]:
    """Return the cells of every target that are not done yet and can run here."""
    missing = {}
    for name, cells in wanted.items():
        missing[name] = _able([cell for cell in cells if cell not in journals[name]])
        if not quiet:
            print(f"{name}: {_told(cells, missing[name], journals[name])}", file=sys.stderr)
    return missing


def _told(cells: Sequence[Cell], left: Sequence[Cell], journal: Journal) -> str:
    """Return how far a target is; of a group, one may have nothing of what was asked for."""
    if not cells:
        return "0 fits to make, since none was asked for"
    done = sum(cell in journal for cell in cells)
    return f"{len(left)} {plural(len(left), 'fit')} to make, {done} done before"


def _complete(
    network: str,
    missing: Mapping[str, Sequence[Cell]],
    journals: Mapping[str, Journal],
    workers: int | None,
    *,
    quiet: bool,
) -> None:
    """Run the cells of all targets, keeping each as it finishes."""
    goes_to = {cell.key: journals[name] for name, cells in missing.items() for cell in cells}
    read = partial(read_network, network)
    everything = list(chain(*missing.values()))
    try:
        for cell, result in run_with_progress(everything, read, workers, quiet=quiet):
            goes_to[cell.key].add(cell, result)
    except Interrupted as problem:
        raise Interrupted(f"{problem}; the same command goes on from there") from problem


def _write(out: Path, results: Mapping[str, Any]) -> None:
    """Write a target's JSON, its table and its figure, if the paper has one."""
    folder = write_results(out, results).parent
    table = section(results, read_results(out))
    (folder / "table.md").write_text(f"# {results['title']}\n\n{table}", "utf-8")
    figure = FIGURES.get(results["target"])
    if figure is None:
        return
    try:
        figure(results["rows"], [folder / "figure.png", folder / "figure.svg"])
    except MissingExtraError as problem:
        print(f"no figure: {problem}", file=sys.stderr)


def _draw_hops(rows: Sequence[Mapping[str, Any]], paths: Sequence[Path]) -> None:
    percents = sorted({round(100 * row["train_fraction"]) for row in rows})
    lines = []
    for percent in percents:
        found = {
            hops: find_row(rows, "dmte-paper", "published", percent, hops)
            for hops in range(1, len(HOP_WEIGHTS) + 1)
        }
        auc = {hops: row["auc"] for hops, row in found.items() if row is not None}
        lines.append(_line(f"{percent} % of the edges", auc))
    draw_lines(lines, ("hops H", "AUC, published protocol, %"), paths)


def _draw_classes(rows: Sequence[Mapping[str, Any]], paths: Sequence[Path]) -> None:
    lines = []
    for method in dict.fromkeys(row["method"] for row in rows):
        own = {100 * r["label_fraction"]: r["macro_f1"] for r in rows if r["method"] == method}
        lines.append(_line(method, own))
    draw_lines(lines, ("labelled vertices trained on, %", "Macro-F1, %"), paths)


def _line(name: str, summaries: Mapping[Any, Mapping[str, Any]]) -> Line:
    return Line(
        name,
        x=list(summaries),
        y=[100 * summary["mean"] for summary in summaries.values()],
        spread=[100 * (summary["std"] or 0) for summary in summaries.values()],
    )


FIGURES = {"hops": _draw_hops, "dblp-classes": _draw_classes}
"""Targets that are figures in the paper, and how they are drawn."""
