"""Mails to buyers as rows: made from the outbox once each, taken by whoever sends them, tried again.

`write_down` reads an event's outbox on from where it was read before and moves that position in the
transaction that writes the mails: none is left out and none is written twice. Sending is `due → sent`: who is
killed between the two sends once more, under the same Message-ID.

Only payments have an address, so who bought what cost nothing is told by nobody. What is told by mail alone
(`Alone`) has no row of the outbox; whoever makes it true writes the mail in the same transaction.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from enum import StrEnum
from typing import Any, Final

from msgspec import Struct

from store import outbox
from store.holds import Conn, in_transaction
from store.outbox import Told

TAKEN_SECONDS: Final = 60
"""So long nobody else sends a mail that somebody took."""
TAKE_MAX: Final = 50
READ_MAX: Final = outbox.ROWS_MAX
"""Most rows of an outbox that one transaction makes mails of."""
EVENTS_MAX: Final = 200
ATTEMPTS_MAX: Final = 12
"""About two days, with the pauses below."""
BACKOFF_SECONDS_FIRST: Final = 15
BACKOFF_SECONDS_MAX: Final = 6 * 3_600
ERROR_LENGTH_MAX: Final = 500

OF_PAYMENT: Final = (
    Told.ORDER_PAID,
    Told.PAYMENT_LATE,
    Told.PAYMENT_REFUND_DUE,
    Told.PAYMENT_REFUNDED,
)
OF_ORDER: Final = (Told.ORDER_CHANGED, Told.ORDER_REFUNDED)

UNREAD: Final = f"""
-- Events that told more than was read: by their counters, the outbox itself is not looked at.
SELECT told.event_id FROM outbox_count AS told LEFT JOIN mail_position AS at USING (event_id)
 WHERE told.rows > coalesce(at.number, 0)
 ORDER BY told.event_id LIMIT {EVENTS_MAX}
"""

YET_TO_READ: Final = """
EXISTS (SELECT 1 FROM event LEFT JOIN mail_position AS at ON at.event_id = event.id
         WHERE event.id = o.event_id AND coalesce(at.number, 0) < o.number)
"""
"""The condition that row `o` of the outbox is not read yet, for whoever forgets rows."""

LOCK_POSITION: Final = """
-- Of several who read an event's outbox one goes on; the others come after it and find less.
INSERT INTO mail_position (event_id, number) VALUES (%(event)s, 0)
ON CONFLICT (event_id) DO UPDATE SET number = mail_position.number
RETURNING number
"""

MOVE_POSITION: Final = """
UPDATE mail_position SET number = %(to)s WHERE event_id = %(event)s AND number < %(to)s
"""

WRITE: Final = """
-- An arm for each: with OR between them every row would be held against every payment of the event.
-- OFFSET 0 looks each row's payment up by itself: as a join, statistics from before the sale (a handful of
-- payments) had every row held against every payment all the same. Of orders one reading finds all payments:
-- an order's is told by two columns, and to statistics of one payment an event any index that begins with the
-- event is as good, so that each row would read all of the event's.
-- To whom a payment (wherever its order went meanwhile), or the one that bought an order, or any that bought
-- one of an event that is called off belongs; once each. Who hears of the event what becomes of the money is
-- not told the same of the order.
WITH told AS MATERIALIZED (
  SELECT id, event_id, kind, body FROM outbox
   WHERE event_id = %(event)s AND number > %(after)s AND number <= %(to)s),
off AS (SELECT begun_at FROM called_off WHERE event_id = %(event)s),
of_orders AS MATERIALIZED (
  SELECT jsonb_object_agg(order_id, jsonb_build_object(
           'email', email, 'after', succeeded_at > (SELECT begun_at FROM off))) AS paid
    FROM payment
   WHERE payment.event_id = %(event)s AND order_id = ANY (ARRAY (
     SELECT (body ->> 'order')::bigint FROM told WHERE kind = ANY (%(of_order)s)))),
