"""What owners do with keys: make, list, rotate, revoke. Each change leaves its row in `audit`.

Of two who change keys at once one waits: the bound on how many there are holds, and no two owners revoke each
other's, the last two. Gateways hear of a change within a second or two, by asking again
(`gateway.callers`).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import datetime
from typing import Any, Final, Literal, TypeVar

import psycopg
from msgspec import Struct

from store import audit
from store.audit import Said
from store.errors import BadRequest, Conflicted, NotFound, Unavailable
from store.operators.words import (
    DAYS_MAX,
    GRACE_SECONDS,
    GRACE_SECONDS_MAX,
    KEYS_MAX,
    NAME,
    NAME_RULE,
    RESERVED,
    SCOPE_MAX,
    Role,
    digest_of,
    new_secret,
    text_of,
)

Conn = psycopg.Connection[Any]
T = TypeVar("T")

LOCK_KEY: Final = 0x6F6E73616C650001
LOCK_WAIT_MS_MAX: Final = 5_000
LISTED_MAX: Final = 1_000

LOCK: Final = "SELECT pg_advisory_xact_lock(%(lock)s)"
COUNT: Final = "SELECT count(*) FROM operator_key WHERE revoked_at IS NULL"
FIND_EVENTS: Final = "SELECT slug, id FROM event WHERE slug = ANY (%(slugs)s)"
INSERT: Final = """
INSERT INTO operator_key (name, role, event_ids, digest, created_by, expires_at)
VALUES (%(name)s, %(role)s, %(events)s, %(digest)s, %(by)s,
        clock_timestamp() + make_interval(days => %(days)s))
RETURNING id
"""
_COLUMNS: Final = """
       id, name, role,
       CASE WHEN event_ids IS NOT NULL THEN
         ARRAY (SELECT slug FROM event WHERE event.id = ANY (event_ids) ORDER BY slug) END,
       CASE WHEN revoked_at IS NOT NULL THEN 'revoked'
            WHEN expires_at <= clock_timestamp() THEN 'expired' ELSE 'active' END,
       created_at, created_by, expires_at, rotated_at,
       CASE WHEN previous_until > clock_timestamp() THEN previous_until END,
       revoked_at, revoked_by, last_used_at
"""
READ: Final = f"SELECT {_COLUMNS} FROM operator_key WHERE id = %(id)s"
LIST: Final = f"""
SELECT {_COLUMNS} FROM operator_key WHERE revoked_at IS NULL OR %(revoked)s
 ORDER BY id DESC LIMIT {LISTED_MAX}
"""
ROTATE: Final = """
UPDATE operator_key
   SET digest = %(digest)s, rotated_at = clock_timestamp(),
       previous_digest = CASE WHEN %(grace)s > 0 THEN digest END,
       previous_until = CASE WHEN %(grace)s > 0
                             THEN clock_timestamp() + make_interval(secs => %(grace)s) END
 WHERE id = %(id)s
"""
OTHER_OWNERS: Final = """
-- Who may still make keys once this one is gone: owners of everything.
SELECT count(*) FROM operator_key
 WHERE id <> %(id)s AND role = 'owner' AND event_ids IS NULL AND revoked_at IS NULL
   AND (expires_at IS NULL OR expires_at > clock_timestamp())
"""
REVOKE: Final = """
UPDATE operator_key SET revoked_at = clock_timestamp(), revoked_by = %(by)s, previous_digest = NULL,
       previous_until = NULL
 WHERE id = %(id)s
