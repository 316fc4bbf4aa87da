"""Payments that nobody may finish any more, and payments nobody told us about for long.

A payment whose hold is over, or is not what it was made for, is canceled by a conditional write; then the
provider is asked, with no transaction open, to let nobody pay it (`to_end`), and that is written down
(`ended`). Whoever is killed in between asks once more. Money that comes all the same, before or after, is
settled like any other (`store.payments.settle`): canceling loses none.

Locks payments only, those of one statement by number.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from msgspec import Struct

from store.holds import Conn
from store.lost_time import OUTAGE_SECONDS, RUN_BY
from store.payments.states import OPEN
from store.words import one_of

MOST: Final = 500
"""Most payments one statement gives or changes."""
LOOK_AFTER_SECONDS: Final = 60
"""A payment that nobody told us about for so long is looked up at the provider."""
LAST_LOOK_SECONDS: Final = 20
"""So long before its hold ends it is looked up once more: money that came in time gets its seats, whatever
became of the notice."""
UNMADE_SECONDS: Final = 600
"""A canceled payment whose intent nobody has named by then has none that anybody could pay."""

_IS_OPEN: Final = one_of("payment.state", *sorted(OPEN))

OVER: Final = f"""
-- Whose hold is over for good, or has another quantity than was charged for. A hold that only seems to have
-- run out gets an outage's time back (`store.lost_time`): that shows within `OUTAGE_SECONDS`.
SELECT payment.id FROM payment
  JOIN hold ON hold.event_id = payment.event_id AND hold.hold_id = payment.hold_id
  JOIN event ON event.id = payment.event_id
 WHERE {_IS_OPEN} AND NOT payment.intent_ended
   AND (hold.state <> 'active' OR hold.quantity <> payment.quantity
        OR hold.expires_at <= {RUN_BY} - interval '{OUTAGE_SECONDS} seconds')
 ORDER BY payment.id LIMIT {MOST}
"""

CANCEL: Final = f"""
-- Leaves out payments that somebody changes in this moment.
WITH over AS ({OVER} FOR NO KEY UPDATE OF payment SKIP LOCKED)
UPDATE payment SET state = 'canceled' FROM over WHERE payment.id = over.id AND {_IS_OPEN}
"""

TO_END: Final = """
-- Along the index of intents that are not ended; those that could not be ended lately are left out.
SELECT payment.id, provider, intent FROM payment
  LEFT JOIN payment_try ON payment_id = payment.id AND what = 'ask'
 WHERE payment.state = 'canceled' AND NOT intent_ended AND intent IS NOT NULL AND payment.id > %(after)s
   AND coalesce(next_at, '-infinity') <= clock_timestamp()
 ORDER BY payment.id LIMIT %(limit)s
"""

ENDED: Final = "UPDATE payment SET intent_ended = true WHERE id = %(payment)s AND NOT intent_ended"

FORGET_UNMADE: Final = f"""
UPDATE payment SET intent_ended = true
 WHERE state = 'canceled' AND NOT intent_ended AND intent IS NULL
   AND created_at < clock_timestamp() - interval '{UNMADE_SECONDS} seconds'
"""

UNHEARD: Final = f"""
-- Open for long, by number; those looked up lately are left out.
SELECT payment.id, provider, intent FROM payment
  LEFT JOIN payment_try ON payment_id = payment.id AND what = 'look'
 WHERE {_IS_OPEN} AND NOT intent_ended AND intent IS NOT NULL AND payment.id > %(after)s
   AND coalesce(next_at, created_at + interval '{LOOK_AFTER_SECONDS} seconds') <= clock_timestamp()
 ORDER BY payment.id LIMIT %(limit)s
