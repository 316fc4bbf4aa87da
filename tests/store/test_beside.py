"""What stands beside a sale is counted as it is, cheaply, and by nobody for long."""

from __future__ import annotations

import psycopg
import pytest

from store import audit, beside, outbox
from store.beside import Waiting
from store.outbox import Told
from store.subscribers import edit
from tests.store.payments.paying import begun, notice, told
from tests.store.payments.test_settle import event  # noqa: F401
from tests.store.test_holds import HOLD, conn, hold  # noqa: F401
from tests.store.test_holds import event as free_event  # noqa: F401

SAID = audit.said("Olga", "a test")
URL = "https://example.org/hook"
POSITION = """
INSERT INTO subscriber_position (subscriber_id, event_id, number) VALUES (%s, %s, %s)
ON CONFLICT (subscriber_id, event_id) DO UPDATE SET number = excluded.number
"""
LOGGED = """
INSERT INTO delivery_log (subscriber_id, message, kind, attempt, outcome, took_ms, at)
VALUES (1, 'msg_1', 'order.paid', 1, %s, 1, clock_timestamp() - make_interval(secs => %s))
"""
ASIDE = """
INSERT INTO delivery (subscriber_id, outbox_id, event_id, kind, payload, state, attempts)
VALUES (1, %s, 1, 'order.paid', '{}', %s, 3)
"""


@pytest.fixture
def clean(database_url):
    """Without events."""
    with psycopg.connect(database_url, autocommit=True) as connection:
        yield connection


def tell(conn, event, count):  # noqa: F811
    for _ in range(count):
        outbox.write(conn, event, Told.ORDER_PAID, {})


def counts(conn):  # noqa: F811
    return {reader: told.count for reader, told in beside.read(conn).unread.items()}


def test_where_nothing_is_nothing_waits(clean):
    found = beside.read(clean)
    assert (found.unread, found.payments, found.done) == ({}, {"late": Waiting()}, 0)
    assert (found.refunds_due, found.mails_due) == (Waiting(), Waiting())


def test_rows_that_a_reader_has_not_come_to_are_counted_for_each_reader(clean):
    tell(clean, 1, 3)
    tell(clean, 2, 2)
    assert counts(clean) == {"mail": 5, "figures": 5}, "nobody subscribes"
    clean.execute("INSERT INTO mail_position VALUES (1, 3)")
    clean.execute("INSERT INTO figures (event_id, capacity, figures, outbox_number) VALUES (2, 1, '{}', 1)")
    assert counts(clean) == {"mail": 2, "figures": 4}


def test_of_webhooks_each_subscriber_counts_that_wants_any(clean):
    first, second, third = (int(edit.add(clean, URL, SAID).subscriber.id) for _ in range(3))
    tell(clean, 1, 3)
    tell(clean, 2, 2)
    assert counts(clean)["webhooks"] == 15
    clean.execute("UPDATE subscriber SET state = 'disabled', disabled_why = 'gone' WHERE id = %s", [third])
    clean.execute("UPDATE subscriber SET event_id = 2 WHERE id = %s", [second])
    clean.execute(POSITION, [first, 1, 2])
    assert counts(clean)["webhooks"] == 3 - 2 + 2 + 2
    clean.execute(POSITION, [first, 1, 3])
    clean.execute(POSITION, [first, 2, 2])
    clean.execute(POSITION, [second, 2, 2])
    assert "webhooks" not in counts(clean)
    found = beside.read(clean)
    assert (found.done, found.subscribers) == (7, {"active": 2, "disabled": 1})


def test_rows_that_were_forgotten_do_not_wait(clean):
    """Whoever has not begun to read has before it what is there."""
    tell(clean, 1, 4)
    clean.execute("DELETE FROM outbox WHERE number <= 3")
    assert counts(clean) == {"mail": 1, "figures": 1}
    clean.execute("DELETE FROM outbox")
    assert counts(clean) == {}


def test_the_age_is_that_of_the_oldest_that_waits(clean):
    tell(clean, 1, 2)
    clean.execute("UPDATE outbox SET at = at - interval '1 day' WHERE number = 1")
    clean.execute("UPDATE outbox SET at = at - interval '1 hour' WHERE number = 2")
    clean.execute("INSERT INTO mail_position VALUES (1, 1)")
    unread = beside.read(clean).unread
    assert 3_600 <= unread["mail"].oldest_seconds < 4_000
    assert 86_400 <= unread["figures"].oldest_seconds < 87_000


