"""The results of a target as a file, ``results.json``: written whole, and checked when read."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from dmte.errors import StorageError
from dmte.evaluation.paper.shapes import HEAD, ROWS, Each, Shape, misfit
from dmte.evaluation.paper.targets import TARGETS, Target


def write_results(folder: Path, results: Mapping[str, Any]) -> Path:
    """Write the results of a target as JSON, a row per line; return the file."""
    head = json.dumps({name: value for name, value in results.items() if name != "rows"}, indent=1)
    rows = ",\n".join(json.dumps(row) for row in results["rows"])
    path = folder / str(results["target"]) / "results.json"
    path.parent.mkdir(parents=True, exist_ok=True)
    # Beside and moved into place, so that a kill leaves the old results or the new ones.
    beside = path.with_name(f".{path.name}.new")
    beside.write_text(f'{head[:-2]},\n "rows": [\n{rows}\n]}}\n', encoding="utf-8")
    beside.replace(path)
    return path


def read_results(folder: Path) -> dict[str, dict[str, Any]]:
    """Return the results of every target that has some in ``folder``, by its name.

    Raises:
        StorageError: Some cannot be read, or are damaged; says where and how to get them anew.
    """
    paths = ((target, folder / name / "results.json") for name, target in TARGETS.items())
    return {target.name: _read_target(target, path) for target, path in paths if path.is_file()}


def _read_target(target: Target, path: Path) -> dict[str, Any]:
    try:
        results: dict[str, Any] = json.loads(path.read_text("utf-8"))
        wrong = _damage(target, results)
    except json.JSONDecodeError as problem:
        wrong = f"line {problem.lineno}"
    except (UnicodeDecodeError, RecursionError):
        wrong = "everything"
    except OSError as problem:
        raise StorageError(f"{path} cannot be read: {problem.strerror}") from problem
    if wrong is None:
        return results
    raise StorageError(
        f"{path}: {wrong} is damaged or missing; delete the file, or write it anew with "
        f"'dmte reproduce {target.name} --seeds 0 --out {path.parents[1]}'"
    )


def _damage(target: Target, results: Any) -> str | None:
    """Return what is not as it was written of the results of a target, if anything."""
    (kind,) = {cell.kind for cell in target.plan(target.network)}
    own: Shape = {"target": lambda value: value == target.name, "rows": Each(ROWS[kind])}
    wrong = misfit(results, HEAD) or misfit(results, own)
    if wrong is not None:
        return wrong
    known = {None, *results["median_seconds"]}  # None: the case study's row names no method.
    untimed = (row["method"] for row in results["rows"] if row.get("method") not in known)
    return next((f"median_seconds.{method}" for method in untimed), None)
