"""What a buyer's story is read with: along indexes, but for places, and bounded."""

from __future__ import annotations

from typing import Final

ROWS_MAX: Final = 200
_MS: Final = "floor(extract(epoch FROM {}) * 1000)::bigint"


def _ms(*names: str) -> str:
    return ", ".join(_MS.format(name) for name in names)


PLACES: Final = f"""
-- Of places that ended well or were left there is no index of buyers: the table is read, once for a story.
SELECT place.id::text, place.lane, state, position, in_draw,
       {_ms("joined_at", "admitted_at", "begin_by", "begun_at", "until", "ended_at", "bought_at")}, email
  FROM place LEFT JOIN line ON place_id = place.id
 WHERE place.event_id = %(event)s AND buyer = %(buyer)s
 ORDER BY joined_at DESC LIMIT {ROWS_MAX}
"""

REQUESTS: Final = f"""
-- By the buyer's keys; a conflict is no key, and is told with the request it conflicts with.
SELECT ledger.batch_no, position, request_id, ledger.arrival, input::text, outcome, result::text,
       {_ms("batch_time")}
  FROM ledger JOIN ledger_batch AS batch ON batch.event_id = ledger.event_id
   AND batch.batch_no = ledger.batch_no
 WHERE ledger.event_id + 0 = %(event)s AND buyer = %(buyer)s AND kind = 'request' AND outcome <> 'conflict'
   AND (ledger.batch_no << 16 | position) < %(before)s
 ORDER BY ledger.batch_no DESC, position DESC LIMIT %(limit)s
"""

HAD: Final = """
-- What became of these seats, by the index of their histories.
SELECT seat_no, hold_id, state, (extract(epoch FROM at) * 1000)::bigint FROM seat_history
 WHERE event_id = %(event)s AND seat_no = ANY (%(seats)s::int[]) ORDER BY at
"""

RIVALS: Final = """
SELECT batch_no << 16 | position, arrival, buyer = %(buyer)s FROM ledger
 WHERE event_id = %(event)s
   AND (batch_no, position) IN (
     SELECT hold >> 16, (hold & 65535)::int FROM unnest(%(holds)s::bigint[]) AS hold)
"""

WAITING: Final = f"""
SELECT request_id, wait_id::text, state, hold_id::text FROM waiting
 WHERE event_id = %(event)s AND buyer = %(buyer)s ORDER BY wait_id DESC LIMIT {ROWS_MAX}
"""

HOLDS: Final = f"""
-- Orders by their index, and what the buyer's requests and offers gave, by key.
SELECT hold_id, request_id, state, kind, quantity, {_ms("expires_at", "paid_at")}, extensions,
       (SELECT coalesce(array_agg(seat_no ORDER BY seat_no), '{{}}') FROM hold_seat
         WHERE hold_seat.event_id = hold.event_id AND hold_seat.hold_id = hold.hold_id
           AND hold_seat.seat_no = ANY (%(seats)s::int[])),
       (SELECT coalesce(jsonb_object_agg(area_no, quantity), '{{}}') FROM hold_area
         WHERE hold_area.event_id = hold.event_id AND hold_area.hold_id = hold.hold_id)
  FROM hold
 WHERE event_id = %(event)s AND buyer = %(buyer)s
   AND hold_id IN (
     SELECT unnest(%(holds)s::bigint[])
      UNION
     SELECT hold_id FROM hold AS mine
      WHERE mine.event_id = %(event)s AND mine.buyer = %(buyer)s AND mine.state IN ('paid', 'refunded'))
 ORDER BY hold_id DESC LIMIT {ROWS_MAX}
"""

PAYMENTS: Final = f"""
SELECT id, hold_id::text, order_id::text, state, amount_minor, currency, provider, intent, declines, reason,
       {_ms("created_at", "succeeded_at")}, refund_due_minor, refunded_minor, email
  FROM payment
 WHERE event_id = %(event)s AND buyer = %(buyer)s
   AND (hold_id = ANY (%(holds)s::bigint[]) OR order_id = ANY (%(holds)s::bigint[]))
 ORDER BY id DESC LIMIT {ROWS_MAX}
"""

REFUNDS: Final = f"""
SELECT payment_id, id, amount_minor, state, reason, attempts, last_error, {_ms("created_at", "refunded_at")}
  FROM refund WHERE payment_id = ANY (%(payments)s::bigint[]) ORDER BY id DESC LIMIT {ROWS_MAX}
"""

TICKETS: Final = f"""
SELECT order_id::text, area_no, number, serial, holder IS NULL OR holder = %(buyer)s, offered, gone,
       {_ms("checked_at")}
  FROM ticket
 WHERE event_id = %(event)s AND (holder = %(buyer)s OR order_id = ANY (%(holds)s::bigint[]))
 ORDER BY order_id DESC, area_no, number LIMIT {ROWS_MAX}
"""

MAILS: Final = f"""
SELECT kind, address, state, attempts, last_error, {_ms("created_at", "ended_at")} FROM mail
 WHERE event_id = %(event)s AND lower(address) = ANY (%(addresses)s::text[])
 ORDER BY id DESC LIMIT {ROWS_MAX}
"""

ERASED: Final = f"""
SELECT {_ms("at")} FROM buyer_erasure WHERE event_id = %(event)s AND pseudonym = %(buyer)s
"""
