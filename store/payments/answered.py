"""Is all money answered for? It has bought seats, asks for seats or goes back, to the cent.

Reads only, some payments at a time and by number, each in one statement and so in one snapshot: every writer
changes a payment, its refunds and its order in one transaction. What does not agree is told, never repaired.
An order may stand with what cost nothing once the rest of it is given back.
"""

from __future__ import annotations

from typing import Any, Final

from msgspec import Struct

from store.holds import Conn

PAYMENTS_MAX: Final = 20_000
"""Most payments one look reads."""
ROWS_MAX: Final = 100

LOOK: Final = """
WITH these AS (
  SELECT * FROM payment WHERE id > %(after)s ORDER BY id LIMIT %(limit)s),
last AS (SELECT max(id) AS id, count(*) AS read FROM these)
SELECT last.id, last.read, wrong.id, wrong.state, wrong.event_id, wrong.order_id, wrong.bought,
       wrong.refund_due_minor, wrong.due, wrong.refunded_minor, wrong.given
  FROM last LEFT JOIN LATERAL (
    SELECT these.*, hold.state AS bought, coalesce(owed.due, 0) AS due, coalesce(owed.given, 0) AS given
      FROM these
      LEFT JOIN hold ON hold.event_id = these.event_id AND hold.hold_id = these.order_id
      LEFT JOIN LATERAL (
        SELECT sum(amount_minor) FILTER (WHERE refund.state = 'due') AS due,
               sum(amount_minor) FILTER (WHERE refund.state = 'refunded') AS given
          FROM refund WHERE payment_id = these.id) AS owed ON true
     WHERE CASE WHEN these.state = 'succeeded' THEN hold.state IS DISTINCT FROM 'paid'
                WHEN hold.state = 'paid' THEN hold.quantity <> (  -- it has more than what cost nothing
                  SELECT coalesce(sum(CASE WHEN line ->> 0 IS NULL THEN
                      (SELECT quantity FROM hold_area WHERE hold_area.event_id = these.event_id
                          AND hold_area.hold_id = these.order_id AND area_no = (line ->> 1)::int)
                    ELSE (SELECT count(*) FROM hold_seat WHERE hold_seat.event_id = these.event_id
                             AND seat_no = (line ->> 0)::int AND hold_seat.hold_id = these.order_id) END), 0)
                    FROM json_array_elements(these.charged -> 'lines') AS line WHERE line ->> 7 = '0')
                ELSE false END
        OR these.refund_due_minor <> coalesce(owed.due, 0) OR these.refunded_minor <> coalesce(owed.given, 0)
     ORDER BY these.id LIMIT %(rows)s) AS wrong ON true
"""


class Unanswered(Struct, frozen=True):
    """A payment that does not agree with its order or its refunds."""

    payment: int
    story: str


class Looked(Struct, frozen=True):
    """What one look found; the next one goes on `after`, from the beginning where that is 0."""

    read: int
    after: int
    wrong: list[Unanswered]


async def look(connection: Conn, after: int, limit: int = PAYMENTS_MAX) -> Looked:
    """The next payments, by number, and what is wrong with them."""
    values = {"after": after, "limit": min(limit, PAYMENTS_MAX), "rows": ROWS_MAX}
    rows = await (await connection.execute(LOOK, values)).fetchall()
    last, read = rows[0][:2]
    wrong = [_story(row[2:]) for row in rows if row[2] is not None]
    return Looked(read, last if read == values["limit"] else 0, wrong)


def _story(row: tuple[Any, ...]) -> Unanswered:
    payment, state, event_id, order_id, bought, said_due, due, said_given, given = row
    order = "no order" if order_id is None else f"order {order_id} (which is {bought or 'not there'})"
    story = f"of event {event_id} is {state} with {order}; it says {said_due} is due and {said_given} given"
    return Unanswered(payment, f"{story}, its refunds say {due} and {given}")
