"""Several processes that share the columns train the same model as one.

The members of a group are threads here, each with a gloo of its own: they exchange the same,
and no process has to be started.
"""

import errno
import sys
import tempfile
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any, cast

import numpy as np
import pytest
import scipy.sparse as sp
import torch
import torch.distributed as dist
from torch import Tensor
from torch.nn.functional import normalize

from dmte.distributed.gloo import GlooGroup
from dmte.distributed.group import SINGLE_PROCESS, ProcessGroup, run_on_all
from dmte.distributed.membership import require_shared_folder
from dmte.distributed.shared_tables import write_tables
from dmte.errors import (
    ConfigError,
    DmteError,
    LostProcessError,
    NetworkError,
    StorageError,
    TrainingError,
)
from dmte.evaluation import strict_task
from dmte.kernels.row_norms import divided_rows, unit_rows
from dmte.kernels.sparse import SparseMatrix
from dmte.network import TextualNetwork
from dmte.network.synthetic import PlantedTopics
from dmte.recipes import PAPER, RECIPES, VARIANTS
from dmte.settings import Settings
from dmte.training.checkpoint import load_checkpoint, save_checkpoint
from dmte.training.run import TrainingRun

Together = Callable[..., list[Any]]
SMALL = replace(PAPER, dim=20, epochs=3, batch_size=120)  # Three processes have 3, 3 and 4 columns.
CHANGED = ("encoder", "text_diffusion", "structure")
KINDS: dict[str, Settings] = {
    "recommended": Settings(dim=10, epochs=2, folds=2),
    "open width": Settings(epochs=1, folds=1),
    "links have a share": Settings(
        dim=20, epochs=2, folds=2, structure_share=0.4, degree_power=0.2
    ),
    "recommended and structure": Settings(dim=20, epochs=2, structure=True, folds=1),
    "stopping early": replace(
        SMALL, validation_fraction=0.2, validate_every=1, hide_supervised=True, patience=1
    ),
    **{
        name: replace(SMALL, **{key: getattr(variant, key) for key in CHANGED})
        for name, variant in VARIANTS.items()
    },
}


def learned(
    network: TextualNetwork, settings: Settings, group: ProcessGroup = SINGLE_PROCESS
) -> Tensor | None:
    run = TrainingRun(network, settings, seed=3, group=group, dtype=torch.float64)
    for _ in run.epochs():
        pass
    vectors = vectors_of(run)
    assert vectors is None or vectors.dtype == torch.float64
    return vectors


def vectors_of(run: TrainingRun) -> Tensor | None:
    found = run.collect_result()
    return None if found is None else found.embedding.vectors


@pytest.mark.medium
@pytest.mark.parametrize("kind", KINDS)
def test_a_group_trains_the_same_model_as_one_process(
    together: Together, planted: TextualNetwork, kind: str
) -> None:
    alone = learned(planted, KINDS[kind])
    for size in (2, 3):
        first, *others = together(size, lambda group: learned(planted, KINDS[kind], group))
        assert others == [None] * (size - 1)
        torch.testing.assert_close(first, alone, rtol=0, atol=1e-10)


@pytest.mark.slow
@pytest.mark.parametrize("recipe", RECIPES)
def test_the_auc_of_a_group_equals_that_of_one_process_despite_rounding(
    together: Together, recipe: str
) -> None:
    """In single precision sums in another order may end in other vectors, but none worse."""
    drawn = PlantedTopics(num_vertices=1000, num_topics=20).draw(torch.Generator().manual_seed(1))
    task = strict_task(drawn, 0.7, seed=0)

    def auc(group: ProcessGroup) -> float | None:
        run = TrainingRun(task.train, RECIPES[recipe], seed=3, group=group)
        for _ in run.epochs():
            pass
        found = run.collect_result()
        return None if found is None else task.auc(found.embedding)

    alone = auc(SINGLE_PROCESS)
    assert alone is not None
    assert 0.7 < alone < 0.97  # There is something to lose.
    for size in (2, 3):
        assert together(size, auc)[0] == pytest.approx(alone, abs=0.001)


@pytest.mark.medium
def test_a_group_stops_at_the_same_epoch_as_one_process(
    together: Together, planted: TextualNetwork
) -> None:
    settings = replace(KINDS["stopping early"], epochs=30, learning_rate=0.1)

    def history(group: ProcessGroup) -> tuple[Any, ...]:
        run = TrainingRun(planted, settings, seed=3, group=group, dtype=torch.float64)
        checks = [(report.epoch, report.validation_auc) for report in run.epochs()]
        return checks, run.best and run.best.epoch

    alone = history(SINGLE_PROCESS)
    assert len(alone[0]) < 30
    assert together(2, history) == [alone, alone]