mails AS (
  SELECT told.id, email, told.kind, told.body::jsonb FROM told JOIN LATERAL (
      SELECT email FROM payment WHERE payment.id = (told.body ->> 'payment')::bigint
      OFFSET 0) AS whose ON true
   WHERE told.kind = ANY (%(of_payment)s)
  UNION ALL
  SELECT told.id, paid -> (told.body ->> 'order') ->> 'email', told.kind, told.body::jsonb
    FROM told CROSS JOIN of_orders
   WHERE told.kind = ANY (%(of_order)s)
     AND (told.body ->> 'reason' IS DISTINCT FROM 'event_canceled'
          OR (paid -> (told.body ->> 'order') ->> 'after')::boolean)
  UNION ALL
  SELECT told.id, email, told.kind,
         told.body::jsonb || jsonb_build_object('amount_minor', sum(left_minor), 'currency', min(currency))
    FROM told JOIN LATERAL (
      SELECT email, currency, amount_minor - coalesce((
               SELECT sum(refund.amount_minor) FROM refund
                WHERE payment_id = payment.id AND refund.reason <> 'event_canceled'), 0) AS left_minor
        FROM payment
       WHERE payment.event_id = told.event_id AND order_id IS NOT NULL
         AND succeeded_at <= coalesce((SELECT begun_at FROM off), 'infinity')) AS paid ON left_minor > 0
   WHERE told.kind = %(canceled)s GROUP BY told.id, email, told.kind, told.body::jsonb
  UNION ALL
  SELECT told.id, email, told.kind, told.body::jsonb FROM told JOIN LATERAL (
      SELECT email FROM payment WHERE payment.event_id = told.event_id AND order_id IS NOT NULL
         AND succeeded_at <= coalesce((SELECT begun_at FROM off), 'infinity')
         AND (state = 'succeeded'
              OR EXISTS (SELECT FROM refund WHERE payment_id = payment.id AND reason = 'event_moved'))
      UNION
      SELECT email FROM rebooked JOIN payment ON payment.id = rebooked.payment_id
       WHERE rebooked.event_id = told.event_id) AS goes ON true
   WHERE told.kind = %(moved)s)
INSERT INTO mail (event_id, outbox_id, address, kind, body)
SELECT DISTINCT ON (id, email) %(event)s, id, email, kind, body::json FROM mails
 WHERE email IS NOT NULL ORDER BY id, email
ON CONFLICT (outbox_id, address) DO NOTHING
"""

DUE: Final = """
SELECT id FROM mail WHERE state = 'due' AND next_at <= clock_timestamp() ORDER BY next_at LIMIT %(limit)s
"""

TAKE: Final = f"""
-- Nobody waits for anybody: who takes others' mails in this moment leaves them out.
WITH due AS ({DUE} FOR UPDATE SKIP LOCKED)
UPDATE mail SET next_at = clock_timestamp() + interval '{TAKEN_SECONDS} seconds', attempts = attempts + 1
  FROM due, event JOIN venue ON venue.id = event.venue_id
 WHERE mail.id = due.id AND event.id = mail.event_id
RETURNING mail.id, mail.outbox_id, mail.address, mail.kind, mail.body::text, mail.attempts, event.slug,
          event.name, venue.name, event.starts_at, mail.created_at
"""

PUT_BACK: Final = """
-- Taken and not tried: as if it had not been taken.
UPDATE mail SET next_at = clock_timestamp(), attempts = attempts - 1
 WHERE id = ANY (%(mails)s::bigint[]) AND state = 'due' AND attempts > 0
"""

SENT: Final = """
UPDATE mail SET state = 'sent', ended_at = clock_timestamp(), last_error = NULL
 WHERE id = %(mail)s AND state = 'due'
"""

NOT_SENT: Final = f"""
-- Later each time; after `ATTEMPTS_MAX`, or where nobody can ever get it, no more.
UPDATE mail
   SET last_error = %(error)s, next_at = clock_timestamp() + make_interval(secs => %(seconds)s),
       state = CASE WHEN %(never)s OR attempts >= {ATTEMPTS_MAX} THEN 'given_up' ELSE state END,
       ended_at = CASE WHEN %(never)s OR attempts >= {ATTEMPTS_MAX} THEN clock_timestamp() END
 WHERE id = %(mail)s AND state = 'due'
