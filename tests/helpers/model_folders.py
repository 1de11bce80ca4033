"""What the tests of a model folder write, and what they look at afterwards."""

import json
from collections.abc import Mapping
from pathlib import Path

from dmte.storage.folder import read_parts

PARTS = {
    "config.json": b'{"dim": 2}\n',
    "vectors.safetensors": b"\x00\x01\x02" * 700,
    "ids.json": b"",
}
OTHER_PARTS = {
    "config.json": b'{"dim": 3}\n',
    "vectors.safetensors": b"\x07" * 900,
    "ids.json": b"",
}

State = tuple[Mapping[str, bytes], str | None]
WITH_CARD: State = (PARTS, "old")
OTHER_CARD: State = (OTHER_PARTS, "new")
WITHOUT_CARD: State = (OTHER_PARTS, None)


def listed_files(folder: Path) -> dict[str, str]:
    """File of every part according to the manifest."""
    manifest = json.loads((folder / "manifest.json").read_bytes())
    return {name: entry["file"] for name, entry in manifest["parts"].items()}


def expected_files(folder: Path, *others: str) -> set[str]:
    return {".lock", "manifest.json", *listed_files(folder).values(), *others}


def assert_nothing_else(folder: Path, *others: str) -> None:
    assert {path.name for path in folder.iterdir()} == expected_files(folder, *others)


def read_state(folder: Path) -> State:
    card = folder / "README.md"
    return read_parts(folder), card.read_text() if card.exists() else None
