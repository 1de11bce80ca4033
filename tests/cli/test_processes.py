"""Several processes on the command line: start, loss of a process, restart."""

import os
import shutil
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch

from dmte.distributed.group import ProcessGroup
from dmte.distributed.launcher import supervise
from dmte.distributed.membership import FOLDER_PREFIX, LOST_PROCESS, RENDEZVOUS
from dmte.embedding.embedding import Embedding
from dmte.network import read_network
from dmte.recipes import PAPER
from dmte.storage.codec import decode_json
from dmte.storage.folder import is_stored, read_parts
from dmte.training.run import TrainingRun

Run = Callable[..., subprocess.CompletedProcess[str]]
Together = Callable[..., list[Any]]
SETTINGS = replace(PAPER, dim=18, batch_size=300)  # Nine columns: four and five.
OPTIONS = ("--recipe", "paper", "--dim", "18", "--batch-size", "300", "--quiet", "--threads", "1")


def wait_for(happened: Callable[[], object], process: "subprocess.Popen[str]") -> None:
    """Wait until something has happened; a process that ends before is a failure."""
    ends = time.monotonic() + 300
    while not happened():
        assert process.poll() is None, process.communicate()
        assert time.monotonic() < ends
        time.sleep(0.01)


def epoch_of(checkpoint: Path) -> int:
    if not is_stored(checkpoint):
        return 0
    return int(decode_json(read_parts(checkpoint, ["position.json"])["position.json"])["epoch"])


def workers_of(launcher: int) -> list[int]:
    return [
        int(pid) for pid in Path(f"/proc/{launcher}/task/{launcher}/children").read_text().split()
    ]


def vectors_of(group: ProcessGroup, epochs: int) -> torch.Tensor | None:
    """The result of a group without interruption."""
    settings = replace(SETTINGS, epochs=epochs)
    run = TrainingRun(read_network("concepts"), settings, seed=0, group=group)
    for _ in run.epochs():
        pass
    found = run.collect_result()
    return None if found is None else found.embedding.vectors


@contextmanager
def started(*command: str, **options: Any) -> Iterator["subprocess.Popen[str]"]:
    """Start a process that is ended, with whatever it has started, if the test fails."""
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, **options
    ) as process:
        try:
            yield process
        finally:
            process.kill()


DMTE = (sys.executable, "-m", "dmte")
TORCHRUN = (sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "2")


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="finds the processes in /proc")
@pytest.mark.parametrize("by_torchrun", [False, True], ids=["own launcher", "torchrun"])
def test_a_group_that_loses_a_process_ends_in_the_same_bits(
    together: Together, tmp_path: Path, *, by_torchrun: bool
) -> None:
    """Killed in a step, then while a checkpoint is written."""
    checkpoint, epochs = tmp_path / "model.checkpoint", 150  # Enough to be caught in the act twice.
    start = [*TORCHRUN, "--max-restarts", "3", "-m", "dmte"] if by_torchrun else [*DMTE]
    command = [*start, "train", "concepts", "--out", "model", "--epochs", str(epochs), *OPTIONS]
    command += ["--checkpoint-every", "3", *([] if by_torchrun else ["--processes", "2"])]
    temporary = tmp_path / "temporary"
    temporary.mkdir()
    environment = {"TORCH_DISABLE_SHARE_RDZV_TCP_STORE": "1", "TMPDIR": str(temporary)}
    with started(*command, cwd=tmp_path, env=os.environ | environment) as launcher:
        wait_for(lambda: epoch_of(checkpoint) >= 6, launcher)
        os.kill(workers_of(launcher.pid)[1], signal.SIGKILL)
        reached = epoch_of(checkpoint)
        wait_for(lambda: epoch_of(checkpoint) > reached, launcher)
        wait_for(lambda: list(checkpoint.glob(".*.dmte-tmp")), launcher)
        os.kill(workers_of(launcher.pid)[0], signal.SIGKILL)
        out, problems = launcher.communicate(timeout=300)
        assert launcher.returncode == 0, problems
    if not by_torchrun:
        assert problems.count("a process was killed by SIGKILL; all processes restart") == 2
        assert not list(temporary.iterdir())
    assert "resumed after epoch" in out
    assert not checkpoint.exists()
    uninterrupted = together(2, lambda group: vectors_of(group, epochs))[0]
    assert torch.equal(Embedding.load(tmp_path / "model").vectors, uninterrupted)


