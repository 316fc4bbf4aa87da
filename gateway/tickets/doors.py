"""For doors: public keys for everybody, checking a ticket, and what a door must know that is cut off.

Checking is for operators, exporting for all who have an operator key.
"""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter, Depends, Query, Request
from msgspec import Meta, Struct
from starlette.responses import Response

from gateway.operators.access import OPERATOR, body_described, read_body, require_viewer
from gateway.routing import Slug, json_response, together
from gateway.tickets.orders import NO_STORE
from gateway.tickets.room import connection_of, room_of, runtime_of
from gateway.tickets.shown import DoorAnswer, Export, Keys, Named, named
from notifier.tickets import TOKEN_LENGTH_MAX, NotATicket, Ticket
from store.tickets import checks, revoked
from store.tickets.checks import Checked, Door
from store.tickets.items import SEAT
from store.tickets.revoked import REVOKED_MAX

PLACE_LENGTH_MAX = 40


class CheckBody(Struct, frozen=True, forbid_unknown_fields=True):
    """What was read off a ticket, and which of your devices read it (a name of yours)."""

    token: Annotated[str, Meta(min_length=1, max_length=TOKEN_LENGTH_MAX)]
    device: Annotated[str, Meta(min_length=1, max_length=64, pattern=r"^[A-Za-z0-9._~ -]+$(?!\n)")]


MESSAGES = {
    Door.VALID: "Let them in.",
    Door.CHECKED_IN_BEFORE: "Somebody came in with this ticket already.",
    Door.REVOKED: "This ticket was returned, taken back, or given to somebody who has a newer one.",
}

public = APIRouter(prefix="/v1", tags=["tickets"])
operator = APIRouter(prefix="/v1/operator", tags=["operators"], dependencies=[Depends(require_viewer)])


@public.get("/tickets/keys")
async def show_keys(request: Request) -> Response:
    """The public keys that tell our tickets from others."""
    keys = Keys(room_of(request).keys.published)
    return json_response(keys, headers={"Cache-Control": "public, max-age=300"})


@operator.post(
    "/events/{event}/tickets/check", openapi_extra=body_described(CheckBody), dependencies=OPERATOR
)
async def check_ticket(request: Request, event: Slug) -> Response:
    """Let the holder of a ticket in, once. Always 200: what to do is in `result`."""
    body = await read_body(request, CheckBody)
    runtime = await runtime_of(request).events.get(event)
    try:
        ticket = room_of(request).known.read(body.token)
    except NotATicket as error:
        return _say("not_valid", str(error))
    if ticket.event != runtime.row.slug:
        message = f"This is a ticket for {ticket.event}."
        return _say("not_of_this_event", message, event=ticket.event, order=str(ticket.order))
    async with connection_of(request) as connection:
        checked = await checks.check_in(
            connection, runtime.row.id, ticket.order, ticket.item, ticket.serial, body.device
        )
    there = len(runtime.plan.seats if ticket.item.area == SEAT else runtime.plan.areas)
    index = ticket.item.number if ticket.item.area == SEAT else ticket.item.area
    return _answer(ticket, checked, named(ticket.item, runtime.plan) if index < there else None)


@operator.get("/events/{event}/tickets/export")
async def export_tickets(
    request: Request,
    event: Slug,
    after: Annotated[str, Query(max_length=PLACE_LENGTH_MAX, description="`next` of the page before")] = "",
) -> Response:
    """What a door needs that is cut off: public keys, and what is revoked by now."""
    keys = room_of(request).keys
    runtime = await runtime_of(request).events.get(event)
    async with connection_of(request) as connection:
        found = await revoked.read(connection, runtime.row.id, after)
    more = found[-1].place if len(found) == REVOKED_MAX else None
    return json_response(Export(event, keys.published, found, more), headers=NO_STORE)


def _answer(ticket: Ticket, checked: Checked, seat: Named | None) -> Response:
    at = None if checked.checked_at is None else checked.checked_at // 1000
    return _say(
        checked.door.value,
        MESSAGES[checked.door],
        event=ticket.event,
        order=str(ticket.order),
        kind=checked.kind,
        ticket=seat,
        checked_at=at,
        device=checked.checked_by,
        again=checked.again,
    )


def _say(result: str, message: str, **more: Any) -> Response:
    return json_response(DoorAnswer(result=result, message=message, **more), headers=NO_STORE)


router = together(public, operator)
