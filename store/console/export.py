"""What an organiser takes away of a sale: orders, decisions, buyers, seats, seats' history, as CSV or JSON.

Promises:
- one snapshot, read by a cursor of the server's some rows at a time: however large the sale is, little of it
  is in memory at once;
- columns and their order stay; moments are ISO 8601 in UTC, money is in the smallest unit;
- CSV is UTF-8 with a header and lines as RFC 4180 has them. A text that a spreadsheet would take for a
  formula (it begins with = + - @, a tab or a line's end) begins with an apostrophe;
- `orders` and `buyers` name people (`PERSONAL`), the others do not.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from enum import StrEnum
from typing import Any, Final

import msgspec
import psycopg

from store.figures.read import plan_of
from store.plan import Plan

Conn = psycopg.Connection[Any]

ROWS_AT_A_TIME: Final = 500
FORMULA: Final = ("=", "+", "-", "@", "\t", "\r", "\n")


class What(StrEnum):
    """What is taken away."""

    ORDERS = "orders"
    DECISIONS = "decisions"
    BUYERS = "buyers"
    SEATS = "seats"
    HISTORY = "history"


class Format(StrEnum):
    CSV = "csv"
    JSON = "json"
    """An array of objects."""


PERSONAL: Final = frozenset({What.ORDERS, What.BUYERS})

COLUMNS: Final = {
    What.ORDERS: (
        "order", "buyer", "email", "kind", "state", "paid_at", "quantity", "seats", "areas", "payment",
        "currency", "amount_minor", "fee_minor", "tax_minor", "refund_due_minor", "refunded_minor",
    ),
    What.DECISIONS: (
        "batch_no", "position", "decided_at", "kind", "arrival", "request", "want", "outcome", "result",
    ),
    What.BUYERS: (
        "buyer", "email", "place", "lane", "position", "joined_at", "admitted_at", "requests", "held",
        "orders", "quantity",
    ),
    What.SEATS: ("seat", "section", "row", "number", "category", "state", "hold"),
    What.HISTORY: ("at", "seat", "state", "hold", "by"),
}  # fmt: skip

STATEMENTS: Final = {
    What.ORDERS: """
SELECT hold.hold_id::text, hold.buyer, payment.email, hold.kind, hold.state, hold.paid_at, hold.quantity,
       seats.numbers, areas.counts, payment.id, payment.currency, payment.amount_minor, payment.fee_minor,
       payment.tax_minor, payment.refund_due_minor, payment.refunded_minor
  FROM hold
  LEFT JOIN payment ON payment.event_id = hold.event_id AND payment.order_id = hold.hold_id
  LEFT JOIN (SELECT hold_id, array_agg(seat_no ORDER BY seat_no) AS numbers FROM hold_seat
              WHERE event_id = %(event)s GROUP BY hold_id) AS seats ON seats.hold_id = hold.hold_id
  LEFT JOIN (SELECT hold_id, jsonb_object_agg(area_no, quantity) AS counts FROM hold_area
              WHERE event_id = %(event)s GROUP BY hold_id) AS areas ON areas.hold_id = hold.hold_id
 WHERE hold.event_id = %(event)s AND hold.state IN ('paid', 'refunded') ORDER BY hold.hold_id
""",
    What.DECISIONS: """
SELECT ledger.batch_no, position, batch_time, kind, ledger.arrival, request_id, input::text, outcome,
       result::text
  FROM ledger JOIN ledger_batch AS batch ON batch.event_id = ledger.event_id
   AND batch.batch_no = ledger.batch_no
 WHERE ledger.event_id = %(event)s AND kind IN ('request', 'offer') ORDER BY ledger.batch_no, position
""",
    What.BUYERS: """
