"""What the operators' API answers beside launches, made up: fleet, its log, audit, keys, a buyer's story."""

from __future__ import annotations

from typing import Any

Frame = dict[str, Any]
AT = "2026-01-02T19:00:00Z"
AT_MS = 1_767_380_400_000
BUYER = "b-7f3a09c1"


def worker(process: str | None, *events: str) -> Frame:
    return {
        "id": f"w-{process}", "process": process, "began_at": AT_MS, "seen_at": AT_MS, "alive": True,
        "stopping": False, "memory_bytes": 180 << 20, "cpu": 0.42, "events": list(events),
    }  # fmt: skip


def host(name: str, *workers: Frame, **other: Any) -> Frame:
    return {
        "name": name, "slots": 4, "used": len(workers), "process": f"{name}:1", "version": "0.7.0",
        "joined_at": AT_MS, "seen_at": AT_MS, "alive": True, "draining": False, "last_resort": False,
        "memory_bytes": 3 << 30,
        "memory_bytes_max": 8 << 30, "load": 0.37, "workers": list(workers),
    } | other  # fmt: skip


def event(slug: str, owner: str | None, **other: Any) -> Frame:
    owns = {"worker": "w", "host": owner, "process": f"{owner}:4211", "epoch": 3, "renewed_seconds_ago": 0.4}
    load = {
        "at": AT_MS, "age_seconds": 0.6, "decided_per_second": 409.0, "arrived_per_second": 412.0,
        "undecided": 36, "latency_ms_p50": 21.0, "latency_ms_p99": 84.0,
    }  # fmt: skip
    return {
        "event": slug, "state": "open", "mode": "auto", "workers": 2, "hot": True, "edition": 1,
        "owner": owns if owner else None, "standbys": [{"worker": "w2", "host": "south", "warm": True}],
        "load": load if owner else None,
    } | other  # fmt: skip


def fleet() -> Frame:
    hosts = [
        host(
            "north",
            worker("north:4211", "demo"),
            worker("north:4212", "matinee", "gala", "harbour", "summer"),
        ),
        host("south", worker("south:917", "demo"), worker(None)),
        host("west", draining=True),
        host("east", alive=False, memory_bytes=None, load=None),
    ]
    return {
        "hosts": hosts,
        "events": [event("demo", "north"), event("harbour", None, standbys=[])],
        "short": None,
    }


def log() -> Frame:
    rows = [
        ("preferred", "demo", "north", "planner", "north had the fewest events of all hosts that take some."),
        ("hot", "demo", None, "planner", "412 requests arrived a second for 5 s."),
        ("draining", None, "west", "olga", "a new disk"),
    ]
    return {
        "log": [
            {
                "id": 90 - n,
                "at": AT,
                "what": what,
                "event": slug,
                "host": on,
                "worker": None,
                "who": who,
                "why": why,
            }
            for n, (what, slug, on, who, why) in enumerate(rows)
        ]
    }


def audit() -> Frame:
    changes: list[tuple[str, str, Frame]] = [
        ("anna", "in the console", {"change": "room", "terms": {"pace": 600}}),
        ("otto", "camera position", {"change": "block", "seats": ["A-1", "A-2"], "areas": {}}),
        ("otto", "opened late", {"change": "message", "text": "We open at nine."}),
        ("olga", "a new colleague", {"change": "create key", "key": 4, "name": "vera", "role": "viewer"}),
    ]
    return {
        "audit": [
            {"id": 90 - n, "at": AT, "who": who, "why": why, "what": what, "event": "demo" if n < 3 else None}
            for n, (who, why, what) in enumerate(changes)
        ]
    }


def key(number: int, name: str, role: str, **other: Any) -> Frame:
    return {
        "id": number, "name": name, "role": role, "events": None, "state": "active", "created_at": AT,
        "created_by": "olga", "expires_at": None, "rotated_at": None, "previous_until": None,
        "revoked_at": None, "revoked_by": None, "last_used_at": None,
    } | other  # fmt: skip


def keys() -> Frame:
    scope = {"events": ["demo", "matinee"], "expires_at": "2030-01-01T00:00:00Z"}
    return {"keys": [key(1, "olga", "owner", last_used_at=AT), key(2, "otto", "operator", **scope)]}


