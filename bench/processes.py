"""Time and memory of a server's processes, read from /proc. Linux only."""

from __future__ import annotations

import os
import platform
import tempfile
import time
from collections.abc import Callable, Iterable
from importlib.metadata import version
from pathlib import Path
from statistics import median
from typing import Any

import psutil

from onsale.engines import binaries

TICKS_PER_SECOND = os.sysconf("SC_CLK_TCK")
PAGE_BYTES = os.sysconf("SC_PAGE_SIZE")
SYNCS = 50
SERVER = ("gateway-1", "allocator-1", "allocator-2", "postgres", "valkey")
"""The processes of a throwaway onsale, by name."""


def tree_cpu_seconds(pid: int) -> float:
    """User and system time of a process and its descendants so far, those that ended included."""
    return sum(_ticks(each) for each in _tree(pid)) / TICKS_PER_SECOND


def resident_bytes(pid: int) -> int:
    """Resident memory of one process."""
    return int(Path(f"/proc/{pid}/statm").read_text().split()[1]) * PAGE_BYTES


def cpu_by_name(pid_of: Callable[[str], int], names: Iterable[str]) -> dict[str, float]:
    """Seconds of CPU so far of each named process tree."""
    return {name: tree_cpu_seconds(pid_of(name)) for name in names}


def spent(before: dict[str, float], after: dict[str, float]) -> dict[str, float]:
    return {name: after[name] - before[name] for name in before}


def machine() -> dict[str, Any]:
    """What figures depend on. Writes a few kilobytes where the throwaway engines will write theirs."""
    return {
        "cpu": _cpu_model(),
        "cores": os.cpu_count(),
        "memory_gb": round(psutil.virtual_memory().total / 1e9, 1),
        "system": f"{platform.system()} {platform.release()}",
        "fsync_us": round(fsync_seconds(Path(tempfile.gettempdir())) * 1e6),
        "python": platform.python_version(),
        "postgres": _postgres(),
        "valkey": _valkey(),
        "uvicorn": version("uvicorn"),
        "websockets": version("websockets"),
        "psycopg": version("psycopg"),
        "load_1m_before": round(os.getloadavg()[0], 2),
    }


def fsync_seconds(folder: Path) -> float:
    """The median time to make one appended page durable in that folder."""
    taken = []
    with tempfile.TemporaryFile(dir=folder) as file:
        for _ in range(SYNCS):
            file.write(bytes(8192))
            file.flush()
            begun = time.perf_counter()
            os.fdatasync(file.fileno())
            taken.append(time.perf_counter() - begun)
    return median(taken)


def _postgres() -> str:
    return "of DATABASE_URL" if os.environ.get("DATABASE_URL") else binaries.postgres_version()


def _valkey() -> str:
    return "of REDIS_URL" if os.environ.get("REDIS_URL") else binaries.valkey_version()


def _tree(pid: int) -> list[int]:
    try:
        return [pid, *(child.pid for child in psutil.Process(pid).children(recursive=True))]
    except psutil.Error:
        return []


def _ticks(pid: int) -> int:
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return 0  # it ended in this moment; its parent has its time
    utime, stime, ended_children_utime, ended_children_stime = map(int, fields[11:15])
    return utime + stime + ended_children_utime + ended_children_stime


def _cpu_model() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        return platform.processor()
    return next(
        (line.partition(":")[2].strip() for line in lines if line.startswith("model name")), "unknown"
    )
