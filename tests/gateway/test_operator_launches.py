"""The operators' HTTP for how sales stand: the same as the feed tells, bounded, only what a key is for."""

from __future__ import annotations

import psycopg
import pytest

from store.console import samples
from store.console.now import Reader
from store.words import EventState
from tests.gateway.rig import EVENT, gateway, make_event, scenario
from tests.gateway.test_live import key_of

KEY = "an operator key of the tests"
HEAD = {"Authorization": f"Bearer {KEY}"}


@pytest.fixture
def event(database_url):
    return make_event(database_url)


async def get(served, path, head=HEAD):
    return await served.http("GET", f"/v1/operator{path}", headers=head)


@scenario
async def test_launches_are_listed_with_what_needs_a_hand(engine_urls, event):
    async with gateway(engine_urls, operator_key=KEY) as served:
        told = (await get(served, "/launches")).json()
        [launch] = told["launches"]
        assert (launch["slug"], launch["capacity"], launch["state"]) == (EVENT, 150, "open")
        assert [need["code"] for need in launch["needs"]] == ["no_owner"]
        assert told["needs"] == []
        assert told["at_ms"] > 1_700_000_000_000
        refused = await get(served, "/launches", {})
        assert (refused.status, refused.json()["code"]) == (401, "operator_key")


@scenario
async def test_closed_ones_are_listed_where_they_are_asked_for(engine_urls, database_url):
    make_event(database_url, state=EventState.CLOSED)
    async with gateway(engine_urls, operator_key=KEY) as served:
        assert (await get(served, "/launches")).json() == {"at_ms": None, "launches": [], "needs": []}
        told = (await get(served, "/launches?closed=true")).json()
    assert [launch["slug"] for launch in told["launches"]] == [EVENT]


@scenario
async def test_a_key_of_other_events_sees_none_of_it(engine_urls, event):
    with psycopg.connect(engine_urls.database_url, autocommit=True) as conn:
        conn.execute("INSERT INTO event (slug, name, venue_id) VALUES ('other', 'Other', 1)")
    made = key_of(engine_urls.database_url, events=["other"])
    head = {"Authorization": f"Bearer {made.secret}"}
    async with gateway(engine_urls, operator_key=KEY) as served:
        assert (await get(served, "/launches", head)).json()["launches"] == []
        for path in ("launch", "samples"):
            refused = await get(served, f"/events/{EVENT}/{path}", head)
            assert (refused.status, refused.json()["code"]) == (404, "unknown_event")


@scenario
async def test_one_launch_is_told_whole(engine_urls, event):
    async with gateway(engine_urls, operator_key=KEY) as served:
        told = (await get(served, f"/events/{EVENT}/launch")).json()
        assert (told["event"], told["launch"]["sold"], told["state"]["can"]) == (EVENT, 0, ["pause", "close"])
        refused = await get(served, "/events/nowhere/launch")
        assert (refused.status, refused.json()["code"]) == (404, "unknown_event")


@scenario
async def test_samples_are_read_on_from_where_one_was(engine_urls, event):
    with psycopg.connect(engine_urls.database_url, autocommit=True) as conn:
        for _ in range(3):
            samples.write(conn, Reader(conn).sampled())
            conn.execute("UPDATE event_sample SET at = at - interval '10 s'")
    async with gateway(engine_urls, operator_key=KEY) as served:
        path = f"/events/{EVENT}/samples"
        every = (await get(served, path)).json()
        assert (every["columns"], len(every["rows"]), every["next_since"]) == (list(samples.COLUMNS), 3, None)
        first = (await get(served, f"{path}?since=0&limit=2")).json()
        assert first["rows"] == every["rows"][:2]
        rest = (await get(served, f"{path}?since={first['next_since']}&limit=2")).json()
        assert (rest["rows"], rest["next_since"]) == (every["rows"][2:], None)
        for wrong in ("since=-1", "limit=0", "limit=5001", "until=x"):
            assert (await get(served, f"{path}?{wrong}")).status == 400