def story() -> Frame:
    place = {
        "id": "p1", "lane": "ordinary", "state": "admitted", "position": 1204, "in_draw": True,
        "joined_at": AT_MS, "admitted_at": AT_MS + 60_000, "begin_by": None, "begun_at": AT_MS + 70_000,
        "until": AT_MS + 900_000, "ended_at": None, "bought_at": None,
    }  # fmt: skip
    taken = {
        "id": "r1", "arrival": "1-0", "arrived_at": AT_MS, "decided_at": AT_MS + 80, "batch_no": 17,
        "position": 3, "want": {}, "asked": "seat A-12", "outcome": "taken", "result": {}, "hold": None,
        "why": "Seat A-12 went to another buyer: their request arrived 0.3 s earlier.",
    }  # fmt: skip
    held = taken | {"id": "r2", "asked": "2 together", "outcome": "held", "hold": "1114115", "why": None}
    hold = {
        "hold": "1114115", "request": "r2", "state": "active", "kind": "buyer", "seats": ["B-4", "B-5"],
        "areas": {}, "quantity": 2, "expires_at": AT_MS + 480_000, "paid_at": None, "extensions": 1,
    }  # fmt: skip
    paid = hold | {"hold": "1114090", "state": "paid", "seats": ["C-1"], "paid_at": AT_MS + 300_000}
    refund = {
        "refund": 3, "amount_minor": 5000, "state": "due", "reason": "order taken back", "attempts": 1,
        "last_error": "the provider did not answer", "created_at": AT_MS, "refunded_at": None,
    }  # fmt: skip
    payment = {
        "payment": 7, "hold": "1114090", "order": "1114090", "state": "succeeded", "amount_minor": 5000,
        "currency": "EUR", "provider": "stripe", "intent": "pi_1", "declines": 1, "reason": None,
        "created_at": AT_MS, "succeeded_at": AT_MS, "refund_due_minor": 5000, "refunded_minor": 0,
        "refunds": [refund],
    }  # fmt: skip
    ticket = {
        "ticket": "T-1", "order": "1114090", "seat": "C-1", "area": None, "holder": "self",
        "offered": False, "serial": 1, "checked_at": None, "gone": False,
    }  # fmt: skip
    mail = {
        "kind": "order.paid", "address": "a@example.com", "state": "sent", "attempts": 1,
        "last_error": None, "created_at": AT_MS, "ended_at": AT_MS,
    }  # fmt: skip
    return {
        "buyer": BUYER, "event": "demo", "erased": None, "mail": ["a@example.com"], "places": [place],
        "requests": [held, taken], "requests_more": None, "offers": [], "waiting": [],
        "holds": [hold, paid], "payments": [payment], "tickets": [ticket], "mails": [mail],
    }  # fmt: skip


def figures() -> Frame:
    amounts = {"gross_minor": 400_000, "fee_minor": 6_000, "tax_minor": 63_866, "refunded_minor": 20_000}
    buckets = [{"seconds_max": most, "orders": 4} for most in (30, 120, None)]
    return {
        "event": "demo", "age_ms": 800, "percent_sold": 62.4, "sold": 12_480, "capacity": 20_000,
        "currency": "EUR", "orders": {"paid": 20, "by_hand": 2}, "holds": {"given": 40, "expired": 12},
        "refunds": {"owed_minor": 20_000, "given_minor": 5_000},
        "revenue": [{"category": "Gold", "places": 40, "moved_minor": 0, **amounts}],
        "orders_per_minute": [{"at": AT_MS, "orders": 17, "places": 40}],
        "conversion": {"holds": 40, "orders": 20, "buckets": buckets},
        "just_booked": [{"places": 2, "section": "Stalls", "at": AT_MS}],
    }  # fmt: skip


def usual() -> dict[str, Any]:
    """Answers by path."""
    made = {"key": key(5, "vera", "viewer"), "secret": "ok_5_a-secret-that-is-shown-once"}
    return {
        "fleet": fleet(),
        "fleet/log": log(),
        "audit": audit(),
        "events/demo/audit": audit(),
        "events/demo/figures": figures(),
        "keys": keys(),
        "POST keys": made,
        "POST keys/2/rotate": made,
        "events/demo/buyers": {"found": [{"buyer": BUYER, "by": "mail"}], "more": False},
        f"events/demo/buyers/{BUYER}": story(),
    }
