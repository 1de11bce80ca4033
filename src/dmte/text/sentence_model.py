"""Pretrained sentence encoders: find, load and run one, and keep its vectors.

A model is a folder on disk, as sentence-transformers or model2vec store one, with weights in
safetensors. Nothing is fetched from a hub, and no code from the folder is run. Every distinct text
is encoded once, in float32 and without dropout, in batches of texts of similar length.
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
"""The environment variable that names the folder of the model."""

BATCH_SIZE = 32

FINGERPRINT_LENGTH = 12

Encode = Callable[[Sequence[str]], Float[Tensor, "texts dim"]]


def batches_of(texts: Sequence[str]) -> list[list[str]]:
    """Return the distinct texts that are not blank, shortest first, in batches.

    >>> batches_of(["to be", "", "b", "a", "b"])
    [['a', 'b', 'to be']]
    """
    distinct = sorted({text for text in texts if text.strip()}, key=lambda text: (len(text), text))
    return [distinct[first : first + BATCH_SIZE] for first in range(0, len(distinct), BATCH_SIZE)]


@lru_cache(maxsize=1)
def encode_texts(
    folder: str,
    model: str,  # noqa: ARG001 - a folder whose files changed is another model
    texts: tuple[str, ...],
) -> Float[Tensor, "vertices dim"]:
    """Return one vector per text, of length one, a blank text's zero."""
    batches = batches_of(texts)
    if not batches:
        return torch.zeros(len(texts), 1)
    encode = load_model(Path(folder))
    vectors = normalize(torch.cat([encode(batch) for batch in track(batches)]))
    places = {text: place for place, text in enumerate(text for some in batches for text in some)}
    features = torch.zeros(len(texts), vectors.shape[1])
    written = [position for position, text in enumerate(texts) if text in places]
    features[written] = vectors[[places[texts[position]] for position in written]]
    return features


def fingerprint(folder: Path) -> str:
    """Return the first digits of the SHA-256 of a model's settings, vocabulary and weights."""
    paths = sorted(
        path for path in folder.rglob("*") if path.suffix in (".json", ".txt", ".safetensors")
    )
    stamps = ((path.stat().st_size, path.stat().st_mtime_ns) for path in paths)
    return _fingerprint(folder, tuple(paths), tuple(stamps))


@lru_cache
def _fingerprint(
    folder: Path,
    paths: tuple[Path, ...],
    stamps: tuple[tuple[int, int], ...],  # noqa: ARG001 - what changed is read again
) -> str:
    digest = sha256()
    for path in paths:
        content = sha256(path.read_bytes()).hexdigest()
        digest.update(f"{path.relative_to(folder).as_posix()} {content}\n".encode())
    return digest.hexdigest()[:FINGERPRINT_LENGTH]


def reader_of(folder: Path) -> str:
    """Return the package that reads a folder: model2vec static vectors, else sentence-transformers.

    Raises:
        StorageError: It is neither's.
        MissingExtraError: The package is not installed.
    """
    modules, config = (_read_json(folder / name) for name in ("modules.json", "config.json"))
    kinds = [module.get("type", "") for module in modules] if isinstance(modules, list) else []
    is_static = isinstance(config, dict) and config.get("model_type") == "model2vec"
    if not kinds and not is_static:
        raise StorageError(
            f"{folder} holds no sentence encoder: neither a modules.json, as sentence-transformers "
            "and model2vec store one, nor a config.json that says model2vec"
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
    """Return what turns a batch of texts into vectors.

    Raises:
        StorageError: The folder holds no model that can be read.
        MissingExtraError: The package that reads it is not installed.
    """
    reader = reader_of(folder)
    try:
        with redirect_stderr(StringIO()):  # Loading draws a bar of its own.
            return READERS[reader](folder)
    except Exception as problem:  # They raise whatever the part that fails raises.
        reason = " ".join(str(problem).split())
        raise StorageError(f"{folder} cannot be read by {reader}: {reason}") from problem


def _read_json(path: Path) -> Any:
    """Return what a file holds, or none if it is not there or holds something else."""
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
"""How each package reads a folder."""
