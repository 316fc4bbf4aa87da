"""A real gateway's proof of work, solved by a real browser: the buyer gets the place, once for each proof."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator

import psycopg
import pytest
from playwright.sync_api import Page, Route, expect

from gateway.room.settings import RoomSettings
from store import events
from store.audit import Said
from store.room import operating
from store.room.words import Proof, RoomTerms
from store.settings import EngineUrls
from store.venues.rows import save_venue
from store.words import EventState
from tests.browser.conftest import Profile, Tabs
from tests.browser.live import serving
from tests.browser.live_stack import rows_of

pytestmark = pytest.mark.browser

SLUG = f"vespers-{os.getpid()}"
"""Each process that runs tests has its own, for channels are the whole server's."""
CHALLENGE = "**/room/challenge"
ROOM = RoomSettings(key="a key for the waiting room of these tests", proof_tries_max=50)


@pytest.fixture
def page(engine_urls: EngineUrls, profile: Profile) -> Iterator[Page]:
    """At the lobby of a room that always asks for a proof."""
    with psycopg.connect(engine_urls.database_url, autocommit=True) as conn:
        plan = rows_of(2)
        events.create_event(conn, SLUG, "Vespers", save_venue(conn, "chapel", plan), plan)
        operating.make(conn, SLUG, RoomTerms(proof=Proof.ALWAYS), Said("Olga", "the day of the sale"))
        events.set_state(conn, SLUG, EventState.LOBBY)
    with serving(engine_urls, demo=True, room=ROOM) as served:
        tabs = Tabs(profile, f"http://127.0.0.1:{served.port}")
        yield tabs.open(f"/e/{SLUG}")
        tabs.close()
    assert tabs.wrong == [], "the page wrote errors to the console"


def join(page: Page) -> None:
    page.get_by_role("button", name="Join", exact=True).click()


def joined(page: Page) -> None:
    expect(page.get_by_role("heading", name="You are in")).to_be_visible()


def counted(page: Page) -> None:
    """The place is one of those there are, and the only one."""
    joined(page)
    expect(page.get_by_text("1 person has joined")).to_be_visible()


def test_a_worker_solves_it_and_the_buyer_has_the_place(page: Page) -> None:
    with page.expect_worker() as worker:
        join(page)
    assert worker.value.url.endswith("/core/proofworker.js")
    counted(page)
    page.reload()
    counted(page)


def test_a_wrong_one_and_a_used_one_are_found_anew(page: Page) -> None:
    given: list[str] = []

    def hand_out(route: Route) -> None:
        """The first is not the gateway's; so is, after leaving, the next one that was used before."""
        told = route.fetch().text()
        given.append(told)
        if len(given) == 1:
            wrong = json.loads(told)
            wrong["signature"] = wrong["signature"][::-1]
            told = json.dumps(wrong)
        elif len(given) == 3:
            told = given[1]
        route.fulfill(body=told, content_type="application/json")

    page.route(CHALLENGE, hand_out)
    join(page)
    counted(page)
    assert len(given) == 2
    page.get_by_role("button", name="Leave the line").click()
    page.get_by_role("button", name="Leave for good").click()
    join(page)
    joined(page)
    assert len(given) == 4
