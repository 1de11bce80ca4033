"""The journal: what was finished stays, whenever the process is killed, and damage is reported."""

import json
from dataclasses import replace
from errno import EROFS
from math import nan
from pathlib import Path
from typing import Any

import pytest

from dmte.cli.reproduce_job import missing_fits
from dmte.errors import StorageError
from dmte.evaluation.jobs import LinkJob
from dmte.evaluation.paper.journal import Journal
from dmte.storage.journal import append_line

JOB = LinkJob(
    network="n",
    method="dmte-paper",
    settings={"hop_weights": (1.0, 0.5)},
    protocol="strict",
    train_fraction=0.15,
    seed=0,
)
FIGURES: dict[str, Any] = {"auc": 0.9, "average_precision": 0.8, "mrr": 0.5, "hits_at_10": 0.7}
RESULT: dict[str, Any] = {
    "scores": {"dot": FIGURES},
    "hidden_edges": 9,
    "self_loops": 0,
    "trained_on": 0,
    "fit_seconds": 1.5,
    "peak_mb": None,
}


def test_what_was_added_is_there_for_the_next_process(tmp_path: Path) -> None:
    path = tmp_path / "new" / "cells.jsonl"
    Journal(path).add(JOB, RESULT)
    journal = Journal(path)
    assert JOB in journal
    assert journal[JOB] == RESULT
    assert replace(JOB, seed=1) not in journal
    assert len(journal) == 1


@pytest.mark.medium
def test_a_kill_at_any_byte_of_a_line_loses_that_line_only(tmp_path: Path) -> None:
    path = tmp_path / "cells.jsonl"
    Journal(path).add(JOB, RESULT)
    first = path.read_bytes()
    Journal(path).add(replace(JOB, seed=1), RESULT)
    whole = path.read_bytes()
    for length in range(len(first), len(whole)):
        path.write_bytes(whole[:length])
        journal = Journal(path)
        assert JOB in journal
        assert replace(JOB, seed=1) not in journal
        with journal.growing():
            journal.add(replace(JOB, seed=1), RESULT)
        assert path.read_bytes() == whole


def test_only_one_run_adds_and_it_takes_over_what_was_added_before(tmp_path: Path) -> None:
    path = tmp_path / "new" / "cells.jsonl"
    first, second = Journal(path), Journal(path)
    with first.growing():
        first.add(JOB, RESULT)
        with pytest.raises(StorageError, match=r"another run adds to .*cells\.jsonl; wait"):
            second.growing().__enter__()
        assert JOB not in second
    with second.growing():
        assert JOB in second


def test_whoever_reads_leaves_half_a_line_to_its_writer(tmp_path: Path) -> None:
    path = tmp_path / "cells.jsonl"
    Journal(path).add(JOB, RESULT)
    half = path.read_bytes() + b'{"cell":'
    path.write_bytes(half)
    assert JOB in Journal(path)
    assert path.read_bytes() == half


def test_half_a_line_that_cannot_be_cut_is_said(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object) -> None:
        raise OSError(EROFS, "Read-only file system")

    (tmp_path / "cells.jsonl").write_text("half")
    monkeypatch.setattr("os.truncate", fail)
    with pytest.raises(StorageError, match="cannot be written: Read-only file system"):
        Journal(tmp_path / "cells.jsonl").growing().__enter__()


