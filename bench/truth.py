"""Reads one event's evidence from the database, in one snapshot, without locking anybody."""

from __future__ import annotations

from typing import Any

import psycopg

from bench.evidence import AreaRow, Batch, Change, HoldRow, LedgerRow, TourSeen, Truth
from store import plan as plans
from store.errors import NotFound
from store.restored import goes_on_at

EVENT = """
-- The plan that the sale began with; the ledger says what was moved since.
SELECT event.id, coalesce(event_plan.plan, venue.plan)
  FROM event JOIN venue ON venue.id = event.venue_id
  LEFT JOIN event_plan ON event_plan.event_id = event.id AND event_plan.version = 0
 WHERE event.slug = %s
"""
SEATS = "SELECT seat_no, state, hold_id FROM seat WHERE event_id = %s ORDER BY seat_no"
AREAS = "SELECT area_no, capacity, held, sold, blocked FROM area WHERE event_id = %s ORDER BY area_no"
HOLDS = "SELECT hold_id, buyer, request_id, state, quantity FROM hold WHERE event_id = %s ORDER BY hold_id"
HOLD_SEATS = "SELECT seat_no, hold_id FROM hold_seat WHERE event_id = %s ORDER BY seat_no"
HOLD_AREAS = "SELECT hold_id, area_no, quantity FROM hold_area WHERE event_id = %s ORDER BY hold_id"
HISTORY = """
SELECT seat_no, (extract(epoch FROM at) * 1000000)::bigint, state, hold_id, by
  FROM seat_history WHERE event_id = %s ORDER BY at, ctid
"""
LEDGER = """
SELECT batch_no, position, kind, coalesce(arrival, ''), coalesce(buyer, ''), coalesce(request_id, ''),
       input::text, outcome, result::text
  FROM ledger WHERE event_id = %s ORDER BY batch_no, position
"""
BATCHES = """
SELECT batch_no, epoch, (extract(epoch FROM batch_time) * 1000000)::bigint, arrival,
       octet_length(row_digests) / 16
  FROM ledger_batch WHERE event_id = %s ORDER BY batch_no
"""
TOUR = """
SELECT tour.id, tour.seats_per_buyer_max FROM tour JOIN event ON event.tour_id = tour.id WHERE event.id = %s
"""
ON_ALL_DATES = """
SELECT buyer, sum(quantity)::int FROM hold JOIN event ON event.id = hold.event_id
 WHERE event.tour_id = %s AND hold.state IN ('active', 'paid') AND hold.kind = 'buyer'
 GROUP BY buyer ORDER BY buyer
"""
CURSOR = "SELECT batch_no, arrival FROM event_cursor WHERE event_id = %s"
WAITING = "SELECT wait_id, buyer, request_id, state FROM waiting WHERE event_id = %s ORDER BY wait_id"
FACTS = """
SELECT CASE WHEN kind = 'released' AND body IS NOT NULL THEN 'released_some' ELSE kind END, hold_id
  FROM fact WHERE event_id = %s ORDER BY id
"""


def read_truth(connection: psycopg.Connection[Any], slug: str) -> Truth:
    """Everything the database holds about the event. Raises `NotFound`. Memory: about 1 KB a request."""
    with connection.transaction():
        connection.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY")
        found = connection.execute(EVENT, (slug,)).fetchone()
        if found is None:
            raise NotFound("unknown_event", f"There is no event {slug!r} in this database.")
        event_id, plan = found

        def rows(statement: str) -> list[tuple[Any, ...]]:
            return connection.execute(statement.encode(), (event_id,)).fetchall()

        cursor, tour = rows(CURSOR), None
        for number, most in rows(TOUR):
            counts = connection.execute(ON_ALL_DATES, (number,)).fetchall()
            tour = TourSeen(most, [(buyer, count) for buyer, count in counts])
        return Truth(
            slug=slug,
            plan=plans.decode(plan.encode()),
            seats=[(seat, state, hold) for seat, state, hold in rows(SEATS)],
            areas=[AreaRow(*row) for row in rows(AREAS)],
            holds=[HoldRow(*row) for row in rows(HOLDS)],
            hold_seats=[(seat, hold) for seat, hold in rows(HOLD_SEATS)],
            hold_areas=[(hold, area, quantity) for hold, area, quantity in rows(HOLD_AREAS)],
            history=[Change(*row) for row in rows(HISTORY)],
            ledger=[LedgerRow(*row) for row in rows(LEDGER)],
            batches=[Batch(*row) for row in rows(BATCHES)],
            cursor_batch_no=cursor[0][0] if cursor else 0,
            cursor_arrival=cursor[0][1] if cursor else "0-0",
            waiting=[(wait_id, buyer, key, state) for wait_id, buyer, key, state in rows(WAITING)],
            facts=[(kind, hold) for kind, hold in rows(FACTS)],
            tour=tour,
            restored=goes_on_at(connection, event_id),
        )
