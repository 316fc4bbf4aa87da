"""What operators do with a waiting room, each with who and why.

A change is one short transaction with its row in `audit`, and makes the room's next edition. Who says which
edition they looked at is told when somebody changed the room since; where it does not say so, only what is
named is changed. It makes the next version too, so what the owner decided in this moment by what the room
was before does not become true. Whoever calls these tells the gateways (`store.stream.wake.tell_room`).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final, TypeVar

import msgspec
from msgspec.structs import replace

from store import audit, events
from store.audit import Said
from store.errors import BadRequest, Conflicted
from store.room import codes, rooms
from store.room.codes import Code, RevokedCodes
from store.room.look import Look, check
from store.room.rooms import MESSAGE_LENGTH_MAX, Conn
from store.room.words import Admission, Room, RoomTerms

T = TypeVar("T")

SET_ADMISSION: Final = """
UPDATE room SET admission = %(to)s, version = version + 1, edition = edition + 1 WHERE event_id = %(event)s
"""

SAY: Final = """
UPDATE room SET message = %(text)s,
       message_at = CASE WHEN %(text)s::text IS NOT NULL THEN clock_timestamp() END,
       version = version + 1, edition = edition + 1
 WHERE event_id = %(event)s
"""

DRESS: Final = """
UPDATE room SET look = %(look)s::jsonb, version = version + 1, edition = edition + 1
 WHERE event_id = %(event)s
"""

LEAVING: Final = {
    Admission.RUNNING: (Admission.PAUSED, Admission.STOPPED),
    Admission.PAUSED: (Admission.RUNNING,),
    Admission.STOPPED: (Admission.RUNNING, Admission.PAUSED),
}
"""Out of which states an operator brings admission into another."""


def make(conn: Conn, slug: str, terms: RoomTerms, said: Said) -> Room:
    """A waiting room for a draft; raises as `rooms.make`."""

    def work(event: int) -> tuple[Room, dict[str, object]]:
        return rooms.make(conn, slug, terms), {"change": "make room", "terms": terms}

    return _change(conn, slug, said, work)


def change(conn: Conn, slug: str, said: Said, edition: int | None = None, **terms: Any) -> Room:
    """Some other terms from now on; raises as `rooms.change`, and `Conflicted` (room_changed)."""

    def work(event: int) -> tuple[Room, dict[str, object]]:
        conn.execute(rooms.LOCK_EVENT, {"slug": slug})  # before the room, as whoever opens the event
        was = _locked(conn, event, edition)
        return rooms.change(conn, slug, replace(was.terms, **terms)), {"change": "room", "terms": terms}

    if not terms:
        raise BadRequest("invalid_room", "Say which terms to change.")
    return _change(conn, slug, said, work)


def admit(conn: Conn, slug: str, to: Admission, said: Said) -> Room:
    """Pause, stop or resume; raises `Conflicted` (admission_state) where that is no change any more."""

    def work(event: int) -> tuple[Room, dict[str, object]]:
        was = _locked(conn, event).admission
        if was not in LEAVING[to]:
            story = f"Admission to {slug!r} is {was} already; somebody else may have done it."
            if was is not to:
                story = f"Admission to {slug!r} is {was}; resume it before you pause it."
            raise Conflicted("admission_state", story)
        conn.execute(SET_ADMISSION, {"event": event, "to": to.value})
        return rooms.read(conn, event), {"change": "admission", "to": to.value}

    return _change(conn, slug, said, work)


def say(conn: Conn, slug: str, text: str | None, said: Said, edition: int | None = None) -> Room:
    """A message to all who wait, or none any more; raises `BadRequest` (invalid_message) and `Conflicted`
    (room_changed)."""
    told = None if text is None else check_message(text)

    def work(event: int) -> tuple[Room, dict[str, object]]:
        _locked(conn, event, edition)
        conn.execute(SAY, {"event": event, "text": told})
        return rooms.read(conn, event), {"change": "message", "text": told}

    return _change(conn, slug, said, work)


def check_message(text: str) -> str:
    """`text` without outer spaces, or raises `BadRequest` (invalid_message)."""
    told = text.strip()
    if not (0 < len(told) <= MESSAGE_LENGTH_MAX and _is_text(told)):
        story = f"A message has 1 to {MESSAGE_LENGTH_MAX} characters of text."
        raise BadRequest("invalid_message", story)
    return told


def dress(conn: Conn, slug: str, look: Look, said: Said, edition: int | None = None) -> Room:
    """Another look, whole; raises `BadRequest` (invalid_look) and `Conflicted` (room_changed)."""
    check(look)

    def work(event: int) -> tuple[Room, dict[str, object]]:
        _locked(conn, event, edition)
        conn.execute(DRESS, {"event": event, "look": msgspec.json.encode(look).decode()})
        return rooms.read(conn, event), {"change": "look", "look": look}

    return _change(conn, slug, said, work)


def issue_codes(
    conn: Conn, slug: str, said: Said, *, label: str, count: int, uses: int = 1
) -> tuple[str, ...]:
    """New presale codes, told this once; raises `BadRequest` (invalid_codes)."""

    def work(event: int) -> tuple[tuple[str, ...], dict[str, object]]:
        _locked(conn, event)
        made = codes.issue(conn, event, label, count, uses)
        return made, {"change": "codes", "label": label.strip(), "count": count, "uses": uses}

    return _change(conn, slug, said, work)


def revoke_codes(
    conn: Conn, slug: str, said: Said, *, label: str | None = None, shown: Sequence[str] = ()
) -> list[RevokedCodes]:
    """These codes, or all of a label, let nobody in from now on; who is in the line by them stays. Raises as
    `codes.revoke` and `codes.revoke_label`, and `BadRequest` (code_not_valid)."""
    if (label is None) is not bool(shown):
        raise BadRequest("invalid_codes", "Say either a label or which codes.")
    known = _typed(shown)

    def work(event: int) -> tuple[list[RevokedCodes], dict[str, object]]:
        _locked(conn, event)
        if label is None:
            revoked = codes.revoke(conn, event, known)
        else:
            revoked = codes.revoke_label(conn, event, label)
        return revoked, {"change": "revoke codes", "revoked": revoked}

    return _change(conn, slug, said, work)


def _change(conn: Conn, slug: str, said: Said, work: Callable[[int], tuple[T, dict[str, object]]]) -> T:
    with events.changing(conn):
        event = events.get_event(conn, slug).id
        done, what = work(event)
        audit.write(conn, event, said, what)
        return done


def _locked(conn: Conn, event: int, edition: int | None = None) -> Room:
    """The room, which nobody else changes until this transaction ends."""
    conn.execute(rooms.LOCK_ROOM, {"event": event})
    room = rooms.read(conn, event)
    if edition is not None and edition != room.edition:
        story = f"Somebody changed the waiting room meanwhile: it is edition {room.edition}, not {edition}."
        raise Conflicted("room_changed", f"{story} Look at it again, then change it from there.")
    return room


def _typed(shown: Sequence[str]) -> list[Code]:
    """Raises `BadRequest` (code_not_valid) that says which cannot be one, and never what it is."""
    known = []
    for number, one in enumerate(shown, 1):
        try:
            known.append(codes.typed(one))
        except BadRequest as error:
            raise BadRequest(error.code, f"Number {number:,} is no code: {error}") from None
    return known


def _is_text(told: str) -> bool:
    return all(line.isprintable() for line in told.split("\n"))