@pytest.mark.medium
@pytest.mark.parametrize("step", [31, pytest.param(1, marks=pytest.mark.slow)])
def test_every_flipped_bit_is_reported_with_its_line(step: int, tmp_path: Path) -> None:
    path = tmp_path / "cells.jsonl"
    jobs = [JOB, replace(JOB, seed=1)]
    for job in jobs:
        Journal(path).add(job, RESULT)
    whole = path.read_bytes()
    for bit in range(0, 8 * (whole.index(b"\n") + 1), step):
        damaged = bytearray(whole)
        damaged[bit // 8] ^= 1 << bit % 8
        path.write_bytes(damaged)
        with pytest.raises(StorageError, match=r"cells\.jsonl, line 1: "):
            Journal(path)


@pytest.mark.parametrize("bit", range(8))
def test_a_damaged_line_feed_at_the_end_is_reported_and_nothing_is_cut(
    tmp_path: Path, bit: int
) -> None:
    path = tmp_path / "cells.jsonl"
    Journal(path).add(JOB, RESULT)
    journal = Journal(path)
    damaged = path.read_bytes()[:-1] + bytes([ord("\n") ^ 1 << bit])
    path.write_bytes(damaged)
    for read in (Journal, lambda _: journal.growing().__enter__()):
        with pytest.raises(StorageError, match=r"cells\.jsonl, line 1: "):
            read(path)
    assert path.read_bytes() == damaged


def test_lines_of_earlier_versions_have_no_checksum_and_are_counted(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "cells.jsonl"
    old = {"cell": JOB.describe(), "result": RESULT}
    path.write_text(json.dumps(old) + "\n")
    assert (Journal(path).num_unchecked, Journal(path)[JOB]) == (1, RESULT)
    jobs = [JOB, replace(JOB, seed=1)]
    missing_fits({"hops": jobs}, {"hops": Journal(path)}, quiet=False)
    printed = "hops: 1 fit to make, 1 done before (1 stored without a checksum)\n"
    assert capsys.readouterr().err == printed
    with Journal(path).growing():
        Journal(path).add(jobs[1], RESULT)
    assert (Journal(path).num_unchecked, len(Journal(path))) == (1, 2)
    path.write_text(json.dumps(old | {"sha256": "z"}) + "\n")
    with pytest.raises(StorageError, match="line 1: damaged, its checksum differs; delete"):
        Journal(path)


@pytest.mark.parametrize("line", ["nonsense", "[]", "{}", '{"cell": {}}', "3", "\x00"])
def test_a_foreign_line_raises_with_its_number(tmp_path: Path, line: str) -> None:
    path = tmp_path / "cells.jsonl"
    Journal(path).add(JOB, RESULT)
    path.write_text(path.read_text() + line + "\n")
    with pytest.raises(StorageError, match=r"cells\.jsonl, line 2: not a result"):
        Journal(path)


@pytest.mark.parametrize(
    "result",
    [
        None,
        {},
        [],
        {**RESULT, "scores": {}},
        {**RESULT, "scores": {"dot": None}},
        *({**RESULT, "scores": {"dot": FIGURES | {"auc": auc}}} for auc in ("x", None, 9, nan)),
        {**RESULT, "fit_seconds": "x"},
        {**RESULT, "peak_mb": "x"},
        {name: value for name, value in RESULT.items() if name != "hidden_edges"},
    ],
)
def test_a_damaged_result_raises_with_its_line(tmp_path: Path, result: Any) -> None:
    path = tmp_path / "cells.jsonl"
    Journal(path).add(JOB, RESULT)
    append_line(path, {"cell": JOB.describe(), "result": result})
    with pytest.raises(StorageError, match=r"cells\.jsonl, line 2: not a result"):
        Journal(path)


def test_a_result_without_a_later_metric_or_with_another_one_is_read(tmp_path: Path) -> None:
    path = tmp_path / "cells.jsonl"
    for seed, scores in enumerate(({"auc": 0.9}, FIGURES | {"another": 7})):
        Journal(path).add(replace(JOB, seed=seed), {**RESULT, "scores": {"dot": scores}})
    assert len(Journal(path)) == 2


@pytest.mark.parametrize("share", ["half", "1.5", "nan"])
def test_labels_are_scored_at_shares(share: str, tmp_path: Path) -> None:
    path = tmp_path / "cells.jsonl"
    job = {"kind": "ClassCell"}
    scores = {share: {"macro_f1": 0.1, "micro_f1": 1}}
    append_line(path, {"cell": job, "result": {"scores": scores, "fit_seconds": 1}})
    with pytest.raises(StorageError, match=r"line 1: not a result"):
        Journal(path)


def test_a_place_that_cannot_be_written_is_said(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("mine")
    with pytest.raises(StorageError, match="cannot be"):
        Journal(tmp_path / "file" / "cells.jsonl").add(JOB, RESULT)
    with pytest.raises(StorageError, match="cannot be read: Is a directory"):
        Journal(tmp_path)
    if Path("/dev/full").exists():
        with pytest.raises(StorageError, match="/dev/full cannot be written: No space left"):
            append_line(Path("/dev/full"), {})
