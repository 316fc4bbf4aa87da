"""The console's websocket: who may watch, what is told, once for all who watch, and who reads too slowly."""

from __future__ import annotations

import contextlib
import json

import psycopg
import pytest
from prometheus_client.parser import text_string_to_metric_families
from websockets.asyncio.client import connect

from gateway.live import feed as feed_module
from gateway.live import socket as socket_module
from store import audit
from store.chores import runs
from store.console import now, samples, view
from store.console.now import Reader
from store.events import create_event, set_state
from store.operators import keys
from store.operators.words import Role
from store.venues.make import make
from store.venues.rows import save_venue
from store.words import EventState
from tests.gateway.rig import EVENT, Buyer, gateway, make_event, scenario, until

KEY = "an operator key of the tests"
SAID = audit.said("Olga", "for this test")


@pytest.fixture
def event(database_url):
    return make_event(database_url)


@contextlib.asynccontextmanager
async def bare(served, **options):
    url = f"ws://127.0.0.1:{served.port}/v1/operator/live"
    async with connect(url, compression=None, **options) as connection:
        yield Buyer(connection)


@contextlib.asynccontextmanager
async def watching(served, event=None, *, key=KEY):
    async with bare(served) as talk:
        await talk.send({"type": "hello", "key": key})
        talk.welcome = await talk.receive("ready")
        await talk.send({"type": "watch", "event": event})
        yield talk


def key_of(database_url, role=Role.VIEWER, events=None):
    with psycopg.connect(database_url, autocommit=True) as conn:
        return keys.create(conn, "Vera", role, said=SAID, events=events)


# who may watch


@scenario
async def test_who_has_the_key_is_told_who_they_are_and_sees_every_launch(engine_urls, event):
    async with gateway(engine_urls, operator_key=KEY) as served, watching(served) as anna:
        assert anna.welcome == {"type": "ready", "name": "environment", "role": "owner"}
        told = await anna.receive("launches")
    assert [launch["slug"] for launch in told["launches"]] == [EVENT]
    assert told["launches"][0]["state"] == "open"
    assert [need["code"] for need in told["launches"][0]["needs"]] == ["no_owner"]


@scenario
async def test_a_key_in_the_header_needs_no_hello(engine_urls, event):
    head = {"Authorization": f"Bearer {KEY}"}
    async with (
        gateway(engine_urls, operator_key=KEY) as served,
        bare(served, additional_headers=head) as talk,
    ):
        assert (await talk.receive("ready"))["role"] == "owner"


@scenario
async def test_a_wrong_key_is_closed(engine_urls, event):
    async with gateway(engine_urls, operator_key=KEY) as served, bare(served) as talk:
        await talk.send({"type": "hello", "key": "wrong"})
        assert (await talk.receive("error"))["code"] == "operator_key"
        assert await talk.close_code() == 4401


@scenario
async def test_a_frame_that_is_nested_too_deeply_cannot_be_read(engine_urls, event):
    async with gateway(engine_urls, operator_key=KEY) as served, bare(served) as talk:
        await talk.send('{"a":' + "[" * 1_010)
        assert (await talk.receive("error"))["code"] == "bad_frame"
        assert await talk.close_code() == 4408


@scenario
async def test_who_does_not_say_hello_first_or_at_all_is_closed(engine_urls, event):
    async with gateway(engine_urls, operator_key=KEY, bounds={"hello_seconds_max": 0.05}) as served:
        async with bare(served) as talk:
            await talk.send({"type": "watch", "event": None})
            assert (await talk.receive("error"))["code"] == "hello_first"
            assert await talk.close_code() == 4408
        async with bare(served) as talk:
            assert await talk.close_code() == 4408


async def logged_in(served):
    """The cookie of a session, as a browser has it."""
    answer = await served.http("POST", "/v1/operator/session", body={"key": KEY})
    assert answer.status == 200
    return answer.headers["set-cookie"].partition(";")[0]


