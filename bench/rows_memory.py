"""Rows about memory: an idle socket in the gateway, a remembered key in the allocator."""

from __future__ import annotations

import asyncio
import subprocess
import sys
from collections.abc import Callable

from bench.effort import Effort
from bench.generator import REPOSITORY, generator, mint, named_seat
from bench.orders import Mode
from bench.processes import resident_bytes
from bench.report import Report, Say, at_most
from bench.target import Target, make_event, throwaway_target, wait_known

SOCKETS = 5_000
WARM_SOCKETS = 100
SETTLE_SECONDS = 1.0
KEYS = 1_000_000

# In a process of its own: nothing was allocated and freed before, so resident memory is what it takes.
KEYS_PROGRAM = f"""
import gc, os
from pathlib import Path
from allocator.keys import Keys
def resident():
    gc.collect()
    return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")
keys = Keys()
before = resident()
for number in range({KEYS}):
    keys.suspect((f"buyer-{{number}}", "r1"))
print((resident() - before) / len(keys))
"""


def measure_memory(report: Report, say: Say, effort: Effort) -> None:
    """`memory_per_idle_socket` and `memory_per_key`.

    A socket: growth of the gateway's resident memory over 5,000 clients that said hello and are
    silent, after some others came and went. A key: growth of a fresh process over a million keys in
    the allocator's own key memory.
    """
    sockets = effort.size(SOCKETS, 2_000)
    say(f"memory of {sockets:,} idle sockets")
    with throwaway_target() as (target, pid_of):
        per_socket = asyncio.run(_idle_sockets(target, pid_of, sockets))
    say(f"memory of {KEYS:,} keys")
    done = subprocess.run(
        [sys.executable, "-c", KEYS_PROGRAM], cwd=REPOSITORY, capture_output=True, text=True, check=True
    )
    report.rows += [
        at_most("memory_per_idle_socket", [per_socket / 1024], "KB", 30),
        at_most("memory_per_key", [float(done.stdout)], "bytes", 100),
    ]


async def _idle_sockets(target: Target, pid_of: Callable[[str], int], sockets: int) -> float:
    event = await asyncio.to_thread(make_event, target.database_url, 1)
    await asyncio.to_thread(wait_known, target, event)
    wants = [named_seat(event.plan.seats[0].guid)]
    buyers = mint(target.token_secret, sockets)
    async with generator(target.base_url, event.slug, buyers[:WARM_SOCKETS], wants, Mode.IDLE):
        await asyncio.sleep(SETTLE_SECONDS)
    await asyncio.sleep(SETTLE_SECONDS)
    before = resident_bytes(pid_of("gateway-1"))
    async with generator(target.base_url, event.slug, buyers, wants, Mode.IDLE):
        await asyncio.sleep(SETTLE_SECONDS)
        return (resident_bytes(pid_of("gateway-1")) - before) / sockets
