"""Frees what ran out where nobody attends to the event, as far as that can never be given back.

See `store.sweeping` for what that is, and docs/decisions/0029 for why it is no more.
"""

from __future__ import annotations

from onsale.chores.doing import Doing
from store import sweeping


async def sweep(doing: Doing) -> int:
    """How many holds were ended and freed."""
    done = 0
    for event in await sweeping.find(doing.connection):
        while not doing.is_over():
            swept = await doing.trying(f"event {event}", sweeping.sweep(doing.connection, event))
            done += swept
            if swept < sweeping.HOLDS_MAX:
                break
    return done
