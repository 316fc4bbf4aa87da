"""Calls under a key of the caller's: who does one, and what it was answered, kept for a day.

Promises: of all who do the same call at once, on however many gateways, one has it (`take`); the others are
told that it is under way, and afterwards get its answer. Whoever has it has it for `LEASE_SECONDS`: a gateway
killed in the middle keeps nobody out for longer. Who comes next then does the call again. That is safe, as
what is behind every call is a conditional write: done twice it is done once, or refused. Where it is not
(what counts up, like blocking places), the answer is written by the transaction that makes the change
(`keep_with`), so a call without an answer was not done; and an owner whose lease went to another cannot
commit any more.

Each function is one or two statements in autocommit, or stands in its caller's transaction. It needs
Postgres alone.
"""

from __future__ import annotations

import hashlib
import secrets
from typing import Any, Final

import msgspec
import psycopg
from msgspec import Struct

from store.errors import Conflicted, Refused
from store.holds import Conn

LEASE_SECONDS: Final = 10
KEPT_HOURS: Final = 24
KEYS_PER_BUYER_MAX: Final = 1_000
"""Of one buyer's keys, kept at a time; each may have an answer of its own."""
TRIM_MAX: Final = 5_000
ANSWER_BYTES_MAX: Final = 256 * 1024
"""No longer answer is kept."""
_TAKES_MAX: Final = 3

TAKE: Final = f"""
-- Of two who insert the same key one waits for the other's statement, and then finds its row. Taken from
-- somebody is only what is too old to count, or the same call where its owner's lease is over.
INSERT INTO idempotency_key (scope, buyer, fingerprint, owner, lease_until)
SELECT %(scope)s, %(buyer)s, %(fingerprint)s, %(owner)s,
       clock_timestamp() + interval '{LEASE_SECONDS} seconds'
 WHERE (SELECT count(*) FROM (SELECT 1 FROM idempotency_key
                               WHERE buyer = %(buyer)s
                                 AND made_at > clock_timestamp() - interval '{KEPT_HOURS} hours'
                               LIMIT {KEYS_PER_BUYER_MAX}) AS theirs) < {KEYS_PER_BUYER_MAX}
ON CONFLICT (scope) DO UPDATE
   SET fingerprint = excluded.fingerprint, owner = excluded.owner, lease_until = excluded.lease_until,
       made_at = excluded.made_at, status = NULL, head = NULL, body = NULL
 WHERE idempotency_key.made_at <= clock_timestamp() - interval '{KEPT_HOURS} hours'
    OR idempotency_key.lease_until <= clock_timestamp()
       AND idempotency_key.fingerprint = excluded.fingerprint
"""

READ: Final = "SELECT fingerprint, status, head, body FROM idempotency_key WHERE scope = %(scope)s"

KEEP: Final = """
-- Only by who has it, once.
UPDATE idempotency_key SET status = %(status)s, head = %(head)s, body = %(body)s, lease_until = NULL
 WHERE scope = %(scope)s AND owner = %(owner)s AND status IS NULL
"""

LET_GO: Final = """
DELETE FROM idempotency_key WHERE scope = %(scope)s AND owner = %(owner)s AND status IS NULL
"""

TRIM: Final = f"""
-- Nobody waits for anybody: rows that are taken anew in this moment are left out. Chosen once: in a nested
-- loop they would be chosen again for each that was deleted.
WITH old AS MATERIALIZED (
  SELECT scope FROM idempotency_key WHERE made_at <= clock_timestamp() - interval '{KEPT_HOURS} hours'
   ORDER BY made_at LIMIT %(limit)s FOR UPDATE SKIP LOCKED)
DELETE FROM idempotency_key USING old WHERE idempotency_key.scope = old.scope
"""

_decode_head = msgspec.json.Decoder(list[tuple[str, str]]).decode


