"""Paths of the data of the paper's experiments: TOML files, in the repository or the package.

Help shows their names, so nothing large is imported here.
"""

import tomllib
from pathlib import Path

from dmte.errors import StorageError


def experiment_files(folder: str = ".") -> list[Path]:
    """List the files in ``experiments/`` or in a folder of it, by name.

    Raises:
        StorageError: There is none.
    """
    # In an installed package they are inside it, in the repository at its top.
    installed = Path(__file__).parents[1] / "experiments"
    top = installed if installed.is_dir() else Path(__file__).parents[3] / "experiments"
    found = sorted((top / folder).glob("*.toml"))
    if not found:
        raise StorageError(f"{top / folder} has no .toml files; the installation is damaged")
    return found


def target_groups() -> dict[str, list[str]]:
    """Names of groups, with the targets of each; the group ``all`` has every target."""
    groups: dict[str, list[str]] = {}
    for path in experiment_files("targets"):
        for group in [*tomllib.loads(path.read_text("utf-8")).get("groups", ()), "all"]:
            groups.setdefault(group, []).append(path.stem)
    return groups
