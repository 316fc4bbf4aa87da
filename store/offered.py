"""What an event offers at which price, as who changes it must know it: a snapshot of Postgres, locks nobody.

Promises: the plan is the last one, also where its last move waits for a batch to take it in (`taken_in` says
so); buyers are shown that one when it is. `plan` names it, for who says what they saw when they move more.
"""

from __future__ import annotations

from typing import Final, Literal

import msgspec

from store import event_prices
from store.blocks import Conn
from store.event_prices import BEFORE_THE_SALE, EventPrices
from store.events import get_event
from store.overview import AREAS, Places
from store.plan import decode, fingerprint
from store.recategorise import EARLY
from store.words import EventState

LAST_PLAN: Final = f"""
-- The last move's plan, or the venue's; and what may be changed by now.
SELECT coalesce(last.plan, venue.plan), coalesce(last.version, 0),
       coalesce(last.version = 0 OR last.ledger_at IS NOT NULL, true), limits, {EARLY}
  FROM event JOIN venue ON venue.id = event.venue_id
  LEFT JOIN LATERAL (
    SELECT version, plan, ledger_at FROM event_plan WHERE event_plan.event_id = event.id
     ORDER BY version DESC LIMIT 1) AS last ON true
 WHERE event.id = %(event)s
"""


class Offered(EventPrices, frozen=True):
    """Prices, which seat and area has which of them, and what of that can still be changed."""

    state: EventState
    fees_settled: bool
    """Fees and tax stay as they are."""
    may_move: Literal["free", "any", "none"]
    """Seats and areas that may get another category: those nobody has, whoever has them, none any more."""
    limited: list[str]
    """Categories of which nothing may be moved, and nothing to them: they have a limit per buyer."""
    version: int
    plan: str
    """SHA-256 of the last plan."""
    taken_in: bool
    """Decisions are made by it, and buyers shown it."""
    seat_categories: list[int]
    """Of each seat in the plan's order, the number of its category."""
    area_categories: list[int]
    areas: list[Places]


def read_offered(conn: Conn, slug: str) -> Offered:
    """What the event of that slug offers; raises `NotFound`. `conn` has no transaction open."""
    with conn.transaction():
        conn.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY")
        event = get_event(conn, slug)
        prices = event_prices.read(conn, event.id)
        row = conn.execute(LAST_PLAN, {"event": event.id}).fetchone()
        areas = [Places(*one) for one in conn.execute(AREAS, (event.id,))]
    assert row is not None, "an event has a venue"
    text, version, taken_in, limits, early = row
    encoded = text.encode()
    plan = decode(encoded)
    before = early and not version
    over = event.state is EventState.CLOSED
    return Offered(
        **msgspec.structs.asdict(prices),
        state=event.state,
        fees_settled=event.state not in BEFORE_THE_SALE,
        may_move="none" if over else "free" if before else "any",
        limited=[] if before else [one.name for one in plan.categories if one.name in limits],
        version=version,
        plan=fingerprint(encoded),
        taken_in=taken_in,
        seat_categories=[seat.category for seat in plan.seats],
        area_categories=[area.category for area in plan.areas],
        areas=areas,
    )
