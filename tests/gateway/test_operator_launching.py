"""A launch over the operators' HTTP: everything an event needs in one call, or nothing and every reason."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime, timedelta
from typing import Any

import msgspec
import psycopg
import pytest

from gateway.operators.launching import NewLaunch
from store import events
from store.audit import Said
from store.launches import making, reading
from store.launches.words import Launch
from store.prices import PriceTerms
from store.room.words import RoomTerms
from store.terms import Terms
from store.tours import create_tour
from store.venues.make import make
from store.venues.rows import save_venue
from tests.gateway.test_operator_venues import CSV
from tests.gateway.test_operators import KEY, app_for, ask

SOON = datetime.now(UTC) + timedelta(days=20)
COUNTS = """
SELECT (SELECT count(*) FROM event), (SELECT count(*) FROM venue WHERE slug <> 'arena'),
       (SELECT count(*) FROM room),
       (SELECT count(*) FROM room_code), (SELECT count(*) FROM audit), (SELECT count(*) FROM seat)
"""


def lobby_at(when: datetime, opens_at: datetime | None = None) -> dict[str, Any]:
    """An event whose lobby, and its sale after it, begin by themselves."""
    sale = {} if opens_at is None else {"opens_at": opens_at.isoformat()}
    return {"slug": "a", "lobby_opens_at": when.isoformat(), **sale}


def whole() -> dict[str, Any]:
    """Everything that can be said of a launch."""
    return {
        "event": {
            "slug": "gala",
            "name": "Spring Gala",
            "opens_at": SOON.isoformat(),
            "starts_at": (SOON + timedelta(days=9)).isoformat(),
            "hold_ttl_seconds": 600,
            "offer_ttl_seconds": 900,
            "seats_per_buyer_max": 6,
            "limits": {"Gold": 4},
            "fast_gate": False,
            "payment": "required",
            "late_payment": "reacquire",
            "extensions_max": 2,
            "extension_seconds": 60,
            "returns_allowed": True,
            "transfers_allowed": True,
            "figures_on_page": True,
            "tour": "spring",
        },
        "plan": {"text": CSV.decode(), "name": "Grand"},
        "venue_slug": "grand",
        "prices": {
            "currency": "USD",
            "categories": {"Gold": 9900},
            "fee_minor": 200,
            "tax_basis_points": 1900,
        },
        "room": {"policy": "draw", "ballot": True, "pace": 120, "begin_seconds": 60, "shopping_seconds": 300},
        "look": {"name": "Hall", "accent": "#2f4fc4", "texts": {"lobby.title": "Soon"}},
        "message": "Doors at seven.",
        "codes": [{"label": "Members", "count": 3, "uses": 2}],
        "begin": "lobby",
        "who": "Olga",
        "why": "the sale of the year",
    }


@pytest.fixture
def conn(engine_urls):
    with psycopg.connect(engine_urls.database_url, autocommit=True) as connection:
        save_venue(connection, "arena", make("arena", 60, standing=100))
        create_tour(connection, "spring", "Spring", 8)
        yield connection


@pytest.fixture
def launch(conn, engine_urls):
    app = app_for(engine_urls)

    def call(body, method="POST", path="/launches"):
        raw = body if isinstance(body, bytes) else msgspec.json.encode(body)
        return asyncio.run(ask(app, method, f"/v1/operator{path}", raw, f"Bearer {KEY}"))

    return call


def errors_of(answer) -> dict[str, str]:
    assert (answer.status, answer.json["code"]) == (400, "invalid_launch"), answer.text
    return {one["field"]: one["says"] for one in answer.json["errors"]}


def test_all_of_it_is_made_in_one_call(launch, conn):
    made = launch(whole())
    assert (made.status, made.headers["location"]) == (201, "/v1/operator/events/gala"), made.text
    told = made.json
    event = {name: told["event"][name] for name in whole()["event"] if not name.endswith("_at")}
    assert event == {name: value for name, value in whole()["event"].items() if not name.endswith("_at")}
    assert (told["event"]["state"], told["venue"], told["seats"]) == ("lobby", "grand", 3)
    gold, silver = told["prices"]["categories"]
    assert (gold["price_minor"], gold["fee_minor"], silver["price_minor"]) == (9_900, 200, 5_000)
    assert (told["prices"]["currency"], told["room"]["pace"], told["room"]["ballot"]) == ("USD", 120, True)
    [codes] = told["codes"]
    assert (codes["label"], codes["uses"], len(codes["codes"])) == ("Members", 2, 3)
    room = launch(b"", "GET", "/events/gala/room").json["room"]
    assert (room["message"], room["seed_sha256"]) == ("Doors at seven.", told["seed_sha256"])
    audit = launch(b"", "GET", "/events/gala/audit").json["audit"]
    assert {one["who"] for one in audit} == {"environment (Olga)"}
    changes = {one["what"]["change"] for one in audit}
    assert {"launch", "join tour", "prices", "make room", "look", "message", "codes"} <= changes


def test_a_slug_and_a_venue_are_enough(launch):
    made = launch({"event": {"slug": "gig"}, "venue": "arena"}).json
    assert (made["event"]["state"], made["event"]["name"], made["venue"]) == ("draft", "gig", "arena")
    assert (made["room"], made["codes"]) == (None, [])


def test_other_prices_are_a_plan_of_their_own_under_the_events_slug(launch, conn):
    assert (
        launch({"event": {"slug": "gig"}, "venue": "arena", "prices": {"categories": {"A": 1}}}).json["venue"]
        == "gig"
    )
    save_venue(conn, "late", make("theatre", 3))
    made = launch({"event": {"slug": "late"}, "venue": "arena", "prices": {"categories": {"A": 2}}}).json
    assert made["venue"].startswith("late-")
    assert made["prices"]["categories"][0]["price_minor"] == 2


def test_a_draft_is_made_whose_lobby_and_sale_begin_by_themselves(launch):
    event = lobby_at(SOON - timedelta(hours=1), SOON)
    made = launch({"event": event, "make": {"kind": "hall", "seats": 0, "standing": 5}}).json["event"]
    assert made["state"] == "draft"
    assert datetime.fromisoformat(made["opens_at"]) == SOON
    assert SOON - datetime.fromisoformat(made["lobby_opens_at"]) == timedelta(hours=1)


def test_a_made_hall_is_put_on_sale_at_once(launch):
    body = {"event": {"slug": "hall"}, "make": {"kind": "hall", "seats": 0, "standing": 50}, "begin": "open"}
    made = launch(body).json
    assert (made["event"]["state"], made["places"], made["venue"]) == ("open", 50, "hall")


def test_every_field_that_is_wrong_is_named_at_once_and_nothing_is_made(launch, conn):
    before = conn.execute(COUNTS).fetchall()
    body = whole()
    body["event"] |= {
        "slug": "No Slug", "hold_ttl_seconds": 0, "opens_at": "2001-01-01T00:00:00Z", "payment": "maybe",
        "limits": {"Gold": 7, "Bronze": 1}, "tour": "nowhere", "colour": "red", "name": "a\tb",
    }  # fmt: skip
    body["prices"] |= {"categories": {"Gold": -1, "Tin": 3}, "fee_basis_points": 20_000}
    body["room"] |= {"policy": "fifo", "pace": 0, "begin_seconds": 5}
    body["look"] |= {"accent": "blue", "texts": {"Lobby Title": "x"}}
    body |= {"message": "a\x07b", "codes": [{"label": "", "count": 1}, {"label": "M", "uses": 0}], "extra": 1}
    assert set(errors_of(launch(body))) == {
        "event.slug", "event.hold_ttl_seconds", "event.opens_at", "event.payment", "event.limits.Gold",
        "event.limits.Bronze", "event.tour", "event.colour", "event.name", "prices.categories.Gold",
        "prices.categories.Tin", "prices.fee_basis_points", "room.ballot", "room.pace", "room.begin_seconds",
        "look.accent", "look.texts.Lobby Title", "message", "codes.0", "codes.1", "extra",
    }  # fmt: skip
    assert conn.execute(COUNTS).fetchall() == before


@pytest.mark.parametrize(
    ("change", "field"),
    [
        ({"event": None}, "event"),
        ({"event": {}}, "event.slug"),
        ({"event": {"slug": 3}}, "event.slug"),
        ({"event": {"slug": "a", "opens_at": "2030-01-01T10:00:00"}}, "event.opens_at"),
        ({"plan": None}, "venue"),
        ({"venue": "arena"}, "venue"),
        ({"plan": None, "venue": "nowhere"}, "venue"),
        ({"plan": {"text": "guid,section\n"}}, "plan"),
        ({"plan": {"name": "x"}}, "plan.text"),
        ({"plan": None, "make": {"kind": "hall", "seats": -1}}, "make.seats"),
        ({"plan": None, "make": {"kind": "tent", "seats": 1}}, "make.kind"),
        ({"venue_slug": "A b"}, "venue_slug"),
        ({"prices": {"currency": "dollars"}}, "prices.currency"),
        ({"prices": {"categories": {"Gold": "9.90"}}}, "prices.categories"),
        ({"event": {"slug": "a", "limits": {"Gold": 0, "Silver": 0}}}, "event.limits"),
        ({"room": None, "look": None, "codes": []}, "message"),
        ({"codes": [{"label": "M"}, {"label": "M "}]}, "codes.1.label"),
        ({"codes": [{"label": "M", "count": "3"}]}, "codes.0.count"),
        ({"begin": "open"}, "event.opens_at"),
        ({"begin": "lobby", "event": lobby_at(SOON)}, "event.lobby_opens_at"),
        ({"begin": "draft", "event": lobby_at(SOON.replace(year=2001))}, "event.lobby_opens_at"),
        ({"begin": "draft", "event": lobby_at(SOON, SOON)}, "event.lobby_opens_at"),
        ({"begin": "never"}, "begin"),
        ({"who": "expiry"}, "who"),
        ({"why": "x" * 201}, "why"),
    ],
)
def test_what_is_wrong_is_told_at_its_field(launch, conn, change, field):
    before = conn.execute(COUNTS).fetchall()
    assert field in errors_of(
        launch({k: v for k, v in (whole() | change).items() if v is not None or k == "event"})
    )
    assert conn.execute(COUNTS).fetchall() == before


def test_it_takes_place_after_it_was_sold(launch):
    body = whole()
    body["event"]["starts_at"] = (SOON - timedelta(hours=1)).isoformat()
    assert list(errors_of(launch(body))) == ["event.starts_at"]


def test_a_slug_that_is_taken_is_a_conflict_and_told_with_the_rest(launch, conn):
    assert launch(whole()).status == 201
    before = conn.execute(COUNTS).fetchall()
    again = launch(whole())
    assert (again.status, again.json["code"]) == (409, "event_exists")
    assert "event.slug" in errors_of(launch(whole() | {"message": "a\x07b"}))
    assert conn.execute(COUNTS).fetchall() == before


def test_what_fails_last_leaves_nothing_of_what_came_before(conn, monkeypatch):
    before = conn.execute(COUNTS).fetchall()

    def refuse(*_args, **_kwargs):
        raise psycopg.errors.QueryCanceled

    monkeypatch.setattr(events, "set_state", refuse)
    raw = msgspec.json.encode(whole())
    with pytest.raises(psycopg.errors.QueryCanceled):
        making.launch(conn, raw, Said("Olga", "a test"))
    assert conn.execute(COUNTS).fetchall() == before


@pytest.mark.parametrize("raw", [b"", b"[]", b"{", b"3", b"[" * 100_000, b'{"event": "\xff"}'])
def test_what_is_no_launch_at_all_is_refused_plainly(launch, raw):
    refused = launch(raw)
    assert (refused.status, refused.json["code"]) == (400, "invalid_body")


def test_the_description_has_every_field_that_is_read():
    described = msgspec.json.schema(NewLaunch)["$defs"]
    for name, kind in {
        "LaunchEvent": reading.PARTS["event"],
        "LaunchPrices": reading.PARTS["prices"],
    }.items():
        assert described[name]["properties"].keys() == set(kind.__struct_fields__)
    assert described["LaunchRoom"]["properties"].keys() == set(RoomTerms.__struct_fields__)
    assert described["NewLaunch"]["properties"].keys() == set(Launch.__struct_fields__)
    assert {*reading.PARTS, *reading.PLAIN} == set(Launch.__struct_fields__)
    assert set(Terms.__struct_fields__) < described["LaunchEvent"]["properties"].keys()
    assert set(PriceTerms.__struct_fields__) < described["LaunchPrices"]["properties"].keys()
