"""The draw in public: promised, told, downloaded in pieces, looked up, and shown on a page of its own."""

from __future__ import annotations

import asyncio
import hashlib
import uuid

import psycopg
import pytest

from gateway.room import draws
from store import events
from store.errors import Unavailable
from store.lookups import PLAN_BY_KEY
from store.room import draw, listing
from store.room.published import check
from store.room.words import RoomPolicy
from store.words import EventState
from tests.gateway.rig import EVENT, WITHIN, gateway, scenario, until
from tests.store.room.rooming import begin_sale, make_room

DRAW = f"/v1/events/{EVENT}/draw"
PAGE = f"/e/{EVENT}/draw"
PIECES_MAX = 20


@pytest.fixture
def conn(engine_urls):
    with psycopg.connect(engine_urls.database_url, autocommit=True) as conn:
        yield conn


def drawn(conn, *buyers):
    event = make_room(conn, EVENT)
    put_in_lobby(conn, event, buyers)
    begin_sale(conn, event, EVENT)
    return event


def put_in_lobby(conn, event, buyers):
    """As `joining.join` does, without a loop of its own."""
    for buyer in buyers:
        lane = "priority" if buyer.startswith("vip") else "ordinary"
        conn.execute(
            "INSERT INTO place (event_id, buyer, lane, in_draw) VALUES (%s, %s, %s, true)",
            (event, buyer, lane),
        )


def places(conn, lane="ordinary"):
    rows = conn.execute(
        "SELECT place_id::text FROM line WHERE lane = %s ORDER BY position", (lane,)
    ).fetchall()
    return [place for (place,) in rows]


@scenario
async def test_first_the_promise_is_told_and_after_the_draw_the_seed(conn, engine_urls):
    event = make_room(conn, EVENT)
    async with gateway(engine_urls) as served:
        before = await served.http("GET", DRAW)
        told = before.json()
        assert (told["seed"], told["drawn"], told["places"], told["policy"]) == (None, None, None, "draw")
        assert before.headers["cache-control"] == "public, max-age=1"
        put_in_lobby(conn, event, ["ann", "bob"])
        begin_sale(conn, event, EVENT)
    async with gateway(engine_urls) as served:
        after = await served.http("GET", DRAW)
        seed = bytes.fromhex(after.json()["seed"])
        assert hashlib.sha256(seed).hexdigest() == told["seed_sha256"] == after.json()["seed_sha256"]
        assert after.headers["cache-control"] == "public, max-age=3600"
        assert after.headers["etag"] != before.headers["etag"]
        again = await served.http("GET", DRAW, headers={"If-None-Match": after.headers["etag"]})
        assert (again.status, again.body) == (304, b"")


@scenario
async def test_what_was_read_a_second_ago_is_read_again_and_what_is_drawn_no_more(conn, engine_urls):
    event = make_room(conn, EVENT)
    async with gateway(engine_urls) as served:
        assert (await served.http("GET", DRAW)).json()["seed"] is None
        begin_sale(conn, event, EVENT)
        kept = served.app.api.state.draws
        kept._kept = {number: (at - draws.FRESH_SECONDS, read) for number, (at, read) in kept._kept.items()}
        assert (await served.http("GET", DRAW)).json()["seed"]
        conn.execute("DELETE FROM room")
        assert (await served.http("GET", DRAW)).status == 200


@scenario
async def test_the_list_comes_in_pieces_and_stands(conn, engine_urls, monkeypatch):
    monkeypatch.setattr(listing, "PIECE", listing.PIECE.replace("+ 10000", "+ 7"))
    drawn(conn, *[f"b{number}" for number in range(40)], *[f"vip{number}" for number in range(9)])
    conn.execute("INSERT INTO place (event_id, buyer, in_draw) VALUES (1, 'late', false)")
    conn.execute("INSERT INTO line SELECT 1, 'ordinary', 41, id FROM place WHERE buyer = 'late'")
    async with gateway(engine_urls) as served:
        answer = await served.http("GET", f"{DRAW}/places.csv")
        assert answer.status == 200
        assert answer.headers["content-type"] == "text/csv; charset=utf-8"
        assert answer.headers["cache-control"] == "public, max-age=3600"
        assert f'filename="draw-{EVENT}.csv"' in answer.headers["content-disposition"]
        headers = {"If-None-Match": answer.headers["etag"]}
        assert (await served.http("GET", f"{DRAW}/places.csv", headers=headers)).status == 304
    written = answer.body.decode()
    told = check(lambda: iter(written.splitlines(keepends=True)))
    assert (told.faults, told.places, told.head.event) == ([], 49, EVENT)
    rows = [line.split(",") for line in written.splitlines()[5:]]
    assert [place for lane, _, place in rows if lane == "priority"] == places(conn, "priority")
    assert "late" not in written


