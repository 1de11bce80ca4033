"""How much memory there is, and how much this process has.

On Linux, what the system says is available and what the limits of the control groups (containers,
batch systems) leave; elsewhere it is not known, and nothing is said.
"""

from pathlib import Path

MEMINFO = Path("/proc/meminfo")
STATUS = Path("/proc/self/status")
OWN_GROUPS = Path("/proc/self/cgroup")
GROUPS = Path("/sys/fs/cgroup")
NO_LIMIT = 1 << 60  # Version 1 of control groups writes a number near 2⁶³ where there is none.


def available_bytes() -> int | None:
    """Return how many bytes more this process can take, or None where that is not known."""
    free = [] if (found := _kilobytes(MEMINFO, "MemAvailable")) is None else [found]
    free += [room for folder in _groups() if (room := _room(folder)) is not None]
    return min(free, default=None)


def total_bytes() -> int | None:
    """Return how many bytes the machine has in all, or None where that is not known."""
    return _kilobytes(MEMINFO, "MemTotal")


def resident_bytes() -> int | None:
    """Return how many bytes this process has, or None where that is not known."""
    return _kilobytes(STATUS, "VmRSS")


def _kilobytes(path: Path, name: str) -> int | None:
    lines = (_read(path) or "").splitlines()
    found = (line.split() for line in lines if line.startswith(f"{name}:"))
    return next((1024 * int(words[1]) for words in found), None)


def _groups() -> list[Path]:
    """Return the folders of the control groups of this process, and of those around them."""
    folders = [GROUPS, GROUPS / "memory"]
    for line in (_read(OWN_GROUPS) or "").splitlines():
        _, kinds, inside = line.split(":", 2)
        if kinds in ("", "memory"):
            place = (GROUPS / kinds / inside.lstrip("/")).resolve()
            folders += [place, *(above for above in place.parents if GROUPS in above.parents)]
    return folders


def _room(folder: Path) -> int | None:
    """Return what the limit of a control group leaves; pages of files can be given back."""
    for limit, used, given_back in (
        ("memory.max", "memory.current", "inactive_file"),
        ("memory.limit_in_bytes", "memory.usage_in_bytes", "total_inactive_file"),
    ):
        most, taken = _read(folder / limit), _read(folder / used)
        if most is None or taken is None or not most.isdigit() or int(most) > NO_LIMIT:
            continue
        facts = dict(line.split() for line in (_read(folder / "memory.stat") or "").splitlines())
        return max(0, int(most) - int(taken) + int(facts.get(given_back, 0)))
    return None


def _read(path: Path) -> str | None:
    try:
        return path.read_text().strip()
    except OSError:  # Another system, or a container that does not show it.
        return None
