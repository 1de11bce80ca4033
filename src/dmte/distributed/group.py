"""A group of processes, each of which holds some of the columns of every table.

With word averages a column of V_t, V_s and U_s is made of the same column of the parameters, so a
process propagates its own columns over the whole graph and asks nobody. Columns meet in sums:

    scores             v_i · v_j = Σ_p (v_i · v_j over the columns of p)      a number per pair
    lengths of rows    |v_i|²    = Σ_p (|v_i|² over the columns of p)         a number per row
    a square map       V M       = Σ_p V[:, p] M[p, :]                        a row per scored row

A sum that everybody goes on with in the same way (the scores, and from them the loss) needs nothing
backwards: ∂L/∂(part of p) = ∂L/∂(sum). One that everybody uses for other columns does: there the
gradients are parts, and are summed as well.

``SINGLE_PROCESS`` is the group of one process, which holds everything and sums nothing.
"""

import hashlib
import json
import os
import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from threading import Event, Thread
from typing import Any, TypeVar

import torch
from jaxtyping import Float
from torch import Tensor, nn
from torch.autograd.function import once_differentiable

from dmte.distributed.shared_tables import mapped_tables, write_tables
from dmte.errors import ConfigError, DmteError, LostProcessError, TrainingError

Result = TypeVar("Result")

LONGEST_PROBLEM = 2000
"""Bytes of a message that a process tells the others."""


_AT_WORK = torch.ones(1)


