"""What the benchmarks share: processes of their own, the machine, tables, and where results go.

A script that measures one thing many times is a function that measures it and one that says what to
measure; ``run`` makes the rest of both.
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


def in_a_process(script: Path, **work: Any) -> dict[str, Any]:
    """Return what ``script``, called with one piece of work in JSON, prints as JSON, or its error.

    A process of its own starts with an empty memory, and its peak is that of this work alone.
    """
    command = [sys.executable, str(script), "--work", json.dumps(work)]
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=False)
    if done.returncode:
        return {"error": f"exit code {done.returncode}"}
    found: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return found


@dataclass(frozen=True, slots=True, kw_only=True)
class Survey:
    """The rows of a table, each measured in a process of its own."""

    script: Path
    arguments: argparse.Namespace
    """What the user asked for."""
    rows: list[dict[str, Any]] = field(default_factory=list)
    names: list[str] = field(default_factory=list)
    """What tells rows apart."""

    def add(self, about: Mapping[str, Any], **work: Any) -> dict[str, Any]:
        """Have a piece of work measured, print the row that begins with ``about``, and return it.

        What is found under a name that begins with _ is for the caller alone.
        """
        found = in_a_process(self.script, **work, threads=self.arguments.threads)
        shown = {name: value for name, value in found.items() if not name.startswith("_")}
        self.rows.append({**about, **shown})
        self.names[:] = about
        print(table(self.rows[-1:]).splitlines()[-1], flush=True)
        return {**about, **found}


def run(
    script: str,
    measure: Callable[[dict[str, Any]], dict[str, Any]],
    survey: Callable[[Survey], None],
    **options: Mapping[str, Any],
) -> None:
    """Let the survey of a script add its rows, print them as a table and store them.

    Called with one piece of work, measure that and print what was found instead. An option is named
    as its argument is, with what ``add_argument`` is to know of it; ``--threads`` is always there.
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
    made = Survey(script=Path(script), arguments=arguments)
    survey(made)
    print(table(made.rows))
    store(script, made.rows, arguments.threads, names=made.names)


LARGEST: Mapping[str, Any] = {"type": float, "default": 1e6, "help": "vertices of the largest"}
"""The option of those that measure networks of growing size."""


def reset_peak() -> int:
    """Begin to count the peak of memory anew; return the bytes that are held now."""
    Path("/proc/self/clear_refs").write_text("5")
    return _status("VmRSS")


def peak() -> int:
    """Return the most bytes that were held since."""
    return _status("VmHWM")


def _status(name: str) -> int:
    return 1024 * int(Path("/proc/self/status").read_text().split(f"{name}:")[1].split()[0])


def sizes_up_to(largest: float, smallest: float = 1e3) -> list[int]:
    """Return powers of ten."""
    found = [int(smallest)]
    while found[-1] * 10 <= largest:
        found.append(found[-1] * 10)
    return found


Rows = Sequence[Mapping[str, Any]]


def store(
    script: str, results: Rows, threads: int, *, names: Sequence[str] = (), **more: Rows
) -> None:
    """Write the results, and more tables, beside the script, and into its place in README.md.

    Every row says of which revision it is. Where ``names`` tell rows apart, earlier ones that were
    not measured again stay.
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
    if names and path.exists():
        rows = merged(json.loads(path.read_text("utf-8"))["results"], rows, names)
    found = {"machine": machine, "results": rows} | more
    path.write_text(json.dumps(found, indent=2) + "\n")
    PAGE.write_text(with_tables(PAGE.read_text("utf-8")), "utf-8")


def merged(
    before: Rows, measured: Sequence[dict[str, Any]], names: Sequence[str]
) -> list[dict[str, Any]]:
    """Return the rows of before with those measured again in their places, and new ones after.

    >>> merged([{"of": 1, "ms": 5}, {"of": 2, "ms": 9}], [{"of": 1, "ms": 4}], ["of"])
    [{'of': 1, 'ms': 4}, {'of': 2, 'ms': 9}]
    """
    rows = {tuple(row.get(name) for name in names): dict(row) for row in (*before, *measured)}
    return list(rows.values())


def table(rows: Rows) -> str:
    """Return rows as a Markdown table with a column per name that occurs.

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
    """Return the page with the tables of every JSON file between the lines that ask for it.

    ``<!-- scale.json -->`` and ``<!-- end -->`` hold the tables of scale.json, if there are any.
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