@scenario
async def test_a_cookie_is_believed_from_pages_of_this_gateway_alone(engine_urls, event):
    async with gateway(engine_urls, operator_key=KEY) as served:
        head = {"Cookie": await logged_in(served)}
        own = f"http://127.0.0.1:{served.port}"
        async with bare(served, additional_headers=head, origin=own) as talk:
            assert (await talk.receive("ready"))["role"] == "owner"
        for origin in ("http://evil.example", None):
            async with bare(served, additional_headers=head, origin=origin) as talk:
                assert (await talk.receive("error"))["code"] == "cross_origin"
                assert await talk.close_code() == 4403


@scenario
async def test_a_key_that_is_revoked_watches_no_longer(engine_urls, event, monkeypatch):
    monkeypatch.setattr(socket_module, "BELIEVED_SECONDS", 0.05)
    made = key_of(engine_urls.database_url)
    async with gateway(engine_urls, operator_key=KEY) as served, watching(served, key=made.secret) as vera:
        await vera.receive("launches")
        with psycopg.connect(engine_urls.database_url, autocommit=True) as conn:
            keys.revoke(conn, made.key.id, SAID, keep_an_owner=True)
        assert await vera.close_code() == 4401


@scenario
async def test_a_key_of_one_event_sees_that_alone(engine_urls, event):
    plan = make("arena", 40)
    with psycopg.connect(engine_urls.database_url, autocommit=True) as conn:
        create_event(conn, "other", "Other", save_venue(conn, "other", plan), plan)
    made = key_of(engine_urls.database_url, events=["other"])
    async with gateway(engine_urls, operator_key=KEY) as served, watching(served, key=made.secret) as vera:
        told = await vera.receive("launches")
        assert [launch["slug"] for launch in told["launches"]] == ["other"]
        await vera.send({"type": "watch", "event": EVENT})
        assert (await vera.receive("error", but=("launches",)))["code"] == "unknown_event"
        await vera.send({"type": "watch", "event": "other"})
        assert (await vera.receive("event", but=("launches",)))["event"] == "other"


# what is told


@scenario
async def test_one_event_is_told_whole_then_its_history_then_each_point(engine_urls, event):
    with psycopg.connect(engine_urls.database_url, autocommit=True) as conn:
        samples.write(conn, Reader(conn).sampled())
    async with gateway(engine_urls, operator_key=KEY) as served, watching(served, EVENT) as anna:
        whole = await anna.receive("event")
        past = await anna.receive("history")
        point = await anna.receive("point")
        assert (whole["state"]["value"], whole["state"]["can"]) == ("open", ["pause", "close"])
        assert (whole["room"], whole["gate"], whole["fleet"]["mode"]) == (None, True, "auto")
        assert whole["policy"]["hold_ttl_seconds"] == 480
        assert [step["step"] for step in whole["steps"]] == ["asked", "held", "paid"]
        assert "sold" not in whole["launch"]
        assert past["columns"] == list(samples.COLUMNS)
        assert len(past["rows"]) == 1
        assert len(point["row"]) == len(samples.COLUMNS)
        with psycopg.connect(engine_urls.database_url, autocommit=True) as conn:
            set_state(conn, EVENT, EventState.PAUSED)
        changed = await anna.receive("event", but=("point",))
        assert (changed["state"]["value"], changed["state"]["can"]) == ("paused", ["resume", "close"])


@scenario
async def test_what_did_not_change_is_not_told_again(engine_urls, event):
    with psycopg.connect(engine_urls.database_url, autocommit=True) as conn:
        conn.execute("UPDATE lease SET owner = gen_random_uuid(), worker = 'm:1', renewed_at = 'infinity'")
    async with gateway(engine_urls, operator_key=KEY) as served, watching(served) as anna:
        await anna.receive("launches")
        async with watching(served, EVENT) as ben:
            await ben.receive("event")
            for _ in range(2):
                await ben.receive("point", but=("history",))
        with psycopg.connect(engine_urls.database_url, autocommit=True) as conn:
            set_state(conn, EVENT, EventState.PAUSED)
        assert (await anna.receive())["launches"][0]["state"] == "paused", "and nothing came before it"