def test_attempts_of_the_last_minute_and_messages_set_aside_are_counted(clean):
    for outcome, seconds in (("delivered", 0), ("delivered", 30), ("failed", 10), ("dead", 120)):
        clean.execute(LOGGED, [outcome, seconds])
    for number, state in ((1, "waiting"), (2, "waiting"), (3, "dead")):
        clean.execute(ASIDE, [number, state])
    found = beside.read(clean)
    assert found.attempts == {"delivered": 2, "failed": 1}
    assert found.aside == {"waiting": 2, "dead": 1}


def test_payments_that_are_not_at_rest_are_counted_by_state_and_age(conn, event):  # noqa: F811
    changes = [
        "created_at = created_at - interval '1 hour'",
        "state = 'failed', declines = 1",
        "state = 'canceled'",
        "state = 'canceled', intent_ended = true",
        "state = 'late', succeeded_at = now() - interval '2 hours'",
    ]
    for number, change in enumerate(changes):
        hold(conn, event, hold_id=HOLD + number, buyer=f"b{number}", seats=(number,), places=0)
        payment = begun(conn, event, HOLD + number, f"b{number}")
        conn.execute(f"UPDATE payment SET {change} WHERE id = %s", [payment.id])
    hold(conn, event, hold_id=HOLD + 9, buyer="b9", seats=(9,), places=0)
    paid = begun(conn, event, HOLD + 9, "b9")
    told(conn, notice(paid))
    found = beside.read(conn).payments
    assert {state: told.count for state, told in found.items()} == {
        "created": 1, "failed": 1, "canceled": 1, "late": 1,
    }  # fmt: skip
    assert 3_600 <= found["created"].oldest_seconds < 4_000
    assert 7_200 <= found["late"].oldest_seconds < 7_600


def test_refunds_and_mails_that_are_due_are_counted(clean):
    clean.execute(
        "INSERT INTO refund (payment_id, event_id, amount_minor, reason, state, refunded_at, created_at)"
        " VALUES (1, 1, 5, 'x', 'due', NULL, now() - interval '1 hour'),"
        " (1, 1, 5, 'x', 'refunded', now(), now())"
    )
    clean.execute(
        "INSERT INTO mail (event_id, outbox_id, address, kind, body, state, ended_at)"
        " VALUES (1, 1, 'a', 'order.paid', '{}', 'due', NULL), (1, 2, 'a', 'order.paid', '{}', 'sent', now())"
    )
    found = beside.read(clean)
    assert (found.refunds_due.count, found.mails_due.count) == (1, 1)
    assert 3_600 <= found.refunds_due.oldest_seconds < 4_000


MANY = """
INSERT INTO outbox (event_id, number, kind, body)
SELECT event, n, 'order.paid', '{}' FROM generate_series(1, 20) AS event, generate_series(1, 1000) AS n;
INSERT INTO outbox_count SELECT n, 1000 FROM generate_series(1, 20) AS n;
INSERT INTO payment (event_id, hold_id, buyer, provider, currency, amount_minor, fee_minor, tax_minor,
                     charged, quantity, seats, state, succeeded_at, order_id)
SELECT 1, n, 'ann', 'stripe', 'EUR', 5, 0, 0, '{}', 1, '{}', 'succeeded', now(), n
  FROM generate_series(1, 20000) AS n;
INSERT INTO refund (payment_id, event_id, amount_minor, reason, state, refunded_at)
SELECT n, 1, 5, 'x', 'refunded', now() FROM generate_series(1, 20000) AS n;
ANALYZE outbox; ANALYZE outbox_count; ANALYZE payment; ANALYZE refund
"""


def test_nothing_is_read_whole_that_grows_with_the_sale(clean):
    for _ in range(3):
        edit.add(clean, URL, SAID)
    for statement in MANY.split(";"):
        clean.execute(statement)
    for statement in (beside.UNREAD, beside.PAYMENTS, beside.REFUNDS):
        plan = "\n".join(line for (line,) in clean.execute(f"EXPLAIN (COSTS OFF) {statement}").fetchall())
        for table in ("outbox", "payment", "refund"):
            assert f"Seq Scan on {table}\n" not in f"{plan}\n"
    assert counts(clean)["webhooks"] == 60_000


def test_a_reading_that_takes_too_long_is_given_up(clean, monkeypatch):
    monkeypatch.setattr(beside, "STATEMENT_MS_MAX", 50)
    monkeypatch.setattr(beside, "DONE", "SELECT pg_sleep(3)")
    with pytest.raises(psycopg.OperationalError, match="statement timeout"):
        beside.read(clean)
