"""Loading a pretrained sentence encoder from disk, and encoding texts with it.

    x_i = f(t_i) / ‖f(t_i)‖

f is a frozen model, such as Sentence-BERT (Reimers and Gurevych 2019) or averaged word vectors
distilled from one. The model is a folder in the format of sentence-transformers or model2vec, with
weights in safetensors. Nothing is downloaded, and no code from the folder is run. The model may
truncate long texts (all-MiniLM-L6-v2: after 256 word pieces).

Every distinct text is encoded once, in float32 without dropout, in batches of texts of similar
length. The batches depend only on the set of texts, not on their order. With another set of texts,
a vector may differ by rounding. The vectors of the last network are cached, so later fits on the
same network reuse them. A blank text has the zero vector.

Memory is that of the package and twice the weights (all-MiniLM-L6-v2: 480 MB). On one thread,
all-MiniLM-L6-v2 encodes 32 abstracts of Cora in 1.7 s and all of them in two minutes.
"""

import json
from collections.abc import Callable, Sequence
from contextlib import redirect_stderr
from functools import lru_cache
from hashlib import sha256
from importlib import import_module
from importlib.util import find_spec
from io import StringIO
from pathlib import Path
from typing import Any

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor
from torch.nn.functional import normalize

from dmte.errors import MissingExtraError, StorageError
from dmte.runtime.progress import track

VARIABLE = "DMTE_SENTENCE_MODEL"
"""Environment variable with the folder of the model."""

BATCH_SIZE = 32

FINGERPRINT_LENGTH = 12

Encode = Callable[[Sequence[str]], Float[Tensor, "texts dim"]]


def batches_of(texts: Sequence[str]) -> list[list[str]]:
    """Divide the distinct texts that are not blank into batches, shortest first.

    >>> batches_of(["to be", "", "b", "a", "b"])
    [['a', 'b', 'to be']]
    """
    distinct = sorted({text for text in texts if text.strip()}, key=lambda text: (len(text), text))
    return [distinct[first : first + BATCH_SIZE] for first in range(0, len(distinct), BATCH_SIZE)]


@lru_cache(maxsize=1)
def encode_texts(
    folder: str,
    model: str,  # noqa: ARG001 - part of the cache key: a changed folder is another model
    texts: tuple[str, ...],
) -> Float[Tensor, "vertices dim"]:
    """Return one vector of length 1 per text, zero for blank texts; cached by fingerprint."""
    batches = batches_of(texts)
    if not batches:
        return torch.zeros(len(texts), 1)
    encode = load_model(Path(folder))
    vectors = normalize(torch.cat([encode(batch) for batch in track(batches)]))
    rows = {text: row for row, text in enumerate(text for batch in batches for text in batch)}
    features = torch.zeros(len(texts), vectors.shape[1])
    encoded = [vertex for vertex, text in enumerate(texts) if text in rows]
    features[encoded] = vectors[[rows[texts[vertex]] for vertex in encoded]]
    return features


def encode_with(folder: Path, texts: Sequence[str]) -> Float[Tensor, "vertices dim"]:
    """Encode ``texts`` with the model in ``folder``.

    Raises:
        StorageError: The folder does not contain a model, or it cannot be read.
        MissingExtraError: The package that loads the model is not installed.
    """
    reader_of(folder)
    return encode_texts(str(folder), fingerprint(folder), tuple(texts))


def fingerprint(folder: Path) -> str:
    """Return the first twelve hex digits of the SHA-256 of a model's files."""
    paths = sorted(
        path for path in folder.rglob("*") if path.suffix in (".json", ".txt", ".safetensors")
    )
    stamps = ((path.stat().st_size, path.stat().st_mtime_ns) for path in paths)
    return _fingerprint(folder, tuple(paths), tuple(stamps))


@lru_cache
def _fingerprint(
    folder: Path,
    paths: tuple[Path, ...],
    stamps: tuple[tuple[int, int], ...],  # noqa: ARG001 - part of the cache key
) -> str:
    digest = sha256()
    for path in paths:
        content = sha256(path.read_bytes()).hexdigest()
        digest.update(f"{path.relative_to(folder).as_posix()} {content}\n".encode())
    return digest.hexdigest()[:FINGERPRINT_LENGTH]


def reader_of(folder: Path) -> str:
    """Return the package that loads the model: model2vec or sentence_transformers.

    Raises:
        StorageError: The folder has neither format.
        MissingExtraError: The package is not installed.
    """
    modules, config = (_read_json(folder / name) for name in ("modules.json", "config.json"))
    kinds = [module.get("type", "") for module in modules] if isinstance(modules, list) else []
    is_static = isinstance(config, dict) and config.get("model_type") == "model2vec"
    if not kinds and not is_static:
        raise StorageError(
            f"{folder} does not contain a sentence encoder; it must have the modules.json of "
            "sentence-transformers or the config.json of model2vec"
        )
    is_static |= any(kind.endswith(".StaticEmbedding") for kind in kinds)
    reader = "model2vec" if is_static else "sentence_transformers"
    if find_spec(reader) is None:
        raise MissingExtraError(
            f"the model in {folder} needs {reader.replace('_', '-')}, which is not installed; "
            "pip install 'dmte[sentence]'"
        )
    return reader


def load_model(folder: Path) -> Encode:
    """Load the model and return its encoding function.

    Raises:
        StorageError: The folder does not contain a model, or it cannot be read.
        MissingExtraError: The package that loads the model is not installed.
    """
    reader = reader_of(folder)
    try:
        with redirect_stderr(StringIO()):  # The packages print a progress bar.
            return READERS[reader](folder)
    except Exception as problem:  # The packages raise errors of any type.
        reason = " ".join(str(problem).split())
        raise StorageError(f"{folder} cannot be read by {reader}: {reason}") from problem


def _read_json(path: Path) -> Any:
    """Return the content of a JSON file, or None if it cannot be read."""
    try:
        return json.loads(path.read_bytes())
    except (OSError, ValueError):
        return None


def _load_static(folder: Path) -> Encode:
    model = import_module("model2vec").StaticModel.from_pretrained(folder)

    def encode(texts: Sequence[str]) -> Float[Tensor, "texts dim"]:
        vectors = model.encode(list(texts), use_multiprocessing=False)
        return torch.from_numpy(np.asarray(vectors, dtype=np.float32))

    return encode


def _load_transformer(folder: Path) -> Encode:
    model = import_module("sentence_transformers").SentenceTransformer(
        str(folder),
        device="cpu",
        local_files_only=True,
        trust_remote_code=False,
        model_kwargs={"use_safetensors": True},
    )
    model.float().eval()

    def encode(texts: Sequence[str]) -> Float[Tensor, "texts dim"]:
        vectors = model.encode(list(texts), batch_size=BATCH_SIZE, show_progress_bar=False)
        return torch.from_numpy(np.asarray(vectors, dtype=np.float32))

    return encode


READERS: dict[str, Callable[[Path], Encode]] = {
    "model2vec": _load_static,
    "sentence_transformers": _load_transformer,
}
"""The loading function of each package."""
