"""Presale codes and invitations: each lets so many into the priority lane, once each.

A code is 80 random bits that people can type; Postgres keeps its SHA-256 only, so who reads the table has no
code. An invitation is signed by the organiser and read by the gateway; its `jti` becomes a row when it is
first used. A use is a place: it is counted in the transaction that makes the place, under the lock of the
room's row, so no failure costs a code and no two who use it at once are both let in by its last use.

A code that is revoked gives no place from then on; who has one by it keeps it, in its lane.
"""

from __future__ import annotations

import hashlib
import secrets
from collections.abc import Mapping, Sequence
from typing import Any, Final

import psycopg
from msgspec import Struct

from store.errors import BadRequest, Conflicted, NotFound, Refused

ALPHABET: Final = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"
"""Crockford's: without letters that look like digits."""
LENGTH: Final = 16
GROUP: Final = 4
COUNT_MAX: Final = 10_000
"""Most codes made at once."""
USES_MAX: Final = 1_000_000
LABEL_LENGTH_MAX: Final = 100
INVITATION: Final = "invitation"
"""The label of what was signed elsewhere."""
LABELS_SHOWN_MAX: Final = 100

_LOOKS_LIKE: Final = str.maketrans("OIL", "011", " -")

ISSUE: Final = """
INSERT INTO room_code (event_id, code_sha256, label, uses_max)
SELECT %(event)s, code, %(label)s, %(uses)s FROM unnest(%(codes)s::bytea[]) AS t (code)
"""

KNOW: Final = """
-- An invitation is known from its first use on.
INSERT INTO room_code (event_id, code_sha256, label)
SELECT %(event)s, code, %(label)s FROM unnest(%(codes)s::bytea[]) AS t (code)
ON CONFLICT DO NOTHING
"""

USE: Final = """
-- Of each code as many uses as are left; of one that was revoked none. Whoever joins has locked the room's
-- row, so nobody else counts or revokes now.
WITH asked AS (
  SELECT code, count(*)::int AS wanted FROM unnest(%(codes)s::bytea[]) AS t (code) GROUP BY code),
known AS (
  SELECT code_sha256, revoked_at IS NOT NULL AS revoked,
         CASE WHEN revoked_at IS NULL THEN least(wanted, uses_max - uses) ELSE 0 END AS granted
    FROM room_code JOIN asked ON code_sha256 = code
   WHERE event_id = %(event)s),
counted AS (
  UPDATE room_code SET uses = uses + granted FROM known
   WHERE event_id = %(event)s AND room_code.code_sha256 = known.code_sha256 AND granted > 0)
SELECT code_sha256, granted, revoked FROM known
"""

ISSUED: Final = f"""
SELECT label, count(*), sum(uses), sum(uses_max), count(revoked_at),
       coalesce(sum(uses_max - uses) FILTER (WHERE revoked_at IS NOT NULL), 0)
  FROM room_code
 WHERE event_id = %(event)s GROUP BY label ORDER BY min(created_at) LIMIT {LABELS_SHOWN_MAX}
"""

_REVOKE = """
-- Whoever revokes has locked the room's row: a join stands before this, or finds it done.
WITH revoked AS (
  UPDATE room_code SET revoked_at = clock_timestamp()
   WHERE event_id = %(event)s AND {} AND revoked_at IS NULL
  RETURNING label, uses_max - uses AS unused)
SELECT label, count(*), sum(unused) FROM revoked GROUP BY label ORDER BY label
"""
REVOKE_LABEL: Final = _REVOKE.format("label = %(label)s")
REVOKE_CODES: Final = _REVOKE.format("code_sha256 = ANY (%(codes)s::bytea[])")

HAS_LABEL: Final = "SELECT FROM room_code WHERE event_id = %(event)s AND label = %(label)s LIMIT 1"

UNKNOWN: Final = """
SELECT number FROM unnest(%(codes)s::bytea[]) WITH ORDINALITY AS t (code, number)
 WHERE NOT EXISTS (SELECT FROM room_code WHERE event_id = %(event)s AND code_sha256 = code)
 ORDER BY number
"""


class Code(Struct, frozen=True):
    """What somebody shows to be let into the priority lane."""

    sha256: bytes
    invitation: bool = False


class Issued(Struct, frozen=True):
    """Codes of one label."""

    label: str
    codes: int
    uses: int
    uses_max: int
    revoked: int
    """Codes that let nobody in any more."""
    uses_revoked: int
    """Uses they had left."""


class RevokedCodes(Struct, frozen=True):
    """Codes of one label that were revoked, and the uses they had left."""

    label: str
    codes: int
    uses: int


def typed(text: str) -> Code:
    """A code as somebody typed it; raises `BadRequest` (code_not_valid) for what cannot be one."""
    plain = text.upper().translate(_LOOKS_LIKE)
    if len(plain) != LENGTH or not set(plain) <= set(ALPHABET):
        story = f"A code has {LENGTH} letters and digits, such as 7K2M-Q9RT-X4WD-0HJN. Look at yours again."
        raise BadRequest("code_not_valid", story)
    return Code(hashlib.sha256(plain.encode()).digest())


def invitation(jti: str) -> Code:
    """A signed invitation, by its id."""
    return Code(hashlib.sha256(f"{INVITATION} {jti}".encode()).digest(), invitation=True)


