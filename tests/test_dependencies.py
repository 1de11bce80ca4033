"""What is imported: core needs its dependencies only, and SECURITY.md lists every one of them."""

import json
import re
import subprocess
import sys
import tomllib
from collections.abc import Iterable
from importlib.metadata import PackageNotFoundError, requires
from pathlib import Path
from typing import Any

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
CORE = [Requirement(line) for line in PROJECT["dependencies"]]
NOT_FOR_USERS = {"all", "benchmarks", "docs", "test", "dev"}
"""Extras that are sets of others, or for the work on this repository."""

IMPORT_ALL = """
import importlib, json, pkgutil, sys, sysconfig
from importlib.abc import MetaPathFinder
from importlib.metadata import packages_distributions
from pathlib import Path

allowed = set(json.loads(sys.argv[1]))
owners = {
    top: {name.lower().replace("_", "-").replace(".", "-") for name in names}
    for top, names in packages_distributions().items()
}
wanted, LIBRARY = [], sysconfig.get_path("platlib")

def importer():
    frame = sys._getframe(2)
    while frame.f_globals.get("__name__", "").startswith("importlib"):
        frame = frame.f_back
    return frame.f_globals.get("__name__", "")

class Others(MetaPathFinder):
    '''As if nothing but the allowed distributions were installed.'''

    def find_spec(self, name, path=None, target=None):
        if owners.get(name.partition(".")[0], allowed) & allowed:
            return None
        if importer().partition(".")[0] == "dmte":
            wanted.append(f"{importer()} imports {name}")
        raise ModuleNotFoundError(f"No module named {name!r}", name=name)

sys.meta_path.insert(0, Others())
import dmte
for found in pkgutil.walk_packages(dmte.__path__, "dmte."):
    if found.name != "dmte.__main__":
        importlib.import_module(found.name)
for name in dmte.__all__:
    getattr(dmte, name)

def owner(name, module):
    top = name.partition(".")[0]
    if top in sys.stdlib_module_names or top in ("__main__", "__mp_main__", "dmte"):
        return set()
    if top in owners:
        return owners[top]
    file = Path(getattr(module, "__file__", None) or "/")  # Maybe a compiled part of a package.
    return owners[file.relative_to(LIBRARY).parts[0]] if file.is_relative_to(LIBRARY) else set()

used = set().union(*(owner(name, module) for name, module in [*sys.modules.items()]))
print(json.dumps({"used": sorted(used), "wanted": wanted}))
"""


def closure(requirements: Iterable[Requirement]) -> set[str]:
    """The names of the distributions, of their dependencies, and so on."""
    found: set[str] = set()
    waiting = list(requirements)
    while waiting:
        one = waiting.pop()
        name = canonicalize_name(one.name)
        if name in found or (one.marker is not None and not one.marker.evaluate({"extra": ""})):
            continue
        found.add(name)
        try:
            waiting += [Requirement(line) for line in requires(one.name) or []]
        except PackageNotFoundError:  # For another platform.
            found.discard(name)
    return found


@pytest.mark.medium
def test_core_imports_nothing_beyond_its_dependencies() -> None:
    allowed = closure(CORE)
    assert {"torch", "scikit-learn", "threadpoolctl"} <= allowed
    assert not {"pandas", "matplotlib", "optuna", "usearch"} & allowed
    done = subprocess.run(
        [sys.executable, "-c", IMPORT_ALL, json.dumps(sorted(allowed))],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    found: dict[str, Any] = json.loads(done.stdout)
    assert found["wanted"] == []
    assert set(found["used"]) <= allowed
    assert {"torch", "numpy", "pyarrow", "pyyaml", "rich", "typer"} <= set(found["used"])


def listed(heading: str) -> dict[str, str]:
    """The dependencies in a table of SECURITY.md, each with its versions."""
    text = (ROOT / "SECURITY.md").read_text("utf-8")
    table = text.partition(f"\n| {heading} |")[2].partition("\n\n")[0]
    return dict(re.findall(r"^\| `([\w-]+)` \| ([^|]+) \|", table, re.MULTILINE))


def declared(requirements: Iterable[Requirement]) -> dict[str, str]:
    return {one.name: str(one.specifier).replace(">=", "≥ ") for one in requirements}


def test_security_lists_the_dependencies_of_core() -> None:
    assert listed("dependency") == declared(CORE)


def test_security_lists_the_dependencies_of_every_extra() -> None:
    extras = PROJECT["optional-dependencies"]
    lines = [line for name in extras.keys() - NOT_FOR_USERS for line in extras[name]]
    assert listed("optional") == declared(Requirement(line) for line in lines)
    for name in extras.keys() - NOT_FOR_USERS:
        assert f"| `{name}` |" in (ROOT / "SECURITY.md").read_text("utf-8")
