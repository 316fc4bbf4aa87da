"""Who operates: read from a key or from the console's cookie, for every call, websocket and middleware alike.

A key is looked up in Postgres and believed for `BELIEVED_SECONDS` by the gateway that asked: so a revoked
one, or one that ran out, is refused everywhere within that, and a console that asks ten times a second costs
one look. The environment's key needs no database. Secrets are compared in constant time, kept nowhere but as
digests, and never logged.

Whoever tries keys is bounded by address. A key that an address used lately is no attempt: one scraper with an
old key in an office locks nobody out who is at work there.

What a browser sends by itself is not yet a wish of its user: with the cookie, whatever changes something, and
every websocket, must come from a page of this origin.
"""

from __future__ import annotations

import hashlib
import hmac
import math
import time
from collections import Counter, OrderedDict
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager
from datetime import datetime
from typing import Final, NamedTuple

from msgspec import Struct, structs
from starlette.requests import HTTPConnection

from gateway.addresses import Address, address_of
from gateway.buyers.recall import DATABASE_AWAY
from gateway.origins import came_by_https, from_own_page
from gateway.problems import Forbidden, TooMany, Unauthorized, code_of
from gateway.room.limits import Buckets
from gateway.settings import Settings
from store.errors import OnsaleError, Unavailable
from store.lookups import Conn, Pool
from store.operators import known
from store.operators.known import KnownKey
from store.operators.words import ENVIRONMENT, Role, Written, digest_of, read_text

BELIEVED_SECONDS: Final = 1.0
LATELY_SECONDS: Final = 600.0
"""For so long after it was used a key is no attempt from the same address."""
KNOWN_MAX: Final = 2_000
"""Keys and cookies, by address, that are remembered."""
TRIES_PER_ADDRESS_MINUTE: Final = 10
"""Wrong keys; five minutes' worth may come at once."""
COOKIES_PER_ADDRESS_MINUTE: Final = 120
"""Cookies that are none any more; nobody guesses one, so this bounds the looks alone."""
REFUSALS: Final = (
    "operator_key", "operator_key_expired", "operator_key_revoked", "session_ended", "cross_origin",
    "operator_tries", "unavailable",
)  # fmt: skip
"""Why nobody knows who calls."""
SAFE: Final = frozenset({"GET", "HEAD", "OPTIONS"})
COOKIE: Final = "onsale_operator"
SECURE_COOKIE: Final = f"__Host-{COOKIE}"
CALLER: Final = "onsale.caller"
"""Where in a call's scope its `Caller` is, or why it has none."""

_HOW: Final = "Send an operator key as: Authorization: Bearer <key>, or log in at /console."
_ASK: Final = "Ask an owner for a new one."


class Caller(Struct, frozen=True):
    """Who acts, and what they may."""

    name: str
    role: Role
    key_id: int | None
    """None: the environment's key."""
    key_digest: bytes
    """Of the secret that is used, or that the session was begun with."""
    events: tuple[str, ...] | None = None
    """Slugs of the only events the key is for; None: all."""
    expires_at: datetime | None = None
    """Of the session, unless it is used before, or of the key."""
    session: bytes | None = None
    """The digest of the cookie; None: by a key."""

    def may_see(self, event: str) -> bool:
        """Whether the key is for that event."""
        return self.events is None or event in self.events


class _Kept(NamedTuple):
    caller: Caller
    asked_at: float


