"""Lets only buyers whose turn it is into a shop: ASGI middleware in front of somebody else's application.

    app = AdmissionRequired(app, jwks_url="https://on.sale/.well-known/jwks.json", event="gala",
                            audience="https://shop.example.org", room_url="https://on.sale/e/gala")

A buyer comes from the waiting room with `?onsale_admission=TOKEN`, once: the token is verified, put into a
cookie together with a secret of this browser, and the address is shown without it. Whoever comes without
one is sent to the room (a browser) or told so (403, `application/problem+json`). APIs may send the token as
`Onsale-Admission`; the application finds who it is as `scope["onsale"]`, and should compare that with its
own sign-in.

A token belongs to the first browser that shows it: a copy of the link, or of the token in a cookie of one's
own, is refused. That is remembered in this process, in bounded memory, until the token ends.
"""

from __future__ import annotations

import hmac
import json
import secrets
import time
from collections import OrderedDict
from collections.abc import Awaitable, Callable, MutableMapping, Sequence
from http.cookies import CookieError, SimpleCookie
from typing import Any, Final, NamedTuple
from urllib.parse import quote, unquote_plus

from onsale_client.keyset import KeysAway, KeySet, NotAdmitted, Verifier

QUERY: Final = "onsale_admission"
HEADER: Final = b"onsale-admission"
COOKIE: Final = "onsale_admission"
SESSIONS_MAX: Final = 100_000
RETRY_SECONDS: Final = 2

Scope = MutableMapping[str, Any]
Send = Callable[[MutableMapping[str, Any]], Awaitable[None]]
Receive = Callable[[], Awaitable[MutableMapping[str, Any]]]
Head = Sequence[tuple[bytes, bytes]]
Application = Callable[[Scope, Receive, Send], Awaitable[None]]


class Admission(NamedTuple):
    """`scope["onsale"]`: who is let in, by which place, and until when (Unix time)."""

    buyer: str
    event: str
    place: str
    until: float


class Sessions:
    """To which browser each token belongs."""

    def __init__(self, clock: Callable[[], float], most: int = SESSIONS_MAX) -> None:
        self._clock = clock
        self._most = most
        self._kept: OrderedDict[str, tuple[str, float]] = OrderedDict()

    def begin(self, token_id: str, until: float) -> str | None:
        """A secret for the browser that shows a token first; None for any other."""
        if token_id in self._kept:
            return None
        secret = secrets.token_urlsafe(16)
        self._keep(token_id, secret, until)
        return secret

    def holds(self, token_id: str, secret: str, until: float) -> bool:
        """Whether it is this browser's. One that another process let in is taken at its word, once."""
        kept = self._kept.get(token_id)
        if kept is None:
            self._keep(token_id, secret, until)
            return True
        return hmac.compare_digest(kept[0].encode(), secret.encode())

    def _keep(self, token_id: str, secret: str, until: float) -> None:
        now = self._clock()
        while self._kept and (len(self._kept) >= self._most or next(iter(self._kept.values()))[1] < now):
            self._kept.popitem(last=False)
        self._kept[token_id] = (secret, until)


