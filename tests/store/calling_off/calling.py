"""A sale to call off, and what must be true however often and by whomever it was done."""

from __future__ import annotations

from typing import Any

import psycopg

from store import audit, events, sales
from store.calling_off import steps
from store.invariant import mismatches, read_capacity
from store.payments import invariant
from store.payments.settlement import settlement
from store.venues.rows import save_venue
from store.words import EventState, HoldKind
from tests.store.payments.paying import TERMS, begun, money_is_answered_for, notice, told
from tests.store.test_holds import HOLD, PLAN, hold

SAID = audit.said("Olga", "the singer is ill")
GUID = [seat.guid for seat in PLAN.seats]
FLOOR = PLAN.areas[0].guid
FREE, RUNS = 2 << 16, 3 << 16


def paid_event(conn: psycopg.Connection[Any]) -> int:
    """An open event whose holds are bought with money."""
    event = events.create_event(conn, "gig", "The gig", save_venue(conn, "arena", PLAN), PLAN)
    events.set_state(conn, "gig", EventState.OPEN)
    conn.execute("UPDATE event SET payment = 'required'")
    conn.execute("INSERT INTO event_price VALUES (%s, %s, 0, %s, true)",
                 (event, TERMS.fee_minor, TERMS.tax_basis_points))  # fmt: skip
    return event


def sold(conn: psycopg.Connection[Any], event: int) -> Any:
    """Paid for: 3, 4 and two places; of which 4 was taken back. Given: 10 and three places. On hold: 20.
    Somebody waits. The payment.
    """
    hold(conn, event)
    payment = begun(conn, event)
    told(conn, notice(payment))
    sales.take_back(conn, event, PLAN, HOLD, SAID, seats=[GUID[4]])
    sales.sell(conn, event, PLAN, [GUID[10]], {FLOOR: 3}, "bob", HoldKind.COMPLIMENTARY, SAID)
    hold(conn, event, hold_id=RUNS, buyer="eve", seats=(20,), places=1)
    conn.execute("INSERT INTO waiting VALUES (%s, 77, 'joe', 'r', 'waiting', NULL)", (event,))
    return payment


def to_the_end(conn: psycopg.Connection[Any]) -> int:
    """Takes steps until nothing is left to do; how many."""
    count = 0
    while steps.step(conn):
        count += 1
        assert count < 100, "it comes to an end"
    return count


def all_is_well(conn: psycopg.Connection[Any], slug: str) -> bool:
    """Seats and money add up, and the settlement balances."""
    [(event,)] = conn.execute("SELECT id FROM event WHERE slug = %s", (slug,)).fetchall()
    assert mismatches(conn, event, read_capacity(conn, event)) == []
    assert invariant.mismatches(conn, event) == []
    found = settlement(conn, slug)
    assert found.balances, found.imbalances
    return money_is_answered_for(conn)


def outbox_of(conn: psycopg.Connection[Any], event: int) -> list[tuple[str, dict[str, Any]]]:
    """(kind, body) in the order they were written."""
    return conn.execute("SELECT kind, body FROM outbox WHERE event_id = %s ORDER BY id", (event,)).fetchall()
