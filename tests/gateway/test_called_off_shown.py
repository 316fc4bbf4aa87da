"""Buyers are told that an event does not take place, where orders went, and how much is sold if wanted."""

from __future__ import annotations

from datetime import UTC, datetime

import msgspec
import psycopg
import pytest

from gateway import figures
from store import events, sales
from store.calling_off import begin
from store.errors import BadRequest
from store.figures.project import step
from store.figures.read import BookedNow, PublicFigures
from store.venues.rows import save_venue
from store.words import EventState, HoldKind
from tests.gateway.rig import EVENT, gateway, scenario
from tests.store.calling_off.calling import SAID
from tests.store.test_holds import PLAN

WHEN = datetime(2030, 5, 1, 20, 0, tzinfo=UTC)
MS = int(WHEN.timestamp() * 1000)


@pytest.fixture
def conn(engine_urls):
    with psycopg.connect(engine_urls.database_url, autocommit=True) as connection:
        yield connection


@pytest.fixture
def event(conn):
    number = events.create_event(
        conn, EVENT, "The gig", save_venue(conn, "arena", PLAN), PLAN, starts_at=WHEN
    )
    events.set_state(conn, EVENT, EventState.OPEN)
    return number


@scenario
async def test_an_event_that_is_canceled_says_so_and_its_sockets_hear_it(engine_urls, conn, event):
    async with gateway(engine_urls) as served, served.socket("ann") as ann:
        told = ann.welcome["event"]
        assert (told["called_off"], told["starts_at"], told["venue"]) == (None, MS, PLAN.name)
        begin.cancel(conn, EVENT, SAID)
        news = await ann.receive("event")
        assert (news["state"], news["called_off"]["to"]) == ("closed", None)
        async with served.socket("bob") as bob:
            assert bob.welcome["event"]["called_off"] == news["called_off"]


@scenario
async def test_a_closed_event_that_is_moved_then_says_where_to_and_when(engine_urls, conn, event):
    venue = save_venue(conn, "arena", PLAN)
    events.create_event(conn, "new", "The gig, again", venue, PLAN, starts_at=WHEN)
    events.set_state(conn, EVENT, EventState.CLOSED)
    async with gateway(engine_urls) as served, served.socket("ann") as ann:
        begin.move(conn, EVENT, "new", SAID)
        news = await ann.receive("event")
        to = {"slug": "new", "name": "The gig, again", "venue": PLAN.name, "starts_at": MS}
        assert news["called_off"]["to"] == to


@scenario
async def test_sockets_hear_of_figures_only_where_the_organiser_wants_it_and_only_what_is_new(
    engine_urls, conn, event, monkeypatch
):
    monkeypatch.setattr(figures, "TOLD_SECONDS", 0.05)
    monkeypatch.setattr(figures, "FRESH_SECONDS", 0.0)
    seats = [seat.guid for seat in PLAN.seats]
    async with gateway(engine_urls) as served, served.socket("ann") as ann:
        sales.sell(conn, event, PLAN, seats[:3], {}, "bob", HoldKind.BOX_OFFICE, SAID)
        while step(conn, event, PLAN):
            pass
        await ann.nothing_for(0.3)  # some rounds with the switch off
        events.set_policy(conn, EVENT, figures_on_page=True)
        first = await ann.receive("figures")
        assert (first["percent_sold"], [one["places"] for one in first["just_booked"]]) == (2.0, [3])
        assert "bob" not in str(first)
        sales.sell(conn, event, PLAN, seats[3:6], {}, "eve", HoldKind.BOX_OFFICE, SAID)
        while step(conn, event, PLAN):
            pass
        second = await ann.receive("figures")
        assert (second["percent_sold"], len(second["just_booked"])) == (4.0, 1)


def test_a_frame_tells_the_last_order_alone():
    booked = [BookedNow(2, "Stalls", 9), BookedNow(1, "Stalls", 8)]
    told = msgspec.json.decode(figures.frame(PublicFigures(1.5, booked, 7)))
    assert told == {
        "type": "figures", "percent_sold": 1.5, "age_ms": 7,
        "just_booked": [{"places": 2, "section": "Stalls", "at": 9}],
    }  # fmt: skip


@pytest.mark.parametrize("when", [datetime(2030, 5, 1), datetime(1999, 1, 1, tzinfo=UTC)])  # noqa: DTZ001
def test_a_time_that_nobody_can_mean_is_refused(conn, event, when):
    with pytest.raises(BadRequest, match="starts_at"):
        events.set_policy(conn, EVENT, starts_at=when)
    assert events.get_event(conn, EVENT).starts_at == WHEN
