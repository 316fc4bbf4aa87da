"""The operators' HTTP for figures and the settlement, and for calling an event off (cancel it, or move it).

Canceling and moving begin here and are gone on with by chores; each further call does a piece, too, and says
how far it is. Errors are problem+json with the codes of `store.calling_off`.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from functools import partial
from typing import Annotated

from fastapi import APIRouter, Depends, Header, Request, Response
from msgspec import Struct

from gateway.operators.access import (
    OWNER,
    answer,
    body_described,
    caller_of,
    in_database,
    must_see,
    read_body,
    require_viewer,
    said_by,
    settings_of,
    wake_allocator,
)
from gateway.operators.routes import Slug
from gateway.operators.said import Reason, Who, Why
from gateway.operators.seats import Conn
from store.blocks import Released
from store.calling_off import begin, state
from store.calling_off.state import CalledOff
from store.calling_off.steps import step_of
from store.figures import read as figures
from store.payments.settlement import settlement
from store.sales import Order
from store.stream.wake import tell_holder


class Move(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Where an event's orders go: an event that has not begun to sell."""

    to: Slug
    who: Who = ""
    why: Why


router = APIRouter(prefix="/v1/operator", tags=["operators"], dependencies=[Depends(require_viewer)])


@router.get("/events/{event}/figures")
async def show_figures(
    request: Request, event: str, if_none_match: Annotated[str | None, Header()] = None
) -> Response:
    """What the sale has come to, with its age; counted from the outbox and the ledger.

    304 where its reader has just that: the same figures, of the same age.
    """
    shown = answer(await in_database(request, lambda conn: figures.read(conn, event)))
    etag = f'"{hashlib.sha256(shown.body).hexdigest()[:32]}"'
    if if_none_match == etag:
        return Response(status_code=304, headers={"ETag": etag, "Cache-Control": "no-store"})
    shown.headers["ETag"] = etag
    return shown


@router.get("/events/{event}/settlement")
async def show_settlement(request: Request, event: str) -> Response:
    """What came in, what it is for, what goes back; `balances` is false where something does not."""
    return answer(await in_database(request, lambda conn: settlement(conn, event)))


@router.post("/events/{event}/cancel", openapi_extra=body_described(Reason), dependencies=OWNER)
async def cancel(request: Request, event: str) -> Response:
    """Close an event for good and take every order back. 409 `event_moved`."""
    reason = await read_body(request, Reason)
    said = said_by(request, reason.who, reason.why)
    return await _begin(request, event, lambda conn: begin.cancel(conn, event, said))


@router.post("/events/{event}/move", openapi_extra=body_described(Move), dependencies=OWNER)
async def move(request: Request, event: str) -> Response:
    """Close an event for good and rebook every order. 409 `event_begun`, `event_called_off`,
    `currency_differs`, `move_running`."""
    wanted = await read_body(request, Move)
    must_see(caller_of(request), wanted.to)
    said = said_by(request, wanted.who, wanted.why)
    begun = await _begin(request, event, lambda conn: begin.move(conn, event, wanted.to, said))
    await wake_allocator(request, wanted.to)
    return begun


@router.get("/events/{event}/calling-off")
async def show_calling_off(request: Request, event: str) -> Response:
    """How far it is. 404 `not_called_off`."""
    return answer(await in_database(request, partial(state.read, slug=event)))


async def _begin(request: Request, event: str, work: Callable[[Conn], object]) -> Response:
    redis_url = settings_of(request).engines.redis_url

    def tell(slug: str, changed: Order | Released) -> None:
        tell_holder(redis_url, slug, changed)

    def run(conn: Conn) -> CalledOff:
        work(conn)
        step_of(conn, event, tell)
        return state.read(conn, event)

    begun = await in_database(request, run)
    await wake_allocator(request, event)
    return answer(begun)
