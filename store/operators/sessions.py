"""The console's sessions: begun with a key, ended by whoever has them, by time, or with their key."""

from __future__ import annotations

import secrets
from datetime import datetime
from typing import Any, Final

import psycopg
from msgspec import Struct

from store import audit
from store.audit import Said
from store.operators.words import (
    SECRET_BYTES,
    SESSION_IDLE_SECONDS,
    SESSION_SECONDS_MAX,
    SESSIONS_PER_KEY_MAX,
    bound,
    digest_of,
)

Conn = psycopg.Connection[Any]

FORGET: Final = """
-- What ended, and of a key's running ones those that end first, so that there is room for one more.
DELETE FROM operator_session
 WHERE ends_at <= clock_timestamp()
    OR digest IN (SELECT digest FROM operator_session WHERE key_id IS NOT DISTINCT FROM %(key)s
                   ORDER BY ends_at DESC OFFSET %(kept)s)
"""
INSERT: Final = """
-- Not beyond the end of its key.
INSERT INTO operator_session (digest, key_id, bound, ends_at, ends_at_latest)
SELECT %(digest)s, %(key)s, %(bound)s, least(now.at + make_interval(secs => %(idle)s), last.at), last.at
  FROM (SELECT clock_timestamp() AS at) AS now,
       LATERAL (SELECT least(now.at + make_interval(secs => %(most)s),
                             (SELECT expires_at FROM operator_key WHERE id = %(key)s)) AS at) AS last
RETURNING ends_at, ends_at_latest
"""
END: Final = "DELETE FROM operator_session WHERE digest = %(digest)s"


class Begun(Struct, frozen=True):
    """A session and its cookie's value, which is told to its browser alone."""

    cookie: str
    ends_at: datetime
    """Unless it is used before."""
    ends_at_latest: datetime


def begin(conn: Conn, key_id: int | None, key_digest: bytes, said: Said) -> Begun:
    """A session for who has that key (None: the environment's)."""
    cookie = secrets.token_urlsafe(SECRET_BYTES)
    values = {"key": key_id, "digest": digest_of(cookie), "bound": bound(cookie, key_digest)}
    values |= {"idle": SESSION_IDLE_SECONDS, "most": SESSION_SECONDS_MAX}
    with conn.transaction():
        conn.execute(FORGET, values | {"kept": SESSIONS_PER_KEY_MAX - 1})
        ends_at, latest = conn.execute(INSERT, values).fetchall()[0]
        audit.write(conn, None, said, {"change": "login"})
    return Begun(cookie, ends_at, latest)


def end(conn: Conn, digest: bytes, said: Said) -> None:
    """It lets nobody in any more; what ended before leaves no row."""
    with conn.transaction():
        if conn.execute(END, {"digest": digest}).rowcount:
            audit.write(conn, None, said, {"change": "logout"})
