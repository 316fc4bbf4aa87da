"""The operators' HTTP for seats: block, unblock, release somebody's hold.

Each change says `why`. Who makes it is known by their key; they may also say `who` they are, which stands
behind the key's name. Both are kept in `store.audit` together with what was changed. Errors are
problem+json with the codes of `store.blocks` and `store.audit`. A change wakes the event's allocator.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import partial
from typing import Annotated, Any

import psycopg
from fastapi import APIRouter, Depends, Request, Response
from msgspec import Meta, Struct

from gateway.operators.access import (
    OPERATOR,
    answer,
    body_described,
    done_once,
    in_database,
    read_body,
    require_viewer,
    said_by,
    tell_buyer,
    wake_allocator,
)
from gateway.operators.said import Reason, Who, Why
from store import blocks
from store.audit import Audit
from store.blocks import Released
from store.errors import NotFound

Conn = psycopg.Connection[Any]
HOLD_ID = re.compile(r"[1-9][0-9]{0,17}")
SEATS_BYTES_MAX = 60 * 1024
# Told in the description; checked by `store.blocks`, for all who change seats.
Named = Annotated[list[str], Meta(extra_json_schema={"maxItems": blocks.SEATS_MAX, "uniqueItems": True})]
Places = Annotated[int, Meta(extra_json_schema={"minimum": 1})]


class SeatsChange(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Seats by guid, and standing places by area; all or nothing."""

    who: Who = ""
    why: Why
    seats: Named = []
    areas: dict[str, Places] = {}


router = APIRouter(prefix="/v1/operator", tags=["operators"], dependencies=[Depends(require_viewer)])


@router.post("/events/{event}/blocks", openapi_extra=body_described(SeatsChange), dependencies=OPERATOR)
async def block(request: Request, event: str) -> Response:
    """Take free seats and places off sale. 409 `seats_not_free`, `places_not_free` names what is not."""
    return await _turn(request, event, blocks.block)


@router.post("/events/{event}/unblock", openapi_extra=body_described(SeatsChange), dependencies=OPERATOR)
async def unblock(request: Request, event: str) -> Response:
    """Put blocked seats and places on sale again. 409 `seats_not_blocked`, `places_not_blocked`."""
    return await _turn(request, event, blocks.unblock)


@router.post(
    "/events/{event}/holds/{hold}/release", openapi_extra=body_described(Reason), dependencies=OPERATOR
)
async def release_hold(request: Request, event: str, hold: str) -> Response:
    """Take a hold from its buyer; the same answer however often it is asked. 409 `hold_paid` for an
    order, `hold_refunded` for one that was taken back."""
    reason = await read_body(request, Reason)
    said = said_by(request, reason.who, reason.why)
    if not HOLD_ID.fullmatch(hold):
        raise NotFound("hold_not_found", f"{hold!r} is no hold's id; ids are numbers.")

    def release(conn: Conn) -> Released:
        event_id, plan = blocks.event_and_plan(conn, event)
        return blocks.release_hold(conn, event_id, plan, int(hold), said)

    released = await in_database(request, release)
    await wake_allocator(request, event)
    await tell_buyer(request, event, released)
    return answer({"hold": hold, "state": released.state})


async def _turn(request: Request, event: str, change: Callable[..., Audit]) -> Response:
    wanted = await read_body(request, SeatsChange, SEATS_BYTES_MAX)
    said = said_by(request, wanted.who, wanted.why)

    def turn(conn: Conn) -> Audit:
        event_id, plan = blocks.event_and_plan(conn, event)
        work = partial(change, conn, event_id, plan, wanted.seats, wanted.areas, said)
        return done_once(request, conn, work)

    changed = await in_database(request, turn)
    await wake_allocator(request, event)
    return answer(changed)
