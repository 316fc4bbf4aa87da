"""A whole onsale of real processes for the journeys of this folder: two gateways, the owner of the events,
the simulated provider, on real engines. It is started once; each journey has an event of its own on it, and
what a journey killed or held back is put right before the next.
"""

from __future__ import annotations

import itertools
import os
import urllib.request
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import psycopg
from msgspec import json
from playwright.sync_api import Page, expect

from onsale.processes import Stack, throwaway_stack
from store import events
from store.audit import Said
from store.plan import Category, Plan, Seat, Section, encode, fingerprint, number
from store.room import operating
from store.room.words import RoomTerms
from store.settings import EngineUrls
from store.venues.rows import save_venue
from store.words import EventState

GOLD = 4800
SAID = Said("Olga", "the day of the sale")
SOON_TRUE_MAX = 300
"""Looks at the truth, a tenth of a second apart, before it is said that it never became so."""
_NUMBERS = itertools.count(1)

JOINED = """
-- Who joined too, while the lobby lasts.
INSERT INTO place (event_id, buyer, in_draw) SELECT %s, 'crowd-' || n, true FROM generate_series(1, %s) AS n
"""

RUN_OUT = """
-- All holds that run, and offers, end within a moment. The owner hears of it as of more time for them, which
-- is less than none here.
WITH before AS (
  SELECT hold_id, expires_at FROM hold WHERE event_id = %(event)s AND state = 'active' FOR UPDATE),
after AS (
  UPDATE hold SET expires_at = clock_timestamp() + interval '2 seconds' FROM before
   WHERE hold.event_id = %(event)s AND hold.hold_id = before.hold_id
  RETURNING hold.hold_id, hold.expires_at - before.expires_at AS added)
INSERT INTO fact (event_id, kind, hold_id, body)
SELECT %(event)s, 'extended', hold_id,
       json_build_object('by_us', (extract(epoch FROM added) * 1000000)::bigint)
  FROM after
"""


@contextmanager
def running_stack(urls: EngineUrls) -> Iterator[Stack]:
    with throwaway_stack(
        gateways=2,
        allocators=1,
        payments=True,
        database_url=urls.database_url,
        redis_url=urls.redis_url,
        env={"ONSALE_DEMO": "1"},
    ) as running:
        yield running


def as_it_was(stack: Stack) -> None:
    """What a journey killed or held back is there for the next one, also where the journey failed."""
    for name, process in stack.processes.items():
        if not process.alive:
            stack.start_again(name)
    tell_notices(stack, True)


def tell_notices(stack: Stack, told: bool) -> None:
    """Whether the provider sends what it has to tell, or keeps it until it may."""
    body = json.encode({"webhooks": told})
    urllib.request.urlopen(urllib.request.Request(f"{stack.provider_url}/control", body)).close()


def rows_of(*lengths: int) -> Plan:
    """A chapel with rows A, B, … of so many seats, the first the best."""
    seats = [
        Seat(f"{'ABCDEFGH'[row]}-{n}", 0, "ABCDEFGH"[row], str(n), 0, float(n), float(row + 1))
        for row, length in enumerate(lengths)
        for n in range(1, length + 1)
    ]
    width = max(lengths) + 1.0
    gold = Category("Gold", GOLD, "EUR", "#aa8800")
    size = (width, len(lengths) + 2.0)
    return number("Chapel", "EUR", [gold], [Section("Stalls")], seats, [], focal=(width / 2, 0.0), size=size)


class LiveEvent:
    """An event on the stack, and its organiser's connection."""

    def __init__(self, stack: Stack, conn: psycopg.Connection, slug: str, number: int) -> None:
        self.stack, self.conn, self.slug, self.id = stack, conn, slug, number
        self.path = f"/e/{slug}"

    def column(self, query: str) -> list[Any]:
        """What the query gives, whose %s is the event."""
        return [row[0] for row in self.conn.execute(query, [self.id]).fetchall()]

    def await_column(
        self, page: Page, query: str, rows: Sequence[Any], meanwhile: Callable[[], None] = lambda: None
    ) -> None:
        """Until the truth is so; the page goes on meanwhile."""
        for _ in range(SOON_TRUE_MAX):
            meanwhile()
            if self.column(query) == rows:
                return
            page.wait_for_timeout(100)
        raise AssertionError(f"{query} still gives {self.column(query)}, not {rows}")

    def run_out(self, *pages: Page) -> None:
        """The time of all holds and offers is over in a moment, however long they were to last; these pages
        come anew, and so know of it.
        """
        self.conn.execute(RUN_OUT, {"event": self.id})
        for page in pages:
            page.reload()

    def become(self, state: EventState) -> None:
        events.set_state(self.conn, self.slug, state)


@contextmanager
def live_event(
    stack: Stack,
    name: str,
    plan: Plan,
    *,
    room: RoomTerms | None = None,
    crowd: int = 0,
    title: str = "",
    **policy: Any,
) -> Iterator[LiveEvent]:
    """On sale; with a waiting room: in its lobby, with a crowd that joined. Closed in the end."""
    with psycopg.connect(stack.urls.database_url, autocommit=True) as conn:
        venue = save_venue(conn, f"chapel-{fingerprint(encode(plan))[:8]}", plan)
        slug = f"{name.lower()}-{os.getpid()}-{next(_NUMBERS)}"  # channels are the whole server's
        number = events.create_event(conn, slug, title or name, venue, plan, **policy)
        there = LiveEvent(stack, conn, slug, number)
        if room is None:
            there.become(EventState.OPEN)
        else:
            operating.make(conn, slug, room, SAID)
            there.become(EventState.LOBBY)
            conn.execute(JOINED, (number, crowd))
        try:
            yield there
        finally:
            as_it_was(stack)
            there.become(EventState.CLOSED)


def hold_two(page: Page) -> None:
    """The best two, which are the buyer's then."""
    page.get_by_role("button", name="Best available").click()
    page.locator(".choosing .button.main").click()
    expect(page.locator(".holding .mine li")).to_have_count(2)


def heading(page: Page, text: str) -> None:
    expect(page.get_by_role("heading", name=text)).to_be_visible()
