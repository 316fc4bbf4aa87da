"""How the waiting list stands: what an organiser looks at. Reads in one snapshot, locks nobody."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from msgspec import Struct, json
from psycopg.rows import tuple_row

from store.events import Conn, Event, get_event
from store.words import HoldState, Want

GROUPS_MAX = 50
"""Most wishes that are told by themselves, those of most requests first."""

_WAITING = """
SELECT count(*), count(DISTINCT buyer), min(wait_id) FROM waiting WHERE event_id = %s AND state = 'waiting'
"""
_SINCE = "SELECT batch_time FROM ledger_batch WHERE event_id = %s AND batch_no = %s::bigint >> 16"
# What somebody waits for is in the ledger, where the entry's number says.
_WISHES = f"""
SELECT ledger.input::text, count(*) AS requests
  FROM waiting JOIN ledger ON ledger.event_id = waiting.event_id
   AND ledger.batch_no = waiting.wait_id >> 16 AND ledger.position = waiting.wait_id & 65535
 WHERE waiting.event_id = %s AND waiting.state = 'waiting'
 GROUP BY ledger.input::text ORDER BY requests DESC, min(waiting.wait_id) LIMIT {GROUPS_MAX}
"""
_OFFERS = """
SELECT hold.state, count(*) FROM waiting JOIN hold USING (event_id, hold_id)
 WHERE waiting.event_id = %s AND waiting.state = 'offered' GROUP BY hold.state
"""
_LEFT = "SELECT count(*) FROM waiting WHERE event_id = %s AND state = 'left'"


class Wanted(Struct, frozen=True):
    """So many requests wait for the same."""

    requests: int
    want: dict[str, Any]


class Offers(Struct, frozen=True):
    """What became of all that was offered so far: it is open, or it was taken, given back or let run out.

    What was bought is taken, also where the organiser took the order back since. What its buyer moved to
    other seats is given back: who waits behind is offered it.
    """

    open: int
    taken: int
    given_back: int
    run_out: int


class WaitingOverview(Struct, frozen=True):
    """One event's waiting list at one moment."""

    event: Event
    requests: int
    buyers: int
    oldest: datetime | None
    """Since when the first of them waits; None while nobody does."""
    wanted: list[Wanted]
    """The most wanted first, at most `GROUPS_MAX`."""
    offers: Offers
    left: int
    """Requests that their buyers took off the list."""


def read_waiting(conn: Conn, slug: str) -> WaitingOverview:
    """The list of the event of that slug; raises `NotFound`. `conn` has no transaction open."""
    with conn.transaction(), conn.cursor(row_factory=tuple_row) as cursor:
        cursor.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY")
        event = get_event(conn, slug)
        waiting = cursor.execute(_WAITING, (event.id,)).fetchone()
        assert waiting is not None, "an aggregate returns one row"
        requests, buyers, first = waiting
        since = None if first is None else cursor.execute(_SINCE, (event.id, first)).fetchone()
        wanted = [
            Wanted(count, json.decode(text))
            for text, count in cursor.execute(_WISHES, (event.id,)).fetchall()
        ]
        states = dict.fromkeys(HoldState, 0)
        states.update({HoldState(state): count for state, count in cursor.execute(_OFFERS, (event.id,))})
        left = cursor.execute(_LEFT, (event.id,)).fetchone()
    assert left is not None, "an aggregate returns one row"
    offers = Offers(
        states[HoldState.ACTIVE],
        states[HoldState.PAID] + states[HoldState.REFUNDED],
        states[HoldState.RELEASED],
        states[HoldState.EXPIRED],
    )
    return WaitingOverview(event, requests, buyers, since[0] if since else None, wanted, offers, left[0])


def in_words(want: dict[str, Any]) -> str:
    """What a request waits for, in one line: `4 together in Stalls, or 2 and 2`."""
    try:
        read = json.decode(json.encode(want), type=Want)
    except ValueError:
        return json.encode(want).decode()
    return ", or ".join(_choice(choice) for choice in read.choices)


def _choice(choice: Any) -> str:
    parts = [" and ".join([_party(party) for party in choice.parties])] if choice.parties else []
    if choice.seats:
        parts.append(", ".join(choice.seats[:4]) + (" …" if len(choice.seats) > 4 else ""))
    parts += [f"{places} in {area}" for area, places in choice.areas.items()]
    return ("up to " if choice.up_to else "") + " with ".join(parts)


def _party(party: Any) -> str:
    said = f"{party.quantity} apart" if party.apart else f"{party.quantity} together"
    said = "1 seat" if party.quantity == 1 else said
    where = [f"in {party.section}"] if party.section else []
    where += [f"at the {party.category} price"] if party.category else []
    if party.price_min is not None or party.price_max is not None:
        where.append(
            f"for {party.price_min or 0} to {'any price' if party.price_max is None else party.price_max}"
        )
    where += [f"({party.accessible} accessible)"] if party.accessible else []
    return " ".join([said, *where])