def check_wanted(label: str, count: int, uses: int) -> None:
    """Raises `BadRequest` (invalid_codes) for what is out of bounds."""
    if not 0 < count <= COUNT_MAX:
        raise BadRequest("invalid_codes", f"1 to {COUNT_MAX:,} codes are made at once.")
    if not 0 < uses <= USES_MAX:
        raise BadRequest("invalid_codes", f"A code can be used 1 to {USES_MAX:,} times.")
    if not 0 < len(label.strip()) <= LABEL_LENGTH_MAX or not label.isprintable():
        story = f"Say for whom they are (label): 1 to {LABEL_LENGTH_MAX} printable characters."
        raise BadRequest("invalid_codes", story)
    if label.strip() == INVITATION:
        raise BadRequest(
            "invalid_codes", f"{INVITATION!r} is the label of what your site signs. Say another."
        )


def issue(conn: psycopg.Connection[Any], event_id: int, label: str, count: int, uses: int) -> tuple[str, ...]:
    """New codes, told this once; raises `BadRequest` (invalid_codes) for what is out of bounds."""
    check_wanted(label, count, uses)
    made = tuple(_new() for _ in range(count))
    values = {"event": event_id, "label": label.strip(), "uses": uses}
    conn.execute(ISSUE, values | {"codes": [typed(code).sha256 for code in made]})
    return made


def issued(conn: psycopg.Connection[Any], event_id: int) -> list[Issued]:
    """How many codes there are and were used, by label, the first `LABELS_SHOWN_MAX`."""
    return [
        Issued(label, *map(int, counts))
        for label, *counts in conn.execute(ISSUED, {"event": event_id}).fetchall()
    ]


def revoke_label(conn: psycopg.Connection[Any], event_id: int, label: str) -> list[RevokedCodes]:
    """All codes of that label that are not revoked yet; raises `BadRequest` (invalid_codes), `NotFound`
    (unknown_label), `Conflicted` (codes_revoked)."""
    values = {"event": event_id, "label": label.strip()}
    if values["label"] == INVITATION:
        story = "Your site signs invitations and says until when they are good (exp). Only codes are revoked."
        raise BadRequest("invalid_codes", story)
    if conn.execute(HAS_LABEL, values).fetchone() is None:
        raise NotFound("unknown_label", f"There are no codes for {values['label']!r}. See which there are.")
    return _revoked(conn, REVOKE_LABEL, values)


def revoke(conn: psycopg.Connection[Any], event_id: int, shown: Sequence[Code]) -> list[RevokedCodes]:
    """Those of these codes that are not revoked yet, or none where one of them is unknown; raises
    `BadRequest` (invalid_codes), `NotFound` (unknown_code), `Conflicted` (codes_revoked)."""
    if not 0 < len(shown) <= COUNT_MAX:
        raise BadRequest("invalid_codes", f"1 to {COUNT_MAX:,} codes are revoked at once.")
    values = {"event": event_id, "codes": [code.sha256 for code in shown]}
    if unknown := conn.execute(UNKNOWN, values).fetchall():
        story = f"{len(unknown):,} of {len(shown):,} are no codes of this event, the first is number"
        raise NotFound("unknown_code", f"{story} {unknown[0][0]:,}. None was revoked: leave them out.")
    return _revoked(conn, REVOKE_CODES, values)


def _revoked(conn: psycopg.Connection[Any], statement: str, values: dict[str, Any]) -> list[RevokedCodes]:
    rows = conn.execute(statement, values).fetchall()
    if not rows:
        raise Conflicted("codes_revoked", "They are revoked already; somebody else may have done it.")
    return [RevokedCodes(label, int(count), int(unused)) for label, count, unused in rows]


async def redeem(
    connection: psycopg.AsyncConnection[tuple[Any, ...]], event_id: int, shown: Sequence[tuple[str, Code]]
) -> Mapping[str, Refused | None]:
    """By buyer: None for who may go in by their code, or why not; the first of a code's users come first.

    In the transaction that makes the places, which has locked the room's row.
    """
    signed = [code.sha256 for _, code in shown if code.invitation]
    if signed:
        await connection.execute(KNOW, {"event": event_id, "label": INVITATION, "codes": signed})
    values = {"event": event_id, "codes": [code.sha256 for _, code in shown]}
    rows = await _rows(connection, USE, values)
    left = {bytes(code): granted for code, granted, _ in rows}
    revoked = {bytes(code) for code, _, is_revoked in rows if is_revoked}
    answers: dict[str, Refused | None] = {}
    for buyer, code in shown:
        granted = left.get(code.sha256)
        if granted is None:
            answers[buyer] = NotFound("unknown_code", "There is no such code here. Look at yours again.")
        elif code.sha256 in revoked:
            story = "This code was withdrawn by the organiser. Ask who gave it to you, or join without it."
            answers[buyer] = Conflicted("code_revoked", story)
        elif granted == 0:
            story = "This code was used as often as it may be. You can join without it."
            answers[buyer] = Conflicted("code_used", story)
        else:
            left[code.sha256] = granted - 1
            answers[buyer] = None
    return answers


async def _rows(
    connection: psycopg.AsyncConnection[tuple[Any, ...]], statement: str, values: dict[str, Any]
) -> list[tuple[Any, ...]]:
    return await (await connection.execute(statement, values)).fetchall()


def _new() -> str:
    letters = "".join(secrets.choice(ALPHABET) for _ in range(LENGTH))
    return "-".join(letters[start : start + GROUP] for start in range(0, LENGTH, GROUP))