def test_exchanges_have_the_gradients_of_whole_tables(together: Together) -> None:
    """A loss with every kind of sum in it, against the same loss of whole tables."""
    generator = torch.Generator().manual_seed(0)
    table, matrix, goal = torch.randn(3, 7, 7, generator=generator, dtype=torch.float64)
    table[2] = 0.0  # Of length 0.

    def gradients(group: ProcessGroup) -> list[Tensor]:
        own = group.own(7)
        mine = table[:, own].clone().requires_grad_()
        rows = matrix[own].clone().requires_grad_()
        read = group.reduce_scatter(group.all_gather(mine, 7).tanh() @ (matrix / group.size))
        scaled = unit_rows(group.reduce_scatter(mine @ rows), group) + divided_rows(
            mine, 1.0, group
        )
        group.sum(((scaled + read) * goal[:, own]).sum(dim=1)).tanh().sum().backward()
        assert mine.grad is not None
        assert rows.grad is not None
        return [mine.grad, rows.grad]

    parts = together(3, gradients)
    whole = [torch.cat([part[0] for part in parts], dim=1), torch.cat([part[1] for part in parts])]
    torch.testing.assert_close(whole, gradients(SINGLE_PROCESS), rtol=1e-12, atol=1e-12)


def test_unit_rows_equal_torchs_to_the_bit() -> None:
    rows = torch.randn(50, 9, generator=torch.Generator().manual_seed(0))
    rows[3] = 0.0
    assert torch.equal(unit_rows(rows), normalize(rows))


def test_more_processes_than_columns_raise(together: Together, planted: TextualNetwork) -> None:
    def start(group: ProcessGroup) -> str:
        with pytest.raises(ConfigError) as caught:
            TrainingRun(planted, replace(SMALL, dim=4), seed=0, group=group)
        return str(caught.value)

    assert (
        together(3, start)
        == ["3 processes cannot share 2 columns; use fewer processes or a larger dim"] * 3
    )


def test_a_network_without_words_raises_on_every_process(
    together: Together, planted: TextualNetwork
) -> None:
    silent = replace(planted, texts=("",) * planted.num_vertices)

    def start(group: ProcessGroup) -> str:
        with pytest.raises(TrainingError) as caught:
            TrainingRun(silent, Settings(dim=8), seed=0, group=group)
        return str(caught.value)

    first, second = together(2, start)
    assert "no text has a word" in first
    assert first == second


def test_processes_with_different_data_raise(together: Together, planted: TextualNetwork) -> None:
    def start(group: ProcessGroup) -> str:
        network = planted.with_edges(planted.edges[group.rank :])
        with pytest.raises(ConfigError) as caught:
            TrainingRun(network, SMALL, seed=group.rank, group=group)
        return str(caught.value)

    expected = "process 1 and process 0 differ in the network and the seed; all processes must"
    assert all(words.startswith(expected) for words in together(2, start))


@pytest.mark.medium
def test_rank_zero_may_take_longer_than_the_timeout() -> None:
    """It sends heartbeats; without them a process is lost."""
    store: Any = dist.HashStore()  # type: ignore[attr-defined]
    seconds = 1.0

    def join(rank: int) -> bool:
        connection: Any = dist.ProcessGroupGloo(store, rank, 2, timedelta(seconds=seconds))
        group = GlooGroup(connection, rank, 2, timeout_seconds=seconds)
        assert group.run_on_rank_zero(lambda: time.sleep(2 * seconds)) is None
        if group.is_rank_zero:
            time.sleep(2 * seconds)
            return True
        with pytest.raises(LostProcessError, match="did not answer in time"):
            group.sum(torch.ones(1))
        return True

    with ThreadPoolExecutor(2) as pool:
        assert all(pool.map(join, range(2)))


def test_a_process_that_loses_the_others_raises(together: Together) -> None:
    def leave(group: ProcessGroup) -> str:
        if group.is_rank_zero:
            with pytest.raises(LostProcessError) as lost:
                group.sum(torch.ones(3))
            return str(lost.value)
        del group
        return ""

    assert "another process" in together(2, leave)[0]


