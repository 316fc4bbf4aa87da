"""What operators do with subscribers: add, rotate secrets, disable, enable, replay, remove.

Each change says who makes it and why, kept in `subscriber_audit` and `audit` in the transaction of the
change; what changes nothing leaves no row. A secret is told once, by who made it.

Locks the subscriber's row while it runs, nothing else: a relay that sends meanwhile goes on, and sees the
change when it next notes how far it is.
"""

from __future__ import annotations

import base64
import secrets
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, TypeVar

import msgspec
import psycopg
from msgspec import Struct

from store import audit
from store.audit import Said
from store.errors import BadRequest, Conflicted, NotFound, Unavailable
from store.events import get_event
from store.outbox import Told
from store.subscribers.addresses import check_url
from store.subscribers.messages import TEST, message_id, message_number
from store.subscribers.show import Subscriber, get

Conn = psycopg.Connection[Any]
T = TypeVar("T")

SUBSCRIBERS_MAX: Final = 100
SECRET_BYTES: Final = 32
OVERLAP_HOURS: Final = 24
OVERLAP_HOURS_MAX: Final = 168
LOCK_WAIT_MS_MAX: Final = 5_000
BY_OPERATOR: Final = "an operator disabled it"

LOCK_ALL: Final = """
-- Of two who subscribe at once one waits: the bound on how many there are holds. Readers go on.
LOCK TABLE subscriber IN SHARE ROW EXCLUSIVE MODE
"""
COUNT: Final = "SELECT count(*) FROM subscriber"
INSERT: Final = """
INSERT INTO subscriber (url, event_id, kinds, secret)
VALUES (%(url)s, %(event)s, %(kinds)s, %(secret)s) RETURNING id
"""
BEGIN_AFTER: Final = """
-- Told is what is not yet committed at this moment, and later: of events that told nothing yet, everything.
INSERT INTO subscriber_position (subscriber_id, event_id, number)
SELECT %(subscriber)s, event_id, rows FROM outbox_count WHERE event_id = coalesce(%(event)s, event_id)
"""
LOCK: Final = "SELECT state FROM subscriber WHERE id = %(subscriber)s FOR NO KEY UPDATE"
ROTATE: Final = """
UPDATE subscriber SET secret = %(secret)s, previous_secret = secret,
       previous_until = clock_timestamp() + make_interval(hours => %(hours)s)
 WHERE id = %(subscriber)s
"""
DISABLE: Final = """
UPDATE subscriber SET state = 'disabled', disabled_why = %(reason)s
 WHERE id = %(subscriber)s AND state = 'active'
"""
ENABLE: Final = """
-- What it was last told is now: nothing that died while it was away disables it again at once.
UPDATE subscriber SET state = 'active', disabled_why = NULL, delivered_at = clock_timestamp()
 WHERE id = %(subscriber)s AND state = 'disabled'
"""
ENABLE_POSITIONS: Final = """
UPDATE subscriber_position SET tries = 0, next_at = clock_timestamp() WHERE subscriber_id = %(subscriber)s
"""
REPLAY: Final = """
UPDATE delivery SET state = 'waiting', attempts = 0, next_at = clock_timestamp(), first_at = clock_timestamp()
 WHERE subscriber_id = %(subscriber)s
   AND CASE WHEN %(message)s::bigint IS NULL THEN state = 'dead' ELSE outbox_id = %(message)s END
RETURNING outbox_id
"""
WRITE_TEST: Final = """
-- Numbered like the outbox's rows, so that its id is no other message's.
INSERT INTO delivery (subscriber_id, outbox_id, kind, payload, attempts)
SELECT %(subscriber)s, t.number, %(kind)s, json_build_object(
         'type', %(kind)s::text,
         'timestamp', to_char(t.at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"'),
         'data', json_build_object('subscriber', %(subscriber)s::text)), 0
  FROM (SELECT nextval(pg_get_serial_sequence('outbox', 'id')) AS number, clock_timestamp() AS at) AS t
RETURNING outbox_id
"""
REMOVE: Final = "DELETE FROM subscriber WHERE id = %(subscriber)s"
REMOVE_POSITIONS: Final = "DELETE FROM subscriber_position WHERE subscriber_id = %(subscriber)s"
REMOVE_DELIVERIES: Final = "DELETE FROM delivery WHERE subscriber_id = %(subscriber)s"
REMOVE_LOG: Final = "DELETE FROM delivery_log WHERE subscriber_id = %(subscriber)s"
EVENT_OF: Final = "SELECT event_id FROM subscriber WHERE id = %(subscriber)s"
WRITE_AUDIT: Final = """
INSERT INTO subscriber_audit (subscriber_id, who, why, what)
VALUES (%(subscriber)s, %(who)s, %(why)s, %(what)s)
"""