"""

ALMOST_OVER: Final = f"""
-- Open, and their holds end in a moment.
SELECT payment.id, provider, intent FROM payment
  JOIN hold ON hold.event_id = payment.event_id AND hold.hold_id = payment.hold_id
  LEFT JOIN payment_try ON payment_id = payment.id AND what = 'last'
 WHERE {_IS_OPEN} AND NOT intent_ended AND intent IS NOT NULL AND payment.id > %(after)s
   AND hold.state = 'active'
   AND hold.expires_at <= clock_timestamp() + interval '{LAST_LOOK_SECONDS} seconds'
   AND coalesce(next_at, '-infinity') <= clock_timestamp()
 ORDER BY payment.id LIMIT %(limit)s
"""

TRY: Final = """
-- Of several who would ask in this moment one may; each pause is longer than the one before.
INSERT INTO payment_try (payment_id, what, next_at)
SELECT payment, %(what)s, clock_timestamp() + make_interval(secs => %(first)s)
  FROM unnest(%(payments)s::bigint[]) AS payment ORDER BY payment
ON CONFLICT (payment_id, what) DO UPDATE
   SET tries = least(payment_try.tries + 1, 1000),
       next_at = clock_timestamp() + make_interval(
         secs => least(%(first)s::float8 * 2 ^ least(payment_try.tries, 30), %(most)s))
 WHERE payment_try.next_at <= clock_timestamp()
RETURNING payment_id
"""

FORGET_TRIES: Final = f"""
-- Of payments that nobody asks about any more.
DELETE FROM payment_try
 WHERE (payment_id, what) IN (
   SELECT payment_id, what FROM payment_try JOIN payment ON payment.id = payment_id
    WHERE NOT ({_IS_OPEN} OR payment.state = 'late') LIMIT %(limit)s)
"""


class Intent(Struct, frozen=True):
    """What a provider is asked about."""

    payment: int
    provider: str
    intent: str


async def cancel(connection: Conn) -> int:
    """Cancel open payments that their holds are no longer there for, at most `MOST`; how many."""
    return (await connection.execute(CANCEL)).rowcount


async def to_end(connection: Conn, after: int, limit: int) -> list[Intent]:
    """Intents of canceled payments, by number of the payment, that a provider has not ended yet."""
    return await _intents(connection, TO_END, after, limit)


async def ended(connection: Conn, payment_id: int) -> None:
    """Nobody can pay it any more."""
    await connection.execute(ENDED, {"payment": payment_id})


async def forget_unmade(connection: Conn) -> int:
    """Canceled payments that no provider ever named an intent for are done with; how many."""
    return (await connection.execute(FORGET_UNMADE)).rowcount


async def unheard(connection: Conn, after: int, limit: int) -> list[Intent]:
    """Open payments that nobody told us about for long and that are due to be looked up."""
    return await _intents(connection, UNHEARD, after, limit)


async def almost_over(connection: Conn, after: int, limit: int) -> list[Intent]:
    """Open payments whose holds end in a moment, and that were not looked up for that yet."""
    return await _intents(connection, ALMOST_OVER, after, limit)


async def may_try(
    connection: Conn, payments: Sequence[int], what: str, *, first_seconds: float, most_seconds: float
) -> set[int]:
    """Those of the payments that may be asked about now; not again for a pause that doubles each time.

    `what` is look (at the provider), last (the same, before its hold ends) or ask (that it ends; or for the
    seats of a late one, in the stream).
    """
    values = {"payments": list(payments), "what": what, "first": first_seconds, "most": most_seconds}
    rows = await (await connection.execute(TRY, values)).fetchall()
    return {payment for (payment,) in rows}


async def forget_tries(connection: Conn, limit: int) -> int:
    """Forget how often payments that are settled were asked about; how many."""
    return (await connection.execute(FORGET_TRIES, {"limit": limit})).rowcount


async def _intents(connection: Conn, statement: str, after: int, limit: int) -> list[Intent]:
    values = {"after": after, "limit": min(limit, MOST)}
    return [Intent(*row) for row in await (await connection.execute(statement, values)).fetchall()]