@pytest.mark.medium
@pytest.mark.parametrize("kind", ["recommended", "bilstm"])
def test_a_group_of_any_size_resumes_from_a_checkpoint(
    together: Together, planted: TextualNetwork, tmp_path: Path, kind: str
) -> None:
    """Two stop after the first epoch; a resumed run ends like an uninterrupted one."""
    settings, folder = KINDS[kind], tmp_path / "checkpoint"

    def begin(group: ProcessGroup) -> Tensor | None:
        run = TrainingRun(planted, settings, seed=3, group=group)
        for report in run.epochs():
            if report.epoch == 1:
                save_checkpoint(run, folder)
        return vectors_of(run)

    def go_on(group: ProcessGroup) -> Tensor | None:
        run = load_checkpoint(folder, planted, settings, seed=3, group=group)
        assert run.epoch == 1
        for _ in run.epochs():
            pass
        return vectors_of(run)

    uninterrupted, _ = together(2, begin)
    resumed, _ = together(2, go_on)
    assert uninterrupted is not None
    assert torch.equal(uninterrupted, cast(Tensor, resumed))
    for other in (together(3, go_on)[0], go_on(SINGLE_PROCESS)):
        torch.testing.assert_close(other, uninterrupted, rtol=0, atol=1e-4)


def mapping_of(table: Tensor) -> str:
    """Return the line of the system's list of mappings that the table lies in."""
    for line in Path("/proc/self/maps").read_text().splitlines():
        begin, end = (int(place, 16) for place in line.split()[0].split("-"))
        if begin <= table.data_ptr() < end:
            return line
    return ""


@pytest.mark.skipif(sys.platform != "linux", reason="the list of mappings is Linux's")
def test_processes_of_a_host_share_tables_and_delete_the_file(
    together: Together, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    matrix = sp.csr_array(np.tri(9, 7) * 0.3)
    made = SparseMatrix.from_scipy(matrix, torch.float64)
    empty = SparseMatrix.from_scipy(sp.csr_array((3, 2)), torch.float32)
    dense = torch.randn(7, 2, dtype=torch.float64, generator=torch.Generator().manual_seed(0))

    def product(group: ProcessGroup) -> Tensor:
        assert (group.share_on_host(empty) @ torch.ones(2, 1)).tolist() == [[0.0]] * 3
        mapped = group.share_on_host(made)
        assert "dmte-" in mapping_of(mapped.rows.values)
        return (mapped @ dense) + 0 * (mapped.transpose() @ torch.ones(9, 2).double()).sum()

    assert all(torch.equal(found, made @ dense) for found in together(2, product))
    assert not list(tmp_path.iterdir())


@pytest.mark.skipif(sys.platform != "linux", reason="the file that is always full is Linux's")
def test_all_processes_raise_if_there_is_no_space_for_tables(
    together: Together, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    full = Path("/dev/full")
    monkeypatch.setattr(
        "dmte.distributed.gloo.write_tables", lambda _, tables: write_tables(full, tables)
    )

    def keep(group: ProcessGroup) -> str:
        with pytest.raises(DmteError) as caught:
            group.share_on_host(torch.ones(100_000))
        return str(caught.value)

    assert all("set TMPDIR to a folder with more space" in message for message in together(2, keep))
    assert not list(tmp_path.iterdir())


def test_hosts_without_a_shared_folder_raise(together: Together, tmp_path: Path) -> None:
    def start(group: ProcessGroup) -> str:
        with pytest.raises(StorageError) as caught:
            require_shared_folder(tmp_path / f"host {group.rank}" / "models", group)
        return str(caught.value)

    first, second = together(2, start)
    assert "does not see" in first
    assert "all hosts must share the folder" in second
    together(2, lambda group: require_shared_folder(tmp_path / "shared", group))
    assert not list((tmp_path / "shared").iterdir())


@pytest.mark.parametrize("number", [errno.ENOSPC, errno.ENOENT])
@pytest.mark.parametrize("is_on_rank_zero", [False, True])
def test_every_process_knows_whether_the_system_failed(
    number: int, together: Together, *, is_on_rank_zero: bool
) -> None:
    def act(group: ProcessGroup) -> bool:
        def fail() -> None:
            if group.rank == (not is_on_rank_zero):
                raise StorageError("cannot write") from OSError(number, "words")

        with pytest.raises(DmteError) as caught:
            group.run_on_rank_zero(fail) if is_on_rank_zero else run_on_all(group, fail)
        return caught.value.is_system_failure

    assert together(2, act) == [number == errno.ENOSPC] * 2


def test_an_error_on_one_process_raises_on_all(together: Together) -> None:
    def act(group: ProcessGroup) -> str:
        def fail() -> None:
            if group.rank == 1:
                raise NetworkError("there is no such file here")

        with pytest.raises(DmteError) as caught:
            run_on_all(group, fail)
        return str(caught.value)

    assert together(3, act) == [
        "process 1: there is no such file here",
        "there is no such file here",
        "process 1: there is no such file here",
    ]
