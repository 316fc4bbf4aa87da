"""Events as operators change them: made, opened, paused, resumed, closed, and their policy.

Each function is one short transaction on the connection it is given (a savepoint where the caller
has one open). `said` is who acts by hand and why, for the row in `audit` that is written with the change;
None where nobody does: a demo, a benchmark. What decisions depend on reaches the allocator as a `policy` fact
in the same transaction, so the ledger can say under which policy each decision was made. Lock order, as for
all writers: event row, cursor row, holds by id, seats.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from datetime import datetime
from typing import Any

import msgspec
import psycopg
from msgspec.structs import asdict
from psycopg.rows import kwargs_row, tuple_row
from psycopg.types.json import Jsonb

from store import audit
from store.audit import Said
from store.errors import Conflicted, NotFound, Unavailable
from store.lost_time import INSERT_FACT, LOCK_CURSOR, give_pause_back
from store.plan import Plan
from store.room.rooms import end_lobby
from store.schedule import NO_CHANGE, Times, TimesChange, changed, check_times
from store.terms import (
    DECIDED_BY,
    TERMS,
    Terms,
    changed_since,
    check,
    check_limits,
    check_terms,
    terms_in,
)
from store.venues.rows import load_plan
from store.words import EventId, EventState, FactKind, Micros, Policy, TourLimit

Conn = psycopg.Connection[Any]

SLUG = re.compile(r"[a-z0-9](?:[a-z0-9-]{0,62}[a-z0-9])?")
SLUG_RULE = "1 to 64 of a-z, 0-9 and -, not beginning or ending with -"
NAME_LENGTH_MAX = 200
LOCK_WAIT_SECONDS_MAX = 5
EVENTS_MAX = 1_000
"""Most events a listing names, newest first."""

TRANSITIONS: dict[EventState, tuple[EventState, ...]] = {
    EventState.DRAFT: (EventState.LOBBY, EventState.OPEN),
    EventState.LOBBY: (EventState.OPEN,),
    EventState.OPEN: (EventState.PAUSED, EventState.CLOSED),
    EventState.PAUSED: (EventState.OPEN, EventState.CLOSED),
    EventState.CLOSED: (),
}


class Event(Terms, frozen=True, kw_only=True):
    """An event's row."""

    id: int
    slug: str
    name: str
    venue_id: int
    state: EventState
    opens_at: datetime | None
    """When its sale begins by itself."""
    lobby_opens_at: datetime | None
    """When its lobby does."""
    paused_at: datetime | None
    created_at: datetime
    tour: str | None = None
    """The slug of the tour it is a date of."""


_TOUR = "(SELECT slug FROM tour WHERE tour.id = event.tour_id) AS tour"
_COLUMNS = ", ".join(_TOUR if name == "tour" else name for name in Event.__struct_fields__)
_READ = f"SELECT {_COLUMNS} FROM event WHERE slug = %s"
_READ_LOCKED = _READ + " FOR UPDATE"  # one operator at a time changes an event
_LIST = f"SELECT {_COLUMNS} FROM event ORDER BY id DESC LIMIT {EVENTS_MAX}"

_INSERT_EVENT = f"""
INSERT INTO event (slug, name, venue_id, opens_at, lobby_opens_at, {", ".join(TERMS)})
VALUES (%(slug)s, %(name)s, %(venue)s, %(opens_at)s, %(lobby_opens_at)s,
        {", ".join(f"%({term})s" for term in TERMS)})
RETURNING id
"""
_INSERT_SEATS = "INSERT INTO seat (event_id, seat_no) SELECT %s, generate_series(0, %s - 1)"
_INSERT_AREAS = """
INSERT INTO area (event_id, area_no, capacity)
SELECT %s, ordinality - 1, capacity FROM unnest(%s::int[]) WITH ORDINALITY AS t (capacity, ordinality)
"""
_SET_STATE = """
UPDATE event SET state = %(to)s, paused_at = CASE WHEN %(to)s = 'paused' THEN clock_timestamp() END
WHERE id = %(event)s
"""
_SET_TIMES = """
UPDATE event SET lobby_opens_at = %(lobby_opens_at)s, opens_at = %(opens_at)s WHERE id = %(event)s
"""
_SET_POLICY = f"""
UPDATE event SET {", ".join(f"{term} = coalesce(%({term})s, {term})" for term in TERMS)}
WHERE id = %(event)s
"""
_READ_POLICY = f"""
SELECT state, (extract(epoch FROM paused_at) * 1000000)::bigint, tour.id, tour.seats_per_buyer_max,
       {", ".join(f"event.{term}" for term in DECIDED_BY)}
FROM event LEFT JOIN tour ON tour.id = event.tour_id WHERE event.id = %s
"""
_READ_CATEGORIES = """
SELECT ARRAY (SELECT category ->> 'name' FROM json_array_elements(plan::json -> 'categories') AS category)
FROM venue WHERE id = %s
"""
_JOIN_TOUR = "UPDATE event SET tour_id = %s WHERE id = %s"


