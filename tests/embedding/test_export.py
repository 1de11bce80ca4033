"""Exported files hold the vectors and ids."""

import csv
import importlib.util
import os
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq  # type: ignore[import-untyped]
import pytest
import torch

from dmte.embedding.embedding import Embedding
from dmte.embedding.export import FORMATS, export_projector, export_vectors
from dmte.errors import StorageError

IDS = ("plain", "=cmd|' /C calc'!A0", 'a "quoted", id', "two\nlines", "図")


@pytest.fixture
def embedding() -> Embedding:
    vectors = torch.randn(5, 4, generator=torch.Generator().manual_seed(0))
    vectors[0] = torch.tensor([0.0, 1e-30, -1 / 3, 16777217.0])
    return Embedding(IDS, vectors, text_dim=2)


def test_parquet_holds_ids_and_vectors(embedding: Embedding, tmp_path: Path) -> None:
    table = pq.read_table(export_vectors(embedding, tmp_path / "v.parquet"))
    assert table["id"].to_pylist() == list(IDS)
    assert torch.equal(torch.tensor(table["vector"].to_pylist()), embedding.vectors)
    assert table.schema.metadata[b"dmte.text_dim"] == b"2"


def test_npz_is_read_without_pickle(embedding: Embedding, tmp_path: Path) -> None:
    with np.load(export_vectors(embedding, tmp_path / "v.npz", "npz"), allow_pickle=False) as file:
        assert file["ids"].tolist() == list(IDS)
        assert np.array_equal(file["vectors"], embedding.vectors.numpy())


def test_csv_is_read_back_and_safe_in_a_spreadsheet(embedding: Embedding, tmp_path: Path) -> None:
    path = export_vectors(embedding, tmp_path / "v.csv", "csv")
    with path.open(newline="", encoding="utf-8") as file:
        header, *rows = csv.reader(file)
    assert header == ["id", "v0", "v1", "v2", "v3"]
    assert [row[0] for row in rows] == [IDS[0], "'" + IDS[1], *IDS[2:]]
    numbers = torch.tensor([[float(cell) for cell in row[1:]] for row in rows])
    assert torch.equal(numbers, embedding.vectors)


def test_word2vec_text_is_a_header_and_a_line_per_vertex(
    embedding: Embedding, tmp_path: Path
) -> None:
    path = export_vectors(embedding, tmp_path / "v.txt", "word2vec")
    header, *lines = path.read_text("utf-8").splitlines()
    assert header == "5 4"
    assert [line.split(" ")[0] for line in lines] == [
        "plain",
        "=cmd|'_/C_calc'!A0",
        'a_"quoted",_id',
        "two_lines",
        "図",
    ]
    numbers = torch.tensor([[float(number) for number in line.split(" ")[1:]] for line in lines])
    assert torch.equal(numbers, embedding.vectors)


@pytest.mark.skipif(importlib.util.find_spec("gensim") is None, reason="gensim is not installed")
def test_gensim_reads_the_word2vec_text(embedding: Embedding, tmp_path: Path) -> None:
    from gensim.models import KeyedVectors  # type: ignore[import-not-found,import-untyped,unused-ignore]

    path = export_vectors(embedding, tmp_path / "v.txt", "word2vec")
    assert np.array_equal(KeyedVectors.load_word2vec_format(path)["図"], embedding["図"].numpy())


def test_the_projector_gets_vectors_and_metadata(embedding: Embedding, tmp_path: Path) -> None:
    labels = ["x", "y\tz", "", '"=1+1"', "'tis"]
    vectors, metadata = export_projector(embedding, tmp_path / "new", {"label": labels})
    assert np.array_equal(np.loadtxt(vectors, dtype=np.float32), embedding.vectors.numpy())
    lines = metadata.read_text("utf-8").split("\n")
    assert lines[0] == "id\tlabel"
    assert lines[2] == "'=cmd|' /C calc'!A0\ty z"
    assert lines[4] == 'two lines\t\'"=1+1"'  # Spreadsheets remove the quotes.
    assert lines[5] == "図\t'tis"
    assert len(lines) == 7


@pytest.mark.parametrize("kind", FORMATS)
def test_an_existing_file_is_not_replaced(embedding: Embedding, tmp_path: Path, kind: str) -> None:
    path = tmp_path / "kept"
    path.write_text("mine")
    with pytest.raises(StorageError, match="exists already and is not overwritten"):
        export_vectors(embedding, path, kind)
    assert path.read_text() == "mine"
    export_vectors(embedding, path, kind, replace=True)
    assert path.read_bytes() != b"mine"
    assert [found.name for found in tmp_path.iterdir()] == ["kept"]


def test_a_device_is_never_replaced(embedding: Embedding, tmp_path: Path) -> None:
    pipe, link = tmp_path / "pipe", tmp_path / "link"
    os.mkfifo(pipe)
    link.symlink_to(os.devnull)
    for path in (pipe, link):
        with pytest.raises(StorageError, match=f"{path.name} is a device or a pipe"):
            export_vectors(embedding, path, "csv", replace=True)
    assert pipe.is_fifo()
    assert link.is_char_device()


def test_a_failed_export_leaves_no_file(tmp_path: Path) -> None:
    clash = Embedding(("a b", "a_b"), torch.eye(2), text_dim=1)
    with pytest.raises(StorageError, match=r"'a b' and 'a_b' both become 'a_b'"):
        export_vectors(clash, tmp_path / "v.txt", "word2vec")
    blank = Embedding(("a", " "), torch.eye(2), text_dim=1)
    with pytest.raises(StorageError, match="is blank"):
        export_vectors(blank, tmp_path / "v.txt", "word2vec")
    assert not list(tmp_path.iterdir())


def test_an_unwritable_path_raises(embedding: Embedding, tmp_path: Path) -> None:
    with pytest.raises(StorageError, match="is a folder"):
        export_vectors(embedding, tmp_path)
    (tmp_path / "file").write_text("")
    with pytest.raises(StorageError, match="cannot be written"):
        export_vectors(embedding, tmp_path / "file" / "v.parquet")
    with pytest.raises(StorageError, match="the format must be one of parquet, npz, word2vec, csv"):
        export_vectors(embedding, tmp_path / "v", "xlsx")
