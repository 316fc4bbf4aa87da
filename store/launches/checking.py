"""Checks a launch that was read: each field against its bounds, its plan and the others. It writes nothing.

Each check that fails names its field and the others go on, so who fills in a form is told everything at
once. What only the making can tell (a slug that somebody took in this moment) is refused there.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from datetime import datetime
from typing import Any, Final

import psycopg
from msgspec.structs import replace

from store import plan as plans
from store.errors import BadRequest, NotFound
from store.events import NAME_LENGTH_MAX, SLUG, SLUG_RULE, find_venue
from store.launches.reading import PARTS, NotLaunched, Read
from store.launches.words import CODES_MAX, Begin, Checked, Launch, NewCodes, NewEvent, NewPrices
from store.plan import Plan
from store.room import codes, look, operating, rooms
from store.room.look import Look
from store.room.words import RoomPolicy, RoomTerms
from store.schedule import Times, check_times
from store.terms import TERMS, Terms, check_limits, check_moment, check_terms
from store.tours import get_tour
from store.venues import checks
from store.venues.checks import PlanError
from store.venues.source import PlanFile, PlanMade, plan_made, plan_of_file

Conn = psycopg.Connection[Any]

NOW: Final = "SELECT clock_timestamp()"
EVENT_EXISTS: Final = "SELECT 1 FROM event WHERE slug = %s"
CURRENCY: Final = re.compile("[A-Z]{3}")
SOURCES: Final = ("venue", "plan", "make")


def checked(conn: Conn, found: Read) -> Checked:
    """The launch and its plan, or raises `NotLaunched` with everything that is wrong."""
    row = conn.execute(NOW).fetchone()
    assert row is not None, "there is always a time"
    _check_event(conn, found, row[0])
    venue_id, plan = _plan(conn, found)
    if plan is not None:
        plan, venue_id = _check_prices(found, plan, venue_id)
        _check_event_limits(found, plan)
    _check_room(found)
    if found.errors:
        _check_slug_is_free(conn, found)
        raise NotLaunched(found.errors)
    assert plan is not None, "a launch without a plan has an error"
    return Checked(_launch(found), plan, venue_id)


def _said(found: Read, field: str, check: Callable[..., object], *given: Any) -> bool:
    """Whether the check of what is given holds; what it says is the field's error."""
    try:
        check(*given)
    except (BadRequest, NotFound) as error:
        says = str(error)
        for begins in (f"{field} ", f"{field.rpartition('.')[2]} "):
            says = says.removeprefix(begins)
        found.wrong(field, says.rstrip("."))
        return False
    return True


def _check_event(conn: Conn, found: Read, now: datetime) -> None:
    event = found.parts.get("event", {})
    slug, name = event.get("slug"), event.get("name")
    if slug is not None and not SLUG.fullmatch(slug):
        found.wrong("event.slug", f"must be {SLUG_RULE}")
    if name and not (len(name.strip()) <= NAME_LENGTH_MAX and name.isprintable() and name.strip()):
        found.wrong("event.name", f"must be 1 to {NAME_LENGTH_MAX} printable characters")
    for term in TERMS:
        if event.get(term) is not None and term != "limits":
            _said(found, f"event.{term}", check_terms, {term: event[term]})
    _check_times(found, event, now)
    if event.get("tour") is not None:
        _said(found, "event.tour", get_tour, conn, event["tour"])


def _check_times(found: Read, event: Mapping[str, Any], now: datetime) -> None:
    """When it begins by itself: what `begin` does at once has no time."""
    opens_at, starts_at, lobby = event.get("opens_at"), event.get("starts_at"), event.get("lobby_opens_at")
    begin = found.plain.get("begin")
    if opens_at is not None and _said(found, "event.opens_at", check_moment, "opens_at", opens_at):
        if opens_at <= now:
            found.wrong("event.opens_at", "is over; say a time to come, or begin: open to sell at once")
        elif starts_at is not None and not found.is_wrong("event.starts_at") and starts_at <= opens_at:
            found.wrong("event.starts_at", "must be after opens_at: it takes place once it was sold")
        if begin is Begin.OPEN:
            found.wrong("event.opens_at", "says when it opens by itself; leave it out where begin is open")
    if lobby is not None and _said(found, "event.lobby_opens_at", check_moment, "lobby_opens_at", lobby):
        if lobby <= now:
            found.wrong("event.lobby_opens_at", "is over; say a time to come, or begin: lobby to open it now")
        elif opens_at is not None and not found.is_wrong("event.opens_at"):
            _said(found, "event.lobby_opens_at", check_times, Times(lobby, opens_at))
        if begin in (Begin.LOBBY, Begin.OPEN):
            story = f"says when its lobby opens by itself; leave it out where begin is {begin}"
            found.wrong("event.lobby_opens_at", story)


def _check_slug_is_free(conn: Conn, found: Read) -> None:
    """Told with the rest; alone it is the making's own refusal, 409."""
    slug = found.parts.get("event", {}).get("slug")
    if slug is None or found.is_wrong("event.slug"):
        return
    if conn.execute(EVENT_EXISTS, (slug,)).fetchone() is not None:
        found.wrong("event.slug", "is an event's already; choose another")