@contextmanager
def changing(conn: Conn) -> Iterator[None]:
    """A transaction that changes an event by hand; raises `Unavailable` when it is locked too long."""
    try:
        with conn.transaction():
            conn.execute(f"SET LOCAL lock_timeout = '{LOCK_WAIT_SECONDS_MAX}s'")
            yield
    except (psycopg.errors.LockNotAvailable, psycopg.errors.DeadlockDetected) as error:
        raise Unavailable(
            "The event is being changed by somebody else; nothing was changed. Try again."
        ) from error


def create_event(
    conn: Conn,
    slug: str,
    name: str,
    venue_id: int,
    plan: Plan,
    *,
    opens_at: datetime | None = None,
    lobby_opens_at: datetime | None = None,
    said: Said | None = None,
    **terms: Any,
) -> int:
    """Make a draft event with a row for every seat and area of `plan`, and return its id.

    `terms` are fields of `store.terms.Terms`. Raises `BadRequest` for a value out of bounds, `NotFound` for
    no such venue, `Conflicted` for a slug that is taken.
    """
    check(SLUG.fullmatch(slug) is not None, "slug", SLUG_RULE)
    check(
        0 < len(name.strip()) <= NAME_LENGTH_MAX and name.isprintable(),
        "name",
        f"1 to {NAME_LENGTH_MAX} printable characters",
    )
    times = Times(lobby_opens_at, opens_at)
    check_times(times)
    check_terms(terms)
    values = {"slug": slug, "name": name.strip(), "venue": venue_id} | asdict(times)
    all_terms = Terms(**terms)
    categories = [category.name for category in plan.categories]
    check_limits(all_terms.limits, all_terms.seats_per_buyer_max, categories)
    values |= _as_columns(terms_in(all_terms))
    try:
        with changing(conn):
            if conn.execute("SELECT 1 FROM venue WHERE id = %s", (venue_id,)).fetchone() is None:
                raise NotFound("unknown_venue", f"There is no venue {venue_id}. Import or make one first.")
            event = int(_one(conn, _INSERT_EVENT, values))
            conn.execute(_INSERT_SEATS, (event, len(plan.seats)))
            conn.execute(_INSERT_AREAS, (event, [area.capacity for area in plan.areas]))
            conn.execute("INSERT INTO event_cursor (event_id) VALUES (%s)", (event,))
            conn.execute("INSERT INTO lease (event_id) VALUES (%s)", (event,))
            tell_allocator(conn, event)
            if said is not None:
                what = {"change": "create event", "event": slug, **asdict(times), "terms": terms}
                audit.write(conn, event, said, what)
    except psycopg.errors.UniqueViolation as error:
        raise Conflicted(
            "event_exists", f"There is an event {slug!r} already. Choose another name."
        ) from error
    with changing(conn):  # without statistics the batch's unnest join gets a bad plan
        conn.execute("ANALYZE seat")
    return event


def find_venue(conn: Conn, slug: str) -> tuple[int, Plan]:
    """A venue's id and plan, as `create_event` takes them; raises `NotFound` naming those there are."""
    with conn.cursor(row_factory=tuple_row) as cursor:
        if SLUG.fullmatch(slug):  # Postgres refuses to be asked about some texts, such as one with a NUL
            row = cursor.execute("SELECT id FROM venue WHERE slug = %s", (slug,)).fetchone()
            if row is not None:
                return int(row[0]), load_plan(conn, int(row[0]))
        there = cursor.execute("SELECT slug FROM venue ORDER BY id DESC LIMIT 10").fetchall()
    known = f"There are: {', '.join(one for (one,) in there)}." if there else "Import or make one first."
    raise NotFound("unknown_venue", f"There is no venue {slug!r}. {known}")


def set_state(
    conn: Conn,
    slug: str,
    to: EventState,
    *,
    leaving: tuple[EventState, ...] | None = None,
    seen: EventState | None = None,
    said: Said | None = None,
) -> Event:
    """Open, pause, resume (open again) or close an event; with `leaving`, only out of one of these states.

    `seen` is the state in which whoever changes it believes it to be. Leaving a pause gives every hold that
    ran when it began the lost time back. Raises `NotFound`, `Conflicted` (event_changed) where somebody else
    was quicker, (event_state) for a change the state does not allow, `Unavailable` when locked too long.
    """
    with changing(conn):
        event = _locked(conn, slug)
        if seen is not None and seen is not event.state:
            raise Conflicted("event_changed", _changed_meanwhile(conn, event, seen))
        if to not in TRANSITIONS[event.state] or (leaving is not None and event.state not in leaving):
            raise Conflicted("event_state", _not_allowed(event, to, leaving))
        extended_us = give_pause_back(conn, event.id) if event.state is EventState.PAUSED else 0
        conn.execute(_SET_STATE, {"to": to.value, "event": event.id})
        if to is EventState.OPEN:
            end_lobby(conn, event.id)
        tell_allocator(conn, event.id, holds_extended_us=extended_us)
        if said is not None:
            audit.write(conn, event.id, said, {"change": "state", "from": event.state, "to": to})
        return get_event(conn, slug)


