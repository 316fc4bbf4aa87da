"""What a gateway asks about who operates: a key by its id, a session by its cookie. Async, a round trip each.

Everything is by Postgres' clock. Nothing here is kept; how long an answer counts is its reader's matter.
"""

from __future__ import annotations

import hmac
from datetime import datetime
from typing import Any, Final

from msgspec import Struct

from store.lookups import Conn
from store.operators.words import NOTED_SECONDS, SESSION_IDLE_SECONDS, Role, bound

READ_KEY: Final = f"""
-- A slug never changes, so the events a key is limited to are told by name.
SELECT id, name, role,
       CASE WHEN event_ids IS NOT NULL THEN
         ARRAY (SELECT slug FROM event WHERE event.id = ANY (event_ids) ORDER BY slug) END,
       digest, CASE WHEN previous_until > clock_timestamp() THEN previous_digest END,
       expires_at, expires_at <= clock_timestamp(), revoked_at IS NOT NULL,
       coalesce(last_used_at < clock_timestamp() - interval '{NOTED_SECONDS} seconds', true)
  FROM operator_key WHERE id = %(id)s
"""
NOTE_KEY: Final = f"""
UPDATE operator_key SET last_used_at = clock_timestamp()
 WHERE id = %(id)s
   AND coalesce(last_used_at < clock_timestamp() - interval '{NOTED_SECONDS} seconds', true)
"""
READ_SESSION: Final = f"""
SELECT key_id, bound, ends_at, ends_at_latest,
       least(clock_timestamp() + interval '{SESSION_IDLE_SECONDS} seconds', ends_at_latest)
         > ends_at + interval '{NOTED_SECONDS} seconds'
  FROM operator_session WHERE digest = %(digest)s AND ends_at > clock_timestamp()
"""
PROLONG: Final = f"""
-- What ended stays so.
UPDATE operator_session
   SET ends_at = least(clock_timestamp() + interval '{SESSION_IDLE_SECONDS} seconds', ends_at_latest)
 WHERE digest = %(digest)s AND ends_at > clock_timestamp() RETURNING ends_at
"""


class KnownKey(Struct, frozen=True):
    """A key's row, as it counts now."""

    id: int
    name: str
    role: Role
    events: tuple[str, ...] | None
    """Slugs; None: all events there are and will be."""
    digest: bytes
    previous_digest: bytes | None
    """While it counts too."""
    expires_at: datetime | None
    expired: bool
    revoked: bool
    to_note: bool
    """It was last seen to be used some while ago."""

    def has_secret(self, digest: bytes) -> bool:
        """Whether that is the digest of its secret; in constant time."""
        return any(hmac.compare_digest(digest, one) for one in self._digests)

    def secret_of(self, session: KnownSession, cookie: str) -> bytes | None:
        """The digest of the secret a session was begun with, if that still counts."""
        return next((one for one in self._digests if session.is_of(cookie, one)), None)

    @property
    def _digests(self) -> tuple[bytes, ...]:
        return (self.digest,) if self.previous_digest is None else (self.digest, self.previous_digest)


class KnownSession(Struct, frozen=True):
    """A session that runs."""

    key_id: int | None
    bound: bytes
    ends_at: datetime
    """Unless it is used before."""
    ends_at_latest: datetime
    to_prolong: bool

    def is_of(self, cookie: str, digest: bytes) -> bool:
        """Whether it was begun with the secret of that digest; in constant time."""
        return hmac.compare_digest(self.bound, bound(cookie, digest))


async def read_key(connection: Conn, key_id: int) -> KnownKey | None:
    """The key of that id, whatever became of it."""
    row = await (await connection.execute(READ_KEY, {"id": key_id})).fetchone()
    return None if row is None else _key(*row)


async def read_session(connection: Conn, digest: bytes) -> KnownSession | None:
    """The session whose cookie has that digest, while it runs."""
    row = await (await connection.execute(READ_SESSION, {"digest": digest})).fetchone()
    return None if row is None else KnownSession(*row)


async def note_key(connection: Conn, key_id: int) -> None:
    """It is used now."""
    await connection.execute(NOTE_KEY, {"id": key_id})


async def prolong(connection: Conn, digest: bytes) -> datetime | None:
    """It is used now, so it ends later, but never beyond its bound; None where it ended meanwhile."""
    row = await (await connection.execute(PROLONG, {"digest": digest})).fetchone()
    return None if row is None else row[0]


def _key(key_id: int, name: str, role: str, events: list[str] | None, *more: Any) -> KnownKey:
    digest, previous, expires_at, expired, revoked, to_note = more
    return KnownKey(
        key_id,
        name,
        Role(role),
        None if events is None else tuple(events),
        digest,
        previous,
        expires_at,
        bool(expired),
        revoked,
        to_note,
    )