def _plan(conn: Conn, found: Read) -> tuple[int | None, Plan | None]:
    """(the venue that has it already, the plan), or none where it is wrong."""
    there = {
        name
        for name in SOURCES
        if name in found.parts or found.plain.get(name) is not None or found.is_wrong(name)
    }
    if len(there) != 1:
        story = "say one of venue (a slug), plan (a file) and make (a theatre, an arena or a hall)"
        found.wrong("venue", story if not there else f"{story}, not {' and '.join(sorted(there))}")
        return None, None
    [source] = there
    if found.is_wrong(source):
        return None, None
    slug = found.plain.get("venue_slug")
    if slug is not None and not SLUG.fullmatch(slug):
        found.wrong("venue_slug", f"must be {SLUG_RULE}")
    try:
        currency = found.parts.get("prices", {}).get("currency")
        if currency and not CURRENCY.fullmatch(currency):
            found.wrong("prices.currency", "must be three capital letters, such as EUR")
            return None, None
        if source == "venue":
            return find_venue(conn, found.plain["venue"])
        given = found.parts[source] | ({"currency": currency} if currency else {})
        if source == "plan":
            return None, plan_of_file(PlanFile(**given))
        return None, plan_made(PlanMade(**given))
    except PlanError as error:
        if error.place in PARTS[source].__struct_fields__:
            found.wrong(f"{source}.{error.place}", error.reason)
        else:
            found.wrong(source, str(error))
    except NotFound as error:
        found.wrong("venue", str(error))
    return None, None


def _check_prices(found: Read, plan: Plan, venue_id: int | None) -> tuple[Plan, int | None]:
    """The plan at this event's prices; where that is another one, it is kept as a venue of its own."""
    given = found.parts.get("prices", {})
    by_name: Mapping[str, int] = given.get("categories", {})
    known = [category.name for category in plan.categories]
    for name, minor in by_name.items():
        if name not in known:
            there = ", ".join(repr(one) for one in known[:10])
            found.wrong(f"prices.categories.{name[:64]}", f"is no category of the plan; it has {there}")
        elif not 0 <= minor <= plans.PRICE_MINOR_MAX:
            most = f"must be 0 to {plans.PRICE_MINOR_MAX} in the smallest unit of money"
            found.wrong(f"prices.categories.{name[:64]}", most)
    if found.is_wrong("prices"):
        return plan, venue_id
    currency = given.get("currency") or plan.currency
    priced = replace(
        plan,
        currency=currency,
        categories=tuple(
            replace(one, currency=currency, price_minor=by_name.get(one.name, one.price_minor))
            for one in plan.categories
        ),
    )
    if priced == plan:
        return plan, venue_id
    try:
        plans.check(priced)
    except PlanError as error:
        found.wrong("prices", str(error))
    return priced, None


def _check_event_limits(found: Read, plan: Plan) -> None:
    event = found.parts.get("event", {})
    limits: Mapping[str, int] = event.get("limits") or {}
    if not limits or found.is_wrong("event.seats_per_buyer_max"):
        return
    most = event.get("seats_per_buyer_max", Terms().seats_per_buyer_max)
    categories = [category.name for category in plan.categories]
    for name, limit in limits.items():
        one, others = {name: limit}, [*categories, "any other category"]
        if name not in categories:
            there = ", ".join(repr(each) for each in categories[:10])
            found.wrong(f"event.limits.{name[:64]}", f"is no category of the plan; it has {there}")
        else:
            _said(found, f"event.limits.{name[:64]}", check_limits, one, most, others)
    if not found.is_wrong("event.limits"):
        _said(found, "event.limits", check_limits, limits, most, categories)


def _check_room(found: Read) -> None:
    room, dress = found.parts.get("room"), found.parts.get("look")
    message, wanted = found.plain.get("message"), found.plain.get("codes", [])
    if room is None and not found.is_wrong("room"):
        for name, given in (("look", dress), ("message", message), ("codes", wanted)):
            if given:
                found.wrong(name, "is the waiting room's: give the event a room, or leave this out")
    for name in rooms.BOUNDS:
        if room is not None and name in room:
            _said(found, f"room.{name}", rooms.check, replace(RoomTerms(), **{name: room[name]}))
    if room is not None and room.get("ballot") and room.get("policy", RoomPolicy.DRAW) is not RoomPolicy.DRAW:
        found.wrong("room.ballot", "is decided in the draw's order: its policy must be draw")
    for name in ("name", "accent", "lang"):
        if dress and dress.get(name):
            _said(found, f"look.{name}", look.check, Look(**{name: dress[name]}))
    for key, text in (dress or {}).get("texts", {}).items():
        _said(found, f"look.texts.{key[:64]}", look.check, Look(texts={key: text}))
    if dress and not found.is_wrong("look"):
        _said(found, "look.texts", look.check, Look(**dress))
    if message is not None:
        _said(found, "message", operating.check_message, message)
    _check_codes(found, wanted)


def _check_codes(found: Read, wanted: list[NewCodes]) -> None:
    if len(wanted) > CODES_MAX:
        found.wrong("codes", f"must be at most {CODES_MAX} labels")
    labels: dict[str, str] = {}
    for number, one in enumerate(wanted[:CODES_MAX]):
        path = f"codes.{number}"
        _said(found, path, codes.check_wanted, one.label, one.count, one.uses)
        try:
            checks.unique(one.label.strip(), f"{path}.label", path, labels, "label")
        except PlanError as error:
            found.wrong(f"{path}.label", error.reason)


def _launch(found: Read) -> Launch:
    """Of what was read and found in order."""
    parts, plain = found.parts, found.plain
    return Launch(
        event=NewEvent(**parts["event"]),
        plan=PlanFile(**parts["plan"]) if "plan" in parts else None,
        make=PlanMade(**parts["make"]) if "make" in parts else None,
        prices=NewPrices(**parts.get("prices", {})),
        room=RoomTerms(**parts["room"]) if "room" in parts else None,
        look=Look(**parts["look"]) if "look" in parts else None,
        **plain,
    )