@scenario
async def test_until_it_is_drawn_there_is_no_list_and_nobody_stands(conn, engine_urls):
    event = make_room(conn, EVENT)
    put_in_lobby(conn, event, ["ann"])
    [(place,)] = conn.execute("SELECT id::text FROM place").fetchall()
    events.set_state(conn, EVENT, EventState.OPEN)
    async with gateway(engine_urls) as served:
        for path, code in ((f"{DRAW}/places.csv", "not_drawn"), (f"{DRAW}/places/{place}", "not_in_draw")):
            refused = await served.http("GET", path)
            assert (refused.status, refused.json()["code"]) == (404, code)


@scenario
async def test_anybody_looks_up_where_a_place_stood(conn, engine_urls):
    drawn(conn, "ann", "bob", "vip")
    async with gateway(engine_urls) as served:
        found = await served.http("GET", f"{DRAW}/places/{places(conn)[1]}")
        assert found.json() == {"place": places(conn)[1], "lane": "ordinary", "position": 2}
        [vip] = places(conn, "priority")
        assert (await served.http("GET", f"{DRAW}/places/{vip}")).json()["lane"] == "priority"
        for wrong, status in ((uuid.uuid4(), 404), ("me", 400), (str(vip).upper(), 400)):
            assert (await served.http("GET", f"{DRAW}/places/{wrong}")).status == status


@scenario
async def test_another_events_place_is_none_of_this_draws(conn, engine_urls):
    drawn(conn, "ann")
    other = make_room(conn, "other")
    put_in_lobby(conn, other, ["bob"])
    begin_sale(conn, other, "other")
    [(place,)] = conn.execute("SELECT place_id::text FROM line WHERE event_id = %s", (other,)).fetchall()
    async with gateway(engine_urls) as served:
        assert (await served.http("GET", f"{DRAW}/places/{place}")).status == 404


@scenario
async def test_so_many_download_at_a_time_and_the_next_is_told_to_come_back(conn, engine_urls, monkeypatch):
    monkeypatch.setattr(draws, "DOWNLOADS_MAX", 1)
    drawn(conn, "ann", "bob")
    reading, goes_on = asyncio.Event(), asyncio.Event()
    piece = draws.Draws.piece

    async def slow(self, event_id, after):
        reading.set()
        await goes_on.wait()
        return await piece(self, event_id, after)

    monkeypatch.setattr(draws.Draws, "piece", slow)
    async with gateway(engine_urls) as served:
        first = asyncio.create_task(served.http("GET", f"{DRAW}/places.csv"))
        await reading.wait()
        second = await served.http("GET", f"{DRAW}/places.csv")
        assert (second.status, second.json()["code"]) == (503, "downloads_full")
        assert int(second.headers["retry-after"]) > 0
        goes_on.set()
        assert (await first).status == 200
        assert (await served.http("GET", f"{DRAW}/places.csv")).status == 200


@scenario
async def test_who_leaves_in_the_middle_is_read_nothing_more_for(conn, engine_urls, monkeypatch):
    monkeypatch.setattr(listing, "PIECE", listing.PIECE.replace("+ 10000", "+ 1"))
    drawn(conn, *[f"b{number}" for number in range(30)])
    asked, left = asyncio.Event(), asyncio.Event()
    pieces = []
    piece = draws.Draws.piece

    async def counted(self, event_id, after):
        pieces.append(after)
        asked.set()
        await left.wait()
        return await piece(self, event_id, after)

    monkeypatch.setattr(draws.Draws, "piece", counted)
    async with gateway(engine_urls) as served:
        _, writer = await asyncio.open_connection("127.0.0.1", served.port)
        writer.write(f"GET {DRAW}/places.csv HTTP/1.1\r\nHost: x\r\n\r\n".encode())
        await asked.wait()
        writer.close()
        await writer.wait_closed()
        kept = served.app.api.state.draws
        await until(lambda: not served.server.server_state.connections)
        left.set()
        await until(lambda: not kept._downloads)
    assert len(pieces) == 1


@scenario
async def test_a_list_that_is_broken_off_is_not_taken_for_whole(conn, engine_urls, monkeypatch):
    monkeypatch.setattr(listing, "PIECE", listing.PIECE.replace("+ 10000", "+ 3"))
    drawn(conn, *[f"b{number}" for number in range(30)])
    piece = draws.Draws.piece

    async def breaks(self, event_id, after):
        if after.position > 3:
            raise Unavailable
        return await piece(self, event_id, after)

    monkeypatch.setattr(draws.Draws, "piece", breaks)
    async with gateway(engine_urls) as served:
        reader, writer = await asyncio.open_connection("127.0.0.1", served.port)
        writer.write(f"GET {DRAW}/places.csv HTTP/1.1\r\nHost: x\r\n\r\n".encode())
        told = await asyncio.wait_for(reader.read(), WITHIN)
        writer.close()
        await writer.wait_closed()
        assert places(conn)[3].encode() in told
        assert not told.endswith(b"0\r\n\r\n"), "which ends what is sent in chunks"
        assert served.app.api.state.draws._downloads == 0


