"""Forgets what nobody needs any more, some rows at a time.

Rows of the outbox are forgotten once every reader is beyond them: see `store.subscribers.trim`.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from functools import partial
from typing import Final

from onsale.chores.catalogue import chores
from onsale.chores.doing import Doing
from store import idempotency, mail
from store.chores import runs
from store.database import connect
from store.fleet import log as fleet_log
from store.holds import Conn
from store.payments import ending
from store.room import refused
from store.subscribers import trim as told

ROWS_MAX: Final = 5_000
"""Most rows one statement forgets."""
NOTICE_DAYS: Final = 90
"""Providers repeat a notice for days; one that old is told as too old before it is looked for."""
MAIL_DAYS: Final = 30
REFUSED_DAYS: Final = 30
"""Who was turned away from waiting rooms, with hashes of addresses."""
FORGETS: Final = (told.trim_outbox, told.trim_log, told.trim_dead, fleet_log.trim)
"""On a blocking connection: forget some rows; how many."""

FORGET_NOTICES: Final = """
-- The oldest stand first in the table.
DELETE FROM payment_notice WHERE ctid = ANY (ARRAY(
  SELECT ctid FROM payment_notice WHERE at < clock_timestamp() - make_interval(days => %(days)s)
   LIMIT %(limit)s))
"""


async def trim(doing: Doing) -> int:
    """How many rows were forgotten."""
    works: list[Callable[[Conn, int], Awaitable[int]]] = [
        _notices,
        _mails,
        ending.forget_tries,
        _keys,
        _refused,
    ]
    works += [partial(_beside, doing, forget) for forget in FORGETS]
    done = await _forget_chores(doing)
    for work in works:
        while not doing.is_over():
            forgotten = await work(doing.connection, ROWS_MAX)
            done += forgotten
            if forgotten < ROWS_MAX:
                break
    return done


async def _notices(connection: Conn, limit: int) -> int:
    return (await connection.execute(FORGET_NOTICES, {"days": NOTICE_DAYS, "limit": limit})).rowcount


async def _beside(doing: Doing, forget: Callable[..., int], _: Conn, limit: int) -> int:
    """What forgets rows on a blocking connection of its own."""

    def work() -> int:
        with connect(doing.settings.engines.database_url, "onsale chore trim") as conn:
            conn.autocommit = True
            return forget(conn, limit=limit)

    return await asyncio.to_thread(work)


async def _mails(connection: Conn, limit: int) -> int:
    return await mail.forget(connection, MAIL_DAYS, limit)


async def _keys(connection: Conn, limit: int) -> int:
    """`trim` bounds itself further."""
    return await idempotency.trim(connection, limit)


async def _refused(connection: Conn, limit: int) -> int:
    return await refused.forget(connection, REFUSED_DAYS, limit)


async def _forget_chores(doing: Doing) -> int:
    names = {"chores": [chore.name for chore in chores()]}
    return (await doing.connection.execute(runs.FORGET, names)).rowcount