class AdmissionRequired:
    """The middleware; `jwks` is for tests, in place of `jwks_url`."""

    def __init__(
        self,
        app: Application,
        *,
        jwks_url: str,
        event: str,
        audience: str,
        room_url: str,
        issuer: str | None = None,
        jwks: KeySet | None = None,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self._app = app
        self._room_url = room_url
        self._secure = audience.startswith("https://")
        self._origin = audience.rstrip("/")
        self._verifier = Verifier(jwks or KeySet(jwks_url), event, self._origin, issuer)
        self._sessions = Sessions(clock)
        self._clock = clock

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] not in ("http", "websocket"):
            await self._app(scope, receive, send)
            return
        try:
            if scope["type"] == "http" and await self._comes_in(scope, send):
                return
            scope["onsale"] = await self._admitted(scope)
        except NotAdmitted as error:
            await self._turn_away(scope, send, str(error))
        except KeysAway as error:
            await _problem(
                scope, send, 503, "keys_away", str(error), [(b"retry-after", b"%d" % RETRY_SECONDS)]
            )
        else:
            await self._app(scope, receive, send)

    async def _comes_in(self, scope: Scope, send: Send) -> bool:
        """Whether somebody came from the room, and was sent on with a cookie."""
        token = _token_in(scope)
        if token is None:
            return False
        claims = await self._verifier.verify(token)
        secret = self._sessions.begin(claims["jti"], float(claims["exp"]))
        if secret is None and not self._has_session(scope, token, claims):
            raise NotAdmitted("This link was used before, in another browser.")
        head = [(b"location", self._address_of(scope).encode()), (b"cache-control", b"no-store")]
        if secret is not None:
            head.append((b"set-cookie", self._cookie(f"{token}~{secret}", float(claims["exp"]))))
        await _answer(send, 303, head)
        return True

    async def _admitted(self, scope: Scope) -> Admission:
        headers = {name: value for name, value in scope["headers"] if name == HEADER}
        if HEADER in headers:
            claims = await self._verifier.verify(headers[HEADER].decode("latin-1"))
        else:
            token, _, secret = _cookie_of(scope).partition("~")
            if not token or not secret:
                raise NotAdmitted("It is not your turn here yet: wait for it in the waiting room.")
            claims = await self._verifier.verify(token)
            if not self._sessions.holds(claims["jti"], secret, float(claims["exp"])):
                raise NotAdmitted("This admission belongs to another browser.")
        return Admission(claims["sub"], claims["event"], claims["place"], float(claims["exp"]))

    def _address_of(self, scope: Scope) -> str:
        """What was asked for, without a token. With the shop's origin: a path that begins with two slashes
        would lead elsewhere."""
        left = "&".join(part for part in _query_of(scope) if _name_of(part) != QUERY)
        return self._origin + quote(scope["path"]) + (f"?{left}" if left else "")

    def _has_session(self, scope: Scope, token: str, claims: dict[str, Any]) -> bool:
        known, _, secret = _cookie_of(scope).partition("~")
        return known == token and self._sessions.holds(claims["jti"], secret, float(claims["exp"]))

    def _cookie(self, value: str, until: float) -> bytes:
        seconds = max(0, int(until - self._clock()))
        secure = "; Secure" if self._secure else ""
        return f"{COOKIE}={value}; Max-Age={seconds}; Path=/; HttpOnly; SameSite=Lax{secure}".encode()

    async def _turn_away(self, scope: Scope, send: Send, why: str) -> None:
        accepts = b",".join([value for name, value in scope["headers"] if name == b"accept"])
        if scope["type"] == "http" and scope["method"] in ("GET", "HEAD") and b"text/html" in accepts:
            back = quote(self._address_of(scope), safe="")
            joint = "&" if "?" in self._room_url else "?"
            where = f"{self._room_url}{joint}return={back}"
            await _answer(send, 303, [(b"location", where.encode()), (b"cache-control", b"no-store")])
        else:
            await _problem(scope, send, 403, "admission_required", why, room=self._room_url)


def _query_of(scope: Scope) -> list[str]:
    """Its parts, written as they were sent."""
    query = quote(scope["query_string"], safe="!$%&'()*+,-./:;=?@_~")
    return [part for part in query.split("&") if part]


def _name_of(part: str) -> str:
    return unquote_plus(part.partition("=")[0])


def _token_in(scope: Scope) -> str | None:
    """The last one in the address."""
    found = [part.partition("=")[2] for part in _query_of(scope) if _name_of(part) == QUERY]
    return unquote_plus(found[-1]) if found else None


def _cookie_of(scope: Scope) -> str:
    try:
        for name, value in scope["headers"]:
            if name == b"cookie" and (found := SimpleCookie(value.decode("latin-1")).get(COOKIE)):
                return found.value
    except CookieError:
        pass
    return ""


async def _problem(
    scope: Scope, send: Send, status: int, code: str, detail: str, head: Head = (), **more: str
) -> None:
    if scope["type"] == "websocket":
        await send({"type": "websocket.close", "code": 4403, "reason": code})  # before it is accepted: 403
        return
    body = {"type": "about:blank", "status": status, "code": code, "detail": detail, **more}
    kind = (b"content-type", b"application/problem+json")
    await _answer(
        send, status, [kind, (b"cache-control", b"no-store"), *(head or [])], json.dumps(body).encode()
    )


async def _answer(send: Send, status: int, head: Head, body: bytes = b"") -> None:
    head = [*head, (b"content-length", b"%d" % len(body))]
    await send({"type": "http.response.start", "status": status, "headers": head})
    await send({"type": "http.response.body", "body": body})