class WithSecret(Struct, frozen=True):
    """A subscriber and its secret, which is not told again."""

    subscriber: Subscriber
    secret: str


class Replayed(Struct, frozen=True):
    """Messages that are tried again now."""

    messages: list[str]


def new_secret() -> str:
    """As Standard Webhooks writes them."""
    return "whsec_" + base64.b64encode(secrets.token_bytes(SECRET_BYTES)).decode()


def add(
    conn: Conn,
    url: str,
    said: Said,
    *,
    event: str | None = None,
    kinds: Sequence[str] = (),
    from_start: bool = False,
    allow_private: bool = False,
) -> WithSecret:
    """Subscribe a URL to an event (else to all) and to kinds of messages (none: all).

    `from_start`: it is also told what is in the outbox already. Raises `BadRequest` (invalid_url,
    unknown_kind), `NotFound` (unknown_event), `Conflicted` (too_many_subscribers).
    """
    check_url(url, allow_private=allow_private)
    if unknown := sorted(set(kinds) - {kind.value for kind in Told}):
        story = f"There are no messages of the kind {unknown[0]!r}. Kinds: {', '.join(Told)}."
        raise BadRequest("unknown_kind", story)
    secret = new_secret()
    values = {"url": url, "kinds": sorted(set(kinds)), "secret": secret, "from_start": from_start}
    values["event"] = None if event is None else get_event(conn, event).id

    def attempt() -> Subscriber:
        conn.execute(LOCK_ALL)
        if conn.execute(COUNT).fetchall()[0][0] >= SUBSCRIBERS_MAX:
            story = f"There are {SUBSCRIBERS_MAX} subscribers, the most there can be. Remove one first."
            raise Conflicted("too_many_subscribers", story)
        subscriber = conn.execute(INSERT, values).fetchall()[0][0]
        if not from_start:
            conn.execute(BEGIN_AFTER, values | {"subscriber": subscriber})
        what = {"change": "add", "url": url, "event": event, "kinds": values["kinds"]}
        _audit(conn, subscriber, said, what | {"from_start": from_start})
        return get(conn, subscriber)

    return WithSecret(_in_transaction(conn, attempt), secret)


def rotate(conn: Conn, subscriber: int, said: Said, *, overlap_hours: int = OVERLAP_HOURS) -> WithSecret:
    """A new secret; what is sent is signed with the one before too, for `overlap_hours` (0: no longer).

    Raises `NotFound` (unknown_subscriber), `BadRequest` (invalid_overlap).
    """
    if not 0 <= overlap_hours <= OVERLAP_HOURS_MAX:
        story = f"The old secret goes on for 0 to {OVERLAP_HOURS_MAX} hours, not {overlap_hours}."
        raise BadRequest("invalid_overlap", story)
    secret = new_secret()

    def attempt() -> Subscriber:
        _lock(conn, subscriber)
        conn.execute(ROTATE, {"subscriber": subscriber, "secret": secret, "hours": overlap_hours})
        _audit(conn, subscriber, said, {"change": "rotate", "overlap_hours": overlap_hours})
        return get(conn, subscriber)

    return WithSecret(_in_transaction(conn, attempt), secret)


def disable(conn: Conn, subscriber: int, said: Said) -> Subscriber:
    """Tell it nothing any more; how far it was told stays. The same again changes nothing."""

    def attempt() -> Subscriber:
        _lock(conn, subscriber)
        values = {"subscriber": subscriber, "reason": BY_OPERATOR}
        if conn.execute(DISABLE, values).rowcount:
            _audit(conn, subscriber, said, {"change": "disable"})
        return get(conn, subscriber)

    return _in_transaction(conn, attempt)


