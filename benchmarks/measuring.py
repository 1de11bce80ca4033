"""Shared by the benchmarks: separate processes, the machine, tables and stored results.

Most scripts consist of two functions, one that measures a single case and one that lists the cases;
``run`` does the rest.
"""

import argparse
import json
import os
import platform
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from dmte.runtime.provenance import processor, revision

FOLDER = Path(__file__).parent
PAGE = FOLDER / "README.md"


def run_in_process(script: Path, **work: Any) -> dict[str, Any]:
    """Run ``script`` on one case, passed as JSON, and return the JSON it prints, or its error.

    A separate process starts with empty memory, so the peak is that of this case alone.
    """
    command = [sys.executable, str(script), "--work", json.dumps(work)]
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=False)
    if done.returncode:
        return {"error": f"exit code {done.returncode}"}
    found: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return found


@dataclass(frozen=True, slots=True, kw_only=True)
class Survey:
    """The rows of a table, each measured in a separate process."""

    script: Path
    arguments: argparse.Namespace
    """The options of the command line."""
    rows: list[dict[str, Any]] = field(default_factory=list)
    keys: list[str] = field(default_factory=list)
    """Columns that identify a row."""

    def add(self, about: Mapping[str, Any], **work: Any) -> dict[str, Any]:
        """Measure one case, print its row, which begins with ``about``, and return the row.

        Figures whose names begin with _ are returned but not printed or stored.
        """
        found = run_in_process(self.script, **work, threads=self.arguments.threads)
        shown = {name: value for name, value in found.items() if not name.startswith("_")}
        self.rows.append({**about, **shown})
        self.keys[:] = about
        print(table(self.rows[-1:]).splitlines()[-1], flush=True)
        return {**about, **found}


def run(
    script: str,
    measure: Callable[[dict[str, Any]], dict[str, Any]],
    survey: Callable[[Survey], None],
    **options: Mapping[str, Any],
) -> None:
    """Run the survey of a script, print its rows as a table and store them.

    With ``--work``, measure that case only and print the figures as JSON. Each of ``options`` holds
    the keywords of ``add_argument`` for one option; ``--threads`` is always available.
    """
    parser = argparse.ArgumentParser()
    for name, about in options.items():
        parser.add_argument(f"--{name.replace('_', '-')}", **about)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--work", type=json.loads, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.work:
        import torch

        torch.set_num_threads(arguments.work["threads"])
        print(json.dumps(measure(arguments.work)))
        return
    done = Survey(script=Path(script), arguments=arguments)
    survey(done)
    print(table(done.rows))
    store(script, done.rows, arguments.threads, keys=done.keys)


LARGEST: Mapping[str, Any] = {"type": float, "default": 1e6, "help": "vertices of the largest"}
"""Option of the scripts that measure networks of growing size."""


def reset_peak() -> int:
    """Reset the peak of memory and return the bytes held now."""
    Path("/proc/self/clear_refs").write_text("5")
    return _status("VmRSS")


def peak() -> int:
    """Return the peak of memory since the last reset, in bytes."""
    return _status("VmHWM")


def _status(name: str) -> int:
    return 1024 * int(Path("/proc/self/status").read_text().split(f"{name}:")[1].split()[0])


def sizes_up_to(largest: float, smallest: float = 1e3) -> list[int]:
    """Return the powers of ten from ``smallest`` to ``largest``.

    >>> sizes_up_to(2e4)
    [1000, 10000]
    """
    found = [int(smallest)]
    while found[-1] * 10 <= largest:
        found.append(found[-1] * 10)
    return found


Rows = Sequence[Mapping[str, Any]]


def store(
    script: str, results: Rows, threads: int, *, keys: Sequence[str] = (), **more: Rows
) -> None:
    """Write the results, and further tables, beside the script and into README.md.

    Every row records its revision. With ``keys``, the columns that identify a row, stored rows that
    were not measured again are kept.
    """
    made = revision()
    rows = [{**row, "revision": made} for row in results]
    machine = {
        "processor": processor(),
        "cores": os.cpu_count(),
        "threads": threads,
        "python": platform.python_version(),
    }
    path = Path(script).with_suffix(".json")
    if keys and path.exists():
        rows = merged(json.loads(path.read_text("utf-8"))["results"], rows, keys)
    found = {"machine": machine, "results": rows} | more
    path.write_text(json.dumps(found, indent=2) + "\n")
    PAGE.write_text(with_tables(PAGE.read_text("utf-8")), "utf-8")


def merged(
    stored: Rows, measured: Sequence[dict[str, Any]], keys: Sequence[str]
) -> list[dict[str, Any]]:
    """Replace the stored rows that were measured again, in place, and append new ones.

    >>> merged([{"of": 1, "ms": 5}, {"of": 2, "ms": 9}], [{"of": 1, "ms": 4}], ["of"])
    [{'of': 1, 'ms': 4}, {'of': 2, 'ms': 9}]
    """
    rows = {tuple(row.get(key) for key in keys): dict(row) for row in (*stored, *measured)}
    return list(rows.values())


def table(rows: Rows) -> str:
    """Format rows as a Markdown table with a column for every name that occurs.

    >>> print(table([{"vertices": 1000, "seconds": 0.25}]))
    | vertices | seconds |
    | --- | --- |
    | 1,000 | 0.25 |
    """
    names = list(dict.fromkeys(name for row in rows for name in row))
    lines = [names, ["---"] * len(names)]
    lines += [[_cell(row.get(name)) for name in names] for row in rows]
    heads = [name.replace("_", " ") for name in names]
    return "\n".join(f"| {' | '.join(line)} |" for line in [heads, *lines[1:]])


def _cell(value: object) -> str:
    if value is None:
        return ""
    return f"{value:,}" if isinstance(value, int) and not isinstance(value, bool) else str(value)


def with_tables(page: str) -> str:
    """Put the tables of the JSON files into a page.

    Those of scale.json go between ``<!-- scale.json -->`` and ``<!-- end -->``.
    """
    parts = page.split("<!-- ")
    for at, part in enumerate(parts):
        name = part.partition(" -->")[0]
        path = FOLDER / name
        if at and name.endswith(".json") and path.exists():
            known = json.loads(path.read_text("utf-8"))
            made = known.pop("machine")
            threads = "one thread" if made["threads"] == 1 else f"{made['threads']} threads"
            caption = f"On {threads}."
            tables = "\n\n".join(table(rows) for rows in known.values())
            parts[at] = f"{name} -->\n\n{tables}\n\n{caption}\n\n"
        elif at and name.endswith(".json"):
            parts[at] = f"{name} -->\n\nNot measured yet.\n\n"
    return "<!-- ".join(parts)


if __name__ == "__main__":
    PAGE.write_text(with_tables(PAGE.read_text("utf-8")), "utf-8")
