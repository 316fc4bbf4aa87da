"""The middleware before somebody else's shop: only those whose turn it is come in, each in one browser."""

from __future__ import annotations

import contextlib
import time
from typing import Any
from urllib.parse import quote

import httpx
import jwt
import msgspec
import psycopg
import pytest
from onsale_client import keyset
from onsale_client.keyset import KeySet
from onsale_client.middleware import SESSIONS_MAX, AdmissionRequired, Sessions

from gateway.room.admission_tokens import ADMISSION
from gateway.room.admission_tokens import KeySet as Published
from gateway.room.keys import RoomKeys
from gateway.room.settings import RoomSettings
from store.room.words import RoomPolicy
from store.words import EventState
from tests.gateway.rig import EVENT, gateway, scenario
from tests.gateway.room.lobby import asked, call, join, make_room

KEY, OTHER = "a key for the waiting room of these tests", "a key that the waiting room does not have"
SHOP, ROOM = "https://shop.example.org", "https://on.sale/e/gig"


def token(keys: str = KEY, *, kind: str = ADMISSION, **more: Any) -> str:
    now = int(time.time())
    claims: dict[str, Any] = {
        "iss": "https://on.sale",
        "aud": SHOP,
        "sub": "ann",
        "event": "gig",
        "place": "p1",
    }
    claims |= {"iat": now, "exp": now + 600, "jti": "p1.1"} | more
    return RoomKeys(keys).sign({name: value for name, value in claims.items() if value is not None}, kind)


class Keys:
    """Where keys are fetched from."""

    def __init__(self, keys: str = KEY) -> None:
        self.keys = keys
        self.fetched = 0
        self.away = False

    async def fetch(self, url: str) -> Any:
        self.fetched += 1
        if self.away:
            raise httpx.ConnectError("away")
        return msgspec.to_builtins(Published(RoomKeys(self.keys).published))


async def shop(scope, receive, send):
    """Tells who came in."""
    if scope["type"] == "websocket":
        await receive()
        await send({"type": "websocket.accept"})
        return
    body = scope["onsale"].buyer.encode()
    await send({"type": "http.response.start", "status": 200, "headers": []})
    await send({"type": "http.response.body", "body": body})


def protected(keys: Keys | None = None, **more: Any) -> AdmissionRequired:
    given = {"jwks": KeySet("https://on.sale/.well-known/jwks.json", (keys or Keys()).fetch)} | more
    return AdmissionRequired(shop, jwks_url="", event="gig", audience=SHOP, room_url=ROOM, **given)


@contextlib.asynccontextmanager
async def browser(app):
    transport = httpx.ASGITransport(app=app)
    async with httpx.AsyncClient(
        transport=transport, base_url=SHOP, headers={"Accept": "text/html"}
    ) as client:
        yield client


@scenario
async def test_who_comes_from_the_room_is_let_in_and_stays_in():
    async with browser(protected()) as ann:
        first = await ann.get(f"/seats?row=5&onsale_admission={token()}")
        assert (first.status_code, first.headers["location"]) == (303, f"{SHOP}/seats?row=5")
        as_it_was = await ann.get(f"/s?x=%2F+a&flag&onsale_admission={token()}")
        assert as_it_was.headers["location"] == f"{SHOP}/s?x=%2F+a&flag"
        cookie = first.headers["set-cookie"]
        assert all(word in cookie for word in ("HttpOnly", "Secure", "SameSite=Lax", "Max-Age=", "Path=/"))
        assert (await ann.get("/seats")).text == "ann"
        again = await ann.get(f"/?onsale_admission={token()}")
        assert again.status_code == 303, "the same browser may follow the link once more"
        assert (await ann.get("/seats")).text == "ann"


@scenario
async def test_a_browser_without_one_is_sent_to_the_room_and_told_where_to_come_back():
    async with browser(protected()) as ann:
        sent = await ann.get("/seats")
        assert sent.status_code == 303
        assert sent.headers["location"] == f"{ROOM}?return=https%3A%2F%2Fshop.example.org%2Fseats"
        at_a_row = await ann.get("/seats?row=5&x=%2F&flag")
        back = quote(f"{SHOP}/seats?row=5&x=%2F&flag", safe="")
        assert at_a_row.headers["location"] == f"{ROOM}?return={back}"
        old = await ann.get("/seats?a=1&onsale_admission=no-token&b=2")
        assert old.headers["location"] == f"{ROOM}?return={quote(f'{SHOP}/seats?a=1&b=2', safe='')}"
        elsewhere = await ann.get("//evil.example.org/")
        assert elsewhere.headers["location"].startswith(ROOM)
        inside = await ann.get(f"//evil.example.org/?onsale_admission={token()}")
        assert inside.headers["location"].startswith(f"{SHOP}/")


@scenario
async def test_apis_are_told_and_may_bring_it_in_a_header():
    app = protected()
    async with httpx.AsyncClient(transport=httpx.ASGITransport(app=app), base_url=SHOP) as api:
        refused = await api.post("/orders")
        assert refused.status_code == 403
        assert refused.headers["content-type"] == "application/problem+json"
        assert refused.json()["code"] == "admission_required"
        assert refused.json()["room"] == ROOM
        assert (await api.post("/orders", headers={"Onsale-Admission": token()})).text == "ann"


FORGED = jwt.encode({"sub": "ann"}, "x" * 32, algorithm="HS256", headers={"typ": ADMISSION})
NONE = jwt.encode({"sub": "ann"}, "", algorithm="none", headers={"typ": ADMISSION})