class Callers:
    """One gateway's: who was heard lately, and how often somebody was wrong."""

    def __init__(
        self, settings: Settings, pool: Pool | None, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._settings = settings
        self._pool = pool
        self._clock = clock
        self._environment = settings.operator_key.encode()
        self._kept: OrderedDict[tuple[Address, bytes], _Kept] = OrderedDict()
        self._tries = Buckets(TRIES_PER_ADDRESS_MINUTE)
        self._cookies = Buckets(COOKIES_PER_ADDRESS_MINUTE)
        self.refused = Counter(dict.fromkeys(REFUSALS, 0))
        """By code, since this gateway began."""

    async def identify(self, call: HTTPConnection) -> Caller:
        """Who calls; raises `Unauthorized`, `Forbidden` (cross_origin), `TooMany`, `Unavailable`.

        Asked once for each call, however many ask.
        """
        found: Caller | OnsaleError | None = call.scope.get(CALLER)
        if found is None:
            try:
                with self._counting():
                    found = await self._read(call)
            except OnsaleError as error:
                found = error
            call.scope[CALLER] = found
        if isinstance(found, OnsaleError):
            raise found
        return found

    async def again(self, call: HTTPConnection) -> Caller:
        """Who calls on a socket that stays, as long as they may; raises as `identify` once they may not.

        `Unavailable` says nothing about them: ask again.
        """
        caller: Caller = call.scope[CALLER]
        with self._counting():
            if caller.session is not None:
                return await self._read(call)
            if caller.key_id is None:
                return caller
            return await self._with_secret(Written(caller.key_id, caller.key_digest))

    async def by_key(self, call: HTTPConnection, text: str) -> Caller:
        """Who has that key, told otherwise than by a header, and now calls; raises `Unauthorized`, `TooMany`,
        `Unavailable`."""
        with self._counting():
            caller = await self._by_key(call, text)
        call.scope[CALLER] = caller
        return caller

    def is_https(self, call: HTTPConnection) -> bool:
        """Whether the browser's connection is encrypted."""
        scope = call.scope
        return came_by_https(
            scope["scheme"], scope.get("client"), scope["headers"], self._settings.trusted_proxies
        )

    def cookie_name(self, call: HTTPConnection) -> str:
        """What the session's cookie is called: no page of a neighbouring host can set the secure one."""
        return SECURE_COOKIE if self.is_https(call) else COOKIE

    def must_be_own_page(self, call: HTTPConnection, *, browser: bool) -> None:
        """Raises `Forbidden` (cross_origin) for another page; who is no `browser` may say nothing of one."""
        own = from_own_page(call.scope["headers"], https=self.is_https(call))
        if not own and (browser or own is False):
            raise Forbidden("cross_origin", "Another page sent this. Do it on the console's own page.")

    async def _read(self, call: HTTPConnection) -> Caller:
        scheme, _, given = call.headers.get("authorization", "").partition(" ")
        if scheme.lower() == "bearer" and given.strip():
            return await self._by_key(call, given.strip())
        cookie = call.cookies.get(self.cookie_name(call))
        if cookie is None:
            raise self._wrong()
        if call.scope["type"] == "websocket" or call.scope["method"] not in SAFE:
            self.must_be_own_page(call, browser=True)
        which = self._address(call), hashlib.sha256(b"cookie:" + cookie.encode()).digest()

        async def look() -> Caller:
            return await self._in_session(cookie)

        return await self._believe(which, self._cookies, look)

    async def _by_key(self, call: HTTPConnection, text: str) -> Caller:
        which = self._address(call), hashlib.sha256(b"key:" + text.encode()).digest()

        async def look() -> Caller:
            return await self._owner_of(text)

        return await self._believe(which, self._tries, look)

    async def _believe(
        self, which: tuple[Address, bytes], buckets: Buckets, look: Callable[[], Awaitable[Caller]]
    ) -> Caller:
        address, now = which[0], self._clock()
        kept = self._kept.get(which)
        if kept is not None and now - kept.asked_at < BELIEVED_SECONDS:
            return kept.caller
        counted = kept is None or now - kept.asked_at > LATELY_SECONDS
        if counted:
            wait = buckets.wait_of(address, now)
            if wait > 0:
                seconds = math.ceil(wait)
                story = f"Too many wrong keys came from your network. Try again in {seconds} seconds."
                raise TooMany("operator_tries", story, retry_after_seconds=seconds)
            buckets.take(address, now)  # before the look: a thousand at once are a thousand attempts
        try:
            caller = await look()
        except Unauthorized:
            self._kept.pop(which, None)
            raise
        except Unavailable:
            if counted:
                buckets.give_back(address)
            raise
        if counted:
            buckets.give_back(address)
        self._kept[which] = _Kept(caller, now)
        self._kept.move_to_end(which)
        if len(self._kept) > KNOWN_MAX:
            self._kept.popitem(last=False)
        return caller

    async def _owner_of(self, text: str) -> Caller:
        if self._environment and hmac.compare_digest(text.encode(), self._environment):
            return self._environments()
        written = read_text(text)
        if written is None:
            raise self._wrong()
        return await self._with_secret(written)

    async def _with_secret(self, written: Written) -> Caller:
        async with self._asking() as connection:
            key = await known.read_key(connection, written.id)
            if key is None or not key.has_secret(written.digest):
                raise self._wrong()
            if key.revoked:
                raise Unauthorized("operator_key_revoked", f"The key {key.name!r} was revoked. {_ASK}")
            if key.expired:
                raise Unauthorized("operator_key_expired", f"The key {key.name!r} has run out. {_ASK}")
            await _noted(key, connection)
        return Caller(key.name, key.role, key.id, written.digest, key.events, key.expires_at)

    async def _in_session(self, cookie: str) -> Caller:
        digest = digest_of(cookie)
        async with self._asking() as connection:
            session = await known.read_session(connection, digest)
            if session is None:
                raise _ended()
            if session.key_id is None:
                caller = self._environments()
                if not self._environment or not session.is_of(cookie, caller.key_digest):
                    raise _ended()
            else:
                key = await known.read_key(connection, session.key_id)
                begun_with = None if key is None else key.secret_of(session, cookie)
                if key is None or begun_with is None or key.revoked or key.expired:
                    raise _ended()
                caller = Caller(key.name, key.role, key.id, begun_with, key.events)
                await _noted(key, connection)
            ends_at = await known.prolong(connection, digest) if session.to_prolong else session.ends_at
            if ends_at is None:
                raise _ended()
        return structs.replace(caller, expires_at=ends_at, session=digest)

    def _environments(self) -> Caller:
        return Caller(ENVIRONMENT, Role.OWNER, None, hashlib.sha256(self._environment).digest())

    def _wrong(self) -> Unauthorized:
        more = "" if self._environment else " This gateway has no ONSALE_OPERATOR_KEY."
        return Unauthorized("operator_key", f"{_HOW}{more} ./run key create makes one.")

    @contextmanager
    def _counting(self) -> Iterator[None]:
        try:
            yield
        except OnsaleError as error:
            self.refused[code_of(error)] += 1
            raise

    def _address(self, call: HTTPConnection) -> Address:
        scope = call.scope
        return address_of(scope.get("client"), scope["headers"], self._settings.trusted_proxies)

    @asynccontextmanager
    async def _asking(self) -> AsyncIterator[Conn]:
        assert self._pool is not None, "a gateway that knows keys has a database"
        try:
            async with self._pool.connection() as connection:
                yield connection
        except DATABASE_AWAY as error:
            story = "The database is away: nobody can be told from anybody. Try again shortly."
            raise Unavailable(story) from error


async def _noted(key: KnownKey, connection: Conn) -> None:
    if key.to_note:
        await known.note_key(connection, key.id)


def _ended() -> Unauthorized:
    return Unauthorized("session_ended", "You are not logged in any more. Log in again at /console.")
