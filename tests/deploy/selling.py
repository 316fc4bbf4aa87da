"""A short sale over HTTP, as a buyer makes it: join the room, be called, ask for seats, pay. For tests of
what operators see of a running onsale.
"""

from __future__ import annotations

import json
import os
import time
import urllib.error
import urllib.request
from collections.abc import Callable
from typing import Any, NamedTuple

import jwt
import psycopg

from store import events
from store.audit import Said
from store.room import operating
from store.room.words import Proof, RoomTerms
from store.venues.make import make
from store.venues.rows import save_venue
from store.words import EventState

GALA = f"gala-{os.getpid()}"
"""An event on engines that are shared: each process that runs tests has its own, for channels are the whole
server's."""
SAID = Said("Olga", "a sale")
WITHIN_SECONDS = 60.0
LOOK_SECONDS = 0.05


class Reply(NamedTuple):
    status: int
    body: Any


def until(true: Callable[[], Any], what: str, within: float = WITHIN_SECONDS) -> Any:
    """What `true` gives once that is something; for events outside of this process."""
    give_up_at = time.monotonic() + within
    while not (found := true()):
        assert time.monotonic() < give_up_at, f"waited {within:g} s in vain until {what}"
        time.sleep(LOOK_SECONDS)
    return found


def call(method: str, url: str, body: object = None, **head: str) -> Reply:
    """One call; names in `head` have `_` for `-`."""
    data = None if body is None else json.dumps(body).encode()
    names = {name.replace("_", "-"): value for name, value in head.items()}
    asked = urllib.request.Request(url, data, names, method=method)
    try:
        with urllib.request.urlopen(asked, timeout=30) as answer:
            return Reply(answer.status, _read(answer.read()))
    except urllib.error.HTTPError as error:
        with error:
            return Reply(error.code, _read(error.read()))


def _read(raw: bytes) -> Any:
    try:
        return json.loads(raw)
    except ValueError:
        return raw.decode()


def make_sale(database_url: str, slug: str, *, room: bool = True, seats: int = 40, **terms: Any) -> int:
    """An event that sells for money, in its lobby where it has a waiting room, else open."""
    plan = make("arena", seats, standing=10)
    with psycopg.connect(database_url, autocommit=True) as conn:
        venue = save_venue(conn, "arena", plan)
        terms = {"payment": "required"} | terms
        number = events.create_event(conn, slug, slug.title(), venue, plan, **terms)
        if room:
            operating.make(conn, slug, RoomTerms(proof=Proof.OFF), SAID)
            events.set_state(conn, slug, EventState.LOBBY)
        else:
            events.set_state(conn, slug, EventState.OPEN)
    return number


class Buyer:
    """Somebody with a token, who asks one gateway."""

    def __init__(self, base_url: str, secret: str, name: str, event: str) -> None:
        self.name, self._event, self._base = name, f"{base_url}/v1/events/{event}", base_url
        self.token = jwt.encode({"sub": name, "exp": int(time.time()) + 3_600}, secret, "HS256")

    def call(self, method: str, path: str, body: object = None, **head: str) -> Reply:
        return call(method, self._event + path, body, Authorization=f"Bearer {self.token}", **head)

    def join(self, email: str | None = None) -> None:
        reply = self.call("POST", "/room/join", {} if email is None else {"email": email})
        assert reply.status == 200, reply

    def begin(self) -> None:
        """Once they are called."""
        until(lambda: self.call("POST", "/room/begin").status == 200, f"{self.name} is called")

    def ask(self, request_id: str = "r1", **want: Any) -> Reply:
        """For the best seat, unless it says what; the decision."""
        want = want or {"best": {"quantity": 1}}

        def asked() -> Reply | None:
            reply = self.call("POST", "/requests", want, Idempotency_Key=request_id, Prefer="wait=10")
            opens = isinstance(reply.body, dict) and reply.body.get("code") == "event_not_open"
            return None if opens else reply

        reply: Reply = until(asked, "their gateway knows that the sale has begun")
        give_up_at = time.monotonic() + WITHIN_SECONDS
        while reply.status == 202 and time.monotonic() < give_up_at:
            reply = self.call("GET", f"/requests/{request_id}?wait_ms=5000")
        return reply

    def hold(self) -> str:
        """The hold they got."""
        reply = self.ask()
        assert reply.body.get("outcome") == "held", reply
        return str(reply.body["result"]["hold"])

    def pay(self, hold: str, email: str | None = None) -> None:
        """At the provider, until it is an order."""
        begun = self.call("POST", f"/holds/{hold}/payment", {} if email is None else {"email": email})
        assert begun.status == 200, begun
        pressed = call("POST", begun.body["checkout"]["url"], {}, Accept="application/json")
        assert pressed.status == 200, pressed
        until(
            lambda: self.call("GET", f"/holds/{hold}/payment").body.get("order"),
            f"{self.name} has an order",
        )