def close_for_good(conn: Conn, slug: str) -> Event:
    """Close an event whatever state it is in, in the caller's transaction; a closed one stays as it is.

    The event's row and its cursor are locked until that commits: what batches hold is held by then, and
    the next one knows that nothing is sold any more. Raises `NotFound`.
    """
    event = _locked(conn, slug)
    conn.execute(LOCK_CURSOR, (event.id,))
    if event.state is EventState.CLOSED:
        return event
    extended_us = give_pause_back(conn, event.id) if event.state is EventState.PAUSED else 0
    conn.execute(_SET_STATE, {"to": EventState.CLOSED.value, "event": event.id})
    tell_allocator(conn, event.id, holds_extended_us=extended_us)
    return get_event(conn, slug)


def set_policy(
    conn: Conn,
    slug: str,
    said: Said | None = None,
    times: TimesChange = NO_CHANGE,
    *,
    seen: Mapping[str, Any] | None = None,
    **change: Any,
) -> Event:
    """Change some of `store.terms.Terms`, for requests decided from now on; running holds keep their time.

    What is None stays; `times` say when it begins by itself. Which categories have a limit is settled when
    the sale begins: from then on how much of each a buyer has is counted. `seen` has terms as whoever changes
    some believes them to be. Raises `NotFound`, `BadRequest` for a value out of bounds, `Conflicted`
    (event_changed) where somebody else was quicker, (limits_fixed) for other categories, (payment_fixed)
    where holds would be bought another way, (times_fixed) for a time of what has begun.
    """
    change = {term: value for term, value in change.items() if value is not None}
    check_terms(change)
    with changing(conn):
        event = _locked(conn, slug)
        if other := changed_since(seen or {}, event):
            raise Conflicted("event_changed", _others_by_now(conn, event, other))
        _check_limits(conn, event, change)
        _check_payment(event, change)
        told = _set_times(conn, event, times)
        conn.execute(_SET_POLICY, dict.fromkeys(TERMS) | _as_columns(change) | {"event": event.id})
        # no decision depends on the others; gateways and holders' writes read the event
        if not change.keys().isdisjoint(DECIDED_BY):
            tell_allocator(conn, event.id)
        if said is not None and (change or told):
            audit.write(conn, event.id, said, {"change": "policy", "terms": change | told})
        return get_event(conn, slug)


def join_tour(conn: Conn, slug: str, tour_id: int) -> tuple[str | None, Event]:
    """Make a draft a date of a tour: the tour it was of before (this one or none), and the event.

    Raises `NotFound`, `Conflicted` (event_not_draft) for one that has begun, (event_of_tour) for another's.
    """
    with changing(conn):
        event = _locked(conn, slug)
        policy = load_policy(conn, EventId(event.id))
        if policy.tour is not None and policy.tour.id == tour_id:
            return event.tour, event
        if policy.tour is not None:
            raise Conflicted("event_of_tour", f"Event {slug!r} is a date of {event.tour!r}; it stays that.")
        if event.state is not EventState.DRAFT:
            story = f"Event {slug!r} is {event.state}; only a draft can join a tour. Make a new event."
            raise Conflicted("event_not_draft", story)
        conn.execute(_JOIN_TOUR, (tour_id, event.id))
        tell_allocator(conn, event.id)
        return None, get_event(conn, slug)


def get_event(conn: Conn, slug: str) -> Event:
    """The event of that slug; raises `NotFound`."""
    return _read(conn, _READ, slug)


def list_events(conn: Conn) -> list[Event]:
    """Events, newest first, at most `EVENTS_MAX`."""
    with conn.cursor(row_factory=kwargs_row(_event)) as cursor:
        return cursor.execute(_LIST).fetchall()


def load_policy(conn: Conn, event_id: int) -> Policy:
    """The policy an event has now; raises `NotFound`.

    Facts the allocator has not consumed yet are in it already.
    """
    row = conn.cursor(row_factory=tuple_row).execute(_READ_POLICY, (event_id,)).fetchone()
    if row is None:
        raise NotFound("unknown_event", f"There is no event number {event_id}.")
    state, paused_at, tour_id, tour_seats_max, *terms = row
    return Policy(
        state=EventState(state),
        tour=None if tour_id is None else TourLimit(tour_id, tour_seats_max),
        paused_at=None if paused_at is None else Micros(paused_at),
        **dict(zip(DECIDED_BY, terms, strict=True)),
    )


