"""The relay: every row reaches every subscriber, at least once, in order for each event."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys

import psycopg
import pytest

from notifier import backoff, lane, relay
from onsale.engines.data_dir import REPOSITORY
from store import events, outbox
from store.outbox import Told
from store.subscribers import edit, lanes
from store.subscribers.addresses import ALLOW_PRIVATE
from tests.gateway.rig import scenario
from tests.notifier.conftest import PLAN
from tests.notifier.sink import WHO, one, relaying, rows, sink, subscribe, tell, until

RELAYS = """
SELECT pid FROM pg_stat_activity WHERE application_name = 'onsale relay' AND datname = current_database()
"""


@pytest.fixture
def at_once(monkeypatch):
    """Whatever failed is tried again without a pause in between."""
    monkeypatch.setattr(backoff, "QUICK_SECONDS", (0.0, 0.0))
    monkeypatch.setattr(backoff, "AWAY_SECONDS", (0.0,))
    monkeypatch.setattr(backoff, "LATER_SECONDS", (0.0,) * len(backoff.LATER_SECONDS))


def process_of(environ):
    """A relay as a process of its own."""
    command = [sys.executable, "-m", "notifier"]
    return subprocess.Popen(command, env=environ | {"PYTHONPATH": str(REPOSITORY)})


@scenario
async def test_what_was_told_arrives_with_its_names(conn, database_url, event):
    body = {"order": "65536", "seats": [0, 2], "areas": [(0, 3)], "buyer": "ann"}
    body["lines"] = [(2, None, 1, 0, 100, 10, 5, 115), (None, 0, 3, 1, 50, 0, 0, 50)]
    async with sink() as there:
        subscribe(conn, there.url)
        outbox.write(conn, event, Told.ORDER_PAID, body)
        async with relaying(database_url):
            await there.has(1)
    [got] = there.received
    seat, other, area = PLAN.seats[0].guid, PLAN.seats[2].guid, PLAN.areas[0].guid
    assert got.id == f"msg_{one(conn, 'SELECT id FROM outbox')}"
    assert (got.json["type"], set(got.json)) == ("order.paid", {"type", "timestamp", "data"})
    at = one(conn, "SELECT to_char(at AT TIME ZONE 'UTC', 'YYYY-MM-DD\"T\"HH24:MI:SS.US\"Z\"') FROM outbox")
    assert got.json["timestamp"] == at
    categories = [category.name for category in PLAN.categories]
    assert got.data == {
        "event": "gig",
        "order": "65536",
        "buyer": "ann",
        "seats": [seat, other],
        "areas": {area: 3},
        "lines": [
            {
                "seat": other,
                "count": 1,
                "category": categories[0],
                "price_minor": 100,
                "fee_minor": 10,
                "tax_minor": 5,
                "total_minor": 115,
            },
            {
                "area": area,
                "count": 3,
                "category": categories[1],
                "price_minor": 50,
                "fee_minor": 0,
                "tax_minor": 0,
                "total_minor": 50,
            },
        ],
    }


@scenario
async def test_two_relays_keep_the_order_of_each_event_and_send_nothing_twice(conn, database_url, event):
    venue = one(conn, "SELECT venue_id FROM event")
    gigs = [event, *(events.create_event(conn, f"gig-{n}", "Gig", venue, PLAN) for n in range(4))]
    async with sink() as there:
        subscribe(conn, there.url)
        subscribe(conn, there.url + "/other")
        async with relaying(database_url, 2):
            for number in range(60):
                tell(conn, gigs[number % len(gigs)], number)
                await asyncio.sleep(0)
            await there.has(120)
    assert len(there.received) == 120
    for gig in range(len(gigs)):
        slug = "gig" if gig == 0 else f"gig-{gig - 1}"
        came = [one.data["n"] for one in there.received if one.data["event"] == slug]
        wanted = list(range(gig, 60, len(gigs)))
        firsts = list(dict.fromkeys(came))
        assert (firsts, sorted(came)) == (wanted, sorted(wanted * 2))
    assert rows(conn, "SELECT DISTINCT outcome, count(*) FROM delivery_log GROUP BY 1") == [
        ("delivered", 120)
    ]


@scenario
async def test_the_next_goes_out_when_the_one_before_was_answered(conn, database_url, event):
    answered: list[int] = []

    async def slowly(got):
        assert got.data["n"] == len(answered)
        await asyncio.sleep(0.02)
        answered.append(got.data["n"])
        return 204

    async with sink() as there:
        there.answer = slowly
        subscribe(conn, there.url)
        tell(conn, event, 0, 1, 2, 3)
        async with relaying(database_url, 2):
            await until(lambda: len(answered) == 4)


@scenario
async def test_what_commits_late_is_told_and_nothing_overtakes_it(conn, database_url, event):
    """Who writes first and commits last has the lower number; reading by numbers alone would pass it by."""
    async with sink() as there:
        subscribe(conn, there.url)
        with psycopg.connect(database_url) as late:
            outbox.write(late, event, Told.PAYMENT_LATE, {"n": 1})
            tell(conn, event, 2)
            async with relaying(database_url):
                await until(lambda: one(conn, "SELECT count(*) FROM subscriber_position") == 1)
                looked = one(conn, "SELECT pg_current_xact_id()::text")
                await asyncio.sleep(4 * relay.PAUSE_SECONDS_MAX)
                assert (there.received, looked) == ([], looked)
                late.commit()
                await there.has(2)
    assert there.numbers == [1, 2]


@scenario
async def test_what_follows_from_a_committed_change_comes_after_it(conn, database_url, event):
    """The order is that of transactions: numbers are given before one waits for the other."""
    async with sink() as there:
        subscribe(conn, there.url)
        with psycopg.connect(database_url) as first, psycopg.connect(database_url) as second:
            first.execute("SELECT nextval(pg_get_serial_sequence('outbox', 'id'))")
            outbox.write(first, event, Told.PAYMENT_LATE, {"n": 1})
            outbox.write(second, event, Told.PAYMENT_LATE, {"n": 2})
            second.commit()
            first.commit()
        tell(conn, event, 3)
        async with relaying(database_url):
            await there.has(3)
    assert there.numbers == [1, 2, 3]


@scenario
async def test_what_was_sent_and_not_noted_is_sent_again_with_the_same_id(conn, database_url, event):
    """The relay is killed before it has the answer."""
    environ = os.environ | {"DATABASE_URL": database_url, "REDIS_URL": "redis://none", ALLOW_PRIVATE: "1"}
    async with sink() as there:
        subscribe(conn, there.url)
        tell(conn, event, 1, 2)
        with process_of(environ) as process:
            there.answer = lambda _: process.kill() or 204
            await there.has(1)
            process.wait()
        assert one(conn, "SELECT id FROM subscriber_position") == 0, "nothing is noted"
        there.answer = lambda _: 204
        conn.execute("UPDATE subscriber_position SET leased_until = clock_timestamp()")
        async with relaying(database_url):
            await there.has(3)
    first = f"msg_{one(conn, 'SELECT min(id) FROM outbox')}"
    assert there.numbers == [1, 1, 2]
    assert there.ids[:2] == [first, first]
    assert there.received[0].body == there.received[1].body


@scenario
async def test_a_lane_is_one_relays_until_its_lease_ran_out(conn, database_url, event):
    async with sink() as there:
        subscribe(conn, there.url)
        tell(conn, event, 1)
        conn.execute(
            "INSERT INTO subscriber_position (subscriber_id, event_id, xid, id, lease, leased_until)"
            " VALUES (1, %s, 0, 0, gen_random_uuid(), clock_timestamp() + interval '1 hour')",
            [event],
        )
        async with relaying(database_url):
            await asyncio.sleep(4 * relay.PAUSE_SECONDS_MAX)
            assert there.received == []
            conn.execute("UPDATE subscriber_position SET leased_until = clock_timestamp()")
            await there.has(1)


@scenario
async def test_whoever_lost_the_lease_notes_nothing_and_stops(conn, database_url, event, monkeypatch):
    """Another relay has gone on meanwhile: how far it is stays."""

    def taken_away(got):
        conn.execute("UPDATE subscriber_position SET lease = gen_random_uuid(), xid = 1, id = 7")
        return 204

    async with sink() as there:
        subscribe(conn, there.url)
        tell(conn, event, *range(3))
        there.answer = taken_away
        async with relaying(database_url):
            await there.has(1)
            await until(lambda: one(conn, "SELECT count(*) FROM delivery_log") >= 1)
        assert rows(conn, "SELECT xid, id, lease IS NULL FROM subscriber_position") == [(1, 7, False)]


@scenario
async def test_a_poison_message_is_set_aside_and_those_behind_it_go_on(conn, database_url, event, at_once):
    async with sink() as there:
        there.answer = lambda got: 500 if got.data["n"] == 2 else 204
        subscribe(conn, there.url)
        tell(conn, event, 1, 2, 3, 4)
        async with relaying(database_url):
            await until(
                lambda: rows(conn, "SELECT state, attempts FROM delivery") == [("dead", backoff.TRIES_MAX)]
            )
            await until(lambda: 4 in there.numbers)
    assert there.numbers[:6] == [1, 2, 2, 2, 3, 4] or there.numbers[:5] == [1, 2, 2, 2, 3]
    assert [n for n in there.numbers if n != 2] == [1, 3, 4]
    assert there.numbers.count(2) == backoff.TRIES_MAX
    assert len({got.body for got in there.received if got.data["n"] == 2}) == 1
    tried = "SELECT attempt, outcome FROM delivery_log WHERE status = 500 ORDER BY id"
    log = rows(conn, tried)
    assert [attempt for attempt, _ in log] == list(range(1, backoff.TRIES_MAX + 1))
    assert [outcome for _, outcome in log] == [
        *["failed"] * (backoff.QUICK_TRIES - 1),
        "set_aside",
        *["failed"] * (backoff.TRIES_MAX - backoff.QUICK_TRIES - 1),
        "dead",
    ]


@scenario
async def test_what_is_mended_within_the_quick_tries_keeps_its_order(conn, database_url, event, at_once):
    statuses = iter([500, 503, 204, 204])
    async with sink() as there:
        there.answer = lambda _: next(statuses)
        subscribe(conn, there.url)
        tell(conn, event, 1, 2)
        async with relaying(database_url):
            await there.has(4)
            await until(lambda: one(conn, "SELECT count(*) FROM delivery_log") == 4)
    assert there.numbers == [1, 1, 1, 2]
    assert rows(conn, "SELECT * FROM delivery") == []


@scenario
async def test_what_was_set_aside_is_delivered_later(conn, database_url, event, at_once):
    statuses = iter([500] * backoff.QUICK_TRIES + [404, 204])
    async with sink() as there:
        there.answer = lambda _: next(statuses)
        subscribe(conn, there.url)
        tell(conn, event, 1)
        async with relaying(database_url):
            await there.has(backoff.QUICK_TRIES + 2)
            await until(lambda: rows(conn, "SELECT * FROM delivery") == [])
    assert set(there.numbers) == {1}
    assert one(conn, "SELECT delivered_at IS NOT NULL FROM subscriber")


@scenario
@pytest.mark.parametrize("set_aside_before", [0, 1])
async def test_410_disables_a_subscriber_and_nothing_is_lost(
    conn, database_url, event, at_once, set_aside_before
):
    statuses = iter([500] * (backoff.QUICK_TRIES * set_aside_before) + [410, 204, 204, 204])
    async with sink() as there:
        there.answer = lambda _: next(statuses)
        number, _ = subscribe(conn, there.url)
        tell(conn, event, 1)
        async with relaying(database_url):
            await until(lambda: one(conn, "SELECT state FROM subscriber") == "disabled")
            asked = len(there.received)
            tell(conn, event, 2)
            await asyncio.sleep(4 * relay.PAUSE_SECONDS_MAX)
            assert len(there.received) == asked
            assert one(conn, "SELECT disabled_why FROM subscriber") == lane.SAID_GONE
            edit.enable(conn, number, WHO)
            conn.execute("UPDATE delivery SET next_at = clock_timestamp()")
            await there.has(asked + 2)
    assert sorted(there.numbers[asked:]) == [1, 2]


@scenario
async def test_who_is_away_is_waited_for_once_enough_is_set_aside(
    conn, database_url, event, at_once, monkeypatch
):
    """That is no poison message: from there on, order is kept and nothing more is set aside."""
    monkeypatch.setattr(
        lanes, "CLAIM", lanes.CLAIM.replace("LIMIT 1000", "LIMIT 1").replace(">= 1000", ">= 1")
    )
    async with sink() as there:
        there.answer = lambda _: 503
        subscribe(conn, there.url)
        tell(conn, event, 1, 2, 3)
        monkeypatch.setattr(backoff, "LATER_SECONDS", (3600.0,) * len(backoff.LATER_SECONDS))
        async with relaying(database_url):
            await until(lambda: there.numbers.count(2) > 2 * backoff.TRIES_MAX)
            assert one(conn, "SELECT count(*) FROM delivery") == 1
            assert 3 not in there.numbers
            there.answer = lambda _: 204
            await until(lambda: 3 in there.numbers)
    assert there.numbers[-2:] == [2, 3]


@scenario
async def test_who_could_not_be_delivered_anything_for_days_is_disabled(conn, database_url, event, at_once):
    async with sink() as there:
        there.answer = lambda _: 500
        number, _ = subscribe(conn, there.url)
        tell(conn, event, 1)
        async with relaying(database_url):
            await until(lambda: one(conn, "SELECT state FROM subscriber") == "disabled")
            assert one(conn, "SELECT disabled_why FROM subscriber") == "nothing could be delivered for days"
            there.answer = lambda _: 204
            edit.enable(conn, number, WHO)
            [message] = edit.replay(conn, number, WHO).messages
            await until(lambda: rows(conn, "SELECT * FROM delivery") == [])
    assert there.received[-1].id == message


@scenario
async def test_only_what_was_asked_for_is_told(conn, database_url, event):
    venue = one(conn, "SELECT venue_id FROM event")
    other = events.create_event(conn, "other", "Other", venue, PLAN)
    tell(conn, event, 0)
    async with sink() as there:
        subscribe(conn, there.url + "/refunds", event="gig", kinds=["payment.refunded"])
        subscribe(conn, there.url + "/start", event="other", from_start=True)
        tell(conn, other, 1)
        tell(conn, event, 2, 3)
        tell(conn, event, 4, kind=Told.PAYMENT_REFUNDED)
        async with relaying(database_url):
            await there.has(2)
            await until(
                lambda: (
                    rows(conn, "SELECT max(id) FROM outbox")
                    == rows(conn, "SELECT max(id) FROM subscriber_position")
                )
            )
    assert sorted(there.numbers) == [1, 4]


@scenario
async def test_a_subscriber_is_not_told_what_was_before_it_unless_it_asks(conn, database_url, event):
    tell(conn, event, 1)
    async with sink() as there:
        subscribe(conn, there.url)
        subscribe(conn, there.url, from_start=True)
        tell(conn, event, 2)
        async with relaying(database_url):
            await there.has(3)
    assert sorted(there.numbers) == [1, 2, 2]


@scenario
async def test_a_relay_ends_within_a_second_though_a_subscriber_does_not_answer(conn, database_url, event):
    release = asyncio.Event()

    async def never(_):
        await release.wait()
        return 204

    async with sink() as there:
        there.answer = never
        subscribe(conn, there.url)
        tell(conn, event, 1)
        stop = asyncio.Event()
        running = asyncio.create_task(relay.run(database_url, stop=stop, allow_private=True))
        await there.has(1)
        stop.set()
        await asyncio.wait_for(running, 1.0)
        assert rows(conn, "SELECT lease, id FROM subscriber_position") == [(None, 0)], "given back"
        release.set()


@scenario
async def test_no_transaction_is_open_and_nothing_locked_while_a_subscriber_is_asked(
    conn, database_url, event
):
    found = []

    def look(_):
        found.append(rows(conn, "SELECT 1 FROM subscriber, subscriber_position, outbox FOR UPDATE NOWAIT"))
        found.append(rows(conn, f"{RELAYS} AND state LIKE 'idle in transaction%'"))
        return 204

    async with sink() as there:
        there.answer = look
        subscribe(conn, there.url)
        tell(conn, event, 1)
        async with relaying(database_url):
            await there.has(1)
    assert found == [[(1,)], []]


@scenario
async def test_a_relay_waits_for_postgres_and_goes_on(conn, database_url, event, monkeypatch):
    monkeypatch.setattr(relay, "AWAY_SECONDS", (0.0, 0.05))
    async with sink() as there:
        subscribe(conn, there.url)
        async with relaying(database_url):
            tell(conn, event, 1)
            await there.has(1)
            conn.execute(RELAYS.replace("pid", "pg_terminate_backend(pid)", 1))
            conn.execute("UPDATE subscriber_position SET leased_until = NULL, lease = NULL")
            tell(conn, event, 2)
            await until(lambda: 2 in there.numbers)


def test_as_a_long_job_it_ends_when_it_is_told(conn, database_url):
    told = iter([False, True])
    relay.run_until_told(database_url, lambda: next(told))
    assert next(told, None) is None


def test_as_a_process_it_ends_at_sigterm(database_url):
    environ = os.environ | {"DATABASE_URL": database_url, "REDIS_URL": "redis://none"}
    with process_of(environ) as process:
        with psycopg.connect(database_url, autocommit=True) as conn:
            while len(rows(conn, RELAYS)) < 3:
                assert process.poll() is None
        process.send_signal(signal.SIGTERM)
        assert process.wait(5) == 0
