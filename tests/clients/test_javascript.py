"""The JavaScript client in Chromium against a real gateway: by socket, server-sent events, and by asking."""

from __future__ import annotations

import contextlib
import os
import shutil
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import psycopg
import pytest
from playwright.async_api import Page, async_playwright

from gateway.room.settings import RoomSettings
from store.room.words import Proof, RoomPolicy
from store.words import EventState
from tests.gateway.rig import EVENT, SEATS, Served, StandIn, gateway, scenario, token
from tests.gateway.room.lobby import call, make_room

SCRIPT = Path(__file__).parents[2] / "clients" / "js" / "onsale.js"
ROOM = RoomSettings(key="a key for the waiting room of these tests", proof_tries_max=50)
NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")


def _chromium(own: str) -> str | None:
    """None: playwright's own."""
    executable = next((found for name in NAMES if (found := shutil.which(name))), None)
    if executable is None and not Path(own).exists():
        (pytest.fail if os.environ.get("CI") else pytest.skip)("No Chromium.")
    return executable


@contextlib.asynccontextmanager
async def page_with(served: Served, ways: list[str]) -> AsyncIterator[Page]:
    """A page of the gateway with `buyer`, who is ann."""
    async with async_playwright() as playwright:
        executable = _chromium(playwright.chromium.executable_path)
        browser = await playwright.chromium.launch(executable_path=executable, args=["--no-sandbox"])
        page = await (await browser.new_context(bypass_csp=True)).new_page()
        url = f"http://127.0.0.1:{served.port}"
        await page.route(
            "**/onsale.js", lambda route: route.fulfill(path=SCRIPT, content_type="text/javascript")
        )
        await page.goto(f"{url}/v1/events")
        await page.evaluate(
            "async ([url, event, token, ways]) => {"
            " const { Buyer } = await import('/onsale.js');"
            " window.buyer = new Buyer(url, event, token, { ways }); }",
            [url, EVENT, token("ann"), ways],
        )
        yield page
        await browser.close()


@pytest.mark.browser
@pytest.mark.parametrize("ways", [["socket"], ["events", "poll"], ["poll"]])
@scenario
async def test_from_joining_with_work_to_a_decision(engine_urls, ways):
    event = make_room(
        engine_urls.database_url, state=EventState.OPEN, policy=RoomPolicy.FIFO, proof=Proof.ALWAYS
    )
    async with (
        gateway(engine_urls, room=ROOM) as served,
        StandIn(engine_urls, event),
        page_with(served, ways) as page,
    ):
        place: dict[str, Any] = await page.evaluate("buyer.join({ email: 'ann@example.org' })")
        assert (place["state"], place["position"]) == ("waiting", 1)
        with psycopg.connect(engine_urls.database_url, autocommit=True) as conn:
            call(conn, event, 1)
        assert (await page.evaluate("buyer.turn()"))["state"] == "admitted"
        assert (await page.evaluate("buyer.moreTime()"))["more_left"] == 2
        begun = await page.evaluate("buyer.begin()")
        longer = await page.evaluate("buyer.moreTime()")
        assert longer["until"] - begun["until"] == 450_000
        ask = f"buyer.request({{ seats: ['{SEATS[0]}'] }}, 'r1')"
        decision = await page.evaluate(ask)
        assert (decision["outcome"], decision["id"]) == ("held", "r1")
        assert await page.evaluate(ask) == decision, "the same key, the same answer"
        code = "buyer.join({ code: 'no code at all' }).catch((error) => error.code)"
        assert await page.evaluate(code) == "code_not_valid"
        assert (await page.evaluate("buyer.leave()"))["state"] == "left"


@pytest.mark.browser
@scenario
async def test_a_gateway_that_went_is_come_back_to_with_the_same_place(engine_urls):
    event = make_room(engine_urls.database_url, state=EventState.OPEN, policy=RoomPolicy.FIFO)
    async with StandIn(engine_urls, event):
        async with gateway(engine_urls, room=ROOM) as first:
            port = first.port
            context = page_with(first, ["socket"])
            page = await context.__aenter__()
            place = await page.evaluate("buyer.join()")
        async with gateway(engine_urls, room=ROOM, port=port):
            with psycopg.connect(engine_urls.database_url, autocommit=True) as conn:
                call(conn, event, 1)
            assert (await page.evaluate("buyer.turn()"))["place"] == place["place"]
            await context.__aexit__(None, None, None)