def tell_allocator(conn: Conn, event_id: int, *, holds_extended_us: int = 0) -> None:
    """What decisions depend on now, as a fact in the caller's transaction."""
    policy = load_policy(conn, EventId(event_id))
    if holds_extended_us:
        policy = msgspec.structs.replace(policy, holds_extended_us=holds_extended_us)
    body = msgspec.json.encode(policy).decode()
    conn.execute(INSERT_FACT, (event_id, FactKind.POLICY.value, body))


def _check_limits(conn: Conn, event: Event, change: dict[str, Any]) -> None:
    if change.keys().isdisjoint({"limits", "seats_per_buyer_max"}):
        return
    limits: dict[str, int] = change.get("limits", event.limits)
    most = change.get("seats_per_buyer_max", event.seats_per_buyer_max)
    check_limits(limits, most, _one(conn, _READ_CATEGORIES, (event.venue_id,)))
    if event.state not in (EventState.DRAFT, EventState.LOBBY) and limits.keys() != event.limits.keys():
        names = ", ".join(repr(name) for name in event.limits) or "none"
        story = f"The sale has begun with limits of these categories: {names}. Their numbers can be changed."
        raise Conflicted("limits_fixed", story)


def _check_payment(event: Event, change: dict[str, Any]) -> None:
    begun = event.state not in (EventState.DRAFT, EventState.LOBBY)
    if begun and change.get("payment", event.payment) != event.payment:
        story = (
            f"The sale has begun with payment {event.payment!r}; it stays. Close it and make another event."
        )
        raise Conflicted("payment_fixed", story)


def _set_times(conn: Conn, event: Event, change: TimesChange) -> dict[str, datetime | None]:
    """Those that are other times now. No decision depends on them: who attends to the event looks at them
    each second."""
    before = Times(event.lobby_opens_at, event.opens_at)
    after = changed(event.state, before, change)
    if after != before:
        conn.execute(_SET_TIMES, asdict(after) | {"event": event.id})
    was = asdict(before)
    return {name: value for name, value in asdict(after).items() if value != was[name]}


def _as_columns(terms: dict[str, Any]) -> dict[str, Any]:
    return {name: Jsonb(value) if isinstance(value, dict) else value for name, value in terms.items()}


def _locked(conn: Conn, slug: str) -> Event:
    return _read(conn, _READ_LOCKED, slug)


def _read(conn: Conn, statement: str, slug: str) -> Event:
    event = None
    if SLUG.fullmatch(slug):  # Postgres refuses to be asked about some texts, such as one with a NUL
        with conn.cursor(row_factory=kwargs_row(_event)) as cursor:
            event = cursor.execute(statement, (slug,)).fetchone()
    if event is None:
        raise NotFound("unknown_event", f"There is no event {slug!r}. List them to see which there are.")
    return event


def _event(**columns: Any) -> Event:
    return Event(**(columns | {"state": EventState(columns["state"])}))


def _one(conn: Conn, statement: str, values: tuple[object, ...] | dict[str, Any]) -> Any:
    row = conn.cursor(row_factory=tuple_row).execute(statement, values).fetchone()
    assert row is not None, "the statement returns exactly one row"
    return row[0]


def _changed_meanwhile(conn: Conn, event: Event, seen: EventState) -> str:
    story = f"Event {event.slug!r} is {event.state} now, not {seen}: it was changed meanwhile"
    last = next((row for row in audit.read(conn, event.id, limit=10) if row.what["change"] == "state"), None)
    by = f" by {last.who}" if last is not None and last.what.get("to") == event.state else ""
    return f"{story}{by}. Look at it again, then decide."


def _others_by_now(conn: Conn, event: Event, other: dict[str, Any]) -> str:
    """Of whom it is told where one of the last rows set one of these."""
    rows = (row for row in audit.read(conn, event.id, limit=10) if row.what["change"] == "policy")
    last = next((row for row in rows if not other.keys().isdisjoint(row.what["terms"])), None)
    by = f" by {last.who}" if last is not None else ""
    said = ", ".join(f"{name} is {value}" for name, value in other.items())
    return f"Event {event.slug!r} was changed meanwhile{by}: {said}. Look at it again, then decide."


def _not_allowed(event: Event, to: EventState, leaving: tuple[EventState, ...] | None) -> str:
    allowed = " or ".join(TRANSITIONS[event.state])
    here = f"Event {event.slug!r} is {event.state}"
    if to is event.state:
        here += " already"
    elif to in TRANSITIONS[event.state] and leaving is not None:
        here += f", not {' or '.join(leaving)}"
    return f"{here}; from there it can become {allowed}." if allowed else f"{here}; that is final."
