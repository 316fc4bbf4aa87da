"""Another category (price level) for some seats and areas of one event, before its sale or while it runs.

The venue's plan never changes: an event that has such moves keeps plans of its own, the venue's with the
categories moved, and whoever reads the event's plan reads the last that counts. They have versions.

- **Version 0** is settled while the event is a draft that does not open within minutes: nobody has decided or
  shown anything by it yet, so it is written over. What somebody has keeps its category.
- **Versions 1, 2 …** are moves of a sale. Each is a row of its own and a fact: the ledger says between which
  requests it came to count, and the batch that consumes it writes that place into the row (`ledger_at`). So
  what a hold or order costs is told by its number: what it was decided under, whatever is moved afterwards.

A category with a limit per buyer is settled when the sale begins: what somebody has of it was counted.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

import msgspec
from msgspec import Struct

from store import audit, blocks
from store.audit import Said
from store.blocks import Conn, in_transaction, named, numbers, some
from store.categories import with_category
from store.errors import Conflicted, NotFound
from store.events import get_event
from store.plan import Plan, check, decode, encode, fingerprint
from store.venues.rows import load_plan
from store.words import EventState, FactKind, Recategorise, SeatState, WasOf

MINUTES_BEFORE_OPENING: Final = 5
"""An allocator reads the plan a minute before a lobby or a sale begins by itself."""
VERSIONS_MAX: Final = 100
"""Most moves of a running sale: each keeps a plan."""

EARLY: Final = f"""state = 'draft' AND coalesce(
         least(lobby_opens_at, opens_at)
           > clock_timestamp() + interval '{MINUTES_BEFORE_OPENING} minutes', true)
       -- times can be moved: who has read the plan by now has decided something, if only that it is a draft
       AND NOT EXISTS (SELECT FROM event_cursor WHERE event_id = event.id AND batch_no > 0)"""
"""Of an event: nobody has read its plan yet to decide by it."""

LOCK_EVENT: Final = f"""
-- One move at a time: the next reads the version that this one makes.
SELECT state, limits, {EARLY}
  FROM event WHERE id = %(event)s FOR NO KEY UPDATE
"""

READ: Final = """
SELECT version, plan FROM event_plan WHERE event_id = %(event)s ORDER BY version DESC LIMIT 1
"""

KEEP_DRAFT: Final = """
INSERT INTO event_plan (event_id, version, plan, plan_sha256) VALUES (%(event)s, 0, %(plan)s, %(sha256)s)
ON CONFLICT (event_id, version) DO UPDATE SET plan = excluded.plan, plan_sha256 = excluded.plan_sha256
"""

KEEP_MOVE: Final = """
INSERT INTO event_plan (event_id, version, plan, plan_sha256, moved)
VALUES (%(event)s, %(version)s, %(plan)s, %(sha256)s, %(moved)s)
"""


class Recategorised(Struct, frozen=True):
    """Seats and areas, by guid, that have this category now."""

    category: str
    seats: list[str]
    areas: list[str]
    version: int = 0
    """Of the event's plan: how many moves there were since the sale began."""