@scenario
async def test_who_does_not_read_gets_no_more_and_makes_room(conn, engine_urls, monkeypatch):
    monkeypatch.setattr(draws, "SEND_SECONDS_MAX", 0.05)
    drawn(conn, "ann")
    sent = []

    async def endless(self, event_id, after):
        sent.append(after)
        return None if len(sent) == PIECES_MAX else after._replace(text="x" * 16_000_000)

    monkeypatch.setattr(draws.Draws, "piece", endless)
    async with gateway(engine_urls) as served:
        _, writer = await asyncio.open_connection("127.0.0.1", served.port)
        writer.write(f"GET {DRAW}/places.csv HTTP/1.1\r\nHost: x\r\n\r\n".encode())
        await until(lambda: sent)
        await until(lambda: not served.app.api.state.draws._downloads)
        writer.close()
    assert len(sent) < PIECES_MAX


def test_a_piece_costs_what_it_has_also_of_a_line_that_statistics_do_not_know(conn):
    statement = listing.PIECE
    drawn(conn, *[f"b{number}" for number in range(50)])
    conn.execute(PLAN_BY_KEY)
    for name, number in (("event", "$1"), ("lane", "$2"), ("after", "$3")):
        statement = statement.replace(f"%({name})s", number)
    conn.execute(f"PREPARE asking (int, text, bigint) AS {statement.replace('%%', '%')}")
    plan = [line.strip() for (line,) in conn.execute("EXPLAIN EXECUTE asking (1, 'ordinary', 5)").fetchall()]
    [along] = [line for line in plan if line.startswith("Index Cond") and "event_id" in line]
    assert along.count('"position"') == 2, plan
    assert "lane = $2" in along


@scenario
async def test_an_event_without_a_room_has_no_draw(conn, engine_urls):
    make_room(conn, "other")
    plan = events.find_venue(conn, "of-other")[1]
    events.create_event(conn, EVENT, "The gig", 1, plan)
    async with gateway(engine_urls) as served:
        for path in (DRAW, f"{DRAW}/places.csv"):
            refused = await served.http("GET", path)
            assert (refused.status, refused.json()["code"]) == (404, "no_room")
        assert (await served.http("GET", "/v1/events/none/draw")).status == 404
        page = await served.http("GET", PAGE)
        assert (page.status, "There is no draw" in page.body.decode()) == (404, True)
        assert (await served.http("GET", "/e/none/draw")).status == 404


@scenario
async def test_the_page_promises_first_and_then_shows_everything(conn, engine_urls):
    event = make_room(conn, EVENT)
    async with gateway(engine_urls) as served:
        page = await served.http("GET", PAGE)
        told = (await served.http("GET", DRAW)).json()
        assert page.status == 200
        assert "Not drawn yet" in page.body.decode()
        assert told["seed_sha256"] in page.body.decode()
        assert "<form" not in page.body.decode()
        put_in_lobby(conn, event, ["ann", "bob"])
        events.set_state(conn, EVENT, EventState.OPEN)
    async with gateway(engine_urls) as served:
        assert "are being drawn" in (await served.http("GET", PAGE)).body.decode()
        draw.draw(conn, event)
    async with gateway(engine_urls) as served:
        mine = places(conn)[1]
        text = (await served.http("GET", f"{PAGE}?place={mine.upper()}")).body.decode()
        seed = (await served.http("GET", DRAW)).json()["seed"]
        for shown in (seed, "2 places were drawn", "It stood at <b>2</b> in the line.", f"{DRAW}/places.csv"):
            assert shown in text
        other = await served.http("GET", f"{PAGE}?place={uuid.uuid4()}")
        assert "was not in the draw" in other.body.decode()


@pytest.mark.parametrize("typed", ["me", "%3Cscript%3Ealert(1)%3C/script%3E%22", "%00", "x" * 5_000, "%ff"])
@scenario
async def test_whatever_is_typed_runs_nothing(conn, engine_urls, typed):
    drawn(conn, "ann")
    async with gateway(engine_urls) as served:
        answer = await served.http("GET", f"{PAGE}?place={typed}")
        assert answer.status == 200
        assert "That is no place" in answer.body.decode()
        assert "<script" not in answer.body.decode()
        assert len(answer.body) < 10_000
        assert "script-src" not in answer.headers["content-security-policy"]
        assert "default-src 'none'" in answer.headers["content-security-policy"]


@scenario
async def test_where_nothing_is_drawn_the_page_says_so(conn, engine_urls):
    make_room(conn, EVENT, policy=RoomPolicy.FIFO)
    async with gateway(engine_urls) as served:
        assert "Nothing is drawn here" in (await served.http("GET", PAGE)).body.decode()