@scenario
async def test_however_many_watch_there_is_one_reading(engine_urls, event):
    async with gateway(engine_urls, operator_key=KEY) as served, contextlib.AsyncExitStack() as stack:
        all_of_them = [await stack.enter_async_context(watching(served, EVENT)) for _ in range(8)]
        for one in all_of_them:
            await one.receive("event")
        before = served.runtime.live.readings
        points = [
            [await one.receive("point", but=("history", "event")) for _ in range(3)] for one in all_of_them
        ]
        assert served.runtime.live.readings - before <= 4
        told = {tuple(point["row"]) for one in points for point in one}
        assert len(told) == len({at for at, *_ in told}) <= 5, "each moment is the same for all"


@scenario
async def test_nothing_is_read_while_nobody_watches(engine_urls, event):
    async with gateway(engine_urls, operator_key=KEY) as served:
        assert served.runtime.live.readings == 0
        async with watching(served) as anna:
            await anna.receive("launches")
        await until(lambda: not served.runtime.live.hub.clients)
        before = served.runtime.live.readings
        async with bare(served) as talk:
            await talk.send({"type": "hello", "key": KEY})
            await talk.receive("ready")
            await talk.nothing_for(1.2)
        assert served.runtime.live.readings - before <= 1


@scenario
async def test_an_event_that_is_not_there_is_said_and_the_socket_stays(engine_urls, event):
    async with gateway(engine_urls, operator_key=KEY) as served, watching(served, "nowhere") as anna:
        assert (await anna.receive("error"))["code"] == "unknown_event"
        await anna.send("nonsense")
        assert (await anna.receive("error"))["code"] == "bad_frame"
        await anna.send({"type": "watch", "event": None})
        assert (await anna.receive("launches"))["launches"]


@scenario
async def test_a_closed_event_can_be_watched(engine_urls, database_url):
    make_event(database_url, state=EventState.CLOSED)
    async with gateway(engine_urls, operator_key=KEY) as served, watching(served, EVENT) as anna:
        assert (await anna.receive("event"))["state"] == {
            "value": "closed", "can": [], "opens_at": None, "lobby_opens_at": None, "paused_at": None,
        }  # fmt: skip


# bounds


@scenario
async def test_who_reads_too_slowly_is_closed_and_the_others_go_on(engine_urls, event):
    async with (
        gateway(engine_urls, operator_key=KEY) as served,
        watching(served, EVENT) as slow,
        watching(served, EVENT) as quick,
    ):
        await slow.receive("event")
        await quick.receive("event")
        one, other = [watcher.client for watcher in served.runtime.live._watchers]
        one._write_text = lambda frame: False
        await until(lambda: one.closed)
        assert not other.closed


@scenario
async def test_more_than_so_many_are_told_to_come_back(engine_urls, event, monkeypatch):
    monkeypatch.setattr(feed_module, "WATCHERS_MAX", 1)
    async with gateway(engine_urls, operator_key=KEY) as served, watching(served) as anna:
        await anna.receive("launches")
        async with bare(served) as talk:
            assert await talk.close_code() == 1013


@scenario
async def test_who_does_not_say_who_they_are_keeps_no_operator_from_watching(engine_urls, event, monkeypatch):
    monkeypatch.setattr(feed_module, "WATCHERS_MAX", 1)
    monkeypatch.setattr(socket_module, "STRANGERS_MAX", 1)
    async with gateway(engine_urls, operator_key=KEY) as served, bare(served) as stranger:
        await until(lambda: served.runtime.live.strangers == 1)
        async with bare(served) as another:
            assert await another.close_code() == 1013
        head = {"Authorization": f"Bearer {KEY}"}
        async with bare(served, additional_headers=head) as anna:
            assert (await anna.receive("ready"))["role"] == "owner"
            await stranger.send({"type": "hello", "key": KEY})
            assert await stranger.close_code() == 1013
        await until(lambda: not served.runtime.live.hub.clients)
        assert served.runtime.live.strangers == 0
        async with watching(served) as vera:
            await vera.receive("launches")


