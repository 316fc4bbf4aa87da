"""Addresses of a Redis or Valkey that fails over, and clients that follow its primary.

    redis+sentinel://[user][:password]@host[:port][,host[:port]…]/NAME[/DATABASE][?sentinel_password=…]

The hosts are Sentinels (port 26379 unless given), NAME is what they call the primary. User and password are
the primary's, `sentinel_user` and `sentinel_password` the Sentinels' own; `rediss+sentinel` is TLS to all.

Each new connection asks the Sentinels who the primary is (redis-py's `SentinelConnectionPool`). A connection
to a primary that was demoted hears READONLY: it ends, and what was sent counts as unknown.
"""

from __future__ import annotations

from typing import Any, Final
from urllib.parse import parse_qs, unquote, urlsplit

import redis
import redis.asyncio
import redis.asyncio.sentinel
import redis.sentinel
from msgspec import Struct

from store.errors import OnsaleError

SCHEMES: Final = ("redis+sentinel", "rediss+sentinel")
PORT: Final = 26379
ASK_SECONDS_MAX: Final = 1.0
"""For one Sentinel; then the next is asked."""

_Sentinel: Any = redis.sentinel.Sentinel
_AsyncSentinel: Any = redis.asyncio.sentinel.Sentinel
"""Both without types in redis-py."""

HOW: Final = "redis+sentinel://:password@host1:26379,host2:26379,host3:26379/NAME"


class AddressNotValid(OnsaleError):
    """A Sentinel address cannot be read."""


class SentinelAddress(Struct, frozen=True, kw_only=True):
    """`sentinels` in the order they are asked."""

    sentinels: tuple[tuple[str, int], ...]
    name: str
    database: int = 0
    user: str | None = None
    password: str | None = None
    sentinel_user: str | None = None
    sentinel_password: str | None = None
    tls: bool = False

    def of_primary(self) -> dict[str, Any]:
        """What a connection to the primary needs besides its host."""
        given = {"db": self.database, "username": self.user, "password": self.password}
        return given | ({"ssl": True} if self.tls else {})

    def of_sentinels(self) -> dict[str, Any]:
        """What a connection to a Sentinel needs besides its host."""
        times = {"socket_timeout": ASK_SECONDS_MAX, "socket_connect_timeout": ASK_SECONDS_MAX}
        known = {"username": self.sentinel_user, "password": self.sentinel_password}
        return times | known | ({"ssl": True} if self.tls else {})


def read_address(url: str) -> SentinelAddress | None:
    """What the address says; None for one that names a server itself. Raises `AddressNotValid`."""
    scheme, _, rest = url.partition("://")
    if scheme not in SCHEMES:
        return None
    rest, _, query = rest.partition("?")
    at, _, path = rest.partition("/")  # not by urlsplit: it takes several hosts for a broken one
    login, _, hosts = at.rpartition("@")
    user, _, password = login.partition(":")
    name, _, database = path.strip("/").partition("/")
    asked = parse_qs(query, strict_parsing=bool(query))
    unknown = asked.keys() - {"sentinel_user", "sentinel_password"}
    if not name or unknown or not (database or "0").isascii() or not (database or "0").isdigit():
        raise AddressNotValid(f"The address of a primary behind Sentinels is written {HOW}[/DATABASE].")
    return SentinelAddress(
        sentinels=tuple(_host_and_port(each) for each in hosts.split(",")),
        name=unquote(name),
        database=int(database or 0),
        user=unquote(user) or None,
        password=unquote(password) or None,
        sentinel_user=asked.get("sentinel_user", [None])[0],
        sentinel_password=asked.get("sentinel_password", [None])[0],
        tls=scheme == "rediss+sentinel",
    )


def _host_and_port(text: str) -> tuple[str, int]:
    try:
        one = urlsplit(f"//{text}")
        host, port = one.hostname, one.port or PORT
    except ValueError:
        host, port = None, PORT
    if not host:
        raise AddressNotValid(f"{text!r} is no host of a Sentinel. An address is written {HOW}.")
    return host, port


def follow(address: SentinelAddress, **options: Any) -> redis.Redis:
    """A blocking client of whoever is primary; `options` as of `redis.Redis`."""
    asking = address.of_sentinels() | {"retry": options["retry"]}
    sentinel = _Sentinel(address.sentinels, sentinel_kwargs=asking)
    client: redis.Redis = sentinel.master_for(address.name, **address.of_primary(), **options)
    return client


class _Following(redis.asyncio.Redis):
    """Closed together with its clients of the Sentinels."""

    async def aclose(self, close_connection_pool: bool | None = None) -> None:
        pool: Any = self.connection_pool
        await super().aclose(close_connection_pool)
        await pool.sentinel_manager.aclose()


def follow_async(address: SentinelAddress, **options: Any) -> redis.asyncio.Redis:
    """An asyncio client of whoever is primary; `options` as of `redis.asyncio.Redis`."""
    asking = address.of_sentinels() | {"retry": options["retry"]}
    sentinel = _AsyncSentinel(address.sentinels, sentinel_kwargs=asking)
    client: redis.asyncio.Redis = sentinel.master_for(
        address.name, redis_class=_Following, **address.of_primary(), **options
    )
    return client
