"""Memory of the system, and limits of control groups."""

import subprocess
import sys
from pathlib import Path

import pytest

from dmte.runtime import memory


@pytest.fixture
def system(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A system with 2 MB available and no control groups yet."""
    (tmp_path / "meminfo").write_text("MemTotal: 4000 kB\nMemAvailable: 2000 kB\n")
    (tmp_path / "own").write_text("0::/job/step\n")
    for name, place in (("MEMINFO", "meminfo"), ("OWN_GROUPS", "own"), ("GROUPS", "groups")):
        monkeypatch.setattr(memory, name, tmp_path / place)
    return tmp_path


@pytest.mark.usefixtures("system")
def test_total_and_available_memory_differ() -> None:
    assert memory.total_bytes() == 4000 * 1024


def test_without_a_limit_the_system_memory_is_available(system: Path) -> None:
    assert memory.available_bytes() == 2000 * 1024
    group = system / "groups"
    group.mkdir()
    (group / "memory.max").write_text("max\n")
    (group / "memory.current").write_text("5\n")
    assert memory.available_bytes() == 2000 * 1024


@pytest.mark.parametrize("place", ["groups/job/step", "groups/job"])
def test_the_limit_of_a_parent_group_counts(system: Path, place: str) -> None:
    group = system / place
    group.mkdir(parents=True)
    (group / "memory.max").write_text("1000000\n")
    (group / "memory.current").write_text("400000\n")
    (group / "memory.stat").write_text("anon 1\ninactive_file 100000\n")
    assert memory.available_bytes() == 700_000


def test_the_limit_of_control_groups_version_1_counts(system: Path) -> None:
    (system / "own").write_text("9:cpu:/x\n4:memory:/job\n")
    group = system / "groups" / "memory" / "job"
    group.mkdir(parents=True)
    (group / "memory.limit_in_bytes").write_text("9000\n")
    (group / "memory.usage_in_bytes").write_text("10000\n")
    assert memory.available_bytes() == 0


ALLOCATE = """
import resource, sys
import numpy as np, torch
from dmte.runtime import memory
if sys.argv[1] == "share":
    memory.limit_allocations(memory.resident_bytes() + 300_000_000)
else:
    used = 1024 * int(open("/proc/self/status").read().split("VmSize:")[1].split()[0])
    resource.setrlimit(resource.RLIMIT_AS, (used + 300_000_000,) * 2)
print(200_000_000 < memory.available_bytes() <= 310_000_000)
np.ones(12_500_000), torch.ones(25_000_000)  # 100 MB each
for allocate in (np.ones, torch.ones, bytes):
    try:
        allocate(500_000_000)
    except (MemoryError, RuntimeError) as problem:
        print(memory.is_out_of_memory(problem))
"""


@pytest.mark.medium
@pytest.mark.skipif(sys.platform != "linux", reason="needs Linux's limits of memory")
@pytest.mark.parametrize("limit", ["share", "ulimit -v"])
def test_memory_below_a_limit_is_available_and_more_is_an_error(limit: str) -> None:
    command = [sys.executable, "-c", ALLOCATE, limit]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["True"] * 4


@pytest.fixture
def no_linux(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("MEMINFO", "OWN_GROUPS", "GROUPS", "STATUS"):
        monkeypatch.setattr(memory, name, tmp_path / "nowhere")


@pytest.mark.usefixtures("no_linux")
def test_without_linux_memory_is_read_from_psutil() -> None:
    psutil = pytest.importorskip("psutil", reason="the extra memory is not installed")
    total = psutil.virtual_memory().total
    assert memory.total_bytes() == total
    assert 0 < (memory.available_bytes() or 0) <= total
    assert 0 < (memory.resident_bytes() or 0) <= total


@pytest.mark.usefixtures("no_linux")
def test_without_psutil_memory_is_unknown(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "psutil", None)
    assert memory.total_bytes() is None
    assert memory.available_bytes() is None
    assert memory.resident_bytes() is None