class Reused(Refused):
    """The key was used before with other content."""

    def __init__(self) -> None:
        super().__init__("key_reused", str(self.__doc__))


class UnderWay(Conflicted):
    """The same call is under way. Ask again with the same key for its answer."""

    retry_after_seconds = 1

    def __init__(self) -> None:
        super().__init__("request_under_way", str(self.__doc__))


class TooManyKeys(Refused):
    """So many of your keys are kept, each for a day, that there is no room for another. Come back later."""

    def __init__(self) -> None:
        super().__init__("too_many_keys", str(self.__doc__))


class Taken(Struct):
    """A call that is one's own to do."""

    scope: bytes
    owner: int
    kept: bool = False
    """The answer is written, with what the call changed."""


class Answer(Struct, frozen=True):
    """What a call was answered."""

    status: int
    head: list[tuple[str, str]]
    body: bytes


def scope_of(buyer: str | None, method: str, path: str, key: str, operator: int | None = None) -> bytes:
    """Under what a call is known: nobody's key means anything to anybody else, or for another call.

    Without a buyer it is an operator's: of the operator key of that number, or of the environment's.
    """
    who: list[str | int] = ["buyer", buyer] if buyer is not None else ["operator"]
    if operator is not None:
        who.append(operator)
    return hashlib.sha256(msgspec.json.encode([who, method, path, key])).digest()


def fingerprint_of(query: bytes, body: bytes) -> bytes:
    """What tells one content from another."""
    return hashlib.sha256(len(query).to_bytes(4) + query + body).digest()


async def take(connection: Conn, scope: bytes, buyer: str | None, fingerprint: bytes) -> Taken | Answer:
    """The call is one's own to do, or was answered before.

    Raises `UnderWay`, `Reused`, `TooManyKeys`.
    """
    taken = Taken(scope, secrets.randbits(63))
    values = {"scope": scope, "buyer": buyer, "fingerprint": fingerprint, "owner": taken.owner}
    for _ in range(_TAKES_MAX):
        if (await connection.execute(TAKE, values)).rowcount == 1:
            return taken
        row = await (await connection.execute(READ, {"scope": scope})).fetchone()
        if row is None:  # let go of in this moment; or this buyer has no more
            continue
        theirs, status, head, body = row
        if theirs != fingerprint:
            raise Reused
        if status is None:
            raise UnderWay
        return Answer(status, _decode_head(head), body)
    raise TooManyKeys


async def keep(connection: Conn, taken: Taken, answer: Answer) -> bool:
    """Whoever asks again gets this answer. False: the lease went to somebody else, whose answer counts."""
    return (await connection.execute(KEEP, _values(taken, answer))).rowcount == 1


def keep_with(conn: psycopg.Connection[Any], taken: Taken, answer: Answer) -> None:
    """The same in the transaction of what the call changed, which is undone where this raises `UnderWay`: the
    lease went to somebody else."""
    if conn.execute(KEEP, _values(taken, answer)).rowcount != 1:
        raise UnderWay


async def let_go(connection: Conn, taken: Taken) -> None:
    """There is no answer to keep; whoever asks again does it."""
    await connection.execute(LET_GO, {"scope": taken.scope, "owner": taken.owner})


async def trim(connection: Conn, limit: int = TRIM_MAX) -> int:
    """Forget what is older than `KEPT_HOURS`, at most `limit` keys; how many. Again while it is `limit`."""
    return (await connection.execute(TRIM, {"limit": min(limit, TRIM_MAX)})).rowcount


def fits(body_bytes: int) -> bool:
    """Whether an answer is short enough to be kept."""
    return body_bytes <= ANSWER_BYTES_MAX


def _values(taken: Taken, answer: Answer) -> dict[str, Any]:
    head = msgspec.json.encode(answer.head).decode()
    values: dict[str, Any] = {"scope": taken.scope, "owner": taken.owner, "status": answer.status}
    return values | {"head": head, "body": answer.body}
