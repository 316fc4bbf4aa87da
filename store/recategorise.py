"""Another category (price level) for some seats and areas of one event, before its sale begins.

The venue's plan never changes: an event that has such moves keeps a plan of its own, the venue's with the
categories moved, and whoever reads the event's plan reads that one. It is settled while the event is a draft
that does not open within minutes: nobody has decided or shown anything by it yet, so every decision of the
event is made, and replayed, by one plan. Seats and places that somebody has keep their category.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from msgspec import Struct
from msgspec.structs import replace

from store import audit, blocks
from store.audit import Said
from store.blocks import Conn, in_transaction, named, numbers, some
from store.errors import Conflicted, NotFound
from store.events import get_event
from store.plan import Block, Plan, check, decode, encode, fingerprint, stretches
from store.venues.rows import load_plan
from store.words import SeatState

MINUTES_BEFORE_OPENING: Final = 5
"""An allocator reads the plan a minute before an event opens by itself."""

LOCK_DRAFT: Final = f"""
SELECT state = 'draft' AND coalesce(
         opens_at > clock_timestamp() + interval '{MINUTES_BEFORE_OPENING} minutes', true)
  FROM event WHERE id = %(event)s FOR NO KEY UPDATE
"""

READ: Final = "SELECT plan FROM event_plan WHERE event_id = %(event)s"

KEEP: Final = """
INSERT INTO event_plan (event_id, plan, plan_sha256) VALUES (%(event)s, %(plan)s, %(sha256)s)
ON CONFLICT (event_id) DO UPDATE SET plan = excluded.plan, plan_sha256 = excluded.plan_sha256
"""


class Recategorised(Struct, frozen=True):
    """Seats and areas, by guid, that have this category now."""

    category: str
    seats: list[str]
    areas: list[str]


def recategorised(plan: Plan, seats: Sequence[int], areas: Sequence[int]) -> Plan:
    """The venue's plan with the category of every seat and area as given, by number.

    Seats keep their numbers; blocks are cut where the category changes and at the same aisles as ever.
    """
    hard = {plan.blocks[stretch.start].first for stretch in stretches(plan)}
    for before, block in zip(plan.blocks, plan.blocks[1:], strict=False):
        if before.category == block.category:  # what parts them is no change of category
            hard.add(block.first)
    cuts = [
        seat
        for seat in range(len(plan.seats))
        if seat == 0
        or seat in hard
        or plan.seats[seat].row != plan.seats[seat - 1].row
        or plan.seats[seat].section != plan.seats[seat - 1].section
        or seats[seat] != seats[seat - 1]
    ]
    ends = [*cuts, len(plan.seats)][1:]
    return replace(
        plan,
        seats=tuple(
            replace(seat, category=category) for seat, category in zip(plan.seats, seats, strict=True)
        ),
        areas=tuple(
            replace(area, category=category) for area, category in zip(plan.areas, areas, strict=True)
        ),
        blocks=tuple(
            Block(first, end - first, plan.seats[first].section, seats[first])
            for first, end in zip(cuts, ends, strict=True)
        ),
    )


def recategorise(
    conn: Conn, slug: str, category: str, seats: Sequence[str], areas: Sequence[str], said: Said
) -> Recategorised:
    """Give seats and areas (by guid) a category of the plan, by name; the same again changes nothing.

    Raises `BadRequest`, `NotFound` (unknown_event, unknown_seat, unknown_area, unknown_category),
    `Conflicted` (categories_fixed) once the event is no draft or opens soon, and where somebody has some of
    them (seats_not_free, places_not_free), `Unavailable`.
    """
    event = get_event(conn, slug)
    base = load_plan(conn, event.venue_id)
    wanted = numbers(base, seats, dict.fromkeys(areas, 1))
    names = [one.name for one in base.categories]
    if category not in names:
        story = f"The plan has no category {category[:100]!r}; it has: {some(names)}."
        raise NotFound("unknown_category", story)
    to = names.index(category)
    values: dict[str, Any] = {"event": event.id, "seats": list(wanted.seats)}
    values["areas"] = [area for area, _ in wanted.areas]

    def attempt() -> Recategorised:
        if not conn.execute(LOCK_DRAFT, values).fetchall()[0][0]:
            story = f"Categories of {slug!r} are settled: it is {get_event(conn, slug).state}, or opens soon."
            raise Conflicted("categories_fixed", story)
        _refuse_taken(conn, base, values)
        row = conn.execute(READ, values).fetchone()
        now = base if row is None else decode(row[0].encode())
        plan = _moved(base, now, dict.fromkeys(wanted.seats, to), dict.fromkeys(values["areas"], to))
        there = named(base, wanted.seats, [(area, base.areas[area].capacity) for area in values["areas"]])
        if plan != now:
            check(plan)
            encoded = encode(plan)
            digest = bytes.fromhex(fingerprint(encoded))
            conn.execute(KEEP, values | {"plan": encoded.decode(), "sha256": digest})
            what = {"change": "recategorise", "category": category}
            audit.write(conn, event.id, said, what | there)
        return Recategorised(category, there["seats"], list(there["areas"]))

    return in_transaction(conn, attempt)


def _moved(base: Plan, now: Plan, seats: Mapping[int, int], areas: Mapping[int, int]) -> Plan:
    return recategorised(
        base,
        [seats.get(number, seat.category) for number, seat in enumerate(now.seats)],
        [areas.get(number, area.category) for number, area in enumerate(now.areas)],
    )


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
