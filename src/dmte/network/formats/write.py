"""Write a network as two tables, without overwriting files."""

import json
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

from dmte.errors import NetworkError
from dmte.network.textual_network import TextualNetwork


def write_tables(network: TextualNetwork, vertices: Path | str, edges: Path | str) -> None:
    """Write a network as two JSON Lines files, which ``read_tables`` reads back unchanged.

    >>> from tempfile import TemporaryDirectory
    >>> from dmte import read_network, read_tables
    >>> network = read_network("concepts")
    >>> with TemporaryDirectory() as folder:
    ...     tables = Path(folder, "vertices.jsonl"), Path(folder, "edges.jsonl")
    ...     write_tables(network, *tables)
    ...     read_tables(*tables).fingerprint() == network.fingerprint()
    True

    Raises:
        NetworkError: A file already exists, or an id or label would change when it is read back.
    """
    vertices, edges = Path(vertices), Path(edges)
    for path in (vertices, edges):
        if path.suffix.lower() not in (".jsonl", ".ndjson"):
            raise NetworkError(f"{path} must end in .jsonl or .ndjson; tables are JSON Lines")
    if vertices == edges:
        raise NetworkError(f"{vertices} cannot hold both tables; give two files")
    labels = network.labels or ()
    for name in [*network.ids, *(label for classes in labels for label in classes)]:
        if not name or name != name.strip():
            raise NetworkError(
                f"the id or label {name!r} is empty, or begins or ends with white space, which "
                "readers remove; rename it"
            )
    write_new({vertices: _vertex_lines(network), edges: _edge_lines(network)})


def _vertex_lines(network: TextualNetwork) -> list[str]:
    rows: list[dict[str, object]] = [
        {"id": name, "text": text} for name, text in zip(network.ids, network.texts, strict=True)
    ]
    for row, classes in zip(rows, network.labels or (), strict=False):
        row["label"] = sorted(classes)
    return [json.dumps(row, ensure_ascii=False) for row in rows]


def _edge_lines(network: TextualNetwork) -> list[str]:
    ids, pairs = network.ids, network.edges.tolist()
    rows: list[dict[str, object]] = [{"source": ids[i], "target": ids[j]} for i, j in pairs]
    if network.weights is not None:
        for row, weight in zip(rows, network.edge_weights.tolist(), strict=True):
            row["weight"] = weight
    return [json.dumps(row, ensure_ascii=False) for row in rows]


def write_new(contents: Mapping[Path, list[str]]) -> None:
    """Write new files, all or none.

    Raises:
        NetworkError: A file already exists, or cannot be written.
    """
    encoded = {path: _encode(path, lines) for path, lines in contents.items()}
    written: list[Path] = []
    for path, content in encoded.items():
        try:
            with path.open("xb") as file:
                written.append(path)
                file.write(content)
        except OSError as error:
            for begun in written:
                with suppress(OSError):
                    begun.unlink()
            if isinstance(error, FileExistsError):
                raise NetworkError(
                    f"{path} exists already and is not overwritten; give another path"
                ) from None
            raise NetworkError(f"{path} cannot be written: {error.strerror}") from None


def _encode(path: Path, lines: list[str]) -> bytes:
    try:
        return "".join(f"{line}\n" for line in lines).encode()
    except UnicodeEncodeError as error:
        raise NetworkError(
            f"{path} cannot be written: {error.object[error.start]!r} is half of a surrogate pair, "
            "which UTF-8 cannot encode; replace it"
        ) from None