class ProcessGroup:
    """One process alone; what several do is in ``GlooGroup``."""

    rank = 0
    size = 1

    @property
    def is_rank_zero(self) -> bool:
        """Whether this process is the one that writes and prints."""
        return self.rank == 0

    def column_slice(self, width: int, rank: int | None = None) -> slice:
        """Return the columns of this process, or of another, of a table with ``width`` columns.

        >>> group = GlooGroup(None, rank=1, size=3)
        >>> [group.column_slice(8, rank) for rank in range(3)]
        [slice(0, 2, None), slice(2, 5, None), slice(5, 8, None)]
        """
        rank = self.rank if rank is None else rank
        return slice(width * rank // self.size, width * (rank + 1) // self.size)

    def sum(self, part: Tensor) -> Tensor:
        """Return Σ_p of the parts, which everybody goes on with in the same way."""
        return part

    def sum_detached(self, part: Tensor) -> Tensor:
        """Return Σ_p of the parts, with nothing recorded for a backward pass."""
        return part

    def reduce_scatter(self, part: Float[Tensor, "rows width"]) -> Float[Tensor, "rows own"]:
        """Return the own columns of Σ_p of the parts."""
        return part

    def all_gather(self, own: Float[Tensor, "rows own"], width: int) -> Float[Tensor, "rows all"]:
        """Return the ``width`` columns of everybody."""
        del width
        return own

    def add_gradients(self, parameters: Iterable[nn.Parameter]) -> None:
        """Add up the gradients of parameters that everybody has."""

    def gather(self, own: Tensor, width: int, axis: int = 1) -> Tensor | None:
        """Return what everybody has of ``width`` columns, or rows, on the first process alone."""
        del width, axis
        return own

    def scatter(
        self, whole: Tensor | None, rows: int, width: int, dtype: torch.dtype
    ) -> Float[Tensor, "rows own"]:
        """Return the own columns of a table that the first process has."""
        del rows, width, dtype
        if whole is None:
            raise ConfigError("the first process has to hand out a table")
        return whole

    def broadcast(self, table: Tensor) -> Tensor:
        """Return what the first process has in place of ``table``."""
        return table

    def broadcast_string(self, word: str) -> str:
        """Return what the first process says."""
        return word

    def run_on_rank_zero(self, act: Callable[[], Result]) -> Result | None:
        """Return what ``act`` returns, which the first process alone does; others wait, get none.

        Raises:
            DmteError: It has failed, which all are told.
        """
        return act()

    def any(self, *, found: bool) -> bool:
        """Return whether it is so on any of the processes."""
        return found

    def share_on_host(self, tables: Result) -> Result:
        """Return the same tables, which all processes of a host keep only once from now on."""
        return tables

    def require_same(self, facts: Mapping[str, object]) -> None:
        """Refuse to go on if the facts of a process differ from those of the first.

        Raises:
            ConfigError: They do; the facts are named.
        """

    def first_problem(self, problem: str | None) -> tuple[int, str] | None:
        """Return the problem of the first process that has one, and which process it is."""
        return None if problem is None else (0, problem)


SINGLE_PROCESS = ProcessGroup()
"""One process that holds everything."""


def run_on_all(group: ProcessGroup, act: Callable[[], Result]) -> Result:
    """Return what ``act`` returns, once it has worked on every process.

    Raises:
        DmteError: It has not on one of them, which all are told.
    """
    try:
        result, problem = act(), None
    except LostProcessError:
        raise
    except DmteError as error:
        problem = error
    found = group.first_problem(None if problem is None else str(problem) or "unknown")
    if problem is not None and found is not None and found[0] == group.rank:
        raise problem
    if found is not None:
        raise ConfigError(f"process {found[0]}: {found[1]}")
    return result


class GlooGroup(ProcessGroup):
    """One of several processes of ``torch.distributed``."""

    def __init__(
        self,
        connection: Any,
        rank: int,
        size: int,
        *,
        host: str = "0",
        timeout_seconds: float = 30.0,
    ) -> None:
        self._connection, self._host, self._timeout_seconds = connection, host, timeout_seconds
        self._leader: int | None = None
        """The first process of this host, once somebody has asked."""
        self.rank, self.size = rank, size

    def leave(self) -> None:
        """Let go of the connection, whose threads must end before Python does.

        A traceback may hold the group for longer than that.
        """
        self._connection = None

    def __deepcopy__(self, memo: object) -> "GlooGroup":
        return self  # A connection cannot be copied, and a copied model has the same group.

    def sum(self, part: Tensor) -> Tensor:
        """Return Σ_p of the parts, which everybody goes on with in the same way."""
        total: Tensor = _Sum.apply(part, self)  # type: ignore[no-untyped-call]
        return total

    def reduce_scatter(self, part: Float[Tensor, "rows width"]) -> Float[Tensor, "rows own"]:
        """Return the own columns of Σ_p of the parts."""
        own: Tensor = _ReduceScatter.apply(part, self)  # type: ignore[no-untyped-call]
        return own

    def all_gather(self, own: Float[Tensor, "rows own"], width: int) -> Float[Tensor, "rows all"]:
        """Return the ``width`` columns of everybody."""
        whole: Tensor = _AllGather.apply(own, width, self)  # type: ignore[no-untyped-call]
        return whole

    def add_gradients(self, parameters: Iterable[nn.Parameter]) -> None:
        """Add up the gradients of parameters that everybody has, all in one exchange."""
        parameters = list(parameters)
        if not parameters:
            return
        # A process that had no text to read has no gradient.
        parts = [torch.zeros_like(p) if p.grad is None else p.grad for p in parameters]
        summed = self.sum_detached(torch.cat([part.flatten() for part in parts]))
        sizes = [part.numel() for part in parts]
        for parameter, gradient in zip(parameters, summed.split(sizes), strict=True):
            parameter.grad = gradient.view_as(parameter)

    def gather(self, own: Tensor, width: int, axis: int = 1) -> Tensor | None:
        """Return what everybody has of ``width`` columns, or rows, on the first process alone."""
        own = own.detach().contiguous()
        with _noticing_loss():
            if not self.is_rank_zero:
                self._connection.send([own], 0, 0).wait()
                return None
            parts = [own]
            for rank in range(1, self.size):
                shape = list(own.shape)
                shape[axis] = _width(self.column_slice(width, rank))
                parts.append(own.new_empty(shape))
                self._connection.recv([parts[-1]], rank, 0).wait()
            return torch.cat(parts, dim=axis)

    def scatter(
        self, whole: Tensor | None, rows: int, width: int, dtype: torch.dtype
    ) -> Float[Tensor, "rows own"]:
        """Return the own columns of a table that the first process has."""
        with _noticing_loss():
            if whole is not None:
                for rank in range(1, self.size):
                    self._connection.send(
                        [whole[:, self.column_slice(width, rank)].contiguous()], rank, 0
                    ).wait()
                return whole[:, self.column_slice(width)].clone()
            own = torch.empty(rows, _width(self.column_slice(width)), dtype=dtype)
            self._connection.recv([own], 0, 0).wait()
            return own

    def broadcast(self, table: Tensor) -> Tensor:
        """Return what the first process has in place of ``table``."""
        table = table.detach().clone()
        with _noticing_loss():
            self._connection.broadcast(table, 0).wait()
        return table

    def broadcast_string(self, word: str) -> str:
        """Return what the first process says."""
        data = torch.tensor(list(word.encode()), dtype=torch.uint8)
        length = torch.tensor([len(data)])
        with _noticing_loss():
            self._connection.broadcast(length, 0).wait()
            data = data if self.is_rank_zero else torch.empty(int(length), dtype=torch.uint8)
            self._connection.broadcast(data, 0).wait()
        return bytes(data.tolist()).decode()

    def run_on_rank_zero(self, act: Callable[[], Result]) -> Result | None:
        """Return what ``act`` returns, which the first process alone does; others wait, get none.

        However long it takes, the first one shows now and then that it is still there.

        Raises:
            DmteError: It has failed, which all are told.
        """
        result, problem = None, None
        if self.is_rank_zero:
            with self._showing_life():
                try:
                    result = act()
                except DmteError as error:
                    problem = error
        else:
            while bool(self.broadcast(_AT_WORK)):
                pass
        found = self.first_problem(None if problem is None else str(problem) or "unknown")
        if problem is not None:
            raise problem
        if found is not None:
            raise TrainingError(found[1])
        return result

    @contextmanager
    def _showing_life(self) -> Iterator[None]:
        """Tell the others, who only wait, that this process is at work, and in the end that not."""
        is_done = Event()

        def show() -> None:
            with suppress(LostProcessError):  # Whoever is lost is missed in the next exchange.
                while not is_done.wait(self._timeout_seconds / 3):
                    self.broadcast(_AT_WORK)

        shower = Thread(target=show, daemon=True)
        shower.start()
        try:
            yield
        finally:
            is_done.set()
            shower.join()
        self.broadcast(torch.zeros_like(_AT_WORK))

    def any(self, *, found: bool) -> bool:
        """Return whether it is so on any of the processes."""
        return bool(self.sum_detached(torch.tensor([float(found)])) > 0)

    def share_on_host(self, tables: Result) -> Result:
        """Return the same tables, which all processes of a host keep only once from now on.

        Raises:
            StorageError: There is no room for the file they are kept in.
        """
        if self._leader is None:
            hosts = [_words(host) for host in self._gathered(_padded(self._host))]
            self._leader = hosts.index(self._host)
        own = None
        if self._leader == self.rank:
            descriptor, name = tempfile.mkstemp(prefix="dmte-")
            os.close(descriptor)
            own = Path(name)

        def write() -> None:
            if own is not None:
                write_tables(own, tables)

        try:
            run_on_all(self, write)
            path = _words(self._gathered(_padded(str(own or "")))[self._leader])
            mapped = mapped_tables(Path(path), tables)
            self.any(found=False)  # The file has to be there until all have mapped it.
        finally:
            if own is not None:
                own.unlink()
        return mapped

    def require_same(self, facts: Mapping[str, object]) -> None:
        """Refuse to go on if the facts of a process differ from those of the first.

        Raises:
            ConfigError: They do; the facts are named.
        """
        digests = [
            hashlib.sha256(json.dumps(fact, sort_keys=True, default=str).encode()).digest()
            for fact in facts.values()
        ]
        own = torch.tensor([list(digest) for digest in digests], dtype=torch.uint8)
        everybodys = self._gathered(own)
        for rank, other in enumerate(everybodys):
            differs = (other != everybodys[0]).any(dim=1).tolist()
            names = [name for name, is_other in zip(facts, differs, strict=True) if is_other]
            if names:
                raise ConfigError(
                    f"process {rank} has {_listed(names)} other than process 0; "
                    "all processes must be given the same network, settings and versions"
                )

    def first_problem(self, problem: str | None) -> tuple[int, str] | None:
        """Return the problem of the first process that has one, and which process it is."""
        for rank, other in enumerate(self._gathered(_padded(problem or ""))):
            if words := _words(other):
                return rank, words
        return None

    def sum_detached(self, part: Tensor) -> Tensor:
        """Return Σ_p of the parts, with nothing recorded for a backward pass."""
        total = part.detach().clone(memory_format=torch.contiguous_format)
        with _noticing_loss():
            self._connection.allreduce([total]).wait()
        return total

    def exchange(self, blocks: list[Tensor], shapes: list[tuple[int, int]]) -> list[Tensor]:
        """Give everybody a block, and return the blocks, of these shapes, that everybody gave."""
        sizes = [rows * columns for rows, columns in shapes]
        sent = torch.cat([block.detach().flatten() for block in blocks])
        received = sent.new_empty(sum(sizes))
        with _noticing_loss():
            self._connection.alltoall_base(
                received, sent, sizes, [block.numel() for block in blocks]
            ).wait()
        parts = received.split(sizes)
        return [part.view(shape) for part, shape in zip(parts, shapes, strict=True)]

    def _gathered(self, own: Tensor) -> list[Tensor]:
        everybodys = [torch.empty_like(own) for _ in range(self.size)]
        with _noticing_loss():
            self._connection.allgather([everybodys], [own]).wait()
        return everybodys


class _Sum(torch.autograd.Function):
    """Σ_p x_p; backwards ∂L/∂x_p = ∂L/∂Σ, as L is the same everywhere."""

    @staticmethod
    def forward(ctx: Any, part: Tensor, group: GlooGroup) -> Tensor:  # noqa: ARG004
        return group.sum_detached(part)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor, None]:  # noqa: ARG004
        return gradient, None


