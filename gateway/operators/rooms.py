"""The operators' HTTP for an event's waiting room: make it, see how it stands, change it, pause, resume and
stop admission, tell all who wait something, give it a look, hand out presale codes.
`/v1/operator/events/{event}/room`.

Each change says `why`, and may say `who`. Who says which `edition` they looked at is refused (409
`room_changed`) where somebody changed the room since. Gateways are told of a change at once. Errors are
problem+json with the codes of `store.room.operating`.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from functools import partial
from typing import Annotated, Any

from fastapi import APIRouter, Depends, Request, Response
from msgspec import UNSET, Meta, Struct, UnsetType

from gateway.operators.access import (
    OPERATOR,
    answer,
    body_described,
    in_database,
    read_body,
    require_viewer,
    said_by,
    settings_of,
    threads_of,
)
from gateway.operators.said import Reason, Who, Why
from gateway.operators.seats import Conn
from gateway.problems import Busy
from store.audit import Said
from store.events import get_event
from store.room import codes, operating, standing
from store.room.look import Look
from store.room.rooms import BOUNDS, MESSAGE_LENGTH_MAX
from store.room.standing import ShownRoom, shown
from store.room.words import Admission, Proof, Room, RoomPolicy, RoomTerms
from store.stream.wake import tell_room

REVOKED_MAX = 500
"""Codes that one call names: as many as a body has room for. Of a label all are revoked, however many."""


def _bounded(term: str) -> Any:
    """Told in the description; checked by `store.room.rooms`, for all who change rooms."""
    least, most = BOUNDS[term]
    return Meta(extra_json_schema={"minimum": least, "maximum": most})


_Pace = Annotated[int, _bounded("pace")]
_Shopping = Annotated[int, _bounded("shopping_max")]
_BeginSeconds = Annotated[int, _bounded("begin_seconds")]
_ShoppingSeconds = Annotated[int, _bounded("shopping_seconds")]
_MoreBegin = Annotated[int, _bounded("more_begin_max")]
_MoreShopping = Annotated[int, _bounded("more_shopping_max")]
_ProofAbove = Annotated[int, _bounded("proof_above_per_minute")]
_Text = Annotated[str, Meta(extra_json_schema={"minLength": 1, "maxLength": MESSAGE_LENGTH_MAX})]
_Label = Annotated[str, Meta(extra_json_schema={"minLength": 1, "maxLength": codes.LABEL_LENGTH_MAX})]
_Codes = Annotated[tuple[str, ...], Meta(max_length=REVOKED_MAX)]
_Count = Annotated[int, Meta(extra_json_schema={"minimum": 1, "maximum": codes.COUNT_MAX})]
_Uses = Annotated[int, Meta(extra_json_schema={"minimum": 1, "maximum": codes.USES_MAX})]


class GivenTerms(Struct, frozen=True, kw_only=True):
    """What is left out stays, or is as the room's default has it; null: no limit."""

    policy: RoomPolicy | UnsetType = UNSET
    ballot: bool | UnsetType = UNSET
    pace: _Pace | UnsetType | None = UNSET
    shopping_max: _Shopping | UnsetType | None = UNSET
    begin_seconds: _BeginSeconds | UnsetType = UNSET
    shopping_seconds: _ShoppingSeconds | UnsetType = UNSET
    more_begin_max: _MoreBegin | UnsetType = UNSET
    more_shopping_max: _MoreShopping | UnsetType = UNSET
    proof: Proof | UnsetType = UNSET
    proof_above_per_minute: _ProofAbove | UnsetType = UNSET

    def given(self) -> dict[str, Any]:
        """By name, without what was left out."""
        named = {name: getattr(self, name) for name in GivenTerms.__struct_fields__}
        return {name: value for name, value in named.items() if value is not UNSET}


