"""Does a training whose processes are killed repeatedly end in the same bits?

Several processes train a network. At random moments a random one is killed with SIGKILL, every
third time while a checkpoint is being written. The launcher restarts all of them. At the end the
vectors are compared, bit by bit, with those of an uninterrupted run. Prints a line per kill and
writes faults.json beside this file. Linux only.

    python benchmarks/faults.py [--kills 20] [--processes 2] [--network concepts] [--seed 0]
"""

import argparse
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path

import torch
from measuring import store

from dmte.embedding.embedding import Embedding
from dmte.storage.codec import decode_json
from dmte.storage.folder import is_stored, read_parts

EVERY = 5
"""Epochs between two checkpoints."""
TIMEOUT = 300
"""Seconds to wait for the next checkpoint."""


def main() -> None:
    """Train twice, with kills and without, and compare."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--kills", type=int, default=20)
    parser.add_argument("--processes", type=int, default=2)
    parser.add_argument("--network", default="concepts")
    parser.add_argument("--seed", type=int, default=0)
    arguments = parser.parse_args()
    epochs = 10 * EVERY * (arguments.kills + 2)
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder)
        command = [
            *(sys.executable, "-m", "dmte", "train", arguments.network, "--recipe", "paper"),
            *("--dim", "18", "--batch-size", "300", "--epochs", str(epochs), "--threads", "1"),
            *("--checkpoint-every", str(EVERY), "--processes", str(arguments.processes)),
            *("--restarts", str(arguments.kills), "--quiet", "--out"),
        ]
        began = time.monotonic()
        messages = interrupt([*command, "killed"], place, arguments)
        seconds = time.monotonic() - began
        subprocess.run([*command, "whole"], cwd=place, check=True, stdout=subprocess.DEVNULL)
        vectors = [Embedding.load(place / name).vectors for name in ("killed", "whole")]
    is_same = torch.equal(*vectors)
    restarts = messages.count("all start again")
    print(f"{restarts} of {arguments.kills} kills recovered; the same bits: {is_same}")
    found = {"recovered": restarts, "same_bits": is_same, "epochs": epochs}
    row = vars(arguments) | found | {"seconds": round(seconds, 1)}
    store(__file__, [row], threads=1)
    sys.exit(0 if is_same and restarts == arguments.kills else 1)


def interrupt(command: list[str], place: Path, arguments: argparse.Namespace) -> str:
    """Run the command and kill processes of it; return its messages."""
    chance, checkpoint = random.Random(arguments.seed), place / "killed.checkpoint"
    with subprocess.Popen(command, cwd=place, stderr=subprocess.PIPE, text=True) as launcher:
        for number in range(arguments.kills):
            wait_for(partial(has_advanced, checkpoint, epoch_of(checkpoint)), launcher)
            during_checkpoint = number % 3 == 2
            if during_checkpoint:
                wait_for(lambda: any(checkpoint.glob(".*.dmte-tmp")), launcher)
            else:
                time.sleep(chance.uniform(0, 0.5))
            victim = chance.choice(workers_of(launcher.pid))
            os.kill(victim, signal.SIGKILL)
            when = "during a checkpoint" if during_checkpoint else "at a random step"
            print(
                f"kill {number + 1:>3}  after epoch {epoch_of(checkpoint):>5}  {when}", flush=True
            )
        messages = launcher.communicate()[1]
    if launcher.returncode:
        sys.exit(f"faults.py: the training ended with code {launcher.returncode}: {messages}")
    return messages


def wait_for(happened: Callable[[], bool], launcher: "subprocess.Popen[str]") -> None:
    """Wait until a condition is true."""
    ends = time.monotonic() + TIMEOUT
    while not happened():
        if launcher.poll() is not None or time.monotonic() > ends:
            launcher.kill()
            messages = launcher.communicate()[1]
            sys.exit(f"faults.py: the training ended or made no progress: {messages}")
        time.sleep(0.005)


def has_advanced(checkpoint: Path, reached: int) -> bool:
    """Whether there is a checkpoint later than the epoch ``reached``."""
    return epoch_of(checkpoint) > reached


def epoch_of(checkpoint: Path) -> int:
    """Return the epoch of the last complete checkpoint."""
    if not is_stored(checkpoint):
        return 0
    return int(decode_json(read_parts(checkpoint, ["position.json"])["position.json"])["epoch"])


def workers_of(launcher: int) -> list[int]:
    """Return the ids of the processes that the launcher has started."""
    children = Path(f"/proc/{launcher}/task/{launcher}/children").read_text()
    return [int(pid) for pid in children.split()]


if __name__ == "__main__":
    main()
