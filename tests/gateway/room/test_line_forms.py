"""What is filled in on the waiting room's plain page: codes, addresses, wishes; and who waits in place of a
proof."""

from __future__ import annotations

import html
import json
import re
from collections.abc import Iterator
from typing import Any
from urllib.parse import urlencode

import psycopg
import pytest

from gateway.room.patience import Patience
from gateway.room.settings import RoomSettings
from store.room import codes
from store.room.words import Proof
from tests.gateway.rig import EVENT, Served, gateway, scenario, until
from tests.gateway.room.lobby import make_room, room_at
from tests.gateway.room.visitor import LINE, visitors


@pytest.fixture
def conn(database_url: str) -> Iterator[psycopg.Connection[Any]]:
    with psycopg.connect(database_url, autocommit=True) as connection:
        yield connection


@scenario
async def test_a_code_is_used_when_joining_or_by_who_stands_in_line_already(engine_urls, conn):
    event = make_room(engine_urls.database_url)
    first, second = codes.issue(conn, event, "fan club", 2, 1)
    async with gateway(engine_urls) as served:
        ann, bob = await visitors(served, "ann", "bob")
        assert "I have a code" in await ann.page()
        refused = (await ann.press("join", "code=7K2M-Q9RT-X4WD-WRON&email=ann%40example.org")).body.decode()
        assert "That did not work: " in refused
        assert 'value="7K2M-Q9RT-X4WD-WRON"' in refused, "what was typed is there to be mended"
        assert 'value="ann@example.org"' in refused
        assert (await ann.press("join", f"code={first}")).status == 303
        await bob.press("join")
        assert "Use this code" in await bob.page("?form=code")
        nothing = (await bob.press("join", "form=code&code=")).body.decode()
        assert "Type your code" in nothing
        assert (await bob.press("join", f"form=code&code={second}")).status == 303
        for one in (ann, bob):
            assert "a line of its own" in await one.page()
        lanes = conn.execute("SELECT lane FROM place WHERE state = 'waiting'").fetchall()
        assert lanes == [("priority",), ("priority",)]


@scenario
async def test_codes_are_not_guessed_here_either(engine_urls):
    make_room(engine_urls.database_url)
    async with gateway(engine_urls, room=RoomSettings(codes_per_buyer_minute=1)) as served:
        (ann,) = await visitors(served, "ann")
        told = [(await ann.press("join", f"code=7K2M-Q9RT-X4WD-{n:04}")).body for n in range(7)]
        assert b"Too many wrong codes" in told[-1]
        assert b"Too many wrong codes" not in told[0]


@scenario
async def test_an_address_for_mail_is_given_when_joining_and_changed_after(engine_urls, conn):
    make_room(engine_urls.database_url)
    async with gateway(engine_urls) as served:
        (ann,) = await visitors(served, "ann")
        wrong = await ann.press("join", "email=a%40b%2C+c%40d")
        assert b"no address mail can be sent to" in wrong.body
        assert "You are in" not in await ann.page()
        await ann.press("join", "email=ann%40example.org")
        assert "ann@example.org" not in await ann.page(), "nobody but the mail sees it"
        assert "Write to this address" in await ann.page("?form=mail")
        assert (await ann.press("join", "form=mail&email=other%40example.org")).status == 303
        assert conn.execute("SELECT email FROM place").fetchall() == [("other@example.org",)]
        assert b"no address" in (await ann.press("join", "form=mail&email=")).body


@scenario
async def test_a_wish_is_filed_seen_changed_and_withdrawn(engine_urls, conn):
    event = make_room(engine_urls.database_url, ballot=True)
    filed = "SELECT want FROM ballot_wish WHERE event_id = %s"
    async with gateway(engine_urls) as served:
        (ann,) = await visitors(served, "ann")
        await ann.press("join")
        assert "What would you like?" in await ann.page()
        form = await ann.page("?form=wish")
        where = re.findall(r'<option value="(s:[^"]+)"', form)[0]
        assert 'name="fewer"' in form
        wish = {"form": "wish", "quantity": "3", "where": html.unescape(where), "fewer": "on"}
        assert (await ann.press("wish", urlencode(wish))).status == 303
        section = html.unescape(where).removeprefix("s:")
        want = json.loads(conn.execute(filed, (event,)).fetchone()[0])
        best = {"quantity": 3, "section": section}
        assert want == {"best": best, "fallbacks": [{"best": best, "up_to": True}]}
        page = await ann.page()
        assert "Your wish is filed" in page
        assert f"Up to 3 together in {section}" in html.unescape(page)
        form = await ann.page("?form=wish")
        assert '<option value="3" selected>' in form
        assert f'<option value="{where}" selected>' in form
        assert 'name="fewer" checked' in form
        refused = (await ann.press("wish", urlencode(wish | {"where": "s:Nowhere"}))).body.decode()
        assert "no such part of the house" in refused
        assert '<option value="3" selected>' in refused
        await ann.press("wish", "form=wish&quantity=1")
        assert json.loads(conn.execute(filed, (event,)).fetchone()[0]) == {"best": {"quantity": 1}}
        assert (await ann.press("withdraw")).status == 303
        assert conn.execute(filed, (event,)).fetchone() is None
        assert "What would you like?" in await ann.page()


class Clock:
    """A gateway's for waits in place of proofs."""

    now = 1_000_000.0

    def __call__(self) -> float:
        return self.now