def recategorise(
    conn: Conn,
    slug: str,
    category: str,
    seats: Sequence[str],
    areas: Sequence[str],
    said: Said,
    *,
    version: int | None = None,
    seen: str | None = None,
) -> Recategorised:
    """Give seats and areas (by guid) a category of the plan, by name; the same again changes nothing.

    With `version`, only if that is the plan's version still; with `seen`, the SHA-256 of a plan, only if it
    is the event's still, also of a draft. Whoever calls this pokes the stream then: the allocator wakes.

    Raises `BadRequest`, `NotFound` (unknown_event, unknown_seat, unknown_area, unknown_category),
    `Conflicted`: plan_changed, where the version is another by now; before the sale seats_not_free and
    places_not_free, where somebody has some of them; while it runs category_limited and too_many_moves; once
    it is over categories_fixed. `Unavailable`.
    """
    event = get_event(conn, slug)
    base = load_plan(conn, event.venue_id)
    wanted = numbers(base, seats, dict.fromkeys(areas, 1))
    names = [one.name for one in base.categories]
    if category not in names:
        story = f"The plan has no category {category[:100]!r}; it has: {some(names)}."
        raise NotFound("unknown_category", story)
    move = Recategorise(0, names.index(category), wanted.seats, tuple(area for area, _ in wanted.areas))

    def attempt() -> Recategorised:
        state, limits, early = conn.execute(LOCK_EVENT, {"event": event.id}).fetchall()[0]
        row = conn.execute(READ, {"event": event.id}).fetchone()
        known, before = (0, base) if row is None else (row[0], decode(row[1].encode()))
        if version not in (None, known):
            story = f"The plan of {slug!r} is version {known} by now. Nothing was changed; look at it again."
            raise Conflicted("plan_changed", story)
        if seen not in (None, fingerprint(encode(before))):
            story = f"The plan of {slug!r} is another by now. Nothing was changed; look at it again."
            raise Conflicted("plan_changed", story)
        if state == EventState.CLOSED:
            raise Conflicted("categories_fixed", f"The sale of {slug!r} is over: its categories are settled.")
        there = named(base, move.seats, [(area, base.areas[area].capacity) for area in move.areas])
        made = known
        plan = with_category(before, move.category, move.seats, move.areas)
        if early and not known:
            these = {"seats": list(move.seats), "areas": list(move.areas)}
            _refuse_taken(conn, base, {"event": event.id} | these)
        if plan != before:
            check(plan)
            if not early or known:
                _refuse_limited(before, move, limits)
                made = _next(slug, known)
            _keep(conn, event.id, made, plan, msgspec.structs.replace(move, version=made), before)
            what = {"change": "recategorise", "category": category} | ({"version": made} if made else {})
            audit.write(conn, event.id, said, what | there)
        return Recategorised(category, there["seats"], list(there["areas"]), made)

    return in_transaction(conn, attempt)


def _keep(conn: Conn, event_id: int, version: int, plan: Plan, move: Recategorise, before: Plan) -> None:
    """The event's plan from now on; of a sale with the fact that says so to its allocator."""
    encoded = encode(plan)
    values: dict[str, Any] = {"event": event_id, "version": version, "plan": encoded.decode()}
    values["sha256"] = bytes.fromhex(fingerprint(encoded))
    if not version:
        conn.execute(KEEP_DRAFT, values)
        return
    was = WasOf(
        [(seat, before.seats[seat].category) for seat in move.seats],
        [(area, before.areas[area].category) for area in move.areas],
    )
    conn.execute(KEEP_MOVE, values | {"moved": msgspec.json.encode(was).decode()})
    body = msgspec.json.encode(move).decode()
    fact = {"event": event_id, "kind": FactKind.RECATEGORISED.value, "hold": None, "body": body}
    conn.execute(blocks.INSERT_FACT, fact)


def _next(slug: str, known: int) -> int:
    if known >= VERSIONS_MAX:
        story = f"Categories of {slug!r} were moved {known} times since the sale began, which is the most."
        raise Conflicted("too_many_moves", f"{story} Nothing was changed; block seats and sell them by hand.")
    return known + 1


def _refuse_limited(plan: Plan, move: Recategorise, limits: Mapping[str, int]) -> None:
    """What buyers have of a limited category was counted when they got it."""
    touched = {move.category, *(plan.seats[seat].category for seat in move.seats)}
    touched |= {plan.areas[area].category for area in move.areas}
    limited = [
        name for name in (plan.categories[number].name for number in sorted(touched)) if name in limits
    ]
    if limited:
        story = f"{some(limited)} has a limit per buyer, so what is of it is settled since the sale began."
        raise Conflicted("category_limited", f"{story} Nothing was changed.")


def _refuse_taken(conn: Conn, plan: Plan, values: Mapping[str, Any]) -> None:
    found = conn.execute(blocks.LOCK_SEATS, values).fetchall()
    taken = [plan.seats[seat].guid for seat, state, _ in found if state in (SeatState.HELD, SeatState.SOLD)]
    if taken:
        story = f"Somebody has {some(taken)}. Nothing was changed; leave these out."
        raise Conflicted("seats_not_free", story)
    for area, free, blocked in conn.execute(blocks.LOCK_AREAS, values).fetchall():
        if free + blocked < plan.areas[area].capacity:
            story = f"Somebody has places in {plan.areas[area].guid}. Nothing was changed; leave it out."
            raise Conflicted("places_not_free", story)