def listening_addresses(process: int) -> list[str]:
    """Address of every socket on which a process listens, as the system writes it."""
    inodes = set()
    for descriptor in Path(f"/proc/{process}/fd").iterdir():
        with suppress(OSError):
            inodes.add(descriptor.readlink().name)
    found = []
    for table in ("tcp", "tcp6"):
        for line in Path(f"/proc/net/{table}").read_text().splitlines()[1:]:
            _, local, _, state, *rest = line.split()
            if state == "0A" and f"socket:[{rest[5]}]" in inodes:
                found.append(local.partition(":")[0])
    return found


def is_running(process: int) -> bool:
    """Whether a process exists and is no zombie."""
    try:
        return Path(f"/proc/{process}/cmdline").read_bytes() != b""
    except OSError:
        return False


LOOPBACK = "0100007F"
"""127.0.0.1 in /proc/net/tcp."""


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="finds processes and sockets in /proc")
def test_processes_listen_on_loopback_only_and_end_with_their_launcher(tmp_path: Path) -> None:
    """Watched from the start to the first checkpoint; then the launcher is killed."""
    options = ("--out", "model", "--epochs", "1000000", *OPTIONS, "--processes", "2")
    checkpoint, temporary = tmp_path / "model.checkpoint", tmp_path / "temporary"
    temporary.mkdir()
    environment = os.environ | {"TMPDIR": str(temporary)}
    seen: dict[int, list[str]] = {}
    command = (*DMTE, "train", "concepts", *options)
    with started(*command, cwd=tmp_path, env=environment) as launcher:

        def is_trained() -> bool:
            assert listening_addresses(launcher.pid) == []
            for worker in workers_of(launcher.pid):
                seen[worker] = max(seen.get(worker, []), listening_addresses(worker), key=len)
            return epoch_of(checkpoint) > 0

        wait_for(is_trained, launcher)
        assert list(seen.values()) == [[LOOPBACK]] * 2
        assert len(list(temporary.iterdir())) == 1
        launcher.kill()
        ends = time.monotonic() + 60
        while any(map(is_running, seen)):
            assert time.monotonic() < ends
            time.sleep(0.01)
    assert not list(temporary.iterdir())


def test_processes_must_match_the_size_of_the_started_group(inside: Run) -> None:
    asked = ("train", "concepts", "--out", "x", "--processes", "2")
    done = inside(*asked, RANK="0", WORLD_SIZE="3")
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == (
        "dmte: --processes must be left out under torchrun, which started 3, not 2\n"
    )
    assert (
        inside(*asked, RANK="1", LOCAL_RANK="1", WORLD_SIZE="3").stderr == ""
    )  # The first one has said it.


def test_a_variable_of_torchrun_without_a_meaning_is_an_error(inside: Run) -> None:
    done = inside("train", "concepts", "--out", "x", RANK="x", WORLD_SIZE="2")
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == (
        "dmte: the environment variable RANK must be a number from 0 to 1, not 'x'\n"
    )