def patient(served: Served) -> Clock:
    clock = Clock()
    served.runtime.guard.patience = Patience(b"s" * 32, clock)
    return clock


@scenario
async def test_who_cannot_prove_waits_and_joins(engine_urls, conn):
    make_room(engine_urls.database_url, proof=Proof.ALWAYS)
    async with gateway(engine_urls) as served:
        clock = patient(served)
        ann, bob = await visitors(served, "ann", "bob")
        assert "Begin to wait (10 seconds)" in await ann.page()
        assert (await ann.press("wait")).status == 303
        assert "10 seconds left to wait" in await ann.page()
        assert ann.last.headers["refresh"].startswith("11;")
        assert "Begin to wait (20 seconds)" in await bob.page(), "of one network one goes after the other"
        clock.now += 4
        await ann.press("wait")
        assert "6 seconds left to wait" in await ann.page(), "who presses again waits no longer"
        assert (await ann.press("join")).status == 303
        assert "6 seconds left to wait" in await ann.page(), "nor shorter"
        clock.now += 6
        page = await ann.page()
        assert "Your wait is over" in page
        assert "refresh" not in ann.last.headers
        assert (await ann.press("join", "email=ann%40example.org")).status == 303
        assert "You are in" in await ann.page()
        assert conn.execute("SELECT buyer, email FROM place").fetchall() == [("ann", "ann@example.org")]
        bob.cookies["onsale-wait"] = ann.cookies.get("onsale-wait", "")
        assert "Begin to wait" in await bob.page()


@scenario
async def test_what_was_typed_when_a_room_became_busy_is_kept_through_the_wait(engine_urls, conn):
    event = make_room(engine_urls.database_url, proof=Proof.ALWAYS)
    wrong = urlencode({"code": "7K2M-Q9RT-X4WD-WRON", "email": "ann@example.org"})
    (code,) = codes.issue(conn, event, "fan club", 1, 1)
    async with gateway(engine_urls) as served:
        clock = patient(served)
        (ann,) = await visitors(served, "ann")
        typed = urlencode({"code": code, "email": "ann@example.org"})
        shown = await ann.press("join", typed)
        assert shown.status == 200
        assert f'value="{code}"' in shown.body.decode()
        assert b"10 seconds left to wait" in shown.body
        assert "refresh" not in shown.headers
        clock.now += 10
        told = (await ann.press("join", wrong)).body.decode()
        assert "That did not work" in told
        assert 'value="ann@example.org"' in told, "also where the wait was used up"
        assert b"10 seconds left to wait" in (await ann.press("join", typed)).body
        clock.now += 10
        assert (await ann.press("join", typed)).status == 303
        assert "a line of its own" in await ann.page()


@scenario
async def test_who_has_a_place_waits_for_nothing_more(engine_urls):
    event = make_room(engine_urls.database_url, proof=Proof.OFF)
    async with gateway(engine_urls) as served:
        (ann,) = await visitors(served, "ann")
        await ann.press("join")
        with psycopg.connect(engine_urls.database_url) as conn:
            conn.execute("UPDATE room SET proof = 'always' WHERE event_id = %s", (event,))
        room_at(served).poke()
        await until(lambda: room_at(served).told.proof)
        assert (await ann.press("join", "form=mail&email=ann%40example.org")).status == 303
        assert "left to wait" not in await ann.page()


@scenario
async def test_a_human_check_that_needs_scripts_is_said_and_what_to_do(engine_urls):
    make_room(engine_urls.database_url)
    check = RoomSettings(human_check_url="http://127.0.0.1:9/", human_check_secret="s")
    async with gateway(engine_urls, room=check) as served:
        (ann,) = await visitors(served, "ann")
        page = await ann.page()
        assert "that check needs JavaScript" in page
        assert f'href="/e/{EVENT}"' in page
        assert "/line/join" not in page, "no button that could only be refused"
        refused = await ann.press("join")
        assert b"The check that you are human did not succeed" in refused.body


@scenario
async def test_what_renews_itself_can_be_stopped_and_what_is_filled_in_never_does(engine_urls):
    make_room(engine_urls.database_url)
    async with gateway(engine_urls) as served:
        (ann,) = await visitors(served, "ann")
        await ann.page()
        assert "refresh" not in ann.last.headers, "there is a form to fill in"
        await ann.press("join")
        assert f'href="{LINE}?still=1"' in await ann.page()
        assert "refresh" in ann.last.headers
        page = await ann.page("?still=1")
        assert "refresh" not in ann.last.headers
        assert f'href="{LINE}"' in page, "and started again"
        for form in ("code", "mail", "leave"):
            await ann.page(f"?form={form}")
            assert "refresh" not in ann.last.headers
        assert "lost for good" in await ann.page("?form=leave"), "leaving is asked once"
        assert (await ann.press("leave")).status == 303
        assert "The sale begins soon" in await ann.page()


@scenario
async def test_forms_that_are_no_forms_of_ours_are_refused_in_words(engine_urls):
    make_room(engine_urls.database_url)
    async with gateway(engine_urls) as served:
        (ann,) = await visitors(served, "ann")
        many = "&".join(f"f{n}=1" for n in range(50))
        assert (await ann.press("join", many)).status == 400
        assert (await ann.press("join", "code=" + "x" * 300)).status == 200
        assert "Join" in await ann.page("?form=%3Cscript%3E")
        ann.cookies["onsale-wait"] = "9" * 90
        assert "Join" in await ann.page()
