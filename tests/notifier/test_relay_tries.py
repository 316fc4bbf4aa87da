"""What a subscriber does not take: tried again, set aside, tried for days, dead; and who is disabled."""

from __future__ import annotations

import asyncio

import pytest

from notifier import backoff, lane, relay
from store.subscribers import edit, lanes
from tests.gateway.rig import scenario
from tests.notifier.sink import WHO, one, relaying, rows, sink, subscribe, tell, until


@pytest.fixture
def at_once(monkeypatch):
    """Whatever failed is tried again without a pause in between."""
    monkeypatch.setattr(backoff, "QUICK_SECONDS", (0.0, 0.0))
    monkeypatch.setattr(backoff, "AWAY_SECONDS", (0.0,))
    monkeypatch.setattr(backoff, "LATER_SECONDS", (0.0,) * len(backoff.LATER_SECONDS))


@scenario
async def test_what_another_relay_tries_meanwhile_is_left_to_it(conn, database_url, event, at_once):
    """Whoever was slow has lost it; what became of it there counts."""
    async with sink() as there:
        number, _ = subscribe(conn, there.url)
        edit.send_test(conn, number, WHO)

        def slow(_):
            conn.execute("UPDATE delivery SET next_at = clock_timestamp() + interval '1 hour'")
            return 204

        there.answer = slow
        async with relaying(database_url):
            await until(lambda: one(conn, "SELECT count(*) FROM delivery_log") == 1)
        assert one(conn, "SELECT count(*) FROM delivery WHERE state = 'waiting'") == 1


@scenario
async def test_who_was_delivered_something_meanwhile_is_not_disabled_for_a_dead_letter(
    conn, database_url, event, at_once
):
    async with sink() as there:
        there.answer = lambda got: 500 if got.data["n"] == 1 else 204
        subscribe(conn, there.url)
        tell(conn, event, 1, 2)
        async with relaying(database_url):
            await until(lambda: rows(conn, "SELECT state FROM delivery") == [("dead",)])
            await until(lambda: one(conn, "SELECT delivered_at IS NOT NULL FROM subscriber"))
            conn.execute("UPDATE delivery SET first_at = first_at - interval '3 days'")
            edit.replay(conn, 1, WHO)
            conn.execute("UPDATE subscriber SET delivered_at = clock_timestamp() + interval '1 second'")
            await until(lambda: rows(conn, "SELECT state FROM delivery") == [("dead",)])
        assert one(conn, "SELECT state FROM subscriber") == "active"


@scenario
async def test_one_message_that_cannot_even_be_tried_ends_nothing_else(
    conn, database_url, event, monkeypatch, caplog
):
    """A fault of ours: it is told, that message waits, and the relay goes on."""

    async def broken(due, *_):
        raise KeyError(due.outbox_id)

    monkeypatch.setattr(relay, "try_again", broken)
    async with sink() as there:
        number, _ = subscribe(conn, there.url)
        edit.send_test(conn, number, WHO)
        async with relaying(database_url):
            await until(lambda: "trying message" in caplog.text)
            tell(conn, event, 1)
            await there.has(1)
    assert there.numbers == [1]
    assert one(conn, "SELECT count(*) FROM delivery WHERE state = 'waiting'") == 1


@scenario
async def test_a_test_message_is_sent_once_and_forgotten(conn, database_url, event, at_once):
    async with sink() as there:
        there.answer = lambda _: 500
        number, _ = subscribe(conn, there.url)
        message = edit.send_test(conn, number, WHO)
        async with relaying(database_url):
            await until(lambda: one(conn, "SELECT count(*) FROM delivery") == 0)
    [got] = there.received
    assert (got.id, got.json["type"], got.data) == (message, "webhook.test", {"subscriber": str(number)})
    log = "SELECT message, attempt, outcome, status, error FROM delivery_log"
    assert rows(conn, log) == [(message, 1, "failed", 500, "Internal Server Error")]


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