def enable(conn: Conn, subscriber: int, said: Said) -> Subscriber:
    """Go on where it was left, as far as the outbox still has it. The same again changes nothing."""

    def attempt() -> Subscriber:
        _lock(conn, subscriber)
        if conn.execute(ENABLE, {"subscriber": subscriber}).rowcount:
            conn.execute(ENABLE_POSITIONS, {"subscriber": subscriber})
            _audit(conn, subscriber, said, {"change": "enable"})
        return get(conn, subscriber)

    return _in_transaction(conn, attempt)


def replay(conn: Conn, subscriber: int, said: Said, *, message: str | None = None) -> Replayed:
    """Try a message that was set aside or is dead again, now and with the whole schedule; else all dead ones.

    Raises `NotFound` (unknown_subscriber, unknown_message), `Conflicted` (subscriber_disabled).
    """
    number = None if message is None else message_number(message)

    def attempt() -> Replayed:
        if _lock(conn, subscriber) != "active":
            raise Conflicted("subscriber_disabled", "This subscriber is disabled. Enable it first.")
        rows = conn.execute(REPLAY, {"subscriber": subscriber, "message": number}).fetchall()
        messages = [message_id(outbox_id) for (outbox_id,) in sorted(rows)]
        if message is not None and not messages:
            story = f"No message {message!r} waits or is dead: it was delivered, or never sent."
            raise NotFound("unknown_message", story)
        if messages:
            what = {"change": "replay", "messages": len(messages), "first": messages[0]}
            _audit(conn, subscriber, said, what)
        return Replayed(messages)

    return _in_transaction(conn, attempt)


def send_test(conn: Conn, subscriber: int, said: Said) -> str:
    """Have a relay send a test message, once; its id, by which the log says what became of it.

    Raises `NotFound` (unknown_subscriber), `Conflicted` (subscriber_disabled).
    """

    def attempt() -> str:
        if _lock(conn, subscriber) != "active":
            raise Conflicted("subscriber_disabled", "This subscriber is disabled. Enable it first.")
        values = {"subscriber": subscriber, "kind": TEST}
        message = message_id(conn.execute(WRITE_TEST, values).fetchall()[0][0])
        _audit(conn, subscriber, said, {"change": "test", "message": message})
        return message

    return _in_transaction(conn, attempt)


def remove(conn: Conn, subscriber: int, said: Said) -> None:
    """Forget it, with its dead letters and log; who did it and why stays. Raises `NotFound`."""

    def attempt() -> None:
        _lock(conn, subscriber)
        _audit(conn, subscriber, said, {"change": "remove", "url": get(conn, subscriber).url})
        # Positions first: a relay that notes what it sent does so before, or finds none.
        for statement in (REMOVE_POSITIONS, REMOVE_DELIVERIES, REMOVE_LOG, REMOVE):
            conn.execute(statement, {"subscriber": subscriber})

    _in_transaction(conn, attempt)


def _lock(conn: Conn, subscriber: int) -> str:
    row = conn.execute(LOCK, {"subscriber": subscriber}).fetchone()
    if row is None:
        get(conn, subscriber)  # says what there is instead
        raise AssertionError("a subscriber that cannot be locked is not there")
    state: str = row[0]
    return state


def _audit(conn: Conn, subscriber: int, said: Said, what: Mapping[str, object]) -> None:
    """Into the subscriber's own history, and among what operators do."""
    values = {"subscriber": subscriber, "who": said.who, "why": said.why}
    conn.execute(WRITE_AUDIT, values | {"what": msgspec.json.encode(what).decode()})
    (event_id,) = conn.execute(EVENT_OF, values).fetchall()[0]
    audit.write(conn, event_id, said, {**what, "change": f"{what['change']} webhook", "webhook": subscriber})


def _in_transaction(conn: Conn, attempt: Callable[[], T]) -> T:
    try:
        with conn.transaction():
            conn.execute(f"SET LOCAL lock_timeout = {LOCK_WAIT_MS_MAX}")
            return attempt()
    except (psycopg.errors.LockNotAvailable, psycopg.errors.DeadlockDetected) as error:
        story = "The subscriber is being changed by somebody else; nothing was changed. Try again."
        raise Unavailable(story) from error
