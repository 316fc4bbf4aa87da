"""Rows of the outbox become mails: each once, whatever was forgotten since, however large the sale is."""

from __future__ import annotations

import psycopg
import pytest

from store import mail, outbox
from store.outbox import Told
from tests.notifier.conftest import conn, event  # noqa: F401
from tests.onsale.chores.doings import doing

MANY = 400
PAID = """
INSERT INTO payment (event_id, hold_id, order_id, buyer, email, provider, intent, currency, amount_minor,
                     fee_minor, tax_minor, charged, quantity, seats, state, succeeded_at)
SELECT %s, number, number, 'b', 'b' || number || '@example.org', 'simulated', number::text, 'EUR', 100,
       0, 0, '[]', 1, '{}', 'succeeded', clock_timestamp() FROM generate_series(1, %s) AS number
"""

BEFORE_THE_SALE = """
-- Statistics of when there was one payment: each event seems to have one.
UPDATE pg_class SET relpages = 1000, reltuples = 1 WHERE oid = 'payment'::regclass;
UPDATE pg_statistic SET stadistinct = -1, stakind1 = 0, stakind2 = 0, stakind3 = 0
 WHERE starelid = 'payment'::regclass
"""


@pytest.fixture
def sold(conn: psycopg.Connection, event: int) -> int:  # noqa: F811
    """An event with many orders, each of them told."""
    conn.execute(PAID, [event, MANY])
    paid = [
        (event, Told.ORDER_PAID, {"payment": number, "order": str(number)}) for number in range(1, MANY + 1)
    ]
    conn.execute(outbox.INSERT, outbox.telling(paid))
    return event


def written_down(database_url: str, event: int) -> int:  # noqa: F811
    async def write(run):
        return await mail.write_down(run.connection, event)

    done: int = doing(database_url, write).done
    return done


def unread(database_url: str) -> list[int]:
    async def read(run):
        return await mail.unread(run.connection)

    found: list[int] = doing(database_url, read).done
    return found


def nodes(plan):
    """A plan's steps, each once."""
    yield plan
    for below in plan.get("Plans", ()):
        yield from nodes(below)


def steps_of(conn, statement, values=None):  # noqa: F811
    with conn.transaction(force_rollback=True):
        [(found,)] = conn.execute(f"EXPLAIN (ANALYZE, FORMAT JSON) {statement}", values).fetchall()
    return list(nodes(found[0]["Plan"]))


def test_every_buyer_is_written_to_once(conn, database_url, sold):  # noqa: F811
    outbox.write(conn, sold, Told.ORDER_REFUNDED, {"order": "7"})
    outbox.write(conn, sold, Told.EVENT_CANCELED, {"event": "gig", "why": "rain"})
    assert written_down(database_url, sold) == MANY + 2
    counted = "SELECT kind, count(*), count(DISTINCT address) FROM mail GROUP BY kind ORDER BY kind"
    assert conn.execute(counted).fetchall() == [
        ("event.canceled", MANY, MANY), ("order.paid", MANY, MANY), ("order.refunded", 1, 1)]  # fmt: skip
    assert conn.execute("SELECT address FROM mail WHERE kind = 'order.refunded'").fetchall() == [
        ("b7@example.org",)
    ]


@pytest.mark.parametrize("kind", [Told.ORDER_PAID, Told.ORDER_REFUNDED])
def test_rows_are_not_held_against_every_payment_of_the_event(conn, sold, kind):  # noqa: F811
    """That is their product: a minute for a thousand rows of an event with fifty thousand payments."""
    conn.execute("UPDATE outbox SET kind = %s", [kind])
    values = {"event": sold, "after": 0, "to": MANY, "of_payment": list(mail.OF_PAYMENT)}
    values |= {"of_order": list(mail.OF_ORDER), "canceled": Told.EVENT_CANCELED.value}
    values["moved"] = Told.EVENT_MOVED.value
    with conn.transaction(force_rollback=True):  # which keeps everybody else from counting anew meanwhile
        conn.execute("ANALYZE payment")
        conn.execute(BEFORE_THE_SALE)
        steps = steps_of(conn, mail.WRITE, values)
    looked_at = [
        step["Actual Loops"]
        * (
            step["Actual Rows"]
            + step.get("Rows Removed by Join Filter", 0)
            + step.get("Rows Removed by Filter", 0)
        )
        for step in steps
    ]
    assert max(looked_at) <= 2 * MANY


def test_what_was_forgotten_is_not_written_down_again(conn, database_url, sold):  # noqa: F811
    written_down(database_url, sold)
    conn.execute("DELETE FROM mail")
    outbox.write(conn, sold, Told.ORDER_PAID, {"payment": 1, "order": "1"})
    assert written_down(database_url, sold) == 1
    assert conn.execute("SELECT count(*) FROM mail").fetchone() == (1,)


def test_events_that_told_something_new_are_found_without_reading_the_outbox(conn, database_url, sold):  # noqa: F811
    assert unread(database_url) == [sold]
    written_down(database_url, sold)
    assert unread(database_url) == []
    outbox.write(conn, sold, Told.EVENT_MOVED, {})
    assert unread(database_url) == [sold]
    assert "outbox" not in {step.get("Relation Name") for step in steps_of(conn, mail.UNREAD)}