@pytest.mark.parametrize(
    "bad",
    [
        "",
        "no token",
        FORGED,
        NONE,
        token(OTHER),
        token()[:-4] + "AAAA",
        token(exp=int(time.time()) - 60),
        token(aud="https://other.example.org"),
        token(event="another"),
        token(iss="https://evil.example.org"),
        token(sub=None),
        token(jti=None),
        token(exp=None),
        token(place=None),
        token(kind="JWT"),
        token(more="x" * 5_000),
    ],
)
@scenario
async def test_forged_expired_and_foreign_ones_are_refused(bad):
    app = protected(issuer="https://on.sale")
    async with browser(app) as eve:
        assert (await eve.get("/", headers={"Onsale-Admission": bad})).headers["location"].startswith(ROOM)
        assert (await eve.get("/", params={"onsale_admission": bad})).headers["location"].startswith(ROOM)
        eve.cookies.set("onsale_admission", f"{bad}~secret")
        assert (await eve.get("/")).headers["location"].startswith(ROOM)


@scenario
async def test_a_copied_link_or_cookie_does_not_let_another_browser_in():
    app = protected()
    async with browser(app) as ann, browser(app) as eve:
        link = f"/?onsale_admission={token()}"
        await ann.get(link)
        assert (await eve.get(link)).headers["location"].startswith(ROOM)
        for made_up in (token(), f"{token()}~", f"{token()}~guessed"):
            eve.cookies.set("onsale_admission", made_up)
            assert (await eve.get("/")).headers["location"].startswith(ROOM)
            assert (await eve.get(link)).headers["location"].startswith(ROOM)
            eve.cookies.clear()
        assert (await ann.get("/")).text == "ann"


@scenario
async def test_keys_that_change_are_fetched_when_a_token_names_one_that_is_not_there():
    keys, now = Keys(OTHER), [0.0]
    app = protected(jwks=KeySet("", keys.fetch, lambda: now[0]))
    async with browser(app) as ann:
        assert (await ann.get("/", headers={"Onsale-Admission": token(OTHER)})).text == "ann"
        keys.keys = f"{KEY},{OTHER}"
        for _ in range(50):  # however many name it
            assert (await ann.get("/", headers={"Onsale-Admission": token()})).status_code == 303
        assert keys.fetched == 1
        now[0] += keyset.FETCH_SECONDS_MIN
        assert (await ann.get("/", headers={"Onsale-Admission": token()})).text == "ann"
        assert (await ann.get("/", headers={"Onsale-Admission": token(OTHER)})).text == "ann"
        assert keys.fetched == 2


@scenario
async def test_while_keys_are_away_known_ones_stay_good_and_without_any_it_is_told_when_to_come_back():
    keys, now = Keys(), [0.0]
    app = protected(jwks=KeySet("", keys.fetch, lambda: now[0]))
    async with browser(app) as ann:
        keys.away = True
        away = await ann.get("/", headers={"Onsale-Admission": token()})
        assert (away.status_code, away.json()["code"]) == (503, "keys_away")
        assert int(away.headers["retry-after"]) > 0
        keys.away = False
        now[0] += keyset.FETCH_SECONDS_MIN
        assert (await ann.get("/", headers={"Onsale-Admission": token()})).text == "ann"
        keys.away = True
        now[0] += keyset.AGE_SECONDS_MAX + 1
        assert (await ann.get("/", headers={"Onsale-Admission": token()})).text == "ann"


def test_what_is_remembered_is_bounded_and_ends_with_the_tokens():
    now = [0.0]
    sessions = Sessions(lambda: now[0], most=10)
    for number in range(100):
        assert sessions.begin(f"t{number}", until=60.0)
    assert len(sessions._kept) == 10
    now[0] = 61.0
    assert sessions.begin("later", until=120.0)
    assert len(sessions._kept) == 1
    assert SESSIONS_MAX > 10


@scenario
async def test_sockets_are_closed_before_they_are_open():
    sent = []

    async def send(message):
        sent.append(message)

    async def receive():
        return {"type": "websocket.connect"}

    app = protected()
    scope = {"type": "websocket", "path": "/live", "headers": [], "query_string": b""}
    await app(dict(scope), receive, send)
    assert sent == [{"type": "websocket.close", "code": 4403, "reason": "admission_required"}]
    sent.clear()
    await app(scope | {"headers": [(b"onsale-admission", token().encode())]}, receive, send)
    assert sent == [{"type": "websocket.accept"}]


@scenario
async def test_with_a_real_gateway(engine_urls):
    event = make_room(engine_urls.database_url, state=EventState.OPEN, policy=RoomPolicy.FIFO)
    settings = RoomSettings(key=KEY, shops=(SHOP,), issuer="https://on.sale")
    async with gateway(engine_urls, room=settings) as served:
        await join(served)
        with psycopg.connect(engine_urls.database_url, autocommit=True) as conn:
            call(conn, event, 1)
        await asked(served, "POST", "/begin")
        given = (await asked(served, "GET", "/admission")).json()["token"]
        jwks_url = f"http://127.0.0.1:{served.port}/.well-known/jwks.json"
        app = AdmissionRequired(
            shop, jwks_url=jwks_url, event=EVENT, audience=SHOP, room_url=ROOM, issuer="https://on.sale"
        )
        async with browser(app) as ann:
            assert (await ann.get(f"/?onsale_admission={given}")).status_code == 303
            assert (await ann.get("/")).text == "ann"