"""

FORGET: Final = """
DELETE FROM mail WHERE id IN (
  SELECT id FROM mail WHERE state <> 'due' AND ended_at < clock_timestamp() - make_interval(days => %(days)s)
   LIMIT %(limit)s)
"""


class Alone(StrEnum):
    """What nobody is told but by mail."""

    PLACE_ADMITTED = "place.admitted"
    """It is somebody's turn: {place, begin_by}; see `store.room.telling`."""


class Mail(Struct, frozen=True):
    """A mail that was taken; `body` is JSON of the outbox row."""

    id: int
    outbox_id: int | None
    """None: `kind` is one of `Alone`."""
    address: str
    kind: Told | Alone
    body: bytes
    attempts: int
    slug: str
    event_name: str
    venue: str
    starts_at: datetime | None
    created_at: datetime


async def unread(connection: Conn) -> list[int]:
    """Events whose outbox has rows that were not read yet, by number."""
    return [event for (event,) in await (await connection.execute(UNREAD)).fetchall()]


async def write_down(connection: Conn, event_id: int, limit: int = READ_MAX) -> int:
    """Make mails of an event's next rows; how many rows were read. Raises `Unavailable`."""

    async def attempt() -> int:
        values: dict[str, Any] = {"event": event_id, "limit": min(limit, READ_MAX)}
        position = await (await connection.execute(LOCK_POSITION, values)).fetchone()
        assert position is not None, "the statement returns the row it inserts or locks"
        values["after"] = position[0]
        rows = outbox.rows_of(await (await connection.execute(outbox.READ_AFTER, values)).fetchall())
        if not rows:
            return 0
        values["to"] = rows[-1].number
        values |= {"of_payment": list(OF_PAYMENT), "of_order": list(OF_ORDER)}
        values |= {"canceled": Told.EVENT_CANCELED.value, "moved": Told.EVENT_MOVED.value}
        await connection.execute(WRITE, values)
        moved = await connection.execute(MOVE_POSITION, values)
        assert moved.rowcount == 1, "the position is locked and rows beyond it were read"
        return len(rows)

    return await in_transaction(connection, attempt)


async def take(connection: Conn, limit: int = TAKE_MAX) -> list[Mail]:
    """Mails to send now; nobody else takes them for `TAKEN_SECONDS`."""
    rows = await (await connection.execute(TAKE, {"limit": min(limit, TAKE_MAX)})).fetchall()
    return [Mail(*(*row[:3], _kind(row[3]), row[4].encode(), *row[5:])) for row in rows]


def _kind(text: str) -> Told | Alone:
    return Alone(text) if text in list(Alone) else Told(text)


async def put_back(connection: Conn, mails: Sequence[Mail]) -> None:
    """These were taken and nobody tried to send them: they are due as before."""
    await connection.execute(PUT_BACK, {"mails": [mail.id for mail in mails]})


async def sent(connection: Conn, mail_id: int) -> None:
    """Somebody has it now who delivers it."""
    await connection.execute(SENT, {"mail": mail_id})


async def not_sent(connection: Conn, mail: Mail, error: str, *, stretch: float, never: bool = False) -> None:
    """It could not be sent: it is tried again, later each time, `stretch` times the pause; or `never`."""
    pause = min(BACKOFF_SECONDS_FIRST * 2.0 ** min(mail.attempts, 20), BACKOFF_SECONDS_MAX)
    values = {"mail": mail.id, "error": error[:ERROR_LENGTH_MAX], "seconds": pause * stretch, "never": never}
    await connection.execute(NOT_SENT, values)


async def forget(connection: Conn, days: int, limit: int) -> int:
    """Forget mails that ended so long ago; how many."""
    return (await connection.execute(FORGET, {"days": days, "limit": limit})).rowcount
