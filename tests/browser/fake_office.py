"""What the API answers where operators work beside a sale, made up in the shapes of the real answers: calling
off, sales by hand, codes, the room's look, webhooks, tours; and what everybody may read of events.

That the shapes are the real ones is checked where they are used, against the types that the gateway answers.
"""

from __future__ import annotations

from typing import Any

import msgspec

from store import plan as plans
from store.plan import Area, Plan
from store.venues.make import make

Frame = dict[str, Any]
AT = "2026-01-02T19:00:00Z"
LATER = "2031-05-01T18:00:00Z"
SOLD = 12


def house() -> Plan:
    """60 seats and a standing area; the same each time."""
    seats = make("theatre", 60, name="Old Theatre")
    floor = Area("floor", "Floor", len(seats.categories) - 1, 200, 0, 0, 40, 10)
    return msgspec.structs.replace(seats, areas=(floor,))


def letters() -> str:
    """The first are sold, then one on hold, one off sale, and the rest are free."""
    return "s" * SOLD + "hb" + "a" * (60 - SOLD - 2)


def prices(plan: Plan) -> Frame:
    each = [
        {
            "category": one.name, "price_minor": one.price_minor, "fee_minor": 150, "tax_minor": 0,
            "total_minor": one.price_minor + 150,
        }
        for one in plan.categories
    ]  # fmt: skip
    terms = {"fee_minor": 150, "fee_basis_points": 0, "tax_basis_points": 0, "tax_included": True}
    return {"currency": plan.currency, "terms": terms, "categories": each, "moved": []}


def offered(plan: Plan, /, **other: Any) -> Frame:
    """What operators are told of prices: on sale, and some of the standing area is gone."""
    there = [
        {
            "area_no": number, "guid": one.guid, "name": one.name, "capacity": one.capacity, "held": 5,
            "sold": 15, "blocked": 0, "free": one.capacity - 20,
        }
        for number, one in enumerate(plan.areas)
    ]  # fmt: skip
    told = {name: value for name, value in prices(plan).items() if name != "moved"} | {
        "state": "open", "fees_settled": True, "may_move": "any", "limited": [], "version": 0,
        "plan": plans.fingerprint(plans.encode(plan)), "taken_in": True, "areas": there,
        "seat_categories": [seat.category for seat in plan.seats],
        "area_categories": [area.category for area in plan.areas],
    }  # fmt: skip
    return told | other


def not_begun(plan: Plan, /, **other: Any) -> Frame:
    """The same of a draft, of which nobody has anything."""
    told = offered(plan, state="draft", fees_settled=False, may_move="free")
    told["areas"] = [one | {"held": 0, "sold": 0, "free": one["capacity"]} for one in told["areas"]]
    return told | other


def settlement(**other: Any) -> Frame:
    nothing = {"count": 0, "amount_minor": 0}
    return {
        "event": "demo", "currency": "EUR", "at": AT, "orders": 6_240, "money_in_minor": 74_880_000,
        "refunded_minor": 120_000, "refund_due_minor": 6_000, "standing_minor": 74_754_000,
        "fee_minor": 936_000, "tax_minor": 11_935_000, "provider_fee_minor": 187_200,
        "payout_minor": 74_566_800,
        "open": {"late": nothing, "refund_due": {"count": 1, "amount_minor": 6_000},
                 "unresolved": {"count": 14, "amount_minor": 168_000}},
        "apart": [{"kind": "complimentary", "orders": 30, "places": 60},
                  {"kind": "box_office", "orders": 12, "places": 20}],
        "moved_out": nothing, "moved_in": nothing, "categories": [], "balances": True, "imbalances": [],
    } | other  # fmt: skip


def called_off(**other: Any) -> Frame:
    return {
        "event": "demo", "to": None, "who": "olga", "why": "the star is ill", "begun_at": AT,
        "done_at": None, "holds": 310, "waiting": 42, "refunded": 1_200, "rebooked": 0,
        "left": {"holds": 0, "waiting": 0, "orders": 5_082},
    } | other  # fmt: skip


def public(slug: str, **other: Any) -> Frame:
    """What everybody is told of an event, as far as the console reads it."""
    return {"slug": slug, "name": "Nightfall, opening night", "state": "open", "called_off": None} | other


def event(slug: str, name: str, state: str, **other: Any) -> Frame:
    """A row of the operators' list, as far as the console reads it."""
    row = {"slug": slug, "name": name, "state": state, "opens_at": None, "starts_at": None, "tour": None}
    return row | other


def events() -> Frame:
    return {
        "events": [
            event("encore", "Nightfall, the new date", "draft", starts_at=LATER),
            event("matinee", "Matinée", "draft"),
            event("demo", "Nightfall, opening night", "open", tour="nightfall"),
        ]
    }


def room(edition: int = 4, **look: Any) -> Frame:
    terms = {
        "policy": "draw", "ballot": False, "pace": 900, "shopping_max": 2000, "begin_seconds": 180,
        "shopping_seconds": 900, "more_begin_max": 3, "more_shopping_max": 3, "proof": "busy",
        "proof_above_per_minute": 600,
    }  # fmt: skip
    shown = {
        "event": "demo", "state": "open", "terms": terms, "admission": "running", "edition": edition,
        "version": 311, "seed_sha256": "5f" * 32, "seed": None, "lobby_ended_at": None, "drawn": None,
        "drawn_at": None, "ballot_ended_at": None, "joined": 90_000, "admitted": 46_123, "serving": 46_000,
        "serving_priority": 123, "next_position": 88_001, "next_priority": 124, "rate": 884.0,
        "reason": None, "message": None, "message_at": None,
    }  # fmt: skip
    places = {"ordinary": {"waiting": 41_877, "admitted": 1_904}, "priority": {}}
    return {"room": shown, "places": places, "shopping": 1_700, "codes": codes(), "look": look}


