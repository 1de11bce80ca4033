"""What is wrong with the input is said in one line, and nothing that was there is touched.

A case is a command, the files it finds, a phrase of the line and the exit code: 2 for a user's
mistake, 1 for the system's, 0 for what is odd but legal and warned of. All run in one process, in
a folder that holds ``model``, ``net.jsonl`` and ``old.csv`` besides.
"""

import errno
import gzip
import hashlib
import io
import json
import os
import shlex
import shutil
import sys
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa  # type: ignore[import-untyped]
import pyarrow.parquet as pq  # type: ignore[import-untyped]
import pytest

from dmte.cli import main
from dmte.model.stored_model import StoredModel
from dmte.model.trained_model import TrainedModel
from dmte.network import read_network
from dmte.storage.codec import encode_json
from dmte.storage.folder import read_parts, write_parts
from dmte.training.method import DmteMethod
from hostile_files import PLANTS

RESULTS = Path(__file__).parents[2] / "experiments" / "results"
Make = Callable[[], object]
"""Makes of the working folder what no bytes of a file can."""


class Case(NamedTuple):
    """One mistake and what is said about it."""

    command: str
    files: Mapping[str, str | bytes]
    phrase: str
    code: int = 2
    make: Make | None = None
    piped: bytes | None = None


NETWORK = "".join(
    json.dumps({"id": name, "text": text, "links": links, "label": label}) + "\n"
    for name, text, links, label in [
        ("fox", "a red fox", ["den"], "animal"),
        ("hen", "a red hen", ["nest"], "animal"),
        ("den", "where the fox sleeps", ["fox"], "place"),
        ("nest", "where the hen sleeps", [], "place"),
        ("moon", "it shines on all of them", [], None),
    ]
)


def parquet(columns: Mapping[str, list[str]]) -> bytes:
    file = io.BytesIO()
    pq.write_table(pa.table(dict(columns)), file)
    return file.getvalue()


def part_of_the_model(name: str) -> Path:
    (found,) = Path("model").glob(f"{name}-*")
    return found


def lose(name: str) -> None:
    part_of_the_model(name).unlink()


def cut(name: str) -> None:
    path = part_of_the_model(name)
    path.write_bytes(path.read_bytes()[:-7])


def flip(name: str) -> None:
    path = part_of_the_model(name)
    data = bytearray(path.read_bytes())
    data[-3] ^= 1
    path.write_bytes(data)


def plant(name: str, what: str) -> None:
    path = part_of_the_model(name)
    path.unlink()
    PLANTS[what](path)


def widen() -> None:
    """Give the model another width, with right checksums."""
    parts = read_parts(Path("model"))
    config = json.loads(parts["config.json"])
    config["settings"]["dim"] = 2**40
    write_parts(Path("model"), parts | {"config.json": encode_json(config)})


JUNK = bytes(range(1, 256)) * 20
VERTICES = "id,text\na,red fox\nb,den\n"
EDGES = "source,target\na,b\n"
TABLES = "info --vertices v.csv --edges e.csv"
SIX = {"id": list("abcdef"), "text": list("uvwxyz")}

