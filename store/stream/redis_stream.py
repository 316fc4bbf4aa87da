"""The stream in Redis or Valkey, by redis-py. fakeredis' clients fit the same adapters in unit tests.

Clients come from `connect` and `connect_async`, which also follow a primary behind Sentinels
(`store.stream.sentinel`): no retries, because a retried XADD whose first reply was cut doubles the entry; a
lost reply is `OutcomeUnknown` and is resolved by the ledger.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, cast

import redis
import redis.asyncio
from redis.asyncio.retry import Retry as AsyncRetry
from redis.backoff import NoBackoff
from redis.exceptions import ConnectionError as RedisConnectionError
from redis.exceptions import NoScriptError, OutOfMemoryError, ReadOnlyError, ResponseError
from redis.exceptions import TimeoutError as RedisTimeoutError
from redis.retry import Retry

from store.errors import OutcomeUnknown, StreamMissing, StreamUnavailable
from store.stream.port import BEGINNING, CREATED, POKE, RawEntry
from store.stream.sentinel import follow, follow_async, read_address
from store.wire import arrival_after, arrival_order, stream_key
from store.words import Arrival

BLOCK_MS_MAX = 2000
"""Longest blocking read; below the socket timeout of `connect`."""
SOCKET_TIMEOUT_SECONDS = 5.0
SYNC_MS_MAX = 2000
"""Longest wait for replicas' disks; below the socket timeout too."""
CONNECT_SECONDS = 2.0

APPEND = """
-- Appends every entry or, where the stream is missing, none. One call is one group commit: the
-- server appends and syncs the file once before it answers.
local ids = {}
for i, entry in ipairs(ARGV) do
  local id = redis.call('XADD', KEYS[1], 'NOMKSTREAM', '*', 'r', entry)
  if not id then return false end
  ids[i] = id
end
return ids
"""

APPEND_BEHIND = """
-- Appends every entry if ARGV[1] is the id of a request that says ARGV[2], else none.
local last = redis.call('XRANGE', KEYS[1], ARGV[1], ARGV[1])[1]
if not last or last[2][1] ~= 'r' or last[2][2] ~= ARGV[2] then return false end
local ids = {}
for i = 3, #ARGV do
  ids[i - 2] = redis.call('XADD', KEYS[1], '*', 'r', ARGV[i])
end
return ids
"""

TRIM = """
-- Forgets what is below ARGV[2], if it is what was read: the newest entry of each read, ARGV[3] and so on, is
-- there, and nothing is at or below ARGV[1], where reading began. Otherwise the stream was lost meanwhile, or
-- came back older, and what was appended since may stand between entries that were read.
for i = 3, #ARGV do
  if #redis.call('XRANGE', KEYS[1], ARGV[i], ARGV[i]) == 0 then return 0 end
end
if #redis.call('XRANGE', KEYS[1], '-', ARGV[1], 'COUNT', 1) > 0 then return 0 end
redis.call('XTRIM', KEYS[1], 'MINID', ARGV[2])
return 1
"""

LOST = (RedisConnectionError, RedisTimeoutError, OSError)
_REFUSALS = ("OOM", "READONLY", "MISCONF", "NOREPLICAS", "MASTERDOWN", "CLUSTERDOWN")
"""What a server says that takes no writes just now: full, a replica, its disk broken. Nothing was done."""


def connect(url: str, *, seconds_max: float = SOCKET_TIMEOUT_SECONDS) -> redis.Redis:
    """A blocking client that never retries by itself and waits so long at most. Raises `AddressNotValid`."""
    times = {"socket_timeout": seconds_max, "socket_connect_timeout": min(CONNECT_SECONDS, seconds_max)}
    options: Any = {**times, "retry": Retry(NoBackoff(), 0)}
    address = read_address(url)
    return redis.Redis.from_url(url, **options) if address is None else follow(address, **options)


def connect_async(url: str, *, connections_max: int | None = None) -> redis.asyncio.Redis:
    """An asyncio client that never retries by itself.

    `connections_max` counts those of all who use it at once: at the bound (redis-py's own is 100) it does not
    wait, it raises what a lost connection raises.
    """
    times = {"socket_timeout": SOCKET_TIMEOUT_SECONDS, "socket_connect_timeout": CONNECT_SECONDS}
    options: Any = {**times, "retry": AsyncRetry(NoBackoff(), 0), "max_connections": connections_max}
    address = read_address(url)
    return (
        redis.asyncio.Redis.from_url(url, **options) if address is None else follow_async(address, **options)
    )


def _arrivals(reply: Any) -> list[Arrival]:
    if reply is None:
        raise StreamMissing
    return [Arrival(identifier.decode()) for identifier in reply]


def last_generated(info: Any) -> Arrival:
    """From XINFO STREAM: a flat list under RESP2, a dict once redis-py or RESP3 has parsed it."""
    if isinstance(info, list):
        info = dict(zip(info[::2], info[1::2], strict=True))
    value = info.get("last-generated-id") or info[b"last-generated-id"]
    return Arrival(value.decode() if isinstance(value, bytes) else value)


def is_missing(error: ResponseError) -> bool:
    return "no such key" in str(error).lower()


def is_refusal(error: ResponseError) -> bool:
    """redis-py keeps the code in the class or in the text, depending on the code and on who raised it.

    A script that is not known, once it was loaded, is one that another server took over from.
    """
    refusals = (OutOfMemoryError, ReadOnlyError, NoScriptError)
    return isinstance(error, refusals) or str(error).startswith(_REFUSALS)


def _is_too_small(error: ResponseError) -> bool:
    return "equal or smaller" in str(error)