class NewRoom(GivenTerms, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A waiting room for a draft."""

    who: Who = ""
    why: Why


class RoomChange(GivenTerms, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Other terms from now on; `edition`: only if nobody changed the room since."""

    who: Who = ""
    why: Why
    edition: int | None = None


class RoomMessage(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What all who wait read; null: nothing any more."""

    who: Who = ""
    why: Why
    text: _Text | None
    edition: int | None = None


class NewLook(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """How the room looks and speaks from now on; what `look` leaves out is as onsale has it."""

    who: Who = ""
    why: Why
    look: Look
    edition: int | None = None


class NewCodes(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """So many codes, each for so many buyers; `label` says for whom."""

    who: Who = ""
    why: Why
    label: _Label
    count: _Count = 1
    uses: _Uses = 1


class TheseCodes(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Either all codes of that `label`, or these."""

    who: Who = ""
    why: Why
    label: _Label | None = None
    codes: _Codes = ()


class RoomCodes(Struct, frozen=True):
    """New codes; they are told this once."""

    label: str
    uses: int
    codes: tuple[str, ...]


class CodesRevoked(Struct, frozen=True):
    """By label: how many, and the uses they had left."""

    revoked: list[codes.RevokedCodes]


router = APIRouter(prefix="/v1/operator", tags=["operators"], dependencies=[Depends(require_viewer)])


@router.post(
    "/events/{event}/room", status_code=201, openapi_extra=body_described(NewRoom), dependencies=OPERATOR
)
async def make_room(request: Request, event: str) -> Response:
    """Give a draft a waiting room: 201 with the SHA-256 of its draw's seed. 409 `event_not_draft`,
    `room_exists`."""
    new = await read_body(request, NewRoom)
    said = said_by(request, new.who, new.why)

    def make(conn: Conn) -> Room:
        return operating.make(conn, event, RoomTerms(**new.given()), said)

    made = await _change(request, event, make)
    return answer(made, 201, {"Location": f"/v1/operator/events/{event}/room"})


@router.get("/events/{event}/room")
async def show_room(request: Request, event: str) -> Response:
    """How it stands: who waits, who is inside, how fast it goes, which codes were used. 404 `no_room`."""
    return answer(await in_database(request, lambda conn: standing.read(conn, event)))


@router.patch("/events/{event}/room", openapi_extra=body_described(RoomChange), dependencies=OPERATOR)
async def change_room(request: Request, event: str) -> Response:
    """Change some of its terms. 409 `room_settled` for what buyers joined for, `room_changed`."""
    wanted = await read_body(request, RoomChange)
    said = said_by(request, wanted.who, wanted.why)

    def change(conn: Conn) -> Room:
        return operating.change(conn, event, said, wanted.edition, **wanted.given())

    return answer(await _change(request, event, change))


@router.post("/events/{event}/room/pause", openapi_extra=body_described(Reason), dependencies=OPERATOR)
async def pause_admission(request: Request, event: str) -> Response:
    """Admit nobody for now; who is inside goes on. 409 `admission_state`."""
    return await _admit(request, event, Admission.PAUSED)


@router.post("/events/{event}/room/resume", openapi_extra=body_described(Reason), dependencies=OPERATOR)
async def resume_admission(request: Request, event: str) -> Response:
    """Admit again, after a pause or a stop. 409 `admission_state`."""
    return await _admit(request, event, Admission.RUNNING)


@router.post("/events/{event}/room/stop", openapi_extra=body_described(Reason), dependencies=OPERATOR)
async def stop_admission(request: Request, event: str) -> Response:
    """Admit nobody any more; who is inside goes on. 409 `admission_state`."""
    return await _admit(request, event, Admission.STOPPED)


@router.put("/events/{event}/room/message", openapi_extra=body_described(RoomMessage), dependencies=OPERATOR)
async def say(request: Request, event: str) -> Response:
    """Tell all who wait something, or nothing any more. 409 `room_changed`."""
    wanted = await read_body(request, RoomMessage)
    said = said_by(request, wanted.who, wanted.why)

    def tell(conn: Conn) -> Room:
        return operating.say(conn, event, wanted.text, said, wanted.edition)

    return answer(await _change(request, event, tell))


@router.put("/events/{event}/room/look", openapi_extra=body_described(NewLook), dependencies=OPERATOR)
async def dress(request: Request, event: str) -> Response:
    """Another name, colour, language and texts, all of them. 400 `invalid_look`, 409 `room_changed`."""
    wanted = await read_body(request, NewLook)
    said = said_by(request, wanted.who, wanted.why)

    def change(conn: Conn) -> Room:
        return operating.dress(conn, event, wanted.look, said, wanted.edition)

    return answer(await _change(request, event, change))


@router.post(
    "/events/{event}/room/codes",
    status_code=201,
    openapi_extra=body_described(NewCodes),
    dependencies=OPERATOR,
)
async def issue_codes(request: Request, event: str) -> Response:
    """New codes for the priority lane: told this once, only their hashes are kept. Takes no Idempotency-Key:
    its answers are kept."""
    new = await read_body(request, NewCodes)
    said = said_by(request, new.who, new.why)
    wanted = {"label": new.label, "count": new.count, "uses": new.uses}
    made = await in_database(request, partial(_issue, event, said, wanted))
    return answer(RoomCodes(new.label.strip(), new.uses, made), 201)


@router.post(
    "/events/{event}/room/codes/revoke", openapi_extra=body_described(TheseCodes), dependencies=OPERATOR
)
async def revoke_codes(request: Request, event: str) -> Response:
    """They let nobody in from now on; who is in the line by them keeps their place and lane. 400
    `invalid_codes`, `code_not_valid`; 404 `unknown_label`, `unknown_code`: none was revoked; 409
    `codes_revoked`."""
    wanted = await read_body(request, TheseCodes)
    said = said_by(request, wanted.who, wanted.why)

    def revoke(conn: Conn) -> list[codes.RevokedCodes]:
        return operating.revoke_codes(conn, event, said, label=wanted.label, shown=wanted.codes)

    return answer(CodesRevoked(await in_database(request, revoke)))


def _issue(event: str, said: Said, wanted: dict[str, Any], conn: Conn) -> tuple[str, ...]:
    return operating.issue_codes(conn, event, said, **wanted)


async def _admit(request: Request, event: str, to: Admission) -> Response:
    reason = await read_body(request, Reason)
    said = said_by(request, reason.who, reason.why)
    return answer(await _change(request, event, lambda conn: operating.admit(conn, event, to, said)))


async def _change(request: Request, event: str, work: Callable[[Conn], Room]) -> ShownRoom:
    """What `work` makes of the room; gateways are told, best effort, for they look each second anyway."""

    def run(conn: Conn) -> ShownRoom:
        return shown(work(conn), event, get_event(conn, event).state)

    changed = await in_database(request, run)
    redis_url = settings_of(request).engines.redis_url
    with contextlib.suppress(Busy):
        await threads_of(request).run(partial(tell_room, redis_url, event, changed.version))
    return changed