@pytest.mark.medium
def test_a_process_without_partners_times_out_with_an_error(inside: Run, cli_folder: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = str(server.getsockname()[1])
    here = {"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": port}
    asked = ("train", "concepts", "--out", "alone", "--timeout", "1")
    done = inside(*asked, RANK="0", WORLD_SIZE="2", **here)
    assert done.returncode == 1
    assert f"process 0 of 2 cannot reach the others at 127.0.0.1:{port}" in done.stderr
    assert not (cli_folder / "alone").exists()


@pytest.mark.medium
@pytest.mark.parametrize("launcher_is_gone", [False, True])
def test_a_process_without_partners_leaves_a_restart_to_its_launcher(
    tmp_path: Path, *, launcher_is_gone: bool
) -> None:
    rendezvous = tmp_path / f"{FOLDER_PREFIX}x" / "rendezvous"
    rendezvous.parent.mkdir()
    environment = {"RANK": "0", "WORLD_SIZE": "2", RENDEZVOUS: str(rendezvous)}
    seconds = "300" if launcher_is_gone else "1"
    with started(
        *(*DMTE, "train", "concepts", "--out", "model", "--timeout", seconds),
        cwd=tmp_path,
        env=os.environ | environment,
        stdin=subprocess.DEVNULL if launcher_is_gone else subprocess.PIPE,
    ) as process:
        assert process.wait(200) == LOST_PROCESS
        assert process.stderr is not None
        message = process.stderr.read()
    assert launcher_is_gone or message.startswith("dmte: process 0 of 2 cannot reach the others")
    assert rendezvous.parent.exists() != launcher_is_gone


@pytest.mark.medium
def test_processes_are_not_restarted_after_a_mistake_of_the_user(
    capfd: pytest.CaptureFixture[str],
) -> None:
    told: list[str] = []
    assert supervise(["trian"], 2, restarts=3, notify=told.append) == 2
    assert told == []
    assert "did you mean train?" in capfd.readouterr().err


@pytest.mark.slow
@pytest.mark.parametrize(
    ("options", "named"),
    [
        (["nowhere.csv"], "nowhere.csv does not exist"),
        (["concepts", "--dim", "4000000"], "--dim 512 would need"),
    ],
)
def test_a_shared_error_is_printed_once(tmp_path: Path, options: list[str], named: str) -> None:
    command = [*DMTE, "train", *options, "--out", "x", "--processes", "2"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert named in done.stderr
    assert done.stderr.count("\n") == 1, done.stderr


@pytest.mark.parametrize(
    ("options", "named"),
    [
        (["-", "--processes", "2"], "standard input"),
        (["concepts", "--processes", "0"], "processes must be at least 1"),
        (["concepts", "--processes", "1000"], "on this host, four per processor, not 1000"),
        (["concepts", "--timeout", "0"], "timeout must be above 0"),
        (["concepts", "--processes", "2", "--restarts", "-1"], "restarts must be at least 0"),
        (["concepts", "--checkpoint-every", "-1"], "checkpoint_every must be at least 0"),
    ],
)
def test_invalid_arguments_fail_before_any_process_starts(
    inside: Run, options: list[str], named: str
) -> None:
    done = inside("train", *options, "--out", "x")
    assert done.returncode == 2
    assert named in done.stderr
    assert done.stderr.count("\n") == 1


# Whatever is started in a namespace of processes ends with the first of them.
OWN_NETWORK = (
    *("unshare", "--user", "--map-root-user", "--net"),
    *("--pid", "--fork", "--mount-proc", "--kill-child"),
)
TWO_HOSTS = """
set -e
ip link set lo up
unshare --net sleep 300 & other=$!
trap "kill $other" EXIT
until [ "$(readlink /proc/$other/ns/net)" != "$(readlink /proc/$$/ns/net)" ]; do sleep 0.02; done
ip link add left type veth peer name right netns $other
ip address add 10.213.7.1/24 dev left
ip link set left up
nsenter --target $other --net sh -ec "
  ip link set lo up; ip address add 10.213.7.2/24 dev right; ip link set right up"
there="nsenter --target $other --net"
GLOO_SOCKET_IFNAME=left "$@" --node-rank 0 $TRAIN > first 2>&1 & first=$!
GLOO_SOCKET_IFNAME=right $there "$@" --node-rank 1 $TRAIN > second 2>&1 & second=$!
until [ -e model.checkpoint/manifest.json ]; do kill -0 $first; sleep 0.05; done
ip link set left down
code=0; wait $first || code=$?; echo $code
code=0; wait $second || code=$?; echo $code
"""


def why_no_namespaces() -> str | None:
    """Return why two hosts cannot be played here, or none if they can."""
    if sys.platform != "linux" or not all(map(shutil.which, ("unshare", "nsenter", "ip"))):
        return "needs Linux with unshare, nsenter and ip"
    probe = "ip link add left type veth peer name right && unshare --net true"
    allowed = subprocess.run(
        [*OWN_NETWORK, "sh", "-c", probe],
        capture_output=True,
        check=False,
    )
    return None if allowed.returncode == 0 else "network namespaces are not permitted here"


@pytest.mark.slow
@pytest.mark.skipif(why_no_namespaces() is not None, reason=str(why_no_namespaces()))
def test_two_disconnected_hosts_stop_and_resume_from_their_checkpoint(
    inside: Run, cli_folder: Path
) -> None:
    command = ("train", "concepts", "--out", "model", *OPTIONS, "--checkpoint-every", "5")
    torchrun = (sys.executable, "-m", "torch.distributed.run", "--nnodes", "2")
    network = ("--nproc-per-node", "1", "--master-addr", "10.213.7.1", "--master-port", "29511")
    own = (*OWN_NETWORK, "bash", "-c", TWO_HOSTS, "two-hosts")
    train = ("-m", "dmte", *command, "--timeout", "10", "--epochs", "1000000")
    done = subprocess.run(
        [*own, *torchrun, *network],
        cwd=cli_folder,
        env=os.environ | {"TRAIN": " ".join(train), "TORCH_DISABLE_SHARE_RDZV_TCP_STORE": "1"},
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    said = {name: (cli_folder / name).read_text() for name in ("first", "second")}
    assert done.stdout.split() == ["1", "1"], (done, said)
    assert all("dmte: another process" in words for words in said.values()), said
    reached = epoch_of(cli_folder / "model.checkpoint")
    resumed = inside(*command, "--resume", "--epochs", str(reached + 1))
    assert resumed.returncode == 0, resumed.stderr
    assert f"resumed after epoch {reached}" in resumed.stdout