class _ReduceScatter(torch.autograd.Function):
    """The own columns of Σ_p X_p; backwards the gradients of everybody's columns."""

    @staticmethod
    def forward(ctx: Any, part: Tensor, group: GlooGroup) -> Tensor:
        ctx.group, ctx.width = group, part.shape[1]
        return _summed_own(group, part)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor, None]:
        return _everybodys(ctx.group, gradient, ctx.width), None


class _AllGather(torch.autograd.Function):
    """Everybody's columns; backwards the own columns of the sum of everybody's gradients."""

    @staticmethod
    def forward(ctx: Any, own: Tensor, width: int, group: GlooGroup) -> Tensor:
        ctx.group = group
        return _everybodys(group, own, width)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor, None, None]:
        return _summed_own(ctx.group, gradient), None, None


def _summed_own(group: GlooGroup, part: Tensor) -> Tensor:
    rows, width = part.shape
    blocks = [part[:, group.column_slice(width, rank)] for rank in range(group.size)]
    shape = (rows, _width(group.column_slice(width)))
    received = group.exchange(blocks, [shape] * group.size)
    # One after the other in the order of the processes, so that every run adds up alike.
    total = received[0].clone()
    for block in received[1:]:
        total += block
    return total


def _everybodys(group: GlooGroup, own: Tensor, width: int) -> Tensor:
    shapes = [(len(own), _width(group.column_slice(width, rank))) for rank in range(group.size)]
    return torch.cat(group.exchange([own] * group.size, shapes), dim=1)


def _padded(words: str) -> Tensor:
    said = words.encode()[:LONGEST_PROBLEM].ljust(LONGEST_PROBLEM, b"\0")
    return torch.tensor(list(said), dtype=torch.uint8)


def _words(padded: Tensor) -> str:
    return bytes(padded.tolist()).rstrip(b"\0").decode(errors="replace")


def _width(columns: slice) -> int:
    return int(columns.stop - columns.start)


def _listed(names: list[str]) -> str:
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"


@contextmanager
def _noticing_loss() -> Iterator[None]:
    """Say in a sentence that another process is gone; gloo says it in its own terms."""
    try:
        yield
    except RuntimeError as problem:
        is_slow = "timed out" in str(problem).casefold()
        how = "did not answer in time" if is_slow else "is gone"
        raise LostProcessError(
            f"another process {how}; if it does not start again by itself, go on from the last "
            "checkpoint with --resume"
        ) from problem