def codes() -> list[Frame]:
    return [
        {"label": "Members", "codes": 500, "uses": 312, "uses_max": 500, "revoked": 0, "uses_revoked": 0},
        {"label": "Radio", "codes": 1, "uses": 40, "uses_max": 200, "revoked": 1, "uses_revoked": 160},
        {"label": "invitation", "codes": 7, "uses": 7, "uses_max": 7, "revoked": 0, "uses_revoked": 0},
    ]


def order(hold: str = "900000000000000001", **other: Any) -> Frame:
    sold = {"hold": hold, "state": "paid", "buyer": "door", "kind": "box_office"}
    return sold | {"seats": [], "areas": {}} | other


def row(number: int, change: Frame) -> Frame:
    return {"id": number, "at": AT, "who": "otto", "why": "in the console", "what": change, "event": "demo"}


def by_hand() -> Frame:
    """An audit with a sale, of which something was taken back since."""
    sold: Frame = {
        "change": "sell", "as": "complimentary", "hold": "900000000000000007", "buyer": "press",
        "taken_off_sale": 3, "seats": ["stalls-A-5", "stalls-A-6", "stalls-A-7"], "areas": {"floor": 2},
    }  # fmt: skip
    back: Frame = {"change": "return", "hold": "900000000000000007", "buyer": "press", "blocked": False}
    changes = [back | {"seats": ["stalls-A-7"], "areas": {}}, {"change": "look", "look": {}}, sold]
    return {"audit": [row(90 - n, change) for n, change in enumerate(changes)]}


def webhook(number: int, url: str, **other: Any) -> Frame:
    return {
        "id": str(number), "url": url, "event": None, "kinds": [], "state": "active", "disabled_why": None,
        "created_at": AT, "delivered_at": AT, "previous_secret_until": None, "waiting": 0, "dead": 0,
    } | other  # fmt: skip


def webhooks() -> Frame:
    off = {"state": "disabled", "disabled_why": "it answered 410", "kinds": ["order.paid", "order.refunded"]}
    return {
        "webhooks": [
            webhook(3, "https://crm.example.org/hooks/onsale", waiting=2, dead=1),
            webhook(2, "https://newsletter.example.org/", event="demo", **off),
            webhook(1, "https://stock.example.org/onsale"),
        ]
    }


def webhook_story() -> Frame:
    undelivered = {
        "message": "msg_4711", "kind": "order.paid", "event": "demo", "state": "dead", "attempts": 9,
        "first_at": AT, "next_at": None, "status": 500, "error": None,
    }  # fmt: skip
    waits = undelivered | {
        "message": "msg_4720", "state": "waiting", "attempts": 3, "next_at": LATER, "status": None,
        "error": "it did not answer within 10 s",
    }  # fmt: skip
    attempt = {
        "message": "msg_4721", "kind": "order.paid", "event": "demo", "at": AT, "attempt": 1,
        "outcome": "delivered", "status": 204, "error": None, "took_ms": 84,
    }  # fmt: skip
    failed = attempt | {"message": "msg_4711", "attempt": 9, "outcome": "dead", "status": 500}
    changed = {"id": 1, "at": AT, "who": "olga", "why": "our customers' files", "what": {"change": "add"}}
    return {
        "subscriber": webhooks()["webhooks"][0], "log": [attempt, failed],
        "undelivered": [undelivered, waits], "audit": [changed],
    }  # fmt: skip


def tour(slug: str = "nightfall", name: str = "Nightfall") -> Frame:
    return {"id": 1, "slug": slug, "name": name, "seats_per_buyer_max": 4, "created_at": AT}


def beside() -> dict[str, Any]:
    """Answers of GETs below /v1/operator, by path."""
    date = {"slug": "demo", "name": "Nightfall, opening night", "state": "open"}
    return {
        "events": events(),
        "events/demo/prices": offered(house()),
        "events/demo/settlement": settlement(),
        "events/demo/waiting": {"event": events()["events"][2], "requests": 218},
        "events/demo/calling-off": called_off(),
        "events/demo/room": room(accent="#8a1c5b", name="The Hall", texts={"lobby.title": "Nightfall"}),
        "webhooks": webhooks(),
        "webhooks/3": webhook_story(),
        "tours": {"tours": [tour()]},
        "tours/nightfall": {"tour": tour(), "events": [date]},
    }


def open_to_all() -> dict[str, Any]:
    """Answers of GETs below /v1/events, by path."""
    plan = house()
    wire = msgspec.json.decode(plans.encode(plan))
    there = {"batch_no": 1, "states": "h" + "a" * 59, "areas": [200], "held_until": None}
    return {
        "demo": public("demo"),
        "demo/prices": prices(plan),
        "encore/plan": wire,
        "encore/seats": there,
        "matinee/plan": wire | {"currency": "USD"},
        "matinee/seats": there,
    }
