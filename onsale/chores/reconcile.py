"""Compares what is kept beside Postgres with Postgres, and what is in Postgres with itself.

Only caches are repaired. Gateways, whose fast gate refuses from their seat maps, are told what the map is
after a batch; one whose map is another reads it anew. Where payments do not agree with orders and refunds, or
seats do not add up where no allocator looks, that is an alert with its rows, for a person.
"""

from __future__ import annotations

import asyncio
from typing import Any, Final

from redis.exceptions import RedisError

from onsale.chores.doing import Doing
from store import invariant, lookups
from store.database import connect
from store.errors import OnsaleError, Unavailable
from store.holds import Conn
from store.lost_time import UNATTENDED
from store.payments import answered, needed
from store.stream.redis_stream import connect_async
from store.wire import Delta, encode_delta, map_digest, seats_channel

EVENTS_MAX: Final = 200
TOLD_MAX: Final = 20
MENDED_BY: Final = "give the chores the same payment settings as the gateways (docs/payments.md)."

SERVED: Final = f"""
-- In any order: where a run has no time for all, the next one does not begin with the same.
SELECT id, slug FROM event WHERE state IN ('lobby', 'open', 'paused') ORDER BY random() LIMIT {EVENTS_MAX}
"""

AT_REST: Final = """
-- A fact that nobody consumed yet has changed the tables and no map. Asked after the map was read: had there
-- been one then and were it gone now, a batch would have taken it.
SELECT NOT EXISTS (SELECT FROM fact WHERE event_id = %(event)s)
       AND batch_no = %(batch)s FROM event_cursor WHERE event_id = %(event)s
"""

UNWATCHED: Final = f"""
-- Events whose seats no allocator looks at (`allocator.balance`): on sale or closed lately.
SELECT event.id, event.slug FROM event
  JOIN lease ON lease.event_id = event.id JOIN event_cursor ON event_cursor.event_id = event.id
 WHERE event.state <> 'draft' AND {UNATTENDED}
   AND event_cursor.batch_time > clock_timestamp() - interval '1 hour'
 ORDER BY random() LIMIT {EVENTS_MAX}
"""


class Mismatched(OnsaleError):
    """ALERT: rows in Postgres do not agree. Nothing is repaired; compare them with their history first."""


class NotConfigured(OnsaleError):
    """Payments need a provider whose settings are missing here. Give chores what gateways have."""


async def reconcile(doing: Doing) -> int:
    """How many maps and payments were looked at."""
    await _providers(doing)
    done = await _money(doing)
    done += await _maps(doing)
    done += await _seats(doing)
    doing.more = False  # it is never at an end: what is left comes at the next time, not at once
    return done


async def _providers(doing: Doing) -> None:
    """Where gateways know a provider and chores do not, payments begin and nobody ends them."""
    known = doing.providers.keys()
    rows = await (await doing.connection.execute(needed.UNDER_WAY)).fetchall()
    for (name,) in rows:
        if name not in known:
            story = f"Payments with {name!r} are under way and its settings are missing here"
            doing.failed("payments", NotConfigured(f"{story}: {MENDED_BY}"))
    selling = [one.slug for one in await _for_money(doing) if one.sells]
    if selling and not known:
        story = f"{', '.join(selling[:TOLD_MAX])} sells for money and no payment provider is configured here"
        doing.failed("payments", NotConfigured(f"{story}: {MENDED_BY}"))


async def _for_money(doing: Doing) -> list[needed.ForMoney]:
    return needed.events_of(await (await doing.connection.execute(needed.EVENTS)).fetchall())


async def _money(doing: Doing) -> int:
    looked = await answered.look(doing.connection, doing.position)
    doing.position = looked.after
    if looked.wrong:
        told = "; ".join([f"payment {one.payment} {one.story}" for one in looked.wrong[:TOLD_MAX]])
        doing.failed("money", Mismatched(f"Not all money is answered for: {told}"))
    return looked.read


async def _maps(doing: Doing) -> int:
    """Tell gateways what the maps are that they serve."""
    client: Any = connect_async(doing.settings.engines.redis_url, connections_max=1)
    done = 0
    try:
        for event, slug in await (await doing.connection.execute(SERVED)).fetchall():
            if doing.is_over():
                break
            channel = seats_channel(slug)
            [(_, listening)] = await client.pubsub_numsub(channel)
            told = await map_now(doing.connection, event) if listening else None
            if told is not None:
                await client.publish(channel, told)
                done += 1
    except (RedisError, OSError) as error:
        doing.failed("seat maps", Unavailable(f"Redis does not answer: {error!r}"))
    finally:
        await client.aclose()
    return done


async def map_now(connection: Conn, event_id: int) -> bytes | None:
    """What gateways are told of an event's map; None where somebody changes it in this moment."""
    seats = await lookups.seat_map(connection, event_id)
    values = {"event": event_id, "batch": seats.batch_no}
    at_rest = await (await connection.execute(AT_REST, values)).fetchone()
    if at_rest != (True,):
        return None
    digest = map_digest(seats.states.encode(), seats.areas_free)
    return encode_delta(Delta(0, 0, [], [], [], [], map_is=(seats.batch_no, digest)))


async def _seats(doing: Doing) -> int:
    """Look whether seats add up where no allocator does."""
    found = await (await doing.connection.execute(UNWATCHED)).fetchall()
    for event, slug in found:
        if doing.is_over():
            break
        wrong = await asyncio.to_thread(_mismatches, doing.settings.engines.database_url, event)
        if wrong:
            told = "; ".join([f"{row.what} number {row.number} {row.story}" for row in wrong[:TOLD_MAX]])
            doing.failed(slug, Mismatched(f"Seats and places do not add up: {told}"))
    return len(found)


def _mismatches(database_url: str, event_id: int) -> list[invariant.Mismatch]:
    with connect(database_url, "onsale chore reconcile") as conn:
        conn.autocommit = True
        return invariant.mismatches(conn, event_id, invariant.read_capacity(conn, event_id))