"""
END_SESSIONS: Final = "DELETE FROM operator_session WHERE key_id = %(id)s"


class Key(Struct, frozen=True):
    """A key, without anything that would let anybody in."""

    id: int
    name: str
    role: Role
    events: list[str] | None
    """The only events it is for; null: all."""
    state: Literal["active", "expired", "revoked"]
    created_at: datetime
    created_by: str
    expires_at: datetime | None
    rotated_at: datetime | None
    previous_until: datetime | None
    """Until then the secret before the last rotation counts too."""
    revoked_at: datetime | None
    revoked_by: str | None
    last_used_at: datetime | None
    """To about a minute."""


class KeyWithSecret(Struct, frozen=True):
    """A key and its text, which is not told again."""

    key: Key
    secret: str


def create(
    conn: Conn,
    name: str,
    role: str,
    said: Said,
    *,
    events: Sequence[str] | None = None,
    expires_in_days: int | None = None,
) -> KeyWithSecret:
    """Make a key, for all events or only those named, for ever or so many days.

    Raises `BadRequest` (invalid_key), `NotFound` (unknown_event), `Conflicted` (key_exists,
    too_many_operator_keys).
    """
    name = name.strip()
    _check(NAME.fullmatch(name) is not None and len(name) <= 40, "The name", NAME_RULE)
    taken = ", ".join(sorted(RESERVED))
    _check(name.lower() not in RESERVED, "The name", f"not one that others act by: {taken}")
    roles = " or ".join(Role)
    _check(role in tuple(Role), "The role", f"{roles}, not {role[:40]!r}")
    if expires_in_days is not None:
        _check(1 <= expires_in_days <= DAYS_MAX, "expires_in_days", f"1 to {DAYS_MAX}, or left out")
    if events is not None:
        _check(0 < len(events) <= SCOPE_MAX, "events", f"1 to {SCOPE_MAX} events, or left out for all")
    secret = new_secret()
    values = {"name": name, "role": role, "by": said.who, "days": expires_in_days}

    def attempt() -> Key:
        if conn.execute(COUNT).fetchall()[0][0] >= KEYS_MAX:
            raise Conflicted(
                "too_many_operator_keys", f"There are {KEYS_MAX} keys. Revoke those nobody uses."
            )
        scope = None if events is None else _events(conn, events)
        row = conn.execute(INSERT, values | {"events": scope, "digest": digest_of(secret)}).fetchall()[0]
        made = get(conn, row[0])
        what = {"change": "create key", "key": made.id, "name": made.name, "role": made.role}
        audit.write(conn, None, said, what | {"events": made.events, "expires_at": made.expires_at})
        return made

    try:
        made = _alone(conn, attempt)
    except psycopg.errors.UniqueViolation as error:
        story = f"There is a key {name!r} already. Choose another name, or revoke that one first."
        raise Conflicted("key_exists", story) from error
    return KeyWithSecret(made, text_of(made.id, secret))


def get(conn: Conn, key_id: int) -> Key:
    """Raises `NotFound` (unknown_key)."""
    row = conn.execute(READ, {"id": key_id}).fetchone()
    if row is None:
        raise NotFound("unknown_key", f"There is no key number {key_id}. List them to see which there are.")
    return _key(*row)


def list_keys(conn: Conn, *, revoked: bool = False) -> list[Key]:
    """Keys, newest first, at most `LISTED_MAX`; with `revoked` also those that are."""
    return [_key(*row) for row in conn.execute(LIST, {"revoked": revoked}).fetchall()]


def rotate(conn: Conn, key_id: int, said: Said, *, grace_seconds: int = GRACE_SECONDS) -> KeyWithSecret:
    """A new secret; the one before goes on for `grace_seconds`, and with it the sessions begun with it.

    Raises `NotFound`, `BadRequest` (invalid_key), `Conflicted` (key_revoked, key_expired).
    """
    _check(0 <= grace_seconds <= GRACE_SECONDS_MAX, "grace_seconds", f"0 to {GRACE_SECONDS_MAX}")
    secret = new_secret()

    def attempt() -> Key:
        key = get(conn, key_id)
        if key.state != "active":
            raise Conflicted(f"key_{key.state}", f"The key {key.name!r} is {key.state}. Make a new one.")
        conn.execute(ROTATE, {"id": key_id, "digest": digest_of(secret), "grace": grace_seconds})
        what = {"change": "rotate key", "key": key.id, "name": key.name, "grace_seconds": grace_seconds}
        audit.write(conn, None, said, what)
        return get(conn, key_id)

    return KeyWithSecret(_alone(conn, attempt), text_of(key_id, secret))


def revoke(conn: Conn, key_id: int, said: Said, *, keep_an_owner: bool) -> Key:
    """It lets nobody in any more, and its sessions end. The same again changes nothing.

    `keep_an_owner`: not the last key that can make keys. Raises `NotFound`, `Conflicted` (last_owner).
    """

    def attempt() -> Key:
        key = get(conn, key_id)
        if key.state == "revoked":
            return key
        others = conn.execute(OTHER_OWNERS, {"id": key_id}).fetchall()[0][0]
        if keep_an_owner and key.role is Role.OWNER and key.events is None and not others:
            story = f"{key.name!r} is the last owner of all events: nobody could make keys any more."
            raise Conflicted("last_owner", f"{story} Make another owner first.")
        conn.execute(REVOKE, {"id": key_id, "by": said.who})
        conn.execute(END_SESSIONS, {"id": key_id})
        audit.write(conn, None, said, {"change": "revoke key", "key": key.id, "name": key.name})
        return get(conn, key_id)

    return _alone(conn, attempt)


def named(conn: Conn, name: str) -> Key:
    """The key of that name or number that is not revoked; raises `NotFound` (unknown_key)."""
    living = list_keys(conn)
    wanted = name.strip().lower()
    found = next((key for key in living if wanted in (key.name.lower(), str(key.id))), None)
    if found is None:
        there = ", ".join(key.name for key in living[:10]) or "none"
        raise NotFound("unknown_key", f"There is no key {name!r}. There are: {there}.")
    return found


def _events(conn: Conn, slugs: Sequence[str]) -> list[int]:
    wanted = [slug for slug in slugs if "\0" not in slug]  # Postgres refuses to be asked about those
    there = dict(conn.execute(FIND_EVENTS, {"slugs": wanted}).fetchall())
    unknown = next((slug for slug in slugs if slug not in there), None)
    if unknown is not None:
        story = f"There is no event {unknown!r}. List them to see which there are."
        raise NotFound("unknown_event", story)
    return sorted(there.values())


def _key(key_id: int, name: str, role: str, *more: Any) -> Key:
    return Key(key_id, name, Role(role), *more)


def _check(holds: bool, field: str, wanted: str) -> None:
    if not holds:
        raise BadRequest("invalid_key", f"{field} must be {wanted}.")


def _alone(conn: Conn, attempt: Callable[[], T]) -> T:
    try:
        with conn.transaction():
            conn.execute(f"SET LOCAL lock_timeout = {LOCK_WAIT_MS_MAX}")
            conn.execute(LOCK, {"lock": LOCK_KEY})
            return attempt()
    except psycopg.errors.LockNotAvailable as error:
        story = "Keys are being changed by somebody else; nothing was changed. Try again."
        raise Unavailable(story) from error