FILES = {
    "a truncated Parquet file": Case(
        "train x.parquet --out m", {"x.parquet": parquet(SIX)[:-9]}, "not a Parquet file"
    ),
    "a Parquet file cut in the middle": Case(
        "info x.parquet", {"x.parquet": parquet(SIX)[:60]}, "not a Parquet file"
    ),
    "a Parquet file with a damaged middle": Case(
        "info x.parquet",
        {"x.parquet": parquet(SIX)[:20] + b"\xff" * 30 + parquet(SIX)[50:]},
        "x.parquet",
    ),
    "a Parquet file that is named CSV": Case("info x.csv", {"x.csv": parquet(SIX)}, "Parquet"),
    "binary junk as a table": Case("train x.csv --out m", {"x.csv": JUNK}, "not UTF-8"),
    "binary junk as JSON Lines": Case("info x.jsonl", {"x.jsonl": JUNK}, "not UTF-8"),
    "binary junk as BibTeX": Case("info x.bib", {"x.bib": JUNK}, "not UTF-8"),
    "binary junk as GraphML": Case("info x.graphml", {"x.graphml": JUNK}, "x.graphml"),
    "binary junk as a note": Case("train notes --out m", {"notes/a.md": JUNK}, "not UTF-8"),
    "binary junk from a pipe": Case("info -", {}, "standard input", piped=JUNK),
    "a picture": Case("info x.csv", {"x.csv": b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR"}, "not UTF-8"),
    "a spreadsheet": Case("info x.csv", {"x.csv": b"PK\x03\x04" + JUNK}, "export it as CSV"),
    "a line of 10 MB": Case(
        "info x.csv", {"x.csv": b"id,text\na," + b'"' + b"x" * 10_000_000 + b"\n"}, "x.csv"
    ),
    "a line of 10 MB that is as it should be": Case(
        "train x.csv --out m --quiet",
        {"x.csv": b"id,text,links\na," + b"red fox " * 1_250_000 + b",b\nb,den,\n"},
        "",
        code=0,
    ),
    "a line of 10 MB that is no JSON": Case(
        "info x.jsonl", {"x.jsonl": b'{"id": "' + b"x" * 10_000_000}, "x.jsonl, line 1"
    ),
    "a wrong delimiter": Case("info x.csv", {"x.csv": "id;text\na;b\n"}, "semicolons"),
    "tabs in a CSV": Case("info x.csv", {"x.csv": "id\ttext\na\tb\n"}, "tab"),
    "commas in a TSV": Case("info x.tsv", {"x.tsv": "id,text\na,b\n"}, "comma"),
    "UTF-16": Case("train x.csv --out m", {"x.csv": VERTICES.encode("utf-16")}, "UTF-16"),
    "UTF-16 without a mark": Case(
        "info x.jsonl", {"x.jsonl": NETWORK.encode("utf-16-le")}, "UTF-16"
    ),
    "UTF-32": Case("info x.csv", {"x.csv": VERTICES.encode("utf-32")}, "UTF-32"),
    "Latin-1": Case("info x.csv", {"x.csv": "id,text\na,café\n".encode("latin-1")}, "line 2"),
    "NUL bytes": Case("info x.csv", {"x.csv": b"id,text\na,b\0c\n"}, "line 2: byte 11 is NUL"),
    "NUL bytes in a note": Case("info notes", {"notes/a.md": b"a\0b"}, "NUL"),
    "an empty file": Case("train x.csv --out m", {"x.csv": ""}, "x.csv is empty"),
    "an empty JSON file": Case("info x.json", {"x.json": ""}, "not JSON"),
    "an empty packed file": Case("info x.csv.gz", {"x.csv.gz": b""}, "is empty"),
    "an empty pipe": Case("train - --out m", {}, "standard input", piped=b""),
    "a header alone": Case("info x.csv", {"x.csv": "id,text\n"}, "holds no vertices"),
    "a cut gzip file": Case(
        "info x.csv.gz", {"x.csv.gz": gzip.compress(VERTICES.encode())[:-9]}, "truncated"
    ),
    "a gzip file that is none": Case("info x.csv.gz", {"x.csv.gz": VERTICES}, "not a gzip file"),
    "a zstd file that is none": Case("info x.csv.zst", {"x.csv.zst": VERTICES}, "not a zstd file"),
    "a format that is none": Case("info x.csv --format xls", {"x.csv": VERTICES}, "'xls'"),
    "an unknown suffix": Case("info x.docx", {"x.docx": VERTICES}, "x.docx"),
}

TEXTS = {
    "a table without ids": Case("info x.csv", {"x.csv": "p,q,r,s\na,b,c,d\n"}, "x.csv"),
    "a column that is not there": Case(
        "train x.csv --id-column key --out m", {"x.csv": VERTICES}, "no column 'key'"
    ),
    "two columns of one name": Case("info x.csv", {"x.csv": "id,id\na,b\n"}, "'id'"),
    "a row with too many cells": Case("info x.csv", {"x.csv": "id,text\na,b,c\n"}, "line 2"),
    "a row with too few cells": Case("info x.csv", {"x.csv": "id,text,label\na\n"}, "line 2"),
    "an open quote": Case("info x.csv", {"x.csv": 'id,text\na,"b\nc,d\n'}, "line 2: unexpected"),
    "an id given twice": Case("info x.csv", {"x.csv": "id,text\na,b\na,c\n"}, "line 3"),
    "ids that differ only in spaces": Case(
        "train x.csv --out m",
        {"x.csv": "id,text\na,b\n a ,c\n"},
        "line 3: the id 'a' is already used",
    ),
    "an empty id": Case("info x.csv", {"x.csv": "id,text\n,b\n"}, "line 2"),
    "an edge to nowhere": Case(
        TABLES, {"v.csv": VERTICES, "e.csv": "source,target\na,bb\n"}, "line 2"
    ),
    "a weight that is no number": Case(
        TABLES, {"v.csv": VERTICES, "e.csv": "source,target,weight\na,b,much\n"}, "line 2"
    ),
    "a negative weight": Case(
        TABLES, {"v.csv": VERTICES, "e.csv": "source,target,weight\na,b,-1\n"}, "line 2"
    ),
    "a weight of infinity": Case(
        TABLES, {"v.csv": VERTICES, "e.csv": "source,target,weight\na,b,inf\n"}, "line 2"
    ),
    "an edge without a target": Case(
        TABLES, {"v.csv": VERTICES, "e.csv": "source,target\na,\n"}, "line 2"
    ),
    "tables that are not there": Case(TABLES, {}, "v.csv does not exist"),
    "one table of two": Case(TABLES, {"v.csv": VERTICES}, "e.csv does not exist"),
    "JSON that breaks off": Case("info x.json", {"x.json": '[{"id": "a"'}, "x.json"),
    "a line that is no object": Case("info x.jsonl", {"x.jsonl": "[1, 2]\n"}, "line 1"),
    "a line of JSON that breaks off": Case(
        "train x.jsonl --out m", {"x.jsonl": '{"id": "a"}\n{"id": \n'}, "line 2"
    ),
    "links that are an object": Case(
        "info x.jsonl --links-column links",
        {"x.jsonl": '{"id": "a", "links": {"b": 1}}\n'},
        "x.jsonl, line 1",
    ),
    "JSON without records": Case("info x.json", {"x.json": '{"id": "a"}'}, "list of records"),
    "lists too deep": Case("info x.json", {"x.json": "[" * 100_000}, "too deep"),
    "an open entry of BibTeX": Case("info x.bib", {"x.bib": "@article{a, title = {"}, "line 1"),
    "BibTeX without entries": Case("info x.bib", {"x.bib": "just words"}, "holds no vertices"),
    "a key of BibTeX given twice": Case(
        "info x.bib", {"x.bib": "@a{k, title={b}}\n@a{k, title={c}}\n"}, "'k'"
    ),
    "GraphML that breaks off": Case(
        "info x.graphml", {"x.graphml": "<graphml><graph>"}, "x.graphml"
    ),
    "XML that is no GraphML": Case("info x.graphml", {"x.graphml": "<html/>"}, "x.graphml"),
    "entities in GraphML": Case(
        "info x.graphml",
        {"x.graphml": '<!DOCTYPE a [<!ENTITY b "c">]><graphml>&b;</graphml>'},
        "DOCTYPE",
    ),
    "an edge list with words": Case(
        "info x.edgelist", {"x.edgelist": "a b\nthis is no edge at all\n"}, "line 2"
    ),
    "a graph with a vertex too many": Case(
        "info net", {"net/data.txt": "a\nb\n", "net/graph.txt": "0 1\n0 7\n"}, "graph.txt, line 2"
    ),
    "labels for half the vertices": Case(
        "info net",
        {"net/data.txt": "a\nb\nc\n", "net/graph.txt": "0 1\n", "net/group.txt": "x\n"},
        "group.txt has 1 line",
    ),
    "a folder without anything": Case("train net --out m", {"net/readme.txt": ""}, "net holds"),
    "a network that is not there": Case("train nowhere --out m", {}, "nowhere"),
    "a data set misspelled": Case("info cncepts", {}, "did you mean concepts?"),
    "a data set in capitals": Case("info CORA", {}, "did you mean cora?"),
}

FOLDERS = {
    "a cycle of symbolic links among notes": Case(
        "train notes --out m",
        {"notes/a.md": "red [[b]]", "notes/b.md": "fox", "notes/c.md": "den [[a]]"},
        "",
        code=0,
        make=lambda: Path("notes/again").symlink_to(".."),
    ),
    "a note that is a symbolic link to itself": Case(
        "info notes",
        {"notes/a.md": "red"},
        "b.md",
        make=lambda: Path("notes/b.md").symlink_to("b.md"),
    ),
    "a note that is a symbolic link to nothing": Case(
        "info notes",
        {"notes/a.md": "red"},
        "b.md",
        make=lambda: Path("notes/b.md").symlink_to("no"),
    ),
    "a network that is a symbolic link to itself": Case(
        "info loop", {}, "loop", make=lambda: Path("loop").symlink_to("loop")
    ),
    "links to missing notes": Case(
        "train notes --out m",
        {"notes/a.md": "red [[b]] [[gone]]", "notes/b.md": "fox [[gone]]", "notes/c.md": "den"},
        "warning: notes: links that do not lead to a note are ignored, 2 in all",
        code=0,
    ),
    "a folder that is named like a table": Case("info x.csv", {"x.csv/y.txt": ""}, "x.csv holds"),
    "a table that is a folder": Case(TABLES, {"v.csv/x": "", "e.csv": EDGES}, "is a folder"),
    "a model instead of a network": Case("train model --out m", {}, "model"),
}

MODELS = {
    **{
        f"a model whose {name} are missing": Case(command, {}, name, make=partial(lose, name))
        for name, command in {
            "vectors": "similar model --vertex fox",
            "ids": "suggest model",
            "parameters": "explain model fox hen",
            "edges": "classify model",
            "texts": "embed model new.jsonl --similar 1",
            "config": "info model",
        }.items()
    },
    "a truncated file of a model": Case(
        "similar model --vertex fox", {}, "vectors", make=lambda: cut("vectors")
    ),
    "a truncated vocabulary": Case(
        "similar model --text fox", {}, "vocabulary", make=lambda: cut("vocabulary")
    ),
    "a foreign file in a model": Case(
        "similar model --vertex fox",
        {},
        "vectors",
        make=lambda: part_of_the_model("vectors").write_bytes(JUNK),
    ),
    "a flipped bit in a model": Case(
        "export model --out v.npz", {}, "vectors", make=lambda: flip("vectors")
    ),
    "a pipe in a model": Case(
        "similar model --vertex fox", {}, "is a pipe", make=lambda: plant("ids", "pipe")
    ),
    "a link that leads out of a model": Case(
        "suggest model", {}, "is a link", make=lambda: plant("texts", "link")
    ),
    "a model with right checksums and a wrong width": Case(
        "similar model --text fox", {}, "config.json is invalid", make=widen
    ),
    "a model without a manifest": Case(
        "similar model --vertex fox", {}, "model", make=lambda: Path("model/manifest.json").unlink()
    ),
    "a manifest that is cut": Case(
        "suggest model", {"model/manifest.json": '{"format": '}, "manifest.json"
    ),
    "a manifest of somebody else's": Case(
        "explain model fox hen", {"model/manifest.json": '{"name": "web app"}'}, "model"
    ),
    "a manifest that leads outside": Case(
        "similar model --vertex fox",
        {"model/manifest.json": '{"files": {"vectors": {"name": "../old.csv"}}}'},
        "model",
    ),
    "a folder that is no model": Case("similar notes --vertex a", {"notes/a.md": "x"}, "notes"),
    "a file instead of a model": Case("suggest net.jsonl", {}, "net.jsonl"),
    "a model that is not there": Case("classify nowhere", {}, "nowhere"),
    "a pickled model": Case("similar m.pt --text x", {"m.pt": JUNK}, "m.pt"),
}

QUESTIONS = {
    "an unknown vertex with a near match": Case(
        "similar model --vertex foxx", {}, "did you mean 'fox'"
    ),
    "an unknown vertex to suggest for": Case("suggest model --vertex nset", {}, "'nest'"),
    "an unknown vertex to explain": Case("explain model fox hn", {}, "'hen'"),
    "a vertex explained by itself": Case("explain model fox fox", {}, "two different vertices"),
    "an id in another case": Case("similar model --vertex FOX", {}, "'fox'"),
    "more neighbors than there are": Case(
        "similar model --vertex fox -k 1000", {}, "there are only", code=0
    ),
    "more suggestions than there are": Case(
        "suggest model -k 1000000", {}, "there are only", code=0
    ),
    "no neighbors at all": Case("similar model --vertex fox -k 0", {}, "k must be at least 1"),
    "fewer neighbors than none": Case("suggest model -k -3", {}, "k must be at least 1"),
    "a count that is no number": Case("similar model --vertex fox -k many", {}, "-k"),
    "neither vertex nor text": Case("similar model", {}, "--vertex ID or --text"),
    "both vertex and text": Case("similar model --vertex fox --text x", {}, "either"),
    "a text without a known word": Case("similar model --text zzz", {}, "no word of 'zzz'"),
    "an empty text": Case("similar model --text ''", {}, "the text is empty"),
    "a label that nobody has": Case("similar model --vertex fox --label city", {}, "'city'"),
    "the structure of a text": Case("similar model --text fox --half structure", {}, "structure"),
    "a half that is none": Case("similar model --vertex fox --half left", {}, "left"),
    "two formats at once": Case("suggest model --json --csv", {}, "cannot be combined"),
    "one vertex to explain": Case("explain model fox", {}, "B"),
    "labels of unknown vertices": Case(
        "classify model --labels l.csv", {"l.csv": "id,label\nwolf,animal\n"}, "l.csv, line 2"
    ),
    "one label for all": Case(
        "classify model --labels l.csv", {"l.csv": "id,label\nfox,x\nhen,x\n"}, "label"
    ),
    "labels in a file that is empty": Case(
        "classify model --labels l.csv", {"l.csv": ""}, "l.csv is empty"
    ),
    "new vertices that the model has": Case("embed model net.jsonl --similar 1", {}, "skip-known"),
    "a new vertex that links to nowhere": Case(
        "embed model new.csv --edges e.csv --similar 1",
        {"new.csv": "id,text\nw,red wolf\n", "e.csv": "source,target\nw,foxx\n"},
        "'fox'",
    ),
    "new vertices and nothing asked": Case("embed model new.jsonl", {}, "--out FILE"),
    "new vertices as binary junk": Case(
        "embed model x.csv --out v.csv", {"x.csv": JUNK}, "not UTF-8"
    ),
}

OUTPUTS = {
    "an output that exists": Case("export model --out old.csv", {}, "old.csv"),
    "labels into a file that exists": Case("classify model --out old.csv", {}, "old.csv"),
    "new vectors into a file that exists": Case(
        "embed model new.jsonl --out old.csv",
        {"new.jsonl": '{"id": "w", "text": "fox"}'},
        "old.csv",
    ),
    "an output below a file": Case("export model --out old.csv/v.npz", {}, "old.csv is a file"),
    "an output that is a folder": Case("export model --out model --format csv", {}, "is a folder"),
    "an output where nothing can be written": Case("export model --out /proc/v.npz", {}, "/proc"),
    "an output of no known kind": Case("export model --out v.docx", {}, "v.docx"),
    "an output without a name": Case("export model", {}, "--out FILE"),
    "a format that is not written": Case("export model --out v.x --format xls", {}, "xls"),
    "labels into a format that is not written": Case("classify model --out l.txt", {}, "l.txt"),
    "a model over somebody's file": Case("train net.jsonl --out old.csv", {}, "old.csv"),
    "a model over somebody's folder": Case(
        "train net.jsonl --out letters", {"letters/dear.txt": "dear"}, "letters"
    ),
    "a model below a file": Case("train net.jsonl --out old.csv/m", {}, "old.csv"),
    "a model where nothing can be written": Case("train net.jsonl --out /proc/m", {}, "/proc"),
    "a model nowhere": Case("train net.jsonl", {}, "--out FOLDER"),
    "the demo over somebody's folder": Case(
        "demo --out letters", {"letters/model/dear.txt": "dear"}, "letters/model"
    ),
    "settings over a file of somebody's": Case("tune net.jsonl --out old.csv", {}, "old.csv"),
    "a report of nothing": Case("reproduce report --out no", {}, "no results"),
    "a report below a file": Case(
        f"reproduce report --out {RESULTS} --page old.csv/page.md",
        {},
        "Not a directory; give --page",
    ),
    "a report that is a folder": Case(
        f"reproduce report --out {RESULTS} --page model", {}, "Is a directory; give --page"
    ),
}

SETTINGS = {
    "a verb misspelled": Case("trian net.jsonl", {}, "did you mean train"),
    "a verb in capitals": Case("Train net.jsonl", {}, "did you mean train"),
    "an option misspelled": Case("train net.jsonl --out m --epoch 3", {}, "--epoch"),
    "a width of nothing": Case("train net.jsonl --out m --dim 0", {}, "dim must be"),
    "a width that is no number": Case("train net.jsonl --out m --dim wide", {}, "--dim"),
    "hop weights with semicolons": Case(
        "train net.jsonl --out m --hop-weights '1;2'", {}, "numbers separated by commas"
    ),
    "a recipe that is none": Case("train net.jsonl --out m --recipe cake", {}, "'cake'"),
    "a version that is none": Case("train net.jsonl --out m --variant best", {}, "'best'"),
    "weights of words beside another encoder": Case(
        "train net.jsonl --out m --recipe paper --word-weights",
        {},
        "word_weights must be false or left out with the encoder 'word-average'",
    ),
    "no checkpoint to go on from": Case("train net.jsonl --out m --resume", {}, "m.checkpoint"),
    "settings that are no TOML": Case(
        "train net.jsonl --out m --settings s.toml", {"s.toml": "dim = = 3"}, "s.toml"
    ),
    "a setting that is none": Case(
        "train net.jsonl --out m --settings s.toml", {"s.toml": "dims = 3"}, "dim"
    ),
    "a setting of the wrong kind": Case(
        "train net.jsonl --out m --settings s.toml", {"s.toml": 'dim = "x"'}, "dim"
    ),
    "settings that are not there": Case("train net.jsonl --out m --settings s.toml", {}, "s.toml"),
    "settings as binary junk": Case(
        "train net.jsonl --out m --settings s.toml", {"s.toml": JUNK}, "s.toml"
    ),
    "texts without a word": Case(
        "train x.csv --out m", {"x.csv": "id,text,links\na,,b\nb,,c\nc,,\n"}, "no text has a word"
    ),
    "a network without links": Case(
        "train x.csv --out m",
        {"x.csv": "id,text\na,b\nc,d\n"},
        "warning: x.csv has no links",
        code=0,
    ),
    "too few links to tune with": Case("tune net.jsonl --out s.toml", {}, "links"),
    "a method that is none": Case("evaluate links net.jsonl --methods dtme", {}, "dtme"),
    "a share of more than all": Case("evaluate links net.jsonl --train-fraction 55", {}, "55"),
    "a share that is no number": Case(
        "evaluate links net.jsonl --train-fraction half", {}, "'half'"
    ),
    "a protocol that is none": Case("evaluate links net.jsonl --protocol lax", {}, "lax"),
    "no seeds": Case("evaluate links net.jsonl --seeds 0", {}, "seeds"),
    "too few links to hide": Case(
        "evaluate links x.csv --methods tfidf",
        {"x.csv": "id,text,links\na,x,b\nb,y,\n"},
        "cannot be split",
    ),
    "classes without labels": Case(
        "evaluate classes x.csv", {"x.csv": "id,text,links\na,x,b\nb,y,\n"}, "label"
    ),
    "evaluating what is not there": Case("evaluate classes nowhere", {}, "nowhere"),
    "evaluating what": Case("evaluate nodes net.jsonl", {}, "nodes"),
    "a target that is none": Case("reproduce table-9", {}, "'table-9'"),
    "a data set that is none": Case("datasets path corra", {}, "cora"),
    "a data set that is none to fetch": Case("datasets download corra", {}, "cora"),
}


def array(rows: int, columns: int = 2, **options: bool) -> bytes:
    file = io.BytesIO()
    value = [[None] * columns] * rows if options else [[1.0] * columns] * rows
    np.save(file, np.array(value, dtype=object if options else np.float32), **options)
    return file.getvalue()


PICTURES = {
    "a picture over a file that exists": Case(
        "plot model --out old.png", {"old.png": "precious"}, "old.png exists already"
    ),
    "a picture of no known kind": Case("plot model --out map.bmp", {}, "map.bmp"),
    "a picture nowhere": Case("plot model", {}, "--out FILE"),
    "a picture below a file": Case("plot model --out old.csv/map.png", {}, "old.csv"),
    "a picture of nothing": Case("plot nowhere --out map.png", {}, "nowhere"),
    "a map made in no known way": Case("plot model --out map.png --by magic", {}, "magic"),
    "results that are no JSON": Case("plot r.json --out r.png", {"r.json": "{"}, "r.json"),
    "results that are junk": Case("plot r.json --out r.png", {"r.json": JUNK}, "r.json"),
    "results of somebody else's": Case("plot r.json --out r.png", {"r.json": "[1]"}, "r.json"),
    "results without a row": Case(
        "plot r.json --out r.png", {"r.json": '{"results": []}'}, "r.json"
    ),
}


def archive() -> bytes:
    file = io.BytesIO()
    np.savez_compressed(file, ids=np.array(list("abcde")), vectors=np.arange(200.0).reshape(5, 40))
    return file.getvalue()


ARCHIVE = archive()
TRAIN_WITH = "train net.jsonl --out m --features"
FEATURES = {
    "features beside another encoder": Case(
        f"{TRAIN_WITH} f.npy --encoder spectral", {"f.npy": array(5)}, "with --encoder spectral"
    ),
    "features beside a version with an encoder": Case(
        f"{TRAIN_WITH} f.npy --variant bilstm", {"f.npy": array(5)}, "with --variant bilstm"
    ),
    "features beside a file of settings with an encoder": Case(
        f"{TRAIN_WITH} f.npy --settings s.toml",
        {"f.npy": array(5), "s.toml": 'encoder = "spectral"'},
        "cannot be combined with s.toml, which sets the encoder spectral",
    ),
    "features beside what only words have": Case(
        f"{TRAIN_WITH} f.npy --word-weights",
        {"f.npy": array(5)},
        "--word-weights is for words and cannot be combined with --features",
    ),
    "features beside a file of settings with what only words have": Case(
        f"{TRAIN_WITH} f.npy --settings s.toml",
        {"f.npy": array(5), "s.toml": "letters = true"},
        "letters must be false or left out with the encoder 'features'",
    ),
    "features that are not there": Case(f"{TRAIN_WITH} f.npy", {}, "f.npy"),
    "features for too few vertices": Case(f"{TRAIN_WITH} f.npy", {"f.npy": array(3)}, "3 rows"),
    "features that are cut": Case(f"{TRAIN_WITH} f.npy", {"f.npy": array(5)[:-7]}, "f.npy"),
    "features that are junk": Case(f"{TRAIN_WITH} f.npy", {"f.npy": JUNK}, "f.npy"),
    "features that are pickled": Case(
        f"{TRAIN_WITH} f.npy", {"f.npy": array(5, allow_pickle=True)}, "f.npy"
    ),
    "features in a damaged archive": Case(f"{TRAIN_WITH} f.npz", {"f.npz": b"PK\x03\x04"}, "f.npz"),
    "features with a damaged middle": Case(
        f"{TRAIN_WITH} f.npz", {"f.npz": ARCHIVE[:60] + b"\xff" * 40 + ARCHIVE[100:]}, "f.npz"
    ),
    "features of no known kind": Case(f"{TRAIN_WITH} f.txt", {"f.txt": "1 2"}, "f.txt"),
    "features from a folder without an encoder": Case(f"{TRAIN_WITH} f", {"f/readme.txt": ""}, "f"),
    "features that no method reads": Case(
        "evaluate links net.jsonl --methods tfidf,lsa --features f.npy",
        {"f.npy": array(5)},
        "and cannot be combined with --methods tfidf,lsa",
    ),
    "features beside a method with an encoder": Case(
        "evaluate classes net.jsonl --methods dmte,dmte-paper-bilstm --features f.npy",
        {"f.npy": array(5)},
        "dmte-paper-bilstm cannot learn from features",
    ),
    "features for too few vertices to evaluate": Case(
        "evaluate links net.jsonl --features f.npy", {"f.npy": array(3)}, "3 rows"
    ),
    "features for too few vertices to tune": Case(
        "tune net.jsonl --out s.toml --features f.npy", {"f.npy": array(3)}, "3 rows"
    ),
}

CASES = FILES | TEXTS | FOLDERS | MODELS | QUESTIONS | OUTPUTS | SETTINGS | PICTURES | FEATURES


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("trained")
    (folder / "net.jsonl").write_text(NETWORK)
    DmteMethod().train(read_network(folder / "net.jsonl"), seed=0).save(folder / "model")
    return folder / "model"


@pytest.fixture(autouse=True)
def _working_folder(trained: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    shutil.copytree(trained, "model")
    Path("net.jsonl").write_text(NETWORK)
    Path("old.csv").write_text("precious")


def contents() -> dict[str, str]:
    """Return a hash of every file in the working folder."""
    paths = (path for path in Path().rglob("*") if path.is_file())
    return {str(path): hashlib.sha256(path.read_bytes()).hexdigest() for path in paths}


def run(command: str, capsys: pytest.CaptureFixture[str]) -> tuple[object, list[str], list[str]]:
    """Return the exit code, and the lines on stderr: errors, and warnings."""
    with pytest.raises(SystemExit) as stopped:
        main(shlex.split(command))
    lines = capsys.readouterr().err.splitlines()
    warned = [line for line in lines if line.startswith("dmte: warning: ")]
    return stopped.value.code, [line for line in lines if line not in warned], warned


def by_size(name: str) -> Any:
    """Return a case as a parameter: those with long files take long."""
    return pytest.param(name, marks=[pytest.mark.medium] if "10 MB" in name else [])


@pytest.mark.parametrize("name", [by_size(name) for name in CASES])
def test_what_is_wrong_is_said_in_one_line(
    name: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    case = CASES[name]
    for path, content in case.files.items():
        Path(path).parent.mkdir(parents=True, exist_ok=True)
        Path(path).write_bytes(content.encode() if isinstance(content, str) else content)
    if case.make is not None:
        case.make()
    if case.piped is not None:
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(case.piped)))
    before = contents()
    code, errors, warned = run(case.command, capsys)
    after = contents()
    assert code == case.code, errors
    if case.code == 0:
        assert (errors, before.items() <= after.items()) == ([], True)
        assert case.phrase in "\n".join(warned)
        return
    (line,) = errors
    assert line.startswith("dmte: ")
    assert case.phrase in line
    assert len(line) < 400
    assert after == before


@pytest.mark.parametrize(
    ("problem", "phrase"),
    [
        (OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), "v.npz"), "No space left on device"),
        (PermissionError(errno.EACCES, os.strerror(errno.EACCES)), "Permission denied"),
        (MemoryError(), "out of memory"),
        (RuntimeError("DefaultCPUAllocator: can't allocate memory"), "out of memory"),
    ],
    ids=lambda value: value if isinstance(value, str) else type(value).__name__,
)
@pytest.mark.parametrize("command", ["similar model --vertex fox", "suggest model"])
def test_what_fails_in_the_system_is_said_in_one_line(
    command: str,
    problem: Exception,
    phrase: str,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def fail(_: Path) -> None:
        raise problem

    monkeypatch.setattr(StoredModel, "read", fail)
    monkeypatch.setattr(TrainedModel, "load", fail)
    before = contents()
    code, (line,), _ = run(command, capsys)
    assert (code, contents()) == (1, before)
    assert line.startswith("dmte: ")
    assert phrase in line


def test_a_letter_in_a_model_stays_when_the_model_is_replaced(
    capsys: pytest.CaptureFixture[str],
) -> None:
    Path("model/dear.txt").write_text("dear")
    old = contents()
    code, _, _ = run("train net.jsonl --out model --seed 1", capsys)
    assert code == 0
    assert contents()["model/manifest.json"] != old["model/manifest.json"]
    assert contents()["model/dear.txt"] == old["model/dear.txt"]


@pytest.mark.slow
def test_a_full_disk_is_the_systems_mistake(capsys: pytest.CaptureFixture[str]) -> None:
    if not Path("/dev/full").exists():
        pytest.skip("this system has no disk that is always full")
    code, (line,), _ = run(f"reproduce report --out {RESULTS} --page /dev/full", capsys)
    assert code == 1
    assert "No space left on device" in line
