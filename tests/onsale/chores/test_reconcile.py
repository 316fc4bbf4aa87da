"""Wrong seat maps are read anew; what is wrong in Postgres is told with its rows and never repaired."""

from __future__ import annotations

import pytest
import redis

from onsale.chores.reconcile import map_now, reconcile
from store import lookups
from store.payments import answered
from store.wire import decode_delta, map_digest, seats_channel
from tests.onsale.chores.doings import FakeProvider, doing, settings_of
from tests.store.payments.paying import begun, notice, told
from tests.store.test_holds import HOLD, PLAN, hold

A_FACT = "INSERT INTO fact (event_id, kind) VALUES (1, 'policy')"
A_BATCH = "UPDATE event_cursor SET batch_no = 1"


def paid(conn, event, number=0):
    hold(conn, event, hold_id=HOLD + number, buyer=f"b{number}", seats=(number,), places=0)
    payment = begun(conn, event, HOLD + number, f"b{number}")
    told(conn, notice(payment))
    conn.execute("DELETE FROM fact")
    return payment


def attended(conn):
    conn.execute("UPDATE lease SET renewed_at = clock_timestamp()")


@pytest.fixture
def settings(database_url, redis_url):
    return settings_of(database_url, redis_url)


@pytest.fixture
def heard(redis_url):
    """A gateway that listens; what it was told."""
    with redis.Redis.from_url(redis_url) as client, client.pubsub(ignore_subscribe_messages=True) as pubsub:
        pubsub.subscribe(seats_channel("gig"))
        pubsub.get_message(timeout=5)
        yield lambda: pubsub.get_message(timeout=5)


def test_money_that_is_answered_for_is_no_alert(conn, event, database_url, settings):
    paid(conn, event)
    attended(conn)
    run = doing(database_url, reconcile, FakeProvider(), settings=settings)
    assert run.told() is None
    assert run.done == 1


@pytest.mark.parametrize(
    "wrong",
    [
        "UPDATE hold SET state = 'released', paid_at = NULL",
        "UPDATE payment SET refund_due_minor = 1",
        "INSERT INTO refund (payment_id, event_id, amount_minor, reason) VALUES (1, 1, 1, 'x')",
        "UPDATE payment SET state = 'late', order_id = NULL, refunded_minor = 1",
    ],
)
def test_money_without_seats_or_refund_is_an_alert_with_its_row(conn, event, database_url, settings, wrong):
    payment = paid(conn, event)
    attended(conn)
    conn.execute(wrong)
    before = conn.execute("SELECT * FROM payment").fetchall()
    assert f"payment {payment.id}" in doing(database_url, reconcile, FakeProvider(), settings=settings).told()
    assert conn.execute("SELECT * FROM payment").fetchall() == before


def test_payments_are_looked_at_some_at_a_time_and_then_again(
    conn, event, database_url, settings, monkeypatch
):
    for number in range(3):
        paid(conn, event, number)
    seen = []
    position = 0
    for _ in range(3):

        async def look(run):
            return await answered.look(run.connection, run.position, 2)

        looked = doing(database_url, look, position=position).done
        seen.append((looked.read, looked.after))
        position = looked.after
    assert seen == [(2, 2), (1, 0), (2, 2)]


def test_seats_that_do_not_add_up_where_nobody_attends_are_an_alert(conn, event, database_url, settings):
    hold(conn, event)
    conn.execute("UPDATE seat SET state = 'available', hold_id = NULL WHERE seat_no = 3")
    conn.execute("UPDATE lease SET renewed_at = clock_timestamp()")
    assert doing(database_url, reconcile, FakeProvider(), settings=settings).told() is None, (
        "its allocator looks at that"
    )
    ago = "clock_timestamp() - interval '1 minute'"
    conn.execute(f"UPDATE lease SET renewed_at = {ago}")
    conn.execute(f"UPDATE event_cursor SET batch_time = {ago}")
    assert "seat number 3" in doing(database_url, reconcile, FakeProvider(), settings=settings).told()
    assert conn.execute("SELECT state FROM seat WHERE seat_no = 3").fetchall() == [("available",)]


