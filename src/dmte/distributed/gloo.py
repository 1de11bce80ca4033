"""Several processes of ``torch.distributed``, connected by gloo."""

import hashlib
import json
import os
import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from threading import Event, Thread
from typing import Any, TypeVar

import torch
from jaxtyping import Float
from torch import Tensor, nn

from dmte.distributed.exchange import all_gather, gather_rows, reduce_scatter, sum_parts, width_of
from dmte.distributed.group import column_slice, run_on_all
from dmte.distributed.shared_tables import mapped_tables, write_tables
from dmte.errors import ConfigError, DmteError, LostProcessError, TrainingError

Result = TypeVar("Result")

MAX_MESSAGE_BYTES = 2000
"""Bytes of an error message that other processes receive."""

_HEARTBEAT = torch.ones(1)


class GlooGroup:
    """One of several processes of ``torch.distributed``, a ``ProcessGroup``."""

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
        self._host_leader: int | None = None
        """The lowest rank of this host, once it is known."""
        self.rank, self.size = rank, size

    def leave(self) -> None:
        """Close the connection, whose threads must end before Python does.

        A traceback may keep the group alive for longer.
        """
        self._connection = None

    def __deepcopy__(self, memo: object) -> "GlooGroup":
        return self  # A connection cannot be copied, and a copied model has the same group.

    @property
    def is_rank_zero(self) -> bool:
        """Whether this process writes files and prints."""
        return self.rank == 0

    def own(self, width: int) -> slice:
        """Return the columns of this process of a table with ``width`` columns."""
        return column_slice(width, self.rank, self.size)

    def shares(self, num_items: int) -> list[slice]:
        """Return the columns, or other items, of every process."""
        return [column_slice(num_items, rank, self.size) for rank in range(self.size)]

    def sum(self, part: Tensor) -> Tensor:
        """Return Σ_p of the parts, which all processes use in the same way."""
        return sum_parts(part, self)

    def reduce_scatter(self, part: Float[Tensor, "rows width"]) -> Float[Tensor, "rows own"]:
        """Return the own columns of Σ_p of the parts."""
        return reduce_scatter(part, self)

    def all_gather(self, own: Float[Tensor, "rows own"], width: int) -> Float[Tensor, "rows all"]:
        """Return the ``width`` columns of all processes."""
        return all_gather(own, width, self)

    def gather(
        self, own: Float[Tensor, "rows own"], counts: Sequence[int], width: int
    ) -> Float[Tensor, "some width"]:
        """Return all ``width`` columns of the own rows; ``own`` has the rows of all processes."""
        return gather_rows(own, counts, width, self)

    def add_gradients(self, parameters: Iterable[nn.Parameter]) -> None:
        """Sum the gradients of parameters that every process has, in one exchange."""
        parameters = list(parameters)
        if not parameters:
            return
        # Without a text, a process has no gradient.
        parts = [torch.zeros_like(p) if p.grad is None else p.grad for p in parameters]
        summed = self.sum_detached(torch.cat([part.flatten() for part in parts]))
        sizes = [part.numel() for part in parts]
        for parameter, gradient in zip(parameters, summed.split(sizes), strict=True):
            parameter.grad = gradient.view_as(parameter)

    def collect(self, own: Tensor, width: int, axis: int = 1) -> Tensor | None:
        """Return all ``width`` columns, or rows, on rank zero, and None on the others."""
        own = own.detach().contiguous()
        with _lost_process_errors():
            if not self.is_rank_zero:
                self._connection.send([own], 0, 0).wait()
                return None
            parts = [own]
            for rank in range(1, self.size):
                shape = list(own.shape)
                shape[axis] = width_of(column_slice(width, rank, self.size))
                parts.append(own.new_empty(shape))
                self._connection.recv([parts[-1]], rank, 0).wait()
            return torch.cat(parts, dim=axis)

    def scatter(
        self, whole: Tensor | None, rows: int, width: int, dtype: torch.dtype
    ) -> Float[Tensor, "rows own"]:
        """Return the own columns of a table that rank zero has."""
        with _lost_process_errors():
            if whole is not None:
                for rank in range(1, self.size):
                    self._connection.send(
                        [whole[:, column_slice(width, rank, self.size)].contiguous()], rank, 0
                    ).wait()
                return whole[:, self.own(width)].clone()
            own = torch.empty(rows, width_of(self.own(width)), dtype=dtype)
            self._connection.recv([own], 0, 0).wait()
            return own

    def broadcast(self, table: Tensor) -> Tensor:
        """Return the table of rank zero, which has the shape of ``table``."""
        table = table.detach().clone()
        with _lost_process_errors():
            self._connection.broadcast(table, 0).wait()
        return table

    def broadcast_string(self, text: str) -> str:
        """Return the text of rank zero."""
        data = torch.tensor(list(text.encode()), dtype=torch.uint8)
        length = torch.tensor([len(data)])
        with _lost_process_errors():
            self._connection.broadcast(length, 0).wait()
            data = data if self.is_rank_zero else torch.empty(int(length), dtype=torch.uint8)
            self._connection.broadcast(data, 0).wait()
        return bytes(data.tolist()).decode()

    def run_on_rank_zero(self, act: Callable[[], Result]) -> Result | None:
        """Return the result of ``act`` on rank zero, and None on the others, which wait.

        It may take longer than the timeout, since rank zero sends heartbeats.

        Raises:
            DmteError: ``act`` failed; raised on every process.
        """
        result, problem = None, None
        if self.is_rank_zero:
            with self._sending_heartbeats():
                try:
                    result = act()
                except DmteError as error:
                    problem = error
        else:
            while bool(self.broadcast(_HEARTBEAT)):
                pass
        found = self.first_error(problem)
        if problem is not None:
            raise problem
        if found is not None:
            raise found[1]
        return result

    @contextmanager
    def _sending_heartbeats(self) -> Iterator[None]:
        """Send heartbeats to the waiting processes, and a zero at the end."""
        is_done = Event()

        def send() -> None:
            with suppress(LostProcessError):  # The next exchange notices a lost process.
                while not is_done.wait(self._timeout_seconds / 3):
                    self.broadcast(_HEARTBEAT)

        sender = Thread(target=send, daemon=True)
        sender.start()
        try:
            yield
        finally:
            is_done.set()
            sender.join()
        self.broadcast(torch.zeros_like(_HEARTBEAT))

    def any(self, *, found: bool) -> bool:
        """Return whether ``found`` is true on any process."""
        return bool(self.sum_detached(torch.tensor([float(found)])) > 0)

    def share_on_host(self, tables: Result) -> Result:
        """Return the same tables, stored once for all processes of a host.

        Raises:
            StorageError: There is not enough space for the file.
        """
        if self._host_leader is None:
            hosts = [_unpadded(host) for host in self._tables_of_all(_padded(self._host))]
            self._host_leader = hosts.index(self._host)
        own = None
        if self._host_leader == self.rank:
            descriptor, name = tempfile.mkstemp(prefix="dmte-")
            os.close(descriptor)
            own = Path(name)

        def write() -> None:
            if own is not None:
                write_tables(own, tables)

        try:
            run_on_all(self, write)
            path = _unpadded(self._tables_of_all(_padded(str(own or "")))[self._host_leader])
            mapped = mapped_tables(Path(path), tables)
            self.any(found=False)  # Wait until all processes have mapped the file.
        finally:
            if own is not None:
                own.unlink()
        return mapped

    def require_same(self, facts: Mapping[str, object]) -> None:
        """Check that all processes have the same facts.

        Raises:
            ConfigError: A fact differs from that of rank zero.
        """
        digests = [
            hashlib.sha256(json.dumps(fact, sort_keys=True, default=str).encode()).digest()
            for fact in facts.values()
        ]
        own = torch.tensor([list(digest) for digest in digests], dtype=torch.uint8)
        every = self._tables_of_all(own)
        for rank, other in enumerate(every):
            differs = (other != every[0]).any(dim=1).tolist()
            names = [name for name, is_other in zip(facts, differs, strict=True) if is_other]
            if names:
                raise ConfigError(
                    f"process {rank} and process 0 differ in {_listed(names)}; all processes must "
                    "have the same network, settings and versions"
                )

    def first_error(self, problem: DmteError | None) -> tuple[int, DmteError] | None:
        """Return the lowest rank with an error, and a copy of the error."""
        own = "" if problem is None else f"{problem.is_system_failure:d}{problem}"
        for rank, other in enumerate(self._tables_of_all(_padded(own))):
            if found := _unpadded(other):
                return rank, TrainingError(found[1:], is_system_failure=found[0] == "1")
        return None

    def sum_detached(self, part: Tensor) -> Tensor:
        """Return Σ_p of the parts, without a backward pass."""
        total = part.detach().clone(memory_format=torch.contiguous_format)
        with _lost_process_errors():
            self._connection.allreduce([total]).wait()
        return total

    def exchange(self, blocks: list[Tensor], shapes: list[tuple[int, int]]) -> list[Tensor]:
        """Send a block to every process, and return the received blocks of these shapes."""
        sizes = [rows * columns for rows, columns in shapes]
        sent = torch.cat([block.detach().flatten() for block in blocks])
        received = sent.new_empty(sum(sizes))
        with _lost_process_errors():
            self._connection.alltoall_base(
                received, sent, sizes, [block.numel() for block in blocks]
            ).wait()
        parts = received.split(sizes)
        return [part.view(shape) for part, shape in zip(parts, shapes, strict=True)]

    def _tables_of_all(self, own: Tensor) -> list[Tensor]:
        """Return the tables of all processes, which have equal shapes."""
        every = [torch.empty_like(own) for _ in range(self.size)]
        with _lost_process_errors():
            self._connection.allgather([every], [own]).wait()
        return every


def _padded(text: str) -> Tensor:
    data = text.encode()[:MAX_MESSAGE_BYTES].ljust(MAX_MESSAGE_BYTES, b"\0")
    return torch.tensor(list(data), dtype=torch.uint8)


def _unpadded(padded: Tensor) -> str:
    return bytes(padded.tolist()).rstrip(b"\0").decode(errors="replace")


def _listed(names: list[str]) -> str:
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"


@contextmanager
def _lost_process_errors() -> Iterator[None]:
    """Convert errors of gloo to LostProcessError."""
    try:
        yield
    except RuntimeError as problem:
        is_slow = "timed out" in str(problem).casefold()
        how = "did not answer in time" if is_slow else "is gone"
        raise LostProcessError(
            f"another process {how}; if it does not restart automatically, resume from the last "
            "checkpoint with --resume"
        ) from problem
