"""Export of vectors and ids to files for other programs.

parquet      id and vector, a list of 32-bit floats
npz          ids and vectors as NumPy arrays, read without pickle
word2vec     the text format of word2vec, which gensim and many others read
csv          id and one column per dimension, safe to open as a spreadsheet
projector    two tab-separated files for the TensorBoard projector: vectors, and metadata that are
             safe to open as a spreadsheet
"""

from collections.abc import Callable, Mapping, Sequence
from itertools import chain
from pathlib import Path
from types import MappingProxyType
from typing import BinaryIO

import numpy as np
import pyarrow as pa  # type: ignore[import-untyped]
import pyarrow.parquet as pq  # type: ignore[import-untyped]

from dmte.embedding.embedding import Embedding
from dmte.errors import StorageError
from dmte.runtime.formatting import spreadsheet_safe
from dmte.storage.atomic_file import new_file


def export_vectors(
    embedding: Embedding, path: Path | str, kind: str = "parquet", *, replace: bool = False
) -> Path:
    """Write the vectors and ids to ``path`` in one of ``FORMATS``; return the file.

    Raises:
        StorageError: The format is unknown, the file exists or cannot be written, or the
            ids do not fit the format.
    """
    if kind not in FORMATS:
        raise StorageError(f"the format must be one of {', '.join(FORMATS)}, not {kind!r}")
    path = Path(path)
    with new_file(path, replace=replace) as file:
        FORMATS[kind](embedding, file)
    return path


def export_projector(
    embedding: Embedding,
    folder: Path | str,
    columns: Mapping[str, Sequence[str]] = MappingProxyType({}),
    *,
    replace: bool = False,
) -> tuple[Path, Path]:
    """Write vectors.tsv and metadata.tsv for the TensorBoard projector; return both files.

    The metadata holds the id and these further columns, such as texts and labels.

    Raises:
        StorageError: A file exists or cannot be written.
    """
    vectors, metadata = Path(folder) / "vectors.tsv", Path(folder) / "metadata.tsv"
    rows = zip(embedding.ids, *columns.values(), strict=True)
    with (
        new_file(vectors, replace=replace) as numbers,
        new_file(metadata, replace=replace) as words,
    ):
        numbers.writelines(_numbers(row, "\t") + b"\n" for row in embedding.vectors.numpy())
        for row in chain([("id", *columns)], rows):
            words.write("\t".join(map(_tsv_cell, row)).encode() + b"\n")
    return vectors, metadata


def _write_parquet(embedding: Embedding, file: BinaryIO) -> None:
    rows = embedding.vectors.numpy()
    flat = pa.array(rows.reshape(-1), type=pa.float32())
    vectors = pa.FixedSizeListArray.from_arrays(flat, rows.shape[1])
    table = pa.table({"id": pa.array(embedding.ids, type=pa.string()), "vector": vectors})
    facts = {"dmte.text_dim": str(embedding.text_dim)}
    pq.write_table(table.replace_schema_metadata(facts), file)


def _write_npz(embedding: Embedding, file: BinaryIO) -> None:
    np.savez(
        file,
        ids=np.array(embedding.ids, dtype=np.str_),
        vectors=embedding.vectors.numpy(),
        text_dim=np.array(embedding.text_dim),
    )


def _write_word2vec(embedding: Embedding, file: BinaryIO) -> None:
    """Write ids with underscores for white space, which ends a word in this format.

    Raises:
        StorageError: An id is empty, or two ids become the same.
    """
    words = ["_".join(name.split()) for name in embedding.ids]
    taken: dict[str, str] = {}
    for word, name in zip(words, embedding.ids, strict=True):
        if not word:
            raise StorageError(f"the id {name!r} is blank, which word2vec files do not allow")
        if word in taken:
            raise StorageError(
                f"the ids {taken[word]!r} and {name!r} both become {word!r} in a word2vec file, "
                "which has underscores for white space; choose another format"
            )
        taken[word] = name
    rows, columns = embedding.vectors.shape
    file.write(f"{rows} {columns}\n".encode())
    for word, row in zip(words, embedding.vectors.numpy(), strict=True):
        file.write(word.encode() + b" " + _numbers(row, " ") + b"\n")


def _write_csv(embedding: Embedding, file: BinaryIO) -> None:
    columns = [f"v{column}" for column in range(embedding.vectors.shape[1])]
    file.write(",".join(["id", *columns]).encode() + b"\r\n")
    for name, row in zip(embedding.ids, embedding.vectors.numpy(), strict=True):
        quoted = spreadsheet_safe(name).replace('"', '""')
        file.write(f'"{quoted}",'.encode() + _numbers(row, ",") + b"\r\n")


FORMATS: Mapping[str, Callable[[Embedding, BinaryIO], None]] = MappingProxyType(
    {
        "parquet": _write_parquet,
        "npz": _write_npz,
        "word2vec": _write_word2vec,
        "csv": _write_csv,
    }
)
"""The writer of every format with one file."""


def _numbers(row: np.ndarray, separator: str) -> bytes:
    """Format numbers with the nine digits that identify a 32-bit float."""
    return (separator.join(["%.9g"] * len(row)) % tuple(row.tolist())).encode()


def _tsv_cell(text: str) -> str:
    """A cell on one line. The format has no quotes, but spreadsheets remove them."""
    line = " ".join(text.split())
    bare = line.lstrip('"')
    return line if spreadsheet_safe(bare) == bare else f"'{line}"