def test_gateways_that_listen_are_told_what_the_map_is(conn, event, database_url, settings, heard):
    hold(conn, event)
    attended(conn)
    doing(database_url, reconcile, FakeProvider(), settings=settings)
    letters = bytearray(b"a" * len(PLAN.seats))
    letters[3] = letters[4] = ord("h")
    assert decode_delta(heard()["data"]).map_is == (0, map_digest(letters, [48]))


def test_a_map_that_nobody_serves_is_not_read(conn, event, database_url, settings):
    attended(conn)
    assert doing(database_url, reconcile, FakeProvider(), settings=settings).done == 0


@pytest.mark.parametrize(
    "meanwhile",
    [A_FACT, A_BATCH],
)
def test_a_map_that_changes_meanwhile_is_told_to_nobody(conn, event, database_url, monkeypatch, meanwhile):
    read = lookups.seat_map

    async def and_then(connection, number):
        found = await read(connection, number)
        conn.execute(meanwhile)
        return found

    assert doing(database_url, lambda run: map_now(run.connection, event)).done is not None
    monkeypatch.setattr(lookups, "seat_map", and_then)
    assert doing(database_url, lambda run: map_now(run.connection, event)).done is None


def test_a_redis_that_is_away_is_told_and_the_rest_is_done(conn, event, database_url):
    paid(conn, event)
    attended(conn)
    run = doing(database_url, reconcile, FakeProvider())
    assert (run.done, "Redis does not answer" in run.told()) == (1, True)


def test_a_sale_for_money_where_no_provider_is_configured_is_told_before_anybody_pays(
    conn, event, database_url, settings
):
    attended(conn)
    assert "gig sells for money" in doing(database_url, reconcile, settings=settings).told()
    assert doing(database_url, reconcile, FakeProvider(), settings=settings).told() is None
    conn.execute("UPDATE event SET state = 'closed'")
    assert doing(database_url, reconcile, settings=settings).told() is None


UNDER_WAY = [
    "UPDATE payment SET provider = 'stripe'",
    "UPDATE payment SET provider = 'stripe', state = 'canceled'",
    "UPDATE payment SET provider = 'stripe', state = 'late', succeeded_at = now(), intent_ended = true",
]


@pytest.mark.parametrize("changed", UNDER_WAY, ids=["open", "canceled", "late"])
def test_payments_with_a_provider_that_only_gateways_know_are_told(
    conn, event, database_url, settings, changed
):
    attended(conn)
    hold(conn, event)
    begun(conn, event)
    conn.execute(changed)
    run = doing(database_url, reconcile, FakeProvider(), settings=settings)
    [story] = [story for story in run.errors if "is under way" in story or "are under way" in story]
    assert "'stripe'" in story
    assert "the same payment settings as the gateways" in story


def test_money_that_is_due_by_a_provider_that_only_gateways_know_is_told(conn, event, database_url, settings):
    payment = paid(conn, event)
    attended(conn)
    conn.execute("UPDATE payment SET provider = 'stripe', refund_due_minor = 1")
    values = (payment.id, event)
    conn.execute(
        "INSERT INTO refund (payment_id, event_id, amount_minor, reason) VALUES (%s, %s, 1, 'x')", values
    )
    assert (
        "'stripe' are under way" in doing(database_url, reconcile, FakeProvider(), settings=settings).told()
    )
    conn.execute("UPDATE refund SET state = 'refunded', refunded_at = now()")
    conn.execute("UPDATE payment SET refund_due_minor = 0, refunded_minor = 1")
    assert doing(database_url, reconcile, FakeProvider(), settings=settings).told() is None


def test_a_run_that_has_no_time_for_all_is_not_begun_again_at_once(conn, event, database_url, redis_url):
    """Else one host would do nothing else, where there is much to compare."""
    conn.execute("UPDATE event SET state = 'open'")
    settings = settings_of(database_url, redis_url)
    assert not doing(database_url, reconcile, settings=settings, budget_seconds=-1.0).more
