"""The waiting room without JavaScript: forms and a page that renews itself, on a real gateway."""

from __future__ import annotations

import html
import re
from collections.abc import Iterator
from typing import Any

import psycopg
import pytest

from store.words import EventState
from tests.gateway.rig import EVENT, StandIn, gateway, make_event, scenario, token
from tests.gateway.room.lobby import asked, call, make_room, open_and_draw
from tests.gateway.room.visitor import LINE, Visitor
from tests.store.test_holds import HOLD, hold


@pytest.fixture
def conn(database_url: str) -> Iterator[psycopg.Connection[Any]]:
    with psycopg.connect(database_url, autocommit=True) as connection:
        yield connection


class Holds(StandIn):
    """Gives the hold there is."""

    def _decide(self, want: dict[str, Any], position: int, held: list[tuple[int, int]]) -> tuple[str, str]:
        return "held", f'{{"hold":"{HOLD}","seats":[],"areas":{{}},"expires_at":1}}'


@scenario
async def test_from_the_lobby_to_a_ticket_by_forms_alone(engine_urls, conn):
    event = make_room(engine_urls.database_url)
    async with gateway(engine_urls) as served, Holds(engine_urls, event):
        ann = Visitor(served)
        assert "Come in from the shop" in await ann.page()
        assert (await ann.press("come", f"token={token('ann')}")).status == 303
        assert "Join" in await ann.page()
        assert (await ann.press("join")).status == 303
        assert "You are in" in await ann.page()
        open_and_draw(conn, event)
        page = await ann.sees("You are in line")
        assert "You are next" in page
        assert ann.last.headers["refresh"] == f"12; url={LINE}"
        call(conn, event, 1)
        await ann.sees("It is your turn")
        assert (await ann.press("begin")).status == 303
        await ann.sees("How many seats")
        hold(conn, event, hold_id=HOLD, buyer="ann")
        assert (await ann.press("hold", "quantity=2")).status == 303
        await ann.sees("Held for you")
        assert (await ann.press("buy")).status == 303
        await ann.sees("They are yours.")


@scenario
async def test_who_needs_longer_gets_more_time_by_a_form_and_once_where_it_is_sent_twice(engine_urls, conn):
    event = make_room(engine_urls.database_url, state=EventState.OPEN, policy="fifo")
    async with gateway(engine_urls) as served:
        ann = Visitor(served)
        await ann.press("come", f"token={token('ann')}")
        await ann.press("join")
        call(conn, event, 1)
        page = await ann.sees("It is your turn")
        assert "3 minutes more. You can ask 3 times more." in page
        end = re.search(r'name="end" value="(\d+)"', page)
        assert end is not None
        for _ in range(2):
            assert (await ann.press("more", f"end={end[1]}")).status == 303
        assert "You can ask 2 times more." in await ann.sees("6 minutes left to begin")
        await ann.press("begin")
        page = await ann.sees("15 minutes left to choose")
        assert "8 minutes more. You can ask 3 times more." in page
        for wrong in ("", "end=", "end=-1", "end=%C2%B2", f"end={'9' * 16}"):
            assert "Say when your time ends" in (await ann.press("more", wrong)).body.decode()
        conn.execute("UPDATE room SET more_shopping_max = 0")
        end = re.search(r'name="end" value="(\d+)"', page)
        assert end is not None
        refused = await ann.press("more", f"end={end[1]}")
        assert "There is no more time to choose." in refused.body.decode()


@scenario
async def test_forms_of_other_sites_are_refused_and_so_is_who_nobody_knows(engine_urls):
    make_room(engine_urls.database_url)
    async with gateway(engine_urls) as served:
        ann = Visitor(served)
        await ann.press("come", f"token={token('ann')}")
        for head in ({"Sec_Fetch_Site": "cross-site"}, {"Origin": "https://evil.example"}):
            refused = await ann.press("join", **head)
            assert refused.status == 403
            assert b"own page" in refused.body
        assert (await ann.press("come", "token=x", Origin="https://evil.example")).status == 403
        stranger = Visitor(served)
        assert (await stranger.press("join")).status == 200
        assert "Come in from the shop" in (await stranger.press("join")).body.decode()
        assert stranger.cookies == {}
        assert (await asked(served, "GET", "/place")).status == 404


@scenario
async def test_the_cookie_is_kept_from_scripts_and_other_sites(engine_urls):
    make_room(engine_urls.database_url)
    async with gateway(engine_urls) as served:
        answer = await Visitor(served).press("come", f"token={token('ann')}")
        kept = answer.headers["set-cookie"].lower()
        assert "httponly" in kept
        assert "samesite=lax" in kept
        assert f"path=/e/{EVENT}" in kept


@scenario
async def test_what_others_wrote_is_text_and_no_markup(engine_urls, conn):
    event = make_room(engine_urls.database_url)
    bad = "<script>alert(1)</script>"
    conn.execute(
        "UPDATE room SET message = %s, message_at = clock_timestamp(), look = jsonb_build_object("
        " 'name', %s::text, 'texts', jsonb_build_object('lobby.title', %s::text)) WHERE event_id = %s",
        (bad, bad, bad, event),
    )
    conn.execute("UPDATE event SET name = %s", (bad,))
    async with gateway(engine_urls) as served:
        ann = Visitor(served)
        await ann.press("come", f"token={token('ann')}")
        page = await ann.page()
        assert "<script" not in page
        assert page.count(html.escape(bad)) >= 4
        refused = await ann.press("hold", "quantity=%3Cscript%3E")
        assert b"<script" not in refused.body


@scenario
async def test_an_event_without_a_waiting_room_has_no_such_page(engine_urls):
    make_event(engine_urls.database_url, state=EventState.OPEN)
    async with gateway(engine_urls) as served:
        answer = await served.http("GET", LINE)
        assert (answer.status, answer.headers["location"]) == (303, f"/e/{EVENT}")
