"""After payments were told of: is every hold that was paid sold, once, and does everything add up?"""

from __future__ import annotations

from typing import Any, Final

import psycopg
from rich.console import Console

from bench.evidence import Finding
from bench.judging import note
from bench.report import Report, Say
from bench.target import StageEvent
from onsale.commands.verify import check

NOT_ONCE: Final = """
-- Payments of the event that succeeded and have anything but: their hold, paid, with as many seats sold as
-- they paid for; one notice; one row for the world outside.
SELECT payment.id, hold.state, seats.sold, notices.counted, told.counted
  FROM payment
  LEFT JOIN hold ON hold.event_id = payment.event_id AND hold.hold_id = payment.order_id
                AND hold.hold_id = payment.hold_id AND hold.buyer = payment.buyer
  LEFT JOIN (SELECT hold_id, count(*) AS sold FROM seat
              WHERE event_id = %(event)s AND state = 'sold' GROUP BY hold_id) AS seats
    ON seats.hold_id = payment.hold_id
  LEFT JOIN (SELECT payment_id, count(*) AS counted FROM payment_notice GROUP BY payment_id) AS notices
    ON notices.payment_id = payment.id
  LEFT JOIN (SELECT (body ->> 'payment')::bigint AS payment_id, count(*) AS counted FROM outbox
              WHERE event_id = %(event)s AND kind = 'order.paid' GROUP BY 1) AS told
    ON told.payment_id = payment.id
 WHERE payment.event_id = %(event)s AND payment.state = 'succeeded'
   AND (hold.state, seats.sold, notices.counted, told.counted)
       IS DISTINCT FROM ('paid', payment.quantity::bigint, 1::bigint, 1::bigint)
 ORDER BY payment.id LIMIT 20
"""
COUNTED: Final = """
SELECT (SELECT count(*) FROM payment WHERE event_id = %(event)s AND state = 'succeeded'),
       (SELECT count(*) FROM hold WHERE event_id = %(event)s AND state = 'paid'),
       (SELECT count(*) FROM seat WHERE event_id = %(event)s AND state = 'sold'),
       (SELECT coalesce(sum(quantity), 0) FROM payment WHERE event_id = %(event)s AND state = 'succeeded')
"""

Conn = psycopg.Connection[Any]


def judge_bought(report: Report, conn: Conn, event: StageEvent, answered: int, what: str, say: Say) -> bool:
    """Whether nothing is found, where `answered` payments were answered as succeeded."""
    say(f"{what}: every order is looked at, and the ledger decided again")
    findings = not_once(conn, event.id, answered)
    summary = check(conn, event.slug, Console(quiet=True))
    findings += [Finding("verify", str(one)) for one in (*summary["findings"], *summary["mismatches"])]
    return note(report, what, summary["decisions"], findings, "orders and ./run verify")


def not_once(conn: Conn, event_id: int, answered: int) -> list[Finding]:
    """Payments whose hold is not sold exactly once, and sums that do not agree."""
    values = {"event": event_id}
    found = []
    for payment, state, sold, notices, told in conn.execute(NOT_ONCE, values).fetchall():
        story = f"Payment {payment}: its hold is {state}, {sold} seats sold, {notices} notices, {told} told."
        found.append(Finding("bought", story))
    row = conn.execute(COUNTED, values).fetchone()
    assert row is not None, "a count is a row"
    payments, holds, seats, paid_for = row
    if not payments == holds == answered or seats != paid_for:
        story = f"{answered} were answered; {payments} payments, {holds} holds; {seats} seats of {paid_for}."
        found.append(Finding("bought", story))
    return found
