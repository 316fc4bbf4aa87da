"""What nobody needs any more goes, and nothing else."""

from __future__ import annotations

import psycopg
import pytest

from store import audit, outbox
from store.outbox import Told
from store.subscribers import edit, trim

SAID = audit.said("Olga", "a test")
URL = "https://example.org/hook"
READ = """
INSERT INTO subscriber_position (subscriber_id, event_id, number)
SELECT %s, %s, number FROM outbox WHERE id = %s
"""
LOG = """
INSERT INTO delivery_log (subscriber_id, message, kind, attempt, outcome, took_ms)
SELECT %s, 'msg_' || n, 'order.paid', 1, 'delivered', 1 FROM generate_series(1, %s) AS n
"""


@pytest.fixture
def conn(database_url):
    with psycopg.connect(database_url, autocommit=True) as connection:
        yield connection


def tell(conn, event, count=1, *, days=0):
    """Rows that were written so many days ago."""
    for _ in range(count):
        outbox.write(conn, event, Told.ORDER_PAID, {})
    conn.execute(
        "UPDATE outbox SET at = at - make_interval(days => %s) WHERE id > (SELECT max(id) FROM outbox) - %s",
        [days, count],
    )


def left(conn):
    return [number for (number,) in conn.execute("SELECT id FROM outbox ORDER BY id")]


def test_rows_that_everybody_has_read_go_when_they_are_old(conn):
    both = [int(edit.add(conn, URL, SAID).subscriber.id) for _ in range(2)]
    tell(conn, 1, 3, days=40)
    tell(conn, 1, 1, days=20)
    conn.execute(READ, [both[0], 1, 4])
    conn.execute(READ, [both[1], 1, 2])
    assert trim.trim_outbox(conn) == 2
    assert left(conn) == [3, 4], "one has yet to read 3; 4 is not old"
    assert trim.trim_outbox(conn) == 0


def test_what_a_subscriber_has_not_begun_to_read_stays(conn):
    edit.add(conn, URL, SAID)
    tell(conn, 1, 1, days=40)
    tell(conn, 2, 1, days=40)
    assert trim.trim_outbox(conn) == 0


def test_what_was_before_a_subscriber_or_is_of_another_event_does_not_wait_for_it(conn):
    tell(conn, 1, 1, days=40)
    edit.add(conn, URL, SAID)
    assert trim.trim_outbox(conn) == 1
    conn.execute("UPDATE subscriber SET event_id = 1")
    tell(conn, 2, 1, days=40)
    assert trim.trim_outbox(conn) == 1


def test_who_is_disabled_keeps_nothing(conn):
    number = int(edit.add(conn, URL, SAID).subscriber.id)
    tell(conn, 1, 1, days=40)
    edit.disable(conn, number, SAID)
    assert trim.trim_outbox(conn) == 1


def test_another_reader_keeps_what_it_has_yet_to_read(conn, monkeypatch):
    tell(conn, 1, 2, days=40)
    monkeypatch.setattr(trim, "READERS", [*trim.READERS, "o.number > 1"])
    assert trim.trim_outbox(conn) == 1
    assert left(conn) == [2]


def test_a_call_is_bounded_and_repeated_until_nothing_is_left(conn):
    tell(conn, 1, 5, days=40)
    assert [trim.trim_outbox(conn, limit=2) for _ in range(4)] == [2, 2, 1, 0]


def test_rows_that_somebody_else_removes_are_left_to_them(conn, database_url):
    tell(conn, 1, 3, days=40)
    conn.execute("SET lock_timeout = '2s'")
    with psycopg.connect(database_url) as other:
        assert trim.trim_outbox(other, limit=2) == 2
        assert trim.trim_outbox(conn) == 0, "nobody forgets what comes after what may yet stay"
    assert trim.trim_outbox(conn) == 1


def test_positions_go_with_the_last_row_of_their_event(conn):
    number = int(edit.add(conn, URL, SAID).subscriber.id)
    tell(conn, 1, 1, days=40)
    tell(conn, 2, 1)
    conn.execute(READ, [number, 1, 1])
    conn.execute(READ, [number, 2, 2])
    trim.trim_outbox(conn)
    assert conn.execute("SELECT event_id FROM subscriber_position").fetchall() == [(2,)]


def test_of_each_subscriber_the_last_attempts_stay(conn):
    for count in (5, 2):
        conn.execute(LOG, [edit.add(conn, URL, SAID).subscriber.id, count])
    assert [trim.trim_log(conn, kept=3, limit=1) for _ in range(3)] == [1, 1, 0]
    kept = conn.execute(
        "SELECT subscriber_id, array_agg(message ORDER BY id) FROM delivery_log GROUP BY 1 ORDER BY 1"
    )
    assert kept.fetchall() == [(1, ["msg_3", "msg_4", "msg_5"]), (2, ["msg_1", "msg_2"])]


def test_dead_letters_go_when_they_are_old_and_what_waits_stays(conn):
    for number, state, days in ((1, "dead", 40), (2, "dead", 20), (3, "waiting", 40)):
        conn.execute(
            "INSERT INTO delivery (subscriber_id, outbox_id, kind, payload, state, attempts, next_at)"
            " VALUES (1, %s, 'order.paid', '{}', %s, 1, clock_timestamp() - make_interval(days => %s))",
            [number, state, days],
        )
    assert (trim.trim_dead(conn), trim.trim_dead(conn)) == (1, 0)
    assert conn.execute("SELECT outbox_id FROM delivery ORDER BY 1").fetchall() == [(2,), (3,)]
