"""The relay: every row reaches every subscriber, at least once, in order for each event."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys

import psycopg
import pytest

from notifier import lane, relay
from notifier.notes import Notes
from onsale.engines.data_dir import REPOSITORY
from store import events, outbox
from store.outbox import Told
from store.subscribers import lanes
from store.subscribers.addresses import ALLOW_PRIVATE
from tests.gateway.rig import scenario
from tests.notifier.conftest import PLAN
from tests.notifier.sink import one, relaying, rows, sink, subscribe, tell, until

RELAYS = """
SELECT pid FROM pg_stat_activity WHERE application_name = 'onsale relay' AND datname = current_database()
"""
DISABLED = "UPDATE subscriber SET state = 'disabled', disabled_why = 'a test'"


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
        assert one(conn, "SELECT number FROM subscriber_position") == 0, "nothing is noted"
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
            "INSERT INTO subscriber_position (subscriber_id, event_id, number, lease, leased_until)"
            " VALUES (1, %s, 0, gen_random_uuid(), clock_timestamp() + interval '1 hour')",
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
        conn.execute("UPDATE subscriber_position SET lease = gen_random_uuid(), number = 7")
        return 204

    async with sink() as there:
        subscribe(conn, there.url)
        tell(conn, event, *range(3))
        there.answer = taken_away
        async with relaying(database_url):
            await there.has(1)
            await until(lambda: one(conn, "SELECT count(*) FROM delivery_log") >= 1)
        assert rows(conn, "SELECT number, lease IS NULL FROM subscriber_position") == [(7, False)]


@scenario
@pytest.mark.parametrize(
    "meanwhile",
    ["UPDATE subscriber_position SET lease = gen_random_uuid()", DISABLED],
    ids=["lost", "disabled"],
)
async def test_who_lost_a_lane_or_was_disabled_is_sent_nothing_more(conn, database_url, event, meanwhile):
    """What it had sent by then is noted first, or not at all."""
    first = asyncio.Event()

    async def once_noted(got):
        if not first.is_set():
            conn.execute(meanwhile)
            first.set()
            return 204
        await until(lambda: bool(stopped) or len(there.received) > 5)
        return 204

    stopped: list[bool] = []
    told = Notes._tell_lanes

    def tell_lanes(notes, *what):
        told(notes, *what)
        stopped.extend(lane.stopped for lane in notes._lanes.values())

    async with sink() as there:
        there.answer = once_noted
        subscribe(conn, there.url)
        tell(conn, event, *range(20))
        with pytest.MonkeyPatch.context() as patched:
            patched.setattr(Notes, "_tell_lanes", tell_lanes)
            async with relaying(database_url):
                await until(lambda: bool(stopped))
                await asyncio.sleep(2 * relay.PAUSE_SECONDS_MAX)
    assert len(there.received) <= 2


@scenario
async def test_a_lease_that_could_end_before_the_answer_is_renewed_first(
    conn, database_url, event, monkeypatch
):
    """Where it is somebody else's by then, nothing is sent."""
    monkeypatch.setattr(lane, "MARGIN_SECONDS", lanes.LEASE_SECONDS)
    leases = []
    write = Notes.write

    async def written(notes):
        leases.append(one(conn, "SELECT lease FROM subscriber_position"))
        conn.execute("UPDATE subscriber_position SET lease = gen_random_uuid() WHERE lease IS NOT NULL")
        await write(notes)

    monkeypatch.setattr(Notes, "write", written)
    async with sink() as there:
        subscribe(conn, there.url)
        tell(conn, event, 1)
        async with relaying(database_url):
            await until(lambda: len(leases) > 1)
    assert there.received == []


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
                    rows(conn, "SELECT max(number) FROM outbox")
                    == rows(conn, "SELECT max(number) FROM subscriber_position")
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
        assert rows(conn, "SELECT lease, number FROM subscriber_position") == [(None, 0)], "given back"
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