class RedisIntake:
    """`Intake` on an asyncio client. With replicas, `accepted` also waits for their disks."""

    def __init__(self, client: redis.asyncio.Redis, event: str, *, replicas: int = 0) -> None:
        self._client: Any = client  # redis-py leaves much of it untyped
        self._key = stream_key(event)
        self._replicas = replicas
        self._digest = ""

    async def append(self, entries: Sequence[bytes]) -> list[Arrival]:
        try:
            return _arrivals(await self._append(entries))
        except ResponseError as error:
            if is_refusal(error):
                raise StreamUnavailable from error
            raise
        except LOST as error:
            raise OutcomeUnknown from error

    async def _append(self, entries: Sequence[bytes]) -> Any:
        try:
            if not self._digest:
                raise NoScriptError
            return await self._run(entries)
        except NoScriptError:  # first use, or the server restarted: nothing ran yet
            self._digest = await self._client.script_load(APPEND)
            return await self._run(entries)

    async def _run(self, entries: Sequence[bytes]) -> Any:
        if not self._replicas:
            return await self._client.evalsha(self._digest, 1, self._key, *entries)
        both = self._client.pipeline(transaction=False)  # WAITAOF answers for its own connection's writes
        both.evalsha(self._digest, 1, self._key, *entries)
        both.execute_command("WAITAOF", 1, self._replicas, SYNC_MS_MAX)
        reply, synced = await both.execute(raise_on_error=False)
        if isinstance(reply, Exception):
            raise reply
        if isinstance(synced, Exception) or synced[1] < self._replicas:
            raise OutcomeUnknown  # it is in the stream; what the replicas have is not known
        return reply

    async def create(self, above: Arrival) -> None:
        try:
            await self._client.xadd(self._key, {CREATED: b"1"}, id=arrival_after(above))
        except ResponseError as error:
            if not _is_too_small(error):  # somebody else was quicker
                raise

    async def last_arrival(self) -> Arrival | None:
        try:
            return last_generated(await self._client.xinfo_stream(self._key))
        except ResponseError as error:
            if is_missing(error):
                return None
            raise

    async def poke(self) -> None:
        await self._client.xadd(self._key, {POKE: b"1"}, nomkstream=True)


class RedisArrivals:
    """`Arrivals` on a blocking client of its own (blocking reads share no connection)."""

    def __init__(self, client: redis.Redis, event: str) -> None:
        self._client = client
        self._execute: Any = client.execute_command  # redis-py leaves it untyped
        self._key = stream_key(event)
        # redis-py turns every entry into a dict; the batch loop wants the reply as it came
        for command in ("XREAD", "XRANGE"):
            client.set_response_callback(command, lambda reply, **_: reply)

    def read(self, after: Arrival, *, count_max: int, block_ms: int) -> list[RawEntry]:
        assert block_ms <= BLOCK_MS_MAX, "a longer block would run into the socket timeout"
        block: tuple[str | int, ...] = ("BLOCK", block_ms) if block_ms else ()
        reply = self._call("XREAD", "COUNT", count_max, *block, "STREAMS", self._key, after)
        if not reply:
            return []
        return cast("list[RawEntry]", next(iter(reply.values())) if isinstance(reply, dict) else reply[0][1])

    def ensure_above(self, cursor: Arrival) -> bool:
        try:
            last = last_generated(self._call("XINFO", "STREAM", self._key))
        except ResponseError as error:
            if not is_missing(error):
                raise
        else:
            if arrival_order(last) >= arrival_order(cursor):
                return False
        try:  # the marker's own id creates the stream or moves it forward
            self._call("XADD", self._key, arrival_after(cursor), CREATED, b"1")
        except ResponseError as error:
            if not _is_too_small(error):  # a gateway was quicker
                raise
        return True

    def below(self, through: Arrival, *, count_max: int) -> list[RawEntry]:
        return cast("list[RawEntry]", self._call("XRANGE", self._key, "-", through, "COUNT", count_max))

    def append(self, entries: Sequence[bytes]) -> list[Arrival]:
        return _arrivals(self._append(APPEND, *entries))

    def append_behind(self, last: RawEntry, entries: Sequence[bytes]) -> list[Arrival] | None:
        identifier, (_, value) = last
        reply = self._append(APPEND_BEHIND, identifier, value, *entries)
        return None if reply is None else _arrivals(reply)

    def _append(self, script: str, *values: bytes) -> Any:
        try:
            return self._call("EVAL", script, 1, self._key, *values)
        except StreamUnavailable as error:
            if isinstance(error.__cause__, ResponseError):
                raise
            raise OutcomeUnknown from error

    def trim_through(
        self, through: Arrival, *, after: Arrival = BEGINNING, seen: Sequence[Arrival] = ()
    ) -> bool:
        kept = arrival_after(through)
        return bool(self._call("EVAL", TRIM, 1, self._key, after, kept, *(seen or (through,))))

    def publish(
        self,
        messages: Sequence[tuple[str, bytes]],
        *,
        trim_through: Arrival | None = None,
        after: Arrival = BEGINNING,
        seen: Sequence[Arrival] = (),
    ) -> bool:
        pipeline = self._client.pipeline(transaction=False)
        if trim_through is not None:
            kept = arrival_after(trim_through)
            pipeline.eval(TRIM, 1, self._key, after, kept, *(seen or (trim_through,)))
        for channel, message in messages:
            pipeline.publish(channel, message)
        try:
            replies = pipeline.execute()
        except ResponseError as error:
            if is_refusal(error):
                raise StreamUnavailable from error
            raise
        except LOST as error:
            raise StreamUnavailable from error
        return trim_through is None or bool(replies[0])

    def _call(self, *command: str | bytes | int) -> Any:
        try:
            return self._execute(*command)
        except ResponseError as error:
            if is_refusal(error):
                raise StreamUnavailable from error
            raise
        except LOST as error:
            raise StreamUnavailable from error
