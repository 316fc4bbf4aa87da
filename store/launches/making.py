"""Makes a launch that was checked: plan, event, prices, waiting room, codes: in one transaction or none.

Whoever calls this pokes the event's stream afterwards. The audit has a row for each part, as if an operator
had done one after the other.
"""

from __future__ import annotations

from typing import Any

import psycopg

from store import audit, event_prices, events
from store.audit import Said
from store.errors import Conflicted
from store.launches.checking import checked
from store.launches.reading import read
from store.launches.words import Begin, Checked, Launch, Launched, MadeCodes, NewCodes
from store.plan import Plan, encode, fingerprint
from store.prices import PriceTerms
from store.room import operating
from store.room.words import Room
from store.terms import terms_in
from store.tours import add_event
from store.venues.rows import SLUG_LENGTH_MAX, save_venue
from store.words import EventState

Conn = psycopg.Connection[Any]

STATES = {Begin.LOBBY: EventState.LOBBY, Begin.OPEN: EventState.OPEN}


def launch(conn: Conn, raw: bytes, said: Said) -> Launched:
    """Read, check and make it. Raises `NotLaunched` naming every field that is wrong, `BadRequest`
    (invalid_body), `Conflicted` (event_exists, venue_exists), `Unavailable`; then nothing is made."""
    there = checked(conn, read(raw))
    return make(conn, there, said)


def make(conn: Conn, there: Checked, said: Said) -> Launched:
    """All of it, or nothing."""
    wanted, plan = there.launch, there.plan
    slug = wanted.event.slug
    with conn.transaction():
        venue_id, venue = _keep(conn, there)
        event_id = events.create_event(
            conn,
            slug,
            wanted.event.name or slug,
            venue_id,
            plan,
            opens_at=wanted.event.opens_at,
            lobby_opens_at=wanted.event.lobby_opens_at,
            **terms_in(wanted.event),
        )
        what = {"change": "launch", "venue": venue, "begin": wanted.begin.value}
        audit.write(conn, event_id, said, what)
        if wanted.event.tour is not None:
            add_event(conn, wanted.event.tour, slug, said)
        terms = PriceTerms(*(getattr(wanted.prices, name) for name in PriceTerms.__struct_fields__))
        prices = event_prices.set_terms(conn, slug, terms, said)
        room = _make_room(conn, wanted, said)
        codes = [_issue(conn, slug, one, said) for one in wanted.codes]
        if wanted.begin in STATES:
            events.set_state(conn, slug, STATES[wanted.begin])
        event = events.get_event(conn, slug)
    return Launched(
        event=event,
        venue=venue,
        seats=len(plan.seats),
        places=sum(area.capacity for area in plan.areas),
        prices=prices,
        room=None if room is None else room.terms,
        seed_sha256=None if room is None else room.seed_sha256.hex(),
        codes=codes,
    )


def _keep(conn: Conn, there: Checked) -> tuple[int, str]:
    """The venue of the plan: that which has it, or a new one."""
    wanted = there.launch
    if there.venue_id is not None:
        assert wanted.venue is not None, "a plan that is there already was named"
        return there.venue_id, wanted.venue
    if wanted.venue_slug is not None:
        return save_venue(conn, wanted.venue_slug, there.plan), wanted.venue_slug
    return _save_somewhere(conn, wanted.event.slug, there.plan)


def _save_somewhere(conn: Conn, slug: str, plan: Plan) -> tuple[int, str]:
    """Under the event's slug; where another plan has it, with the plan's fingerprint behind it."""
    try:
        with conn.transaction():
            return save_venue(conn, slug, plan), slug
    except Conflicted:
        mark = fingerprint(encode(plan))[:8]
        other = f"{slug[: SLUG_LENGTH_MAX - len(mark) - 1].rstrip('-')}-{mark}"
        return save_venue(conn, other, plan), other


def _make_room(conn: Conn, wanted: Launch, said: Said) -> Room | None:
    slug = wanted.event.slug
    if wanted.room is None:
        return None
    room = operating.make(conn, slug, wanted.room, said)
    if wanted.look is not None:
        room = operating.dress(conn, slug, wanted.look, said)
    if wanted.message is not None:
        room = operating.say(conn, slug, wanted.message, said)
    return room


def _issue(conn: Conn, slug: str, one: NewCodes, said: Said) -> MadeCodes:
    made = operating.issue_codes(conn, slug, said, label=one.label, count=one.count, uses=one.uses)
    return MadeCodes(one.label.strip(), one.uses, made)
