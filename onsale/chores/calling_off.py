"""Events that were canceled or moved: their holds, waiting lists and orders end or move, a bounded piece at a
time, until nothing is left. Whoever is killed in between, or does it twice, does no harm: see
`store.calling_off.steps`.
"""

from __future__ import annotations

import asyncio

from onsale.chores.doing import Doing
from store.calling_off.steps import step
from store.database import connect


async def calling_off(doing: Doing) -> int:
    """How many holds, waits and orders ended or moved."""
    done = 0

    def some() -> int:
        with connect(doing.settings.engines.database_url, "onsale chore calling-off") as conn:
            conn.autocommit = True
            return step(conn)

    while not doing.is_over():
        found = await asyncio.to_thread(some)
        if not found:
            break
        done += found
    return done
