"""Features of vertices from a file or from a sentence encoder on disk.

vectors.npy            a matrix, a row per vertex in the order of the network
vectors.npz            ids and vectors, as ``dmte export`` writes them; vertices found by id
a folder               a sentence-transformers or model2vec model, which reads every text
"""

import zlib
from collections.abc import Collection, Sequence
from pathlib import Path
from zipfile import BadZipFile

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor

from dmte.baselines.sentence import Sentence
from dmte.errors import NetworkError
from dmte.network import TextualNetwork


def read_features(
    path: Path | str, network: TextualNetwork, *, known: Collection[str] = ()
) -> TextualNetwork:
    """Return ``network`` with the features that ``path`` has for its vertices.

    The vertices ``known``, of which a model has features already, may be missing.

    >>> from tempfile import TemporaryDirectory
    >>> from dmte import read_network
    >>> network = read_network("concepts")
    >>> with TemporaryDirectory() as folder:
    ...     np.save(f"{folder}/rows.npy", np.ones((network.num_vertices, 8)))
    ...     read_features(f"{folder}/rows.npy", network).features.shape
    torch.Size([432, 8])

    Raises:
        NetworkError: They cannot be read, or a vertex has none.
        DmteError: The folder holds no model that can be read here.
    """
    path = Path(path)
    if path.is_dir():
        return network.with_features(Sentence(folder=str(path)).features(network))
    content = _load(path)
    if isinstance(content, np.ndarray):
        rows = _rows(path, content)
        if len(rows) != network.num_vertices:
            raise NetworkError(
                f"{path} holds {len(rows):,} rows of features for {network.num_vertices:,} "
                "vertices; it needs one for each of them, in the order of the network"
            )
        _refuse_bad_row(path, content, rows, range(len(rows)))
        return network.with_features(rows)
    missing = {"ids", "vectors"} - set(content)
    if missing:
        raise NetworkError(f"{path} holds no {' and no '.join(sorted(missing))}")
    vectors = _rows(path, content["vectors"])
    if len(content["ids"]) != len(vectors):
        raise NetworkError(f"{path} holds {len(content['ids'])} ids for {len(vectors)} vectors")
    places = {str(name): place for place, name in enumerate(content["ids"].tolist())}
    if len(places) < len(vectors):
        raise NetworkError(f"{path} has an id more than once; every vertex has one row")
    used = [places[name] for name in network.ids if name in places]
    _refuse_bad_row(path, content["vectors"], vectors, used)
    return network.with_features(_in_order(path, vectors, places, network.ids, known))


def _load(path: Path) -> np.ndarray | dict[str, np.ndarray]:
    if path.suffix not in (".npy", ".npz"):
        raise NetworkError(
            f"{path} is neither .npy nor .npz nor the folder of a sentence encoder, of which "
            "features are read"
        )
    try:
        with path.open("rb") as file:  # numpy would leave a damaged archive open
            content = np.load(file, allow_pickle=False)
            return content if isinstance(content, np.ndarray) else dict(content)
    except (OSError, ValueError, EOFError, BadZipFile, zlib.error) as problem:
        reason = getattr(problem, "strerror", None) or "it is damaged or no file of numbers"
        raise NetworkError(f"features cannot be read from {path}: {reason}") from problem


def _rows(path: Path, matrix: np.ndarray) -> Float[Tensor, "rows features"]:
    """Return a matrix of numbers as those of four bytes; true and false are 1 and 0."""
    if matrix.ndim != 2 or matrix.dtype.kind not in "fiub":
        raise NetworkError(f"{path} holds no matrix of numbers, with a row per vertex")
    if matrix.shape[1] == 0:
        raise NetworkError(f"{path} holds rows of no features; a vertex needs at least one")
    with np.errstate(over="ignore"):  # What is too large is refused with its row.
        return torch.from_numpy(matrix.astype(np.float32))


def _refuse_bad_row(
    path: Path,
    matrix: np.ndarray,
    rows: Float[Tensor, "rows features"],
    used: Sequence[int],
) -> None:
    """Refuse the first of the rows that are used in which a number of four bytes is not finite."""
    is_bad = ~torch.isfinite(rows).all(dim=1)
    found = next((place for place in used if is_bad[place]), None) if bool(is_bad.any()) else None
    if found is None:
        return
    number = matrix[found][~np.isfinite(rows[found].numpy())][0]
    reason = (
        "is too large to be kept with four bytes; divide all features by the same number"
        if np.isfinite(number)
        else "is not a finite number, as features must be"
    )
    raise NetworkError(f"{path}, row {found + 1:,} of {len(rows):,}: {number} {reason}")


def _in_order(
    path: Path,
    vectors: Float[Tensor, "rows features"],
    places: dict[str, int],
    ids: Sequence[str],
    known: Collection[str],
) -> Float[Tensor, "vertices features"]:
    missing = [name for name in ids if name not in places and name not in known]
    if missing:
        others = f" and {len(missing) - 1:,} others" if len(missing) > 1 else ""
        raise NetworkError(f"{path} has no features of {missing[0]!r}{others}")
    rows = vectors.new_zeros(len(ids), vectors.shape[1])
    found = [position for position, name in enumerate(ids) if name in places]
    rows[found] = vectors[[places[ids[position]] for position in found]]
    return rows