-- Of several places of a buyer the last.
SELECT coalesce(asked.buyer, waits.buyer, bought.buyer) AS buyer, waits.email, waits.state, waits.lane,
       waits.position, waits.joined_at, waits.admitted_at, coalesce(asked.requests, 0),
       coalesce(asked.held, 0), coalesce(bought.orders, 0), coalesce(bought.quantity, 0)
  FROM (SELECT buyer, count(*) FILTER (WHERE kind = 'request') AS requests,
               count(*) FILTER (WHERE outcome IN ('held', 'offered')) AS held
          FROM ledger WHERE event_id = %(event)s AND kind IN ('request', 'offer') GROUP BY buyer) AS asked
  FULL JOIN (SELECT DISTINCT ON (buyer) buyer, email, state, place.lane, position, joined_at, admitted_at
               FROM place LEFT JOIN line ON place_id = place.id
              WHERE place.event_id = %(event)s ORDER BY buyer, joined_at DESC) AS waits
    ON waits.buyer = asked.buyer
  FULL JOIN (SELECT buyer, count(*) AS orders, sum(quantity)::bigint AS quantity FROM hold
              WHERE event_id = %(event)s AND state = 'paid' GROUP BY buyer) AS bought
    ON bought.buyer = coalesce(asked.buyer, waits.buyer)
 ORDER BY 1
""",
    What.SEATS: """
SELECT seat_no, state, hold_id::text FROM seat WHERE event_id = %(event)s ORDER BY seat_no
""",
    What.HISTORY: """
SELECT at, seat_no, state, hold_id::text, by FROM seat_history
 WHERE event_id = %(event)s ORDER BY at, seat_no
""",
}


def export(conn: Conn, event_id: int, what: What, kind: Format) -> Iterator[bytes]:
    """The whole file, piece by piece. `conn` is autocommit and of this export alone until its end."""
    plan, columns = plan_of(conn, event_id), COLUMNS[what]
    with conn.transaction():
        conn.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ READ ONLY")
        with conn.cursor(name="export") as cursor:
            cursor.execute(STATEMENTS[what].encode(), {"event": event_id})
            yield _csv([columns]) if kind is Format.CSV else b"["
            first = True
            while rows := cursor.fetchmany(ROWS_AT_A_TIME):
                told = [_told(what, row, plan) for row in rows]
                yield _csv(told) if kind is Format.CSV else _json(told, columns, first=first)
                first = False
    if kind is Format.JSON:
        yield b"\n]\n"


def _told(what: What, row: Sequence[Any], plan: Plan) -> list[Any]:
    """A row in the export's columns, with names in the place of the plan's numbers."""
    if what is What.ORDERS:
        *head, seats, areas, payment, currency, amount, fee, tax, due, refunded = row
        named = " ".join([plan.seats[number].guid for number in seats or ()])
        counted = " ".join([f"{plan.areas[int(no)].guid}:{count}" for no, count in (areas or {}).items()])
        return _plain([*head, named, counted, payment, currency, amount, fee, tax, due, refunded])
    if what is What.SEATS:
        number, state, hold = row
        seat = plan.seats[number]
        section, category = plan.sections[seat.section].name, plan.categories[seat.category].name
        return [seat.guid, section, seat.row, seat.number, category, state, hold]
    if what is What.HISTORY:
        at, number, *rest = row
        return _plain([at, plan.seats[number].guid, *rest])
    return _plain(row)


def _plain(row: Sequence[Any]) -> list[Any]:
    return [one.astimezone(UTC).isoformat() if isinstance(one, datetime) else one for one in row]


def _csv(rows: Sequence[Sequence[Any]]) -> bytes:
    text = io.StringIO(newline="")
    csv.writer(text).writerows([[_harmless(one) for one in row] for row in rows])
    return text.getvalue().encode()


def _harmless(value: Any) -> Any:
    """A text that no spreadsheet takes for a formula; numbers are no texts."""
    return f"'{value}" if isinstance(value, str) and value.startswith(FORMULA) else value


def _json(rows: Sequence[Sequence[Any]], columns: Sequence[str], *, first: bool) -> bytes:
    told = [msgspec.json.encode(dict(zip(columns, row, strict=True))) for row in rows]
    return (b"\n" if first else b",\n") + b",\n".join(told)
