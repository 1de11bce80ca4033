"""Stored results of a target, ``results.json``: the scores of its fits over seeds.

A score that was not stored is left out, so that files from before a new metric stay readable. A
stored value must be of the right kind.
"""

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from dmte.errors import StorageError
from dmte.evaluation.paper.tables import with_tuples
from dmte.metrics import CLASS_METRICS, LINK_METRICS
from dmte.storage.atomic_file import new_file
from dmte.storage.stored_json import (
    ChecksumError,
    DamageError,
    Stored,
    check_number,
    read_checked,
    with_checksum,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Score:
    """A score over seeds, between 0 and 1."""

    mean: float
    std: float | None
    """The standard deviation over seeds; ``None`` for a single seed."""
    values: tuple[float, ...]

    @classmethod
    def from_stored(cls, stored: Stored) -> "Score":
        """Read a score."""
        mean = stored.number("mean", high=1.0)
        return cls(mean=mean, std=stored.optional_number("std"), values=stored.shares("values"))


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """The scores of a method at one share of the edges or labelled vertices."""

    method: str
    settings: Mapping[str, Any]
    """Settings that differ from the method's defaults."""
    percent: int
    protocol: str = ""
    """The protocol of link prediction; empty for classification."""
    scored_by: str = ""
    """``dot``, ``cosine`` or a method's own score; empty for classification."""
    scores: Mapping[str, Score]
    peak_mb: float | None = None
    counts: Mapping[str, float]
    """Numbers of hidden and of leaking edges, for link prediction."""

    @classmethod
    def from_dict(cls, row: Any, place: str = "") -> "Row":
        """Read a row of JSON.

        Raises:
            DamageError: A value is missing or of another kind.
        """
        stored = Stored.of(row, place)
        is_link = "protocol" in stored.values
        share = stored.number("train_fraction" if is_link else "label_fraction", high=1.0)
        counts = ("hidden_edges", "self_loops", "trained_on") if is_link else ()
        return cls(
            method=stored.text("method"),
            settings=with_tuples(dict(stored.inner("settings").values)),
            percent=round(100 * share),
            protocol=stored.text("protocol") if is_link else "",
            scored_by=stored.text("score") if is_link else "",
            scores={
                name: Score.from_stored(stored.inner(name))
                for name in _stored_names(stored, LINK_METRICS if is_link else CLASS_METRICS)
            },
            peak_mb=stored.optional_number("peak_mb"),
            counts={name: stored.number(name) for name in counts},
        )

    @property
    def main(self) -> Score:
        """AUC or Macro-F1."""
        return self.scores[next(iter(LINK_METRICS if self.protocol else CLASS_METRICS))]


@dataclass(frozen=True, slots=True, kw_only=True)
class Title:
    """A paper of the case study."""

    text: str
    rank: int
    """The rank among the papers closest to the query, from 1."""
    linked: bool

    @classmethod
    def from_stored(cls, stored: Stored) -> "Title":
        """Read a title."""
        if stored.values.get("linked") not in (False, True):
            raise DamageError(stored.within("linked"))
        linked = bool(stored.values["linked"])
        return cls(text=stored.text("text"), rank=int(stored.number("rank")), linked=linked)


@dataclass(frozen=True, slots=True, kw_only=True)
class CaseStudy:
    """The papers closest to the query, ours and those in Table 3."""

    query: str
    closest: tuple[Title, ...]
    printed: tuple[Title, ...]

    @classmethod
    def from_stored(cls, stored: Stored) -> "CaseStudy":
        """Read a case study."""
        closest, printed = (
            tuple(map(Title.from_stored, stored.each(name))) for name in ("closest", "printed")
        )
        return cls(query=stored.text("query"), closest=closest, printed=printed)


@dataclass(frozen=True, slots=True, kw_only=True)
class Results:
    """The results of a target that its tables need."""

    target: str
    network: str
    num_vertices: int
    median_seconds: Mapping[str, float]
    """Median seconds of a fit, by method."""
    rows: tuple[Row, ...] = ()
    case_study: CaseStudy | None = None

    @classmethod
    def from_dict(cls, results: Any) -> "Results":
        """Read the content of a ``results.json``.

        Raises:
            DamageError: A value is missing or of another kind.
        """
        stored = Stored.of(results)
        network, seconds = stored.inner("network"), stored.inner("median_seconds")
        found = stored.each("rows")
        is_case = "query" in found[0].values
        rows = () if is_case else tuple(Row.from_dict(one.values, one.place) for one in found)
        return cls(
            target=stored.text("target"),
            network=network.text("name"),
            num_vertices=int(network.number("vertices")),
            median_seconds={
                method: seconds.number(method)
                for method in [*seconds.values, *(row.method for row in rows)]
            },
            rows=rows,
            case_study=CaseStudy.from_stored(found[0]) if is_case else None,
        )


def find_row(
    rows: Iterable[Row],
    method: str,
    protocol: str,
    percent: int,
    settings: Mapping[str, Any] | None = None,
) -> Row | None:
    """Find the row scored by dot product or by the method's own score."""
    wanted = (method, protocol, percent)
    for row in rows:
        is_it = (row.method, row.protocol, row.percent) == wanted and row.scored_by != "cosine"
        if is_it and (settings is None or row.settings == settings):
            return row
    return None


def check_fit(kind: str, result: Any) -> None:
    """Check the stored result of a fit.

    Raises:
        DamageError: A value is missing or of another kind.
        KeyError: The kind of fit is unknown.
    """
    metrics: Mapping[str, Iterable[str]] = {"LinkCell": LINK_METRICS, "ClassCell": CLASS_METRICS}
    names = tuple({**metrics, "CaseCell": ()}[kind])
    stored = Stored.of(result)
    stored.number("fit_seconds")
    stored.optional_number("peak_mb")
    if not names:
        CaseStudy.from_stored(stored)
        return
    for one in stored.each("scores"):
        for name in _stored_names(one, names):
            one.number(name, high=1.0)
    if kind == "ClassCell":
        for share in stored.inner("scores").values:
            check_number(float(share), f"scores.{share}", 1.0)
    else:
        for name in ("hidden_edges", "self_loops", "trained_on"):
            stored.number(name)


def write_results(folder: Path, results: Mapping[str, Any]) -> Path:
    """Write the results of a target as JSON, a row per line; return the file."""
    head = json.dumps({name: value for name, value in results.items() if name != "rows"}, indent=1)
    rows = ",\n".join(json.dumps(row) for row in results["rows"])
    path = folder / str(results["target"]) / "results.json"
    text = with_checksum(f'{head[:-2]},\n "rows": [\n{rows}\n]}}')
    with new_file(path, replace=True) as file:
        file.write(f"{text}\n".encode())
    return path


def read_results(folder: Path) -> dict[str, Results]:
    """Read the results of every target in a folder, by its name.

    Raises:
        StorageError: A file cannot be read or is damaged.
    """
    return {path.parent.name: _read(path) for path in sorted(folder.glob("*/results.json"))}


def _read(path: Path) -> Results:
    target = path.parent.name
    try:
        results = Results.from_dict(read_checked(path.read_bytes())[0])
        if results.target == target:
            return results
        wrong = "target"
    except json.JSONDecodeError as problem:
        wrong = f"line {problem.lineno}"
    except (ChecksumError, UnicodeDecodeError, RecursionError):
        wrong = "everything"
    except ValueError as problem:
        wrong = str(problem)
    except OSError as problem:
        raise StorageError(f"{path} cannot be read: {problem.strerror}") from problem
    raise StorageError(
        f"{path}: {wrong} is damaged or missing; delete the file, or write it again with "
        f"'dmte reproduce {target} --seeds 0 --out {path.parents[1]}'"
    )


def _stored_names(stored: Stored, names: Iterable[str]) -> list[str]:
    """Return the names of stored scores; the first is required."""
    first, *others = names
    return [first, *(name for name in others if name in stored.values)]
