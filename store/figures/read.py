"""Figures as pages and operators see them, each with its age; counted by `store.figures.project`.

`age_ms`: everything that happened longer ago than that is in the figures; 0 where all there is, is. It grows
when nobody counts, so nobody takes old figures for new ones. They decide nothing.
"""

from __future__ import annotations

from typing import Any, Final

import psycopg
from msgspec import Struct

from store import lookups
from store import plan as plans
from store.events import get_event
from store.figures.fold import MINUTE_US, SECONDS_TO_ORDER, UNTOLD, Figures, Holds, Orders, Refunds
from store.figures.kept import decode
from store.figures.rows import capacity_of
from store.lookups import Conn as AsyncConn
from store.plan import Plan

LAG_ROWS: Final = 100
"""Of so many rows that are not counted the oldest is looked for: rows come nearly in order of time."""

READ: Final = f"""
-- The figures, and since when something is not in them.
SELECT coalesce(figures.figures::text, '{{}}'), coalesce(figures.capacity, 0),
       (extract(epoch FROM clock_timestamp() - least(
          (SELECT min(at) FROM (
             SELECT at FROM outbox
              WHERE outbox.event_id = event.id
                AND number > coalesce(figures.outbox_number, 0)
              ORDER BY number LIMIT {LAG_ROWS}) AS uncounted),
          (SELECT batch_time FROM ledger_batch
            WHERE ledger_batch.event_id = event.id
              AND ledger_batch.batch_no = coalesce(figures.batch_no, 0) + 1))) * 1000)::bigint
  FROM event LEFT JOIN figures ON figures.event_id = event.id WHERE event.id = %(event)s
"""


class BookedNow(Struct, frozen=True):
    """An order of a moment ago; `at` in milliseconds."""

    places: int
    section: str
    at: int


class PublicFigures(Struct, frozen=True):
    """What every buyer may see."""

    percent_sold: float
    """Of all seats and places of the plan, rounded down to a tenth."""
    just_booked: list[BookedNow]
    """The newest first."""
    age_ms: int


class CategoryRevenue(Struct, frozen=True):
    """See `store.figures.fold.Revenue`. Without a name: what goes back for no seats that can be named."""

    category: str | None
    places: int
    gross_minor: int
    fee_minor: int
    tax_minor: int
    refunded_minor: int
    moved_minor: int


class MinuteFigures(Struct, frozen=True):
    """What was booked in the minute that began at `at` (milliseconds)."""

    at: int
    orders: int
    places: int


class Bucket(Struct, frozen=True):
    """Holds that became orders within `seconds_max` of the decision; null: later than all of these."""

    seconds_max: int | None
    orders: int


class Conversion(Struct, frozen=True):
    """How many holds became orders, and how fast."""

    holds: int
    """Given and offered, without those that were moved."""
    orders: int
    buckets: list[Bucket]


class EventFigures(Struct, frozen=True):
    """All of them, for operators."""

    event: str
    age_ms: int
    percent_sold: float
    sold: int
    capacity: int
    currency: str
    orders: Orders
    holds: Holds
    refunds: Refunds
    revenue: list[CategoryRevenue]
    orders_per_minute: list[MinuteFigures]
    conversion: Conversion
    just_booked: list[BookedNow]


def read(conn: psycopg.Connection[Any], slug: str) -> EventFigures:
    """An event's figures; raises `NotFound`."""
    event_id = get_event(conn, slug).id
    plan = plan_of(conn, event_id)
    row = conn.execute(READ, {"event": event_id}).fetchone()
    assert row is not None, "the event is there"
    figures, age_ms = decode(row[0]), _age_ms(row[2])
    capacity = capacity_of(plan)
    return EventFigures(
        slug,
        age_ms,
        _percent(figures.sold, capacity),
        figures.sold,
        capacity,
        plan.currency,
        figures.orders,
        figures.holds,
        figures.refunds,
        _revenue(figures, plan),
        _minutes(figures),
        _conversion(figures),
        _booked(figures),
    )


async def read_public(connection: AsyncConn, event_id: int) -> PublicFigures:
    """What of an event's figures everybody may see."""
    row = await (await connection.execute(READ, {"event": event_id})).fetchone()
    assert row is not None, "the event is there"
    figures = decode(row[0])
    return PublicFigures(_percent(figures.sold, row[1]), _booked(figures), _age_ms(row[2]))


def plan_of(conn: psycopg.Connection[Any], event_id: int) -> Plan:
    """The plan that counts now."""
    text = conn.execute(lookups.READ_PLAN, (event_id,)).fetchall()[0][0]
    return plans.decode(text.encode())


def _percent(sold: int, capacity: int) -> float:
    return sold * 1_000 // capacity / 10 if capacity else 0.0


def _age_ms(found: int | None) -> int:
    return max(0, found or 0)


def _booked(figures: Figures) -> list[BookedNow]:
    return [BookedNow(one.places, one.section, one.at // 1_000) for one in figures.booked]


def _minutes(figures: Figures) -> list[MinuteFigures]:
    minutes = sorted(figures.minutes.items())
    return [MinuteFigures(no * MINUTE_US // 1_000, one.orders, one.places) for no, one in minutes]


def _revenue(figures: Figures, plan: Plan) -> list[CategoryRevenue]:
    rows = []
    for number, one in sorted(figures.revenue.items()):
        name = None if number == UNTOLD else plan.categories[number].name
        parts = (one.places, one.gross_minor, one.fee_minor, one.tax_minor)
        rows.append(CategoryRevenue(name, *parts, one.refunded_minor, one.moved_minor))
    return rows


def _conversion(figures: Figures) -> Conversion:
    holds = figures.holds
    buckets = [
        Bucket(most, figures.to_order.get(number, 0)) for number, most in enumerate((*SECONDS_TO_ORDER, None))
    ]
    given = holds.given + holds.offered - holds.moved
    return Conversion(given, sum([one.orders for one in buckets]), buckets)
