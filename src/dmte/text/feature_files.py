"""Vertex features from a file or from a sentence encoder on disk.

vectors.npy            a matrix with one row per vertex, in the order of the network
vectors.npz            ids and vectors, as written by ``dmte export``; rows are matched by id
a folder               a sentence-transformers or model2vec model, which encodes every text
"""

import zlib
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from zipfile import BadZipFile

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor

from dmte.errors import NetworkError
from dmte.network import TextualNetwork
from dmte.text.sentence_model import encode_with


def read_features(
    path: Path | str, network: TextualNetwork, *, known: Collection[str] = ()
) -> TextualNetwork:
    """Return ``network`` with the features of its vertices from ``path``.

    Vertices in ``known`` may be missing from the file, because a model already has their features.

    >>> from tempfile import TemporaryDirectory
    >>> from dmte import read_network
    >>> network = read_network("concepts")
    >>> with TemporaryDirectory() as folder:
    ...     np.save(f"{folder}/rows.npy", np.ones((network.num_vertices, 8)))
    ...     read_features(f"{folder}/rows.npy", network).features.shape
    torch.Size([432, 8])

    Raises:
        NetworkError: The file cannot be read, or a vertex has no features.
        StorageError: The folder does not contain a sentence encoder.
        MissingExtraError: The package that loads the sentence encoder is not installed.
    """
    path = Path(path)
    if path.is_dir():
        return network.with_features(encode_with(path, network.texts))
    content = _load(path)
    if isinstance(content, np.ndarray):
        return network.with_features(_by_position(path, content, network))
    return network.with_features(_by_id(path, content, network.ids, known))


def _load(path: Path) -> np.ndarray | dict[str, np.ndarray]:
    if path.suffix not in (".npy", ".npz"):
        raise NetworkError(
            f"{path} must be a .npy file, a .npz file or the folder of a sentence encoder "
            "to read features from"
        )
    try:
        with path.open("rb") as file:  # NumPy would leave a damaged archive open.
            content = np.load(file, allow_pickle=False)
            return content if isinstance(content, np.ndarray) else dict(content)
    except (OSError, ValueError, EOFError, BadZipFile, zlib.error) as problem:
        reason = getattr(problem, "strerror", None) or "the file is damaged or not a NumPy file"
        raise NetworkError(f"cannot read features from {path}: {reason}") from problem


def _by_position(
    path: Path, matrix: np.ndarray, network: TextualNetwork
) -> Float[Tensor, "vertices features"]:
    """Check that a matrix has one row per vertex, and convert it."""
    rows = _rows(path, matrix)
    if len(rows) != network.num_vertices:
        raise NetworkError(
            f"{path} must have one row per vertex, in the order of the network: "
            f"it has {len(rows):,} rows for {network.num_vertices:,} vertices"
        )
    _check_finite(path, matrix, rows, range(len(rows)))
    return rows


def _by_id(
    path: Path, arrays: Mapping[str, np.ndarray], ids: Sequence[str], known: Collection[str]
) -> Float[Tensor, "vertices features"]:
    """Return the rows of ``ids`` in that order; rows of missing ``known`` vertices are zero."""
    missing = {"ids", "vectors"} - set(arrays)
    if missing:
        names = " and no ".join(sorted(missing))
        raise NetworkError(f"{path} must contain ids and vectors, but has no {names}")
    vectors = _rows(path, arrays["vectors"])
    positions = {str(name): row for row, name in enumerate(arrays["ids"].tolist())}
    if len(arrays["ids"]) != len(vectors):
        raise NetworkError(f"{path} has {len(arrays['ids'])} ids for {len(vectors)} vectors")
    if len(positions) < len(vectors):
        raise NetworkError(f"{path} has duplicate ids; every vertex must have one row")
    absent = [name for name in ids if name not in positions and name not in known]
    if absent:
        others = f" and {len(absent) - 1:,} others" if len(absent) > 1 else ""
        raise NetworkError(f"{path} has no features for {absent[0]!r}{others}")
    vertices = [vertex for vertex, name in enumerate(ids) if name in positions]
    used = [positions[ids[vertex]] for vertex in vertices]
    _check_finite(path, arrays["vectors"], vectors, used)
    rows = vectors.new_zeros(len(ids), vectors.shape[1])
    rows[vertices] = vectors[used]
    return rows


def _rows(path: Path, matrix: np.ndarray) -> Float[Tensor, "rows features"]:
    """Convert a numeric or boolean matrix to float32."""
    if matrix.ndim != 2 or matrix.dtype.kind not in "fiub":
        raise NetworkError(f"{path} must contain a matrix of numbers with one row per vertex")
    if matrix.shape[1] == 0:
        raise NetworkError(f"{path} has rows without features; at least one column is needed")
    with np.errstate(over="ignore"):  # _check_finite reports the row.
        return torch.from_numpy(matrix.astype(np.float32))


def _check_finite(
    path: Path,
    matrix: np.ndarray,
    rows: Float[Tensor, "rows features"],
    used: Sequence[int],
) -> None:
    """Raise an error for the first of the ``used`` rows with a number not finite in float32."""
    is_bad = ~torch.isfinite(rows).all(dim=1)
    found = next((row for row in used if is_bad[row]), None) if bool(is_bad.any()) else None
    if found is None:
        return
    number = matrix[found][~np.isfinite(rows[found].numpy())][0]
    reason = (
        "is too large for float32; divide all features by the same number"
        if np.isfinite(number)
        else "is not a finite number"
    )
    raise NetworkError(f"{path}, row {found + 1:,} of {len(rows):,}: {number} {reason}")
