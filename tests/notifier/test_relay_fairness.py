"""One subscriber, one event or one fault of ours takes no more of a relay than its share."""

from __future__ import annotations

import asyncio

import pytest

from notifier import backoff, lane, relay
from notifier.payloads import payload
from store import events
from tests.gateway.rig import scenario
from tests.notifier.conftest import PLAN
from tests.notifier.sink import one, relaying, rows, sink, subscribe, tell, until


@pytest.fixture
def dates(conn, event):
    """Eight events, each with something to tell."""
    venue = one(conn, "SELECT venue_id FROM event")
    return [event, *[events.create_event(conn, f"gig-{day}", "The gig", venue, PLAN) for day in range(7)]]


@scenario
async def test_who_does_not_answer_has_its_lanes_and_the_others_go_on(conn, database_url, dates, monkeypatch):
    monkeypatch.setattr(relay, "LANES_MAX", 4)
    monkeypatch.setattr(relay, "LANES_OF_ONE_MAX", 3)
    release = asyncio.Event()

    async def never(_):
        await release.wait()
        return 204

    async with sink() as silent, sink() as there:
        silent.answer = never
        for one_of_both in (silent, there):
            subscribe(conn, one_of_both.url)
        for event in dates:
            tell(conn, event, 1, 2)
        async with relaying(database_url):
            await there.has(2 * len(dates))
            assert len(silent.received) == 3
            release.set()


@scenario
async def test_who_fails_is_asked_about_one_event_at_a_time(conn, database_url, dates, monkeypatch):
    monkeypatch.setattr(backoff, "QUICK_SECONDS", (0.0, 0.0))
    asked = together = 0

    async def fails(_):
        nonlocal asked, together
        asked += 1
        if len(there.received) > len(dates):  # before, nobody knew
            together = max(together, asked)
        await asyncio.sleep(0.01)
        asked -= 1
        return 500

    async with sink() as there:
        there.answer = fails
        subscribe(conn, there.url)
        for event in dates:
            tell(conn, event, 1)
        async with relaying(database_url):
            await there.has(2 * len(dates))
    assert together == 1


@scenario
async def test_an_event_that_cannot_be_told_for_a_fault_of_ours_stops_no_other(
    conn, database_url, dates, monkeypatch, caplog
):
    def broken(row, event, names):
        if event == "gig":
            raise KeyError(event)
        return payload(row, event, names)

    monkeypatch.setattr(lane, "payload", broken)
    async with sink() as there:
        subscribe(conn, there.url)
        for event in dates:
            tell(conn, event, 1)
        async with relaying(database_url):
            await there.has(len(dates) - 1)
            await until(lambda: "telling subscriber" in caplog.text)
    waits = "SELECT number, next_at > clock_timestamp() + interval '20 seconds' FROM subscriber_position"
    assert rows(conn, f"{waits} WHERE event_id = {dates[0]}") == [(0, True)], "it is not begun anew at once"