@scenario
async def test_many_launches_are_told_less_often(engine_urls, event, monkeypatch):
    monkeypatch.setattr(feed_module, "LAUNCHES_BYTES_A_SECOND", 1)
    async with (
        gateway(engine_urls, operator_key=KEY) as served,
        watching(served) as anna,
        watching(served, EVENT) as ben,
    ):
        await anna.receive("launches")
        await ben.receive("event")
        with psycopg.connect(engine_urls.database_url, autocommit=True) as conn:
            set_state(conn, EVENT, EventState.PAUSED)
        changed = await ben.receive("event", but=("history", "point"))
        while changed["state"]["value"] != "paused":
            changed = await ben.receive("event", but=("history", "point"))
        await anna.nothing_for(0.3)  # launches are told before events


@scenario
async def test_while_postgres_is_away_watchers_come_back_later(engine_urls, event):
    async with gateway(engine_urls, operator_key=KEY) as served, watching(served) as anna:
        await anna.receive("launches")
        with psycopg.connect(engine_urls.database_url, autocommit=True) as conn:
            conn.execute(
                "SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
                " WHERE application_name = 'onsale console' AND datname = current_database()"
            )
        assert await anna.close_code() == 1013
        async with watching(served) as again:
            assert (await again.receive("launches"))["launches"]


@scenario
async def test_a_limited_key_sees_all_its_events_and_nothing_of_others(engine_urls, event, monkeypatch):
    monkeypatch.setattr(now, "LAUNCHES_MAX", 1)
    plan = make("arena", 40)
    with psycopg.connect(engine_urls.database_url, autocommit=True) as conn:
        create_event(conn, "other", "Other", save_venue(conn, "other", plan), plan)
        runs.enlist(conn, [("reconcile", 60, False)])
        failed = "UPDATE chore_run SET alive_at = now(), failures = 3, last_error = 'gala: too few seats'"
        conn.execute(failed)
    made = key_of(engine_urls.database_url, events=["other"])

    def seen(told):
        [need] = told["needs"]
        return [one["slug"] for one in told["launches"]], need["code"], "gala" in need["text"]

    async with gateway(engine_urls, operator_key=KEY) as served:
        for key, slug in ((KEY, EVENT), (made.secret, "other")):
            head = {"Authorization": f"Bearer {key}"}
            told = (await served.http("GET", "/v1/operator/launches", headers=head)).json()
            assert seen(told) == ([slug], "chores_failing", key is KEY)
            async with watching(served, key=key) as watcher:
                assert seen(await watcher.receive("launches")) == ([slug], "chores_failing", key is KEY)


@scenario
async def test_what_fails_once_is_read_again_for_who_comes_back(engine_urls, event, monkeypatch, caplog):
    mistakes, look = [ValueError("a mistake")], view.look

    def fails_once(*given):
        if mistakes:
            raise mistakes.pop()
        return look(*given)

    monkeypatch.setattr(view, "look", fails_once)
    async with gateway(engine_urls, operator_key=KEY) as served:
        async with watching(served) as anna:
            assert await anna.close_code() == 1013
        assert "ALERT: consoles are told nothing" in caplog.text
        async with watching(served) as again:
            assert (await again.receive("launches"))["launches"]


def test_a_history_fits_into_what_a_socket_may_have_unread():
    row = (
        1_767_225_600_000,
        1_234.5,
        1_234.5,
        123_456,
        12.3,
        456.7,
        12_345,
        1_234,
        123_456_789,
        12_345,
        12_345,
        1_234,
        2,
    )
    frame = feed_module._history_frame("an-event", [row] * samples.ROWS_DEFAULT)
    assert len(frame) < 60_000
    assert json.loads(frame)["columns"][0] == "at_ms"


@scenario
async def test_watchers_and_readings_are_numbers_of_the_gateway(engine_urls, event):
    def told(served):
        text = served.runtime.metrics.text({}).decode()
        families = {family.name: family for family in text_string_to_metric_families(text)}
        readings = families["onsale_gateway_console_reading_seconds"]
        [count] = [one.value for one in readings.samples if one.name.endswith("_count")]
        [watch] = families["onsale_gateway_consoles"].samples
        return watch.value, count

    async with gateway(engine_urls, operator_key=KEY) as served:
        assert told(served) == (0, 0), "nobody watches, nothing is read"
        async with watching(served) as anna:
            await anna.receive("launches")
            watch, count = told(served)
            assert watch == 1
            assert 1 <= count <= served.runtime.live.readings
        await until(lambda: told(served)[0] == 0)
